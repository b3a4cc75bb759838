"""Errors that callers may want to tell apart. All of them are also the built-in error a caller would expect."""

from __future__ import annotations

import sys
import warnings


class DataFormatError(ValueError):
    """A file does not say what its format promises; ``path`` and ``line`` (from 1) tell where."""

    def __init__(self, path: str, line: int | None, message: str):
        self.path, self.line, self.message = path, line, message
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {message}")

    def __reduce__(self):
        return type(self), (self.path, self.line, self.message)


class ModelFormatError(ValueError):
    """A file is not a model, is damaged, or asks for what this version does not have; ``path`` tells which."""

    def __init__(self, path: str, message: str):
        self.path, self.message = path, message
        super().__init__(f"{path}: {message}")

    def __reduce__(self):
        return type(self), (self.path, self.message)


class DatasetNotFoundError(FileNotFoundError):
    """A named data set is not where it was looked for; the message says where to get it and where to put it."""


class StoreError(OSError):
    """The workbench's store cannot be opened, read or written; ``location`` tells which, without any password."""

    def __init__(self, location: str, message: str):
        self.location, self.message = location, message
        super().__init__(f"{location}: {message}")

    def __reduce__(self):
        return type(self), (self.location, self.message)


class ConvergenceWarning(UserWarning):
    """A solver stopped before it reached its tolerance."""


class DataWarning(UserWarning):
    """The data are usable but probably not what was meant."""


class NothingToLearnWarning(DataWarning):
    """The labels order no documents: a ranker fitted to them ranks by nothing."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the line of the caller outside this package, however deep inside it the cause was found."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
