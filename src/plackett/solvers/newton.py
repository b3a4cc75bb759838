"""Truncated Newton with a trust region: the exact solver where a loss knows its curvature."""

from __future__ import annotations

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result, Solver
from plackett.solvers.smoothing import minimize_with_kinks
from plackett.solvers.stopping import CONVERGED, INTERRUPTED, MAX_ITER, STALLED
from plackett.solvers.trust_region import TrustRegion


class Newton(Solver):
    """Newton steps by conjugate gradients, for losses with curvature, and for convex losses with kinks.

    Few steps, each of one evaluation and some products with the curvature; near the minimum every step gains digits
    faster than the one before. It counts as converged when the gradient is at most ``tol``.

    Kinks, as of the hinge, are rounded off over a width that shrinks. Then the gradient says little, and it counts as
    converged when the duality gap, which bounds the distance to the minimum, is at most ``tol`` times the minimum:
    ``tol=1e-3`` is a value within a thousandth of the best. The result's ``details`` hold the ``"duality_gap"``.
    """

    name = "newton"

    def check(self, objective: Minimizable) -> None:
        if objective.is_random:
            raise self._refuse("a loss that is the same at every look", objective, "draws anew", 'solver="sgd"')
        if objective.has_curvature_product or (objective.is_convex and not objective.is_smooth):
            return
        reason = "has none" if objective.is_convex else "has none (it is not convex)"
        hint = 'solver="lbfgs"' if objective.is_smooth else 'solver="sgd"'
        raise self._refuse("a loss with curvature_product", objective, reason, hint)

    def minimize(
        self,
        objective: Minimizable,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        random_state=None,
    ) -> Result:
        self.check(objective)
        if not objective.has_curvature_product:
            return minimize_with_kinks(objective, start, max_iter, tol, callback)
        return _descend(TrustRegion(objective, start), max_iter, tol, callback)


def _descend(region: TrustRegion, max_iter: int, tol: float, callback: Callback | None) -> Result:
    n_iter, is_interrupted = 0, False
    stop_reason, is_converged = (CONVERGED, True) if region.is_converged(tol) else ("", False)
    try:
        while not stop_reason:
            if n_iter >= max_iter:
                stop_reason = MAX_ITER
            elif not region.step():
                stop_reason, is_converged = STALLED, region.is_near(tol)
            else:
                n_iter += 1
                stop_reason = region.show(callback, n_iter)
                if not stop_reason and region.is_converged(tol):
                    stop_reason, is_converged = CONVERGED, True
    except KeyboardInterrupt:
        stop_reason, is_interrupted = INTERRUPTED, True
    return Result(
        coef=region.coef,
        value=region.value,
        gradient_norm=region.gradient_norm,
        n_iter=n_iter,
        n_evaluations=region.n_evaluations,
        n_products=region.n_products,
        stop_reason=stop_reason,
        is_converged=is_converged,
        is_interrupted=is_interrupted,
    )
