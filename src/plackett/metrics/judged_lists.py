"""Labels and scores grouped by query, and the orders that measures need, each computed once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plackett import _native
from plackett._arrays import bounds
from plackett._threads import map_blocks, n_threads, query_blocks
from plackett.data.grouping import group_rows
from plackett.data.queries import Queries
from plackett.data.subtopics import Subtopics
from plackett.exceptions import DataWarning, warn
from plackett.metrics.ties import TIES, tie_keys
from plackett.validation import check_choice, check_labels, check_levels, check_positive_int, check_scores

DOCS_PER_BLOCK = 1 << 18
UNJUDGED = -1.0  # in trec_eval any negative label means that a document is in the pool, but not judged
LARGEST_CUTOFF = 2**53  # beyond it numbers of documents are not exact in float64
LARGEST_KEPT = 1 << 22  # bytes of one array; a block with one very long list may need more, and then allocates it

Computed = TypeVar("Computed")
_thread = threading.local()


class Ranked(NamedTuple):
    """Labels in the order of the scores; ``group_end`` as in ``tie_groups.hpp``, empty unless ties are averaged."""

    labels: np.ndarray
    group_end: np.ndarray


class Ideal(NamedTuple):
    """The best labels of every query in descending order, with their own bounds."""

    labels: np.ndarray
    indptr: np.ndarray


def as_column(values: np.ndarray) -> np.ndarray:
    """Return the values as contiguous float64, which kernels need; a copy only if they are not."""
    if values.dtype == np.float64 and values.flags.c_contiguous and values.flags.aligned:
        return values
    return np.require(values, np.float64, ["C", "A"])


class JudgedLists:
    """Labels and scores grouped by query.

    Parameters
    ----------
    labels : ndarray of shape (n_docs,)
        Integers are converted to float64 when first read: for a block of queries, within the cache. Negative for
        documents that are not judged.
    scores : ndarray of float64 and of shape (n_docs,)
    indptr : ndarray of shape (n_queries + 1,)
    docid : ndarray of shape (n_docs,), or Queries that have them; default=None
        Those of queries are read, and parsed if necessary, when a rule for ties or a measure needs them.
    n_retrieved : ndarray of shape (n_queries,), default=None
        Number of retrieved rows, which come first in their query. The other rows were only judged: they count in
        ideals and totals, not in the ranking. None means that all rows were retrieved.
    ids : ndarray of shape (n_queries,), default=None
        Query ids, for tables.
    is_pooled : ndarray of bool and of shape (n_docs,), default=None
        Whether a document is in the qrels, judged or not; None means all.
    subtopics : Subtopics, default=None
        Labels by subtopic, for measures of diversity.
    part_of : JudgedLists, default=None
        The whole evaluation set, if these lists are a part of it.
    rows : slice or ndarray, default=None
        The rows of the whole set, from which a part takes document ids, pool and subtopics when it needs them. None
        means all.
    """

    def __init__(
        self,
        labels: np.ndarray,
        scores: np.ndarray,
        indptr: np.ndarray,
        *,
        docid: np.ndarray | Queries | None = None,
        n_retrieved: np.ndarray | None = None,
        ids: np.ndarray | None = None,
        is_pooled: np.ndarray | None = None,
        subtopics: Subtopics | None = None,
        part_of: JudgedLists | None = None,
        rows: slice | np.ndarray | None = None,
    ):
        self._labels, self.scores, self.indptr, self.ids = labels, as_column(scores), indptr, ids
        self.lengths = np.diff(indptr)
        self.n_retrieved = n_retrieved
        self._columns: dict[str, Any] = {"docid": docid, "is_pooled": is_pooled, "subtopics": subtopics}
        self._rows = rows
        self.n_ranked = self.lengths if n_retrieved is None else n_retrieved
        self._part_of = part_of
        self._is_block = False  # a block is processed by one thread
        self._scratch: Scratch | None = None
        self._cached: dict[object, Any] = {}
        self.n_sampled: dict[str, int] = {}  # queries whose ties a user's measure averaged over random orders

    @classmethod
    def of_queries(cls, queries: Queries, scores: np.ndarray | None = None) -> JudgedLists:
        """Return the lists of queries, with scores in the order of their rows; None means equal scores."""
        if queries.has_estimated_labels:
            warn(
                "labels that were estimated from clicks are measured as if they were judgements: those below 0 count "
                "as not judged, and the noise of the others becomes bias. Measure on judged lists, or with "
                "plackett.clicks.evaluate_from_clicks.",
                DataWarning,
            )
        values = np.zeros(queries.n_docs) if scores is None else scores.astype(np.float64, copy=False)
        rows = queries.grouped
        return cls(
            mark_unjudged(rows.labels),
            queries.in_groups(values),
            rows.indptr,
            docid=rows,
            ids=rows.ids,
            subtopics=rows.subtopics,
        )

    @property
    def docid(self) -> np.ndarray | None:
        found = self._column("docid")
        return found.docid if isinstance(found, Queries) else found

    @property
    def is_pooled(self) -> np.ndarray | None:
        return self._column("is_pooled")

    @property
    def subtopics(self) -> Subtopics | None:
        return self._column("subtopics")

    def _column(self, name: str) -> Any:
        if self._columns[name] is None and self._part_of is not None:
            whole = getattr(self._part_of, name)
            self._columns[name] = whole if whole is None or self._rows is None else whole[self._rows]
        return self._columns[name]

    @property
    def n_queries(self) -> int:
        return self.indptr.size - 1

    @property
    def labels(self) -> np.ndarray:
        if self._scratch is not None and self._labels.dtype != np.float64:
            column = self._scratch.empty("labels", self._labels.size, np.float64)
            column[:] = self._labels
            self._labels = column
        self._labels = as_column(self._labels)
        return self._labels

    def run(self, kernel: Callable[..., object], *arguments: object, by_row: bool = False) -> np.ndarray:
        """Return a value per query or row, written by ``kernel(*arguments, first, last, values)`` on all threads."""
        values = np.zeros(self.scores.size) if by_row else np.full(self.n_queries, np.nan)
        self._run(lambda first, last: kernel(*arguments, first, last, values))
        return values

    def _run(self, work: Callable[[int, int], object]) -> None:
        if self._is_block and self.n_queries:
            work(0, self.n_queries)
        else:
            map_blocks(work, self.blocks())

    def blocks(self) -> list[tuple[int, int]]:
        """Return ranges of whole queries, several per thread, worth their overhead and small enough for the cache.

        The value of a query depends on that query only, so the ranges may depend on the number of threads.
        """
        share = self.scores.size // (2 * n_threads()) + 1
        return query_blocks(self.indptr, min(DOCS_PER_BLOCK, max(share, DOCS_PER_BLOCK // 32)))

    @cached_property
    def in_single_precision(self) -> JudgedLists:
        """The lists with scores rounded to float32."""
        with np.errstate(over="ignore"):
            rounded = self.scores.astype(np.float32)
        lists = self.with_scores(rounded.astype(np.float64))
        lists.n_sampled = self.n_sampled
        return lists

    @cached_property
    def largest_label(self) -> float:
        """The largest label of the whole evaluation set, at least 0."""
        if self._part_of is not None:
            return self._part_of.largest_label
        return float(self._labels.max(initial=0))

    @cached_property
    def largest_subtopic_label(self) -> float:
        """The largest label of a subtopic in the whole evaluation set, at least 0."""
        if self._part_of is not None:
            return self._part_of.largest_subtopic_label
        return 0.0 if self.subtopics is None else float(self.subtopics.labels.max(initial=0))

    def block(self, first: int, last: int, scratch: Scratch | None = None) -> JudgedLists:
        """Return queries ``first`` to ``last`` without a copy. Orders are valid until ``scratch`` is reused."""
        rows = slice(int(self.indptr[first]), int(self.indptr[last]))
        part = self._part(rows, slice(first, last), self.indptr[first : last + 1] - self.indptr[first])
        part._is_block, part._scratch = True, scratch
        return part

    def _empty(self, name: str, size: int, dtype: type) -> np.ndarray:
        return np.empty(size, dtype=dtype) if self._scratch is None else self._scratch.empty(name, size, dtype)

    def limit(self, k: object) -> int:
        """Return the checked cut-off ``k``; for None the length of the longest list."""
        cutoff = check_cutoff(k)
        return int(self.lengths.max(initial=0)) if cutoff is None else cutoff

    def keep(self, which: np.ndarray) -> JudgedLists:
        """Return the queries of a mask."""
        rows = np.repeat(which, self.lengths)
        return self._part(rows, which, bounds(self.lengths[which]))

    def _part(self, rows, queries, indptr: np.ndarray) -> JudgedLists:
        return JudgedLists(
            self._labels[rows],
            self.scores[rows],
            indptr,
            n_retrieved=None if self.n_retrieved is None else self.n_retrieved[queries],
            ids=None if self.ids is None else self.ids[queries],
            part_of=self,
            rows=rows,
        )

    def with_scores(self, scores: np.ndarray, *, is_complete: bool = False) -> JudgedLists:
        """Return the lists with other scores; with ``is_complete`` these also rank what was not retrieved."""
        other = JudgedLists(
            self._labels,
            scores,
            self.indptr,
            n_retrieved=None if is_complete else self.n_retrieved,
            ids=self.ids,
            part_of=self,
        )
        other._is_block = self._is_block
        return other

    def cached(self, key: object, compute: Callable[[], Computed]) -> Computed:
        """Return ``compute()``, cached under ``key`` for other measures."""
        if key not in self._cached:
            self._cached[key] = compute()
        return self._cached[key]

    def ranked(self, ties: str) -> Ranked:
        """Return the labels in the order of the scores, equal scores ordered by the rule ``ties``."""
        name = f"ranked {ties}"
        return self.cached(name, lambda: self._rank(self.labels, ties, self._empty(name, self.labels.size, np.float64)))

    def ranked_values(self, values: np.ndarray, ties: str) -> Ranked:
        """Return other values of the documents in the order of the scores, as ``ranked`` does for the labels."""
        return self._rank(values, ties, np.empty(values.size))

    def _rank(self, values: np.ndarray, ties: str, ranked: np.ndarray) -> Ranked:
        check_choice(ties, "ties", TIES)
        group_end = self._empty(f"ends {ties}", self._n_group_ends if ties == "average" else 0, np.int32)
        keys, order = tie_keys(self, ties), self.cached("long", self._sort_long)
        columns = (self.scores, values, keys, self.indptr, self.n_ranked, order, ties == "average")
        self._run(lambda first, last: _native.metrics.rank_labels(*columns, first, last, ranked, group_end))
        return Ranked(ranked, group_end)

    def ideal(self, k: int | None) -> Ideal:
        """Return the ``k`` best labels of every query, or all, in descending order."""
        return self.cached(("ideal", k), lambda: self._top(k))

    def _top(self, k: int | None) -> Ideal:
        lengths = self.lengths if k is None else np.minimum(self.lengths, k)
        indptr = bounds(lengths)
        labels = self._empty("ideal", int(indptr[-1]), np.float64) if k is None else np.empty(indptr[-1])
        columns = (self.labels, self.indptr, indptr)
        self._run(lambda first, last: _native.metrics.top_labels(*columns, first, last, labels))
        return Ideal(labels, indptr)

    def ranked_whole(self, ties: str) -> Ranked:
        """Return ``ranked`` with the documents that were not retrieved after all others, their ties averaged.

        They are averaged under every rule for ties: the order of the rows of a qrels file, or the rule "best", would
        credit a run for documents that it did not retrieve.
        """
        if self.n_retrieved is None:
            return self.ranked(ties)
        return self.cached(("whole", ties), lambda: self._append_rest(self.ranked(ties)))

    def _append_rest(self, ranked: Ranked) -> Ranked:
        labels, group_end = ranked.labels.copy(), np.empty(self._n_group_ends, dtype=np.int32)
        columns = (self.labels, self.indptr, self.n_ranked, ranked.group_end)
        self._run(lambda first, last: _native.metrics.append_rest(*columns, first, last, labels, group_end))
        return Ranked(labels, group_end)

    @property
    def _n_group_ends(self) -> int:
        return self.n_queries + self.scores.size

    def _sort_long(self) -> np.ndarray:
        """Return the order of the rows of long lists; of the others the kernel counts the places."""
        long = np.flatnonzero(self.n_ranked > _native.metrics.COUNT_LIMIT)
        order = np.empty(self.labels.size if long.size else 0, dtype=np.int64)

        def sort(q: int) -> None:
            rows = slice(int(self.indptr[q]), int(self.indptr[q] + self.n_ranked[q]))
            # several times as fast as a stable sort, which only ties need; the kernel orders those
            order[rows] = np.argsort(-self.scores[rows])

        map_blocks(sort, [(int(q),) for q in long])
        return order


def mark_unjudged(labels: np.ndarray) -> np.ndarray:
    """Return labels with ``UNJUDGED`` instead of NaN; the same array if no label is NaN."""
    if labels.dtype.kind != "f" or not np.isnan(labels.sum()):
        return labels
    return np.where(np.isnan(labels), UNJUDGED, labels)


def judge(
    labels: object,
    scores: object,
    qid: object = None,
    docid: object = None,
    *,
    has_nan: bool = False,
    subtopics: Subtopics | None = None,
) -> JudgedLists:
    """Return the user's arrays, checked and grouped by query; lists that are passed as ``labels`` are returned.

    ``has_nan`` accepts labels of NaN, which mean that a document was not judged.
    """
    if isinstance(labels, JudgedLists):
        return labels
    checked = mark_unjudged(check_labels(labels, name="labels", allow_nan=True)) if has_nan else check_levels(labels)
    values = check_scores(scores, checked.size)
    groups = group_rows(qid, checked.size)
    names = None if docid is None else np.asarray(docid)
    if names is not None and names.shape != checked.shape:
        raise ValueError(f"docid has shape {names.shape} but there are {checked.size:,} labels.")
    if groups.order is not None:
        checked, values = checked[groups.order], values[groups.order]
        names = None if names is None else names[groups.order]
        subtopics = None if subtopics is None else subtopics[groups.order]
    values = values.astype(np.float64, copy=False)
    return JudgedLists(checked, values, groups.indptr, docid=names, ids=groups.ids, subtopics=subtopics)


def check_cutoff(k: object) -> int | None:
    """Return the cut-off ``k``: an integer of at least 1, or None for the whole list."""
    return None if k is None else min(check_positive_int(k, "k"), LARGEST_CUTOFF)


def fill_empty(values: np.ndarray, empty: object) -> np.ndarray:
    """Return the values with NaN, which marks an empty query, replaced as ``empty`` says."""
    check_empty(empty)
    return values if empty == "skip" else np.where(np.isnan(values), float(empty), values)  # type: ignore[arg-type]


def mean_of_counted(values: np.ndarray) -> float:
    """Return the mean of the values that are not NaN; NaN if all are."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else np.nan


