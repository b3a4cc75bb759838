"""Compare the slope of LambdaRank with LightGBM's: its lambdarank round minus a round with given gradients."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.made_lists import LABEL_SHARES, long_tailed_indptr
from benchmarks.timing import Result, peer
from benchmarks.turns import best_in_turns, judged
from plackett import losses
from plackett._threads import map_blocks, n_threads, query_blocks
from plackett.data.queries import QueryLists
from plackett.losses.backends.trees import DOCS_PER_BLOCK, TreeObjective

N_DOCS, NO_CUT = 100_000, 1_000_000
CASES = [(k, norm) for k in (10, None) for norm in (True, False)]


def run(n_docs: int = N_DOCS, rounds: int = 8) -> list[Result]:
    lightgbm = peer("lightgbm")
    rng = np.random.default_rng(0)
    indptr = long_tailed_indptr(n_docs, rng)
    labels = rng.choice(len(LABEL_SHARES), size=n_docs, p=LABEL_SHARES).astype(np.float64)
    lists, scores = QueryLists(labels, indptr), rng.normal(size=n_docs)
    calls = {}
    for k, norm in CASES:
        loss = losses.Pairwise("logistic", "lambdarank", k, score_norm=norm)
        calls["slope", k, norm] = slope_of(loss, lists, scores)
        calls["slope and curvature", k, norm] = partial(TreeObjective(loss, lists).evaluate, scores)
    if lightgbm is not None:
        feature = rng.random((n_docs, 1)) < 0.5
        calls["given"] = round_of(lightgbm, lists, scores, feature, None)
        for k, norm in CASES:
            params = {"lambdarank_truncation_level": k or NO_CUT, "lambdarank_norm": norm}
            calls["lambdarank", k, norm] = round_of(lightgbm, lists, scores, feature, params)
    best = best_in_turns(calls, rounds)
    results = []
    for what in ("slope", "slope and curvature"):
        for k, norm in CASES:
            theirs = None if lightgbm is None else best["lambdarank", k, norm] - best["given"]
            name = f"lambdarank, {what}, {'no cut' if k is None else f'k = {k}'}, {'' if norm else 'no '}norm"
            note = f"objective part: round minus round with given gradients; {n_threads()} threads"
            results.append(judged(Result(name, best[what, k, norm], "LightGBM", theirs, 1.0, note)))
    return results


def slope_of(loss: losses.Loss, lists: QueryLists, scores: np.ndarray):
    """Return a function that computes value and slope of all lists, with threads."""
    slope = np.empty(lists.n_docs)
    blocks = [
        (lists.part(first, last), slice(int(lists.indptr[first]), int(lists.indptr[last])))
        for first, last in query_blocks(lists.indptr, DOCS_PER_BLOCK)
    ]
    return lambda: map_blocks(lambda part, rows: loss.query_values(scores[rows], part, slope[rows]), blocks)


def round_of(lightgbm, lists: QueryLists, scores: np.ndarray, feature: np.ndarray, params: dict | None):
    """Return a function that grows one tree of two leaves, from given gradients if ``params`` is None.

    A learning rate of almost 0 keeps the scores, by which the lists are ranked.
    """
    params = {
        "objective": "none" if params is None else "lambdarank", "num_leaves": 2, "learning_rate": 1e-12,
        "num_threads": n_threads(), "deterministic": True, "force_row_wise": True, "metric": "none", "verbosity": -1,
        **(params or {}),
    }  # fmt: skip
    data = lightgbm.Dataset(feature, lists.labels, group=np.diff(lists.indptr), init_score=scores, params=params)
    booster = lightgbm.Booster(params, data)
    if params["objective"] == "lambdarank":
        return booster.update
    slope = (lists.labels - lists.labels.mean()).astype(np.float32)
    curvature = np.ones(lists.n_docs, dtype=np.float32)
    return lambda: booster.update(fobj=lambda *_: (slope, curvature))
