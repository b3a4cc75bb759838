"""Measure indexing of synthetic documents, BM25 searches against bm25s, and features of (query, document) pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import Result, best_of, peer
from benchmarks.turns import best_in_turns, judged
from plackett.text import TextIndex, build_index, letor_features

N_DOCS, N_INDEXED = 100_000, 20_000
WORDS_PER_DOC, WORDS_PER_TITLE, WORDS_PER_QUERY = 60, 8, 4
N_WORDS = 50_000
N_QUERIES = 200
K = 10
MB_PER_MINUTE = 20.0
BACKENDS = ("numpy", "numba")  # of bm25s


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    vocabulary, shares = _vocabulary(rng)
    places = rng.choice(N_WORDS, size=(N_DOCS, WORDS_PER_DOC), p=shares)
    documents = [[vocabulary[place] for place in row] for row in places.tolist()]
    # words of one document each, so that queries have rare and common words as the documents do
    asked = rng.choice(N_DOCS, size=N_QUERIES, replace=False).tolist()
    queries = [sorted(set(documents[place][:WORDS_PER_QUERY])) for place in asked]
    indexing, index = _indexing(documents[:N_INDEXED])
    return [indexing, _features(index, queries), *_searching(documents, queries)]


def _vocabulary(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return different words of 4 to 11 letters and their frequencies, by Zipf's law as in English."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words: dict[str, None] = {}
    while len(words) < N_WORDS:
        words["".join(letters[rng.integers(26, size=rng.integers(4, 12))])] = None
    shares = 1.0 / (np.arange(N_WORDS) + 2.7) ** 1.07
    return list(words), shares / shares.sum()


def _indexing(documents: list[list[str]]) -> tuple[Result, TextIndex]:
    """Measure indexing of title and body from plain text, in one thread; allowed is the time of 20 MB a minute."""
    texts = {
        "title": [" ".join(words[:WORDS_PER_TITLE]).capitalize() for words in documents],
        "body": [" ".join(words[WORDS_PER_TITLE:]).capitalize() + "." for words in documents],
    }
    megabytes = sum(len(text) for column in texts.values() for text in column) / 1e6
    seconds = best_of(lambda: build_index(texts), repeat=3)
    what = f"indexing {len(documents):,} documents, {megabytes:.1f} MB, title and body"
    note = f"{60 * megabytes / seconds:.0f} MB a minute; allowed: {MB_PER_MINUTE:g}"
    allowed = 60 * megabytes / MB_PER_MINUTE
    return judged(Result(what, seconds, "allowed", allowed, 1, note)), build_index(texts)


def _features(index: TextIndex, queries: list[list[str]]) -> Result:
    """Measure all columns of 1,000 pairs: 50 documents for each of 20 queries."""
    texts = {str(number): words for number, words in enumerate(queries[:20])}
    names = index.docid.tolist()
    candidates = {qid: names[50 * place : 50 * (place + 1)] for place, qid in enumerate(texts)}
    data = letor_features(index, texts, candidates)
    best = best_in_turns({"ours": lambda: letor_features(index, texts, candidates)}, rounds=3)
    what = f"letor_features, {data.n_docs:,} pairs, {data.n_features} features"
    return judged(Result(what, best["ours"], "allowed", 0.050, 1, f"{index.n_docs:,} documents indexed"))


def _searching(documents: list[list[str]], queries: list[list[str]]) -> list[Result]:
    """Compare queries one at a time, with given terms; the seconds are those of one query."""
    index = build_index([" ".join(words) for words in documents])
    for query in queries:  # until all impacts are computed
        index.search(query, K)
    calls = {"ours": lambda: [index.search(query, K) for query in queries]}
    bm25s = peer("bm25s")
    if bm25s is not None:
        for backend in BACKENDS if peer("numba") else BACKENDS[:1]:
            other = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend=backend)
            other.index(documents, show_progress=False)
            _check_same(index, other, queries[:20])
            calls[backend] = lambda other=other: [
                other.retrieve([query], k=K, show_progress=False, n_threads=0) for query in queries
            ]
    best = {name: seconds / N_QUERIES for name, seconds in best_in_turns(calls, rounds=10).items()}
    what = f"BM25, best {K} of {N_DOCS:,} documents, one query"
    note = f"{WORDS_PER_QUERY} words; one thread"
    return [judged(Result(what, best["ours"], f"bm25s, {backend}", best.get(backend), 1, note)) for backend in BACKENDS]


def _check_same(index: TextIndex, other, queries: list[list[str]]) -> None:
    """Check that both give the same scores; those of bm25s are in single precision and lack the factor k1 + 1."""
    for query in queries:
        theirs = np.sort(other.retrieve([query], k=K, show_progress=False, n_threads=0)[1][0])[::-1]
        ours = index.search(query, K).scores
        np.testing.assert_allclose(ours, 2.2 * theirs[: ours.size], rtol=1e-4)
