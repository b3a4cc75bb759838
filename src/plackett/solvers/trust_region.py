"""Truncated Newton steps inside a trust region, in scaled variables.

Around the current point the objective is modelled by the quadratic ``g·s + ½ s·Hs`` of its gradient and curvature.
Conjugate gradients minimise that model until the residual is small or the path leaves the trust region; then the
objective is evaluated once. The radius follows the rules of TRON (Lin, Weng and Keerthi 2008).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.solvers.base import Minimizable, Search, is_finite
from plackett.solvers.scaling import Scaling

ENOUGH = 1e-4  # share of the predicted decrease that a step must reach
POOR, GOOD = 0.25, 0.75  # below: the region shrinks; above: it may grow
SHRINK_MOST, SHRINK_LEAST, GROW = 0.25, 0.5, 4.0
LOOSEST = 0.1  # residual of the conjugate gradients, relative to the gradient
ROUNDING = 1e-10  # a predicted decrease below this share of the value is lost in rounding: the gradient decides
MAX_REJECTED, MAX_REJECTED_ROUNDING = 30, 3
MOST_CORNERS = 16  # of a path that are kept


class TrustRegion(Search):
    """A point, the quadratic model around it and the radius in which it is trusted.

    A trial step costs one evaluation. After a rejected step, the shorter one lies on the same path and needs no
    products.
    """

    radius: float

    def __init__(self, objective: Minimizable, start: np.ndarray):
        super().__init__(objective, start)
        self.scaling = Scaling(objective.curvature_estimate(self.coef), objective.size)
        self._open()

    def change_objective(self, objective: Minimizable) -> None:
        """Continue from the same point with another objective."""
        self.objective, radius = objective, self.radius
        self.value, self.gradient = self._evaluate(self.coef)
        self._open()
        self.radius = max(self.radius, radius)

    def step(self) -> bool:
        """Move to a lower point; False if none can be distinguished from rounding."""
        multiply = self._curvature()
        accuracy = LOOSEST * min(1.0, np.sqrt(self._norm / max(self._first_norm, 1e-300)))
        path = _Path(self._slope, multiply, self.radius, accuracy)
        n_rejected = n_rejected_rounding = 0
        while n_rejected < MAX_REJECTED and n_rejected_rounding < MAX_REJECTED_ROUNDING:
            step, curved = path.within(self.radius)
            slope = float(self._slope @ step)
            predicted = -(slope + 0.5 * float(step @ curved))
            length = float(np.linalg.norm(step))
            coef = self.coef + self.scaling.to_coef(step)
            if not predicted > 0.0 or np.array_equal(coef, self.coef):
                return False
            value, gradient = self._evaluate(coef)
            if not is_finite(value, gradient):
                self.radius = 0.1 * length
            elif predicted <= ROUNDING * abs(self.value):
                pulled = self.scaling.pull(gradient)
                if float(np.linalg.norm(pulled)) < self._norm:
                    if np.linalg.norm(pulled - self._slope - curved) <= POOR * np.linalg.norm(curved):  # as predicted
                        self.radius = max(self.radius, GROW * length)
                    self._move(coef, value, gradient)
                    return True
                self.radius = SHRINK_MOST * length
                n_rejected_rounding += 1
            else:
                decrease = self.value - value
                self._resize(decrease / predicted, slope, decrease, length)
                if decrease > ENOUGH * predicted:
                    self._move(coef, value, gradient)
                    return True
            n_rejected += 1
        return False

    def _resize(self, ratio: float, slope: float, decrease: float, length: float) -> None:
        # the minimum of the parabola through the value here, the slope here and the value there, as a share of the step
        curvature = -decrease - slope
        best = GROW if curvature <= 0.0 else max(SHRINK_MOST, -0.5 * slope / curvature)
        if ratio <= ENOUGH:
            self.radius = min(best * length, SHRINK_LEAST * self.radius)
        elif ratio < POOR:
            self.radius = max(SHRINK_MOST * self.radius, min(best * length, SHRINK_LEAST * self.radius))
        elif ratio < GOOD:
            self.radius = max(SHRINK_MOST * self.radius, min(best * length, GROW * self.radius))
        else:
            self.radius = max(self.radius, min(best * length, GROW * self.radius))

    def _curvature(self) -> Callable[[np.ndarray], np.ndarray]:
        # requested right after the value at the same point, whose scores the objective has kept
        product = self.objective.curvature_at(self.coef)

        def multiply(direction: np.ndarray) -> np.ndarray:
            self.n_products += 1
            return self.scaling.pull(product(self.scaling.to_coef(direction)))

        return multiply

    def _evaluate(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        self.n_evaluations += 1
        return self.objective.value_and_gradient(coef)

    def _open(self) -> None:
        # norm of the gradient by the scaled variables, here and at the first point of this objective
        self._slope = self.scaling.pull(self.gradient)
        self._norm = self._first_norm = self.radius = float(np.linalg.norm(self._slope))

    def _move(self, coef: np.ndarray, value: float, gradient: np.ndarray) -> None:
        self.coef, self.value, self.gradient = coef, value, gradient
        self._slope = self.scaling.pull(gradient)
        self._norm = float(np.linalg.norm(self._slope))


class _Path:
    """The path of conjugate gradients on the quadratic model, up to the border of the region (Steihaug and Toint).

    Its corners are kept: each lies farther from the start than the one before, so the path inside a smaller region is a
    part of this one. Of a long path every other corner is dropped and replaced by a chord.
    """

    def __init__(self, slope: np.ndarray, multiply: Callable[[np.ndarray], np.ndarray], radius: float, accuracy: float):
        at, curved = np.zeros_like(slope), np.zeros_like(slope)
        self._corners = [(at, curved)]
        residual = -slope
        direction = residual.copy()
        square = float(residual @ residual)
        enough = accuracy**2 * square
        for _ in range(min(2 * slope.size + 10, 1000)):
            product = multiply(direction)
            curvature = float(direction @ product)
            # negative curvature, or a step beyond the border: stop at the border
            to_border = _length_to(at, direction, radius)
            length = square / curvature if curvature > 0.0 else np.inf
            at, curved = at + min(length, to_border) * direction, curved + min(length, to_border) * product
            self._corners.append((at, curved))
            if len(self._corners) > MOST_CORNERS:  # each takes as much memory as the coefficients
                del self._corners[1:-1:2]
            if length >= to_border:
                break
            residual = residual - length * product
            before, square = square, float(residual @ residual)
            if square <= enough:
                break
            direction = residual + (square / before) * direction

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the last point of the path inside the radius, and the curvature times it."""
        for (at, curved), (beyond, curved_beyond) in zip(self._corners, self._corners[1:], strict=False):
            if np.linalg.norm(beyond) > radius * (1.0 + 1e-12):
                share = _length_to(at, beyond - at, radius)
                return at + share * (beyond - at), curved + share * (curved_beyond - curved)
        return self._corners[-1]


def _length_to(at: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """Return the positive root t of ``|at + t direction| = radius``."""
    a, b, c = float(direction @ direction), float(at @ direction), float(at @ at) - radius**2
    if a == 0.0:
        return 0.0
    root = np.sqrt(max(b * b - a * c, 0.0))
    return max(-c, 0.0) / (b + root) if b > 0.0 else (root - b) / a
