"""User-defined parts: ``module:name`` is an object of a Python module, installed or in the current folder.

Only the command reads such names. A data or model file never makes plackett import code.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

import click


def is_own(text: str) -> bool:
    """Return whether a text has the form ``module:name``."""
    module, colon, name = text.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def is_own_ranker(text: str) -> bool:
    """Return whether a text is ``module:name`` and not the name of a ranker of this package, as ``trees:hinge`` is."""
    from plackett.rankers.registry import is_known, scorer_of

    return is_own(text) and not is_known(text) and scorer_of(text) == text


def load(text: str, option: str) -> Any:
    """Return the object ``module:name``; raise an error that says what is missing."""
    module, _, name = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise click.BadParameter(
                f"{option} {text}: the module {module} needs {error.name}, which is not installed."
            ) from error
        file = f"{module.replace('.', '/')}.py"
        raise click.BadParameter(
            f"{option} {text}: there is no module {module}, neither installed nor as {file} in this folder."
        ) from error
    except Exception as error:  # any code of the module has run
        raise click.BadParameter(
            f"{option} {text}: importing {module} failed with {type(error).__name__}: {error}"
        ) from error
    if not hasattr(found, name):
        public = [one for one, value in vars(found).items() if not (one.startswith("_") or inspect.ismodule(value))]
        raise click.BadParameter(
            f"{option} {text}: {module} has no {name}; it has {', '.join(public) or 'no public names'}."
        )
    return getattr(found, name)


def instance(text: str, option: str) -> Any:
    """Return the object ``module:name``, or what it returns if it is a class or function, called without arguments."""
    found = load(text, option)
    if not isinstance(found, type) and (hasattr(found, "fit") or hasattr(found, "value_and_slope")):
        return found
    try:
        return found()
    except Exception as error:
        raise click.BadParameter(f"{option} {text}: {found!r} cannot be called without arguments: {error}") from error


def ranker(text: str, option: str) -> Any:
    """Return the user's ranker for ``module:name``; other names unchanged."""
    return instance(text, option) if is_own_ranker(text) else text


def loss(value: Any, option: str) -> Any:
    """Return the user's loss for ``module:name``; other values unchanged."""
    from plackett.losses import get_loss

    if not isinstance(value, str) or not is_own(value):
        return value
    try:
        return get_loss(instance(value, option))
    except ValueError as error:
        raise click.BadParameter(f"{option} {value}: {error}") from error
