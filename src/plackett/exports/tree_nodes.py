"""Trees between their ranker and a file: flat arrays of nodes in one precision, from which nested trees are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett import _native

LEAF = -1


@dataclass(frozen=True)
class Nodes:
    """Nodes of all trees; tree ``t`` owns ``starts[t]:starts[t + 1]``, its root first, parents before children.

    A split has a feature, a threshold and two next nodes; a leaf has the feature -1 and a value. Thresholds and values
    are both float32 or both float64.
    """

    starts: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray

    @property
    def n_trees(self) -> int:
        return self.starts.size - 1

    @property
    def used(self) -> np.ndarray:
        """The features that splits are by, in the order of the columns."""
        return np.unique(self.features[self.features != LEAF])

    def in_trees(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each node its number within its tree, the root's being 0, and its distance from the root."""
        numbers = np.arange(self.features.size) - np.repeat(self.starts[:-1], np.diff(self.starts))
        depths = np.zeros(self.features.size, dtype=np.int64)
        for node in np.flatnonzero(self.features != LEAF):
            depths[self.left[node]] = depths[self.right[node]] = depths[node] + 1
        return numbers, depths

    def nested(self, split: Callable[[int, Any, Any], Any], leaf: Callable[[int], Any]) -> list[Any]:
        """The roots of all trees: what ``leaf`` makes of a node, and ``split`` of a node and what it leads to."""
        built: list[Any] = [None] * self.features.size
        features, left, right = self.features.tolist(), self.left.tolist(), self.right.tolist()
        for node in reversed(range(len(built))):
            built[node] = leaf(node) if features[node] == LEAF else split(node, built[left[node]], built[right[node]])
        return [built[start] for start in self.starts[:-1].tolist()]

    @classmethod
    def read(cls, roots: Iterable[Any], parts: Callable[[Any], Any], dtype: Any) -> Nodes:
        """Nodes of nested trees; ``parts`` is a leaf's value, or a split's feature, threshold, left and right."""
        starts = [0]
        features: list[int] = []
        ways: list[list[int]] = []
        numbers: list[tuple[float, float]] = []
        for root in roots:
            stack: list[tuple[Any, int, int]] = [(root, -1, 0)]
            while stack:
                node, parent, side = stack.pop()
                place, found = len(features), parts(node)
                if parent >= 0:
                    ways[parent][side] = place
                ways.append([0, 0])
                if isinstance(found, tuple):
                    feature, threshold, left, right = found
                    features.append(feature)
                    numbers.append((threshold, 0.0))
                    stack += [(right, place, 1), (left, place, 0)]
                else:
                    features.append(LEAF)
                    numbers.append((0.0, found))
            starts.append(len(features))
        thresholds, values = np.array(numbers, dtype=dtype).reshape(-1, 2).T
        left, right = np.array(ways, dtype=np.int64).reshape(-1, 2).T
        whole = np.array(starts), np.array(features, dtype=np.int64)
        return cls(*whole, thresholds.copy(), left.copy(), right.copy(), values.copy())

    def scores(self, X: np.ndarray, *, is_strict: bool = False) -> np.ndarray:
        """Sums over all trees, rows and sums being of the same precision as the nodes.

        A row goes left where ``x < threshold`` (``is_strict``) or ``x <= threshold``.
        """
        dtype, last = self.values.dtype, self.features.max(initial=LEAF)
        if last >= X.shape[1]:
            raise ValueError(f"a tree splits by column {last}, but X has {X.shape[1]} columns.")
        scores = np.zeros(X.shape[0], dtype=dtype)
        with np.errstate(over="ignore"):  # what float32 cannot hold is infinite there too
            rows = np.ascontiguousarray(X, dtype=dtype)
        _native.rankers.exported_tree_scores(
            rows, self.starts, self.features, self.thresholds, self.left, self.right, self.values, is_strict, scores
        )
        return scores


def with_one_per_line(document: dict[str, Any], key: str, items: list[Any]) -> str:
    """JSON of a document whose empty list ``key`` gets these items, one on a line: nested trees are long otherwise."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    head, empty, tail = text.partition(f'"{key}": []')  # no name can hold that: its quotes are escaped
    assert empty
    indent = " " * (len(head) - head.rindex("\n") - 1)
    if not items:
        return text + "\n"
    lines = [f"{indent}  {json.dumps(item, ensure_ascii=False, allow_nan=False)}" for item in items]
    return f'{head}"{key}": [\n' + ",\n".join(lines) + f"\n{indent}]{tail}\n"
