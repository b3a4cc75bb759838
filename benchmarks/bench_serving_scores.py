"""Score one list of 100 documents on one thread: scorers, LightGBM's own ``predict`` and onnxruntime, in turns.

All score the same models: a linear one, and LightGBM's 500 trees of 31 leaves, exported to ONNX in float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import plackett as pk
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged

N_DOCS, N_FEATURES, N_TREES, N_LEAVES = 100, 136, 500, 31
LISTS = 20  # scored in each turn; the shortest counts, so that other work on the machine affects all alike
LIMITS = {"linear": 10e-6, "trees": 300e-6}  # seconds per list
RATIO = 3.0  # to LightGBM


def run(n_train: int = 400, rounds: int = 15) -> list[Result]:
    pk.set_n_threads(1)
    try:
        return _run(n_train, rounds)
    finally:
        pk.set_n_threads(None)


def _run(n_train: int, rounds: int) -> list[Result]:
    data = pk.datasets.make_web_like(n_train, N_DOCS, N_FEATURES, random_state=0)
    X = np.ascontiguousarray(pk.datasets.make_web_like(1, N_DOCS, N_FEATURES, random_state=1).X, dtype=np.float32)
    linear = pk.LinearRanker().fit(data)
    rankers = {
        "linear": linear,
        "linear, query-zscore": pk.LinearRanker(normalize="query-zscore").fit(data),
        "net of 64 and 32": None if peer("torch") is None else pk.NeuralRanker(n_epochs=1, random_state=0).fit(data),
    }
    trees = None
    if peer("lightgbm") is not None:
        trees = pk.TreeRanker("lightgbm", n_rounds=N_TREES, num_leaves=N_LEAVES).fit(data)
    rankers["trees"] = trees
    calls: dict[str, _Lists] = {}
    for name, ranker in rankers.items():
        if ranker is not None:
            calls[name] = _Lists(ranker.scorer().score, X)
            calls[f"{name}, predict"] = _Lists(lambda rows, ranker=ranker: ranker.predict(rows, qid=0), X)
    if trees is not None:
        booster = trees.to_lightgbm()
        calls["lightgbm"] = _Lists(lambda rows: booster.predict(rows, num_threads=1), X)
    for name in ("linear", "trees"):
        if rankers[name] is not None and peer("onnxruntime") is not None and peer("onnx") is not None:
            calls[f"{name}, onnxruntime"] = _Lists(_of_onnxruntime(rankers[name]), X)
    best_in_turns(calls, rounds)
    return _results({name: call.best for name, call in calls.items()})


def _results(best: dict[str, float]) -> list[Result]:
    size = f"{N_DOCS} × {N_FEATURES}"
    results = [
        judged(Result(f"scorer, {name}; {size}", best[name], "limit", limit, 1.0, "one thread"))
        for name, limit in LIMITS.items()
        if name in best
    ]
    peers = [(name, f"{name}, onnxruntime", 1.0) for name in LIMITS] + [("trees", "lightgbm", RATIO)]
    peers += [(name, f"{name}, predict", None) for name in best if f"{name}, predict" in best]
    for name, other, aim in peers:
        if name in best:
            shown = other.rpartition(", ")[2]
            results.append(judged(Result(f"scorer, {name}; {size}", best[name], shown, best.get(other), aim)))
    return results


class _Lists:
    """Scores a list again and again, and keeps the shortest time."""

    def __init__(self, score: Callable[[np.ndarray], object], X: np.ndarray):
        self._score, self._X, self.best = score, X, float("inf")

    def __call__(self) -> None:
        for _ in range(LISTS):
            start = time.perf_counter()
            self._score(self._X)
            self.best = min(self.best, time.perf_counter() - start)


def _of_onnxruntime(ranker) -> Callable[[np.ndarray], object]:
    runtime = peer("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(pk.export(ranker, "onnx"), options, providers=["CPUExecutionProvider"])
    return lambda rows: session.run(None, {"features": rows})
