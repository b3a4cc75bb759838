"""Errors about arguments that other packages take, with the line to type here."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

CHECKED = ("fit", "predict", "score", "explain")
_OTHER_NAMES = ("group", "groups", "group_id", "query_id")  # of LightGBM, XGBoost, CatBoost and scikit-learn


def advise(cls: type) -> None:
    """Let the methods of ``cls`` that take qid by name say so where it comes by place or under another name."""
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
