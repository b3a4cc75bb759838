"""Base class of small objects that are defined by their parameters: losses, solvers, penalties.

They print, compare, hash and copy by their parameters, and scikit-learn can set these
(``LinearRanker(loss=CSListMLE()).set_params(loss__k=5)``), without importing scikit-learn.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np


class Parameters:
    """Base class of objects whose ``__init__`` stores each parameter, as given, under its own name."""

    @classmethod
    @functools.cache  # losses compare themselves in inner loops
    def _parameter_names(cls) -> tuple[str, ...]:
        if cls.__init__ is object.__init__:
            return ()
        return tuple(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` is accepted for scikit-learn and ignored."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Parameters:
        """Set parameters by name and return the object."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                has = ", ".join(known) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {has}.")
            setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(_is_same(value, getattr(other, name)) for name, value in self.get_params().items())

    def __hash__(self) -> int:
        try:
            return hash((type(self), *self.get_params().values()))
        except TypeError:  # a list or an array, which the parameter's check rejects
            return hash(type(self))

    def __repr__(self) -> str:
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        shown = [
            f"{name}={value!r}" for name, value in self.get_params().items() if not _is_same(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one is other or one == other)
