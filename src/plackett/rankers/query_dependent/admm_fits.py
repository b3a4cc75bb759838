"""Models of target queries by inexact ADMM, the method of Dai and Wang (2019, §3.2), for comparison with the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from plackett.rankers.query_dependent.local_fits import Solutions
from plackett.rankers.query_dependent.pair_fits import KernelForm, PairFits, Pairs
from plackett.solvers.admm import minimize_by_admm
from plackett.solvers.base import Result
from plackett.solvers.margins import MarginProblem, minimize_psi

ROUNDS_PER_STEP = 100  # of ADMM, for one Newton step
FIRST_RESIDUAL = 1e-3  # of ADMM, before the duality gap is computed
TIGHTER = 0.3  # factor of the residuals while the gap is too large
LEAST_RESIDUAL = 1e-12
LEAST_FALL = 1e-10  # share of the value at 0 below which a minimum is not distinguished from it
VECTORS = 16  # with one number per pair that ADMM holds, about


class AdmmFits(PairFits):
    """As ``LocalFits``, or ``PairFits`` if ``is_bilinear``, with the same results up to the tolerance, but far
    slower.

    Score functions have margins ``w·(x_i - x_j)``. Preferences are solved as printed: both orders of a pair count half
    and an intercept is not penalised. Linear ones are ``f(x, x') = u·x + v·x' + c``; the coefficients of the model are
    ½ (u - v), which determine the order of the scores. The rest of f is the same for all documents of a list.
    """

    def __init__(self, *args: Any, is_bilinear: bool = False, **options: Any):
        super().__init__(*args, **options)
        self.is_bilinear = is_bilinear

    @property
    def size(self) -> int:
        return super().size if self.is_bilinear else self.X.shape[1]

    def _bytes(self, n_pairs: int) -> tuple[int, str]:
        if self.is_bilinear:
            return super()._bytes(2 * n_pairs)[0], f"kernel values of {2 * n_pairs:,} ordered pairs with each other"
        if self.is_pair:
            n_columns = 2 * self.X.shape[1] + 1
            return 16 * n_pairs * n_columns, f"{2 * n_pairs:,} ordered pairs with {n_columns:,} columns"
        return 8 * VECTORS * n_pairs, f"{VECTORS} numbers for each of {n_pairs:,} pairs"

    def solve_target(
        self, pairs: Pairs, loss: str, strengths: np.ndarray, start: np.ndarray, tol: float, max_iter: int
    ) -> Solutions:
        if self.is_bilinear:
            form: Any = KernelForm(pairs, is_ordered=True)
        else:
            form = PreferenceForm(pairs) if self.is_pair else ScoreForm(pairs)
        coef, stats = np.zeros((strengths.size, 1, self.size)), np.zeros((strengths.size, 1, 4))
        shape: dict[str, Any] = {"loss": loss, "n_unpenalized": form.n_unpenalized}
        first = MarginProblem(form.rows, form.weights, 1.0, **shape)
        at_zero = first.value(np.zeros(first.size))
        slope = first.transposed @ (first.weights * first.loss.slopes(np.zeros(first.n_rows)))
        if not slope.any():  # no pairs, or none whose documents differ
            stats[:] = at_zero, 0.0, 0, True
            return Solutions.of(coef, stats)
        last, multipliers = form.from_model(start), None
        for step, l2 in enumerate(strengths.tolist()):
            problem = MarginProblem(form.rows, form.weights, l2, **shape)
            # a share of the fall from the value at 0 to the minimum, as in LocalFits
            near = tol * min(1.0, max(slope @ slope / (4.0 * l2 * at_zero), LEAST_FALL))
            result = _minimize(problem, near, max_iter, last, multipliers)
            if result.is_interrupted:  # stop the other targets too
                raise KeyboardInterrupt
            last, multipliers = result.coef, result.details["multipliers"]
            coef[step, 0] = form.to_model(last)
            stats[step, 0] = result.value, result.details["gap"], result.n_iter, result.is_converged
        return Solutions.of(coef, stats)


class ScoreForm:
    """Margins ``w·(x_i - x_j)``, as differences of the documents' scores."""

    n_unpenalized = 0

    def __init__(self, pairs: Pairs):
        X, better, worse, self.weights = pairs

        def margins(coef: np.ndarray) -> np.ndarray:
            scores = X @ coef
            return scores[better] - scores[worse]

        def pull_back(slope: np.ndarray) -> np.ndarray:
            slopes = np.bincount(better, slope, len(X)) - np.bincount(worse, slope, len(X))
            return X.T @ slopes

        self.rows = LinearOperator((pairs.n, X.shape[1]), margins, pull_back, dtype=np.float64)

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        return coef

    def from_model(self, model: np.ndarray) -> np.ndarray:
        return model


class PreferenceForm:
    """Margins ``±(u·x + v·x' + c)`` of both orders of each pair."""

    n_unpenalized = 1

    def __init__(self, pairs: Pairs):
        first, second, signs, self.weights = pairs.in_both_orders
        self.rows = np.hstack([pairs.rows[first], pairs.rows[second], np.ones((signs.size, 1))])
        self.rows *= signs[:, None]

    def to_model(self, coef: np.ndarray) -> np.ndarray:
        u, v = np.split(coef[:-1], 2)
        return 0.5 * (u - v)

    def from_model(self, model: np.ndarray) -> np.ndarray:
        return np.concatenate([model, -model, [0.0]])


def _minimize(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, multipliers: np.ndarray | None
) -> Result:
    """Minimise until the gap, NaN if the loss is not convex, is at most the share ``near`` of the minimum."""

    def solve(convex: MarginProblem, last: Result | None) -> Result:
        begin = (start, multipliers) if last is None else (last.coef, last.details["multipliers"])
        return _minimize_convex(convex, near, max_iter, *begin)

    if problem.loss.is_convex:
        return solve(problem, None)
    result = minimize_psi(problem, solve, near)
    result.details["gap"] = np.nan
    return result


def _minimize_convex(
    problem: MarginProblem, near: float, max_iter: int, start: np.ndarray, multipliers: np.ndarray | None
) -> Result:
    residual, n_rounds, max_rounds = FIRST_RESIDUAL, 0, ROUNDS_PER_STEP * max_iter
    while True:
        result = minimize_by_admm(
            problem, max_iter=max_rounds - n_rounds, tol=residual, start=start, multipliers=multipliers
        )
        n_rounds += result.n_iter
        start, multipliers = result.coef, result.details["multipliers"]
        dual = (problem.linear - result.details["rho"] * multipliers) / problem.weights
        gap = max(result.value - problem.dual_value(np.clip(dual, 0.0, 1.0)), 0.0)
        is_near = bool(gap <= near * max(result.value - gap, 0.1 * result.value))
        if is_near or result.is_interrupted or n_rounds >= max_rounds or residual <= LEAST_RESIDUAL:
            break
        residual *= TIGHTER
    result.n_iter, result.is_converged, result.details["gap"] = n_rounds, is_near, gap
    return result
