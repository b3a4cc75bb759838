"""Why a fitted ranker orders the test documents as it does: reasons for its top documents, and important features."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation import estimators
from plackett.evaluation.permutation import MOST_ROWS, N_REPEATS, FeatureImportance, importances, permutation_drops
from plackett.metrics.conventions import Convention
from plackett.metrics.measure import Measure

TOP, STRONGEST = 10, 5  # documents of each list, and contributions of each document
MOST_PERMUTED = 150  # features; of more, those with the largest contributions are shuffled
QUERIES_AT_ONCE = 256  # memory is needed for the contributions to this many lists


class Reason(NamedTuple):
    """What one feature adds to the score of one document."""

    feature: str
    value: float | str
    amount: float


@dataclass(kw_only=True)
class Insight:
    """Why one contestant orders the test documents as it does.

    Attributes
    ----------
    reasons : dict of int to list of Reason
        The strongest contributions by row of ``Comparison.queries``, for the top documents of the queries that changed
        most and of those that were requested.
    explained : dict of str to float
        The mean absolute contribution of each feature to the top documents of all test queries, the largest first.
    permuted : list of FeatureImportance
        The drop of the first measure on test queries when a feature is shuffled within each list, the largest first.
    n_permuted : int
        The number of test queries with shuffled features.
    problem : str
        Why there are no reasons; empty otherwise.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10", explain=True)
    >>> insight = result.insights["listmle"]
    >>> next(iter(insight.explained)), insight.permuted[0].feature
    ('ratio_5', 'ratio_5')
    """

    reasons: dict[int, list[Reason]] = field(default_factory=dict)
    explained: dict[str, float] = field(default_factory=dict)
    permuted: list[FeatureImportance] = field(default_factory=list)
    n_permuted: int = 0
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Insight:
        """Restore an insight from the values of `to_dict`."""
        reasons = {int(row): [Reason(*map(_number, one)) for one in found] for row, found in values["reasons"].items()}
        permuted = [FeatureImportance(*map(_number, one)) for one in values["permuted"]]
        return cls(**{**values, "reasons": reasons, "permuted": permuted})


def _number(value: Any) -> Any:
    return math.nan if value is None else value  # JSON has no NaN


class FoldInsight(NamedTuple):
    """The same for one fold: ``drops`` are those of the test queries for each of ``columns``.

    ``reasons`` has a row and its reasons for each top document. ``problem`` says why there are no reasons, and
    ``importance_problem`` why there are no drops.
    """

    reasons: list
    sums: dict[str, float]
    columns: list[int]
    problem: str
    importance_problem: str
    drops: np.ndarray


def fold_insight(
    fitted: Any, test: Queries, labels: np.ndarray, measure: Measure, rules: Convention, seed: int
) -> FoldInsight:
    """Return reasons and importance of one fitted ranker on the test queries of a fold.

    ``labels`` are those of the test documents, which the ranker itself does not get.
    """
    reasons: list = []
    sums: Counter[str] = Counter()
    problem = unshuffled = ""
    try:
        # query-dependent rankers keep the models of queries that they have scored
        scores = estimators.predict(fitted, test)
        for explanation, first in _explanations(fitted, test, scores):
            reasons += [[first + int(row), _reasons(explanation, row)] for row in explanation.rows]
            for name, amount in explanation.importance().items():
                sums[name] += amount * len(explanation)
    except Exception as error:  # other estimators may raise anything, which must not lose the comparison
        reasons, sums, problem = [], Counter(), str(error) or type(error).__name__
    columns, drops = _columns(test, sums), np.zeros((0, 0))
    if columns:
        try:
            judged = test.replace(y=labels)
            predict = functools.partial(estimators.predict, fitted)
            drops = permutation_drops(predict, judged, measure, rules, columns=columns, random_state=seed)
        except Exception as error:  # as above
            columns, unshuffled = [], str(error) or type(error).__name__
    return FoldInsight(reasons, dict(sums), columns, problem, unshuffled, drops)


def _reasons(explanation: Any, row: int) -> list[Reason]:
    return [
        Reason(feature, value if isinstance(value, str) else float(value), float(amount))
        for feature, value, amount in explanation.top(row, STRONGEST)
    ]


def _explanations(fitted: Any, test: Queries, scores: np.ndarray) -> Iterator[tuple[Any, int]]:
    """Yield explanations of the top documents of some queries at a time, with the row at which these start."""
    if not hasattr(fitted, "explain"):
        raise NotImplementedError(f"{type(fitted).__name__} cannot explain its scores feature by feature.")
    # a query-dependent ranker has a different model for every query
    step = 1 if "query" in estimators.parameters_of(fitted.explain) else QUERIES_AT_ONCE
    for start in range(0, test.n_queries, step):
        part = test[start : start + step]
        first = int(test.indptr[start])
        tops = [
            first_row + np.argsort(-scores[first + first_row : first + end], kind="stable")[:TOP]
            for first_row, end in zip(part.indptr[:-1].tolist(), part.indptr[1:].tolist(), strict=True)
        ]
        found = fitted.explain(part, rows=np.sort(np.concatenate(tops)))
        yield getattr(found, "documents", found), first


def _columns(queries: Queries, sums: Mapping[str, float]) -> list[int]:
    """Return the columns to shuffle: all, or those with the largest contributions; none if these are unknown."""
    if queries.n_features <= MOST_PERMUTED:
        return list(range(queries.n_features))
    names = queries.feature_labels
    known = [column for column, name in enumerate(names) if sums.get(name, 0.0) > 0]
    return sorted(sorted(known, key=lambda column: -sums[names[column]])[:MOST_PERMUTED])


def merged(
    folds: Sequence[FoldInsight], starts: Sequence[int], queries: Queries, kept: np.ndarray, seed: int
) -> Insight:
    """Return the insight of all folds, with the reasons of the rows for which ``kept`` is True.

    ``starts`` are the rows of ``queries`` at which the test documents of the folds start. There is no importance if it
    failed in a fold, because the other folds are not all test queries.
    """
    reasons: dict[int, list[Reason]] = {}
    sums: Counter[str] = Counter()
    for fold, start in zip(folds, starts, strict=True):
        reasons |= {start + row: [Reason(*one) for one in parts] for row, parts in fold.reasons if kept[start + row]}
        sums.update(fold.sums)
    n_docs = sum(len(fold.reasons) for fold in folds)
    means = {name: amount / n_docs for name, amount in sums.items()}
    shuffled = [] if importance_problem(folds) else folds
    columns = sorted({column for fold in shuffled for column in fold.columns})
    blocks = [np.full((fold.drops.shape[0], len(columns)), np.nan) for fold in shuffled]
    for block, fold in zip(blocks, shuffled, strict=True):
        block[:, np.searchsorted(columns, fold.columns)] = fold.drops
    drops = np.concatenate([np.zeros((0, len(columns))), *blocks])
    names = queries.feature_labels
    return Insight(
        reasons=reasons,
        explained=dict(sorted(means.items(), key=lambda item: -item[1])),
        permuted=importances(drops, [names[column] for column in columns], random_state=seed) if columns else [],
        n_permuted=drops.shape[0],
        problem=next((fold.problem for fold in folds if fold.problem), ""),
    )


def importance_problem(folds: Sequence[FoldInsight]) -> str:
    """Return why the importance of features is unknown; empty if it is known."""
    return next((fold.importance_problem for fold in folds if fold.importance_problem), "")


def permutation_words(insight: Insight, n_queries: int) -> str:
    """Return how the importance was computed, with its bounds."""
    words = f"each feature shuffled {N_REPEATS} times within each list, on {insight.n_permuted:,} test queries"
    if insight.n_permuted < n_queries:
        words += f" of {n_queries:,} (at most {MOST_ROWS:,} documents are scored in a fold)"
    return words
