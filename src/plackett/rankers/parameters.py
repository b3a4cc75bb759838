"""Parameters of rankers: declared beside their defaults with the check of their values, and checked in one loop."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any


def param(default: Any, check: Callable[..., Any], **bounds: Any) -> Any:
    """Return a field of a dataclass whose values must pass ``check(value, name, **bounds)``.

    None passes too if it is in the annotation of the field.
    """
    return dataclasses.field(default=default, metadata={"check": partial(check, **bounds)})


def check_parameters(estimator: Any) -> None:
    """Raise a ``ValueError`` for the first parameter that does not pass its check."""
    for name, field in getattr(estimator, "__dataclass_fields__", {}).items():
        check = field.metadata.get("check")
        if check is not None and not (getattr(estimator, name) is None and "None" in str(field.type)):
            check(getattr(estimator, name), name)


def with_package_params(cls: type) -> Any:
    """Make a dataclass that keeps further keyword arguments, which are parameters of another package."""
    made: Any = dataclasses.dataclass(eq=False, repr=False, kw_only=True)(cls)
    take = made.__init__
    own = inspect.signature(take)

    def __init__(self: Any, *args: Any, **params: Any) -> None:
        take(self, *args, **{name: value for name, value in params.items() if name in own.parameters})
        self._keep_params({name: value for name, value in params.items() if name not in own.parameters})

    others = inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    __init__.__signature__ = own.replace(parameters=[*own.parameters.values(), others])  # type: ignore[attr-defined]
    made.__init__ = __init__
    return made
