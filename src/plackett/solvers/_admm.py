"""The one update of ADMM that needs a loop."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def logistic_prox(targets, ratios, margins):
    """Take every margin z to the minimum of ``ratio log(1 + e^-z) + (z - target)² / 2``, by Newton from where it is.

    The minimum lies between the target and the target plus the ratio; a step that leaves what is known of its place
    goes to the middle of that instead.
    """
    for t in range(targets.size):
        target, ratio = targets[t], ratios[t]
        low, high = target, target + ratio
        z = min(max(margins[t], low), high)
        for _ in range(60):
            # the sigmoid of -z; tanh overflows nowhere
            pull = 0.5 * (1.0 - np.tanh(0.5 * z))
            slope = z - target - ratio * pull
            if slope > 0.0:
                high = z
            else:
                low = z
            step = slope / (1.0 + ratio * pull * (1.0 - pull))
            z -= step
            if not low <= z <= high:
                z = 0.5 * (low + high)
            if abs(step) <= 1e-13 * (1.0 + abs(z)):
                break
        margins[t] = z
