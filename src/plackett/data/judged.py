"""The conversion of what functions accept to judged lists."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypedDict, Unpack

import numpy as np

from plackett._lazy import importing
from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import as_arrow, is_frame
from plackett.storage.file_names import has_parquet, is_table
from plackett.storage.remote import local_files
from plackett.validation import check_index, is_sparse


class Columns(TypedDict, total=False):
    """The columns of a table by their roles, with the meaning that they have in ``from_frame``.

    Examples
    --------
    >>> from plackett.data.judged import Columns
    >>> Columns(qid="query", label="grade", drop=["seen"])
    {'qid': 'query', 'label': 'grade', 'drop': ['seen']}
    """

    qid: Any
    label: Any
    docid: Any
    features: Sequence[str] | None
    drop: Sequence[str] | str
    categorical: Sequence[str] | str
    long: tuple[str, str] | None
    sql: str | None


@local_files
def as_judged(data: Any, **columns: Unpack[Columns]) -> Queries:
    """Return judged lists of what functions accept as data.

    Parameters
    ----------
    data : Queries, data frame, path, str, or array or sparse matrix of shape (n_docs, n_features)
        Queries; a data frame; a LETOR, CSV, TSV, Arrow, Parquet or SQLite file; a folder of Parquet files, or one with
        S1.txt to S5.txt or Fold1, Fold2, ...; the name of a known set; or features.
    **columns
        ``qid``, ``label``, ``docid``, ``features``, ``drop``, ``categorical`` and ``long`` of ``from_frame``, and
        ``sql`` of ``read_table``; for features in an array, ``qid``, ``label`` and ``docid`` are arrays.

    Examples
    --------
    >>> from plackett.data.judged import as_judged
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"query": [7, 7], "grade": [1, 0], "bm25": [0.5, 0.2], "seen": [3, 9]})
    >>> as_judged(frame, qid="query", label="grade", drop="seen")
    Queries(1 query, 2 documents, 1 feature, labels 0..1)
    >>> as_judged(frame[["bm25"]].to_numpy(), qid=frame["query"], label=frame["grade"])
    Queries(1 query, 2 documents, 1 feature, labels 0..1)
    """
    given: dict[str, Any] = check_columns(columns)
    if isinstance(data, Queries) and not given:
        return data
    with importing:
        from plackett.data.tables.files import is_file_of_columns, read_table
        from plackett.data.tables.frames import from_frame
    if is_frame(data):
        return from_frame(_with_arrays(data, given), **given)
    is_path = isinstance(data, (str, os.PathLike))
    if is_table(data) or (given and is_file_of_columns(data)):
        return read_table(data, **given)
    if not is_path and not isinstance(data, Queries):
        if not (isinstance(data, np.ndarray) or is_sparse(data)):
            raise TypeError(f"data is a {type(data).__name__}; Queries, a data frame, a path or an array is needed.")
        return Queries(data, given.pop("label", None), given.pop("qid", None), **given)
    if given:
        kind = "a Queries, which already has its columns"
        if is_path:
            kind = f"{os.fspath(data)!r}, which is not a CSV, TSV, Arrow or Parquet file"
        raise ValueError(f"{next(iter(given))} names a column of a table, but data is {kind}.")
    return _read(data)


def _with_arrays(frame: Any, given: dict[str, Any]) -> Any:
    """Return a frame with columns for roles that were given as arrays; ``given`` names them afterwards."""
    roles = [role for role in ("qid", "label", "docid") if not isinstance(given.get(role), (str, NoneType))]
    arrays = {role: given[role] for role in roles}
    if not arrays:
        return frame
    table = as_arrow(frame, [role for role in given.values() if isinstance(role, str)])
    for role, values in arrays.items():
        check_index(values, role, frame)
        given[role] = f"{role} as given"
        table = table.append_column(given[role], [np.asarray(values).tolist()])
    return table


def check_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that were given; raise for a name that `Columns` does not have."""
    for name in columns:
        if name not in Columns.__annotations__:
            hint = " Labels are named by label=." if name == "y" else ""
            known = ", ".join(Columns.__annotations__)
            raise TypeError(f"unexpected argument {name!r}; those for the columns of a table are {known}.{hint}")
    # None means something for label and docid only: that there are none
    return {name: value for name, value in columns.items() if value is not None or name in ("label", "docid")}


def check_no_columns(columns: Mapping[str, Any], why: str) -> None:
    """Raise if a column was named for data that have none."""
    for name in check_columns(columns):
        raise ValueError(f"{name} was given, but {why}.")


def _read(data: str | os.PathLike) -> Queries:
    with importing:
        from plackett.data import datasets
        from plackett.data.datasets.published import read_whole
        from plackett.data.sources import read_queries
    path = Path(data).expanduser()
    if path.is_dir() and not has_parquet(path):
        return read_whole(path)
    if path.exists() or path.suffix or len(path.parts) > 1:  # the names of known sets are single words
        return read_queries(path)
    loaded = datasets.load(os.fspath(data))
    if not isinstance(loaded, Queries):
        raise ValueError(f"{data} holds {type(loaded).__name__}, not judged lists of feature vectors.")
    return loaded
