"""Labels and scores of whole queries, and the orders that measures need, each computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import deal, n_threads, query_blocks
from plackett.data.grouping import group_rows
from plackett.data.queries import Queries
from plackett.metrics.scratch import Scratch
from plackett.validation import check_choice, check_levels, check_positive_int, check_scores

TIES = ("stable", "average", "worst", "best", "trec", "quicksort")
DOCS_PER_BLOCK = 1 << 18
LARGEST_CUTOFF = 2**53  # no list is longer; beyond it numbers of documents are not exact


class Ranked(NamedTuple):
    """Labels in the order of the scores. ``group_end``: see ``tie_groups.hpp``; empty unless ties are averaged."""

    labels: np.ndarray
    group_end: np.ndarray


class Ideal(NamedTuple):
    """The best labels of every query, falling, with bounds of their own."""

    labels: np.ndarray
    indptr: np.ndarray


def as_column(values: np.ndarray) -> np.ndarray:
    """The values as kernels take them: contiguous float64; a copy only where they are not."""
    if values.dtype == np.float64 and values.flags.c_contiguous and values.flags.aligned:
        return values
    return np.require(values, np.float64, ["C", "A"])


class JudgedLists:
    """Labels and scores grouped by query.

    Parameters
    ----------
    labels : ndarray of shape (n_docs,)
        Whole numbers become float64 when they are first read, which for a block of queries is within the cache.
    scores : ndarray of float64 and of shape (n_docs,)
    indptr : ndarray of shape (n_queries + 1,)
    docid : ndarray of shape (n_docs,), default=None
        Needed for ``ties="trec"`` only.
    n_retrieved : ndarray of shape (n_queries,), default=None
        The first so many rows of a query were retrieved, the others only judged: they count in ideals and totals,
        never in the ranking. None: all rows were retrieved.
    ids : ndarray of shape (n_queries,), default=None
        Query ids, for tables.
    part_of : JudgedLists, default=None
        The whole evaluation set, when these lists are a part of it.
    """

    def __init__(
        self,
        labels: np.ndarray,
        scores: np.ndarray,
        indptr: np.ndarray,
        *,
        docid: np.ndarray | None = None,
        n_retrieved: np.ndarray | None = None,
        ids: np.ndarray | None = None,
        part_of: JudgedLists | None = None,
    ):
        self._labels, self.scores, self.indptr, self.docid, self.ids = labels, as_column(scores), indptr, docid, ids
        self.lengths = np.diff(indptr)
        self.n_retrieved = n_retrieved
        self.n_ranked = self.lengths if n_retrieved is None else n_retrieved
        self._ranked: dict[str, Ranked] = {}
        self._ideal: dict[int | None, Ideal] = {}
        self._whole: dict[str, Ranked] = {}
        self._part_of = part_of
        self._is_block = False  # a block is worked through by the thread that was dealt it
        self._scratch: Scratch | None = None
        self._long_order: np.ndarray | None = None
        self._shared: dict[object, np.ndarray] = {}

    @classmethod
    def of_queries(cls, queries: Queries, scores: np.ndarray | None = None, *, with_docid: bool = False) -> JudgedLists:
        """The lists of queries, with scores in the order of their rows; None: all equal.

        ``with_docid``: a rule for ties asks for document ids, which may have to be decoded from comments first.
        """
        values = np.zeros(queries.n_docs) if scores is None else scores.astype(np.float64, copy=False)
        rows = queries.grouped
        docid = rows.docid if with_docid else None
        return cls(rows.labels, queries.in_groups(values), rows.indptr, docid=docid, ids=rows.ids)

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

    def run(self, kernel: Callable[..., object], *arguments: object) -> np.ndarray:
        """One value per query from ``kernel(*arguments, first, last, values)``, on all threads."""
        values = np.full(self.n_queries, np.nan)
        self._deal(lambda first, last: kernel(*arguments, first, last, values))
        return values

    def _deal(self, work: Callable[[int, int], object]) -> None:
        if self._is_block and self.n_queries:
            work(0, self.n_queries)
        else:
            deal(work, self.blocks())

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of whole queries: some for every thread, none so small that its overhead shows or too large to cache.

        A value depends on its query alone, so these may depend on the number of threads.
        """
        share = self.scores.size // (2 * n_threads()) + 1
        return query_blocks(self.indptr, min(DOCS_PER_BLOCK, max(share, DOCS_PER_BLOCK // 32)))

    @cached_property
    def in_single_precision(self) -> JudgedLists:
        """The same lists with scores rounded to float32."""
        with np.errstate(over="ignore"):
            rounded = self.scores.astype(np.float32)
        return self.with_scores(rounded.astype(np.float64))

    @cached_property
    def largest_label(self) -> float:
        """The largest label of the whole evaluation set; 0 when none is above."""
        if self._part_of is not None:
            return self._part_of.largest_label
        return float(self._labels.max(initial=0))

    def block(self, first: int, last: int, scratch: Scratch | None = None) -> JudgedLists:
        """Queries ``first`` to ``last``, sharing memory with these. Orders are valid while ``scratch`` is lent."""
        rows = slice(int(self.indptr[first]), int(self.indptr[last]))
        part = self._part(rows, slice(first, last), self.indptr[first : last + 1] - self.indptr[first])
        part._is_block, part._scratch = True, scratch
        return part

    def _empty(self, name: str, size: int, dtype: type) -> np.ndarray:
        return np.empty(size, dtype=dtype) if self._scratch is None else self._scratch.empty(name, size, dtype)

    def keep(self, which: np.ndarray) -> JudgedLists:
        """The queries of a mask."""
        rows = np.repeat(which, self.lengths)
        return self._part(rows, which, np.concatenate([[0], np.cumsum(self.lengths[which])]))

    def _part(self, rows, queries, indptr: np.ndarray) -> JudgedLists:
        return JudgedLists(
            self._labels[rows],
            self.scores[rows],
            indptr,
            docid=None if self.docid is None else self.docid[rows],
            n_retrieved=None if self.n_retrieved is None else self.n_retrieved[queries],
            ids=None if self.ids is None else self.ids[queries],
            part_of=self,
        )

    def with_scores(self, scores: np.ndarray, *, is_complete: bool = False) -> JudgedLists:
        """The same lists under other scores; ``is_complete``: these rank what was not retrieved as well."""
        other = JudgedLists(
            self._labels,
            scores,
            self.indptr,
            docid=self.docid,
            n_retrieved=None if is_complete else self.n_retrieved,
            ids=self.ids,
            part_of=self,
        )
        other._is_block = self._is_block
        return other

    def once(self, key: object, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """What ``compute`` gives, computed the first time only: several measures share it."""
        if key not in self._shared:
            self._shared[key] = compute()
        return self._shared[key]

    def ranked(self, ties: str) -> Ranked:
        """The labels in the order of the scores, equal scores settled by the rule ``ties``."""
        check_choice(ties, "ties", TIES)
        if ties not in self._ranked:
            ranked = self._empty(f"ranked {ties}", self.labels.size, np.float64)
            group_end = self._empty(f"ends {ties}", self._n_group_ends if ties == "average" else 0, np.int32)
            if ties == "quicksort":
                given = (self.scores, self.labels, self.indptr, self.n_ranked)
                self._deal(lambda first, last: _native.metrics.rank_labels_by_quicksort(*given, first, last, ranked))
            else:
                keys, order = self._tie_keys(ties), self._sorted_long()
                columns = (self.scores, self.labels, keys, self.indptr, self.n_ranked, order, ties == "average")
                self._deal(lambda first, last: _native.metrics.rank_labels(*columns, first, last, ranked, group_end))
            self._ranked[ties] = Ranked(ranked, group_end)
        return self._ranked[ties]

    def ideal(self, k: int | None) -> Ideal:
        """The ``k`` best labels of every query, or all of them, falling."""
        if k not in self._ideal:
            lengths = self.lengths if k is None else np.minimum(self.lengths, k)
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            labels = self._empty("ideal", int(indptr[-1]), np.float64) if k is None else np.empty(indptr[-1])
            given = (self.labels, self.indptr, indptr)
            self._deal(lambda first, last: _native.metrics.top_labels(*given, first, last, labels))
            self._ideal[k] = Ideal(labels, indptr)
        return self._ideal[k]

    def ranked_whole(self, ties: str) -> Ranked:
        """As ``ranked``, with the documents that were not retrieved behind all others, their ties averaged.

        Whatever the rule for ties: the order of the rows of a qrels file, or a rule that spares ties, would credit a
        run for documents that it never found.
        """
        if self.n_retrieved is None:
            return self.ranked(ties)
        if ties not in self._whole:
            ranked = self.ranked(ties)
            labels = ranked.labels.copy()
            group_end = np.empty(self._n_group_ends, dtype=np.int32)
            given = (self.labels, self.indptr, self.n_ranked, ranked.group_end)
            self._deal(lambda first, last: _native.metrics.append_rest(*given, first, last, labels, group_end))
            self._whole[ties] = Ranked(labels, group_end)
        return self._whole[ties]

    @property
    def _n_group_ends(self) -> int:
        return self.n_queries + self.scores.size

    def has_ties(self) -> bool:
        """Whether two documents of one query have the same score."""
        query = np.repeat(np.arange(self.n_queries), self.lengths)
        order = np.lexsort((self.scores, query))
        ordered, query = self.scores[order], query[order]
        return bool(((ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])).any())

    def _sorted_long(self) -> np.ndarray:
        if self._long_order is None:
            long = np.flatnonzero(self.n_ranked > _native.metrics.COUNT_LIMIT)
            self._long_order = np.empty(self.labels.size if long.size else 0, dtype=np.int64)
            deal(self._sort_one, [(int(q),) for q in long])
        return self._long_order

    def _sort_one(self, q: int) -> None:
        rows = slice(int(self.indptr[q]), int(self.indptr[q] + self.n_ranked[q]))
        # several times as fast as a stable sort, which only ties need: the kernel sees to those
        self._long_order[rows] = np.argsort(-self.scores[rows])  # type: ignore[index]

    def _tie_keys(self, ties: str) -> np.ndarray:
        """Documents with equal scores stand by rising keys; none for the order of the rows."""
        if ties == "worst":
            return self.labels
        if ties == "best":
            return -self.labels
        if ties in ("stable", "average"):  # the kernel makes keys of lists that need them
            return np.zeros(0)
        if self.docid is None:
            if self.has_ties():
                raise ValueError(
                    'ties="trec" puts equal scores in the order of the document ids, but there are none. '
                    "Give docid, or choose another rule for ties."
                )
            return np.zeros(0)
        # trec_eval compares ids as text, also those that look like numbers
        text = self.docid if self.docid.dtype.kind == "U" else np.array([str(name) for name in self.docid.tolist()])
        return -np.unique(text, return_inverse=True)[1].reshape(-1).astype(np.float64)


def judge(labels: object, scores: object, qid: object = None, docid: object = None) -> JudgedLists:
    """Check arrays that come from outside and group them by query."""
    checked = check_levels(labels)
    values = check_scores(scores, checked.size)
    groups = group_rows(qid, checked.size)
    names = None if docid is None else np.asarray(docid)
    if names is not None and names.shape != checked.shape:
        raise ValueError(f"docid has shape {names.shape} but there are {checked.size:,} labels.")
    if groups.order is not None:
        checked, values = checked[groups.order], values[groups.order]
        names = None if names is None else names[groups.order]
    return JudgedLists(checked, values.astype(np.float64, copy=False), groups.indptr, docid=names, ids=groups.ids)


def check_cutoff(k: object) -> int | None:
    """The cut-off ``k``: a whole number of at least 1, or None for the whole list."""
    return None if k is None else min(check_positive_int(k, "k"), LARGEST_CUTOFF)


def fill_empty(values: np.ndarray, empty: object) -> np.ndarray:
    """Replace NaN, the mark of an empty query, by what ``empty`` says."""
    check_empty(empty)
    return values if empty == "skip" else np.where(np.isnan(values), float(empty), values)  # type: ignore[arg-type]


def mean_of_counted(values: np.ndarray) -> float:
    """The mean over all that is not NaN; NaN when nothing is left."""
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else np.nan


def check_empty(empty: object) -> None:
    """Refuse anything but "skip", 0 and 1 (as numbers of any kind)."""
    if not (isinstance(empty, str) and empty == "skip") and not (
        isinstance(empty, (int, float, np.number)) and not isinstance(empty, bool) and float(empty) in (0.0, 1.0)
    ):
        raise ValueError(f'empty={empty!r} is not known; choose "skip" (NaN, left out of means), 0 or 1.')
