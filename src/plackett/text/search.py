"""Ranked search of an index, scores of given documents, and snippets."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.exceptions import ParameterError
from plackett.text.analyse import Analyser
from plackett.text.postings import Postings
from plackett.text.vectors import MODES, WINDOW, Found, Query, added, nearest
from plackett.text.weighting import Factors, Ranker
from plackett.validation import check_choice, check_number, check_positive_int, count_of

if TYPE_CHECKING:
    from plackett.text.index import TextIndex

_POSTINGS_PER_BLOCK = 1 << 18
_QUERIES_PER_BLOCK = 16
ELLIPSIS = "…"  # in snippets
_work = threading.local()


class Hit(NamedTuple):
    """A document that was found.

    Attributes
    ----------
    docid : str
        Id of the document.
    score : float
        Its score; higher is better.

    Examples
    --------
    >>> import plackett as pk
    >>> hit = pk.text.build_index(["red apples", "green pears"]).search("pears")[0]
    >>> hit.docid, round(hit.score, 3)
    ('1', 0.693)
    """

    docid: str
    score: float


class Hits:
    """Documents that were found, the best first; iterating yields each as ``(docid, score)``.

    Attributes
    ----------
    docid : ndarray of str
        Ids of the documents.
    scores : ndarray of float
        Their scores; higher is better.
    places : ndarray of int
        Positions of the documents in the index.

    Examples
    --------
    >>> import plackett as pk
    >>> hits = pk.text.build_index(["red apples", "green pears", "apples"]).search("apples")
    >>> hits
    Hits(2 documents)
    >>> [docid for docid, score in hits]
    ['2', '0']
    """

    def __init__(self, docid: np.ndarray, scores: np.ndarray, places: np.ndarray):
        self.docid, self.scores, self.places = docid, scores, places

    def __len__(self) -> int:
        return self.places.size

    def __iter__(self) -> Iterator[Hit]:
        return (Hit(name, score) for name, score in zip(self.docid.tolist(), self.scores.tolist(), strict=True))

    def __getitem__(self, which: int) -> Hit:
        return Hit(str(self.docid[which]), float(self.scores[which]))

    def __repr__(self) -> str:
        return f"Hits({count_of(len(self), 'document')})"


class QueryTerms(NamedTuple):
    """The terms of queries: their numbers, how often each occurs, and in which query."""

    numbers: np.ndarray
    times: np.ndarray
    query_of: np.ndarray

    def found_in(self, postings: Postings) -> QueryTerms:
        """Return the terms that occur in a field, the rarest of a query first.

        All sums are taken in this order, so that every way to compute a score gives bit-identical results.
        """
        df = postings.indptr[self.numbers + 1] - postings.indptr[self.numbers]
        order = np.lexsort((df, self.query_of))  # equally rare terms in the order of their numbers
        order = order[df[order] > 0]
        return QueryTerms(self.numbers[order], self.times[order], self.query_of[order])


def terms_of(index: TextIndex, query: str | Sequence[str]) -> list[str]:
    """Return the terms of a query: a text is analysed, a sequence is used as it is."""
    if isinstance(query, str):
        return index.analyser(query)
    if isinstance(query, bytes) or not isinstance(query, Iterable):
        raise TypeError(f"the query is {query!r}; pass a text or a list of terms.")
    terms = list(query)
    for term in terms:
        if not isinstance(term, str):
            raise ValueError(f"the query holds {term!r}; pass a text or a list of terms.")
    return terms


def known_terms(index: TextIndex, *queries: Sequence[str]) -> QueryTerms:
    """Return the terms that are in the vocabulary, by ascending number within a query."""
    vocabulary = index.vocabulary
    numbers, times, query_of = [], [], []
    for query, terms in enumerate(queries):
        counted: dict[int, int] = {}
        for term in terms:
            number = vocabulary.get(term)
            if number is not None:
                counted[number] = counted.get(number, 0) + 1
        for number in sorted(counted):
            numbers.append(number)
            times.append(counted[number])
            query_of.append(query)
    return QueryTerms(np.array(numbers, np.int64), np.array(times, np.float64), np.array(query_of, np.int64))


class Impacts(NamedTuple):
    """What each posting adds to the score of its document, and each term's maximum; empty unless all are above 0."""

    numbers: np.ndarray
    highest: np.ndarray


