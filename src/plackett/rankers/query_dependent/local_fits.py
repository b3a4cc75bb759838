"""Models of target queries that are linear in the features, each fitted to its neighbours by the compiled solver.

Hundreds of small problems share one copy of the documents. A problem takes milliseconds, less than a solver in Python
spends on its own bookkeeping. The model of all queries is a single large problem, which ``Newton`` solves on all cores.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett._threads import n_threads, one_blas_thread, query_blocks, results
from plackett.data.queries import QueryLists
from plackett.losses import Pairwise
from plackett.losses.pair_plans import pair_plan
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.rankers.query_dependent.neighbors import Neighbors
from plackett.scorers.linear import LinearScorer
from plackett.solvers import Newton

LOSSES: tuple[str, ...] = ("hinge", "logistic", "psi")
LARGEST_ROTATION = 512  # columns up to which the documents are rotated so that their columns do not correlate
DOCS_PER_BLOCK = 1 << 14
LEAST_TOL = 1e-12  # smallest relative duality gap that is requested from Newton
BATCHES_PER_JOB = 8  # balances the load of the workers


class Solutions(NamedTuple):
    """Solutions of some targets; the first axes of all arrays are strengths of the penalty and targets.

    ``gap`` bounds the distance of the objective from its minimum; it is NaN where the loss is not convex.
    """

    coef: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_steps: np.ndarray
    is_converged: np.ndarray

    @staticmethod
    def of(coef: np.ndarray, stats: np.ndarray) -> Solutions:
        """Return solutions from arrays; the last axis of ``stats`` has objective, gap, steps and convergence."""
        value, gap, n_steps, is_converged = np.moveaxis(stats, -1, 0)
        return Solutions(coef, value, gap, n_steps.astype(np.int64), is_converged.astype(bool))

    @staticmethod
    def join(parts: list[Solutions], axis: int = 1) -> Solutions:
        """Concatenate parts along the targets, or with axis 0 along the strengths."""
        return Solutions(*(np.concatenate(arrays, axis=axis) for arrays in zip(*parts, strict=True)))

    def worst_gap(self) -> float:
        """Return the largest gap relative to its objective; NaN without a gap."""
        known = np.isfinite(self.gap) & (self.objective > 0)
        return float((self.gap[known] / self.objective[known]).max()) if known.any() else np.nan


class LocalFits:
    """Training documents, prepared for many fits to some of their queries.

    Minimises ``Σ_q s_q π_q 2 / (N_q (N_q - 1)) Σ L(w·(x_i - x_j)) + (l2 / 2) ‖w‖²`` for each target, with the target's
    weights π of the queries and the shares s of the queries, whose sum is 1; None means equal ones. Rows are in label
    order within their queries, the best first.

    With ``is_pair`` functions are preferences ``f(x, x') = u·x + v·x' + c``, with both orders of a pair counting half.
    The objective is invariant to swapping documents and sign, so u = -v and c = 0 at its minimum: the model is ``u·(x -
    x')`` with twice the penalty.
    """

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        indptr: np.ndarray,
        shares: np.ndarray | None = None,
        *,
        is_pair: bool = False,
    ):
        self.X, self.indptr, self.shares, self.is_pair = X, indptr, shares, is_pair
        self.lists = QueryLists(labels, indptr)
        lengths = np.diff(indptr).astype(np.float64)
        per_pair = 2.0 / np.maximum(lengths * (lengths - 1.0), 1.0)
        self.pair_weights = per_pair * (1.0 / max(1, lengths.size) if shares is None else shares)
        self._per_document = np.where(lengths > 1, 2.0 / np.maximum(lengths - 1.0, 1.0), 0.0)

    @property
    def n_queries(self) -> int:
        return self.indptr.size - 1

    @property
    def size(self) -> int:
        """Return the number of coefficients of one model."""
        return self.X.shape[1]

    @cached_property
    def _rotated(self) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray | None]:
        """Return the documents on uncorrelated axes as the compiled solver takes them, their variances, and the axes.

        A rotation changes neither margins nor the length of the coefficients. With it one diagonal matrix
        preconditions all fits, for any strength of the penalty.
        """
        X, axes = self.X, None
        if X.shape[1] <= LARGEST_ROTATION:
            spread, axes = np.linalg.eigh(self._covariance())
            X = np.empty_like(self.X)
            for first, last in query_blocks(self.indptr, DOCS_PER_BLOCK):
                X[self.indptr[first] : self.indptr[last]] = self._centred(first, last) @ axes
        else:
            spread = np.zeros(X.shape[1])
            for first, last in query_blocks(self.indptr, DOCS_PER_BLOCK // 16):
                spread += (self._balanced(first, last) ** 2).sum(axis=0)
        plan = pair_plan(self.lists)
        lists = (np.ascontiguousarray(X), self.indptr, plan.run_end, plan.steps, plan.indptr)
        return lists, np.maximum(spread, 0.0), axes

    def _centred(self, first: int, last: int) -> np.ndarray:
        """Return rows of some queries minus the query's mean, in float64; differences within a query do not change."""
        rows, indptr = slice(self.indptr[first], self.indptr[last]), self.indptr[first:last] - self.indptr[first]
        X = self.X[rows].astype(np.float64)
        lengths = np.diff(self.indptr[first : last + 1])
        X -= np.repeat(np.add.reduceat(X, indptr, axis=0) / lengths[:, None], lengths, axis=0)
        return X

    def _balanced(self, first: int, last: int) -> np.ndarray:
        """Return centred rows, weighted so that their products are means over pairs."""
        X = self._centred(first, last)
        lengths = np.diff(self.indptr[first : last + 1])
        X *= np.sqrt(np.repeat(self._per_document[first:last], lengths) / self.n_queries)[:, None]
        return X

    def _covariance(self) -> np.ndarray:
        total = np.zeros((self.X.shape[1], self.X.shape[1]))
        for first, last in query_blocks(self.indptr, DOCS_PER_BLOCK):
            X = self._balanced(first, last)
            total += X.T @ X
        return total

    def solve(
        self,
        neighbors: Neighbors,
        loss: str,
        strengths: np.ndarray,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
        on_done: Callable[[], None] | None = None,
    ) -> Solutions:
        """Fit the models of the targets for decreasing strengths of l2; each fit starts where the previous one ended.

        ``start`` has coefficients for all targets, or one row for each; None means zeros. ``tol`` is the largest
        distance of an objective from its minimum, relative to that; ``max_iter`` the largest number of Newton steps.
        ``on_done`` is called for each finished target.
        """
        start, jobs = np.zeros(self.size) if start is None else start, workers(n_jobs)
        found = [Solutions.of(np.zeros((strengths.size, 0, self.size)), np.zeros((strengths.size, 0, 4)))]
        calls = self._batches(neighbors, batches(neighbors.n_targets, jobs), start, loss, strengths, tol, max_iter)
        with one_blas_thread():
            for part in results(calls, n_jobs=jobs, prefer="threads"):
                found.append(part)
                if on_done is not None:
                    for _ in range(part.coef.shape[1]):
                        on_done()
        return self._finished(Solutions.join(found))

    def _batches(
        self, neighbors: Neighbors, ranges: list[tuple[int, int]], start: np.ndarray, *settings: Any
    ) -> Iterator[Any]:
        """Return calls for joblib that solve the targets of one range each."""
        with importing:
            from joblib import delayed

        data, spread, axes = self._rotated
        starts = np.broadcast_to(start if axes is None else start @ axes, (neighbors.n_targets, self.size))
        loss, strengths, *others = settings
        strengths = 2.0 * strengths if self.is_pair else strengths
        return (
            delayed(solve_lists)(
                data, spread, _slice(neighbors, begin, end, self.pair_weights), starts[begin:end], loss, strengths,
                *others,
            )
            for begin, end in ranges
        )  # fmt: skip

    def _finished(self, found: Solutions) -> Solutions:
        """Rotate the coefficients back, all at once, so the result does not depend on the batches."""
        _, _, axes = self._rotated
        return found if axes is None else found._replace(coef=found.coef @ axes.T)

    def solve_uniform(
        self,
        loss: str,
        strengths: np.ndarray,
        *,
        start: np.ndarray | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
        n_jobs: int | None = None,
    ) -> Solutions:
        """Fit the model in which all queries have the same weight; the result has one target."""
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "n_jobs": n_jobs}
        alike = uniform_neighbors(self.n_queries)
        if loss == "psi":
            return self.solve(alike, loss, strengths, start=start, **options)
        objective = Objective(
            Pairwise(loss, normalize="all"), LinearScorer(self.X), self.lists, L2(1.0), weights=self.shares
        )
        coef = np.zeros(self.size) if start is None else start
        found = []
        with one_blas_thread():
            at_zero, slope = objective.value_and_gradient(np.zeros(self.size))
            for strength in strengths.tolist():
                objective.penalty.l2 = l2 = 2.0 * strength if self.is_pair else strength
                near = tol * min(1.0, slope @ slope / (4.0 * l2 * max(at_zero, 1e-300)))
                if near < LEAST_TOL:  # no pairs, or a penalty so strong that gaps are only rounding
                    found.append(self.solve(alike, loss, np.array([strength]), **options))
                    coef = found[-1].coef[0, 0]
                    continue
                # the logistic loss has no gap; its gradient bounds it by the strong convexity of the penalty
                accuracy = near if loss == "hinge" else float(np.sqrt(2.0 * l2 * (near * max(at_zero, 1e-300)))) / 2.0
                result = Newton().minimize(objective, coef, max_iter=max_iter, tol=accuracy)
                coef = result.coef
                gap = result.details.get("duality_gap", result.gradient_norm**2 / (2.0 * l2))
                known = np.array([result.value, max(gap, 0.0), result.n_iter, result.is_converged])
                found.append(Solutions.of(coef[None, None], known[None, None]))
        return Solutions.join(found, axis=0)


def uniform_neighbors(n_queries: int) -> Neighbors:
    """Return neighbours of one target that give all queries the same weight."""
    every = np.arange(n_queries)
    return Neighbors(np.array([0, n_queries]), every, np.ones(n_queries), np.full(n_queries, np.nan))


def _slice(neighbors: Neighbors, begin: int, end: int, pair_weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the neighbours of targets ``begin`` to ``end``, and the weight of each of their pairs."""
    own = slice(int(neighbors.indptr[begin]), int(neighbors.indptr[end]))
    queries = np.ascontiguousarray(neighbors.queries[own], dtype=np.int64)
    return neighbors.indptr[begin : end + 1] - own.start, queries, neighbors.weights[own] * pair_weights[queries]


def solve_lists(data, spread, neighbors, starts, loss, strengths, tol, max_iter) -> Solutions:
    """Solve some targets by the compiled solver; a module-level function, so that processes can receive it."""
    (n_targets, size), n = starts.shape, strengths.size
    coef, stats = np.empty((n * n_targets, size)), np.empty((n * n_targets, 4))
    coef[:n_targets] = starts
    solve = getattr(_native.rankers, f"local_{loss}")
    solve(*data, spread, *neighbors, strengths, tol, max_iter, coef, stats)
    return Solutions.of(coef.reshape(n, n_targets, size), stats.reshape(n, n_targets, 4))


def workers(n_jobs: int | None) -> int:
    """Return the number of joblib workers: as given, as configured in joblib, or one per core."""
    with importing:
        from joblib import effective_n_jobs
        from joblib.parallel import get_active_backend

    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    configured = get_active_backend()[1]
    return n_threads() if configured in (None, 1) else effective_n_jobs(configured)


def batches(n_targets: int, n_jobs: int) -> list[tuple[int, int]]:
    """Return ranges of targets that are solved together."""
    n_batches = min(n_targets, max(1, n_jobs * BATCHES_PER_JOB))
    edges = np.linspace(0, n_targets, n_batches + 1).round().astype(int).tolist()
    return list(itertools.pairwise(edges))
