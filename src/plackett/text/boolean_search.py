"""Searching by a Boolean query: what matches, the best first by the words that it may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett.text.boolean import And, Node, Not, Or, parse_boolean
from plackett.text.search import Hits
from plackett.text.weighting import Ranker

if TYPE_CHECKING:
    from plackett.text.index import TextIndex


class BooleanHits(NamedTuple):
    """The best of the documents that match, the number of all that do, and the terms that they may hold."""

    hits: Hits
    n_matching: int
    terms: list[str]


def search_boolean(
    index: TextIndex, query: str | Node, k: int = 10, ranker: str | Ranker = "bm25", field: str | None = None
) -> BooleanHits:
    """The ``k`` best documents of those that a Boolean query matches.

    A Boolean query gives a set. Its documents are ordered by the score of ``ranker`` for the words and phrases that do
    not stand behind a NOT; equal scores, or no such words, leave the order of the index.

    Parameters
    ----------
    query : str or Node
        As for ``TextIndex.match``.
    k, ranker, field : as for ``TextIndex.search``
    """
    node = parse_boolean(query) if isinstance(query, str) else query
    places = index.match(node, field)
    terms = wanted_terms(index, node)
    scores: np.ndarray = index.scores(terms, places, ranker, field) if terms else np.zeros(places.size)
    best = np.argsort(-scores, kind="stable")[:k]
    return BooleanHits(Hits(index.docid[places[best]], scores[best], places[best]), places.size, terms)


def wanted_terms(index: TextIndex, node: Node) -> list[str]:
    """The terms of a Boolean query that do not stand behind a NOT."""
    return [term for text in _wanted(node) for term in index.analyser(text)]


def _wanted(node: Node) -> list[str]:
    if isinstance(node, Not):
        return []
    if isinstance(node, (And, Or)):
        return [text for part in node.parts for text in _wanted(part)]
    return [node.text]
