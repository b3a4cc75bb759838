"""Trees in float32, in which search engines compare and add: thresholds that part its numbers as the exact ones do.

A float32 is at or below a threshold t just where it is at or below the largest float32 that is not above t. That number
is written for t, so that no document whose features are float32 changes sides, however near its values are to t.
"""

from __future__ import annotations

import numpy as np

from plackett.exports.single import LARGEST_ERROR
from plackett.exports.tree_form import TreeForm
from plackett.exports.tree_nodes import LEAF, Nodes

DEEPEST = 200  # splits on a way, for targets that nest trees: their readers end at some depth, JSON's at 1,000 brackets
_LIMIT = float(np.finfo(np.float32).max)


def nodes_in_single(form: TreeForm, target: str) -> Nodes:
    """The trees with thresholds and leaves in float32; refused where it cannot hold them."""
    nodes = form.nodes()
    is_leaf = nodes.features == LEAF
    with np.errstate(over="ignore"):
        values = nodes.values.astype(np.float32)
    leaves, thresholds = nodes.values[is_leaf], nodes.thresholds[~is_leaf]
    lost = np.abs(leaves - values[is_leaf]) > LARGEST_ERROR * np.abs(leaves).max(initial=0.0)
    if lost.any():
        raise ValueError(_refusal(f"this {form.ranker} has a leaf of {leaves[lost][0]:.3g}", target))
    # the largest float32 itself leaves no room above it for targets that compare by <
    too_large = (np.abs(thresholds) > _LIMIT) | (thresholds == _LIMIT)
    if too_large.any():
        feature = int(nodes.features[~is_leaf][too_large][0])
        what = f"{form.call(feature)} has a threshold of {thresholds[too_large][0]:.3g}"
        raise ValueError(_refusal(what, target))
    return Nodes(
        nodes.starts, nodes.features, at_or_below(nodes.thresholds), nodes.left, nodes.right,
        np.where(is_leaf, values, np.float32(0.0)),
    )  # fmt: skip


def check_depth(form: TreeForm, target: str) -> None:
    """Refuse trees that are nested too deeply to be read."""
    depth = form.trees.depth()
    if depth > DEEPEST:
        raise ValueError(
            f"a tree of this {form.ranker} is {depth:,} splits deep; {target} nests trees, and more than {DEEPEST} are "
            "not safely read. Set max_depth, or export to json or onnx."
        )


def at_or_below(numbers: np.ndarray) -> np.ndarray:
    """The largest float32 that is not above each number."""
    nearest = numbers.astype(np.float32)
    return np.where(nearest > numbers, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def just_above(numbers: np.ndarray) -> np.ndarray:
    """The next float32: ``x <= number`` is ``x < just_above(number)``."""
    return np.nextafter(numbers, np.float32(np.inf))


def decimal(number: np.float32) -> float:
    """A float whose decimals are few and read back as this float32, at once or by way of a double."""
    short = float(str(number))
    return short if np.float32(short) == number else float(number)


def _refusal(what: str, target: str) -> str:
    return (
        f"{what}, which float32 cannot hold; {target} computes in float32. Export to json, or to onnx with "
        "dtype='float64'."
    )
