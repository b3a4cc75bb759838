"""Whole calls on data without missing values and categories: checks, preparation, fit, scores, measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import plackett as pk


@cache
def _lists(n_queries: int, dtype: type = np.float64) -> pk.Queries:
    data = pk.datasets.make_web_like(n_queries, 100, 60, random_state=0)
    return pk.Queries(np.ascontiguousarray(data.X, dtype=dtype), data.y, data.qid)


def _fit(make: Callable[[], object], n_queries: int) -> Callable[[], object]:
    data = _lists(n_queries)
    return lambda: make().fit(data)  # type: ignore[attr-defined]


def _predict(make: Callable[[], object], n_queries: int) -> Callable[[], object]:
    data = _lists(n_queries)
    ranker = make().fit(data[:50])  # type: ignore[attr-defined]
    return lambda: ranker.predict(data)


def _evaluate() -> Callable[[], object]:
    data = _lists(2_000)
    scores = data.X[:, 0].copy()
    return lambda: pk.evaluate(data, scores)


CASES = {
    "LinearRanker.fit, 2,000 lists": lambda: _fit(lambda: pk.LinearRanker(max_iter=3, tol=1e-2), 2_000),
    "LinearRanker.fit, 20 lists": lambda: _fit(lambda: pk.LinearRanker(tol=1e-2), 20),
    "LinearRanker.predict, 2,000 lists": lambda: _predict(lambda: pk.LinearRanker(tol=1e-2), 2_000),
    "LinearRanker.predict, 50 lists": lambda: _predict(lambda: pk.LinearRanker(tol=1e-2), 50),
    "AdaRank.fit, 200 lists": lambda: _fit(lambda: pk.AdaRank(n_rounds=20), 200),
    "RankBoost.fit, 200 lists": lambda: _fit(lambda: pk.RankBoost(n_rounds=20), 200),
    "RankBoost.predict, 2,000 lists": lambda: _predict(lambda: pk.RankBoost(n_rounds=20), 2_000),
    "TreeRanker.predict, 2,000 lists": lambda: _predict(lambda: pk.TreeRanker(n_rounds=50), 2_000),
    "evaluate, 2,000 lists": _evaluate,
}
