"""Problems in pair form: a weighted sum of losses of margins, which are linear in the coefficients, and a penalty.

    Σ_t c_t L(m_t) + b · m + (l2 / 2) ‖p‖²,    m = M coef,  p = coef without its last n_unpenalized entries

Row t of M belongs to one pair with the weight c_t. With a kernel matrix ``K = Z Zᵀ`` the rows are those of Z:
coefficients ``Zᵀ α`` have the squared length ``αᵀ K α``. The linear term b is 0 except in the convex steps of ``psi``.

Only ADMM solves problems in this form: the exact solvers (``Newton`` on an ``Objective``, the compiled fits of
query-dependent rankers) never store the margins.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, expit

from plackett.solvers.base import Result

BALANCED = 1e-7  # share of the total weight by which a dual point may miss the constraint of unpenalised coefficients
NO_DECREASE = "objective no longer decreases"
MOST_ROUNDS = 100  # of the concave-convex procedure


# --- Losses of a single margin ----------------------------------------------------------------------------------------


class MarginLoss(NamedTuple):
    """A decreasing function of a margin m.

    A convex one is the maximum of ``dual_values(y) - y m`` over dual variables y from 0 to 1.
    """

    name: str
    values: Callable[[np.ndarray], np.ndarray]
    slopes: Callable[[np.ndarray], np.ndarray]  # first derivatives; at a kink, the one from the right
    dual_values: Callable[[np.ndarray], np.ndarray] | None  # None if it is not convex

    @property
    def is_convex(self) -> bool:
        return self.dual_values is not None


LOSSES = {
    loss.name: loss
    for loss in (
        MarginLoss("hinge", lambda m: np.maximum(1.0 - m, 0.0), lambda m: np.where(m < 1.0, -1.0, 0.0), lambda y: y),
        MarginLoss(
            "logistic", lambda m: np.logaddexp(0.0, -m), lambda m: -expit(-m), lambda y: entr(y) + entr(1.0 - y)
        ),
        MarginLoss(
            "psi",
            lambda m: np.clip(1.0 - m, 0.0, 1.0),
            lambda m: np.where((m >= 0.0) & (m < 1.0), -1.0, 0.0),
            None,
        ),
    )
}


# --- The problem ------------------------------------------------------------------------------------------------------


class MarginProblem:
    """The objective above, as a function of the coefficients.

    ``rows`` are M: without unpenalised coefficients, any object with ``shape``, ``T`` and products with vectors by
    ``@``. ``weights`` are c, not negative, and ``linear`` is b. The columns of unpenalised coefficients hold 1 and -1.
    """

    def __init__(
        self,
        rows: Any,
        weights: np.ndarray,
        l2: float,
        *,
        loss: str = "hinge",
        n_unpenalized: int = 0,
        linear: np.ndarray | None = None,
    ):
        self.rows, self.transposed = rows, rows.T
        self.n_rows, self.size = rows.shape
        self.weights, self.l2, self.loss = weights, l2, LOSSES[loss]
        self.n_unpenalized, self.n_penalized = n_unpenalized, self.size - n_unpenalized
        self.linear = np.zeros(self.n_rows) if linear is None else linear

    def as_hinge(self, linear: np.ndarray) -> MarginProblem:
        """Return the problem with the hinge and another linear term."""
        other = copy.copy(self)
        other.loss, other.linear = LOSSES["hinge"], linear
        return other

    def value(self, coef: np.ndarray) -> float:
        """Return the objective at ``coef``."""
        margins = self.rows @ coef
        loss = float(self.weights @ self.loss.values(margins)) + float(self.linear @ margins)
        return loss + 0.5 * float(coef @ self.penalty_gradient(coef))

    def penalty_gradient(self, coef: np.ndarray) -> np.ndarray:
        """Return ``l2 coef``, and 0 for the unpenalised coefficients."""
        gradient = self.l2 * coef
        gradient[self.n_penalized :] = 0.0
        return gradient

    def dual_value(self, dual: np.ndarray) -> float:
        """Return a lower bound of the objective from one dual variable, between 0 and 1, for each pair.

        For the hinge it is ``Σ c y - ‖Mᵀ(c y - b)‖² / (2 l2)``; the logistic loss has the entropy of y in the first
        sum. A dual point with a gradient by an unpenalised coefficient gives no bound: -inf.
        """
        gradient = self.transposed @ (self.weights * dual - self.linear)
        penalized, unpenalized = np.split(gradient, [self.n_penalized])
        if np.any(np.abs(unpenalized) > BALANCED * self.weights.sum()):
            return -np.inf
        assert self.loss.dual_values is not None, "only convex losses have a dual"
        return float(self.weights @ self.loss.dual_values(dual)) - float(penalized @ penalized) / (2.0 * self.l2)


# --- The psi loss by the concave-convex procedure ---------------------------------------------------------------------


def minimize_psi(problem: MarginProblem, solve: Callable[[MarginProblem, Result | None], Result], tol: float) -> Result:
    """Minimise a problem with the psi loss until its value decreases by less than ``tol``.

    ``min(1, (1 - m)₊) = (1 - m)₊ - (-m)₊``: the hinge less another convex function. The second is replaced by its
    tangent at the current margins, which makes a convex upper bound of the objective. The value never increases. The
    first margins are those at the minimum of the hinge.

    ``solve`` takes a convex problem and the previous result, None at first; ``tol`` is relative to the value. The
    result has the sum of all iterations, and in ``details["values"]`` the objective after the minimum of the hinge and
    after each round.
    """
    best = latest = solve(problem.as_hinge(problem.linear), None)
    is_wrong = np.zeros(problem.n_rows, dtype=bool)
    values = [problem.value(best.coef)]
    n_iter, all_converged, stop_reason = best.n_iter, best.is_converged, NO_DECREASE
    for _ in range(MOST_ROUNDS):
        if latest.is_interrupted:
            break
        before, is_wrong = is_wrong, problem.rows @ best.coef < 0.0
        if np.array_equal(before, is_wrong):  # the same convex problem again
            break
        # on a pair in the wrong order the hinge and the tangent add up to max(1, m): its slope is 0
        latest = solve(problem.as_hinge(problem.linear + problem.weights * is_wrong), latest)
        n_iter, all_converged = n_iter + latest.n_iter, all_converged and latest.is_converged
        value = problem.value(latest.coef)
        decrease = values[-1] - value
        if decrease > 0.0:  # an inexact solution may be no better
            best = latest
            values.append(value)
        if not decrease > tol * abs(values[-1]):
            break
    else:
        stop_reason, all_converged = f"{MOST_ROUNDS} rounds", False
    return Result(
        coef=best.coef,
        value=values[-1],
        gradient_norm=latest.gradient_norm,
        n_iter=n_iter,
        n_evaluations=n_iter,
        stop_reason=stop_reason if all_converged or latest.is_converged else latest.stop_reason,
        is_converged=all_converged,
        is_interrupted=latest.is_interrupted,
        details={**best.details, "values": values},
    )
