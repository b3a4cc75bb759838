"""Small objects that are what their parameters say: losses, solvers, penalties.

They print, compare and are copied by their parameters, and scikit-learn can set these from outside
(``LinearRanker(loss=CSListMLE()).set_params(loss__k=5)``), without importing scikit-learn.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any


class Parameters:
    """Base of objects whose ``__init__`` stores each parameter, as it is given, under its own name."""

    @classmethod
    @functools.cache  # losses compare themselves in inner loops
    def _parameter_names(cls) -> tuple[str, ...]:
        if cls.__init__ is object.__init__:
            return ()
        return tuple(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep`` is there for scikit-learn and changes nothing."""
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
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((type(self), *self.get_params().values()))

    def __repr__(self) -> str:
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        shown = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(shown)})"
