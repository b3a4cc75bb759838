"""Text: impacts, searches by BM25 and by a language model, scores of given documents, phrases, features."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from plackett.text import TextIndex, build_index, letor_features

N_DOCS, N_WORDS, N_QUERIES = 40_000, 20_000, 300


def _word(number: int) -> str:
    """Return a word of letters only, which the analyser does not change."""
    letters = ""
    for _ in range(4):
        number, digit = divmod(number, 26)
        letters += chr(ord("a") + digit)
    return letters + "q"


@functools.cache
def _made() -> tuple[TextIndex, list[list[str]]]:
    """Return documents of 60 words with frequencies as in English, and queries of 4 words of a document each."""
    rng = np.random.default_rng(0)
    shares = 1.0 / (np.arange(N_WORDS) + 2.7) ** 1.07
    words = [_word(number) for number in range(N_WORDS)]
    documents = [[words[place] for place in row] for row in _drawn(rng, shares / shares.sum())]
    index = build_index([" ".join(row) for row in documents], positions=True)
    queries = [sorted(set(documents[place][:4])) for place in rng.choice(N_DOCS, size=N_QUERIES, replace=False)]
    return index, queries


def _drawn(rng: np.random.Generator, shares: np.ndarray) -> list[list[int]]:
    return rng.choice(N_WORDS, size=(N_DOCS, 60), p=shares).tolist()


def _searches(ranker: str, k: int) -> Callable[[], object]:
    index, queries = _made()
    index.impacts(None, _ranker(index, ranker))
    return lambda: [index.search(query, k, ranker) for query in queries]


def _ranker(index: TextIndex, name: str):
    from plackett.text.weighting import get_ranker

    return get_ranker(name)


def _impacts(ranker: str) -> Callable[[], object]:
    from plackett.text.search import impacts_of

    index, _ = _made()
    postings, factors = index.postings(), index.factors(None, _ranker(index, ranker))
    return lambda: impacts_of(postings, factors)


def _all_scores() -> Callable[[], object]:
    index, queries = _made()
    index.impacts(None, _ranker(index, "bm25"))
    return lambda: [index.scores(query) for query in queries[:100]]


def _pair_scores() -> Callable[[], object]:
    index, queries = _made()
    places = np.arange(0, N_DOCS, 4)
    return lambda: [index.scores(query, places) for query in queries[:50]]


def _phrases() -> Callable[[], object]:
    index, queries = _made()
    phrases = [f'"{query[0]} {query[-1]}"' for query in queries[:50]]
    return lambda: [index.match(phrase) for phrase in phrases]


def _boolean() -> Callable[[], object]:
    from plackett.text.boolean import search_boolean

    index, queries = _made()
    asked = [" OR ".join(query) for query in queries[:30]]
    return lambda: [search_boolean(index, query) for query in asked]


def _features() -> Callable[[], object]:
    index, queries = _made()
    names = index.docid.tolist()
    texts = {str(number): words for number, words in enumerate(queries[:100])}
    candidates = {qid: names[300 * place : 300 * (place + 1)] for place, qid in enumerate(texts)}
    return lambda: letor_features(index, texts, candidates)


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "impacts, BM25": lambda: _impacts("bm25"),
    "impacts, Jelinek-Mercer": lambda: _impacts("lm-jm"),
    "search, BM25, best 10": lambda: _searches("bm25", 10),
    "search, BM25, best 1000": lambda: _searches("bm25", 1000),
    "search, Dirichlet, best 10": lambda: _searches("lm-dirichlet", 10),
    "scores of all documents": _all_scores,
    "scores of given documents": _pair_scores,
    "Boolean search": _boolean,
    "phrases": _phrases,
    "letor_features": _features,
}
