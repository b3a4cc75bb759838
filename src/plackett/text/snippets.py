"""Snippets: the part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Set

from plackett.text.analyse import Analyser
from plackett.validation import check_positive_int

MORE = "…"


def snippet_of(text: str, terms: Set[str], analyser: Analyser, width: int) -> str:
    """The ``width`` characters of ``text`` with the most different ``terms``, the first of them where several are.

    Cut between words, blanks and line ends made one blank; dots mark what was left out.
    """
    width = check_positive_int(width, "width")
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    words = analyser.spans(text)
    hits = [(start, stop, term) for term, start, stop in words if term in terms]
    best_start, best_stop, most = 0, 0, 0
    for place, (start, _, _) in enumerate(hits):
        inside, end = set(), start
        for _, stop, term in hits[place:]:
            if stop - start > width:
                break
            if term not in inside:
                inside.add(term)
                end = stop
        if len(inside) > most:
            best_start, best_stop, most = start, end, len(inside)
    # a few words before the first hit make it readable, where there is room for them
    lead = min(width // 5, width - (best_stop - best_start))
    first = min(max(best_start - lead, 0), len(text) - width) if most else 0
    last = first + width
    if first > 0:
        first = min(_next_blank(text, first - 1) + 1, best_start)
    if last < len(text):
        cut = text.rfind(" ", first, last + 1)
        last = cut if cut > first else last
    return f"{MORE if first > 0 else ''}{text[first:last].strip()}{MORE if last < len(text) else ''}"


def _next_blank(text: str, start: int) -> int:
    found = text.find(" ", start)
    return len(text) if found < 0 else found
