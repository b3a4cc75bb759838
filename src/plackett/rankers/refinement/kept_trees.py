"""Decision trees as plain arrays, for model files: compiled ones trust what they read, so that none is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from plackett.storage import models
from plackett.storage.models.checks import check_vector

LEAF = -1


@models.register
class KeptTree(BaseEstimator):
    """A fitted decision tree of scikit-learn that predicts what it predicted, and nothing else.

    Attributes
    ----------
    features_, thresholds_ : ndarray of shape (n_nodes,)
        A row goes left where ``x[feature] <= threshold``, x in single precision; the feature of a leaf is -1.
    left_, right_ : ndarray of shape (n_nodes,)
        The next nodes, of larger numbers.
    classes_ : ndarray of shape (n_nodes,)
        The class of the rows that end in a leaf.
    """

    features_: np.ndarray
    thresholds_: np.ndarray
    left_: np.ndarray
    right_: np.ndarray
    classes_: np.ndarray

    @classmethod
    def of(cls, classifier: Any) -> KeptTree:
        """The same tree as that of a fitted classifier."""
        tree, kept = classifier.tree_, cls()
        is_leaf = tree.children_left < 0
        kept.features_ = np.where(is_leaf, LEAF, tree.feature).astype(np.int64)
        kept.thresholds_ = np.where(is_leaf, 0.0, tree.threshold)
        kept.left_, kept.right_ = (side.astype(np.int64) for side in (tree.children_left, tree.children_right))
        kept.classes_ = classifier.classes_[tree.value[:, 0, :].argmax(axis=1)].astype(np.int64)
        return kept

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        rows = np.asarray(X, dtype=np.float32)
        node, on_the_way = np.zeros(rows.shape[0], dtype=np.int64), np.arange(rows.shape[0])
        while True:
            on_the_way = on_the_way[self.features_[node[on_the_way]] != LEAF]
            if not on_the_way.size:
                return self.classes_[node]
            here = node[on_the_way]
            goes_left = rows[on_the_way, self.features_[here]] <= self.thresholds_[here]
            node[on_the_way] = np.where(goes_left, self.left_[here], self.right_[here])

    def check_loaded(self) -> None:
        """Refuse what is no tree: every way must end."""
        for name in ("features_", "left_", "right_", "classes_"):
            check_vector(self, name, np.int64)
        check_vector(self, "thresholds_")
        n_nodes = self.features_.size
        others = (self.thresholds_, self.left_, self.right_, self.classes_)
        if not n_nodes or any(vector.size != n_nodes for vector in others):
            raise ValueError("a tree must have as many thresholds, ways and classes as nodes, and at least one.")
        inner = np.flatnonzero(self.features_ != LEAF)
        for side in (self.left_, self.right_):
            if (side[inner] <= inner).any() or (side[inner] >= n_nodes).any():
                raise ValueError("the nodes of a tree must lead to later ones.")
        if self.features_.min() < LEAF:
            raise ValueError("the features of a tree must be columns.")


def as_kept(classifier: Any) -> Any:
    """What a model file can hold in place of a fitted classifier: a tree as arrays, others as they are."""
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier  # here, for it takes long to import

    return KeptTree.of(classifier) if type(classifier) in (DecisionTreeClassifier, ExtraTreeClassifier) else classifier
