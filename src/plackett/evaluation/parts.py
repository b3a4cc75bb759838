"""Evaluation and scores of data in parts: on the workers of a Dask cluster, or part by part in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett.data.queries import Queries
from plackett.distributed.cluster import active_client
from plackett.distributed.inputs import is_in_parts, parts_of
from plackett.distributed.loading import LoadedPart
from plackett.distributed.metadata import check_ids
from plackett.storage.opening import write_bytes
from plackett.storage.remote import is_remote


def has_parts(data: Any) -> bool:
    """Return whether data are evaluated part by part; a single path is, if there is a cluster."""
    return is_in_parts(data) and not (isinstance(data, (str, os.PathLike)) and active_client() is None)


def measured_parts(X: Any, ranker: Any, qid: Any, label: Any, evaluate: Callable[..., Any]) -> list[Any]:
    """Return ``evaluate(queries, scores)`` of each part, in their order, by the scores of a fitted ranker."""
    given = parts_of(X, label, qid, takes_categories=True)
    found = given.map(_measured, ranker, evaluate)
    check_ids([(name, one.queries.tolist()) for name, one in found if one is not None])
    evaluations = [one for _, one in found if one is not None]
    if not evaluations:
        raise ValueError("there are no rows in any partition.")
    return evaluations


def _measured(part: LoadedPart, _: int, ranker: Any, evaluate: Callable[..., Any]) -> tuple[str, Any]:
    if not part.queries.n_docs:
        return part.name, None
    queries = _as_in_fit(part, ranker)
    return part.name, evaluate(queries, ranker.predict(queries))


def write_scores(ranker: Any, X: Any, folder: Any, *, qid: Any = None, label: Any = None) -> list[str]:
    """Write the scores of data in parts as Parquet files, one for each part, by the processes that hold the parts.

    Each file has the columns ``qid``, ``docid`` if documents have ids, and ``score``; the rows of a query are together.
    Memory of this process does not grow with the data. Returns the files, without parts that have no rows.

    Parameters
    ----------
    ranker : fitted ranker
    X : path, folder, pattern or list of these, list of Queries, Dask collection, or list of Delayed objects or futures
        As in ``TreeRanker.fit``; without an active Dask client, paths are read one after the other in this process.
    folder : path or URL
        A new or empty folder, which all workers can write to. Its files are ``part-00000.parquet``, ...
    qid, label : str or Dask collection, default=None
        As ``qid`` and ``y`` in ``fit``. Labels are not used; ``label`` names a column that is no feature.

    Examples
    --------
    >>> import plackett as pk
    >>> from plackett.evaluation import write_scores
    >>> data = pk.datasets.make_web_like(20, n_features=4, random_state=0)
    >>> pk.write_letor(data, "lists.txt")
    >>> files = write_scores(pk.LinearRanker().fit(data), "lists.txt", "scores")
    >>> files[0].endswith("part-00000.parquet")
    True
    """
    import_optional("pyarrow", extra="tables", needed_for="write_scores")
    if not is_remote(folder):
        folder = os.path.abspath(folder)  # workers have other working directories
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise FileExistsError(f"{folder} is not empty; write_scores needs a new or empty folder.")
    given = parts_of(X, label, qid, takes_categories=True, needs_labels=False)
    found = given.map(_written, ranker, str(folder))
    if ranker.depends_on_list:
        check_ids([(name, ids.tolist()) for name, ids, file in found if file is not None])
    return [file for _, _, file in found if file is not None]


def _written(part: LoadedPart, number: int, ranker: Any, folder: str) -> tuple[str, Any, str | None]:
    """Write the scores of a part; return its name, its queries if scores depend on them, and the file."""
    with importing:
        import pyarrow
        import pyarrow.parquet as parquet

    if not part.queries.n_docs:
        return part.name, None, None
    queries = _as_in_fit(part, ranker)
    columns = {"qid": queries.qid.tolist(), "score": ranker.predict(queries)}
    if queries.docid is not None:
        columns["docid"] = queries.docid.tolist()
    table = pyarrow.table({name: columns[name] for name in ("qid", "docid", "score") if name in columns})
    file = f"{folder.rstrip('/')}/part-{number:05}.parquet"
    with write_bytes(file) as opened:
        parquet.write_table(table, opened)
    return part.name, queries.ids if ranker.depends_on_list else None, file


def _as_in_fit(part: LoadedPart, ranker: Any) -> Queries:
    """Return the queries of a part; the last columns, which LETOR files leave out where they are 0, are added."""
    missing = ranker.n_features_in_ > part.queries.n_features and part.may_widen
    return part.queries.replace(X=part.rows(ranker.n_features_in_)) if missing else part.queries
