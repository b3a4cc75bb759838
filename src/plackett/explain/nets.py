"""Explanations of nets: what each feature adds to a score, by integrated gradients (sundararajan2017).

On the straight path from a row s to a row x, feature j adds ``(x_j - s_j) ∫ ∂score/∂x_j dt``, with t from 0 to 1. All
features together add the score of x minus the score of s, which shows the error of the integral.
"""

from __future__ import annotations

import numpy as np

from plackett.scorers.plain_net import PlainNet

# the ends of the parts of a path: on a long one the score bends close to the start
ENDS = np.concatenate([[0.0], 2.0 ** np.arange(-80, -6), np.arange(1, 65) / 64])
POINTS = (1, 8, 64, 512)  # of a part; more are taken until the error is small
ERROR = 1e-4  # relative to what the features add, above which more points are taken
WORST = 1e-2  # above which an exception is raised


def integrated_gradients(net: PlainNet, X: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return what each feature adds on the path from ``start`` to each row of X.

    The sum of a row is its score minus that of ``start``: the error of the integral is given to the features in
    proportion to what they add, and is mostly below 1e-4 of that.
    """
    parts, sizes, errors = np.zeros(X.shape), np.zeros(X.shape[0]), np.full(X.shape[0], np.inf)
    gains = net.scores(X) - net.scores(start[np.newaxis])
    rounding = net.rounding(X) + net.rounding(start[np.newaxis])
    for n_points in POINTS:
        for row in np.flatnonzero(np.abs(errors) > ERROR * sizes + rounding).tolist():
            parts[row] = (X[row] - start) * _mean_gradient(net, start, X[row], n_points)
        sizes, errors = np.abs(parts).sum(axis=1), gains - parts.sum(axis=1)
    if (np.abs(errors) > WORST * sizes + rounding).any():
        raise ValueError(
            "the score of this net oscillates so much between the mean row and a document that the contributions of "
            "its features cannot be integrated. Fit it with a larger l2 or fewer layers."
        )
    shares = np.divide(errors, sizes, out=np.zeros_like(errors), where=np.abs(errors) > rounding)
    return parts + np.abs(parts) * shares[:, np.newaxis]


def _mean_gradient(net: PlainNet, start: np.ndarray, row: np.ndarray, n_points: int) -> np.ndarray:
    """Return the mean of the gradient on the path, by the midpoint rule."""
    widths, total = np.diff(ENDS), np.zeros(start.size)
    for share in (np.arange(n_points) + 0.5) / n_points:
        places = ENDS[:-1] + share * widths
        total += widths @ net.gradient(start + places[:, np.newaxis] * (row - start))
    return total / n_points
