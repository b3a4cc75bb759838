"""Models of target queries by solvers that want every pair of documents written out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from plackett._threads import one_blas_thread, results
from plackett.rankers.local_fits import LocalFits, Solutions, batches, workers
from plackett.rankers.query_neighbors import Neighbors
from plackett.scorers.kernel import check_bytes
from plackett.solvers.admm import minimize_by_admm
from plackett.solvers.base import Result
from plackett.solvers.concave_convex import minimize_psi
from plackett.solvers.margin_losses import Logistic
from plackett.solvers.margin_newton import minimize_margins
from plackett.solvers.margins import BALANCED, MarginProblem

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
    is_admm : bool
        Whether targets are solved by inexact ADMM instead of Newton steps.
    max_bytes : float
        Largest array that is made for one target.
    """

    def __init__(
        self,
        X: np.ndarray,
        labels: np.ndarray,
        indptr: np.ndarray,
        shares: np.ndarray | None = None,
        *,
        is_pair: bool,
        is_admm: bool,
        max_bytes: float,
    ):
        super().__init__(X, labels, indptr, shares, is_pair=is_pair)
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
        """Fit the models of the targets; parameters as of ``LocalFits``. ADMM takes a hundred rounds for a step."""
        from joblib import delayed

        self._check_size(neighbors)
        starts = np.broadcast_to(np.zeros(self.size) if start is None else start, (neighbors.n_targets, self.size))
        jobs = workers(n_jobs)
        parts = []
        with one_blas_thread():
            calls = (
                delayed(_solve_batch)(self, neighbors, begin, end, loss, strengths, starts, tol, max_iter)
                for begin, end in batches(neighbors.n_targets, jobs)
            )
            for part in results(calls, n_jobs=jobs, prefer="threads"):
                parts.append(part)
                if on_done is not None:
                    for _ in range(part.coef.shape[1]):
                        on_done()
        return Solutions.join(parts) if parts else _gather([], strengths.size, self.size)

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
        """The model in which all queries count alike; one target in the answer."""
        n = self.n_queries
        everybody = Neighbors(np.array([0, n]), np.arange(n), np.ones(n), np.full(n, np.nan))
        return self.solve(everybody, loss, strengths, start=start, tol=tol, max_iter=max_iter, n_jobs=n_jobs)

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
        minimize = _by_admm if self.is_admm else _by_newton
        coef, dual = form.from_model(start), None
        found = []
        for l2 in strengths.tolist():
            problem = MarginProblem(first.rows, form.weights, l2, loss=loss, n_free=form.n_free)
            # a share of what the minimum is below the value at 0, as LocalFits asks for
            near = tol * min(1.0, max(slope @ slope / (4.0 * l2 * at_zero), LEAST_FALL))
            result = minimize(problem, near, max_iter, coef, dual)
            if result.is_interrupted:  # the other targets are not wanted either
                raise KeyboardInterrupt
            coef, dual = result.coef, result.details.get("dual")
            found.append(
                Found(form.to_model(coef), result.value, result.details["gap"], result.n_iter, result.is_converged)
            )
        return found


def _solve_batch(fits, neighbors, begin, end, loss, strengths, starts, tol, max_iter) -> Solutions:
    """Solutions of targets ``begin`` to ``end``; a function of the module, so that processes can be sent it."""
    found = []
    for target in range(begin, end):
        queries, weights, _ = neighbors.of(target)
        found.append(fits.solve_pairs(fits._pairs(queries, weights), loss, strengths, starts[target], tol, max_iter))
    return _gather(found, strengths.size, fits.size)


def _gather(found: list[list[Found]], n_strengths: int, size: int) -> Solutions:
    coef = np.zeros((n_strengths, len(found), size))
    known = np.zeros((n_strengths, len(found), 4))
    for target, path in enumerate(found):
        for step, (own, *rest) in enumerate(path):
            coef[step, target], known[step, target] = own, rest
    objective, gap, n_steps, is_converged = np.moveaxis(known, 2, 0)
    return Solutions(coef, objective, gap, n_steps.astype(np.int64), is_converged.astype(bool))


