"""What a solver minimises: the mean loss over queries of a scorer's scores, plus a penalty.

    (1 / Σ_q s_q) Σ_q s_q L_q(scores of q) + penalty(coef),    s_q the weight of query q, 1 by default

It is a sum over blocks of whole queries. Blocks are fixed by the data, each writes its own place and the sum comes
afterwards in their order, so results do not depend on the number of threads.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from functools import cached_property

import numpy as np

from plackett import _objective
from plackett._threads import deal, query_blocks
from plackett.data.queries import QueryLists
from plackett.losses.base import Loss
from plackett.penalties import L2
from plackett.scorers.linear import LinearScorer

MOST_SHARES = 64  # parts of the data that are added up apart, each with a gradient of its own
VALUES_PER_SHARE = 1 << 17  # a share should be worth the trouble of handing it to a thread
SHARE_OF_X = 20  # all the shares' gradients take at most one part in so many of the memory of X ...
FEWEST_SHARES = 8  # ... but there are at least this many
BYTES_IN_CACHE = 1 << 17  # rows that are scored before their slope is pulled back, in a fused pass
BYTES_PER_BLOCK = 1 << 20  # the same where each block costs calls from Python
LARGEST_MATRIX = 512  # up to so many coefficients their second derivative is estimated as a whole
SAMPLE = 1 << 15  # documents that are enough to estimate it


class Objective:
    """Mean loss of a linear scorer plus penalty, as a function of the coefficients.

    Parameters
    ----------
    loss : Loss
    scorer : LinearScorer
    lists : QueryLists
        Labels and bounds of the scorer's rows.
    penalty : L2
    weights : ndarray of shape (n_queries,), default=None
        Weight of each query; None weighs all alike.
    random_state : int, default=None
        Seed of losses that draw.
    """

    def __init__(
        self,
        loss: Loss,
        scorer: LinearScorer,
        lists: QueryLists,
        penalty: L2,
        *,
        weights: np.ndarray | None = None,
        random_state: int | None = None,
    ):
        self.loss, self.scorer, self.lists, self.penalty = loss, scorer, lists, penalty
        self.size = scorer.size
        self.n_terms = lists.n_queries
        self._weights = np.empty(0) if weights is None else weights / weights.sum()
        self._factor = 1.0 / max(1, lists.n_queries) if weights is None else 1.0
        self._scores, self._slope = np.empty(lists.n_docs), np.empty(lists.n_docs)
        self._values = np.empty(lists.n_queries)
        self._seed = random_state
        self._last_coef: np.ndarray | None = None
        self._term_lists: dict[int, QueryLists] = {}

    # what a solver asks before it starts

    @property
    def name(self) -> str:
        return repr(self.loss)

    @property
    def is_convex(self) -> bool:
        return self.loss.is_convex

    @property
    def is_smooth(self) -> bool:
        return self.loss.is_smooth

    @property
    def is_random(self) -> bool:
        return self.loss.is_random

    @property
    def has_curvature_product(self) -> bool:
        return self.loss.has_curvature_product

    @property
    def has_curvature_bound(self) -> bool:
        return self.loss.has_curvature_bound

    # how the work is divided

    @cached_property
    def _shares(self) -> list[tuple[int, int]]:
        """Ranges of queries that are added up apart."""
        most = min(MOST_SHARES, max(FEWEST_SHARES, self.scorer.n_bytes // (SHARE_OF_X * 8 * max(1, self.size))))
        n_shares = max(1, min(most, self.scorer.n_values // VALUES_PER_SHARE))
        return query_blocks(self.lists.indptr, -(-self.lists.n_docs // n_shares) or 1)

    @cached_property
    def _blocks(self) -> list[list[_Block]]:
        """The queries of each share in blocks that fit the cache, for losses that are called from Python."""
        docs = self._docs_of(BYTES_PER_BLOCK)
        ranges = []
        for first, last in self._shares:
            inner = query_blocks(self.lists.indptr[first : last + 1], docs)
            ranges.append([(first + begin, first + end) for begin, end in inner])
        seeds = iter(np.random.SeedSequence(self._seed).spawn(sum(map(len, ranges)))) if self.is_random else None
        rng = itertools.repeat(None) if seeds is None else map(np.random.default_rng, seeds)
        return [[_Block(self.lists, first, last, next(rng)) for first, last in share] for share in ranges]

    def _rows_of(self, first: int, last: int) -> tuple[int, int]:
        """The rows of queries ``first`` to ``last``."""
        return int(self.lists.indptr[first]), int(self.lists.indptr[last])

    def _docs_of(self, n_bytes: int) -> int:
        bytes_per_doc = self.scorer.n_bytes // max(1, self.lists.n_docs)
        return max(1, n_bytes // max(1, bytes_per_doc))

    def _add_up(self, work: Callable[[int, np.ndarray], None]) -> np.ndarray:
        """Σ over shares of the vector that ``work(share, vector)`` adds to, in the order of the shares."""
        parts = np.zeros((len(self._shares), self.size))
        deal(lambda share: work(share, parts[share]), [(share,) for share in range(len(self._shares))])
        return parts.sum(axis=0) * self._factor

    # value and gradient

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective at ``coef`` and its gradient, in one pass over X."""
        gradient = self._loss_gradient(coef)
        value = self._mean(self._values)
        return value + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    def _loss_gradient(self, coef: np.ndarray) -> np.ndarray:
        """The gradient of the loss alone; scores and losses are left in their places."""
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        self._last_coef = None
        fused = self._fused
        if fused is None:
            gradient = self._add_up(lambda share, out: self._evaluate_blocks(coef, share, out))
        else:
            gradient = self._add_up(lambda share, out: self._evaluate_fused(fused, coef, share, out))
        self._last_coef = coef.copy()
        return gradient

    @cached_property
    def _fused(self):
        return None if self.scorer.is_sparse else self.loss.fused(self.lists)

    def _evaluate_fused(self, fused, coef: np.ndarray, share: int, gradient: np.ndarray) -> None:
        first, last = self._shares[share]
        weights, shift = self.scorer.split(coef)
        _objective.evaluate(
            self.scorer.X, weights, shift, fused.evaluate, fused.labels, self._weights, first, last,
            self._docs_of(BYTES_IN_CACHE), self._scores, self._slope, self._values,
            gradient[: self.scorer.n_features],
        )  # fmt: skip
        self.scorer.pull_back_intercept(self._slope, *self._rows_of(first, last), gradient)

    def _evaluate_blocks(self, coef: np.ndarray, share: int, gradient: np.ndarray) -> None:
        for block in self._blocks[share]:
            rows = slice(block.start, block.stop)
            self.scorer.score(coef, block.start, block.stop, self._scores)
            slope = self._slope[rows]
            self._values[block.first : block.last] = self.loss.query_values(self._scores[rows], block.lists, slope)
            self._weigh(slope, block)
            self.scorer.pull_back(self._slope, block.start, block.stop, gradient)

    def _weigh(self, slope: np.ndarray, block: _Block) -> None:
        if self._weights.size:
            slope *= np.repeat(self._weights[block.first : block.last], np.diff(block.lists.indptr))

    def _mean(self, values: np.ndarray) -> float:
        return float(values @ self._weights) if self._weights.size else float(values.sum()) * self._factor

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """The scores of all documents at ``coef``; those of the last evaluation are kept."""
        if self._last_coef is None or not np.array_equal(coef, self._last_coef):
            docs = np.append(np.arange(0, self.lists.n_docs, self._docs_of(BYTES_PER_BLOCK)), self.lists.n_docs)
            scores = np.empty(self.lists.n_docs)
            deal(
                lambda start, stop: self.scorer.score(coef, start, stop, scores),
                list(itertools.pairwise(docs.tolist())),
            )
            return scores
        return self._scores.copy()

    # curvature

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies the second derivative at ``coef`` with a vector, in one pass over X."""
        scores = self.scores(coef)
        held = self.penalty.curvature_diagonal(self.size)
        moved, slope = np.empty(self.lists.n_docs), np.empty(self.lists.n_docs)
        fused = self._fused
        if fused is not None and fused.multiply is not None:

            def work(direction: np.ndarray, share: int, out: np.ndarray) -> None:
                first, last = self._shares[share]
                weights, shift = self.scorer.split(direction)
                _objective.multiply(
                    self.scorer.X, weights, shift, fused.multiply, fused.labels, self._weights, first, last,
                    self._docs_of(BYTES_IN_CACHE), scores, moved, slope, out[: self.scorer.n_features],
                )  # fmt: skip
                self.scorer.pull_back_intercept(slope, *self._rows_of(first, last), out)
        else:
            products = self._block_products(scores)

            def work(direction: np.ndarray, share: int, out: np.ndarray) -> None:
                for block, product in zip(self._blocks[share], products[share], strict=True):
                    rows = slice(block.start, block.stop)
                    self.scorer.score(direction, block.start, block.stop, moved)
                    slope[rows] = product(moved[rows])
                    self._weigh(slope[rows], block)
                    self.scorer.pull_back(slope, block.start, block.stop, out)

        def multiply(direction: np.ndarray) -> np.ndarray:
            direction = np.ascontiguousarray(direction, dtype=np.float64)
            return self._add_up(lambda share, out: work(direction, share, out)) + held * direction

        return multiply

    def _block_products(self, scores: np.ndarray) -> list[list[Callable]]:
        def of_share(share: int) -> list[Callable]:
            return [
                self.loss.curvature_at(scores[block.start : block.stop], block.lists) for block in self._blocks[share]
            ]

        return deal(of_share, [(share,) for share in range(len(self._shares))])

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """The diagonal of ``Xᵀ diag(d) X`` plus the penalty's, d the loss's curvature bound at ``coef``."""
        return self._squares(self._bounds(coef)) + self.penalty.curvature_diagonal(self.size)

    def _bounds(self, coef: np.ndarray) -> np.ndarray:
        """The curvature bound of each document, weighted; even weights where the loss has none."""
        scores, bounds = self.scores(coef), np.ones(self.lists.n_docs)
        if self.loss.has_curvature_bound and self._fused is not None:  # its labels are sorted as a whole, not by block
            bounds = self.loss.bound_at(scores, self.lists)
        elif self.loss.has_curvature_bound:

            def of_share(share: int) -> None:
                for block in self._blocks[share]:
                    rows = slice(block.start, block.stop)
                    bounds[rows] = self.loss.bound_at(scores[rows], block.lists)

            deal(of_share, [(share,) for share in range(len(self._shares))])
        if self._weights.size:
            bounds *= np.repeat(self._weights, np.diff(self.lists.indptr))
        return bounds

    def _squares(self, weights: np.ndarray) -> np.ndarray:
        def of_share(share: int, out: np.ndarray) -> None:
            first, last = self._shares[share]
            self.scorer.add_squares(weights, *self._rows_of(first, last), out)

        return self._add_up(of_share)

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """A rough second derivative: a matrix from a sample of queries, or the diagonal where that is too large."""
        if self.lists.n_docs == 0:
            return None
        bounds = self._bounds(coef)
        held = self.penalty.curvature_diagonal(self.size)
        if self.size > LARGEST_MATRIX:
            return self._squares(bounds) + held
        matrix = self._sampled_matrix(bounds)
        seen = matrix.diagonal() > 0
        if not seen.all():  # columns that are constant in the sampled queries
            np.fill_diagonal(matrix, np.where(seen, matrix.diagonal(), self._squares(bounds)))
        return matrix + np.diag(held)

    def _sampled_matrix(self, bounds: np.ndarray) -> np.ndarray:
        """``Xᵀ diag(bounds) X`` over a sample of queries, rows about their query's mean where shifts do nothing."""
        indptr = self.lists.indptr
        blocks = query_blocks(indptr, max(1, SAMPLE // 16))
        wanted = max(SAMPLE, 16 * self.size)
        every = max(1, self.lists.n_docs // wanted)
        chosen = blocks[:: min(every, max(1, len(blocks) // 16))]
        matrix = np.zeros((self.size, self.size))
        sampled = 0.0
        for first, last in chosen:
            start, stop = self._rows_of(first, last)
            stop = min(stop, start + 4 * SAMPLE)  # of an enormous query the first rows do
            rows, weights = self.scorer.rows(start, stop), bounds[start:stop]
            sampled += float(weights.sum())
            if self.loss.ignores_shifts:
                _subtract_means(rows, weights, np.minimum(indptr[first : last + 1], stop) - start)
            rows *= np.sqrt(weights)[:, None]
            matrix += rows.T @ rows
        return matrix * (self._factor * float(bounds.sum()) / sampled if sampled > 0 else 0.0)

    # one query at a time, for stochastic solvers

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]:
        """The objective with the loss of one query in the place of the mean, and its gradient."""
        if term not in self._term_lists:
            seed = None if not self.is_random else np.random.default_rng([term, self._seed or 0])
            self._term_lists[term] = self.lists.part(term, term + 1, seed)
        start, stop = self._rows_of(term, term + 1)
        weight = float(self._weights[term]) * self.n_terms if self._weights.size else 1.0
        self._last_coef = None
        self.scorer.score(coef, start, stop, self._scores)
        slope = self._slope[start:stop]
        value = self.loss.query_values(self._scores[start:stop], self._term_lists[term], slope)[0]
        gradient = np.zeros(self.size)
        slope *= weight
        self.scorer.pull_back(self._slope, start, stop, gradient)
        return weight * float(value) + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    # losses with kinks

    def smoothed(self, width: float) -> Objective:
        """The same objective with the kinks of its loss rounded off over ``width``."""
        return self.with_loss(self.loss.smoothed(width))  # type: ignore[attr-defined]

    def with_loss(self, loss: Loss) -> Objective:
        """The same objective with another loss; data, blocks and what was sorted are shared."""
        other = copy.copy(self)
        other.__dict__.pop("_fused", None)
        other.loss, other._last_coef = loss, None
        other._scores, other._slope = np.empty(self.lists.n_docs), np.empty(self.lists.n_docs)
        other._values = np.empty(self.lists.n_queries)
        return other

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """The value at ``coef`` less the dual value of the pair weights that ``smoothed(width)`` gives there."""
        sums = np.empty(self.lists.n_queries)
        smooth = self.smoothed(width)
        pull = smooth._loss_gradient(coef)
        scores = smooth._scores

        def of_share(share: int) -> None:
            for block in self._blocks[share]:
                rows = slice(block.start, block.stop)
                sums[block.first : block.last] = self.loss.dual_sums(  # type: ignore[attr-defined]
                    scores[rows], block.lists, width
                )

        deal(of_share, [(share,) for share in range(len(self._shares))])
        return self.value_and_gradient(coef)[0] - (self._mean(sums) - self.penalty.conjugate(pull))


class _Block:
    """A few queries: their places, their rows, and their lists."""

    def __init__(self, lists: QueryLists, first: int, last: int, rng: np.random.Generator | None):
        self.first, self.last = first, last
        self.start, self.stop = lists.indptr[[first, last]].tolist()
        self.lists = lists.part(first, last, rng)


def _subtract_means(rows: np.ndarray, weights: np.ndarray, indptr: np.ndarray) -> None:
    """Take the weighted mean of each query's rows away from them."""
    lengths = np.diff(indptr)
    starts = indptr[:-1][lengths > 0]
    totals = np.add.reduceat(weights, starts)
    sums = np.add.reduceat(rows * weights[:, None], starts, axis=0)
    means = sums / np.where(totals > 0, totals, 1.0)[:, None]
    rows -= np.repeat(means, lengths[lengths > 0], axis=0)
