"""Trees laid out for scoring a list at once: one bit per row, as ``_native/rankers/trees/bitmaps.hpp`` describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import bounds, part_of_place


@dataclass(frozen=True)
class TreeBitmaps:
    """Splits and leaves of trees, and the distinct conditions of the splits, grouped by feature and kind of split.

    Attributes
    ----------
    group_features, group_kinds : ndarrays of shape (n_groups,)
    group_starts : ndarray of shape (n_groups + 1,)
        Group ``g`` owns the conditions ``group_starts[g]:group_starts[g + 1]``, in ascending order of their thresholds.
    thresholds, missing_left : ndarrays of shape (n_conditions,)
    set_starts, sets, zero_width
        As in ``FlatTrees``.
    node_starts : ndarray of shape (n_trees + 1,)
        Tree ``t`` owns the splits ``node_starts[t]:node_starts[t + 1]``.
    conditions, left, right : ndarrays of shape (n_splits,)
        The condition of each split, and its children by their position in the tree: splits first, then leaves.
    leaf_starts : ndarray of shape (n_trees + 1,)
    values : ndarray of shape (n_leaves,)
    n_places : int
        The most splits of a tree, plus its leaves rounded up to a power of two.
    """

    group_features: np.ndarray
    group_kinds: np.ndarray
    group_starts: np.ndarray
    thresholds: np.ndarray
    missing_left: np.ndarray
    set_starts: np.ndarray
    sets: np.ndarray
    zero_width: float
    node_starts: np.ndarray
    conditions: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf_starts: np.ndarray
    values: np.ndarray
    n_places: int

    @classmethod
    def of(cls, trees: Any) -> TreeBitmaps:
        """Return the layout of a checked ``FlatTrees``."""
        is_leaf = trees.features_ < 0
        splits = np.flatnonzero(~is_leaf)
        kinds = trees.kinds_[splits] if trees.kinds_.size else np.zeros(splits.size, dtype=np.uint8)
        keys = [trees.missing_left_[splits], trees.thresholds_[splits], kinds, trees.features_[splits]]
        order = np.lexsort(keys)
        missing_left, thresholds, kinds, features = (key[order] for key in keys)
        is_new_group = _is_new(features, kinds)
        is_new = is_new_group | _is_new(thresholds, missing_left)
        conditions = np.empty(splits.size, dtype=np.int32)
        conditions[order] = np.cumsum(is_new) - 1
        first_of_group = np.flatnonzero(is_new_group)
        group_starts = np.append(np.cumsum(is_new)[first_of_group] - 1, is_new.sum())

        n_splits, n_leaves = (bounds(is_one) for is_one in (~is_leaf, is_leaf))
        node_starts, leaf_starts = n_splits[trees.starts_], n_leaves[trees.starts_]
        tree_of = part_of_place(trees.starts_)
        splits_of, leaves_of = np.diff(node_starts), np.diff(leaf_starts)
        number = np.where(is_leaf, n_leaves[:-1] - leaf_starts[tree_of], n_splits[:-1] - node_starts[tree_of])
        places = (number + np.where(is_leaf, splits_of[tree_of], 0)).astype(np.int32)
        widths = splits_of + 2 ** np.ceil(np.log2(np.maximum(leaves_of, 1))).astype(np.int64)
        return cls(
            features[first_of_group].astype(np.int32),
            kinds[first_of_group].astype(np.uint8),
            group_starts.astype(np.int64),
            thresholds[is_new],
            missing_left[is_new],
            trees.set_starts_,
            trees.sets_,
            float(trees.zero_width_),
            node_starts.astype(np.int64),
            conditions,
            places[trees.left_[splits]],
            places[trees.right_[splits]],
            leaf_starts.astype(np.int64),
            trees.values_[is_leaf],
            int(widths.max(initial=1)),
        )

    def add(self, X: np.ndarray, scores: np.ndarray) -> None:
        """Add the leaves of all trees to the scores of the rows of a C-ordered X."""
        _native.rankers.tree_bitmap_scores(X, *self.__dict__.values(), scores)


def _is_new(*columns: np.ndarray) -> np.ndarray:
    """Return for sorted records whether each differs from the one before."""
    is_new = np.ones(columns[0].size, dtype=bool)
    is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return is_new
