"""Sums of regression trees as plain arrays.

Model files hold these arrays, which are checked when they are loaded. Predicting needs no other package.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from plackett import _native
from plackett._arrays import bounds
from plackett._threads import map_blocks
from plackett.scorers.tree_bitmaps import TreeBitmaps
from plackett.storage.models.array_checks import check_vector
from plackett.storage.models.registry import register
from plackett.validation import is_sparse

LEAF = -1
NUMBER, ZERO_IS_MISSING, CATEGORY = range(3)  # kinds of splits, as in the kernels
LARGEST = float(np.finfo(np.float64).max)  # as a threshold: only missing values go right
LARGEST_COUNT = 2**31 - 1  # limit of LightGBM
ROWS_PER_BLOCK = 4096
MOST_FEATURES = 2**31 - 1  # limit of the kernels
FEW_ROWS = 8  # for which following the paths one by one is faster than bitmaps of all splits
SPLITS_PER_ROW = 4  # of a tree, above which that is so for any number of rows
ROWS_PER_BITMAP = 256


def code_words(codes: np.ndarray) -> np.ndarray:
    """Return a set of category codes as the words of ``FlatTrees.sets_``."""
    words = np.zeros(int(codes.max(initial=-1)) // 32 + 1, dtype=np.uint32)
    np.bitwise_or.at(words, codes // 32, np.left_shift(np.uint32(1), (codes % 32).astype(np.uint32)))
    return words


@register
class FlatTrees:
    """A sum of regression trees over numbers, missing values (NaN) and category codes.

    The object is immutable: methods that change the trees return new ones.

    Attributes
    ----------
    starts_ : ndarray of shape (n_trees + 1,)
        Tree ``t`` owns nodes ``starts_[t]:starts_[t + 1]``, the first of which is its root.
    features_, thresholds_ : ndarray of shape (n_nodes,)
        A row goes left if ``x[feature] <= threshold``; the feature of a leaf is -1.
    missing_left_ : ndarray of bool, of shape (n_nodes,)
        Whether a row goes left if ``x[feature]`` is missing.
    kinds_ : ndarray of uint8, of shape (n_nodes,), or empty
        Where a split is not the comparison above: ``ZERO_IS_MISSING`` also treats 0 as missing, for any
        threshold. ``CATEGORY`` goes left if the code ``x[feature]`` is in the set whose number is the threshold.
    set_starts_, sets_ : ndarray
        Code ``c`` is in set ``s`` if bit ``c % 32`` of the word ``sets_[set_starts_[s] + c // 32]`` is 1; it is in no
        set if there is no such word.
    zero_width_ : float
        The largest number that ``ZERO_IS_MISSING`` counts as 0.
    left_, right_ : ndarray of shape (n_nodes,)
        The child nodes, with larger numbers.
    values_ : ndarray of shape (n_nodes,)
        What a leaf adds to the score; for other nodes about the mean over their rows, which is not used.
    counts_ : ndarray of shape (n_nodes,)
        Training rows that reached the node; all 0 if this is not known.
    gains_ : ndarray of shape (n_nodes,)
        Gain of the split, 0 for leaves.
    n_features_ : int
        Number of columns of the rows that the trees score.

    Examples
    --------
    >>> from plackett.exporting.forms import form_of
    >>> import plackett as pk
    >>> trees = form_of(pk.RankBoost(n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 1])).trees
    >>> trees
    FlatTrees(1 trees)
    >>> trees.features_, trees.thresholds_.tolist()  # a split and two leaves
    (array([ 0, -1, -1]), [1.5, 0.0, 0.0])
    """

    _of_nodes: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("features_", "left_", "right_", "counts_"), np.int64),
        **dict.fromkeys(("thresholds_", "values_", "gains_"), np.float64),
        "missing_left_": np.bool_,
    }

    starts_: np.ndarray
    features_: np.ndarray
    thresholds_: np.ndarray
    missing_left_: np.ndarray
    kinds_: np.ndarray
    set_starts_: np.ndarray
    sets_: np.ndarray
    zero_width_: float
    left_: np.ndarray
    right_: np.ndarray
    values_: np.ndarray
    counts_: np.ndarray
    gains_: np.ndarray
    n_features_: int

    @classmethod
    def of(cls, trees: Sequence[dict[str, Any]], n_features: int, *, zero_width: float = 0.0) -> FlatTrees:
        """Return the trees, given as dicts of the arrays above without underscores, each with nodes from 0 on.

        Without ``missing_left``, missing values go where a 0 goes; ``counts`` and ``gains`` may be left out. Trees with
        categories have ``sets``, a list with the words of each set; thresholds number the sets of the tree.
        """
        kept, sizes = cls(), [tree["features"].size for tree in trees]
        kept.starts_ = bounds(sizes)
        kept.n_features_, kept.zero_width_ = int(n_features), float(zero_width)
        nothing = [dict.fromkeys(("counts", "gains"), np.zeros(size)) for size in sizes]
        trees = [
            {"missing_left": tree["thresholds"] >= 0.0, **none, **tree}
            for tree, none in zip(trees, nothing, strict=True)
        ]
        for name, dtype in cls._of_nodes.items():
            parts = [tree[name.removesuffix("_")] for tree in trees]
            if name in ("left_", "right_"):
                parts = [part + start for part, start in zip(parts, kept.starts_[:-1], strict=True)]
            setattr(kept, name, np.concatenate([*parts, np.zeros(0)]).astype(dtype))
        kinds = [tree.get("kinds", np.zeros(size)) for tree, size in zip(trees, sizes, strict=True)]
        kept.kinds_ = np.concatenate([*kinds, np.zeros(0)]).astype(np.uint8)
        sets = [tree.get("sets", []) for tree in trees]
        first = np.cumsum([0, *map(len, sets)])[:-1]
        kept.thresholds_[kept.kinds_ == CATEGORY] += np.repeat(first, sizes)[kept.kinds_ == CATEGORY]
        words = [np.asarray(one, dtype=np.uint32) for some in sets for one in some]
        kept.set_starts_ = np.cumsum([0, *(one.size for one in words)], dtype=np.int64)
        kept.sets_ = np.concatenate([*words, np.zeros(0, dtype=np.uint32)])
        if not kept.kinds_.any():
            kept.kinds_ = kept.kinds_[:0]
        return kept

    @classmethod
    def of_stumps(cls, steps: np.ndarray, n_features: int) -> FlatTrees:
        """Return one tree with the leaves 0 and ``weight`` for each record of RankBoost's ``steps_``."""
        trees = [
            {
                "features": np.array([feature, LEAF, LEAF]),
                "thresholds": np.array([threshold, 0.0, 0.0]),
                "left": np.array([1, 0, 0]),
                "right": np.array([2, 0, 0]),
                "values": np.array([0.0, 0.0, weight]),
                "missing_left": np.full(3, default == 0),
            }
            for feature, weight, threshold, default in steps.tolist()
        ]
        return cls.of(trees, n_features)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no parameters; needed for model files."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_bitmaps"}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_trees} trees)" if hasattr(self, "starts_") else f"{type(self).__name__}()"
        )

    def bitmaps(self) -> TreeBitmaps:
        """Return the layout by which lists are scored, computed once."""
        found = self.__dict__.get("_bitmaps")
        if found is None:
            found = self._bitmaps = TreeBitmaps.of(self)
        return found

    @property
    def n_trees(self) -> int:
        return self.starts_.size - 1

    @property
    def has_categories(self) -> bool:
        return bool((self.kinds_ == CATEGORY).any())

    def codes(self, node: int) -> np.ndarray:
        """Return the category codes that go left at a split by category."""
        number = int(self.thresholds_[node])
        words = self.sets_[self.set_starts_[number] : self.set_starts_[number + 1]]
        return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))

    def first(self, n_trees: int) -> FlatTrees:
        """Return the first trees only."""
        n_nodes = int(self.starts_[n_trees])
        of_nodes = {name: getattr(self, name)[:n_nodes] for name in (*self._of_nodes, "kinds_")}
        return self._with(starts_=self.starts_[: n_trees + 1], **of_nodes)

    def times(self, factor: float) -> FlatTrees:
        """Return the trees with scaled leaves."""
        return self._with(values_=self.values_ * factor)

    def with_counts(self, counts: np.ndarray) -> FlatTrees:
        """Return the trees with other counts of rows."""
        return self._with(counts_=counts)

    def _with(self, **changes: Any) -> FlatTrees:
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def counts_of(self, leaves: np.ndarray) -> np.ndarray:
        """Return how often each node is passed on the way to these leaves, plus 1 for each leaf.

        Parameters
        ----------
        leaves : ndarray of shape (n_rows, n_trees)
            Numbers of the leaves of a tree, from 0 on, in the order of its nodes.
        """
        counts = (self.features_ == LEAF).astype(np.int64)
        for tree, (start, stop) in enumerate(pairwise(self.starts_.tolist())):
            places = start + np.flatnonzero(self.features_[start:stop] == LEAF)
            counts[places] += np.bincount(leaves[:, tree].astype(np.int64), minlength=places.size)
        for node in np.flatnonzero(self.features_ != LEAF)[::-1].tolist():
            counts[node] = counts[self.left_[node]] + counts[self.right_[node]]
        return counts

    def with_known_counts(self) -> FlatTrees:
        """Return the trees without counts if those of a split are not those of its two sides, or 0."""
        inner, counts, n_nodes = np.flatnonzero(self.features_ != LEAF), self.counts_, self.features_.size
        sides = self.left_[inner], self.right_[inner]
        if any(side.size and not 0 <= side.min() <= side.max() < n_nodes for side in sides):
            return self  # which is not a tree
        is_sum = counts[inner] == counts[sides[0]] + counts[sides[1]]
        if not is_sum.all() or (counts[inner] < 1).any() or counts.min(initial=0) < 0:
            return self.with_counts(np.zeros_like(counts))
        return self

    def predict(self, X: Any, start: np.ndarray | float = 0.0) -> np.ndarray:
        """Return ``start`` plus the sum over all trees for each row of a checked X."""
        scores = np.full(X.shape[0], start, dtype=np.float64) if np.ndim(start) == 0 else np.array(start)
        blocks = [(first, first + ROWS_PER_BLOCK) for first in range(0, X.shape[0], ROWS_PER_BLOCK)]
        if not is_sparse(X) and self._suits_bitmaps(X.shape[0]):
            bitmaps = self.bitmaps()
            map_blocks(lambda first, last: bitmaps.add(np.ascontiguousarray(X[first:last]), scores[first:last]), blocks)
            return scores
        trees: tuple[Any, ...] = (
            self.starts_, self.features_, self.thresholds_, self.left_, self.right_, self.values_, self.missing_left_
        )  # fmt: skip
        add, add_sparse = _native.rankers.tree_scores, _native.rankers.tree_scores_sparse
        if self.kinds_.size:
            trees += (self.kinds_, self.set_starts_, self.sets_, self.zero_width_)
            add, add_sparse = _native.rankers.any_tree_scores, _native.rankers.any_tree_scores_sparse

        def work(first: int, last: int) -> None:
            if is_sparse(X):
                rows = X.data, X.indices, X.indptr[first : last + 1], X.shape[1]
                add_sparse(*rows, *trees, scores[first:last])
            else:
                add(np.ascontiguousarray(X[first:last]), *trees, scores[first:last])

        map_blocks(work, blocks)
        return scores

    def _suits_bitmaps(self, n_rows: int) -> bool:
        """Return whether these rows are scored faster by bitmaps of all splits than by following paths."""
        n_splits = self.features_.size // 2
        return n_rows > FEW_ROWS and n_splits <= SPLITS_PER_ROW * min(n_rows, ROWS_PER_BITMAP) * max(1, self.n_trees)

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
            raise ValueError("starts_ must increase from 0 to the number of nodes.")
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
            raise ValueError("every node of a tree except its root must have one parent.")
        self._check_kinds()
        counts = self.counts_
        if not counts.any():
            return
        if (counts[inner] != counts[self.left_[inner]] + counts[self.right_[inner]]).any() or (counts[inner] < 1).any():
            raise ValueError("counts_ of a split must be the sum of its two sides, and not 0.")

    def _check_kinds(self) -> None:
        """Reject kinds of splits and sets of codes that the kernels cannot use."""
        for name, dtype in {"kinds_": np.uint8, "set_starts_": np.int64, "sets_": np.uint32}.items():
            check_vector(self, name, dtype)
        starts, kinds = self.set_starts_, self.kinds_
        if not starts.size or starts[0] != 0 or starts[-1] != self.sets_.size or (np.diff(starts) < 0).any():
            raise ValueError("set_starts_ must increase from 0 to the number of words.")
        if kinds.size not in (0, self.features_.size) or kinds.max(initial=NUMBER) > CATEGORY:
            raise ValueError("kinds_ must be empty, or hold the kind of each split.")
        numbers = self.thresholds_[: kinds.size][kinds == CATEGORY]
        if ((numbers < 0) | (numbers >= starts.size - 1) | (numbers != np.floor(numbers))).any():
            raise ValueError("the threshold of a split by category must be the number of a set.")
        if type(self.zero_width_) is not float or not 0.0 <= self.zero_width_ < np.inf:
            raise ValueError("zero_width_ must be a finite number of at least 0.")
