"""Errors of requests, with the status of their response."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, Field

MAX_LENGTH = 2000  # characters of a message


class RequestError(Exception):
    """A request that cannot be fulfilled: its status, a word for programs, what is wrong, and what to do."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None):
        self.message = message if len(message) <= MAX_LENGTH else message[:MAX_LENGTH] + "…"
        super().__init__(self.message)
        self.status, self.code, self.hint = status, code, hint


class ErrorResponse(BaseModel):
    """The body of every response with a status of 400 or more."""

    error: str = Field(description="What is wrong; several lines if it shows a position in a query.")
    hint: str | None = Field(default=None, description="What to do.")
    code: str = Field(description="One word for programs, such as token, not-found or invalid.")
    id: str | None = Field(default=None, description="Id of an internal error in the server's log.")


def missing(message: str, hint: str | None = None) -> RequestError:
    """Return the error for what does not exist."""
    return RequestError(404, "not-found", message, hint)


def invalid(message: str, hint: str | None = None) -> RequestError:
    """Return the error for values that cannot be used."""
    return RequestError(422, "invalid", message, hint)


@contextmanager
def client_errors() -> Iterator[None]:
    """Turn errors about values and names of a request into a ``RequestError`` with their message."""
    try:
        yield
    except LookupError as error:
        raise missing(_message(error)) from error
    except (ValueError, TypeError) as error:
        raise invalid(_message(error)) from error


def _message(error: Exception) -> str:
    # str() of a KeyError quotes its message
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error) or type(error).__name__
