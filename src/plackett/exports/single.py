"""float32, in which search engines compute: numbers that it can hold, and scores as it gives them."""

from __future__ import annotations

import numpy as np

from plackett.exports.form import LinearForm

LARGEST_ERROR = 1e-6  # of a number written as float32, relative to what it is used for


ELSEWHERE = "json, ranklib or onnx with dtype='float64'"  # where there are more digits


def check_single(form: LinearForm, target: str, *, instead: str = ELSEWHERE) -> None:
    """Refuse weights and scales that float32 cannot hold: the target would read 0 or infinity."""
    limits = np.finfo(np.float32)
    least, most = float(limits.tiny), float(limits.max)
    largest = np.abs(form.weights).max(initial=0.0)
    for feature in range(form.n_features):
        weight, offset, scale = (float(part[feature]) for part in (form.weights, form.offset, form.scale))
        what = None
        if abs(weight) > most or abs(weight - _rounded(weight)) > LARGEST_ERROR * largest:
            what = f"a weight of {weight:.3g}"
        elif abs(offset) > most:
            what = f"an offset of {offset:.3g}"
        elif not least <= scale <= most:
            what = f"a scale of {scale:.3g}"
        if what is not None:
            raise ValueError(
                f"{form.call(feature)} has {what}, which float32 cannot hold; {target} computes in float32. "
                f"Scale the column before training, or export to {instead}."
            )


def as_range(low: float, width: float) -> tuple[float, float] | None:
    """Both ends of a range, or None where float32 tells them apart too badly to divide by their difference."""
    low32, high32 = np.float32(low), _single(low + width)
    with np.errstate(over="ignore"):
        is_good = width > 0 and abs(float(high32 - low32) / width - 1.0) <= LARGEST_ERROR
    return (low, low + width) if is_good else None


def scores_in_single(X: np.ndarray, weights: list, norms: list) -> np.ndarray:
    """``Σ_j w_j n_j(x_j)`` as engines add it up: features in order, every step rounded to float32.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features)
    weights : list of float
    norms : list of (subtracted, divisor) or None
        Both float32.
    """
    scores = np.zeros(X.shape[0], dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is reported later
        values = X.astype(np.float32)
        for feature, (weight, norm) in enumerate(zip(weights, norms, strict=True)):
            column = values[:, feature]
            if norm is not None:
                column = (column - np.float32(norm[0])) / np.float32(norm[1])
            scores += np.float32(weight) * column
    return scores


def _single(number: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(number)


def _rounded(number: float) -> float:
    return float(_single(number))
