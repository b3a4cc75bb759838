"""What a score must beat to mean anything: a random order, and the best single feature."""

from __future__ import annotations

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.table import mean_of_counted
from plackett.metrics.conventions import Convention
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.validation import is_sparse

RANDOM_ORDER, BEST_FEATURE = "random order", "best feature"


def random_floor(
    measures: list[Measure], names: list[str], lists: JudgedLists, convention: Convention
) -> dict[str, float]:
    """The expected value of each measure under a random order, exactly.

    When all scores are equal, the expectation over the orders of tied documents is the one over all orders.
    """
    flat = lists.with_scores(np.zeros_like(lists.scores))
    values, _ = convention.table(measures, flat, ties="average")
    return {name: mean_of_counted(values[:, column]) for column, name in enumerate(names)}


def best_feature_floor(
    measures: list[Measure], names: list[str], lists: JudgedLists, convention: Convention, queries: Queries
) -> tuple[dict[str, float], dict[str, str]]:
    """The best mean of each measure when documents are ranked by one feature, rising or falling, and that feature.

    Equal values count with the expectation over their orders, whatever the convention: otherwise a constant feature
    would profit from a file that lists the best documents first, and have a perfect Kendall distance. A missing value
    ranks last. Equal features are settled by their number, falling before rising.
    """
    best: dict[str, float] = {}
    which: dict[str, str] = {}
    for column in range(queries.n_features):
        feature = _column(queries.X, column)
        label = f"column {column}" if queries.feature_names is None else queries.feature_names[column]
        for sign, direction in ((1.0, "falling"), (-1.0, "rising")):
            scores = np.where(np.isnan(feature), -np.inf, sign * feature)
            values, _ = convention.table(measures, lists.with_scores(scores), ties="average")
            for place, (measure, name) in enumerate(zip(measures, names, strict=True)):
                value = mean_of_counted(values[:, place])
                is_better = (
                    value > best.get(name, np.nan) if measure.higher_is_better else value < best.get(name, np.nan)
                )
                if name not in best or is_better:
                    best[name], which[name] = value, f"{label} ({direction})"
    return best, which


def _column(X, column: int) -> np.ndarray:
    if is_sparse(X):
        return np.asarray(X[:, [column]].toarray(), dtype=np.float64).reshape(-1)
    return np.asarray(X[:, column], dtype=np.float64)
