"""Permutation importance: how much a measure drops when the values of a feature are shuffled within each list."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.data.queries import Queries
from plackett.evaluation import estimators
from plackett.evaluation.evaluate import evaluate, parse_metrics
from plackett.evaluation.significance import bootstrap_columns
from plackett.metrics.conventions import Convention, get_convention
from plackett.metrics.measure import Measure
from plackett.validation import check_positive_int, check_seed, is_sparse

N_REPEATS = 3
MOST_ROWS = 2_000_000  # rows scored, over all features and repeats


class FeatureImportance(NamedTuple):
    """The mean drop of a measure over queries, with its bootstrap interval; positive if the feature helps.

    Examples
    --------
    >>> from plackett.evaluation import permutation_importance
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(60, 12, 4, random_state=0)
    >>> largest = permutation_importance(pk.ranker("listmle").fit(data[:40]), data[40:])[0]
    >>> largest.feature, largest.low < largest.mean < largest.high
    ('count_0', True)
    """

    feature: str
    mean: float
    low: float
    high: float


def permutation_importance(
    ranker: Any,
    queries: Queries,
    *,
    metric: str | Measure = "ndcg@10",
    convention: str | Convention = "standard",
    n_repeats: int = N_REPEATS,
    random_state: int = 0,
) -> list[FeatureImportance]:
    """Return how much a measure drops when a feature is shuffled within each list, for every feature.

    A feature is shuffled only among the documents of the same query, so each query keeps its values. Two features with
    the same information may each have a small importance, because the other one remains. The most important come first,
    with intervals over queries (BCa, level 0.95). At most ``MOST_ROWS`` documents are scored, so large data sets are
    sampled by query.

    Parameters
    ----------
    ranker : fitted ranker or estimator
    queries : Queries
        With labels; queries that were not used in the fit.
    metric : str or Measure, default="ndcg@10"
    convention : str or Convention, default="standard"
    n_repeats : int, default=3
        Shuffles of each feature, the same for all features.
    random_state : int, default=0

    Examples
    --------
    >>> from plackett.evaluation import permutation_importance
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(60, 12, 4, random_state=0)
    >>> ranker = pk.ranker("listmle").fit(data[:40])
    >>> permutation_importance(ranker, data[40:])[0].feature
    'count_0'
    """
    measure = Measure.parse(parse_metrics([metric])[0][0])
    columns = np.arange(queries.n_features)
    how: dict[str, Any] = {"columns": columns, "n_repeats": n_repeats, "random_state": random_state}
    drops = permutation_drops(
        functools.partial(estimators.predict, ranker), queries, measure, get_convention(convention), **how
    )
    return importances(drops, queries.feature_labels, random_state=random_state)


def importances(drops: np.ndarray, names: Sequence[str], *, random_state: int = 0) -> list[FeatureImportance]:
    """Return the mean of each column of drops with its interval, the largest first; NaN is skipped."""
    low, high = bootstrap_columns(drops, random_state=random_state)
    counts = np.maximum(1, (~np.isnan(drops)).sum(axis=0))
    means = np.nansum(drops, axis=0) / counts
    order = np.argsort(-means, kind="stable")
    return [FeatureImportance(names[j], float(means[j]), float(low[j]), float(high[j])) for j in order.tolist()]


def permutation_drops(
    predict: Callable[[Queries], np.ndarray],
    queries: Queries,
    measure: Measure,
    convention: Convention,
    *,
    columns: Sequence[int] | np.ndarray,
    n_repeats: int = N_REPEATS,
    most_rows: int = MOST_ROWS,
    random_state: int = 0,
) -> np.ndarray:
    """Return the drop of each sampled query for each column, of shape (n_sampled, n_columns).

    Drops are positive where the shuffled list is worse, even for measures for which lower values are better.
    """
    n_repeats, rng = check_positive_int(n_repeats, "n_repeats"), np.random.default_rng(check_seed(random_state))
    sample = _sampled(queries.grouped, most_rows // max(1, n_repeats * len(columns)), rng)
    sign = 1.0 if measure.higher_is_better else -1.0
    unlabelled = sample.replace(y=None, comments=None, subtopics=None)

    def values(X: Any) -> np.ndarray:
        scores = predict(unlabelled.replace(X=X))
        return sign * evaluate(sample, scores, metrics=[measure], convention=convention).values[:, 0]

    before = values(sample.X)
    answer = np.zeros((sample.n_queries, len(columns)))
    for _ in range(n_repeats):
        order = np.lexsort((rng.random(sample.n_docs), sample.query_of_row))  # a random order within each query
        for place, shuffled in enumerate(_shuffled(sample.X, columns, order)):
            answer[:, place] += (before - values(shuffled)) / n_repeats
    return answer


def _sampled(queries: Queries, most_docs: int, rng: np.random.Generator) -> Queries:
    """Return random queries with at most ``most_docs`` documents together, but at least one query."""
    if queries.n_docs <= most_docs:
        return queries
    order = rng.permutation(queries.n_queries)
    n_kept = np.searchsorted(np.cumsum(np.diff(queries.indptr)[order]), most_docs, side="right")
    return queries[np.sort(order[: max(1, int(n_kept))])]


def _shuffled(X: Any, columns: Any, order: np.ndarray) -> Iterator[Any]:
    """Yield X with one column in another order, for each column."""
    if not is_sparse(X):
        changed = np.array(X)
        for column in columns:
            changed[:, column] = X[order, column]
            yield changed
            changed[:, column] = X[:, column]
        return
    with importing:
        from scipy import sparse

    by_column = X.tocsc()
    for column in columns:
        other = by_column[:, [column]].toarray()[order]
        yield sparse.hstack([by_column[:, :column], other, by_column[:, column + 1 :]], format="csr")
