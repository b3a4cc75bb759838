"""Errors of requests, with the status of their response."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MAX_LENGTH = 2000  # characters of a message


class RequestError(Exception):
    """A request that cannot be fulfilled: its status, a word for programs, what is wrong, and what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None):
        self.message = message if len(message) <= MAX_LENGTH else message[:MAX_LENGTH] + "…"
        super().__init__(self.message)
        self.status, self.code, self.hint = status, code, hint


@contextmanager
def client_errors() -> Iterator[None]:
    """Turn errors about values and names of a request into a ``RequestError`` with their message."""
    try:
        yield
    except LookupError as error:
        raise RequestError(404, "not-found", _message(error)) from error
    except (ValueError, TypeError) as error:
        raise RequestError(422, "invalid", _message(error)) from error


def _message(error: Exception) -> str:
    # str() of a KeyError quotes its message
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error) or type(error).__name__
