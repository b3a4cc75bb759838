"""Reference scores for a comparison: a random order, and the best single feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.metrics.conventions import Convention
from plackett.metrics.judged_lists import JudgedLists, mean_of_counted
from plackett.metrics.measure import Measure
from plackett.validation import check_csr, feature_label, is_sparse

RANDOM_ORDER, BEST_FEATURE = "random order", "best feature"
FEW_ORDERS = 4  # of tied documents, for measures of users, which are called for every feature
MAX_PASSES = 64  # over X; at most about 2 / MAX_PASSES of it is copied at a time


def random_values(measures: list[Measure], lists: JudgedLists, convention: Convention) -> np.ndarray:
    """Return the expectation of each query and measure under a random order.

    With equal scores, the expectation over the orders of tied documents is the expectation over all orders. It is exact
    except for users' measures that do not define an expectation: see ``notes_on_sampling``.
    """
    flat = lists.with_scores(np.zeros_like(lists.scores))
    return convention.table(measures, flat, ties="average")[0]


def notes_on_sampling(measures: list[Measure], names: list[str]) -> list[str]:
    """Return a sentence for each measure whose value for a random order is the mean of sampled orders."""
    return [
        f"{RANDOM_ORDER} by {name}: mean of at most {measure.orders} sampled orders of each query"
        for name, measure in zip(names, measures, strict=True)
        if measure.is_sampled
    ]


class SingleFeature(NamedTuple):
    """A ranking by one feature: descending where ``sign`` is 1, ascending where it is -1."""

    column: int
    sign: float
    mean: float

    def scores(self, queries: Queries) -> np.ndarray:
        """Return scores for this order; missing values rank last."""
        return self.scores_of(_columns(queries.X, self.column, self.column + 1)[0])

    def scores_of(self, feature: np.ndarray) -> np.ndarray:
        """Return scores for this order from the values of the feature."""
        scores = self.sign * feature
        scores[np.isnan(feature)] = -np.inf
        return scores

    def in_words(self, queries: Queries) -> str:
        label = feature_label(self.column, queries.feature_names, queries.first_index)
        return f"{label} ({'descending' if self.sign > 0 else 'ascending'})"


def best_single_features(
    measures: list[Measure], lists: JudgedLists, convention: Convention, queries: Queries
) -> list[SingleFeature]:
    """Return for each measure the feature, ascending or descending, that ranks these queries best.

    Ties count with the expectation over their orders under every convention. Otherwise a constant feature would benefit
    from a file that lists the best documents first, and would have a perfect Kendall distance. Missing values rank
    last, and categories, whose codes have no order, do not count. Of equally good features the first wins, descending
    before ascending.
    """
    best: list[SingleFeature | None] = [None] * len(measures)
    for column, feature in _every_column(queries.X):
        if column in (queries.categories or ()):
            continue
        for sign in (1.0, -1.0):
            scores = SingleFeature(column, sign, np.nan).scores_of(feature)
            ranked = lists.with_scores(scores)
            values, _ = convention.table(measures, ranked, ties="average", orders=FEW_ORDERS)
            for place, measure in enumerate(measures):
                value, so_far = mean_of_counted(values[:, place]), best[place]
                if so_far is None or (value > so_far.mean if measure.higher_is_better else value < so_far.mean):
                    best[place] = SingleFeature(column, sign, value)
    return [one for one in best if one is not None]


def _every_column(X) -> Iterator[tuple[int, np.ndarray]]:
    """Yield columns with their numbers; several are gathered at once, because reading a single one touches all of X."""
    check_csr(X)  # X may have changed since the queries were made
    step = max(1, X.shape[1] // MAX_PASSES)
    for first in range(0, X.shape[1], step):
        yield from enumerate(_columns(X, first, min(first + step, X.shape[1])), first)


def _columns(X, first: int, last: int) -> np.ndarray:
    """Return columns ``first`` to ``last`` (exclusive) as contiguous rows."""
    block = X[:, list(range(first, last))].toarray() if is_sparse(X) else X[:, first:last]
    return np.ascontiguousarray(block.T, dtype=np.float64)
