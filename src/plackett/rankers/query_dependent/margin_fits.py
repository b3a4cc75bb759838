"""Models of target queries by solvers that want every pair of documents written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from plackett.rankers.query_dependent.local_fits import LocalFits, Solutions, everybody, gradient_within
from plackett.rankers.query_dependent.neighbors import Neighbors
from plackett.scorers.kernel import check_bytes
from plackett.solvers import Newton
from plackett.solvers.admm import minimize_by_admm
from plackett.solvers.base import Minimizable, Result
from plackett.solvers.concave_convex import minimize_psi
from plackett.solvers.margins import MarginProblem
from plackett.solvers.smoothing import minimize_hinge

ROUNDS_PER_STEP = 100  # of ADMM, for one Newton step
FIRST_RESIDUAL = 1e-3  # of ADMM, before the duality gap is looked at
TIGHTER = 0.3  # by so much the residuals must fall where the gap is still too large
LEAST_RESIDUAL = 1e-12
LEAST_FALL = 1e-10  # share of the value at 0; a minimum that is nearer to it than this is not told from it


class Pairs(NamedTuple):
    """The documents of a target's neighbours, and their pairs.

    Attributes
    ----------
    rows : ndarray of shape (n_docs, n_features)
    better, worse : ndarrays of shape (n_pairs,)
        Places in ``rows``.
    weights : ndarray of shape (n_pairs,)
        What the pairs count, above 0.
    """

    rows: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    weights: np.ndarray

    @property
    def n(self) -> int:
        return self.weights.size

    @property
    def in_both_orders(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First and second documents of all ordered pairs, +1 where the first is better and -1 else, and weights."""
        return (
            np.concatenate([self.better, self.worse]),
            np.concatenate([self.worse, self.better]),
            np.repeat([1.0, -1.0], self.n),
            np.tile(0.5 * self.weights, 2),
        )


