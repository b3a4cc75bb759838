"""Losses as objectives of boosted trees: slope and curvature of every score, for LightGBM and XGBoost.

Both are those of the sum over queries, not of the mean: a leaf adds up the slopes and curvatures of its documents, and
its limits (``lambda_l2``, ``min_sum_hessian_in_leaf``) apply to such sums. With :class:`~plackett.losses.Squared` both
are exactly those of the packages' own regression.

The curvature is the exact diagonal of the second derivative, at least ``SMALLEST``. (The bound, which solvers that move
all scores at once need, is up to twice as large and needs more trees for the same result.) Losses without a curvature,
or with one that may be negative, get a constant: see ``TreeObjective``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett._threads import map_blocks, query_blocks
from plackett.data.queries import Queries, QueryLists
from plackett.losses.base import Loss, lists_of
from plackett.losses.softmax import sums_for_rows
from plackett.validation import count_of

SMALLEST = 1e-9  # curvature: leaves divide by sums of them
DOCS_PER_BLOCK = 4096  # worth the overhead of a thread


class TreeObjective:
    """A loss over judged lists as an objective of boosted trees.

    A loss whose ``curvature_diagonal`` is never negative uses that. Any other loss (hinge, psi, RankCosine, a φ other
    than exp) uses a constant: the mean absolute slope of the query at equal scores. The first trees then move scores by
    about the learning rate, later ones by less as slopes fall.

    Parameters
    ----------
    loss : Loss
        Not a random one: the packages expect the slope to be a function of the scores.
    queries : Queries, or its ``lists``
    weights : ndarray of shape (n_queries,), default=None
        Weights of the queries; None means equal weights.
    """

    def __init__(self, loss: Loss, queries: Queries | QueryLists, weights: np.ndarray | None = None):
        lists = lists_of(queries)
        if loss.is_random:
            raise ValueError(
                f"{loss!r} is random at every pass, but trees need the same slope for the same scores. "
                'Use ties="breslow" or ties="efron".'
            )
        loss.check_fit(lists)
        self.loss, self.n_docs = loss, lists.n_docs
        self._sizes = np.diff(lists.indptr)
        self._weights = weights
        self._mixed = queries if isinstance(queries, Queries) and not queries.is_grouped else None
        has_diagonal = loss.has_positive_diagonal
        self._blocks = []
        for first, last in query_blocks(lists.indptr, DOCS_PER_BLOCK):
            part = lists.part(first, last)
            curvature = None if has_diagonal else _usual_slope(loss, part)
            rows = slice(int(lists.indptr[first]), int(lists.indptr[last]))
            self._blocks.append((_Block(rows, slice(first, last), part, curvature),))

    def evaluate(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss summed over all queries, and the slope and the curvature of each score."""
        values, slope, curvature = np.empty(self._sizes.size), np.empty(self.n_docs), np.empty(self.n_docs)

        def work(block: _Block) -> None:
            rows, found = block.rows, block.curvature
            given = scores[rows], block.lists, slope[rows]
            if found is None:
                values[block.queries], found = self.loss.values_and_diagonal_at(*given)
            else:
                values[block.queries] = self.loss.query_values(*given)
            np.maximum(found, SMALLEST, out=curvature[rows])

        map_blocks(work, self._blocks)
        if self._weights is None:
            return float(values.sum()), slope, curvature
        of_rows = np.repeat(self._weights, self._sizes)
        return float(values @ self._weights), slope * of_rows, curvature * of_rows

    def __call__(self, scores: Any, data: Any = None, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return slope and curvature, times the weights of the package's data, of rows or queries.

        The packages call ``f(scores, data)``; their classes for scikit-learn ``f(labels, scores, weights of rows)``.
        """
        labels = None
        if hasattr(data, "get_weight"):
            sample_weight = data.get_weight()
        elif data is not None:
            labels, scores = scores, data
        scores = np.require(scores, np.float64, ["C", "A"]).reshape(-1)
        if scores.size != self.n_docs:
            raise ValueError(
                f"the trees are grown on {count_of(scores.size, 'row')} but the queries have {self.n_docs:,} documents."
            )
        if data is not None and self._mixed is not None:
            self._check_order(data.get_label() if labels is None else labels, self._mixed.labels)
        if self.loss.is_flat_at_zero and not scores.any():
            raise ValueError(
                f"{self.loss!r} has slope 0 if all scores are 0. Start from other scores (init_score of LightGBM's "
                "Dataset, base_margin of XGBoost's DMatrix), such as 1 for every row."
            )
        _, slope, curvature = self.evaluate(scores if self._mixed is None else self._mixed.in_groups(scores))
        if self._mixed is not None:
            slope, curvature = self._mixed.in_row_order(slope), self._mixed.in_row_order(curvature)
        if sample_weight is None or not len(sample_weight):
            return slope, curvature
        if len(sample_weight) not in (self.n_docs, self._sizes.size):
            n_weights, n_queries = count_of(len(sample_weight), "weight"), self._sizes.size
            raise ValueError(f"the data have {n_weights}, but there are {self.n_docs:,} rows of {n_queries:,} queries.")
        if len(sample_weight) != self.n_docs:
            sample_weight = np.repeat(sample_weight, self._sizes)
            sample_weight = sample_weight if self._mixed is None else self._mixed.in_row_order(sample_weight)
        return slope * sample_weight, curvature * sample_weight

    def _check_order(self, labels: Any, own: np.ndarray) -> None:
        """Raise if the labels show that rows are in another order than those of the queries, for example by query."""
        if labels is None or not np.array_equal(np.float32(labels), np.float32(own)):
            raise ValueError(
                "rows of different queries are mixed in these queries, and the labels of the data that the trees are "
                "grown on are in another order. Grow the trees on queries.X with the labels queries.y, or pass "
                "queries.grouped here and grow them on its rows."
            )

    def __repr__(self) -> str:
        return f"<{self.loss!r} as an objective of trees, {self.n_docs:,} documents>"


class _Block(NamedTuple):
    """Some whole queries: their rows, numbers and lists, and their curvature if it is constant."""

    rows: slice
    queries: slice
    lists: QueryLists
    curvature: np.ndarray | None


def _usual_slope(loss: Loss, lists: QueryLists) -> np.ndarray:
    """Return for each document the mean absolute slope of its query at equal scores."""
    slope = np.empty(lists.n_docs)
    loss.query_values(np.full(lists.n_docs, 0.0 if loss.ignores_shifts else 1.0), lists, slope)
    return sums_for_rows(np.abs(slope), lists) / np.repeat(np.diff(lists.indptr), np.diff(lists.indptr))
