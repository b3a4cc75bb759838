"""Minimisation of an objective over coefficients by a solver, under a monitor."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._threads import one_blas_thread
from plackett.exceptions import ConvergenceWarning, warn
from plackett.losses import ListMLE, Softmax
from plackett.losses.base import Loss
from plackett.losses.pointwise import Squared
from plackett.objective.objective import Objective
from plackett.rankers.monitor import NO_IMPROVEMENT, FitMonitor
from plackett.scorers.linear import LinearScorer
from plackett.solvers import Result, Solver, Step, get_solver
from plackett.solvers.newton import Newton
from plackett.solvers.rounds import Rounds
from plackett.solvers.scaling import Scaling

MAX_ITER_OF_START = 100


def choose_solver(solver: Any, loss: Loss) -> Solver:
    """Return the solver of that name; for ``"auto"`` the fastest that fits the loss."""
    if solver != "auto":
        return get_solver(solver)
    if loss.is_random or not (loss.is_smooth or (loss.is_convex and loss.has_smoothing)):
        return get_solver("sgd")
    if loss.has_curvature_product or not loss.is_smooth:
        return get_solver("newton")
    return get_solver("lbfgs")


def minimize(
    objective: Objective,
    solver: Solver,
    start: np.ndarray,
    monitor: FitMonitor,
    validation_scorer: LinearScorer | None,
    *,
    max_iter: int,
    tol: float,
    random_state: Any,
) -> Result:
    """Minimise the objective; return the coefficients that were best on the validation set, if there is one.

    A start of 0 is replaced for losses that have more than one minimum: see ``_start_of``.
    """
    if objective.loss.has_moving_weights and solver.is_exact:
        solver = Rounds(solver)
    solver.check(objective)
    if objective.is_convex and objective.has_smoothing and solver.is_exact and objective.penalty.l2 == 0:
        raise ValueError(
            f"{objective.name} needs l2 above 0: without a penalty there is no duality gap, which the fit stops by. "
            'Try l2=1e-6, or loss="squared-hinge".'
        )

    def record(step: Step) -> str | None:
        return monitor.record(
            None if validation_scorer is None else lambda: validation_scorer.scores(step.coef),
            step.coef,
            objective=step.value,
            gradient_norm=step.gradient_norm,
        )

    result = None
    with one_blas_thread(), monitor.run("max_iter", max_iter, ("objective", "gradient_norm"), shown=("objective",)):
        if not start.any():
            start = _start_of(objective, start, tol)
        result = solver.minimize(
            objective, start, max_iter=max_iter, tol=tol, callback=record, random_state=random_state
        )
        monitor.stop(result.stop_reason)
        if monitor.best_state is not None:
            _take_best(result, monitor.best_state, objective)
    if result is None:  # interrupted outside the solver, which returns its best coefficients
        raise KeyboardInterrupt
    if not (result.is_converged or result.is_interrupted or result.stop_reason == NO_IMPROVEMENT):
        warn(_unfinished(solver, result, tol), ConvergenceWarning)
    return result


def _take_best(result: Result, coef: np.ndarray, objective: Objective) -> None:
    """Replace the result by that of the coefficients that were best on the validation set."""
    if np.array_equal(coef, result.coef):
        return
    value, gradient = objective.value_and_gradient(coef)
    result.coef, result.value, result.gradient_norm = coef, value, float(np.linalg.norm(gradient))
    if "duality_gap" in result.details:  # any width gives a bound
        result.details["duality_gap"] = min(objective.duality_gap(coef, width) for width in (1.0, 0.1, 0.01, 0.001))


def _unfinished(solver: Solver, result: Result, tol: float) -> str:
    advice = "Raise max_iter, raise l2, or scale the columns (normalize=)."
    start = f"{solver.name} stopped after {result.n_iter} iterations"
    if "duality_gap" in result.details:
        gap = result.details["duality_gap"]
        return f"{start} at a duality gap of {gap:.0e}, above tol={tol:g} of its value ({result.stop_reason}). {advice}"
    if solver.is_exact:
        return (
            f"{start} at gradient norm {result.gradient_norm:.0e}, above tol={tol:g} ({result.stop_reason}). {advice}"
        )
    return f"{start}: {result.stop_reason}. Raise max_iter, or set other parameters of {type(solver).__name__}."


def _start_of(objective: Objective, zeros: np.ndarray, tol: float) -> np.ndarray:
    """Return the start of a loss: 0 if it is convex, else one from which a good minimum is reached.

    Losses that follow ranks, and others of ours that are not convex, start at the minimum of ListMLE, or of softmax if
    labels were estimated from clicks, as ListMLE is not linear in them.
    """
    loss = objective.loss
    if loss.is_flat_at_zero:
        return _step_to_labels(objective)
    if loss.has_moving_weights or (not (loss.is_convex or loss.is_own or loss.is_random) and loss.ignores_shifts):
        simple = objective.with_loss(_simple_loss(objective))
        return Newton().minimize(simple, zeros, max_iter=MAX_ITER_OF_START, tol=tol).coef
    return zeros


def _simple_loss(objective: Objective) -> Loss:
    lists = getattr(objective, "lists", None)  # none of data in parts
    if lists is None or not lists.has_estimated_labels:
        return ListMLE()
    softmax = Softmax()
    return softmax if objective.penalty.l2 > 0 or softmax.is_bounded_on(lists) else Squared()


def _step_to_labels(objective: Objective) -> np.ndarray:
    """Return coefficients about as good as a regression on the labels: a start for losses that are flat at 0."""
    regression = objective.with_loss(Squared())
    zeros = np.zeros(objective.size)
    _, gradient = regression.value_and_gradient(zeros)
    scaling = Scaling(regression.curvature_estimate(zeros), objective.size)
    return scaling.to_coef(-scaling.pull(gradient))
