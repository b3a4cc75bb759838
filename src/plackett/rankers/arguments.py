"""Errors with advice about the arguments of ``fit``, ``predict``, ``score`` and ``explain``."""

from __future__ import annotations

import functools
import os
from types import FunctionType
from typing import Any

from plackett.data.queries import Queries
from plackett.validation import count_of

CHECKED = ("fit", "predict", "score", "explain")
_READ = (
    "Read the files first, with read_parquet or read_letor (cache=True where they may be larger than memory), and give "
    "the Queries."
)
_IN_PARTS = " Only LinearRanker fits {what} part by part."
_OTHER_NAMES = ("group", "groups", "group_id", "query_id")  # of LightGBM, XGBoost, CatBoost and scikit-learn


def check_argument_names(cls: type) -> None:
    """Wrap the methods of ``cls`` that take qid, to raise an error with advice for qid by position or other names."""
    for name in CHECKED:
        method = cls.__dict__.get(name)
        if isinstance(method, FunctionType):
            setattr(cls, name, _with_advice(method))


def _with_advice(method: FunctionType) -> Any:
    code, name = method.__code__, method.__name__
    by_place = code.co_varnames[1 : code.co_argcount]
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    call = f"{name}({', '.join(by_place)}, qid="

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        if len(args) > len(by_place) and "qid" in known:
            raise TypeError(
                f"{name} takes {' and '.join(by_place)} by position and all else by name; for query ids: {call}qid)."
            )
        for other in _OTHER_NAMES:
            if other in given and other not in known:
                X = args[0] if args else given.get("X")
                raise TypeError(f"{name} has no argument {other!r}. {_advice(call, other, given[other], X)}")
        return method(self, *args, **given)

    return checked


def _advice(call: str, name: str, values: Any, X: Any) -> str:
    if name != "group" or _length(values) == _length(X):
        return f"Query ids are named qid: {call}{name})."
    ids = f"np.repeat(np.arange(len({name})), {name})"
    return f"It takes one query id per row, not the sizes of the queries: {call}{ids})."


def _length(values: Any) -> int | None:
    shape = getattr(values, "shape", None)
    if shape is not None:
        return shape[0] if len(shape) else None
    return len(values) if hasattr(values, "__len__") else None


def check_is_loaded(X: Any, ranker: str, *, is_fit: bool) -> None:
    """Reject paths, lists of ``Queries`` and Dask collections in place of X, with advice; Dask is not imported."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    if isinstance(first, (str, os.PathLike)):
        came, remedy, in_parts = f"the path {os.fspath(first)!r}", _READ, "files"
    elif isinstance(first, Queries) and first is not X:
        came, remedy, in_parts = "a Queries", "Join them: Queries.concat(X).", "a list of them"
    elif hasattr(first, "__dask_graph__") or type(first).__module__.partition(".")[0] == "distributed":
        came, remedy, in_parts = f"a Dask {type(first).__name__}", "Compute it first.", "Dask collections"
    elif first is X and isinstance(X, (list, tuple)):
        raise ValueError(f"X is an empty {type(X).__name__}; {ranker} needs rows of features.")
    else:
        return
    if first is not X:
        came = f"a {type(X).__name__} of {count_of(len(X), 'item')}, of which the first is {came}"
    hint = _IN_PARTS.format(what=in_parts) if is_fit else ""
    raise ValueError(f"X is {came}, but {ranker} needs all rows in one place. {remedy}{hint}")
