"""Models of target queries that are preferences between two documents, in the space of a product kernel.

The kernel of two pairs is ``k(x, z) k(x', z')``, as it is of ``"rbf"`` and ``"laplacian"`` kernels of concatenated
documents. With features such that ``k(x, z) = φ(x)·φ(z)``, preferences are ``f(x, x') = φ(x)ᵀ B φ(x') + c`` and the
penalty is the squared length of B. Both orders of a pair count half. The objective is invariant to swapping documents
and sign (``-Bᵀ`` for B and ``-c`` for c), so it has a minimum at an antisymmetric B and c = 0. Among antisymmetric
functions the kernel is

    ½ [k(a, a') k(b, b') - k(a, b') k(b, a')]

for pairs (a, b) and (a', b'), and each pair is needed in one order only, with its full weight.

With a factor ``K = Z Zᵀ`` of the kernel matrix of pairs, the margin of pair t is ``z_t·w``. The compiled solver is that
of ``LocalFits``, with a row for each pair instead of documents in lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from plackett import _native
from plackett._arrays import bounds, ranges
from plackett._lazy import importing
from plackett.rankers.query_dependent.local_fits import LocalFits, Solutions, uniform_neighbors
from plackett.rankers.query_dependent.neighbors import Neighbors
from plackett.scorers.kernel import check_bytes, factor


class Pairs(NamedTuple):
    """The documents of a target's neighbours, and their pairs: places in ``rows``, and a positive weight each."""

    rows: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    weights: np.ndarray

    @property
    def n(self) -> int:
        return self.better.size

    @property
    def in_both_orders(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return first and second documents of all ordered pairs, +1 if the first is better else -1, and weights."""
        return (
            np.concatenate([self.better, self.worse]),
            np.concatenate([self.worse, self.better]),
            np.repeat([1.0, -1.0], self.n),
            np.tile(0.5 * self.weights, 2),
        )


class PairFits(LocalFits):
    """As ``LocalFits``, for preferences ``f(x, x') = x·B x'`` with an antisymmetric B.

    Products of rows are kernel values. The coefficients of a model are those of B, row by row. The pairs of a target
    are written out while it is solved, in arrays of at most ``max_bytes``.
    """

    def __init__(self, *args: Any, max_bytes: float = np.inf, **options: Any):
        super().__init__(*args, **options)
        self.max_bytes = max_bytes

    @property
    def size(self) -> int:
        return self.X.shape[1] ** 2

    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        """Return the size of the largest array for this many pairs, and what it holds."""
        return 8 * n_pairs * n_pairs, f"kernel values of {n_pairs:,} pairs with each other"

    @cached_property
    def _run_end(self) -> np.ndarray:
        """Return for each document the end of its run of equal labels."""
        bounds = self.lists.levels.bounds
        return np.repeat(bounds[1:], np.diff(bounds))

    @cached_property
    def _n_worse(self) -> np.ndarray:
        """Return for each document the number of worse documents of its query."""
        return np.repeat(self.indptr[1:], np.diff(self.indptr)) - self._run_end

    @cached_property
    def _n_pairs(self) -> np.ndarray:
        """Return the number of pairs of each query."""
        return np.diff(bounds(self._n_worse)[self.indptr])

    def pairs(self, queries: np.ndarray, weights: np.ndarray) -> Pairs:
        """Return the pairs of queries with these weights; pairs of weight 0 are left out."""
        weights = weights * self.pair_weights[queries]
        queries, weights = queries[weights > 0], weights[weights > 0]
        docs = ranges(self.indptr[queries], np.diff(self.indptr)[queries])
        places, n_worse = np.arange(docs.size), self._n_worse[docs]
        better = np.repeat(places, n_worse)
        worse = ranges(places + self._run_end[docs] - docs, n_worse)
        return Pairs(self.X[docs].astype(np.float64), better, worse, np.repeat(weights, self._n_pairs[queries]))

    def _batches(
        self, neighbors: Neighbors, ranges: list[tuple[int, int]], start: np.ndarray, *settings: Any
    ) -> Iterator[Any]:
        with importing:
            from joblib import delayed

        totals = bounds(self._n_pairs[neighbors.queries])[neighbors.indptr]
        n_bytes, what = self._bytes(int(np.diff(totals).max(initial=0)))
        check_bytes(n_bytes, self.max_bytes, what, "Take fewer neighbours or function='score', or raise max_bytes.")
        starts = np.broadcast_to(start, (neighbors.n_targets, self.size))
        return (
            delayed(_solve_batch)(self, neighbors, begin, end, starts[begin:end], *settings) for begin, end in ranges
        )

    def _finished(self, found: Solutions) -> Solutions:
        return found

    def solve_uniform(self, loss: str, strengths: np.ndarray, **options: Any) -> Solutions:
        """Fit the model in which all queries have the same weight."""
        return self.solve(uniform_neighbors(self.n_queries), loss, strengths, **options)

    def solve_target(
        self, pairs: Pairs, loss: str, strengths: np.ndarray, start: np.ndarray, tol: float, max_iter: int
    ) -> Solutions:
        """Fit the models of one target for all strengths; each fit starts where the previous one ended."""
        form = KernelForm(pairs)
        coef, stats = np.zeros((strengths.size, form.pivots.size)), np.empty((strengths.size, 4))
        coef[0] = form.from_model(start)
        solve = getattr(_native.rankers, f"margins_{loss}")
        solve(form.rows, form.weights, strengths, tol, max_iter, coef, stats)
        return Solutions.of(np.array([[form.to_model(own)] for own in coef]), stats[:, None])


def _solve_batch(fits: PairFits, neighbors: Neighbors, begin, end, starts, *settings) -> Solutions:
    """Solve targets ``begin`` to ``end``; a module-level function, so that processes can receive it."""
    loss, strengths, tol, max_iter = settings
    found = []
    for target, start in zip(range(begin, end), starts, strict=True):
        queries, weights, _ = neighbors.of(target)
        found.append(fits.solve_target(fits.pairs(queries, weights), loss, strengths, start, tol, max_iter))
    return Solutions.join(found)


class KernelForm:
    """Values of a preference function at some pairs, in coefficients w of a factor ``K = Z Zᵀ`` of their kernel matrix.

    With the kernel's own coefficients α, values are ``K α`` and the penalty is ``αᵀ K α``; with ``w = Zᵀ α`` they are
    ``Z w`` and ``wᵀ w``. ``rows`` are Z. With ``is_ordered`` they are both orders of each pair, signed, and an
    unpenalised intercept in the last column, as the paper prints it.
    """

    def __init__(self, pairs: Pairs, *, is_ordered: bool = False):
        self.docs, self.n_unpenalized = pairs.rows, int(is_ordered)
        K = pairs.rows @ pairs.rows.T
        if is_ordered:
            self.first, self.second, signs, self.weights = pairs.in_both_orders
            Z, self.pivots = factor(product_kernel(K, self.first, self.second))
            self.rows = signs[:, None] * np.hstack([Z, np.ones((signs.size, 1))])
        else:
            self.first, self.second, self.weights = pairs.better, pairs.worse, pairs.weights
            self.rows, self.pivots = factor(antisymmetric_kernel(K, self.first, self.second))
            Z = self.rows
        self._triangle = Z[self.pivots]

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        """Return the coefficients of the model, through the α with ``w = Zᵀ α`` that is 0 except at the pivots."""
        alpha = np.zeros(self.first.size)
        alpha[self.pivots] = self._solve(coef[: self.pivots.size], transposed=True)
        return bilinear(self.docs, self.first, self.second, alpha)

    def from_model(self, model: np.ndarray) -> np.ndarray:
        """Return the w that agrees with the model at the pivots: its projection on the space of these pairs."""
        coef = np.zeros(self.pivots.size + self.n_unpenalized)
        if model.any():
            B = model.reshape(self.docs.shape[1], -1)
            first, second = self.docs[self.first[self.pivots]], self.docs[self.second[self.pivots]]
            values = np.einsum("ti,ti->t", first @ B, second)
            coef[: self.pivots.size] = self._solve(values, transposed=False)
        return coef

    def _solve(self, right: np.ndarray, *, transposed: bool) -> np.ndarray:
        if right.size == 0:
            return right
        return solve_triangular(self._triangle, right, lower=True, trans=int(transposed), check_finite=False)


def product_kernel(K: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return kernel values between ordered pairs of documents, from those between documents."""
    values = K[np.ix_(first, first)]
    values *= K[np.ix_(second, second)]
    return values


def antisymmetric_kernel(K: np.ndarray, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Return kernel values between pairs in the space of antisymmetric functions."""
    values = product_kernel(K, better, worse)
    crossed = K[np.ix_(better, worse)]
    values -= crossed * crossed.T
    values *= 0.5
    return values


def bilinear(rows: np.ndarray, first: np.ndarray, second: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the antisymmetric part of ``Σ α φ(a) φ(b)ᵀ`` over pairs (a, b), flattened."""
    S = np.zeros((len(rows), len(rows)))
    np.add.at(S, (first, second), alpha)
    return (rows.T @ (0.5 * (S - S.T)) @ rows).reshape(-1)
