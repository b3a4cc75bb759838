"""Words of messages: suggestions for misspelled names, and counts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from plackett.exceptions import UnknownNameError


def unknown_name(name: str, given: object, advice: str, known: Iterable[object]) -> UnknownNameError:
    """Return the error for the value of the parameter ``name``, which is not known; ``advice`` ends the message."""
    names = [str(one) for one in known]
    return UnknownNameError(f"{name}={given!r} is not known", advice, names, similar_names(given, names), (name, given))


def similar_names(given: object, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to ``n`` names that are similar to a misspelled one, the most similar first; case is ignored."""
    by_lower = {name.lower(): name for name in known}
    if str(given).lower() in by_lower:
        return [by_lower[str(given).lower()]]
    return [by_lower[name] for name in difflib.get_close_matches(str(given).lower(), by_lower, n=n, cutoff=cutoff)]


def did_you_mean(names: Sequence[str]) -> str:
    """Return a question with a space before it, to append to a message; empty without names."""
    return f" Did you mean {' or '.join(names)}?" if names else ""


def count_of(n: int, one: str, many: str | None = None) -> str:
    """Return ``n`` with its noun: "1 query", "1,692 queries"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
