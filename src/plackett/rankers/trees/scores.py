"""Base class of rankers whose scores are sums of flat trees: scores, importances and explanations."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._arrays import dense
from plackett._lazy import importing
from plackett._optional import import_optional
from plackett._threads import n_threads
from plackett.data.queries import Queries
from plackett.formats.lightgbm import missing_code, write_trees
from plackett.rankers.base import Ranker
from plackett.scorers.trees import CATEGORY, FlatTrees
from plackett.validation import check_choice, feature_labels, is_sparse

DEEPEST = 1000  # splits of a tree that is explained: a path of n nodes takes n² numbers
CELLS_AT_ONCE = 10_000_000  # explained together


class TreeScores(Ranker):
    """A ranker whose scores are ``intercept_`` plus the sum of ``trees_``, kept as arrays.

    ``has_missing_`` says whether splits have learned where missing values go.
    """

    _scoring_methods: ClassVar[tuple[str, ...]] = (*Ranker._scoring_methods, "_scores")

    takes_missing: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = True

    model_of: ClassVar[Any]

    trees_: FlatTrees
    intercept_: float
    has_missing_: bool
    base_column_: int | None = None

    def scaled_trees(self) -> FlatTrees:
        """Return the trees whose sum, and ``intercept_``, are the score up to rounding."""
        return self.trees_

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        return self._scores(queries, None)

    def _scores(self, queries: Queries, base: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        return self.model_of(self, queries.n_features)(queries.X, start=base)

    def _start_of(self, queries: Queries) -> np.ndarray | None:
        """Return the scores that the trees add to where none are given."""
        return None

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each feature's share of the gain of all splits; they sum to 1 if there is a split."""
        gains = self.importances("gain")
        return gains / (gains.sum() or 1.0)

    def importances(self, kind: str = "gain") -> np.ndarray:
        """Return the total gain of the splits by each feature (``"gain"``), or their number (``"split"``)."""
        check_is_fitted(self)
        check_choice(kind, "kind", ("gain", "split"))
        return self.trees_.importances(kind)

    def to_lightgbm(self) -> Any:
        """Return a ``lightgbm.Booster`` with the same trees, without ``intercept_`` and base scores."""
        check_is_fitted(self)
        return self._booster_of(self.scaled_trees())

    def _booster_of(self, trees: FlatTrees) -> Any:
        lightgbm = import_optional("lightgbm", extra="trees", needed_for=f"Explaining {type(self).__name__}")
        return lightgbm.Booster(model_str=write_trees(trees))

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        start = self._start_of(queries) if base is None else base
        parts, features, names = self._contributions(queries.X), queries.X, self.feature_labels
        if base is not None:
            parts, features = _with_column(parts, base), _with_column(features, base)
            names = [*feature_labels(queries.n_features, names), "base score"]
        elif start is not None:
            parts[:, self.base_column_] += start
        about = {"scores": self._scores(queries, start), "feature_names": names, "categories": self.categories_}
        return parts, features, about

    def _contributions(self, X: Any) -> np.ndarray:
        """Return LightGBM's contributions to the score of each row.

        They depend on how many rows take each side of a split. Where the training rows were not counted, these rows
        are.
        """
        parts = np.zeros(X.shape)
        if self.trees_.depth() > DEEPEST:
            raise ValueError(f"the trees are more than {DEEPEST:,} splits deep, which is too deep to explain.")
        if self.trees_.depth() == 0:
            return parts
        trees, at_once = self.scaled_trees(), max(1, CELLS_AT_ONCE // X.shape[1])
        blocks = [slice(first, first + at_once) for first in range(0, X.shape[0], at_once)]
        if not trees.counts_.any():
            booster = self._booster_of(trees.with_counts(np.ones(trees.features_.size, dtype=np.int64)))
            leaves = [booster.predict(self._rows_for_lightgbm(X[some]), pred_leaf=True) for some in blocks]
            trees = trees.with_counts(trees.counts_of(np.concatenate(leaves).reshape(X.shape[0], -1)))
        booster = self._booster_of(trees)
        for some in blocks:
            rows = self._rows_for_lightgbm(X[some])
            parts[some] = booster.predict(rows, pred_contrib=True, num_threads=n_threads())[:, :-1]
        return parts

    def _rows_for_lightgbm(self, X: Any) -> np.ndarray:
        """Return rows for ``to_lightgbm()``, with a code for missing categories, which some splits send to the left."""
        trees = self.trees_
        X = dense(X)
        if not trees.has_categories:
            return X
        rows, code = np.array(X), missing_code(trees)
        for column in np.unique(trees.features_[trees.kinds_ == CATEGORY]):
            values = rows[:, column]
            rows[:, column] = np.where(np.isnan(values), code, np.where((values >= 0) & (values < code), values, -1))
        return rows


def _with_column(X: Any, column: np.ndarray) -> Any:
    if not is_sparse(X):
        return np.column_stack([X, column])
    with importing:
        from scipy import sparse

    return sparse.hstack([X, column[:, None]], format="csr")
