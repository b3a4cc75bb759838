"""Scores of Dask collections: a Dask array, computed where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett._optional import import_optional
from plackett._threads import on_this_thread
from plackett.distributed.inputs import partitions_of
from plackett.distributed.metadata import check_ids


def dask_scores(ranker: Any, X: Any, qid: Any = None, **given: Any) -> Any:
    """Return the scores of a fitted ranker for the rows of a Dask data frame or array, as a Dask array.

    Nothing is computed yet. Where the score of a document depends on its list, a query in two partitions is an error of
    the computation.

    Parameters
    ----------
    ranker : Ranker
    X : Dask data frame or array
    qid : name of a column of X, or a Dask collection with the same partitions; default=None
    **given
        Further arguments of ``predict``, the same for all partitions.
    """
    dask: Any = import_optional("dask", extra="dask", needed_for="Predicting a Dask collection")
    with importing:
        import dask.array as da

    parts, sizes = partitions_of(X)
    ids = [qid] * len(parts) if qid is None or isinstance(qid, str) else partitions_of(qid)[0]
    if len(ids) != len(parts):
        raise ValueError(f"qid has {len(ids)} partitions but X has {len(parts)}; the partitions must match.")
    is_whole = None
    if qid is not None and ranker.depends_on_list:
        of_parts = [dask.delayed(_ids_of)(part, some) for part, some in zip(parts, ids, strict=True)]
        is_whole = dask.delayed(_check_whole)(of_parts)
    shared, work = dask.delayed(ranker), dask.delayed(_scores_of)
    blocks = [
        da.from_delayed(work(shared, part, some, given, is_whole), shape=(size,), dtype=np.float64)
        for part, some, size in zip(parts, ids, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _scores_of(ranker: Any, rows: Any, qid: Any, given: dict[str, Any], _: Any) -> np.ndarray:
    if not rows.shape[0]:
        return np.zeros(0)
    with on_this_thread():
        return ranker.predict(rows, qid=_vector(qid), **given)


def _vector(qid: Any) -> Any:
    return qid if qid is None or isinstance(qid, str) else np.asarray(qid).reshape(-1)


def _ids_of(rows: Any, qid: Any) -> set:
    return set(np.unique(rows[qid] if isinstance(qid, str) else _vector(qid)).tolist())


def _check_whole(of_parts: list[set]) -> None:
    check_ids((f"partition {number}", ids) for number, ids in enumerate(of_parts))
