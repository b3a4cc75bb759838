"""Stochastic gradient descent over the terms of an objective, one query at a time."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from plackett.solvers.base import Minimizable, Result, Search, Solver, is_finite
from plackett.solvers.scaling import Scaling

RATES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # those that the ListMLE papers choose from
SAMPLE = 200  # terms on which rates are tried
PATIENCE, LOWER = 3, 0.5  # passes without a gain before the rate is lowered, and the factor
SETTLED = "loss changed by less than the threshold"
DIVERGED = "diverged: lower learning_rate"


class SGD(Solver):
    """Gradient steps on one query after another, in a new random order on every pass.

    It works with every loss, including random, non-smooth and non-convex ones, and approaches a minimum without
    reaching it. It returns the best coefficients of the start and the ends of all passes. ``max_iter`` counts passes;
    the papers that train ListMLE this way allow 500.

    Parameters
    ----------
    learning_rate : float or "auto", default="auto"
        Length of the steps, the same in all passes. ``"auto"`` steps in variables that are scaled by a rough second
        derivative, so that columns of any scale are learned equally. It tries 0.1, 0.01, …, 0.00001 on up to 200
        queries and takes the best; after three passes without a gain it continues from the best coefficients with half
        the rate.
    threshold : float, default=None
        It counts as converged when the mean loss of a pass differs from that of the pass before by less than this, in
        absolute terms. None takes ``tol``.
    decay : float, default=0.0
        Pass ``p``, counted from 0, uses ``learning_rate / (1 + decay * p)``.

    Examples
    --------
    >>> from plackett.solvers import SGD
    >>> from plackett import LinearRanker
    >>> ranker = LinearRanker("squared-hinge", l2=2.0, solver=SGD(learning_rate=0.1), random_state=0)
    >>> ranker.fit([[1.0], [0.0]], [1, 0], qid=[7, 7]).coef_.round(1)  # (1 - w)² + w² is least at 0.5
    array([0.5])
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
            raise ValueError(f'learning_rate={rate!r}; it must be a number above 0, such as 0.01, or "auto".')

    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        threshold = tol if self.threshold is None else self.threshold
        rng = np.random.default_rng(random_state)
        return _Passes(objective, start, self.learning_rate, self.decay, threshold, rng)


class _Point(NamedTuple):
    coef: np.ndarray
    value: float
    gradient: np.ndarray


class _Passes(Search):
    """The point after the last pass, and the best point at the end of any pass."""

    def __init__(
        self,
        objective: Minimizable,
        start: np.ndarray,
        rate: float | str,
        decay: float,
        threshold: float,
        rng: np.random.Generator,
    ):
        super().__init__(objective, start)
        self.is_auto, self.decay, self.threshold, self.rng = rate == "auto", decay, threshold, rng
        self.rate = 0.0 if self.is_auto else float(rate)
        self.scaling = Scaling(objective.curvature_estimate(self.coef), objective.size) if self.is_auto else None
        self.n_without_gain = 0
        self.before: _Point | None = None
        self.point = self.best = _Point(self.coef, self.value, self.gradient)

    def step(self) -> bool:
        """Make a pass over all terms."""
        if self.rate == 0.0:
            self.rate = self._best_rate()
        self.before = self.point
        rate = self.rate / (1.0 + self.decay * self.n_iter)
        point = self._descend(self.rng.permutation(self.objective.n_terms), rate)
        self.n_evaluations += 1
        if not self.objective.is_random and np.isfinite(point.value):  # the mean is over coefficients of the whole pass
            with np.errstate(over="ignore", invalid="ignore"):
                point = _Point(point.coef, *self.objective.value_and_gradient(point.coef))
            self.n_evaluations += 1
        if not is_finite(point.value, point.gradient) or not np.isfinite(point.coef).all():
            point = self.point._replace(value=np.inf)
        self.point = point
        self.coef, self.value, self.gradient = point
        if point.value < self.best.value:
            self.best = point
        return True

    def check(self) -> None:
        """Stop when the loss has settled; under ``"auto"``, lower the rate when passes do not help."""
        if self.before is None:
            return
        change = self.point.value - self.before.value
        if abs(change) < self.threshold:
            self.stop_reason, self.is_converged = SETTLED, True
            return
        if not isfinite(change) and not self.is_auto:
            self.stop_reason = DIVERGED
            return
        self.n_without_gain = 0 if self.point is self.best else self.n_without_gain + 1
        if self.is_auto and (self.n_without_gain >= PATIENCE or not isfinite(change)):
            self.point, self.rate, self.n_without_gain = self.best, LOWER * self.rate, 0

    def result(self, **details: Any) -> Result:
        """Return the best point; a pass counts as one evaluation."""
        self.coef, self.value, self.gradient = self.best
        return super().result(learning_rate=self.rate)

    def _best_rate(self) -> float:
        """Return the rate with which one pass over some terms leaves the lowest loss on them."""
        sample = self.rng.permutation(self.objective.n_terms)[:SAMPLE]
        losses = []
        for rate in RATES:
            coef = self._descend(sample, rate).coef
            losses.append(self._descend(sample, 0.0, coef).value)
        return RATES[int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))]

    def _descend(self, terms: np.ndarray, rate: float, start: np.ndarray | None = None) -> _Point:
        """Step along the terms in their order; return the point after them, and the mean loss and gradient."""
        # a new array: objectives may cache by the array they saw last
        coef = np.array(self.point.coef if start is None else start)
        total, sum_of_gradients = 0.0, np.zeros_like(coef)
        evaluate, scaling = self.objective.term_value_and_gradient, self.scaling
        with np.errstate(over="ignore", invalid="ignore"):  # too high a rate shows in the values
            for term in terms.tolist():
                value, gradient = evaluate(coef, term)
                total += value
                if not isfinite(total):
                    break
                sum_of_gradients += gradient
                coef -= rate * (gradient if scaling is None else scaling.to_coef(scaling.pull(gradient)))
        n_terms = max(1, len(terms))
        return _Point(coef, total / n_terms, sum_of_gradients / n_terms)
