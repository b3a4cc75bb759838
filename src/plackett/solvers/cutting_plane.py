"""Cutting planes for a convex risk with kinks plus a quadratic penalty, to a known duality gap.

Minimises ``(l2 / 2) ‖coef‖² + risk(coef)``. Every evaluation of the risk gives a plane below it,
``risk(c) ≥ risk(coef) + subgradient · (c - coef)``. The minimum with the planes instead of the risk is a lower bound.
A small quadratic programme with one unknown per plane finds it, and the next plane is taken there. The solver stops
when the gap between the best value and the best bound is at most ``tol``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plackett.solvers.base import INTERRUPTED, MAX_ITER, STALLED, Result, Step, is_finite, require_finite

CONVERGED = "violation below tol"

# value and a subgradient of a convex function at given coefficients, and value - subgradient · coefficients, which the
# oracle must compute without cancellation: otherwise the plane may not be below the function
Oracle = Callable[[np.ndarray], tuple[float, np.ndarray, float]]

IDLE_ITERATIONS = 50  # after which a plane of weight 0 is dropped
STALLED_ITERATIONS = 20  # without a smaller gap, due to rounding


@dataclass
class PlaneStep(Step):
    """The state after an iteration: the best coefficients so far, and the remaining gap."""

    violation: float


class _Planes:
    """Planes ``offset + slope · coef`` below a risk, and their optimal weights.

    With weights α ≥ 0 that sum to 1, ``Σ α offset - ‖Σ α slope‖² / (2 l2)`` is a lower bound; it is largest at the
    minimum of the penalty and the highest plane, where ``coef = -Σ α slope / l2``.
    """

    def __init__(self, size: int, l2: float):
        self.l2 = l2
        self.slopes, self.offsets = np.zeros((0, size)), np.zeros(0)
        self.products = np.zeros((0, 0))  # of the slopes, over l2
        self.weights, self.idle = np.zeros(0), np.zeros(0, dtype=np.int64)

    def add(self, offset: float, slope: np.ndarray) -> None:
        self._drop_idle()
        across, n = self.slopes @ slope / self.l2, self.offsets.size
        products = np.empty((n + 1, n + 1))
        products[:n, :n], products[n, :n], products[:n, n] = self.products, across, across
        products[n, n] = slope @ slope / self.l2
        self.products = products
        self.slopes, self.offsets = np.vstack([self.slopes, slope]), np.append(self.offsets, offset)
        self.weights = np.append(self.weights, 0.0 if n else 1.0)
        self.idle = np.append(self.idle, 0)

    def _drop_idle(self) -> None:
        self.idle = np.where(self.weights > 0, 0, self.idle + 1)
        kept = self.idle <= IDLE_ITERATIONS
        if not kept.all():
            self.slopes, self.offsets, self.weights = self.slopes[kept], self.offsets[kept], self.weights[kept]
            self.products, self.idle = self.products[np.ix_(kept, kept)], self.idle[kept]

    def balance(self, tol: float) -> None:
        """Optimise the weights, starting from the current ones."""
        self.weights = best_weights(self.products, self.offsets, self.weights, tol)

    def coef(self) -> np.ndarray:
        return -(self.weights @ self.slopes) / self.l2

    def bound(self) -> float:
        coef = self.coef()
        return float(self.weights @ self.offsets - 0.5 * self.l2 * (coef @ coef))


def best_weights(products: np.ndarray, offsets: np.ndarray, weights: np.ndarray, tol: float) -> np.ndarray:
    """Return weights α ≥ 0, Σ α = 1, that maximise ``offsets · α - α · products α / 2`` to within ``tol``.

    An active set method: the positive weights move to their joint optimum, or until the first becomes 0; then the
    weight with the largest gain joins them. ``products`` must be symmetric, without negative eigenvalues; ``weights``
    are the initial ones.
    """
    weights = weights.copy()
    is_free = weights > 0
    rounding = np.finfo(np.float64).eps * float(np.diag(products).max(initial=0.0))  # error of a slope or gain
    for _ in range(20 * weights.size + 100):
        slope = offsets - products @ weights
        gain = slope - weights @ slope  # directional derivative towards this weight
        best = int(np.argmax(gain))
        if gain[best] <= max(tol, rounding):  # bounds the distance to the maximum, by concavity
            break
        is_free[best] = True
        before = weights.copy()
        _move_free(products, slope, weights, is_free)
        if np.array_equal(weights, before):  # no progress at working precision
            break
    return weights


def _move_free(products: np.ndarray, slope: np.ndarray, weights: np.ndarray, is_free: np.ndarray) -> None:
    """Move the free weights to their joint optimum; those that would become negative are fixed at 0."""
    while True:
        free = np.flatnonzero(is_free)
        move = _newton_move(products[np.ix_(free, free)], slope[free])
        falls = move < 0
        with np.errstate(divide="ignore"):
            reach = np.where(falls, weights[free] / -np.where(falls, move, 1.0), np.inf)
        step = min(1.0, float(reach.min()))
        weights[free] += step * move
        if step == 1.0 and reach.min() > 1.0:
            break
        is_gone = reach <= step
        weights[free[is_gone]] = 0.0
        is_free[free[is_gone]] = False
        slope = slope - products[:, free] @ (step * move)
        if is_free.sum() <= 1:
            break
    np.maximum(weights, 0.0, out=weights)
    weights /= weights.sum()


def _newton_move(products: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the move, of sum 0, to the optimum of the free weights."""
    n = slope.size
    system = np.zeros((n + 1, n + 1))
    # planes may be linearly dependent; with the small ridge the move goes far along such directions, to a bound
    system[:n, :n] = products + np.eye(n) * (1e-12 * max(float(np.trace(products)) / n, 1e-300))
    scale = max(float(np.abs(products).max()), 1e-300)
    system[n, :n] = system[:n, n] = scale
    try:
        move = np.linalg.solve(system, np.append(slope - slope.mean(), 0.0))[:n]
    except np.linalg.LinAlgError:
        move = np.linalg.lstsq(system, np.append(slope - slope.mean(), 0.0), rcond=None)[0][:n]
    return move - move.mean()


