"""Truncated Newton steps inside a trust region, in scaled variables.

Around the present point the objective is taken for the parabola ``g·s + ½ s·Hs`` of its gradient and curvature.
Conjugate gradients go down that parabola until the residual is small or the path leaves the region in which the
parabola has proved right; then the objective itself is asked, once. The radius follows the rules of TRON (Lin, Weng and
Keerthi 2008).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Step
from plackett.solvers.scaling import Scaling
from plackett.solvers.stopping import is_finite, require_finite

ENOUGH = 1e-4  # share of the promised fall that a step must bring
POOR, GOOD = 0.25, 0.75  # below: the region shrinks; above: it may grow
SHRINK_MOST, SHRINK_LEAST, GROW = 0.25, 0.5, 4.0
LOOSEST = 0.1  # residual of the conjugate gradients, relative to the gradient
ROUNDING = 1e-10  # a promised fall below this share of the value drowns in rounding: the gradient decides
MAX_REJECTED, MAX_REJECTED_ROUNDING = 30, 3
MOST_CORNERS = 16  # of a path that are kept


class TrustRegion:
    """A point, the parabola around it and how far that is trusted; ``step`` goes on to a lower point.

    Evaluations and products are asked for as seldom as can be: one evaluation per trial step, and no products for the
    shorter step that follows one that was refused, since it lies on the same path.
    """

    def __init__(self, objective: Minimizable, start: np.ndarray, scaling: Scaling | None = None):
        self.n_evaluations, self.n_products = 0, 0
        self.radius = 0.0
        self._norm = self._first_norm = 0.0  # of the gradient by the scaled variables, here and at the first point
        self.coef = np.array(start, dtype=np.float64)
        self._move_to_objective(objective)
        require_finite(self.value, self.gradient)
        self.scaling = Scaling(objective.curvature_estimate(self.coef), objective.size) if scaling is None else scaling
        self._open()

    def turn_to(self, objective: Minimizable) -> None:
        """Go on, from the same point, with another objective."""
        radius = self.radius
        self._move_to_objective(objective)
        self._open()
        self.radius = max(self.radius, radius)

    def step(self) -> bool:
        """Move to a lower point; False when there is none that rounding lets us see."""
        multiply = self._curvature()
        accuracy = LOOSEST * min(1.0, np.sqrt(self._norm / max(self._first_norm, 1e-300)))
        path = _Path(self._slope, multiply, self.radius, accuracy)
        n_rejected = n_rejected_rounding = 0
        while n_rejected < MAX_REJECTED and n_rejected_rounding < MAX_REJECTED_ROUNDING:
            step, curved = path.within(self.radius)
            slope = float(self._slope @ step)
            promised = -(slope + 0.5 * float(step @ curved))
            length = float(np.linalg.norm(step))
            coef = self.coef + self.scaling.to_coef(step)
            if not promised > 0.0 or np.array_equal(coef, self.coef):
                return False
            value, gradient = self._evaluate(coef)
            if not is_finite(value, gradient):
                self.radius = 0.1 * length
            elif promised <= ROUNDING * abs(self.value):
                pulled = self.scaling.pull(gradient)
                if float(np.linalg.norm(pulled)) < self._norm:
                    if np.linalg.norm(pulled - self._slope - curved) <= POOR * np.linalg.norm(curved):  # as promised
                        self.radius = max(self.radius, GROW * length)
                    self._move(coef, value, gradient)
                    return True
                self.radius = SHRINK_MOST * length
                n_rejected_rounding += 1
            else:
                fall = self.value - value
                self._resize(fall / promised, slope, fall, length)
                if fall > ENOUGH * promised:
                    self._move(coef, value, gradient)
                    return True
            n_rejected += 1
        return False

    @property
    def gradient_norm(self) -> float:
        """Of the gradient by the coefficients."""
        return float(np.linalg.norm(self.gradient))

    def is_converged(self, tol: float) -> bool:
        """Whether the gradient is at most ``tol``, by the coefficients and by the scaled variables."""
        return self.scaling.is_converged(self.gradient, tol)

    def is_near(self, tol: float) -> bool:
        """Whether the value is within tol² of the minimum."""
        return self.scaling.is_near(self.gradient, tol)

    def show(self, callback: Callback | None, iteration: int) -> str:
        """Let a callback look; its reason to end here, or nothing."""
        if callback is None:
            return ""
        return callback(Step(iteration, self.coef, self.value, self.gradient_norm)) or ""

    def _resize(self, ratio: float, slope: float, fall: float, length: float) -> None:
        # the minimum of the parabola through the value here, the slope here and the value there, as a share of the step
        bend = -fall - slope
        best = GROW if bend <= 0.0 else max(SHRINK_MOST, -0.5 * slope / bend)
        if ratio <= ENOUGH:
            self.radius = min(best * length, SHRINK_LEAST * self.radius)
        elif ratio < POOR:
            self.radius = max(SHRINK_MOST * self.radius, min(best * length, SHRINK_LEAST * self.radius))
        elif ratio < GOOD:
            self.radius = max(SHRINK_MOST * self.radius, min(best * length, GROW * self.radius))
        else:
            self.radius = max(self.radius, min(best * length, GROW * self.radius))

    def _curvature(self) -> Callable[[np.ndarray], np.ndarray]:
        # asked for right after the value at the same point, whose scores the objective has kept
        product = self.objective.curvature_at(self.coef)

        def multiply(direction: np.ndarray) -> np.ndarray:
            self.n_products += 1
            return self.scaling.pull(product(self.scaling.to_coef(direction)))

        return multiply

    def _evaluate(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        self.n_evaluations += 1
        return self.objective.value_and_gradient(coef)

    def _move_to_objective(self, objective: Minimizable) -> None:
        self.objective = objective
        self.value, self.gradient = self._evaluate(self.coef)

    def _open(self) -> None:
        self._slope = self.scaling.pull(self.gradient)
        self._norm = self._first_norm = self.radius = float(np.linalg.norm(self._slope))

    def _move(self, coef: np.ndarray, value: float, gradient: np.ndarray) -> None:
        self.coef, self.value, self.gradient = coef, value, gradient
        self._slope = self.scaling.pull(gradient)
        self._norm = float(np.linalg.norm(self._slope))


class _Path:
    """The way of conjugate gradients down the parabola, up to the border of the region (Steihaug and Toint).

    Its corners are kept: each lies farther from the start than the one before, so the path inside a smaller region is a
    piece of this one. Of a long path every other corner is forgotten, and its chords have to do.
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
            bend = float(direction @ product)
            # downwards for ever, or past the border: as far as the border and no farther
            to_border = _length_to(at, direction, radius)
            length = square / bend if bend > 0.0 else np.inf
            at, curved = at + min(length, to_border) * direction, curved + min(length, to_border) * product
            self._corners.append((at, curved))
            if len(self._corners) > MOST_CORNERS:  # each is as long as the coefficients are many
                del self._corners[1:-1:2]
            if length >= to_border:
                break
            residual = residual - length * product
            before, square = square, float(residual @ residual)
            if square <= enough:
                break
            direction = residual + (square / before) * direction

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """The last point of the path inside the radius, and the curvature times it."""
        for (at, curved), (beyond, curved_beyond) in zip(self._corners, self._corners[1:], strict=False):
            if np.linalg.norm(beyond) > radius * (1.0 + 1e-12):
                share = _length_to(at, beyond - at, radius)
                return at + share * (beyond - at), curved + share * (curved_beyond - curved)
        return self._corners[-1]


def _length_to(at: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """The positive root t of ``|at + t direction| = radius``."""
    a, b, c = float(direction @ direction), float(at @ direction), float(at @ at) - radius**2
    if a == 0.0:
        return 0.0
    root = np.sqrt(max(b * b - a * c, 0.0))
    return max(-c, 0.0) / (b + root) if b > 0.0 else (root - b) / a