class Form(ABC):
    """The problem of one target as solvers see it, for any strength of the penalty; see ``MarginProblem``."""

    rows: Any
    weights: np.ndarray
    n_free: int = 0

    @abstractmethod
    def to_model(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of a model from those of the problem."""

    @abstractmethod
    def from_model(self, model: np.ndarray) -> np.ndarray:
        """Those of the problem, as near to the model as they can be."""


class Found(NamedTuple):
    """A solution for one strength; fields as in ``Solutions``."""

    coef: np.ndarray
    objective: float
    gap: float
    n_steps: int
    is_converged: bool


class MarginFits(LocalFits, ABC):
    """As ``LocalFits``, with the pairs of a target written out while it is solved.

    Parameters
    ----------
    X, labels, indptr, shares, is_pair : as in ``LocalFits``
    is_admm : bool, default=False
        Whether targets are solved by inexact ADMM instead of Newton steps. It takes a hundred rounds for a step.
    max_bytes : float
        Largest array that is made for one target.
    """

    def __init__(self, *args: Any, is_admm: bool = False, max_bytes: float = np.inf, **options: Any):
        super().__init__(*args, **options)
        self.is_admm, self.max_bytes = is_admm, max_bytes

    @abstractmethod
    def _form(self, pairs: Pairs) -> Form: ...

    @abstractmethod
    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        """Size of the largest array that so many pairs take, and what it holds."""

    @cached_property
    def _run_end(self) -> np.ndarray:
        """Where the run of equal labels ends that a document is in."""
        bounds = self.lists.levels.bounds
        return np.repeat(bounds[1:], np.diff(bounds))

    @cached_property
    def _n_worse(self) -> np.ndarray:
        """How many documents of its query are worse than a document."""
        return np.repeat(self.indptr[1:], np.diff(self.indptr)) - self._run_end

    @cached_property
    def _n_pairs(self) -> np.ndarray:
        """Pairs of each query."""
        return np.diff(np.concatenate([[0], np.cumsum(self._n_worse)])[self.indptr])

    def _pairs(self, queries: np.ndarray, weights: np.ndarray) -> Pairs:
        """The pairs of some queries, which have these weights; those that count nothing are left out."""
        counts = weights * self.pair_weights[queries]
        queries, counts = queries[counts > 0], counts[counts > 0]
        lengths = np.diff(self.indptr)[queries]
        ends = np.cumsum(lengths)
        n_docs = int(lengths.sum())
        docs = np.arange(n_docs) + np.repeat(self.indptr[queries] - (ends - lengths), lengths)
        n_worse = self._n_worse[docs]
        better = np.repeat(np.arange(n_docs), n_worse)
        first_worse = np.arange(n_docs) + self._run_end[docs] - docs
        pair_starts = np.cumsum(n_worse) - n_worse
        worse = np.arange(better.size) + np.repeat(first_worse - pair_starts, n_worse)
        return Pairs(self.X[docs].astype(np.float64), better, worse, np.repeat(counts, self._n_pairs[queries]))

    def _batches(
        self, neighbors: Neighbors, ranges: list[tuple[int, int]], start: np.ndarray, *settings: Any
    ) -> Iterator[Any]:
        from joblib import delayed

        self._check_size(neighbors)
        starts = np.broadcast_to(start, (neighbors.n_targets, self.size))
        return (
            delayed(_solve_batch)(self, neighbors, begin, end, starts[begin:end], *settings) for begin, end in ranges
        )

    def _finished(self, found: Solutions) -> Solutions:
        return found

    def solve_uniform(self, loss: str, strengths: np.ndarray, **options: Any) -> Solutions:
        """The model in which all queries count alike; one target in the answer."""
        return self.solve(everybody(self.n_queries), loss, strengths, **options)

    def _check_size(self, neighbors: Neighbors) -> None:
        totals = np.concatenate([[0], np.cumsum(self._n_pairs[neighbors.queries])])[neighbors.indptr]
        n_bytes, what = self._bytes(int(np.diff(totals).max(initial=0)))
        check_bytes(n_bytes, self.max_bytes, what, "Take fewer neighbours or function='score', or raise max_bytes.")

    def solve_pairs(
        self, pairs: Pairs, loss: str, strengths: np.ndarray, start: np.ndarray, tol: float, max_iter: int
    ) -> list[Found]:
        """The models of one target, strength by strength; each fit starts where the one before ended."""
        nothing = np.zeros(self.size)
        if pairs.n == 0:
            return [Found(nothing, 0.0, 0.0, 0, True)] * strengths.size
        form = self._form(pairs)
        first = MarginProblem(form.rows, form.weights, 1.0, loss=loss, n_free=form.n_free)
        at_zero = first.value(np.zeros(first.size))
        slope = first.rows.back(first.weights * first.loss.slopes(np.zeros(first.n_rows)))
        if not slope.any():
            return [Found(nothing, at_zero, np.nan if loss == "psi" else 0.0, 0, True)] * strengths.size
        coef, dual = form.from_model(start), None
        found = []
        for l2 in strengths.tolist():
            problem = MarginProblem(first.rows, form.weights, l2, loss=loss, n_free=form.n_free)
            # a share of what the minimum is below the value at 0, as LocalFits asks for
            near = tol * min(1.0, max(slope @ slope / (4.0 * l2 * at_zero), LEAST_FALL))
            result = _minimize(problem, near, max_iter, coef, dual, _by_admm if self.is_admm else _by_newton)
            if result.is_interrupted:  # the other targets are not wanted either
                raise KeyboardInterrupt
            coef, dual = result.coef, result.details["dual"]
            found.append(
                Found(form.to_model(coef), result.value, result.details["gap"], result.n_iter, result.is_converged)
            )
        return found


def _solve_batch(fits, neighbors, begin, end, starts, loss, strengths, tol, max_iter) -> Solutions:
    """Solutions of targets ``begin`` to ``end``; a function of the module, so that processes can be sent it."""
    coef = np.zeros((strengths.size, end - begin, fits.size))
    known = np.zeros((strengths.size, end - begin, 4))
    for place, target in enumerate(range(begin, end)):
        queries, weights, _ = neighbors.of(target)
        path = fits.solve_pairs(fits._pairs(queries, weights), loss, strengths, starts[place], tol, max_iter)
        for step, (own, *rest) in enumerate(path):
            coef[step, place], known[step, place] = own, rest
    return Solutions.of(coef, known)


# --- Solvers: until the objective is within a share of its minimum ----------------------------------------------------
#
# Results have the gap in their details, NaN where the loss is not convex, and what the next strength starts from
# beside the coefficients, "dual".


def _minimize(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, dual: np.ndarray | None, solver: Any
) -> Result:
    def solve(convex: MarginProblem, last: Result | None) -> Result:
        begin = (start, dual) if last is None else (last.coef, last.details["dual"])
        return solver(convex, near, max_iter, *begin)

    if problem.is_convex:
        return solve(problem, None)
    result = minimize_psi(problem, solve, near)
    result.details["gap"] = np.nan
    return result


def _by_newton(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, pulls: np.ndarray | None
) -> Result:
    if not problem.is_smooth:
        result = minimize_hinge(problem, start, pulls, max_iter=max_iter, tol=near)
        result.details = {"gap": result.details["duality_gap"], "dual": result.details["pulls"]}
        return result
    at_zero = problem.value(np.zeros(problem.size))
    accuracy, n_iter = gradient_within(near * at_zero, problem.l2), 0
    while True:
        result = Newton().minimize(cast(Minimizable, problem), start, max_iter=max_iter - n_iter, tol=accuracy)
        n_iter += result.n_iter
        gap = result.gradient_norm**2 / (2.0 * problem.l2)  # the penalty bends every direction by l2 at least
        is_near = _is_near(result.value, gap, near)
        if is_near or not result.is_converged or n_iter >= max_iter:
            break
        start, accuracy = result.coef, 0.1 * accuracy
    result.n_iter, result.is_converged, result.details = n_iter, is_near, {"gap": gap, "dual": None}
    return result


def _by_admm(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, multipliers: np.ndarray | None
) -> Result:
    residual, n_rounds, max_rounds = FIRST_RESIDUAL, 0, ROUNDS_PER_STEP * max_iter
    while True:
        result = minimize_by_admm(
            problem, max_iter=max_rounds - n_rounds, tol=residual, start=start, multipliers=multipliers
        )
        n_rounds += result.n_iter
        start, multipliers = result.coef, result.details["multipliers"]
        pulls = (problem.tilt - result.details["rho"] * multipliers) / problem.weights
        gap = max(result.value - problem.dual_value(np.clip(pulls, 0.0, 1.0)), 0.0)
        is_near = _is_near(result.value, gap, near)
        if is_near or result.is_interrupted or n_rounds >= max_rounds or residual <= LEAST_RESIDUAL:
            break
        residual *= TIGHTER
    result.n_iter, result.is_converged, result.details = n_rounds, is_near, {"gap": gap, "dual": multipliers}
    return result


def _is_near(value: float, gap: float, near: float) -> bool:
    return bool(gap <= near * max(value - gap, 0.1 * value))
