"""Preferences from clicks: a clicked document is preferred to those seen and not clicked (``joachims2005``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from plackett.data.trec.ids import as_text_ids

CLICKED_ABOVE_SKIPPED = "clicked-above-skipped"
LAST_CLICK_ABOVE_SKIPPED = "last-click-above-skipped"
CLICKED_ABOVE_NEXT = "clicked-above-next"
STRATEGIES = (CLICKED_ABOVE_SKIPPED, LAST_CLICK_ABOVE_SKIPPED, CLICKED_ABOVE_NEXT)


def preferences_of_clicks(
    qid: Any, shown: Iterable[Sequence], clicked: Iterable[Sequence], strategy: str, max_pairs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the query, better and worse document of every preference, list by list, from the top down."""
    queries = as_text_ids(qid, "qid")
    lists = [_as_list(one, "shown", place) for place, one in enumerate(_lists(shown, "shown"))]
    clicks = [_as_list(one, "clicked", place) for place, one in enumerate(_lists(clicked, "clicked"))]
    if not queries.size == len(lists) == len(clicks):
        raise ValueError(
            f"there are {queries.size:,} queries, {len(lists):,} lists shown and {len(clicks):,} lists of clicks; the "
            "numbers must be equal."
        )
    of_list, better, worse = [], [], []
    for place, (documents, chosen) in enumerate(zip(lists, clicks, strict=True)):
        try:
            flags, last = check_list(documents, chosen)
        except ValueError as error:
            raise ValueError(f"list {place}: {error}") from None
        for one, other in _pairs(flags, last, strategy):
            of_list.append(place)
            better.append(documents[one])
            worse.append(documents[other])
            if len(better) > max_pairs:
                raise ValueError(f"the clicks imply more than {max_pairs:,} pairs. Use fewer or shorter lists.")
    return queries[np.array(of_list, dtype=np.int64)], as_text_ids(better, "better"), as_text_ids(worse, "worse")


def check_list(shown: Sequence[str], clicked: Sequence[str]) -> tuple[list[bool], int]:
    """Return whether each shown document was clicked, and the position of the last click, -1 without clicks."""
    places = {document: place for place, document in enumerate(shown)}
    if len(places) < len(shown):
        repeated = next(document for place, document in enumerate(shown) if places[document] != place)
        raise ValueError(f"document {repeated!r} was shown twice.")
    flags = [False] * len(shown)
    for document in clicked:
        if document not in places:
            raise ValueError(f"document {document!r} was clicked but not shown.")
        flags[places[document]] = True
    return flags, places[clicked[-1]] if clicked else -1


def _pairs(flags: list[bool], last: int, strategy: str) -> Iterator[tuple[int, int]]:
    """Yield positions (better, worse)."""
    if strategy == CLICKED_ABOVE_NEXT:
        for place in range(len(flags) - 1):
            if flags[place] and not flags[place + 1]:
                yield place, place + 1
        return
    skipped: list[int] = []
    for place, is_clicked in enumerate(flags):
        if not is_clicked:
            skipped.append(place)
        elif strategy == CLICKED_ABOVE_SKIPPED or place == last:
            for above in skipped:
                yield place, above


def _lists(lists: Any, name: str) -> list:
    if isinstance(lists, (str, bytes)) or not hasattr(lists, "__iter__"):
        raise ValueError(f"{name} is a {type(lists).__name__}; a list of lists of document ids is needed.")
    return list(lists)


def _as_list(documents: Any, name: str, place: int) -> list[str]:
    if isinstance(documents, (str, bytes)) or not hasattr(documents, "__iter__"):
        raise ValueError(f"{name} holds {documents!r} at position {place}; a list of document ids is needed.")
    texts = list(documents)
    if all(type(text) is str and "\0" not in text for text in texts):  # the usual case, without a detour through numpy
        return texts
    return as_text_ids(texts, f"{name}[{place}]").tolist()
