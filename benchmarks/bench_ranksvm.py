"""Measure RankSVM on 150 million pairs, which are never listed, and compare it with LinearSVC on explicit pairs."""

from __future__ import annotations

import time
import warnings

import numpy as np

import plackett as pk
from benchmarks.timing import Result
from benchmarks.turns import best_in_turns, judged

N_FEATURES = 46
L2 = 1e-4
ACCURACY, HINGE_ACCURACY = 1e-4, 1e-3  # relative distance to the minimum
TOLERANCES = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    results = []
    for kind in ("independent", "correlated"):
        results += _whole(kind, *_data(300, 1_000, kind, rng))
    return [*results, _against_linear_svc(*_data(40, 200, "independent", rng))]


def _whole(kind: str, X, y, qid) -> list[Result]:
    """Measure whole fits with the squared hinge, and with the hinge, whose duality gap proves its accuracy."""
    tol, note = _loosest(X, y, qid)
    hinge = _fit(X, y, qid, loss="hinge", tol=HINGE_ACCURACY)
    assert hinge.duality_gap_ <= HINGE_ACCURACY * hinge.objective_, hinge.stop_reason_
    best = best_in_turns(
        {
            "squared": lambda: _fit(X, y, qid, loss="squared-hinge", tol=tol),
            "hinge": lambda: _fit(X, y, qid, loss="hinge", tol=HINGE_ACCURACY),
        },
        rounds=2,
    )
    what = f"RankSVM, 150 M pairs, {kind} columns"
    squared = Result(f"{what}, squared hinge", best["squared"], "allowed", 1.0, 1, f"to {ACCURACY:g}; {note}")
    passes = f"to {HINGE_ACCURACY:g}; {_passes(hinge)}"
    return [
        judged(squared),
        judged(Result(f"{what}, hinge", best["hinge"], "squared hinge", best["squared"], 0.1, passes)),
    ]


def _data(n_queries: int, n_docs: int, kind: str, rng):
    """Return strict orders of each query's documents, from a linear score and as much noise."""
    X = rng.normal(size=(n_queries * n_docs, N_FEATURES))
    if kind == "correlated":
        X = 0.3 * X @ rng.normal(size=(N_FEATURES, N_FEATURES)) / np.sqrt(N_FEATURES) + rng.normal(size=(len(X), 1))
    truth = X @ rng.normal(size=N_FEATURES)
    noisy = (truth / truth.std() + rng.normal(size=truth.size)).reshape(n_queries, n_docs)
    y = noisy.argsort(axis=1).argsort(axis=1).ravel()
    return X, y, np.repeat(np.arange(n_queries), n_docs)


def _fit(X, y, qid, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)
        return pk.LinearRanker(l2=L2, **parameters).fit(X, y, qid=qid)


def _passes(ranker) -> str:
    return f"{ranker.n_evaluations_} evaluations, {ranker.n_products_} products"


def _loosest(X, y, qid) -> tuple[float, str]:
    """Return the loosest tolerance with which the squared hinge is accurate enough, and its time."""
    least = _fit(X, y, qid, loss="squared-hinge", tol=1e-8).objective_
    for tol in TOLERANCES:
        ranker = _fit(X, y, qid, loss="squared-hinge", tol=tol)
        if ranker.objective_ <= least * (1.0 + ACCURACY):
            return tol, f"tol={tol:g}: {_passes(ranker)}"
    raise AssertionError(f"no tolerance comes within {ACCURACY:g} of the minimum")


def _against_linear_svc(X, y, qid) -> Result:
    """Compare with LinearSVC; the time to build its pairs is not counted."""
    pairs = _pairs(X, y, int(qid[-1]) + 1)
    sign = np.where(np.arange(len(pairs)) % 2 == 0, 1.0, -1.0)  # LinearSVC needs two classes
    signed = pairs * sign[:, None]
    svc = _faster_svc(pairs, signed, sign, _fit(X, y, qid, loss="squared-hinge", tol=1e-8).objective_)
    tol, note = _loosest(X, y, qid)
    best = best_in_turns(
        {
            "ours": lambda: _fit(X, y, qid, loss="squared-hinge", tol=tol),
            "svc": lambda: _fit_svc(svc, signed, sign),
        },
        rounds=2,
    )
    what = f"RankSVM, {len(pairs):,} pairs, squared hinge"
    variant = f"to {ACCURACY:g}; LinearSVC dual={svc.dual}, tol={svc.tol:g}; ours {note}"
    return judged(Result(what, best["ours"], "LinearSVC on pairs", best["svc"], 100, variant))


def _pairs(X, y, n_queries: int) -> np.ndarray:
    """Return the differences, better document minus worse one, of all pairs of all queries."""
    blocks = []
    for rows, labels in zip(X.reshape(n_queries, -1, N_FEATURES), y.reshape(n_queries, -1), strict=True):
        ranked = rows[np.argsort(-labels)]
        better, worse = np.triu_indices(len(ranked), 1)
        blocks.append(ranked[better] - ranked[worse])
    return np.concatenate(blocks)


def _faster_svc(pairs, signed, sign, least: float):
    """Return the faster of LinearSVC's two solvers, each with the loosest tolerance that is accurate enough."""
    from sklearn.svm import LinearSVC

    fastest, chosen = float("inf"), None
    for dual in (False, True):
        for tol in TOLERANCES:
            svc = LinearSVC(
                C=1.0 / (L2 * len(pairs)), dual=dual, tol=tol, fit_intercept=False, max_iter=10_000, random_state=0
            )
            start = time.perf_counter()
            coef = _fit_svc(svc, signed, sign).coef_.ravel()
            seconds = time.perf_counter() - start
            value = 0.5 * L2 * coef @ coef + np.mean(np.maximum(0.0, 1.0 - pairs @ coef) ** 2)
            is_near = value <= least * (1.0 + ACCURACY)
            if is_near and seconds < fastest:
                fastest, chosen = seconds, svc
            if is_near or seconds > fastest:
                break
    assert chosen is not None, "LinearSVC is not accurate enough"
    return chosen


def _fit_svc(svc, signed, sign):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return svc.fit(signed, sign)
