"""The classes that a model file may name; ``rankers/registry.py`` fills the table."""

from __future__ import annotations

from typing import TypeVar

_Class = TypeVar("_Class", bound=type)
BY_NAME: dict[str, type] = {}
NAME_OF: dict[type, str] = {}


def register(cls: _Class) -> _Class:
    """Let objects of ``cls`` be saved and loaded; usable as a decorator.

    A file names a class by its room and its own name (``plackett.losses.ListNet``), so that it can still be read after
    the class moved to another module of the room. Classes from elsewhere go by their module and name.

    Parameters
    ----------
    cls : type
        With ``get_params(deep=False)`` and an ``__init__`` that takes, and only stores, these parameters.

    Returns
    -------
    cls
    """
    name = _public_name(cls)
    known = BY_NAME.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{name} is registered already, for the class of that name in {known.__module__}.")
    BY_NAME[name] = cls
    NAME_OF[cls] = name
    return cls


def registered(name: str) -> type:
    """The class that was registered under ``name``."""
    if name not in BY_NAME:
        raise ValueError(f"{name!r} is not a registered class.")
    return BY_NAME[name]


def _public_name(cls: type) -> str:
    parts = cls.__module__.split(".")
    home = parts[:2] if parts[0] == "plackett" else parts
    return ".".join([*home, cls.__qualname__])
