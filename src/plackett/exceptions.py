"""Errors and warnings of plackett. All errors are subclasses of the built-in error that a caller would expect."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence


class DataFormatError(ValueError):
    """A file does not follow its format; ``path`` and ``line`` (from 1) are the location."""

    def __init__(self, path: str, line: int | None, message: str):
        self.path, self.line, self.message = path, line, message
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self):
        return type(self), (self.path, self.line, self.message)


class ModelFormatError(ValueError):
    """The file ``path`` is not a model, is damaged, or needs something that this version does not have."""

    def __init__(self, path: str, message: str):
        self.path, self.message = path, message
        super().__init__(f"{path}: {message}")

    def __reduce__(self):
        return type(self), (self.path, self.message)


class ParameterError(ValueError):
    """The parameter ``name`` has a ``value`` that it cannot have; ``expected`` says what it can have."""

    def __init__(self, name: str, value: object, expected: str):
        self.name, self.value, self.expected = name, value, expected
        super().__init__(f"{name}={value!r}; {expected}")

    def __reduce__(self):
        return type(self), (self.name, self.value, self.expected)


class UnknownNameError(ValueError):
    """A name is not known; ``reason`` says which, ``known`` are the names to choose from, ``similar`` the likely ones.

    ``advice`` is the rest of the message; ``parameter`` the name and the value of the parameter, if it is one.
    """

    def __init__(
        self,
        reason: str,
        advice: str,
        known: Sequence[str],
        similar: Sequence[str],
        parameter: tuple[str, object] | None = None,
    ):
        self.reason, self.advice, self.known, self.similar, self.parameter = reason, advice, known, similar, parameter
        super().__init__(reason + advice)

    def __reduce__(self):
        return type(self), (self.reason, self.advice, self.known, self.similar, self.parameter)


class DatasetNotFoundError(FileNotFoundError):
    """A published data set was not found; the message says where to get it and where to copy it."""


class StoreError(OSError):
    """The store of the workbench cannot be opened, read or written; ``location`` names it without a password."""

    def __init__(self, location: str, message: str):
        self.location, self.message = location, message
        super().__init__(f"{location}: {message}")

    def __reduce__(self):
        return type(self), (self.location, self.message)


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


class DataWarning(UserWarning):
    """The data are usable but probably not as intended."""


class NothingToLearnWarning(DataWarning):
    """No labels differ: a ranker fitted to them learns nothing."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the line of the caller outside this package as the location."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
