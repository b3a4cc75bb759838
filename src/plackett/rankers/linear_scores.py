"""Base class of rankers with linear scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett import _native
from plackett._lazy import importing
from plackett.data.preprocessing.blocks import scales_queries_separately
from plackett.data.queries import Queries
from plackett.data.query_blocks import values_from
from plackett.rankers.base import Normalized, Prepared, check_loaded_columns
from plackett.scorers.linear import LinearScorer
from plackett.storage.models.array_checks import check_vector

MOST_VALUES = 1 << 17  # largest array that is scored at once, on one thread
KERNEL_TYPES = (np.dtype(np.float64), np.dtype(np.float32))


class LinearScores(Normalized, Prepared):
    """A ranker whose scores are ``X @ coef_ + intercept_``, with X scaled by ``normalizer_`` if there is one."""

    coef_: np.ndarray
    intercept_: float

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        scores = self._scores_of_few(X, qid)
        return super().predict(X, qid=qid) if scores is None else scores

    def _scores_of_few(self, X: Any, qid: Any) -> np.ndarray | None:
        """Return the scores of a small array that needs no conversion and no scaling; None in all other cases.

        For the hundred documents of a search request, the checks of ``predict`` take ten times as long as the scores.
        A feature that is not finite gives a score that is not; ``predict`` then reports its position.
        """
        if type(X) is not np.ndarray or X.ndim != 2 or not 0 < X.size <= MOST_VALUES or not X.flags.carray:
            return None
        if X.dtype not in KERNEL_TYPES or getattr(self, "normalizer_", self) is not None:
            return None
        coef = getattr(self, "coef_", None)  # a kernel ranker has none
        if coef is None or not X.shape[1] == self.n_features_in_ == coef.size or hasattr(self, "feature_names_in_"):
            return None
        if getattr(self, "encoder_", None) is not None or self.n_prepared != X.shape[1]:
            return None
        if qid is not None and not (type(qid) is np.ndarray and qid.dtype.kind in "iu" and qid.shape == X.shape[:1]):
            return None
        scores = np.empty(X.shape[0])
        _native.scorers.score(X, np.append(coef, self.intercept_), scores)
        return scores if np.isfinite(scores).all() else None

    def _explanation(self, needed: Any, base: np.ndarray | None) -> Any:
        with importing:
            from plackett.explain.additive import explain_linear

        names = self._names_of_columns(self.coef_.size)
        scaled = self._normalized(needed.queries).X
        return explain_linear(self.coef_, scaled, feature_names=names, intercept=self.intercept_, **needed.named())

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        is_by_query = self.normalizer_ is not None and scales_queries_separately(self.normalizer_)
        scores = values_from(queries, self._linear_scores) if is_by_query else self._linear_scores(queries)
        return self._check_scores(scores, queries)

    def _linear_scores(self, queries: Queries) -> np.ndarray:
        scorer = LinearScorer(self._normalized(queries).X, has_intercept=True)
        return scorer.scores(np.append(self.coef_, self.intercept_))

    def check_loaded(self) -> None:
        """Reject attributes of a file that no fit produces."""
        super().check_loaded()
        check_vector(self, "coef_")
        intercept = getattr(self, "intercept_", None)
        if not isinstance(intercept, float) or not np.isfinite(intercept):
            raise ValueError("intercept_ must be a finite number.")
        check_loaded_columns(self, self.coef_.size)
