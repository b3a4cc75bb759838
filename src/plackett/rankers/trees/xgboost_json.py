"""XGBoost's JSON of a model, read into flat trees.

XGBoost rounds rows to single precision and goes left where ``x < threshold``. Of the doubles, those that do are the
ones up to a certain one, which is kept as the threshold: flat trees go left where ``x <= threshold``, and so send every
row to the leaf to which XGBoost sends it, in either precision.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett.scorers.trees import LEAF, FlatTrees, ZeroTrees

COVER_OF_A_TREE = 2**30  # parts, of which each node has those of its rows' curvature


def read_trees(text: bytes, n_rounds: int, n_features: int, *, zero_is_missing: bool) -> tuple[FlatTrees, float]:
    """The trees of the first rounds of ``Booster.save_raw("json")``, and what is added to them.

    Splits must be by numbers. XGBoost counts no rows, but sums up their curvature (the cover): ``counts_`` are parts of
    that, of which its contributions are made. ``zero_is_missing`` heeds where the splits send what is missing.
    """
    learner = json.loads(text)["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree" or any(tree["categories_nodes"] for tree in booster["model"]["trees"]):
        raise ValueError("XGBoost has made something else than trees over numbers.")
    n_trees = booster["model"]["iteration_indptr"][n_rounds]
    trees = [_tree(tree) for tree in booster["model"]["trees"][:n_trees]]
    kind = ZeroTrees if zero_is_missing and any(_has_way_of_zero(tree) for tree in trees) else FlatTrees
    start = float(np.float32(learner["learner_model_param"]["base_score"].strip("[]")))
    return kind.of(trees, n_features), start


def last_below(thresholds: np.ndarray) -> np.ndarray:
    """The largest doubles that single precision rounds to less than these numbers, which are of single precision."""
    with np.errstate(over="ignore"):
        limits = np.array([np.nextafter(thresholds, np.float32(-np.inf)), thresholds], dtype=np.float64)
        limits = np.clip(limits, -(2.0**128), 2.0**128)  # beyond the largest, the next power of 2 would follow
        middle = limits.mean(axis=0)
        is_less = middle.astype(np.float32) < thresholds
    return np.where(is_less, middle, np.nextafter(middle, -np.inf))


def _tree(tree: dict[str, Any]) -> dict[str, np.ndarray]:
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    order = _from_the_root(left, right)
    place = np.zeros(left.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    is_leaf = left[order] < 0

    def numbers(name: str) -> np.ndarray:
        return np.array(tree[name], dtype=np.float32)[order]

    conditions, cover = numbers("split_conditions"), numbers("sum_hessian").astype(np.float64)
    if not (np.isfinite(conditions[is_leaf]).all() and np.isfinite(cover).all()):
        raise ValueError("XGBoost has made leaves that are beyond all numbers. Lower learning_rate.")
    found = {
        "features": np.where(is_leaf, LEAF, np.array(tree["split_indices"], dtype=np.int64)[order]),
        "thresholds": np.where(is_leaf, 0.0, last_below(conditions)),
        "left": np.where(is_leaf, 0, place[left[order]]),
        "right": np.where(is_leaf, 0, place[right[order]]),
        "values": np.where(is_leaf, conditions, 0.0).astype(np.float64),
        "counts": np.maximum(np.rint(cover * (COVER_OF_A_TREE / (cover[0] or 1.0))), 1.0),  # no leaf is without a part
        "gains": np.where(is_leaf, 0.0, numbers("loss_changes")),
        "zeros_left": np.array(tree["default_left"], dtype=bool)[order],
    }
    _sum_up(found, np.flatnonzero(~is_leaf))
    return found


def _from_the_root(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The nodes that can be reached, level after level; those that XGBoost has pruned stand among the others."""
    level, levels = np.zeros(1, dtype=np.int64), []
    while level.size:
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)


def _sum_up(tree: dict[str, np.ndarray], inner: np.ndarray) -> None:
    """Counts of splits as sums over their leaves, values as means."""
    left, right, values, counts = (tree[name].tolist() for name in ("left", "right", "values", "counts"))
    for node in inner[::-1].tolist():
        one, other = left[node], right[node]
        counts[node] = counts[one] + counts[other]
        values[node] = (values[one] * counts[one] + values[other] * counts[other]) / counts[node]
    tree["values"], tree["counts"] = np.array(values), np.array(counts)


def _has_way_of_zero(tree: dict[str, np.ndarray]) -> bool:
    """Whether a split sends a 0 to the side where its neighbours do not go."""
    is_split = tree["features"] != LEAF
    return bool((tree["zeros_left"] != (tree["thresholds"] >= 0.0))[is_split].any())