# --- Solvers: until the objective is within a share of its minimum ----------------------------------------------------
#
# Results have the gap in their details, NaN where the loss is not convex, and what the next strength starts from
# beside the coefficients, "dual".


def _by_newton(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, pulls: np.ndarray | None
) -> Result:
    if not isinstance(problem.loss, Logistic):
        result = minimize_margins(problem, max_iter=max_iter, tol=near, start=start, pulls=pulls)
        gap = result.details["duality_gap"] if problem.is_convex else np.nan
        result.details = {"gap": gap, "dual": result.details["pulls"]}
        return result
    at_zero, slope = problem.value_and_gradient(np.zeros(problem.size))
    accuracy, n_iter = np.sqrt(2.0 * problem.l2 * near * at_zero) / (2.0 * np.linalg.norm(slope)), 0
    while True:
        result = minimize_margins(problem, max_iter=max_iter - n_iter, tol=accuracy, start=start)
        n_iter += result.n_iter
        gap = result.gradient_norm**2 / (2.0 * problem.l2)  # the penalty bends every direction by l2 at least
        is_near = _is_near(result.value, gap, near)
        if is_near or not result.is_converged or n_iter >= max_iter:
            break
        start, accuracy = result.coef, 0.1 * accuracy
    result.n_iter, result.is_converged, result.details = n_iter, is_near, {"gap": gap}
    return result


def _by_admm(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, multipliers: np.ndarray | None
) -> Result:
    def solve(convex: MarginProblem, last: Result | None) -> Result:
        if last is None:
            return _convex_by_admm(convex, near, ROUNDS_PER_STEP * max_iter, start, multipliers)
        return _convex_by_admm(convex, near, ROUNDS_PER_STEP * max_iter, last.coef, last.details["dual"])

    if problem.is_convex:
        return solve(problem, None)
    result = minimize_psi(problem, solve, near)
    result.details["gap"] = np.nan
    return result


def _convex_by_admm(
    problem: MarginProblem, near: float, max_rounds: int, start: np.ndarray, multipliers: np.ndarray | None
) -> Result:
    residual, n_rounds = FIRST_RESIDUAL, 0
    while True:
        result = minimize_by_admm(
            problem, max_iter=max_rounds - n_rounds, tol=residual, start=start, multipliers=multipliers
        )
        n_rounds += result.n_iter
        start, multipliers = result.coef, result.details["multipliers"]
        gap = max(result.value - _bound_below(problem, -result.details["rho"] * multipliers), 0.0)
        is_near = _is_near(result.value, gap, near)
        if is_near or result.is_interrupted or n_rounds >= max_rounds or residual <= LEAST_RESIDUAL:
            break
        residual *= TIGHTER
    result.n_iter, result.is_converged, result.details = n_rounds, is_near, {"gap": gap, "dual": multipliers}
    return result


def _is_near(value: float, gap: float, near: float) -> bool:
    return bool(gap <= near * max(value - gap, 0.1 * value))


def _bound_below(problem: MarginProblem, forces: np.ndarray) -> float:
    """A value that a convex problem does not fall below, from the forces with which its pairs pull.

    With ``forces + tilt = c y`` the hinge is bounded by ``Σ c y - ‖Mᵀ forces‖² / (2 l2)``, the logistic loss with the
    entropy of y in its first sum, as long as y lies between 0 and 1 and nothing pulls at the free coefficients.
    """
    weights = problem.weights
    pulls = np.clip((forces + problem.tilt) / weights, 0.0, 1.0)
    pulled = problem.rows.back(weights * pulls - problem.tilt)
    held, free = pulled[: problem.n_held], pulled[problem.n_held :]
    if np.any(np.abs(free) > BALANCED * weights.sum()):
        return -np.inf
    costs = entr(pulls) + entr(1.0 - pulls) if isinstance(problem.loss, Logistic) else pulls
    return float(weights @ costs) - float(held @ held) / (2.0 * problem.l2)
