"""Sums of regression trees as plain arrays.

Model files hold these arrays, which are checked when they are loaded. Predicting needs no other package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from plackett import _native
from plackett._threads import map_blocks
from plackett.storage import models
from plackett.storage.models.array_checks import check_vector
from plackett.validation import is_sparse

LEAF = -1
LARGEST_COUNT = 2**31 - 1  # limit of LightGBM
ROWS_PER_BLOCK = 4096
MOST_FEATURES = 2**31 - 1  # limit of the kernels


@models.register
class FlatTrees(BaseEstimator):
    """A sum of regression trees over numeric features.

    Attributes
    ----------
    starts_ : ndarray of shape (n_trees + 1,)
        Tree ``t`` owns nodes ``starts_[t]:starts_[t + 1]``, the first of which is its root.
    features_, thresholds_ : ndarray of shape (n_nodes,)
        A row goes left where ``x[feature] <= threshold``; the feature of a leaf is -1.
    left_, right_ : ndarray of shape (n_nodes,)
        The child nodes, with larger numbers.
    values_ : ndarray of shape (n_nodes,)
        What a leaf adds to the score; for other nodes about the mean over their rows, which is not used.
    counts_ : ndarray of shape (n_nodes,)
        Training rows that reached the node.
    gains_ : ndarray of shape (n_nodes,)
        Gain of the split, 0 for leaves.
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
        """Return the trees, given as dicts of the arrays above without underscores, each with nodes from 0 on."""
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
        """Return the first trees only."""
        kept, n_nodes = type(self)(), int(self.starts_[n_trees])
        kept.starts_, kept.n_features_ = self.starts_[: n_trees + 1], self.n_features_
        for name in self._of_nodes:
            setattr(kept, name, getattr(self, name)[:n_nodes])
        return kept

    def predict(self, X: Any, start: np.ndarray | float = 0.0) -> np.ndarray:
        """Return ``start`` plus the sum over all trees for each row of a checked X."""
        scores = np.full(X.shape[0], start, dtype=np.float64) if np.ndim(start) == 0 else np.array(start)

        def work(first: int, last: int) -> None:
            if is_sparse(X):
                self._add_sparse(X.data, X.indices, X.indptr[first : last + 1], X.shape[1], scores[first:last])
            else:
                self._add_dense(np.ascontiguousarray(X[first:last]), scores[first:last])

        map_blocks(work, [(first, first + ROWS_PER_BLOCK) for first in range(0, X.shape[0], ROWS_PER_BLOCK)])
        return scores

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.starts_, self.features_, self.thresholds_, self.left_, self.right_, self.values_

    def _add_dense(self, X: np.ndarray, scores: np.ndarray) -> None:
        _native.rankers.tree_scores(X, *self._arrays, scores)

    def _add_sparse(self, *rows_and_scores: Any) -> None:
        *rows, scores = rows_and_scores
        _native.rankers.tree_scores_sparse(*rows, *self._arrays, scores)

    def importances(self, kind: str) -> np.ndarray:
        """Return for each feature the total gain of its splits (``"gain"``), or their number (``"split"``)."""
        is_split = self.features_ != LEAF
        weights = self.gains_[is_split] if kind == "gain" else None
        return np.bincount(self.features_[is_split], weights=weights, minlength=self.n_features_).astype(np.float64)

    def depth(self) -> int:
        """Return the largest number of splits between a root and a leaf."""
        return int(self._depths_and_visits()[0].max(initial=0))

    def _depths_and_visits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each node from its root, and how many nodes lead to it."""
        depths, visits = np.empty((2, self.features_.size), dtype=np.int64)
        _native.rankers.tree_depths(self.features_, self.left_, self.right_, depths, visits)
        return depths, visits

    def check_loaded(self) -> None:
        """Reject arrays that are not trees: every path must end in a leaf of its tree, by features that exist."""
        for name, dtype in {"starts_": np.int64, **self._of_nodes}.items():
            check_vector(self, name, dtype)
        starts, n_nodes = self.starts_, self.features_.size
        if not starts.size or starts[0] != 0 or starts[-1] != n_nodes or (np.diff(starts) < 1).any():
            raise ValueError("starts_ must rise from 0 to the number of nodes.")
        if any(getattr(self, name).size != n_nodes for name in self._of_nodes):
            raise ValueError("trees must have as many thresholds, children, values, counts and gains as nodes.")
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


@models.register
class ZeroTrees(FlatTrees):
    """A sum of regression trees in which every split has a branch for 0, independent of the threshold.

    XGBoost grows such trees on sparse rows, where it takes a 0 as missing. A number that single precision rounds to 0
    counts as 0.

    Attributes
    ----------
    zeros_left_ : ndarray of bool, of shape (n_nodes,)
        Whether a row whose feature is 0 goes left.
    """

    _of_nodes: ClassVar[dict[str, Any]] = {**FlatTrees._of_nodes, "zeros_left_": np.bool_}

    zeros_left_: np.ndarray

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return (*super()._arrays, self.zeros_left_)

    def _add_dense(self, X: np.ndarray, scores: np.ndarray) -> None:
        _native.rankers.zero_tree_scores(X, *self._arrays, scores)

    def _add_sparse(self, *rows_and_scores: Any) -> None:
        *rows, scores = rows_and_scores
        _native.rankers.zero_tree_scores_sparse(*rows, *self._arrays, scores)
