"""What targets are written from if a ranker's score is a sum of trees over the raw features, or why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.exports.form import checked_names
from plackett.exports.tree_nodes import LEAF, Nodes
from plackett.rankers.boosting.rankboost import RankBoost
from plackett.rankers.trees.flat_boosted_trees import FlatBoostedTrees
from plackett.rankers.trees.flat_trees import FlatTrees
from plackett.rankers.trees.lightgbm_trees import LightGBMTrees
from plackett.rankers.trees.other_trees import XGBoostRanker
from plackett.rankers.trees.zero_trees import ZeroTrees
from plackett.validation import feature_number


@dataclass(frozen=True)
class TreeForm:
    """A score ``intercept + Σ_t tree_t(x)`` of the raw features x.

    Attributes
    ----------
    trees : FlatTrees
        A row goes left where ``x[feature] <= threshold``, in double precision.
    intercept : float
    names : list of str or None
        Of the features, in the order of the columns.
    ranker : str
        Name of the ranker's class.
    first_index : int or None
        The number of the first feature in the file that the ranker was fitted to; None for arrays.
    """

    trees: FlatTrees
    intercept: float
    names: list[str] | None
    ranker: str
    first_index: int | None = None

    @property
    def n_features(self) -> int:
        return self.trees.n_features_

    def call(self, feature: int) -> str:
        """What to call a feature in a message."""
        return feature_number(feature, self.first_index) if self.names is None else f"feature {self.names[feature]!r}"

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The formula, in float64."""
        return self.trees.predict(X, self.intercept)

    def nodes(self) -> Nodes:
        """All trees in float64; an intercept, or that there is no tree at all, is one leaf before them."""
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
        )

    def lost(self, feature: int, values: np.ndarray, rounded: np.ndarray) -> float:
        """The share of rows that change sides of a threshold when the values of a feature are rounded."""
        thresholds = np.sort(self.trees.thresholds_[self.trees.features_ == feature])
        return float(np.mean(np.searchsorted(thresholds, values) != np.searchsorted(thresholds, rounded)))

    def advice(self, feature: int) -> str:
        """What to do about such rows."""
        return (
            f"Its values are read as float32, in which those of {self.call(feature)} cross thresholds most often: "
            "train and check with rows that are float32. "
        )


def is_made_of_trees(ranker: Any) -> bool:
    """Whether ``tree_form`` is the one to ask about a ranker."""
    return isinstance(ranker, FlatBoostedTrees | RankBoost)


def tree_form(ranker: Any, feature_names: Sequence[str] | None = None) -> TreeForm:
    """The trees of a fitted ranker.

    Parameters
    ----------
    ranker : TreeRanker, LightGBMRanker, XGBoostRanker or RankBoost
        Trees without ``base_score``; XGBoost's of dense rows; RankBoost, whose thresholds are trees of one split,
        without ``normalize``.
    feature_names : sequence of str, default=None
        In the order of the columns; None takes the names of the data that the ranker was fitted to, if they had any.

    Returns
    -------
    TreeForm

    Raises
    ------
    ValueError
        If the score is not a sum of trees over the raw features; the message says why.

    Examples
    --------
    >>> import plackett as pk
    >>> ranker = pk.RankBoost(n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    >>> form = tree_form(ranker)
    >>> float(form.trees.thresholds_[0]), form.trees.n_trees
    (1.5, 1)
    """
    check_is_fitted(ranker)
    name = type(ranker).__name__
    parent: type = next((kind for kind in (LightGBMTrees, XGBoostRanker) if isinstance(ranker, kind)), RankBoost)
    scoring = ("predict", "_predict_grouped", "contribution" if parent is RankBoost else "_scores")
    if any(getattr(type(ranker), method) is not getattr(parent, method) for method in scoring):
        raise ValueError(f"{name} cannot be exported: its scores are not known to be sums of trees.")
    trees = _stumps(ranker) if parent is RankBoost else ranker.trees_
    if getattr(ranker, "has_base_", False):
        raise ValueError(
            f"this {name} cannot be exported: it was fitted with a base_score, to which its trees only add. Fit it "
            "without one."
        )
    if isinstance(trees, ZeroTrees):
        raise ValueError(
            f"this {name} cannot be exported: it was fitted on sparse rows, in which XGBoost takes every 0 as missing, "
            "and some splits send a 0 another way than the numbers around it. Fit it on dense rows."
        )
    names = ranker.feature_names_ if feature_names is None else feature_names
    return TreeForm(
        trees,
        float(getattr(ranker, "intercept_", 0.0)),
        None if names is None else checked_names(names, trees.n_features_),
        name,
        getattr(ranker, "first_index_", None),
    )


def _stumps(ranker: RankBoost) -> FlatTrees:
    """The rounds of a RankBoost as trees with two leaves, 0 and α."""
    if ranker.normalizer_ is not None:
        raise ValueError(
            f"{type(ranker).__name__} with normalize={ranker.normalize!r} cannot be exported: its thresholds are of "
            "scaled columns. Fit it without normalize: scaling over all rows makes no difference to it."
        )
    nothing = np.zeros(3)
    rounds = zip(ranker.features_, ranker.thresholds_, ranker.alphas_, strict=True)
    trees = [
        {
            "features": np.array([feature, LEAF, LEAF]),
            "thresholds": np.array([threshold, 0.0, 0.0]),
            "left": np.array([1, 0, 0]),
            "right": np.array([2, 0, 0]),
            "values": np.array([0.0, 0.0, alpha]),
            "counts": nothing,
            "gains": nothing,
        }
        for feature, threshold, alpha in rounds
    ]
    return FlatTrees.of(trees, ranker.n_features_in_)
