"""Measure RankBoost, AdaRank and SVM-map on the training part of a LETOR fold, and compare RankBoost with numpy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import plackett as pk
from benchmarks.timing import Result
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads

N_ROUNDS = 20  # of the comparison with numpy
RANKERS = {  # name, ranker, and allowed seconds
    "RankBoost, 300 rounds": (pk.RankBoost(), 1.0),
    "AdaRank, MAP": (pk.AdaRank("map"), 1.0),
    "AdaRank, NDCG@10": (pk.AdaRank("ndcg@10"), 1.0),
    "SVM-map, C=100": (pk.SVMMap(C=100), 5.0),
}


def run() -> list[Result]:
    data, name = _data()
    size = f"{data.n_queries} queries, {data.n_docs:,} × {data.n_features}"
    results = []
    for what, (ranker, allowed) in RANKERS.items():
        best = best_in_turns({"ours": lambda r=ranker: r.fit(data)}, rounds=2)
        note = f"{ranker.n_iter_} iterations, {ranker.stop_reason_}; {n_threads()} threads"
        results.append(judged(Result(f"{what}; {name}, {size}", best["ours"], "allowed", allowed, 1, note)))
    return [*results, _against_numpy(data, name)]


def _data() -> tuple[pk.Queries, str]:
    """Return MQ2008 if PLACKETT_DATA has it, else synthetic lists of its size."""
    try:
        return pk.datasets.load_fold("mq2008", 1).train, "MQ2008 fold 1"
    except pk.exceptions.DatasetNotFoundError:
        made = pk.datasets.make_web_like(471, 20, 46, random_state=0)
        return pk.Queries(made.X, np.minimum(made.y, 2), made.qid), "synthetic lists"


def _against_numpy(data: pk.Queries, name: str) -> Result:
    """Compare whole fits of a few rounds, thresholds and sorts included; both choose the same features."""
    ranker = pk.RankBoost(n_rounds=N_ROUNDS)
    assert ranker.fit(data).steps_["feature"].tolist() == _rankboost_in_numpy(data)
    best = best_in_turns({"ours": lambda: ranker.fit(data), "numpy": lambda: _rankboost_in_numpy(data)}, rounds=2)
    what = f"RankBoost, {N_ROUNDS} rounds; {name}"
    return judged(Result(what, best["ours"], "numpy", best["numpy"], 5, "pairs as matrices, thresholds by bincount"))


def _rankboost_in_numpy(data: pk.Queries) -> list[int]:
    """RankBoost over all thresholds, without a Python loop over pairs or thresholds."""
    is_better = [data.y[first:last, None] > data.y[first:last] for first, last in pairwise(data.indptr)]
    rows = np.concatenate([np.full(len(better), better.any()) for better in is_better])
    X, is_better = data.X[rows].astype(np.float64), [better for better in is_better if better.any()]
    bounds = np.concatenate([[0], np.cumsum([len(better) for better in is_better])])
    codes = [np.unique(column, return_inverse=True)[1] for column in X.T]
    scores, features = np.zeros(len(X)), []
    for _ in range(N_ROUNDS):
        pulls, total = np.empty(len(X)), 0.0
        for better, (first, last) in zip(is_better, pairwise(bounds), strict=True):
            D = np.exp(-np.subtract.outer(scores[first:last], scores[first:last])) * better / better.sum()
            pulls[first:last] = D.sum(axis=1) - D.sum(axis=0)
            total += D.sum()
        edges = []
        for code in codes:  # r of a threshold is the sum of the pulls above it
            above = np.cumsum(np.bincount(code, weights=pulls)[::-1])[::-1][1:] / total
            edges.append(above if above.size else np.zeros(1))
        feature = int(np.argmax([np.abs(above).max() for above in edges]))
        place = int(np.argmax(np.abs(edges[feature])))
        scores += np.arctanh(edges[feature][place]) * (codes[feature] > place)
        features.append(feature)
    return features
