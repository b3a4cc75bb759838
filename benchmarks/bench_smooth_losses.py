"""Compare losses over all pairs of a list with reading their matrices of pairs from memory.

The peer is a bound, not a program: the passes over n × n doubles that the formulas need, each at the speed at which one
core sums such a matrix. ApproxNDCG needs two (ranks, slope), NeuralNDCG with T iterations of its scaling 2 T + 2. The
aim is at most three times that: a ratio of 1/3.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.made_lists import LABEL_SHARES, uneven_indptr
from benchmarks.timing import Result, best_of
from benchmarks.turns import judged
from plackett.data.queries import QueryLists
from plackett.losses import ApproxMAP, ApproxMRR, ApproxNDCG, NeuralNDCG

N_DOCS, AIM = 100_000, 1 / 3
STREAMED = 2**25  # doubles, more than any cache holds
ITERATIONS = 50


def run() -> list[Result]:
    numbers = np.ones(STREAMED)
    per_entry = best_of(numbers.sum) / STREAMED
    results = []
    for what, lists in _lists():
        pairs = float((np.diff(lists.indptr).astype(float) ** 2).sum())
        scores, slope = np.random.default_rng(3).normal(size=lists.n_docs), np.empty(lists.n_docs)
        for loss, n_passes in (
            (ApproxNDCG(), 2),
            (ApproxMRR(), 2),
            (ApproxMAP(), 4),
            (NeuralNDCG(tol=0.0, max_iter=ITERATIONS), 2 * ITERATIONS + 2),
        ):
            loss.check_labels(lists)
            seconds = best_of(partial(loss.query_values, scores, lists, slope), 3)
            bound = n_passes * pairs * per_entry
            note = f"{seconds / pairs * 1e9:.3g} ns per pair"
            results.append(judged(Result(f"{loss!r}, {what}", seconds, f"{n_passes} passes", bound, AIM, note)))
    return results


def _lists() -> list[tuple[str, QueryLists]]:
    rng = np.random.default_rng(0)
    mixed = QueryLists(_labels(N_DOCS, rng), uneven_indptr(N_DOCS, rng))
    long = QueryLists(_labels(3000, rng), np.array([0, 3000]))
    graded = QueryLists(rng.integers(1, 5, 3000).astype(float), np.array([0, 3000]))
    return [(f"{N_DOCS:,} documents", mixed), ("a list of 3,000", long), ("a list of 3,000, all relevant", graded)]


def _labels(n_docs: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(5, p=LABEL_SHARES, size=n_docs).astype(np.float64)
