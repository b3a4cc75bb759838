"""Boosted trees as plain arrays: what rankers of trees predict with, and what a model file holds of them.

Compiled code of other packages trusts the models that it reads. Here a file holds arrays only, which are checked before
anything follows them, and predicting needs no other package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from plackett import _native
from plackett._threads import deal
from plackett.rankers.linear_scores import check_vector
from plackett.storage import models
from plackett.validation import is_sparse

LEAF = -1
LARGEST_COUNT = 2**31 - 1  # that LightGBM reads
ROWS_PER_BLOCK = 4096
MOST_FEATURES = 2**31 - 1  # that kernels can number


@models.register
class FlatTrees(BaseEstimator):
    """A sum of regression trees over numbers.

    Attributes
    ----------
    starts_ : ndarray of shape (n_trees + 1,)
        Tree ``t`` owns nodes ``starts_[t]:starts_[t + 1]``, the first of which is its root.
    features_, thresholds_ : ndarray of shape (n_nodes,)
        A row goes left where ``x[feature] <= threshold``; the feature of a leaf is -1.
    left_, right_ : ndarray of shape (n_nodes,)
        The next nodes, of larger numbers.
    values_ : ndarray of shape (n_nodes,)
        What a leaf adds to the score; for other nodes about the mean over their rows, which nothing is made of.
    counts_ : ndarray of shape (n_nodes,)
        Training rows that came by.
    gains_ : ndarray of shape (n_nodes,)
        What the split has gained, 0 for leaves.
    n_features_ : int
    """

    _of_nodes: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("features_", "left_", "right_", "counts_"), np.int64),
        **dict.fromkeys(("thresholds_", "values_", "gains_"), np.float64),
    }

    starts_: np.ndarray
    features_: np.ndarray
    thresholds_: np.ndarray
    left_: np.ndarray
    right_: np.ndarray
    values_: np.ndarray
    counts_: np.ndarray
    gains_: np.ndarray
    n_features_: int

    @classmethod
    def of(cls, trees: Sequence[dict[str, np.ndarray]], n_features: int) -> FlatTrees:
        """Trees whose nodes are numbered from 0 each, as dicts of the arrays above without their underscores."""
        kept, sizes = cls(), [tree["features"].size for tree in trees]
        kept.starts_ = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        for name, dtype in cls._of_nodes.items():
            parts = [tree[name.removesuffix("_")] for tree in trees]
            if name in ("left_", "right_"):
                parts = [part + start for part, start in zip(parts, kept.starts_[:-1], strict=True)]
            setattr(kept, name, np.concatenate([*parts, np.zeros(0)]).astype(dtype))
        kept.n_features_ = int(n_features)
        return kept

    @property
    def n_trees(self) -> int:
        return self.starts_.size - 1

    def first(self, n_trees: int) -> FlatTrees:
        """The trees up to one of them, alone."""
        kept, n_nodes = type(self)(), int(self.starts_[n_trees])
        kept.starts_, kept.n_features_ = self.starts_[: n_trees + 1], self.n_features_
        for name in self._of_nodes:
            setattr(kept, name, getattr(self, name)[:n_nodes])
        return kept

    def predict(self, X: Any, start: np.ndarray | float = 0.0) -> np.ndarray:
        """The sum over all trees for each row of a checked X, added to where it starts."""
        scores = np.full(X.shape[0], start, dtype=np.float64) if np.ndim(start) == 0 else np.array(start)
        arrays = (self.starts_, self.features_, self.thresholds_, self.left_, self.right_, self.values_)
        blocks = [(first, first + ROWS_PER_BLOCK) for first in range(0, X.shape[0], ROWS_PER_BLOCK)]

        def work(first: int, last: int) -> None:
            if is_sparse(X):
                own = X.indptr[first : last + 1]
                _native.rankers.tree_scores_sparse(X.data, X.indices, own, X.shape[1], *arrays, scores[first:last])
            else:
                _native.rankers.tree_scores(np.ascontiguousarray(X[first:last]), *arrays, scores[first:last])

        deal(work, blocks)
        return scores

    def importances(self, kind: str) -> np.ndarray:
        """For each feature the gain of all splits by it (``"gain"``), or how many there are (``"split"``)."""
        is_split = self.features_ != LEAF
        weights = self.gains_[is_split] if kind == "gain" else None
        return np.bincount(self.features_[is_split], weights=weights, minlength=self.n_features_).astype(np.float64)

    def depth(self) -> int:
        """Splits between a root and the farthest leaf."""
        return int(self._depths_and_visits()[0].max(initial=0))

    def _depths_and_visits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each node from its root, and how many nodes lead to it."""
        depths, visits = np.empty((2, self.features_.size), dtype=np.int64)
        _native.rankers.tree_depths(self.features_, self.left_, self.right_, depths, visits)
        return depths, visits

    def check_loaded(self) -> None:
        """Refuse what is no sum of trees: every way must end in a leaf of its own tree, by features that exist."""
        for name, dtype in {"starts_": np.int64, **self._of_nodes}.items():
            check_vector(self, name, dtype)
        starts, n_nodes = self.starts_, self.features_.size
        if not starts.size or starts[0] != 0 or starts[-1] != n_nodes or (np.diff(starts) < 1).any():
            raise ValueError("starts_ must rise from 0 to the number of nodes.")
        if any(getattr(self, name).size != n_nodes for name in self._of_nodes):
            raise ValueError("trees must have as many thresholds, ways, values, counts and gains as nodes.")
        if type(self.n_features_) is not int or not 1 <= self.n_features_ <= MOST_FEATURES:
            raise ValueError("n_features_ must be the number of features.")
        if n_nodes and (self.features_.min() < LEAF or self.features_.max() >= self.n_features_):
            raise ValueError(f"features_ must name one of {self.n_features_} features, or be {LEAF} for leaves.")
        if n_nodes and (self.counts_.min() < 0 or self.counts_.max() > LARGEST_COUNT):
            raise ValueError(f"counts_ must be numbers from 0 to {LARGEST_COUNT:,}.")
        inner = np.flatnonzero(self.features_ != LEAF)
        ends = np.repeat(starts[1:], np.diff(starts))[inner]
        for side in (self.left_[inner], self.right_[inner]):
            if (side <= inner).any() or (side >= ends).any():
                raise ValueError("the nodes of a tree must lead to later ones of the same tree.")
        _, visits = self._depths_and_visits()
        is_root = np.zeros(n_nodes, dtype=bool)
        is_root[starts[:-1]] = True
        if (visits[~is_root] != 1).any():
            raise ValueError("every node of a tree but its root must have one node before it.")
        counts = self.counts_
        if (counts[inner] != counts[self.left_[inner]] + counts[self.right_[inner]]).any() or (counts[inner] < 1).any():
            raise ValueError("counts_ of a split must be those of its two sides together, and not 0.")
