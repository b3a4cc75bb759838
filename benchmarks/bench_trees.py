"""Compare TreeRanker with ListMLE and LightGBM's lambdarank, on the same rows with equal tree sizes and threads."""

from __future__ import annotations

import numpy as np

import plackett as pk
from benchmarks.made_lists import graded, small_numbers, uneven_indptr
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett._threads import n_threads
from plackett.losses.backends.trees import TreeObjective

N_DOCS, N_FEATURES, N_TREES, N_LEAVES = 100_000, 136, 100, 31
LOSSES = {"listmle": 1.0, "p-listmle": 1.0, "cs-listmle": None, "logistic": None}  # and the target ratio to lambdarank


def run(n_docs: int = N_DOCS, n_trees: int = N_TREES, rounds: int = 4) -> list[Result]:
    lightgbm = peer("lightgbm")
    queries = made_queries(n_docs)
    size = f"{n_docs:,} × {N_FEATURES}, {n_trees} trees"
    params = {"n_rounds": n_trees, "num_leaves": N_LEAVES, "n_jobs": n_threads()}
    if lightgbm is None:
        return [Result(f"{size}, listmle", np.nan, "lambdarank", None)]
    calls = {loss: lambda loss=loss: pk.TreeRanker(loss, **params).fit(queries) for loss in LOSSES}
    best = best_in_turns({"lambdarank": lambda: _lambdarank(lightgbm, queries, n_trees), **calls}, rounds)
    note = f"whole fits, binning included; {n_threads()} threads"
    results = [
        judged(Result(f"TreeRanker, {loss}; {size}", best[loss], "lambdarank", best["lambdarank"], aim, note))
        for loss, aim in LOSSES.items()
    ]
    return [*results, _slopes(queries), _predicting(lightgbm, queries, n_trees)]


def made_queries(n_docs: int) -> pk.Queries:
    """Return lists of 20 to 220 documents with labels 0 to 4, step and nonlinear functions of some columns."""
    rng = np.random.default_rng(0)
    X, indptr = small_numbers(n_docs, N_FEATURES, rng), uneven_indptr(n_docs, rng)
    truth = X[:, :10] @ rng.normal(size=10) + (X[:, 10:20] > 0.2) @ rng.normal(size=10) + X[:, 20] * X[:, 21]
    return pk.Queries(X, graded(truth, rng), np.repeat(np.arange(indptr.size - 1), np.diff(indptr)))


def _lambdarank(lightgbm, queries: pk.Queries, n_trees: int):
    params = {
        "objective": "lambdarank", "learning_rate": 0.1, "num_leaves": N_LEAVES, "min_data_in_leaf": 20,
        "num_threads": n_threads(), "deterministic": True, "force_row_wise": True, "verbosity": -1, "metric": "none",
    }  # fmt: skip
    data = lightgbm.Dataset(queries.X, queries.labels, group=np.diff(queries.indptr), params=params)
    return lightgbm.train(params, data, num_boost_round=n_trees)


def _slopes(queries: pk.Queries) -> Result:
    """Measure the part of the loss in a round: slope and curvature of all scores."""
    objective, scores = (
        TreeObjective(pk.losses.ListMLE(), queries),
        np.random.default_rng(1).normal(size=queries.n_docs),
    )
    best = best_in_turns({"ours": lambda: objective.evaluate(scores)}, rounds=5)
    what = f"slope and curvature, listmle; {queries.n_docs:,} documents"
    return judged(Result(what, best["ours"], "allowed", 4e-3, 1.0, f"{n_threads()} threads"))


def _predicting(lightgbm, queries: pk.Queries, n_trees: int) -> Result:
    ranker = pk.TreeRanker(n_rounds=n_trees, num_leaves=N_LEAVES, n_jobs=n_threads()).fit(queries)
    model, threads = ranker.to_lightgbm(), n_threads()
    assert np.array_equal(ranker.trees_.predict(queries.X), model.predict(queries.X))
    calls = {
        "ours": lambda: ranker.trees_.predict(queries.X),
        "lightgbm": lambda: model.predict(queries.X, num_threads=threads),
    }
    best = best_in_turns(calls, rounds=3)
    what = f"predicting, {queries.n_docs:,} × {N_FEATURES}, {n_trees} trees"
    return judged(Result(what, best["ours"], "lightgbm", best["lightgbm"], 1.0, "bit-identical scores"))
