"""What stands for rows but is none, and is refused with a word on what to do: paths, lists of ``Queries``, Dask's."""

from __future__ import annotations

import os
from typing import Any

from plackett.data.queries import Queries
from plackett.validation import count_of

_READ = (
    "Read the files first, with read_parquet or read_letor (cache=True where they may be larger than memory), and give "
    "the Queries."
)
_IN_PARTS = " Only LinearRanker fits {what} part by part."


def refuse_unread(X: Any, ranker: str, *, is_fit: bool) -> None:
    """An error where X is no rows yet; Dask is not imported for the question."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    if isinstance(first, (str, os.PathLike)):
        came, remedy, in_parts = f"the path {os.fspath(first)!r}", _READ, "files"
    elif isinstance(first, Queries) and first is not X:
        came, remedy, in_parts = "a Queries", "Join them: Queries.concat(X).", "a list of them"
    elif hasattr(first, "__dask_graph__") or type(first).__module__.partition(".")[0] == "distributed":
        came, remedy, in_parts = f"a Dask {type(first).__name__}", "Compute it first.", "what Dask holds"
    elif first is X and isinstance(X, (list, tuple)):
        raise ValueError(f"X is an empty {type(X).__name__}; {ranker} needs rows of features.")
    else:
        return
    if first is not X:
        came = f"a {type(X).__name__} of {count_of(len(X), 'item')}, of which the first is {came}"
    hint = _IN_PARTS.format(what=in_parts) if is_fit else ""
    raise ValueError(f"X is {came}, but {ranker} needs all rows in one place. {remedy}{hint}")
