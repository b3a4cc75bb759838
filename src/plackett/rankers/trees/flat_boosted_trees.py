"""What rankers by boosted trees share once the trees are arrays: scores, importances, explanations, files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._optional import import_optional
from plackett.data.queries import Queries
from plackett.explain.rows import needed_lists
from plackett.rankers.trees.boosted_trees import BoostedTrees
from plackett.rankers.trees.flat_trees import FlatTrees
from plackett.rankers.trees.lightgbm_text import write_trees
from plackett.validation import check_choice, feature_labels, is_sparse

DEEPEST = 1000  # trees that are explained: a way of n nodes takes n² numbers
CELLS_AT_ONCE = 10_000_000  # that are explained together


class FlatBoostedTrees(BoostedTrees):
    """A ranker by boosted trees that are kept as arrays: predicting and loading need not the package that grew them.

    Attributes
    ----------
    trees_ : FlatTrees
        Those that are used.
    intercept_ : float
        Added to what the trees say.
    """

    trees_: FlatTrees
    intercept_: float

    def _scores(self, queries: Queries, base: np.ndarray | None) -> np.ndarray:
        return self.trees_.predict(queries.X, self.intercept_ if base is None else base)

    # --- What the trees say -------------------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> np.ndarray:
        """Each feature's share of what all splits have gained; they sum to 1 if there is a split."""
        gains = self.importances("gain")
        return gains / (gains.sum() or 1.0)

    def importances(self, kind: str = "gain") -> np.ndarray:
        """What the splits by each feature have gained (``"gain"``), or how many there are (``"split"``)."""
        check_is_fitted(self)
        check_choice(kind, "kind", ("gain", "split"))
        return self.trees_.importances(kind)

    def to_lightgbm(self) -> Any:
        """A ``lightgbm.Booster`` with the same trees, without ``intercept_`` and base scores."""
        check_is_fitted(self)
        lightgbm = import_optional("lightgbm", extra="trees", needed_for=f"Explaining {type(self).__name__}")
        return lightgbm.Booster(model_str=write_trees(self.trees_))

    def explain(self, X: Any, *, qid: Any = None, rows: Any = None, docid: Any = None) -> Any:
        """What each feature adds to each document's score, relative to the mean of its list.

        These are LightGBM's contributions (the Shapley values of the trees) less their mean over the list, so that the
        contributions of a document sum to its score less its list's mean score. LightGBM must be installed.

        Parameters
        ----------
        X, qid : as in ``predict``
        rows : array-like of ints, default=None
            Rows to explain; None explains all.
        docid : array-like, default=None
            Names of the documents, to show instead of row numbers.

        Returns
        -------
        Explanation
            As that of ``LinearRanker.explain``.
        """
        return self._explained(X, qid, rows, docid)

    def _explained(self, X: Any, qid: Any, rows: Any, docid: Any, base_score: Any = None) -> Any:
        from plackett.explain.explanation import explain_additive

        check_is_fitted(self)
        if isinstance(X, Queries) and docid is None:
            docid = X.docid
        queries = self._check_queries(X, None, qid, needs_labels=False)
        base = self._start_of(X, qid, queries, base_score)
        needed = needed_lists(queries, rows, docid)
        base = None if base is None else base[needed.places]
        some = needed.queries
        names = feature_labels(some.n_features, self.feature_labels)
        parts, given, names = self._with_base(self._contributions(some.X), some.X, names, base, base_score)
        return explain_additive(
            parts, given, some.qid, scores=self._scores(some, base),
            rows=needed.rows, numbers=needed.numbers, feature_names=names, docid=needed.docid,
        )  # fmt: skip

    def _with_base(
        self, parts: np.ndarray, given: Any, names: list[str], base: np.ndarray | None, base_score: Any
    ) -> tuple[np.ndarray, Any, list[str]]:
        """The contributions, features and their names, with those of base scores where there are some."""
        return parts, given, names

    def _contributions(self, X: Any) -> np.ndarray:
        """LightGBM's contributions to the score of each row."""
        parts = np.zeros(X.shape)
        if self.trees_.depth() > DEEPEST:
            raise ValueError(f"the trees are more than {DEEPEST:,} splits deep; such ways are not explained.")
        if self.trees_.depth() == 0:
            return parts
        booster, at_once = self.to_lightgbm(), max(1, CELLS_AT_ONCE // X.shape[1])
        for first in range(0, X.shape[0], at_once):
            some = slice(first, first + at_once)
            rows = X[some].toarray() if is_sparse(X) else X[some]
            parts[some] = booster.predict(rows, pred_contrib=True, num_threads=self._n_threads)[:, :-1]
        return parts

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super().check_loaded()
        self._check_other_params()
        if not isinstance(getattr(self, "trees_", None), FlatTrees) or self.trees_.n_features_ != self.n_features_in_:
            raise ValueError(f"trees_ must be trees over {self.n_features_in_} features.")
        if type(self.intercept_) is not float or not np.isfinite(self.intercept_):
            raise ValueError("intercept_ must be a finite number.")
