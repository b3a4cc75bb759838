"""Base class of rankers with linear scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.preprocessing.blocks import scales_queries_separately
from plackett.data.queries import Queries
from plackett.data.query_blocks import values_from
from plackett.rankers.base import Normalized, Prepared
from plackett.scorers.models import Linear


class LinearScores(Normalized, Prepared):
    """A ranker whose scores are ``X @ coef_ + intercept_``, with X scaled by ``normalizer_`` if there is one."""

    model_of: ClassVar[Any] = Linear.of

    coef_: np.ndarray
    intercept_: float

    def _explanation(self, needed: Any, base: np.ndarray | None) -> Any:
        with importing:
            from plackett.explain.additive import explain_linear

        names = self._names_of_columns(self.coef_.size)
        scaled = self._normalized(needed.queries).X
        return explain_linear(self.coef_, scaled, feature_names=names, intercept=self.intercept_, **needed.named())

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        is_by_query = self.normalizer_ is not None and scales_queries_separately(self.normalizer_)

        def scores_of(part: Queries) -> np.ndarray:
            X = self._normalized(part).X
            return self.model_of(self, X.shape[1])(X)

        return self._check_scores(values_from(queries, scores_of) if is_by_query else scores_of(queries), queries)
