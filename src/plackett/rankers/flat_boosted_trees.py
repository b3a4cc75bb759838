"""What rankers by boosted trees share once the trees are arrays: scores, importances, explanations, files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._optional import import_optional
from plackett.data.queries import Queries
from plackett.rankers.boosted_trees import BoostedTrees
from plackett.rankers.explain_rows import choose_rows
from plackett.rankers.flat_trees import FlatTrees
from plackett.rankers.lightgbm_text import write_trees
from plackett.rankers.linear_scores import in_row_order
from plackett.validation import check_choice, is_sparse

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
        from plackett.rankers.explain import explain_additive

        check_is_fitted(self)
        rows = None if rows is None else list(rows)
        if isinstance(X, Queries) and docid is None:
            docid = X.docid
        queries = self._check_queries(X, None, qid, needs_labels=False)
        base = self._start_of(X, qid, queries, base_score)
        parts = self._contributions(queries.X, _in_lists_of(rows, queries))
        names = self.feature_names_ or [f"column {column}" for column in range(queries.n_features)]
        parts, given, names = self._with_base(parts, queries.X, names, base, base_score)
        return explain_additive(
            in_row_order(queries, parts), in_row_order(queries, given), queries.in_row_order(queries.qid),
            scores=queries.in_row_order(self._scores(queries, base)),
            rows=rows, feature_names=names, docid=docid,
        )  # fmt: skip

    def _with_base(
        self, parts: np.ndarray, given: Any, names: list[str], base: np.ndarray | None, base_score: Any
    ) -> tuple[np.ndarray, Any, list[str]]:
        """The contributions, features and their names, with those of base scores where there are some."""
        return parts, given, names

    def _contributions(self, X: Any, is_needed: np.ndarray) -> np.ndarray:
        """LightGBM's contributions to the scores of the rows that are needed, 0 for others."""
        parts = np.zeros(X.shape)
        if self.trees_.depth() > DEEPEST:
            raise ValueError(f"the trees are more than {DEEPEST:,} splits deep; such ways are not explained.")
        if self.trees_.depth() == 0:
            return parts
        booster, needed = self.to_lightgbm(), np.flatnonzero(is_needed)
        at_once = max(1, CELLS_AT_ONCE // X.shape[1])
        for first in range(0, needed.size, at_once):
            rows = needed[first : first + at_once]
            some = X[rows].toarray() if is_sparse(X) else X[rows]
            parts[rows] = booster.predict(some, pred_contrib=True, num_threads=self._n_threads)[:, :-1]
        return parts

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super()._check_loaded()
        self._check_other_params()
        if not isinstance(getattr(self, "trees_", None), FlatTrees) or self.trees_.n_features_ != self.n_features_in_:
            raise ValueError(f"trees_ must be trees over {self.n_features_in_} features.")
        if type(self.intercept_) is not float or not np.isfinite(self.intercept_):
            raise ValueError("intercept_ must be a finite number.")


def _in_lists_of(rows: Any, queries: Queries) -> np.ndarray:
    """Which of the grouped rows belong to a list with one of ``rows``, as they were given (None: all)."""
    if rows is None:
        return np.ones(queries.n_docs, dtype=bool)
    sizes = np.diff(queries.indptr)
    query_of_row = queries.in_row_order(np.repeat(np.arange(sizes.size), sizes))
    is_chosen = np.zeros(sizes.size, dtype=bool)
    is_chosen[query_of_row[choose_rows(queries.n_docs, None, rows, None).rows]] = True
    return np.repeat(is_chosen, sizes)
