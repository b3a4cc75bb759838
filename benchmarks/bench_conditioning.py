"""Count the passes over X that a fit needs to reach the optimum, if columns are badly scaled or redundant."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

import plackett as pk
from benchmarks.made_lists import graded, uneven_indptr
from benchmarks.timing import Result
from benchmarks.turns import judged

N_DOCS, N_FEATURES, RANK = 100_000, 136, 20
MOST_PASSES = 100
CLOSE = 1e-6  # relative distance at which the minimum counts as reached


def run() -> list[Result]:
    rng = np.random.default_rng(0)
    indptr = uneven_indptr(N_DOCS, rng)
    qid = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    results = []
    for kind, X, truth in (_scales(rng), _redundant(rng)):
        y = graded(truth, rng)
        tight = _fit(X, y, qid, solver="newton", tol=1e-8).objective_
        for solver in ("lbfgs", "newton"):
            ranker = _fit(X, y, qid, solver=solver, tol=1e-4)
            passes = ranker.n_evaluations_ + ranker.n_products_
            above = ranker.objective_ / tight - 1.0
            note = f"{above:.0e} above the minimum, {ranker.stop_reason_}"
            result = Result(f"{solver}, {kind}", passes, "allowed", MOST_PASSES, 1, note, "passes")
            results.append(judged(result) if above < CLOSE else _not_reached(result))
    return results


def _scales(rng):
    plain = rng.normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
    return (
        "scales over six decades",
        plain * np.geomspace(1e-3, 1e3, N_FEATURES, dtype=np.float32),
        plain @ rng.normal(size=N_FEATURES),
    )


def _redundant(rng):
    hidden = rng.normal(size=(N_DOCS, RANK))
    noise = 1e-3 * rng.normal(size=(N_DOCS, N_FEATURES))
    X = (hidden @ rng.normal(size=(RANK, N_FEATURES)) + noise).astype(np.float32)
    return f"{N_FEATURES} columns of rank {RANK}", X, hidden @ rng.normal(size=RANK)


def _fit(X, y, qid, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pk.exceptions.ConvergenceWarning)  # the note has the reason
        return pk.LinearRanker(loss="listmle", **parameters).fit(X, y, qid=qid)


def _not_reached(result: Result) -> Result:
    return replace(result, note=f"missed; {result.note}")
