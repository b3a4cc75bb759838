"""Conversion between flat trees and the text format of LightGBM's models."""

from __future__ import annotations

import re

import numpy as np

from plackett.scorers.trees import LEAF, FlatTrees, ZeroTrees

_ZERO_IS_MISSING = 1  # value of bits 2 and 3 of a split's decision type
_MISSING_GOES_LEFT = 2  # its bit 1


def read_trees(text: str, n_features: int) -> FlatTrees:
    """Return the trees of ``Booster.model_to_string()``; splits must be numeric and leaves constant.

    A tree without a split, which LightGBM writes if the first round finds none, is left out.
    """
    blocks = re.split(r"^Tree=\d+$", text.split("end of trees")[0], flags=re.MULTILINE)[1:]
    trees = [_tree(block) for block in blocks]
    return FlatTrees.of([tree for tree in trees if tree["features"].size > 1], n_features)


def _tree(block: str) -> dict[str, np.ndarray]:
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)

    def numbers(name: str) -> np.ndarray:
        return np.array(lines.get(name, "").split(), dtype=np.float64)

    n_leaves = int(lines["num_leaves"])
    n_inner = n_leaves - 1
    missing = (numbers("decision_type").astype(np.int64) >> 2) & 3
    if int(lines["num_cat"]) or int(lines.get("is_linear", "0")) or (missing == _ZERO_IS_MISSING).any():
        raise ValueError("LightGBM has grown a tree with categories, linear leaves or zeros for missing values.")
    nothing = np.zeros(n_leaves)

    def children(name: str) -> np.ndarray:
        """Return children by number: inner nodes first, then leaves, which LightGBM counts downwards from -1."""
        child = numbers(name).astype(np.int64)
        return np.append(np.where(child < 0, n_inner - 1 - child, child), nothing)

    return {
        "features": np.append(numbers("split_feature"), np.full(n_leaves, LEAF)),
        "thresholds": np.append(numbers("threshold"), nothing),
        "left": children("left_child"),
        "right": children("right_child"),
        "values": np.append(numbers("internal_value"), numbers("leaf_value")),
        "counts": np.append(numbers("internal_count"), numbers("leaf_count") if n_inner else nothing),
        "gains": np.append(numbers("split_gain"), nothing),
    }


def write_trees(trees: FlatTrees) -> str:
    """Return a model that ``lightgbm.Booster(model_str=...)`` reads, with the same trees.

    In splits with a branch for 0, LightGBM takes every number up to 1e-35 as 0.
    """
    head = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={trees.n_features_ - 1}", "objective=custom",
        "feature_names=" + " ".join(f"Column_{column}" for column in range(trees.n_features_)),
        "feature_infos=" + " ".join(["[-inf:inf]"] * trees.n_features_),
    ]  # fmt: skip
    blocks = [f"Tree={tree}\n{_block(trees, tree)}\n\n" for tree in range(trees.n_trees)]
    sizes = "tree_sizes=" + " ".join(str(len(block)) for block in blocks)
    return "\n".join([*head, sizes, "", *["".join(blocks) + "end of trees", ""]])


def _block(trees: FlatTrees, tree: int) -> str:
    nodes = slice(trees.starts_[tree], trees.starts_[tree + 1])
    is_leaf = trees.features_[nodes] == LEAF
    place = np.where(is_leaf, -np.cumsum(is_leaf), np.cumsum(~is_leaf) - 1)  # inner nodes upwards, leaves downwards

    def line(name: str, values: np.ndarray) -> str:
        return f"{name}=" + " ".join(map(repr, values.tolist()))

    def children(side: np.ndarray) -> np.ndarray:
        return place[side[nodes][~is_leaf] - nodes.start]

    decisions = np.full(is_leaf.size, _MISSING_GOES_LEFT)
    if isinstance(trees, ZeroTrees):
        decisions = _MISSING_GOES_LEFT * trees.zeros_left_[nodes] + (_ZERO_IS_MISSING << 2)
    values, counts, n_leaves = trees.values_[nodes], trees.counts_[nodes], int(is_leaf.sum())
    rows = [
        f"num_leaves={n_leaves}",
        "num_cat=0",
        line("split_feature", trees.features_[nodes][~is_leaf]),
        line("split_gain", trees.gains_[nodes][~is_leaf]),
        line("threshold", trees.thresholds_[nodes][~is_leaf]),
        line("decision_type", decisions[~is_leaf]),
        line("left_child", children(trees.left_)),
        line("right_child", children(trees.right_)),
        line("leaf_value", values[is_leaf]),
        line("leaf_weight", counts[is_leaf]),
        line("leaf_count", counts[is_leaf]),
        line("internal_value", values[~is_leaf]),
        line("internal_weight", counts[~is_leaf]),
        line("internal_count", counts[~is_leaf]),
        "is_linear=0",
        "shrinkage=1",
    ]
    return "\n".join(rows)