def impacts_of(postings: Postings, factors: Factors) -> Impacts:
    """Return what each posting adds to the score of its document."""
    out = np.empty(postings.docs.size)
    arrays = (postings.indptr, postings.docs, postings.tf, factors.of_term, factors.of_doc)

    def fill(first: int, last: int) -> None:
        _native.text.impacts(factors.form, factors.discount, *arrays, first, last, out)

    map_blocks(fill, query_blocks(postings.indptr, _POSTINGS_PER_BLOCK))
    if not (out.size and out.min() > 0.0):
        return Impacts(out, np.zeros(0))
    highest, has_postings = np.zeros(postings.n_terms), postings.df > 0
    highest[has_postings] = np.maximum.reduceat(out, postings.indptr[:-1][has_postings])
    return Impacts(out, highest)


class WeighedPostings(NamedTuple):
    """Postings with their impacts; the query's terms are numbered ``terms`` among them."""

    indptr: np.ndarray
    docs: np.ndarray
    impacts: Impacts
    terms: np.ndarray


def weighed_postings(index: TextIndex, field: str | None, ranker: Ranker, terms: np.ndarray) -> WeighedPostings:
    """Return the impacts of all postings if that pays off, otherwise those of the query's postings.

    The impacts of a whole index pay off for many queries, not for one. Impacts are computed query by query until as
    many were computed as the index holds. This is never more than twice the work of the better choice.
    """
    postings = index.postings(field)
    starts, stops = postings.indptr[terms], postings.indptr[terms + 1]
    if index.has_impacts(field, ranker, n_postings=int((stops - starts).sum())):
        return WeighedPostings(postings.indptr, postings.docs, index.impacts(field, ranker), terms)
    factors = index.factors(field, ranker)
    parts = [slice(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    few = Postings(
        np.concatenate([[0], np.cumsum(stops - starts)]),
        np.concatenate([postings.docs[part] for part in parts]),
        np.concatenate([postings.tf[part] for part in parts]),
        postings.n_docs,
    )
    impacts = impacts_of(few, replace(factors, of_term=factors.of_term[terms]))
    return WeighedPostings(few.indptr, few.docs, impacts, np.arange(terms.size))


def found(
    index: TextIndex, queries: Sequence[Query], k: int, ranker: Ranker, field: str | None, mode: str, weight: float
) -> list[Found]:
    """Return the best documents of each query; see ``TextIndex.search``."""
    k = check_positive_int(k, "k")
    if check_number(weight, "weight", least=0.0) > 1.0:
        raise ParameterError("weight", weight, "it is the share of the vectors, from 0 to 1.")
    words = [terms_of(index, query) for query in queries]
    if check_choice(mode, "mode", MODES) == "words":
        return _by_words(index, words, k, ranker, field)
    depth = k if mode == "vectors" else max(k, WINDOW)
    by_vectors = nearest(index, queries, depth)
    if mode == "vectors":
        return by_vectors
    by_words = _by_words(index, words, depth, ranker, field)
    return [added(*both, weight, k) for both in zip(by_words, by_vectors, strict=True)]


def _by_words(
    index: TextIndex, words: Sequence[Sequence[str]], k: int, ranker: Ranker, field: str | None
) -> list[Found]:
    n_queries = len(words)
    if n_queries > _QUERIES_PER_BLOCK:
        index.impacts(field, ranker)  # computed once, before the threads need them
    index.vocabulary  # noqa: B018

    def answer(first: int, last: int) -> list[Found]:
        return [_best(index, words[place], k, ranker, field) for place in range(first, last)]

    starts = range(0, n_queries, _QUERIES_PER_BLOCK)
    blocks = [(first, min(first + _QUERIES_PER_BLOCK, n_queries)) for first in starts]
    return [result for block in map_blocks(answer, blocks) for result in block]


def _best(
    index: TextIndex, words: Sequence[str], k: int, ranker: Ranker, field: str | None
) -> tuple[np.ndarray, np.ndarray]:
    postings = index.postings(field)
    terms, times, query_of = known_terms(index, words).found_in(postings)
    if not terms.size:
        return np.zeros(0), np.zeros(0, dtype=np.int32)
    factors, weighed = index.factors(field, ranker), weighed_postings(index, field, ranker, terms)
    scale, base, weight_of_prior = (float(part[0]) for part in factors.constants(terms, times, query_of, 1))
    prior = np.zeros(0) if factors.prior is None else factors.prior
    k = min(k, index.n_docs)
    scores, places = np.empty(k), np.empty(k, dtype=np.int32)
    found = _native.text.best(
        weighed.indptr, weighed.docs, weighed.impacts.numbers, weighed.impacts.highest, weighed.terms, times,
        scale, base, prior, weight_of_prior, *factors.prior_range, *_work_arrays(index.n_docs), scores, places,
    )  # fmt: skip
    return scores[:found], places[:found]


def _work_arrays(n_docs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return work arrays of this thread: sums and marks per document, all zero before and after use, and a list."""
    if getattr(_work, "n_docs", 0) < n_docs:
        _work.sums, _work.is_met = np.zeros(n_docs), np.zeros(n_docs, dtype=np.uint8)
        _work.met, _work.n_docs = np.empty(n_docs + 1, dtype=np.int32), n_docs
    return _work.sums[:n_docs], _work.is_met[:n_docs], _work.met


def check_places(docs: Sequence[int] | np.ndarray, n_docs: int) -> np.ndarray:
    """Return ``docs`` as an array of positions of documents; raise if one is out of range."""
    places = np.asarray(docs)
    if places.size == 0:
        return np.zeros(0, dtype=np.int32)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError("docs must be a list of positions, whole numbers from 0; index.place(docid) returns them.")
    if int(places.min()) < 0 or int(places.max()) >= n_docs:
        wrong = places[(places < 0) | (places >= n_docs)][0]
        raise ValueError(f"docs holds the position {int(wrong)}, but there are {n_docs} documents, numbered from 0.")
    return places.astype(np.int32)


class PairTerms(NamedTuple):
    """Queries, each with its terms and with documents: ``terms[term_bounds[q]:...]``, ``docs[pair_bounds[q]:...]``."""

    terms: np.ndarray
    times: np.ndarray
    term_bounds: np.ndarray
    docs: np.ndarray
    pair_bounds: np.ndarray

    def count_bounds(self) -> np.ndarray:
        """Return where the counts of each query begin: one count per document and term."""
        sizes = np.diff(self.term_bounds) * np.diff(self.pair_bounds)
        return np.concatenate([[0], np.cumsum(sizes)])


def pair_counts(postings: Postings, pairs: PairTerms) -> np.ndarray:
    """Return how often each term of its query occurs in each document, document by document."""
    bounds = pairs.count_bounds()
    counts = np.empty(int(bounds[-1]), dtype=np.int32)
    _native.text.pair_counts(
        postings.indptr, postings.docs, postings.tf, pairs.terms, pairs.term_bounds, pairs.docs, pairs.pair_bounds,
        bounds, counts,
    )  # fmt: skip
    return counts


def pair_sums(factors: Factors, pairs: PairTerms, counts: np.ndarray) -> np.ndarray:
    """Return the sum of impacts of each pair."""
    sums = np.empty(pairs.docs.size)
    _native.text.pair_sums(
        factors.form, factors.discount, factors.of_term, factors.of_doc, pairs.terms, pairs.times, pairs.term_bounds,
        pairs.docs, pairs.pair_bounds, pairs.count_bounds(), counts, sums,
    )  # fmt: skip
    return sums


def snippet_of(text: str, terms: Set[str], analyser: Analyser, width: int) -> str:
    """Return the ``width`` characters of ``text`` with the most different ``terms``, the first such part.

    It is cut between words; runs of whitespace become one space, and dots mark omissions.

    Examples
    --------
    >>> from plackett.text import Analyser
    >>> from plackett.text.search import snippet_of
    >>> snippet_of("boats float on water and wings lift a plane", {"wings", "lift"}, Analyser(), 20)
    '…and wings lift a…'
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
    # a few words of context before the first hit, if they fit
    lead = min(width // 5, width - (best_stop - best_start))
    first = min(max(best_start - lead, 0), len(text) - width) if most else 0
    last = first + width
    if first > 0:
        blank = text.find(" ", first - 1)
        first = best_start if blank < 0 else min(blank + 1, best_start)
    if last < len(text):
        cut = text.rfind(" ", first, last + 1)
        last = cut if cut > first else last
    return f"{ELLIPSIS if first > 0 else ''}{text[first:last].strip()}{ELLIPSIS if last < len(text) else ''}"
