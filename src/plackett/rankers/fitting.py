"""From an objective and a solver to coefficients, while somebody watches: history, validation, progress, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett._threads import one_blas_thread
from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, warn
from plackett.losses.base import Loss
from plackett.losses.pointwise import Squared
from plackett.metrics.judged import JudgedLists, mean_of_counted
from plackett.metrics.measure import Measure
from plackett.objective.objective import Objective
from plackett.rankers.progress import Progress
from plackett.scorers.linear import LinearScorer
from plackett.solvers import Result, Solver, Step, get_solver
from plackett.solvers.scaling import Scaling

DEFAULT_METRIC = "ndcg@10"
NO_IMPROVEMENT = "no improvement on the validation set"


class HeldBack:
    """Validation queries, and the measure that is taken of their scores."""

    def __init__(self, queries: Queries, metric: str | Measure | None):
        self.queries, self.measure = queries, Measure.parse(DEFAULT_METRIC if metric is None else metric)
        self._lists = JudgedLists.of_queries(queries, with_docid=self.measure.rules.needs_docid(self.measure))

    def mean(self, scores: np.ndarray) -> float:
        """Return the mean over the queries, as ``evaluate`` reports it; NaN if none counts or a score overflowed."""
        if not np.isfinite(scores).all():
            return np.nan
        return mean_of_counted(self.measure.values(self._lists.with_scores(scores)))

    def values(self, scores: np.ndarray) -> np.ndarray:
        """The measure of each query; NaN where it has none."""
        if not np.isfinite(scores).all():
            return np.full(self.queries.n_queries, np.nan)
        table, is_empty = self.measure.rules.table([self.measure], self._lists.with_scores(scores))
        return np.where(is_empty, np.nan, table)[:, 0]


class Validation:
    """Validation queries of a ranker with linear scores."""

    def __init__(self, queries: Queries, metric: str | Measure | None, *, has_intercept: bool):
        self._held_back = HeldBack(queries, metric)
        self._scorer = LinearScorer(queries.X, has_intercept=has_intercept)

    @property
    def measure(self) -> Measure:
        return self._held_back.measure

    def mean(self, coef: np.ndarray) -> float:
        return self._held_back.mean(self._scorer.scores(coef))


class Watch:
    """What happens after every iteration: history, validation, progress; and which iteration was the best.

    Parameters
    ----------
    names : sequence of str
        What ``history`` holds besides the measure of the validation set.
    """

    def __init__(self, validation: Validation | None, patience: int | None, progress: Progress, names: Sequence[str]):
        self.validation, self.patience, self.progress = validation, patience, progress
        self.history: dict[str, list[float]] = {name: [] for name in names}
        self.best_iteration: int | None = None
        self.best_score: float | None = None
        self.best_coef: np.ndarray | None = None
        if validation is not None:
            self.history[str(validation.measure)] = []

    @property
    def keeps_best(self) -> bool:
        """Whether the best iteration is to be kept in place of the last."""
        return self.patience is not None and self.best_iteration is not None

    def note(self, iteration: int, coef: np.ndarray, shown: str, **values: float) -> str | None:
        """Write down where an iteration stands; the answer is a reason to end, if there is one."""
        for name, value in values.items():
            self.history[name].append(value)
        if self.validation is not None:
            measure, mean = self.validation.measure, self.validation.mean(coef)
            self.history[str(measure)].append(mean)
            shown += f"  {measure} {mean:.4f}"
            if is_better(mean, self.best_score, measure):
                self.best_iteration, self.best_score, self.best_coef = iteration, mean, coef.copy()
        self.progress.advance(shown)
        if self.patience is None or self.best_iteration is None:
            return None
        return NO_IMPROVEMENT if iteration - self.best_iteration >= self.patience else None


def is_better(value: float, best: float | None, measure: Measure) -> bool:
    """Whether a value is better than the best so far; NaN never is."""
    if best is None:
        return not np.isnan(value)
    return value > best if measure.higher_is_better else value < best


def choose_solver(solver: Any, loss: Loss) -> Solver:
    """The solver asked for; ``"auto"`` takes the fastest that fits the loss."""
    if solver != "auto":
        return get_solver(solver)
    if loss.is_random or not (loss.is_convex or loss.is_smooth):
        return get_solver("sgd")
    if loss.has_curvature_product or not loss.is_smooth:
        return get_solver("newton")
    return get_solver("lbfgs")


def minimize(
    objective: Objective,
    solver: Solver,
    start: np.ndarray,
    watch: Watch,
    *,
    max_iter: int,
    tol: float,
    random_state: Any,
) -> Result:
    """Let the solver work; the answer holds the coefficients that were best on the validation set, if there is one."""
    solver.check(objective)
    if objective.is_convex and not objective.is_smooth and solver.is_exact and objective.penalty.l2 == 0:
        raise ValueError(
            f"{objective.name} needs l2 above 0: without a penalty there is no duality gap, by which the fit ends. "
            'Try l2=1e-6, or loss="squared-hinge".'
        )

    def note(step: Step) -> str | None:
        shown = f"objective {step.value:.6g}"
        return watch.note(step.iteration, step.coef, shown, objective=step.value, gradient_norm=step.gradient_norm)

    with one_blas_thread(), watch.progress:
        if objective.loss.is_flat_at_zero and not start.any():
            start = _step_to_labels(objective)
        result = solver.minimize(objective, start, max_iter=max_iter, tol=tol, callback=note, random_state=random_state)
        if watch.keeps_best and watch.best_coef is not None:
            _take_best(result, watch.best_coef, objective)
    if not (result.is_converged or result.is_interrupted or result.stop_reason == NO_IMPROVEMENT):
        warn(_unfinished(solver, result, tol), ConvergenceWarning)
    return result


def _take_best(result: Result, coef: np.ndarray, objective: Objective) -> None:
    """Let the result be about the coefficients that were best on the validation set."""
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


def _step_to_labels(objective: Objective) -> np.ndarray:
    """Coefficients about as good as a regression on the labels: a start for losses that are flat at 0."""
    regression = objective.with_loss(Squared())
    zeros = np.zeros(objective.size)
    _, gradient = regression.value_and_gradient(zeros)
    scaling = Scaling(regression.curvature_estimate(zeros), objective.size)
    return scaling.to_coef(-scaling.pull(gradient))
