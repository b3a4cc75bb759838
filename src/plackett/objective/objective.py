"""The objective that a solver minimises: the mean loss over queries of a scorer's scores, plus a penalty.

    (1 / Σ_q s_q) Σ_q s_q L_q(scores of q) + penalty(coef),    s_q the weight of query q, 1 by default

It is a sum over blocks of whole queries. The blocks depend on the data alone, each writes its own result, and results
are added in order, so the sum does not depend on the number of threads.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.data.queries import QueryLists
from plackett.losses.base import CurvatureProduct, Loss
from plackett.losses.transforms import NotPositiveError
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer

MOST_SHARES = 32  # parts of the data that are summed separately, each with its own gradient
VALUES_PER_SHARE = 1 << 17  # a share should be worth the overhead of a thread
SHARE_OF_X = 20  # the gradients of all shares take at most 1/20 of the memory of X ...
FEWEST_SHARES = 8  # ... but there are at least this many
BYTES_IN_CACHE = 1 << 18  # rows that a fused pass scores before it pulls their slope back
BYTES_PER_BLOCK = 1 << 20  # the same where each block costs calls from Python
LARGEST_MATRIX = 512  # coefficients up to which the second derivative is estimated as a matrix
SAMPLE = 1 << 15  # documents to estimate it from


class LossTraits:
    """The properties of its loss that an objective shows to solvers."""

    loss: Loss

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
    def has_smoothing(self) -> bool:
        return self.loss.has_smoothing

    @property
    def is_random(self) -> bool:
        return self.loss.is_random

    @property
    def has_curvature_product(self) -> bool:
        return self.loss.has_curvature_product

    @property
    def has_curvature_bound(self) -> bool:
        return self.loss.has_curvature_bound


class Objective(LossTraits):
    """Mean loss of a linear scorer plus penalty, as a function of the coefficients.

    Parameters
    ----------
    loss : Loss
    scorer : LinearScorer
    lists : QueryLists
        Labels and bounds of the scorer's rows.
    penalty : L2
    weights : ndarray of shape (n_queries,), default=None
        Weight of each query; None gives all the same weight.
    random_state : int, default=None
        Seed of random losses.
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
        self._seed = random_state
        self._terms: dict[int, _Part] = {}
        self._is_entered = False  # whether the loss was defined at some coefficients

    @property
    def is_convex(self) -> bool:
        """Whether the loss of these labels is convex."""
        return self.loss.is_convex_on(self.lists)

    # --- division of work

    @cached_property
    def _shares(self) -> list[list[_Part]]:
        """The queries in shares that are summed separately, each in parts that are processed in order.

        A compiled loss processes a share in one call; for others a share is split into parts that fit the cache.
        """
        most = min(MOST_SHARES, max(FEWEST_SHARES, self.scorer.n_bytes // (SHARE_OF_X * 8 * max(1, self.size))))
        n_shares = max(1, min(most, self.scorer.n_values // VALUES_PER_SHARE))
        ranges = query_blocks(self.lists.indptr, -(-self.lists.n_docs // n_shares) or 1)
        shares = [[share] for share in ranges]
        if not self.loss.has_native:
            docs = self._docs_of(BYTES_PER_BLOCK)
            inner = [query_blocks(self.lists.indptr[first : last + 1], docs) for first, last in ranges]
            shares = [
                [(first + begin, first + end) for begin, end in parts]
                for (first, _), parts in zip(ranges, inner, strict=True)
            ]
        n_parts = sum(map(len, shares))
        seeds = iter(np.random.SeedSequence(self._seed).spawn(n_parts)) if self.is_random else itertools.repeat(None)
        return [[self._part(first, last, next(seeds)) for first, last in share] for share in shares]

    def _part(self, first: int, last: int, seed: Any = None) -> _Part:
        start, stop = int(self.lists.indptr[first]), int(self.lists.indptr[last])
        rng = None if seed is None else np.random.default_rng(seed)
        weights = self._weights[first:last] if self._weights.size else self._weights
        lists = self.lists.part(first, last, rng)
        return _Part(slice(first, last), slice(start, stop), self.scorer.part(start, stop), lists, weights, self.loss)

    def _docs_of(self, n_bytes: int) -> int:
        bytes_per_doc = self.scorer.n_bytes // max(1, self.lists.n_docs)
        return max(1, n_bytes // max(1, bytes_per_doc))

    def _each(self, work: Callable[[_Part], Any]) -> list[list]:
        """Return ``work(part)`` of all parts, by share."""
        return map_blocks(lambda share: [work(part) for part in share], [(share,) for share in self._shares])

    def _add_up(self, work: Callable[[int, int, np.ndarray], None]) -> np.ndarray:
        """Return the sum of the vectors that ``work(share, number of part, vector)`` adds to, in order."""
        vectors = np.zeros((len(self._shares), self.size))

        def of_share(share: int) -> None:
            for number in range(len(self._shares[share])):
                work(share, number, vectors[share])

        map_blocks(of_share, [(share,) for share in range(len(self._shares))])
        return vectors.sum(axis=0) * self._factor

    # --- value and gradient

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective at ``coef`` and its gradient, in one pass over X."""
        coef = np.require(coef, np.float64, ["C", "A"])
        try:
            value, gradient = self.loss_value_and_gradient(coef)
        except NotPositiveError:
            if not self._is_entered:  # at the start it is an error; later a solver takes a shorter step
                raise
            return np.inf, np.zeros(self.size)
        self._is_entered = True
        return value + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    def loss_value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss at ``coef`` and its gradient, without the penalty."""
        coef = np.require(coef, np.float64, ["C", "A"])  # arrays from a network may be unaligned
        values = np.empty(self.lists.n_queries)

        def work(share: int, number: int, gradient: np.ndarray) -> None:
            part = self._shares[share][number]
            evaluate = self._evaluate_fused if part.loss.has_native else self._evaluate
            evaluate(part, coef, values[part.queries], gradient)

        gradient = self._add_up(work)
        return self._mean(values), gradient

    def _evaluate(self, part: _Part, coef: np.ndarray, values: np.ndarray, gradient: np.ndarray) -> None:
        slope = np.empty(part.n_docs)
        values[:] = part.loss.query_values(part.scores(coef), part.lists, slope)
        part.weigh(slope)
        part.scorer.pull_back(slope, gradient)

    def _evaluate_fused(self, part: _Part, coef: np.ndarray, values: np.ndarray, gradient: np.ndarray) -> None:
        """Score, evaluate and pull back a few queries at a time, while their rows are in the cache."""
        kernel = _native.objective.evaluate_sparse if part.scorer.is_sparse else _native.objective.evaluate
        part.scorer.check(coef)
        at_once = self._docs_of(BYTES_IN_CACHE)
        kernel(*part.scorer.matrix, coef, part.loss.native(part.lists), part.weights, at_once, values, gradient)

    def _mean(self, values: np.ndarray) -> float:
        return float(values @ self._weights) if self._weights.size else float(values.sum()) * self._factor

    # --- curvature

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that multiplies the second derivative at ``coef`` by a vector, in one pass over X."""
        coef = np.array(coef, dtype=np.float64)
        held = self.penalty.curvature_diagonal(self.size)
        products = self._each(
            lambda part: (self._native_curvature if part.loss.has_native else self._product)(part, coef)
        )

        def multiply(direction: np.ndarray) -> np.ndarray:
            direction = np.require(direction, np.float64, ["C", "A"])

            def work(share: int, number: int, out: np.ndarray) -> None:
                part = self._shares[share][number]
                if part.loss.has_native:
                    self._multiply_fused(part, coef, direction, products[share][number], out)
                else:
                    self._multiply(part, products[share][number], direction, out)

            return self._add_up(work) + held * direction

        return multiply

    def _native_curvature(self, part: _Part, coef: np.ndarray) -> Any:
        return part.loss.native_curvature(part.lists, lambda: part.scores(coef))

    def _product(self, part: _Part, coef: np.ndarray) -> CurvatureProduct:
        return part.loss.curvature_at(part.scores(coef), part.lists)

    def _multiply(self, part: _Part, product: CurvatureProduct, direction: np.ndarray, out: np.ndarray) -> None:
        slope = np.array(product(part.scores(direction)), dtype=np.float64)  # a user's loss may return another dtype
        if slope.shape != (part.n_docs,):
            raise ValueError(
                f"{self.loss!r}: curvature_at returned a product of shape {slope.shape} for {part.n_docs:,} documents."
            )
        part.weigh(slope)
        part.scorer.pull_back(slope, out)

    def _multiply_fused(
        self, part: _Part, coef: np.ndarray, direction: np.ndarray, curvature: Any, out: np.ndarray
    ) -> None:
        kernel = _native.objective.multiply_sparse if part.scorer.is_sparse else _native.objective.multiply
        part.scorer.check(coef)
        part.scorer.check(direction)
        at_once = self._docs_of(BYTES_IN_CACHE)
        kernel(*part.scorer.matrix, coef, direction, curvature, part.weights, at_once, out)

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """Return the diagonal of ``Xᵀ diag(d) X`` plus the penalty's, d being the curvature bound of the loss."""

        def work(share: int, number: int, diagonal: np.ndarray) -> None:
            part = self._shares[share][number]
            part.scorer.add_squares(self._bounds(part, coef), diagonal)

        return self._add_up(work) + self.penalty.curvature_diagonal(self.size)

    def _bounds(self, part: _Part, coef: np.ndarray) -> np.ndarray:
        """Return the weighted curvature bound of each document; 1 times the weight if the loss has none."""
        has_bound = part.loss.has_curvature_bound
        bounds = part.loss.bound_at(part.scores(coef), part.lists) if has_bound else np.ones(part.n_docs)
        part.weigh(bounds)
        return bounds

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """Return a rough second derivative: a matrix from a sample of queries, or the diagonal of a large one."""
        if self.lists.n_docs == 0:
            return None
        if self.size > LARGEST_MATRIX:
            return self.curvature_bound_diagonal(coef)
        matrix = self._sampled_matrix(coef)
        seen = matrix.diagonal() > 0
        if not seen.all():  # columns that are constant in the sampled queries
            diagonal = self.curvature_bound_diagonal(coef) - self.penalty.curvature_diagonal(self.size)
            np.fill_diagonal(matrix, np.where(seen, matrix.diagonal(), diagonal))
        return matrix + np.diag(self.penalty.curvature_diagonal(self.size))

    def _sampled_matrix(self, coef: np.ndarray) -> np.ndarray:
        """Return ``Xᵀ diag(d) X`` over a sample of queries, or over all if they are few."""
        every = self.lists.n_docs // max(SAMPLE, 16 * self.size)
        if every < 2:
            parts = [part for share in self._shares for part in share]
        else:
            blocks = query_blocks(self.lists.indptr, SAMPLE // 16)
            parts = [self._part(first, last) for first, last in blocks[:: min(every, max(1, len(blocks) // 16))]]
        matrices = map_blocks(lambda part: self._second_moments(part, coef), [(part,) for part in parts])
        n_sampled = sum(part.lists.n_queries for part in parts)
        return sum(matrices) * (self._factor * self.lists.n_queries / n_sampled)

    def _second_moments(self, part: _Part, coef: np.ndarray) -> np.ndarray:
        """Return ``Xᵀ diag(d) X`` of one part, with rows centred by query if the loss ignores shifts."""
        bounds = self._bounds(part, coef)
        kept = min(part.n_docs, 4 * SAMPLE)  # the first rows of an enormous query are enough
        rows, weights = part.scorer.part(0, kept).rows(), bounds[:kept]
        if self.loss.ignores_shifts:
            _subtract_means(rows, weights, np.minimum(part.lists.indptr, kept))
        rows *= np.sqrt(weights)[:, None]
        return (rows.T @ rows) * (part.n_docs / max(1, kept))

    # --- one query at a time, for stochastic solvers

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]:
        """Return the objective with the loss of one query instead of the mean, and its gradient."""
        if term not in self._terms:
            self._terms[term] = self._part(term, term + 1, [term, self._seed or 0] if self.is_random else None)
        part = self._terms[term]
        weight = float(part.weights[0]) * self.n_terms if part.weights.size else 1.0
        slope, gradient = np.empty(part.n_docs), np.zeros(self.size)
        value = self.loss.query_values(part.scores(coef), part.lists, slope)[0]
        slope *= weight
        part.scorer.pull_back(slope, gradient)
        return weight * float(value) + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    # --- losses with kinks

    def smoothed(self, width: float) -> Objective:
        """Return the objective with the kinks of its loss smoothed over ``width``."""
        return self.with_loss(self.loss.smoothed(width))

    def with_loss(self, loss: Loss) -> Objective:
        """Return the objective with another loss; data, parts and label orders are shared where both can use them."""
        if loss.has_native != self.loss.has_native or loss.is_random:
            other = copy.copy(self)
            other.__dict__.pop("_shares", None)
            other.loss = loss
            return other
        return self._with_losses(loss, lambda part: loss)

    def held_at(self, coef: np.ndarray) -> Objective:
        """Return the objective with the weights of its loss held at the ranks by ``coef``."""
        return self._with_losses(self.loss, lambda part: part.loss.held_at(part.scores(coef), part.lists))

    def _with_losses(self, loss: Loss, loss_of: Callable[[_Part], Loss]) -> Objective:
        other = copy.copy(self)
        other.loss = loss
        other._shares = self._each(lambda part: part._replace(loss=loss_of(part)))
        return other

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """Return the value at ``coef`` minus the dual value of the pair weights of ``smoothed(width)``."""
        coef = np.require(coef, np.float64, ["C", "A"])
        return gap_of(self.gap_parts(coef, width), coef, self.penalty)

    def gap_parts(self, coef: np.ndarray, width: float) -> GapParts:
        """Return the means over queries that a duality gap consists of; partitions of the data add them up."""
        pull = self.smoothed(width).loss_value_and_gradient(coef)[1]
        sums, values = np.empty(self.lists.n_queries), np.empty(self.lists.n_queries)

        def work(part: _Part) -> None:
            scores, slope = part.scores(coef), np.empty(part.n_docs)
            sums[part.queries] = self.loss.dual_sums(scores, part.lists, width)  # type: ignore[attr-defined]
            values[part.queries] = self.loss.query_values(scores, part.lists, slope)

        self._each(work)
        return GapParts(self._mean(values), self._mean(sums), pull)


class GapParts(NamedTuple):
    """The mean loss, the mean of the dual variables, and their gradient with respect to the coefficients."""

    loss: float
    dual: float
    pull: np.ndarray


def gap_of(parts: GapParts, coef: np.ndarray, penalty: L2) -> float:
    """Return the duality gap: the value at ``coef`` minus the dual value."""
    return (parts.loss + penalty.value(coef)) - (parts.dual - penalty.conjugate(parts.pull))


class _Part(NamedTuple):
    """Some queries: their ranges among all queries and rows, their rows, labels, weights (empty if equal) and loss."""

    queries: slice
    docs: slice
    scorer: LinearScorer
    lists: QueryLists
    weights: np.ndarray
    loss: Loss

    @property
    def n_docs(self) -> int:
        return self.docs.stop - self.docs.start

    def scores(self, coef: np.ndarray) -> np.ndarray:
        scores = np.empty(self.n_docs)
        self.scorer.score(coef, scores)
        return scores

    def weigh(self, of_docs: np.ndarray) -> None:
        """Multiply the value of each document by the weight of its query, in place."""
        if self.weights.size:
            of_docs *= np.repeat(self.weights, np.diff(self.lists.indptr))


def _subtract_means(rows: np.ndarray, weights: np.ndarray, indptr: np.ndarray) -> None:
    """Subtract the weighted mean of each query's rows, in place."""
    lengths = np.diff(indptr)
    starts = indptr[:-1][lengths > 0]
    if not starts.size:
        return
    totals = np.add.reduceat(weights, starts)
    sums = np.add.reduceat(rows * weights[:, None], starts, axis=0)
    means = sums / np.where(totals > 0, totals, 1.0)[:, None]
    rows -= np.repeat(means, lengths[lengths > 0], axis=0)
