"""The psi loss by the concave-convex procedure.

``min(1, (1 - m)₊) = (1 - m)₊ - (-m)₊``: the hinge, which is convex, less a part that is convex too. The second is
replaced by the line that touches it at the present margins, which lies below it, so that the whole lies above the
objective and touches it there. What is lower on the replacement is lower on the objective; the value never rises. The
first margins are those of the hinge's own minimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.solvers.base import Result
from plackett.solvers.margins import MarginProblem

NO_FURTHER_FALL = "objective no longer falls"
MOST_ROUNDS = 100  # each takes some pairs for lost, or back; there are only so many ways, and few are met

# minimises a convex problem; given the result before, it may start there
SolveConvex = Callable[[MarginProblem, Result | None], Result]


def minimize_psi(problem: MarginProblem, solve: SolveConvex, tol: float) -> Result:
    """Minimise a problem with the psi loss through convex ones with the hinge, until its value falls by less than tol.

    Parameters
    ----------
    problem : MarginProblem
        With ``loss="psi"``.
    solve : callable
        Takes a convex problem and the result of the one before, None at first.
    tol : float
        Relative to the value.

    Returns
    -------
    Result
        Counts are sums over all rounds. ``details`` has those of the last solution that was kept, and ``"values"``, the
        objective after the hinge's minimum and after each round.
    """
    best = latest = solve(problem.with_loss("hinge"), None)
    lost = np.zeros(problem.n_rows, dtype=bool)
    values = [problem.value(best.coef)]
    n_iter, n_evaluations, n_products = best.n_iter, best.n_evaluations, best.n_products
    are_converged = best.is_converged
    stop_reason = NO_FURTHER_FALL
    for _ in range(MOST_ROUNDS):
        if latest.is_interrupted:
            break
        before, lost = lost, problem.margins(best.coef) < 0.0
        if np.array_equal(before, lost):  # the same convex problem again
            break
        # on a lost pair the hinge and the line add up to max(1, m): it pulls no more
        latest = solve(problem.with_loss("hinge", problem.tilt + problem.weights * lost), latest)
        n_iter, n_evaluations = n_iter + latest.n_iter, n_evaluations + latest.n_evaluations
        n_products, are_converged = n_products + latest.n_products, are_converged and latest.is_converged
        value = problem.value(latest.coef)
        fall = values[-1] - value
        if fall > 0.0:  # a solution that is not exact may be no better
            best = latest
            values.append(value)
        if not fall > tol * abs(values[-1]):
            break
    else:
        stop_reason, are_converged = f"{MOST_ROUNDS} rounds", False
    return Result(
        coef=best.coef,
        value=values[-1],
        gradient_norm=latest.gradient_norm,
        n_iter=n_iter,
        n_evaluations=n_evaluations,
        n_products=n_products,
        stop_reason=stop_reason if are_converged or latest.is_converged else latest.stop_reason,
        is_converged=are_converged,
        is_interrupted=latest.is_interrupted,
        details={**best.details, "values": values},
    )
