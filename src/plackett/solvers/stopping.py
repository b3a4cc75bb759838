"""Why solvers stop, in the words that users read."""

from __future__ import annotations

import numpy as np

CONVERGED = "gradient below tol"
MAX_ITER = "max_iter reached"
STALLED = "no further progress at working precision"
INTERRUPTED = "interrupted"


def require_finite(value: float, gradient: np.ndarray) -> None:
    """Refuse a start at which there is nothing to go by."""
    if not is_finite(value, gradient):
        raise ValueError("the objective is not finite at the start; smaller coefficients or scaled columns help.")


def is_finite(value: float, gradient: np.ndarray) -> bool:
    """Whether an evaluation can be used; too long a step gives one that cannot."""
    return bool(np.isfinite(value) and np.isfinite(gradient).all())
