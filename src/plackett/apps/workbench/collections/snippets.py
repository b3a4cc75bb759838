"""The part of a document that matches a query."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plackett.text.analyse import Analyser
from plackett.text.search import snippet_of

SNIPPET_LENGTH = 220  # characters
SNIPPET_WINDOW = 8_000  # characters of a long text that are searched for a snippet, around the first query term


def marked_snippet(texts: Mapping[str, str], query: str, analyser: Analyser) -> list[tuple[str, bool]]:
    """Return pieces of the body, or else of the longest field, with True for query terms."""
    if not texts:
        return []
    field = "body" if texts.get("body") else max(texts, key=lambda name: len(texts[name]))
    wanted = frozenset(analyser(query))
    text = snippet_of(_window(wanted, texts[field]), wanted, analyser, SNIPPET_LENGTH)
    pieces, end = [], 0
    for term, start, stop in analyser.spans(text):
        if term in wanted:
            pieces += [(text[end:start], False), (text[start:stop], True)]
            end = stop
    pieces.append((text[end:], False))
    return [piece for piece in pieces if piece[0]]


def _window(terms: frozenset[str], text: str) -> str:
    """Return the part of a long text around the first term; analysing all of it would take seconds."""
    if len(text) <= SNIPPET_WINDOW:
        return text
    found = re.search("|".join(map(re.escape, sorted(terms, key=len, reverse=True))), text, re.IGNORECASE)
    start = max((found.start() if terms and found else 0) - SNIPPET_WINDOW // 10, 0)
    return text[start : start + SNIPPET_WINDOW]
