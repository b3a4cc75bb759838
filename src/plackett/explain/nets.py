"""Explanations of nets: what each feature adds to a score, by integrated gradients (sundararajan2017).

On the straight path from a row s to a row x, feature j adds ``(x_j - s_j) ∫ ∂score/∂x_j dt``, with t from 0 to 1. All
features together add the score of x minus the score of s. The same holds on every segment of the path, which measures
the error of the integral on that segment.
"""

from __future__ import annotations

import numpy as np

from plackett.scorers.plain_net import PlainNet

TOLERANCE = 1e-7  # for a segment of the path, relative to what the features add
FIRST_PARTS = 4
SHORTEST = 2.0**-40  # segment, relative to its start: on a long path the curvature is close to the start
WORST = 1e-3  # remaining error, relative to what the features add, above which an exception is raised
MOST_PARTS = 1024  # segments of a path above which they are not halved further
CELLS_AT_ONCE = 4_000_000
_PLACES, _SHARES = np.polynomial.legendre.leggauss(8)
_PLACES, _SHARES = 0.5 * (_PLACES + 1.0), 0.5 * _SHARES  # from [-1, 1] to [0, 1]


def integrated_gradients(net: PlainNet, X: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return what each feature adds on the path from ``start`` to each row of X.

    Parameters
    ----------
    net : PlainNet
    X : ndarray of shape (n_docs, n_inputs)
    start : ndarray of shape (n_inputs,)

    Returns
    -------
    ndarray of shape (n_docs, n_inputs)
        The sum of a row is its score minus that of ``start``: up to rounding for ReLU, whose kinks are computed;
        otherwise to within 1e-5 of the sum of the absolute values, or rounding.
    """
    if net.activation == "relu":
        return np.array([_along_lines(net, row, start) for row in X]).reshape(X.shape)
    return _along_curves(net, X, start)


def _along_lines(net: PlainNet, row: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Integrate exactly: between kinks the gradient is constant."""
    places = net.corners(start, row)
    halfway = 0.5 * (places[:-1] + places[1:])
    gradients = net.gradient(start + halfway[:, np.newaxis] * (row - start))
    return (row - start) * (np.diff(places) @ gradients)


def _along_curves(net: PlainNet, X: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Integrate by Gauss's rule on segments, which are halved until each is accurate."""
    parts, way = np.zeros(X.shape), X - start
    sizes = np.abs(net.scores(X) - net.scores(start[np.newaxis]))
    rows = np.repeat(np.arange(X.shape[0]), FIRST_PARTS)
    begins = np.tile(np.arange(FIRST_PARTS) / FIRST_PARTS, X.shape[0])
    length, at_once = 1.0 / FIRST_PARTS, max(1, CELLS_AT_ONCE // (_PLACES.size * max(1, X.shape[1])))
    while rows.size:
        is_open = (np.bincount(rows)[rows] <= MOST_PARTS) & (length > SHORTEST * begins)
        for first in range(0, rows.size, at_once):
            some = slice(first, first + at_once)
            row, begin = rows[some], begins[some]
            added = _added(net, start, way[row], begin, length)
            ends = [start + place[:, np.newaxis] * way[row] for place in (begin, begin + length)]
            left, right = (net.scores(end) for end in ends)
            gaps = np.abs(added.sum(axis=1) - (right - left))
            limits = TOLERANCE * np.maximum(sizes[row], np.abs(added).sum(axis=1))
            is_far = gaps > limits
            limits[is_far] = np.maximum(limits[is_far], sum(net.rounding(end[is_far]) for end in ends))
            is_open[some] &= gaps > limits  # a rounding error does not shrink with the segment
            np.add.at(parts, row[~is_open[some]], added[~is_open[some]])
        length *= 0.5
        rows = np.repeat(rows[is_open], 2)
        begins = np.repeat(begins[is_open], 2) + np.tile([0.0, length], int(is_open.sum()))
    _check_sums(net, X, start, parts)
    return parts


def _check_sums(net: PlainNet, X: np.ndarray, start: np.ndarray, parts: np.ndarray) -> None:
    gaps = np.abs(parts.sum(axis=1) - (net.scores(X) - net.scores(start[np.newaxis])))
    if (gaps > WORST * np.abs(parts).sum(axis=1) + net.rounding(X) + net.rounding(start[np.newaxis])).any():
        raise ValueError(
            "the score of this net oscillates so much between the mean row and a document that the contributions of "
            "its features cannot be integrated. Fit it with a larger l2 or fewer layers, or with activation='relu'."
        )


def _added(net: PlainNet, start: np.ndarray, way: np.ndarray, begin: np.ndarray, length: float) -> np.ndarray:
    """Return what features add on segments of their paths, by Gauss's rule."""
    places = begin[:, np.newaxis] + length * _PLACES
    points = start + places[:, :, np.newaxis] * way[:, np.newaxis]
    gradients = net.gradient(points.reshape(-1, start.size)).reshape(points.shape)
    return way * length * (_SHARES @ gradients)