def check_empty(empty: object) -> None:
    """Raise for anything except "skip", 0 and 1 (of any numeric type)."""
    if not (isinstance(empty, str) and empty == "skip") and not (
        isinstance(empty, (int, float, np.number)) and not isinstance(empty, bool) and float(empty) in (0.0, 1.0)
    ):
        raise ValueError(f'empty={empty!r} is not known; choose "skip" (NaN, left out of means), 0 or 1.')


# --- Scratch arrays ---------------------------------------------------------------------------------------------------
# A thread reuses them for all its blocks: touching the pages of a new large array costs more than computing a measure.


class Scratch:
    """Arrays by name and dtype. An array is valid until the same one is requested again."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, type], np.ndarray] = {}

    def empty(self, name: str, size: int, dtype: type) -> np.ndarray:
        """Return an uninitialised array."""
        array = self._arrays.get((name, dtype))
        if array is None or array.size < size:
            array = np.empty(size, dtype=dtype)
            if array.nbytes <= LARGEST_KEPT:
                self._arrays[name, dtype] = array
        return array[:size]


@contextlib.contextmanager
def thread_scratch() -> Iterator[Scratch]:
    """Yield the scratch arrays of this thread; a nested call gets new ones."""
    scratch = getattr(_thread, "scratch", None) or Scratch()
    _thread.scratch = None
    try:
        yield scratch
    finally:
        _thread.scratch = scratch
