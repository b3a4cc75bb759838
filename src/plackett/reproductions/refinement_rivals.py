"""What refinement is compared with in its reproduction: RankSVM on the judged documents, and no learning at all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from plackett.data.preprocessing.scaling import QueryZScore
from plackett.data.queries import Queries
from plackett.rankers.linear.ranker import LinearRanker
from plackett.rankers.refinement.base_score import as_base_score
from plackett.rankers.refinement.kept_judgements import pin_judged


class JudgedSorted(BaseEstimator):
    """Learns nothing: what was judged relevant first, what was judged not last, and the base ranking between them."""

    scores_: np.ndarray

    def fit(self, queries: Queries, judgements: np.ndarray, *, base_score: Any) -> JudgedSorted:
        self.scores_ = pin_judged(as_base_score(base_score, queries), judgements, qid=queries.qid)
        return self


class RankSVMOfList(BaseEstimator):
    """RankSVM of each list on its judged documents alone, the base score one more feature.

    Features are z-scores within the list. Where no two judged documents differ, the base ranking stays.
    """

    scores_: np.ndarray

    def __init__(self, l2: float = 0.1):
        self.l2 = l2

    def fit(self, queries: Queries, judgements: np.ndarray, *, base_score: Any) -> RankSVMOfList:
        base = as_base_score(base_score, queries)
        rows = queries.X.toarray() if hasattr(queries.X, "toarray") else np.asarray(queries.X)
        features = QueryZScore().fit_transform(np.column_stack([rows, base]), qid=queries.qid)
        self.scores_ = base.astype(float)
        for first, last in pairwise(queries.indptr):
            own, told = features[first:last], judgements[first:last]
            is_judged = ~np.isnan(told)
            if np.unique(told[is_judged]).size > 1:
                svm = LinearRanker(loss="hinge", l2=self.l2).fit(own[is_judged], told[is_judged])
                self.scores_[first:last] = svm.predict(own)
        return self
