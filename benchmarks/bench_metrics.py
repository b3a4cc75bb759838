"""Compare measures of plain arrays with pytrec_eval, ranx, ir-measures and scipy."""

from __future__ import annotations

import numpy as np

import plackett as pk
from benchmarks.timing import Result, best_of, peer
from plackett import _threads

N_QUERIES, N_DOCS = 10_000, 100
METRICS = ["ndcg@10(gain=linear)", "map", "mrr"]


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, N_QUERIES * N_DOCS)
    scores = rng.random(N_QUERIES * N_DOCS)
    qid = np.repeat(np.arange(N_QUERIES), N_DOCS)
    return [*_trio(labels, scores, qid), *_kendall(rng)]


def _trio(labels, scores, qid) -> list[Result]:
    what = f"NDCG@10 + MAP + MRR, {N_QUERIES:,} × {N_DOCS}, from arrays"

    def ours():
        return pk.evaluate(labels, scores, qid=qid, metrics=METRICS)

    expected = ours().mean()
    seconds = best_of(ours, 20)
    results = []
    for name, prepare, target in (
        ("pytrec_eval", _pytrec_eval, 100),
        ("ranx", _ranx, 150),
        ("ir_measures", _ir_measures, None),
    ):
        call = prepare(labels, scores, qid)
        if call is None:
            results.append(Result(what, seconds, name, None, target))
            continue
        found = call()  # warms up the peer, and checks that both results agree
        for value, other in zip(expected.values(), found, strict=True):
            assert abs(value - other) < 1e-9, (name, expected, found)
        results.append(Result(what, seconds, name, best_of(call, 3), target))
    return results


def _as_dicts(labels, scores, qid):
    """Return the nested dictionaries that peers need, from the same arrays, by slices and loops in C if possible."""
    names = list(map(str, range(qid.size)))
    starts = np.flatnonzero(np.diff(qid, prepend=-1)).tolist()
    stops = [*starts[1:], qid.size]
    values, levels = scores.tolist(), labels.tolist()
    qrels, run = {}, {}
    for start, stop in zip(starts, stops, strict=True):
        query, documents = str(qid[start]), names[start:stop]
        qrels[query] = dict(zip(documents, levels[start:stop], strict=True))
        run[query] = dict(zip(documents, values[start:stop], strict=True))
    return qrels, run


def _pytrec_eval(labels, scores, qid):
    pytrec_eval = peer("pytrec_eval")
    if pytrec_eval is None:
        return None

    def call():
        qrels, run = _as_dicts(labels, scores, qid)
        rows = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"}).evaluate(run).values()
        return [np.mean([row[name] for row in rows]) for name in ("ndcg_cut_10", "map", "recip_rank")]

    return call


def _ranx(labels, scores, qid):
    ranx = peer("ranx")
    if ranx is None:
        return None

    def call():
        qrels, run = _as_dicts(labels, scores, qid)
        found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "map", "mrr"])
        return [found["ndcg@10"], found["map"], found["mrr"]]

    return call


def _ir_measures(labels, scores, qid):
    ir_measures = peer("ir_measures")
    if ir_measures is None:
        return None
    measures = [ir_measures.parse_measure(name) for name in ("nDCG@10", "AP", "RR")]

    def call():
        qrels, run = _as_dicts(labels, scores, qid)
        found = ir_measures.calc_aggregate(measures, qrels, run)
        return [found[measure] for measure in measures]

    return call


def _kendall(rng) -> list[Result]:
    """Compare one call over 200 lists of 1,000 documents, on one thread, with scipy list by list."""
    from scipy.stats import kendalltau

    n_lists, n = 200, 1_000
    results = []
    qid = np.repeat(np.arange(n_lists), n)
    scores = rng.random(n_lists * n)
    _threads.set_n_threads(1)
    try:
        for kind, labels in (
            ("strict labels", np.concatenate([rng.permutation(n) for _ in range(n_lists)]).astype(float)),
            ("labels 0..4", rng.integers(0, 5, n_lists * n).astype(float)),
        ):
            lists = list(zip(labels.reshape(n_lists, n), scores.reshape(n_lists, n), strict=True))
            pk.metrics.kendall(labels, scores, qid=qid)
            ours = best_of(lambda labels=labels: pk.metrics.kendall(labels, scores, qid=qid), 20) / n_lists
            scipys = best_of(lambda lists=lists: [kendalltau(*pair) for pair in lists], 5) / n_lists
            results.append(
                Result(f"Kendall per list, n = 1,000, {kind}, 1 thread", ours, "scipy kendalltau", scipys, 9)
            )
    finally:
        _threads.set_n_threads(None)
    return results
