"""What a score must beat to mean anything: a random order, and the best single feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.table import mean_of_counted
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.validation import check_csr, feature_label, is_sparse

RANDOM_ORDER, BEST_FEATURE = "random order", "best feature"
PASSES = 64  # over X, at most, to look at every column; their inverse is the share of X that is copied, or twice that


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
        return self.scores_of(_columns(queries.X, self.column, self.column + 1)[0].astype(np.float64))

    def scores_of(self, feature: np.ndarray) -> np.ndarray:
        """As ``scores``, from the feature's values."""
        scores = self.sign * feature
        scores[np.isnan(feature)] = -np.inf
        return scores

    def in_words(self, queries: Queries) -> str:
        label = feature_label(self.column, queries.feature_names, queries.first_index)
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
    for column, feature in _every_column(queries.X):
        for sign in (1.0, -1.0):
            scores = SingleFeature(column, sign, np.nan).scores_of(feature)
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
    return means, {name: feature.in_words(queries) for name, feature in features.items()}


def _every_column(X) -> Iterator[tuple[int, np.ndarray]]:
    """Columns and their numbers. Several are gathered at once, because reading one row by row touches all of X."""
    check_csr(X)  # it may have been changed since the queries were made of it
    step = max(1, X.shape[1] // PASSES)
    for first in range(0, X.shape[1], step):
        for column, values in enumerate(_columns(X, first, min(first + step, X.shape[1])), first):
            yield column, values.astype(np.float64)


def _columns(X, first: int, last: int) -> np.ndarray:
    """Columns ``first`` to ``last`` (exclusive), one after the other."""
    block = X[:, list(range(first, last))].toarray() if is_sparse(X) else X[:, first:last]
    return np.ascontiguousarray(block.T)
