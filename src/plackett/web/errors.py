"""What can be wrong with a request, in words; where it went wrong in our code stays out of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 2000  # characters of a message


class Problem(Exception):
    """An answer that is an error: what is wrong, and what to do about it.

    Parameters
    ----------
    status : int
        Of the answer.
    code : str
        One word for programs.
    error : str
        For people; it may have several lines.
    hint : str, default=None
        What to do.
    """

    def __init__(self, status: int, code: str, error: str, hint: str | None = None):
        super().__init__(error)
        self.status, self.code, self.hint = status, code, hint
        self.error = error if len(error) <= LONGEST else error[:LONGEST] + "…"


@contextmanager
def asked() -> Iterator[None]:
    """What is said here about a wrong value or an unknown name is the answer to whoever asked."""
    try:
        yield
    except LookupError as error:
        raise Problem(404, "not-found", _words(error)) from error
    except (ValueError, TypeError) as error:
        raise Problem(422, "invalid", _words(error)) from error


def _words(error: Exception) -> str:
    """A message as it was meant: a KeyError shows its message in quotes."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error) or type(error).__name__
