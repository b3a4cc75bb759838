"""Models as plain records: the name of a class, its parameters and what it learned, without the class."""

from __future__ import annotations

from typing import Any, NamedTuple

from plackett.storage.models.registry import is_learned, name_of


class Part(NamedTuple):
    """An estimator as a model file holds it: its class, its parameters, and what it learned.

    ``class_name`` is that of files (``plackett.rankers.LinearRanker``), or ``sklearn.StandardScaler`` for
    scikit-learn's.
    """

    class_name: str
    params: dict[str, Any]
    state: dict[str, Any]

    @property
    def kind(self) -> str:
        """The class name alone, for messages."""
        return self.class_name.rpartition(".")[2]


def part_of(estimator: Any, cls: type | None = None) -> Part:
    """Return an estimator as a record, as an object of ``cls``, by default its own class."""
    cls = type(estimator) if cls is None else cls
    is_sklearn = cls.__module__.partition(".")[0] == "sklearn"
    name = f"sklearn.{cls.__name__}" if is_sklearn else name_of(cls) or f"{cls.__module__}.{cls.__qualname__}"
    state = {key: value for key, value in vars(estimator).items() if is_learned(cls, key)}
    return Part(name, estimator.get_params(deep=False), state)
