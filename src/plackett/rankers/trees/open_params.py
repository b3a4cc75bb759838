"""Parameters by keyword that a ranker passes on to another package, beside those of its own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator


class OpenParams(BaseEstimator):
    """A scikit-learn estimator whose constructor ends in ``**others``: they are attributes as its own parameters are.

    ``get_params``, ``set_params``, ``clone`` and ``repr`` know them. Whether the package knows them is looked at in
    ``fit``, as everything about parameters is.
    """

    known_params: ClassVar[frozenset[str] | None] = None  # None lets the package refuse what it does not know
    other_names: ClassVar[Mapping[str, str]] = {}  # what people may write -> what it is called here
    refused_params: ClassVar[Mapping[str, str]] = {}  # what the package knows but cannot be given here -> why

    @classmethod
    def takes(cls, name: str) -> bool:
        """Whether a name that is none of the ranker's own parameters may be the package's."""
        return cls.known_params is None or name in cls.known_params

    def _keep_params(self, params: Mapping[str, Any]) -> None:
        for name, value in params.items():
            if name.startswith("_") or name.endswith("_") or hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} cannot have a parameter {name!r}.")
            setattr(self, name, value)

    def _other_params(self) -> dict[str, Any]:
        """Those that were given besides the ranker's own."""
        own = self._get_param_names()
        return {
            name: value
            for name, value in vars(self).items()
            if name not in own and not name.startswith("_") and not name.endswith("_")
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those for the package after the ranker's own."""
        return {**super().get_params(deep), **self._other_params()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, the ranker's own or those for the package."""
        own = self._get_param_names()
        others = {name: value for name, value in params.items() if name not in own and "__" not in name}
        super().set_params(**{name: value for name, value in params.items() if name not in others})
        self._keep_params(others)
        return self

    def _check_other_params(self) -> None:
        """Refuse names that mean nothing: packages only warn of them, or not even that."""
        for name in self._other_params():
            if name in self.refused_params:
                raise ValueError(f"{type(self).__name__} does not take {name!r}: {self.refused_params[name]}.")
            if not self.takes(name):
                raise ValueError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        names = [*self._get_param_names(), *sorted(self.known_params or ())]
        close = [self.other_names[name]] if name in self.other_names else difflib.get_close_matches(name, names, n=2)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        return f"{type(self).__name__} has no parameter {name!r}.{hint} It has {', '.join(names)}."
