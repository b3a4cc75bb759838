"""Rankers whose score is a sum of trees over the raw features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett import _native
from plackett.exporting.forms.inputs import Inputs, model_names
from plackett.exporting.forms.linear import checked_names
from plackett.rankers.boosting.rankboost import RankBoost
from plackett.rankers.imported.rankers import ImportedTrees
from plackett.rankers.trees.ranker import TreeRanker
from plackett.rankers.trees.xgboost import XGBoostRanker
from plackett.scorers.trees import CATEGORY, ZERO_IS_MISSING, FlatTrees
from plackett.validation import feature_number

LEAF = -1


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


@dataclass(frozen=True)
class TreeForm:
    """A score ``intercept + Σ_t tree_t(x)`` of the raw features x.

    Attributes
    ----------
    trees : FlatTrees
        A row goes left where ``x[feature] <= threshold``, in double precision.
    intercept : float
        The constant of the score.
    names : list of str or None
        Of the features, in the order of the columns.
    ranker : str
        Name of the ranker's class.
    first_index : int or None
        Number of the first feature in the training file; None for arrays.
    has_missing : bool
        Whether splits have learned where missing values go.
    categories : dict of int to ndarray of str, or None
        Names of the codes of columns that hold categories.
    inputs : Inputs or None
        As in ``LinearForm``.

    Examples
    --------
    >>> from plackett.exporting.forms.trees import tree_form
    >>> import plackett as pk
    >>> form = tree_form(pk.RankBoost(n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 1]), ["bm25"])
    >>> form.names, form.trees.n_trees, form.ranker
    (['bm25'], 1, 'RankBoost')
    """

    trees: FlatTrees
    intercept: float
    names: list[str] | None
    ranker: str
    first_index: int | None = None
    has_missing: bool = False
    categories: dict[int, np.ndarray] | None = None
    inputs: Inputs | None = None

    @property
    def n_features(self) -> int:
        return self.trees.n_features_

    def label(self, feature: int) -> str:
        """Return the name of a feature in messages."""
        return feature_number(feature, self.first_index) if self.names is None else f"feature {self.names[feature]!r}"

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows by the formula, in float64."""
        return self.trees.predict(X, self.intercept)

    def nodes(self) -> Nodes:
        """Return all trees in float64, after a tree of one leaf if there is an intercept or no tree."""
        trees, first = self.trees, int(self.intercept != 0.0 or self.trees.n_trees == 0)
        constant = np.full(first, self.intercept)
        nothing = np.zeros(first)
        return Nodes(
            np.concatenate([np.zeros(first, dtype=np.int64), trees.starts_ + first]),
            np.concatenate([np.full(first, LEAF), trees.features_]),
            np.concatenate([nothing, trees.thresholds_]),
            np.concatenate([nothing, trees.left_ + first]).astype(np.int64),
            np.concatenate([nothing, trees.right_ + first]).astype(np.int64),
            np.concatenate([constant, trees.values_]),
            np.concatenate([nothing, trees.missing_left_]).astype(bool),
        )

    def check_kinds(self, target: str) -> None:
        """Raise if the target compares numbers only, and the trees split by categories or treat 0 as missing."""
        if (self.trees.kinds_ == CATEGORY).any():
            feature = int(self.trees.features_[self.trees.kinds_ == CATEGORY][0])
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}, which compares numbers only: it splits by the "
                f"categories of {self.label(feature)}. Export to json, or train it on numbers."
            )
        if (self.trees.kinds_ == ZERO_IS_MISSING).any():
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}: it treats every 0 as missing, as XGBoost does "
                "with sparse rows, and some splits send 0 to another side than the numbers around it. Export to json, "
                "or fit it on dense rows."
            )

    def check_missing(self, target: str) -> None:
        """Raise if the target reads missing values as 0, and the trees have learned to send them elsewhere."""
        self.check_kinds(target)
        trees = self.trees
        is_apart = (trees.features_ != LEAF) & (trees.missing_left_ != (trees.thresholds_ >= 0.0))
        if self.has_missing and is_apart.any():
            feature = int(trees.features_[is_apart][0])
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}, which reads missing values as 0: it was trained "
                f"with missing values and sends those of {self.label(feature)} to another side than 0. Export to json "
                "or onnx, or fill missing values with 0 before training."
            )


def tree_form(ranker: Any, feature_names: Sequence[str] | None = None) -> TreeForm:
    """Return the trees of a fitted ranker.

    Parameters
    ----------
    ranker : TreeRanker, XGBoostRanker or RankBoost
        Trees without ``base_score``; RankBoost, whose thresholds are trees of one split, without ``normalize``.
    feature_names : sequence of str, default=None
        In the order of the columns; None uses the names of the training data, if it has any.

    Returns
    -------
    TreeForm

    Raises
    ------
    ValueError
        If the score is not a sum of trees over the raw features; the message says why.

    Examples
    --------
    >>> from plackett.exporting.forms.trees import tree_form
    >>> import plackett as pk
    >>> ranker = pk.RankBoost(n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> form = tree_form(ranker)
    >>> float(form.trees.thresholds_[0]), form.trees.n_trees
    (1.5, 1)
    """
    check_is_fitted(ranker)
    name = type(ranker).__name__
    kinds = (TreeRanker, XGBoostRanker, ImportedTrees)
    parent: type = next((kind for kind in kinds if isinstance(ranker, kind)), RankBoost)
    if not ranker.predicts_as(parent):
        raise ValueError(f"{name} cannot be exported: its scores are not known to be sums of trees.")
    trees = _stumps(ranker) if parent is RankBoost else ranker.scaled_trees()
    if getattr(ranker, "has_base_", False):
        raise ValueError(
            f"this {name} cannot be exported: it was fitted with a base_score, to which its trees only add. Fit it "
            "without one."
        )
    names = model_names(ranker, feature_names)
    return TreeForm(
        trees,
        float(getattr(ranker, "intercept_", 0.0)),
        None if names is None else checked_names(names, trees.n_features_),
        name,
        getattr(ranker, "first_index_", None),
        getattr(ranker, "has_missing_", False),
        getattr(ranker, "categories_", None) if ranker.takes_categories else None,
    )


def _stumps(ranker: RankBoost) -> FlatTrees:
    """Return the rounds of a RankBoost as trees with two leaves, 0 and α."""
    if ranker.normalizer_ is not None:
        raise ValueError(
            f"{type(ranker).__name__} with normalize={ranker.normalize!r} cannot be exported: its thresholds are "
            "on scaled columns. Fit it without normalize: scaling over all rows does not change its ranking."
        )
    return FlatTrees.of_stumps(ranker.steps_, ranker.n_columns_)
