"""Stochastic gradient descent over the terms of an objective, one query at a time."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result, Solver, Step
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER, is_finite, require_finite

RATES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # those that the ListMLE papers choose from
SAMPLE = 200  # terms that rates are tried on
PATIENCE, LOWER = 3, 0.5  # after so many passes in vain the rate is lowered
SETTLED = "loss changed by less than the threshold"
DIVERGED = "diverged: lower learning_rate"


class SGD(Solver):
    """A step down the gradient of one query after another, in a new random order on every pass.

    It works with every loss, also one that draws at random, has kinks or is not convex, and it comes near a minimum
    rather than to it. The coefficients given back are the best of all those at the end of a pass, the start included.
    ``max_iter`` counts passes; the papers that train ListMLE this way allow 500.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Length of the steps, the same in all passes. ``"auto"`` tries 0.1, 0.01, …, 0.00001 on up to 200 queries and
        takes the best; after three passes in vain it goes on from the best coefficients with half the rate.
    threshold : float, default=None
        It counts as converged when the mean loss of a pass differs from that of the pass before by less than this, in
        absolute terms. None takes ``tol``.
    decay : float, default=0.0
        Pass ``p``, counted from 0, uses ``learning_rate / (1 + decay * p)``.
    """

    name = "sgd"
    is_exact = False

    def __init__(self, learning_rate: float | str = "auto", threshold: float | None = None, decay: float = 0.0):
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.decay = decay

    def check(self, objective: Minimizable) -> None:
        rate = self.learning_rate
        is_rate = rate == "auto" or (isinstance(rate, Real) and isfinite(rate) and rate > 0.0)
        if not is_rate:
            raise ValueError(f'learning_rate={rate!r} is not a rate; give a number above 0, such as 0.01, or "auto".')

    def minimize(
        self,
        objective: Minimizable,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        random_state: Any = None,
    ) -> Result:
        self.check(objective)
        is_auto = self.learning_rate == "auto"
        threshold = tol if self.threshold is None else self.threshold
        search = _Search(objective, start, np.random.default_rng(random_state))
        stop_reason, is_interrupted = "", False
        try:
            search.rate = search.best_rate() if is_auto else float(self.learning_rate)
            while not stop_reason:
                if search.n_iter >= max_iter:
                    stop_reason = MAX_ITER
                else:
                    before = search.point
                    search.make_pass(self.decay)
                    stop_reason = search.show(callback) or search.judge(before, threshold, is_auto)
        except KeyboardInterrupt:
            stop_reason, is_interrupted = INTERRUPTED, True
        return search.result(stop_reason, is_interrupted)


class _Point(NamedTuple):
    coef: np.ndarray
    value: float
    gradient: np.ndarray


class _Search:
    """The point after the last pass, and the best point at the end of any."""

    def __init__(self, objective: Minimizable, start: np.ndarray, rng: np.random.Generator):
        self.objective, self.rng, self.rate = objective, rng, 0.0
        self.n_iter, self.n_evaluations, self.n_in_vain = 0, 1, 0
        coef = np.array(start, dtype=np.float64)
        self.point = self.best = _Point(coef, *objective.value_and_gradient(coef))
        require_finite(self.best.value, self.best.gradient)

    def best_rate(self) -> float:
        """The rate of which one pass over some terms leaves the lowest loss on them."""
        sample = self.rng.permutation(self.objective.n_terms)[:SAMPLE]
        losses = []
        for rate in RATES:
            coef = self._descend(sample, rate).coef
            losses.append(self._descend(sample, 0.0, coef).value)
        return RATES[int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))]

    def make_pass(self, decay: float) -> None:
        rate = self.rate / (1.0 + decay * self.n_iter)
        point = self._descend(self.rng.permutation(self.objective.n_terms), rate)
        self.n_iter += 1
        self.n_evaluations += 1
        if not self.objective.is_random and np.isfinite(point.value):  # the pass's mean is that of points left behind
            with np.errstate(over="ignore", invalid="ignore"):
                point = _Point(point.coef, *self.objective.value_and_gradient(point.coef))
            self.n_evaluations += 1
        if not is_finite(point.value, point.gradient) or not np.isfinite(point.coef).all():
            point = self.point._replace(value=np.inf)
        self.point = point
        if point.value < self.best.value:
            self.best = point

    def judge(self, before: _Point, threshold: float, is_auto: bool) -> str:
        """The reason to end after a pass, or nothing; under ``"auto"`` the rate is lowered when passes do not help."""
        change = self.point.value - before.value
        if abs(change) < threshold:
            return SETTLED
        if not isfinite(change) and not is_auto:
            return DIVERGED
        self.n_in_vain = 0 if self.point is self.best else self.n_in_vain + 1
        if is_auto and (self.n_in_vain >= PATIENCE or not isfinite(change)):
            self.point, self.rate, self.n_in_vain = self.best, LOWER * self.rate, 0
        return ""

    def _descend(self, terms: np.ndarray, rate: float, start: np.ndarray | None = None) -> _Point:
        """Steps along the terms in their order: the point after them, the mean loss and gradient on the way."""
        # a new array: objectives may remember the one they saw last
        coef = np.array(self.point.coef if start is None else start)
        total, sum_of_gradients = 0.0, np.zeros_like(coef)
        look = self.objective.term_value_and_gradient
        with np.errstate(over="ignore", invalid="ignore"):  # too high a rate shows in the values
            for term in terms.tolist():
                value, gradient = look(coef, term)
                total += value
                if not isfinite(total):
                    break
                sum_of_gradients += gradient
                coef -= rate * gradient
        n_terms = max(1, len(terms))
        return _Point(coef, total / n_terms, sum_of_gradients / n_terms)

    def show(self, callback: Callback | None) -> str:
        if callback is None:
            return ""
        coef, value, gradient = self.point
        return callback(Step(self.n_iter, coef, value, float(np.linalg.norm(gradient)))) or ""

    def result(self, stop_reason: str, is_interrupted: bool) -> Result:
        return Result(
            coef=self.best.coef,
            value=self.best.value,
            gradient_norm=float(np.linalg.norm(self.best.gradient)),
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,  # a pass counts as one
            stop_reason=stop_reason,
            is_converged=stop_reason == SETTLED,
            is_interrupted=is_interrupted,
            details={"learning_rate": self.rate},
        )
