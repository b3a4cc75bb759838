"""Conversion of XGBoost's JSON models to flat trees.

XGBoost rounds rows to single precision and goes left where ``x < threshold``; flat trees go left where
``x <= threshold``. Thresholds are replaced by the largest double that XGBoost sends left, so that every row reaches the
same leaf, in either precision.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett.scorers.trees import LEAF, ZERO_IS_MISSING, FlatTrees

ZERO_WIDTH = 2.0**-150  # the largest number that single precision rounds to 0
COVER_OF_A_TREE = 2**30  # counts of a tree, divided among nodes by the curvature of their rows


def read_trees(text: bytes, n_rounds: int, n_features: int, *, zero_is_missing: bool) -> tuple[FlatTrees, float]:
    """Return the trees of the first rounds of ``Booster.save_raw("json")``, and the base score.

    Splits must be numeric. XGBoost has no row counts but sums of curvature (the cover), of which its contributions are
    made: ``counts_`` are proportional to these. With ``zero_is_missing`` a 0 goes where splits send missing values.
    """
    learner = json.loads(text)["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree" or any(tree["categories_nodes"] for tree in booster["model"]["trees"]):
        raise ValueError("XGBoost has made a model other than trees over numeric features.")
    n_trees = booster["model"]["iteration_indptr"][n_rounds]
    trees = [_tree(tree) for tree in booster["model"]["trees"][:n_trees]]
    if zero_is_missing and any(_separates_zero(tree) for tree in trees):
        trees = [{**tree, "kinds": np.where(tree["features"] == LEAF, 0, ZERO_IS_MISSING)} for tree in trees]
    start = float(np.float32(learner["learner_model_param"]["base_score"].strip("[]")))
    return FlatTrees.of(trees, n_features, zero_width=ZERO_WIDTH), start


def last_below(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest doubles that single precision rounds to less than these thresholds."""
    with np.errstate(over="ignore"):
        limits = np.array([np.nextafter(thresholds, np.float32(-np.inf)), thresholds], dtype=np.float64)
        limits = np.clip(limits, -(2.0**128), 2.0**128)  # the next power of 2 follows the largest number
        middle = limits.mean(axis=0)
        is_less = middle.astype(np.float32) < thresholds
    return np.where(is_less, middle, np.nextafter(middle, -np.inf))


def _tree(tree: dict[str, Any]) -> dict[str, np.ndarray]:
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    order = _reachable(left, right)
    place = np.zeros(left.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    is_leaf = left[order] < 0

    def numbers(name: str) -> np.ndarray:
        return np.array(tree[name], dtype=np.float32)[order]

    conditions, cover = numbers("split_conditions"), numbers("sum_hessian").astype(np.float64)
    if not (np.isfinite(conditions[is_leaf]).all() and np.isfinite(cover).all()):
        raise ValueError("leaves of XGBoost's trees overflowed. Lower learning_rate.")
    found = {
        "features": np.where(is_leaf, LEAF, np.array(tree["split_indices"], dtype=np.int64)[order]),
        "thresholds": np.where(is_leaf, 0.0, last_below(conditions)),
        "left": np.where(is_leaf, 0, place[left[order]]),
        "right": np.where(is_leaf, 0, place[right[order]]),
        "values": np.where(is_leaf, conditions, 0.0).astype(np.float64),
        "counts": np.maximum(np.rint(cover * (COVER_OF_A_TREE / (cover[0] or 1.0))), 1.0),  # no count is 0
        "gains": np.where(is_leaf, 0.0, numbers("loss_changes")),
        "missing_left": np.array(tree["default_left"], dtype=bool)[order],
    }
    _sum_up(found, np.flatnonzero(~is_leaf))
    return found


def _reachable(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the nodes that can be reached, level by level, without those that XGBoost has pruned."""
    level, levels = np.zeros(1, dtype=np.int64), []
    while level.size:
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)


def _sum_up(tree: dict[str, np.ndarray], inner: np.ndarray) -> None:
    """Set the counts of splits to sums over their leaves, and values to means."""
    left, right, values, counts = (tree[name].tolist() for name in ("left", "right", "values", "counts"))
    for node in inner[::-1].tolist():
        one, other = left[node], right[node]
        counts[node] = counts[one] + counts[other]
        values[node] = (values[one] * counts[one] + values[other] * counts[other]) / counts[node]
    tree["values"], tree["counts"] = np.array(values), np.array(counts)


def _separates_zero(tree: dict[str, np.ndarray]) -> bool:
    """Return whether a split sends a 0 to another side than the numbers around it."""
    is_split = tree["features"] != LEAF
    return bool((tree["missing_left"] != (tree["thresholds"] >= 0.0))[is_split].any())
