"""Models in float32, the precision of search engines: whether it can hold their numbers, and their scores in it.

A float32 is at or below a threshold t if and only if it is at or below the largest float32 that is not above t. Trees
are written with that number instead of t, so no document whose features are float32 changes sides.
"""

from __future__ import annotations

import numpy as np

from plackett.exporting.forms import LinearForm, NetForm, TreeForm
from plackett.exporting.nodes import LEAF, Nodes
from plackett.scorers.trees import LARGEST

LARGEST_ERROR = 1e-6  # of a number written as float32, relative to what it is used for
ELSEWHERE = "json, ranklib or onnx with dtype='float64'"  # targets with more digits
DEEPEST = 200  # nested splits: readers fail at some depth, those of JSON at 1,000 brackets
_LIMIT = float(np.finfo(np.float32).max)
_ROUNDED_UP = 2.0**128 - 2.0**103  # the smallest number that single precision rounds to infinity


def check_single(form: LinearForm | NetForm, target: str, *, instead: str = ELSEWHERE) -> None:
    """Raise for weights of features and scales that float32 cannot hold: the target would read 0 or infinity."""
    limits = np.finfo(np.float32)
    least, most = float(limits.tiny), float(limits.max)
    weights = form.weights if isinstance(form, LinearForm) else np.ones(form.n_features)
    largest = np.abs(weights).max(initial=0.0)
    for feature in range(form.n_features):
        weight, offset, scale = (float(part[feature]) for part in (weights, form.offset, form.scale))
        what = None
        if abs(weight) > most or abs(weight - _rounded(weight)) > LARGEST_ERROR * largest:
            what = f"a weight of {weight:.3g}"
        elif not least <= scale <= most:
            what = f"a scale of {scale:.3g}"
        elif abs(offset) > 0.5 * most * min(scale, 1.0):  # what engines divide by the scale must not overflow
            what = f"an offset of {offset:.3g}"
        if what is not None:
            raise ValueError(
                f"{form.label(feature)} has {what}, which float32 cannot hold; {target} computes in float32. "
                f"Scale the column before training, or export to {instead}."
            )


def as_range(low: float, width: float) -> tuple[float, float] | None:
    """Return both ends of a range, or None where their difference in float32 is too inexact to divide by."""
    low32, high32 = np.float32(low), _single(low + width)
    with np.errstate(over="ignore"):
        is_good = width > 0 and abs(float(high32 - low32) / width - 1.0) <= LARGEST_ERROR
    return (low, low + width) if is_good else None


def scores_in_single(X: np.ndarray, weights: list, norms: list) -> np.ndarray:
    """Return ``Σ_j w_j n_j(x_j)`` as engines compute it: features in order, every step rounded to float32.

    Each of ``norms`` is what is subtracted and the divisor, both float32, or None.
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


def nodes_in_single(form: TreeForm, target: str) -> Nodes:
    """Return the trees with thresholds and leaves in float32; raise where it cannot hold them."""
    form.check_kinds(target)
    nodes = form.nodes()
    is_leaf = nodes.features == LEAF
    with np.errstate(over="ignore"):
        values = nodes.values.astype(np.float32)
    leaves, thresholds = nodes.values[is_leaf], nodes.thresholds[~is_leaf]
    lost = np.abs(leaves - values[is_leaf]) > LARGEST_ERROR * np.abs(leaves).max(initial=0.0)
    if lost.any():
        raise ValueError(_refusal(f"this {form.ranker} has a leaf of {leaves[lost][0]:.3g}", target))
    is_any = (nodes.thresholds == LARGEST) | ((nodes.thresholds > _LIMIT) & (nodes.thresholds < _ROUNDED_UP))
    # the largest float32 itself leaves no room above it for targets that compare by <
    too_large = ((np.abs(thresholds) > _LIMIT) | (thresholds == _LIMIT)) & ~is_any[~is_leaf]
    if too_large.any():
        feature = int(nodes.features[~is_leaf][too_large][0])
        what = f"{form.label(feature)} has a threshold of {thresholds[too_large][0]:.3g}"
        raise ValueError(_refusal(what, target))
    limits = np.where(is_any, np.nextafter(np.float32(_LIMIT), np.float32(0.0)), nodes.thresholds)
    return Nodes(
        nodes.starts, nodes.features, at_or_below(limits), nodes.left, nodes.right,
        np.where(is_leaf, values, np.float32(0.0)), nodes.missing_left,
    )  # fmt: skip


def check_depth(form: TreeForm, target: str) -> None:
    """Raise for trees that are nested too deeply to be read."""
    depth = form.trees.depth()
    if depth > DEEPEST:
        raise ValueError(
            f"a tree of this {form.ranker} is {depth:,} splits deep; {target} nests trees, and more than {DEEPEST} "
            "levels cannot be read safely. Set max_depth, or export to json or onnx."
        )


def at_or_below(numbers: np.ndarray) -> np.ndarray:
    """Return the largest float32 that is not above each number."""
    nearest = numbers.astype(np.float32)
    with np.errstate(over="ignore"):  # of the smallest float32
        return np.where(nearest > numbers, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def just_above(numbers: np.ndarray) -> np.ndarray:
    """Return the next float32: ``x <= number`` is ``x < just_above(number)``."""
    return np.nextafter(numbers, np.float32(np.inf))


def decimal(number: np.float32) -> float:
    """Return a float with few decimals that reads back as this float32, directly or via a double."""
    short = float(str(number))
    return short if np.float32(short) == number else float(number)


def _refusal(what: str, target: str) -> str:
    return (
        f"{what}, which float32 cannot hold; {target} computes in float32. Export to json, or to onnx with "
        "dtype='float64'."
    )
