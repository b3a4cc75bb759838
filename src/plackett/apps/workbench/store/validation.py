"""Checks of stored values: the same limits for SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from numbers import Real
from typing import Any

from plackett.apps.workbench.limits import MAX_BASE, MAX_DOCID, MAX_ID, MAX_QUERY

MAX_NAME = MAX_BASE  # characters in the name of a user, a ranker, a base ranker or a kind of job
MAX_TEXT = 2_000  # characters in a collection's name or a job's message
MAX_JSON = 1_000_000  # characters in a job's settings or result, or a ranker's summary
MAX_RANKER = 64 * 2**20  # bytes in a saved ranker


def check_text(value: str, what: str, *, max_length: int = MAX_TEXT, may_be_empty: bool = False) -> str:
    """Return ``value`` if both databases can store it unchanged."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}.")
    if not value and not may_be_empty:
        raise ValueError(f"{what} is empty.")
    if len(value) > max_length:
        raise ValueError(f"{what} has {len(value):,} characters; the store keeps up to {max_length:,}.")
    if "\x00" in value:
        raise ValueError(
            f"{what} contains a null character: {reprlib.repr(value)}. PostgreSQL cannot store it; remove it."
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} contains a lone surrogate: {reprlib.repr(value)}. It is not valid Unicode text."
        ) from None
    return value


def check_query(text: str) -> str:
    return check_text(text, "a query", max_length=MAX_QUERY)


def check_docid(docid: str) -> str:
    return check_text(docid, "a docid", max_length=MAX_DOCID)


def query_key(collection: str, text: str) -> str:
    """Return the digest that identifies a query of a collection; neither part can contain the separator."""
    both = check_text(collection, "a collection's name") + "\x00" + check_query(text)
    return hashlib.sha256(both.encode("utf-8")).hexdigest()


def check_grade(grade: float | None) -> float | None:
    if grade is None:
        return None
    if not isinstance(grade, Real) or isinstance(grade, bool):
        raise TypeError(f"a grade must be a number, not {type(grade).__name__}.")
    try:
        number = float(grade)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"a grade must be a finite number, not {number}.")
    return number


def check_id(value: int, what: str) -> int:
    """Return ``value`` if it is in the range of row ids; raise a LookupError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_ID:
        raise LookupError(f"there is no {what} {reprlib.repr(value)}.")
    return value


def check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= 10_000:
        raise ValueError(f"limit must be from 1 to 10,000, not {limit}.")
    if not 0 <= offset <= MAX_ID:
        raise ValueError(f"offset must be from 0 to {MAX_ID}, not {offset}.")


def check_json(value: dict[str, Any], what: str) -> str:
    """Return ``value`` as strict JSON text."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{what} cannot be written as JSON: {error}") from None
    if len(text) > MAX_JSON:
        raise ValueError(f"{what} has {len(text):,} characters as JSON; the store keeps up to {MAX_JSON:,}.")
    return text
