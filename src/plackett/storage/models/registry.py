"""The classes that a model file may name, and models as plain records, without their classes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from plackett._lazy import importing

KIND, VERSION = "plackett model", 1
MAX_DEPTH = 64  # of nested values

_Class = TypeVar("_Class", bound=type)
BY_NAME: dict[str, type] = {}
NAME_OF: dict[type, str] = {}
HOMES: dict[str, str] = {}  # name -> module of this package, imported when a class of it is first saved or loaded
TEXT_FORMS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {}  # class -> to and from text


def register(cls: _Class) -> _Class:
    """Let objects of ``cls`` be saved and loaded; usable as a decorator.

    A file names a class by its package and its own name (``plackett.losses.ListNet``), so that the file can still be
    read after the class moved to another module of the package. Other classes are identified by module and name.

    Parameters
    ----------
    cls : type
        With ``get_params(deep=False)`` and an ``__init__`` that takes, and only stores, these parameters.
    """
    name = _public_name(cls)
    known = BY_NAME.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{name} is already registered for the class of that name in {known.__module__}.")
    BY_NAME[name] = cls
    NAME_OF[cls] = name
    return cls


def register_text(cls: _Class, to_text: Callable[[Any], str], from_text: Callable[[str], Any]) -> _Class:
    """Let objects of a class be saved as text; both functions raise a ValueError for what they reject."""
    TEXT_FORMS[register(cls)] = to_text, from_text
    return cls


def register_home(class_name: str, module: str) -> None:
    """Let objects of a class of this package be saved and loaded without importing its module now."""
    HOMES[_joined(module, class_name)] = module


def is_registered(name: str) -> bool:
    """Return whether this is the name of a registered class."""
    return name in BY_NAME or name in HOMES


def registered(name: str) -> type:
    """Return the class that was registered under ``name``."""
    if name not in BY_NAME and name in HOMES:
        with importing:
            module = import_module(HOMES[name])
        register(getattr(module, name.rpartition(".")[2]))
    if name not in BY_NAME:
        raise ValueError(f"{name!r} is not a registered class.")
    return BY_NAME[name]


def name_of(cls: type) -> str | None:
    """Return the name under which a class was registered; None if it was not."""
    if cls not in NAME_OF and _public_name(cls) in HOMES:
        registered(_public_name(cls))
    return NAME_OF.get(cls)


def is_learned(cls: type, name: str) -> bool:
    """Return whether an attribute belongs in the file: learned by its name, or listed in ``_persisted``."""
    return (name.endswith("_") and not name.startswith("_")) or name in getattr(cls, "_persisted", ())


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


def _public_name(cls: type) -> str:
    return _joined(cls.__module__, cls.__qualname__)


def _joined(module: str, class_name: str) -> str:
    parts = module.split(".")
    package = parts[:2] if parts[0] == "plackett" else parts
    return ".".join([*package, class_name])
