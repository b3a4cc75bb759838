"""What was damaged in a log, how often, and the rule that was applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, SupportsInt

from plackett._tables import aligned
from plackett.validation import count_of

# Damage by name: what is counted, and the rule. A damaged list is cut from its end: in every click model the clicks on
# the first ranks do not depend on what is shown below.
RULES = {
    "damaged line": ("line", "skipped: not a JSON object, another number of columns, or an unclosed quote"),
    "missing session": ("row", "skipped: no session id"),
    "missing query": ("row", "skipped: no query"),
    "missing document": ("row", "the list is cut before the document without an id"),
    "missing position": ("row", "skipped; the list is cut where the row is missing"),
    "invalid position": ("row", "skipped: not a whole number of at least the first position"),
    "missing click": ("row", "counted as not clicked"),
    "invalid click": ("row", "skipped: neither a number nor true or false; the list is cut where the row is missing"),
    "invalid propensity": ("row", "skipped: not above 0 and at most 1; the list is cut where the row is missing"),
    "invalid time": ("row", "the time is ignored"),
    "repeated row": ("row", "merged; clicked if one of them is"),
    "gap in positions": ("list", "cut before the first missing position"),
    "two documents at a position": ("list", "cut before that position"),
    "document shown twice": ("list", "cut before its second appearance"),
    "list beyond the cut-off": ("list", "cut to the first k documents"),
    "several queries in a session": ("session", "split: one session for each query"),
    "empty list": ("session", "dropped: no document at the first position"),
    "repeated session": ("session", "merged: the longest list is kept if it begins with the others"),
    "contradictory session": ("session", "dropped: one id with different queries or lists"),
    "copied session": ("session", "dropped: same client, query, list and time as one that is kept"),
    "bot": ("session", "dropped: the client name indicates a bot, or the client has too many sessions"),
    "click in an unknown session": ("click", "dropped"),
    "click on what was not shown": ("click", "dropped"),
    "click below a cut": ("click", "dropped with its document"),
    "click without a document": ("click", "found by its position"),
    "click without document and position": ("click", "dropped"),
    "click at another position": ("click", "found by its document"),
    "repeated click": ("click", "counted once"),
}


class Cleaning:
    r"""Report of the damage that ``read_clicks`` found in a log, and how it was treated.

    Attributes
    ----------
    n_lines : int
        Lines or rows that were read, blank ones not included.
    first_position : int
        The position of the first document in the source, 0 or 1.
    counts : dict of str to int
        How often each kind of damage occurred, by its name.

    Examples
    --------
    >>> import io
    >>> import plackett as pk
    >>> text = "session,query,docid,rank,click\n1,shoe,a,1,0\n1,shoe,b,3,1\nhello\n"
    >>> log = pk.clicks.read_clicks(io.StringIO(text))
    >>> print(log.cleaning)
    lines read         3
    damaged line       1  skipped: not a JSON object, another number of columns, or an unclosed quote
    gap in positions   1  cut before the first missing position
    click below a cut  1  dropped with its document
    >>> log.cleaning["gap in positions"]
    1
    """

    def __init__(self, counts: Mapping[str, int] | None = None, *, n_lines: int = 0, first_position: int = 1):
        self.counts: dict[str, int] = {}
        self.n_lines, self.first_position = n_lines, first_position
        for name, count in (counts or {}).items():
            self.add(name, count)

    def add(self, name: str, count: SupportsInt) -> None:
        """Count damage, which must have a rule."""
        if name not in RULES:
            raise KeyError(f"{name!r} is not a kind of damage.")
        if int(count):
            self.counts[name] = self.counts.get(name, 0) + int(count)

    def __getitem__(self, name: str) -> int:
        if name not in RULES:
            raise KeyError(f"{name!r} is not a kind of damage. The kinds are {', '.join(RULES)}.")
        return self.counts.get(name, 0)

    @property
    def rules(self) -> dict[str, str]:
        """The rule for each kind of damage that occurred."""
        return {name: RULES[name][1] for name in RULES if name in self.counts}

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the name, the count and the rule of each kind of damage that occurred."""
        return [(name, f"{self.counts[name]:,}", rule) for name, rule in self.rules.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        counts = {name: self.counts[name] for name in RULES if name in self.counts}
        return {"n_lines": self.n_lines, "first_position": self.first_position, "counts": counts}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cleaning:
        """Return the report of ``to_dict``."""
        known = {str(name): int(count) for name, count in values["counts"].items() if name in RULES}
        return cls(known, n_lines=int(values["n_lines"]), first_position=int(values["first_position"]))

    @classmethod
    def sum(cls, reports: Iterable[Cleaning]) -> Cleaning:
        """Return the report of several sources."""
        total = cls()
        for one in reports:
            total.n_lines += one.n_lines
            total.first_position = min(total.first_position, one.first_position)
            for name, count in one.counts.items():
                total.add(name, count)
        return total

    def __str__(self) -> str:
        return aligned([("lines read", f"{self.n_lines:,}", ""), *self.rows()], "lrl")

    def __repr__(self) -> str:
        damages = ", ".join(count_of(count, name) for name, count in self.counts.items())
        return f"Cleaning({count_of(self.n_lines, 'line')}{': ' if damages else ''}{damages})"
