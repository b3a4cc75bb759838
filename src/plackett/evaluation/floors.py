"""What a score must beat to mean anything: a random order, and the best single feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.table import mean_of_counted
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.validation import is_sparse

RANDOM_ORDER, BEST_FEATURE = "random order", "best feature"


def random_values(measures: list[Measure], lists: JudgedLists, convention: Convention) -> np.ndarray:
    """The expected value of each query and measure under a random order, exactly.

    When all scores are equal, the expectation over the orders of tied documents is the one over all orders.
    """
    flat = lists.with_scores(np.zeros_like(lists.scores))
    return convention.table(measures, flat, ties="average")[0]


def random_floor(
    measures: list[Measure], names: list[str], lists: JudgedLists, convention: Convention
) -> dict[str, float]:
    """The expected value of each measure under a random order, exactly."""
    values = random_values(measures, lists, convention)
    return {name: mean_of_counted(values[:, column]) for column, name in enumerate(names)}


class SingleFeature(NamedTuple):
    """Documents in the order of one feature: falling where ``sign`` is 1, rising where it is -1."""

    column: int
    sign: float
    mean: float

    def scores(self, queries: Queries) -> np.ndarray:
        """Scores that put documents in this order; a missing value ranks last."""
        feature = _column(queries.X, self.column)
        return np.where(np.isnan(feature), -np.inf, self.sign * feature)

    def in_words(self, feature_names: list[str] | None) -> str:
        label = f"column {self.column}" if feature_names is None else feature_names[self.column]
        return f"{label} ({'falling' if self.sign > 0 else 'rising'})"


def best_single_features(
    measures: list[Measure], lists: JudgedLists, convention: Convention, queries: Queries
) -> list[SingleFeature]:
    """For each measure the feature, rising or falling, that ranks these queries best.

    Equal values count with the expectation over their orders, whatever the convention: otherwise a constant feature
    would profit from a file that lists the best documents first, and have a perfect Kendall distance. A missing value
    ranks last. Equal features are settled by their number, falling before rising.
    """
    best: list[SingleFeature | None] = [None] * len(measures)
    for column in range(queries.n_features):
        for sign in (1.0, -1.0):
            scores = SingleFeature(column, sign, np.nan).scores(queries)
            values, _ = convention.table(measures, lists.with_scores(scores), ties="average")
            for place, measure in enumerate(measures):
                value, so_far = mean_of_counted(values[:, place]), best[place]
                if so_far is None or (value > so_far.mean if measure.higher_is_better else value < so_far.mean):
                    best[place] = SingleFeature(column, sign, value)
    return [one for one in best if one is not None]


def best_feature_floor(
    measures: list[Measure], names: list[str], lists: JudgedLists, convention: Convention, queries: Queries
) -> tuple[dict[str, float], dict[str, str]]:
    """The best mean of each measure when documents are ranked by one feature, and that feature."""
    features = dict(zip(names, best_single_features(measures, lists, convention, queries), strict=False))
    means = {name: feature.mean for name, feature in features.items()}
    return means, {name: feature.in_words(queries.feature_names) for name, feature in features.items()}


def _column(X, column: int) -> np.ndarray:
    if is_sparse(X):
        return np.asarray(X[:, [column]].toarray(), dtype=np.float64).reshape(-1)
    return np.asarray(X[:, column], dtype=np.float64)
