"""Nodes of trees as targets have them, in single or in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett import _native
from plackett.scorers.trees import LEAF


@dataclass(frozen=True)
class Nodes:
    """Nodes of all trees; tree ``t`` owns ``starts[t]:starts[t + 1]``, its root first, parents before children.

    A split has a feature, a threshold, two next nodes, and the side of missing values; a leaf has the feature -1 and a
    value. Thresholds and values are both float32 or both float64.
    """

    starts: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    missing_left: np.ndarray

    @property
    def n_trees(self) -> int:
        return self.starts.size - 1

    @property
    def used(self) -> np.ndarray:
        """The features that splits use, in the order of the columns."""
        return np.unique(self.features[self.features != LEAF])

    def in_trees(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each node within its tree, from 0 for the root, and its depth."""
        numbers = np.arange(self.features.size) - np.repeat(self.starts[:-1], np.diff(self.starts))
        depths = np.zeros(self.features.size, dtype=np.int64)
        for node in np.flatnonzero(self.features != LEAF):
            depths[self.left[node]] = depths[self.right[node]] = depths[node] + 1
        return numbers, depths

    def nested(self, split: Callable[[int, Any, Any], Any], leaf: Callable[[int], Any]) -> list[Any]:
        """Return the roots of all trees, built by ``leaf(node)`` and ``split(node, left, right)``."""
        built: list[Any] = [None] * self.features.size
        features, left, right = self.features.tolist(), self.left.tolist(), self.right.tolist()
        for node in reversed(range(len(built))):
            built[node] = leaf(node) if features[node] == LEAF else split(node, built[left[node]], built[right[node]])
        return [built[start] for start in self.starts[:-1].tolist()]

    @classmethod
    def read(cls, roots: Iterable[Any], parts: Callable[[Any], Any], dtype: Any) -> Nodes:
        """Return the nodes of nested trees.

        ``parts`` returns the value of a leaf, or feature, threshold, left and right of a split, and, unless missing
        values are read as 0, whether they go left.
        """
        starts = [0]
        features: list[int] = []
        children: list[list[int]] = []
        numbers: list[tuple[float, float]] = []
        missing: list[bool] = []
        for root in roots:
            stack: list[tuple[Any, int, int]] = [(root, -1, 0)]
            while stack:
                node, parent, side = stack.pop()
                place, found = len(features), parts(node)
                if parent >= 0:
                    children[parent][side] = place
                children.append([0, 0])
                if isinstance(found, tuple):
                    feature, threshold, left, right, *rest = found
                    missing.append(rest[0] if rest else threshold >= 0.0)
                    features.append(feature)
                    numbers.append((threshold, 0.0))
                    stack += [(right, place, 1), (left, place, 0)]
                else:
                    features.append(LEAF)
                    missing.append(False)
                    numbers.append((0.0, found))
            starts.append(len(features))
        thresholds, values = np.array(numbers, dtype=dtype).reshape(-1, 2).T
        left, right = np.array(children, dtype=np.int64).reshape(-1, 2).T
        whole = np.array(starts), np.array(features, dtype=np.int64)
        return cls(*whole, thresholds.copy(), left.copy(), right.copy(), values.copy(), np.array(missing, dtype=bool))

    def scores(self, X: np.ndarray, *, is_strict: bool = False) -> np.ndarray:
        """Return sums over all trees, computed in the precision of the nodes.

        A row goes left where ``x < threshold`` (``is_strict``) or ``x <= threshold``.
        """
        dtype, last = self.values.dtype, self.features.max(initial=LEAF)
        if last >= X.shape[1]:
            raise ValueError(f"a tree splits by column {last}, but X has {X.shape[1]} columns.")
        scores = np.zeros(X.shape[0], dtype=dtype)
        with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in the target too
            rows = np.ascontiguousarray(X, dtype=dtype)
        _native.rankers.exported_tree_scores(
            rows, self.starts, self.features, self.thresholds, self.left, self.right, self.values, self.missing_left,
            is_strict, scores,
        )  # fmt: skip
        return scores