def minimize_by_planes(
    oracle: Oracle,
    size: int,
    *,
    l2: float,
    max_iter: int,
    tol: float,
    callback: Callable[[PlaneStep], str | None] | None = None,
) -> Result:
    """Minimise ``(l2 / 2) ‖coef‖² + risk(coef)`` from 0, with at most ``max_iter`` planes, to a duality gap of ``tol``.

    ``oracle`` returns the risk, which must be convex, a subgradient of it, and the value at 0 of their plane. A text
    that ``callback`` returns stops the solver. The value of the result includes the penalty; ``details`` has
    ``"violation"``, the remaining gap, and ``"n_planes"``.
    """
    planes = _Planes(size, l2)
    coef, bound, least_gap, n_stalled = np.zeros(size), -np.inf, np.inf, 0
    best = Result(coef, np.inf, np.inf, 0, 0, MAX_ITER, is_converged=False, details={"violation": np.inf})
    try:
        for iteration in range(1, max_iter + 1):
            risk, subgradient, offset = oracle(coef)
            best.n_evaluations += 1
            value = risk + 0.5 * l2 * float(coef @ coef)
            with np.errstate(over="ignore"):
                length = float(subgradient @ subgradient) / l2
            if iteration == 1:
                require_finite(value + length, subgradient)
            elif not is_finite(value + length, subgradient):
                best.stop_reason = STALLED
                break
            if value < best.value:
                best.coef, best.value = coef, value
                best.gradient_norm = float(np.linalg.norm(l2 * coef + subgradient))
            planes.add(offset, subgradient)
            planes.balance(0.01 * tol)
            bound = max(bound, planes.bound())
            gap = max(best.value - bound, 0.0)
            best.n_iter, best.details = iteration, {"violation": gap, "n_planes": planes.offsets.size}
            step = PlaneStep(iteration, best.coef, best.value, best.gradient_norm, gap)
            reason = None if callback is None else callback(step)
            n_stalled = 0 if gap < least_gap else n_stalled + 1
            least_gap = min(gap, least_gap)
            if gap <= tol:
                best.stop_reason, best.is_converged = CONVERGED, True
            elif reason is not None:
                best.stop_reason = reason
            elif n_stalled >= STALLED_ITERATIONS:
                best.stop_reason = STALLED
            else:
                coef = planes.coef()
                continue
            break
    except KeyboardInterrupt:
        best.stop_reason, best.is_interrupted = INTERRUPTED, True
    return best
