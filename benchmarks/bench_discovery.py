"""Measure feature ranking discovery: steps of DiffRank against all pairs, concordance against scipy, whole fits."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import kendalltau

import plackett as pk
from benchmarks.timing import Result
from benchmarks.turns import best_in_turns, judged
from plackett import _native
from plackett._threads import n_threads
from plackett.data.queries import QueryLists
from plackett.rankers.boosting.discovery import count_label_pairs
from plackett.scorers.ranks import Discovery, LevelBounds

N_DOCS, N_FEATURES = 1_000, 46
FEW, MANY = 300, 3_000  # queries
SHORT_ROUNDS = 20
ALLOWED = {"DiffRank": 1.0, "FeatureRank": 2.0, "BLFeatureRank": 2.0}  # seconds for FEW


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    return [*_step(rng), _concordance("strict orders", rng), _concordance("ties", rng), *_fits(rng)]


def _step(rng) -> list[Result]:
    """Compare steps on one list in descending order of labels; from equal weights, all compute the same α.

    Each call is only a few steps, because noise affects long calls more often than short ones.
    """
    values = rng.normal(scale=300.0, size=(N_FEATURES, N_DOCS)) - np.arange(N_DOCS)
    ranks = values.argsort(axis=1).argsort(axis=1) + 1
    ours = _Sums(ranks)
    expected = [ours.step(feature) for feature in range(N_FEATURES)]
    peers = {"matrix": _PairMatrix(ranks), "list": _PairList(ranks)}
    for pairs in peers.values():
        np.testing.assert_allclose([pairs.step(f) for f in range(N_FEATURES)], expected, rtol=1e-8, atol=1e-12)
    calls = {name: lambda p=pairs: p.step(0) for name, pairs in peers.items()}
    best = best_in_turns({"ours": lambda: [ours.step(f) for f in range(N_FEATURES)], **calls}, SHORT_ROUNDS)
    what = f"a step of DiffRank, one list of {N_DOCS:,}"
    return [
        judged(Result(what, best["ours"] / N_FEATURES, "numpy, n × n matrices", best["matrix"], 400, "1 thread")),
        Result(what, best["ours"] / N_FEATURES, "numpy, a list of all pairs", best["list"], None, "1 thread"),
    ]


class _Sums:
    """Steps by sums over documents, as in DiffRank."""

    def __init__(self, ranks: np.ndarray):
        self._twice = (2 * ranks).astype(np.int32)
        lists = QueryLists(-np.arange(N_DOCS, dtype=np.float64), np.array([0, N_DOCS]))
        self._indptr, self._start, self._pairs = lists.indptr, LevelBounds.of(lists).start, count_label_pairs(lists)
        self._scores, self._net = np.zeros(N_DOCS), np.empty(N_DOCS)
        self._totals, self._pulls = np.zeros(1), np.zeros(1)
        self._weigh()

    def step(self, feature: int) -> float:
        _native.rankers.pull_feature(self._twice[feature], self._net, self._pairs, self._indptr, 0, 1, self._pulls)
        alpha = math.atanh(self._pulls[0] / self._totals[0])
        _native.rankers.add_feature(self._twice[feature], alpha, self._scores)
        self._weigh()
        return alpha

    def _weigh(self) -> None:
        _native.rankers.weigh_pairs(
            self._scores, self._start, N_DOCS, self._pairs, self._indptr, 0, 1, self._totals, self._net
        )


class _PairMatrix:
    """The weights D of all pairs as a matrix, zero if the first document is not the better one."""

    def __init__(self, ranks: np.ndarray):
        self._ranks = ranks / (N_DOCS - 1.0)
        self._D = np.triu(np.ones((N_DOCS, N_DOCS)), 1)
        self._D /= self._D.sum()
        self._difference = np.empty_like(self._D)

    def step(self, feature: int) -> float:
        h, D, difference = self._ranks[feature], self._D, self._difference
        np.subtract.outer(h, h, out=difference)
        alpha = math.atanh(np.vdot(D, difference))
        difference *= -alpha
        D *= np.exp(difference, out=difference)
        D /= D.sum()
        return alpha


class _PairList:
    """The weights D of all pairs as a list."""

    def __init__(self, ranks: np.ndarray):
        self._ranks = ranks / (N_DOCS - 1.0)
        self._better, self._worse = np.triu_indices(N_DOCS, 1)
        self._D = np.full(self._better.size, 1.0 / self._better.size)
        self._difference, self._of_worse = np.empty_like(self._D), np.empty_like(self._D)

    def step(self, feature: int) -> float:
        h, D, difference = self._ranks[feature], self._D, self._difference
        np.take(h, self._better, out=difference)
        difference -= np.take(h, self._worse, out=self._of_worse)
        alpha = math.atanh(D @ difference)
        difference *= -alpha
        D *= np.exp(difference, out=difference)
        D /= D.sum()
        return alpha


def _concordance(kind: str, rng) -> Result:
    """Compare on one list, which uses one thread; both times include sorting the features."""
    labels = rng.permutation(N_DOCS).astype(np.float64)
    X = labels[:, None] / N_DOCS + rng.normal(size=(N_DOCS, N_FEATURES))
    if kind == "ties":
        labels, X = np.floor(labels / 200), X.round(1)
    lists, discovery = QueryLists(labels, np.array([0, N_DOCS])), Discovery.linear(np.ones(N_FEATURES, np.int64))

    def ours():
        return discovery.twice_ranks(X, lists.indptr, lists, is_counted=True)

    counted = ours()
    untied = np.array([_untied_pairs(column) for column in X.T])
    tau = (counted.right - counted.wrong)[0] / np.sqrt(untied * _untied_pairs(labels))
    np.testing.assert_allclose([kendalltau(column, labels).statistic for column in X.T], tau)
    column = X[:, 0].copy()
    best = best_in_turns({"ours": ours, "scipy": lambda: kendalltau(column, labels)}, SHORT_ROUNDS)
    what = f"concordant pairs of a feature, {N_DOCS:,} documents, {kind}"
    return judged(Result(what, best["ours"] / N_FEATURES, "scipy kendalltau", best["scipy"], 9, "1 thread"))


def _untied_pairs(values: np.ndarray) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return (values.size**2 - (counts**2).sum()) // 2


def _fits(rng) -> list[Result]:
    data = _made_lists(MANY, rng)
    few, threads = data[:FEW], f"{n_threads()} threads"
    rankers = {name: getattr(pk, name)() for name in ALLOWED}
    for ranker in rankers.values():
        ranker.fit(few[:2])  # starts the threads
    best = best_in_turns({name: lambda r=ranker: r.fit(few) for name, ranker in rankers.items()}, rounds=2)
    results = [
        judged(Result(f"{name}, {FEW} × {N_DOCS:,} × {N_FEATURES}", best[name], "allowed", allowed, 1, threads))
        for name, allowed in ALLOWED.items()
    ]
    sizes = {"few": few, "many": data}
    best = best_in_turns({size: lambda d=lists: rankers["DiffRank"].fit(d) for size, lists in sizes.items()}, rounds=1)
    growth = f"{best['many'] / best['few']:.1f} × the time; {threads}"
    what = f"DiffRank, {MANY:,} × {N_DOCS:,} × {N_FEATURES}"
    return [*results, judged(Result(what, best["many"], f"11 × {FEW}", 11 * best["few"], 1, growth))]


def _made_lists(n_queries: int, rng) -> pk.Queries:
    """Return strict orders, which every feature repeats with noise."""
    order = rng.permuted(np.tile(np.arange(N_DOCS, dtype=np.float32), (n_queries, 1)), axis=1).ravel()
    X = rng.random((order.size, N_FEATURES), dtype=np.float32)
    X += (order / N_DOCS)[:, None]
    return pk.Queries(X, order, np.repeat(np.arange(n_queries), N_DOCS))
