"""Weights of runs, learned from judged queries and pulled towards the run in production.

A fused list is a weighted sum of min-max scores or of reciprocal ranks, the two families that engines have. Candidates
lie on lines from the baseline alone to other weights: each of the best runs alone, and the best two, three, five or all
runs with equal weights. A candidate's bound is its mean gain over the baseline minus ``strength`` standard errors of
that mean, over the training queries and one more that loses as much as any of them changed; the candidate with the
largest bound is taken. The baseline's bound is 0, so that few judgements, whose gains have large errors, change little.
The strength is chosen by cross-validation within the training queries; of equal ones, the strongest. The strengths and
the additional query were settled on made runs (``made_runs`` in benchmarks/fusion.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.fusion.methods import RANK_CONSTANT, normalized
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure

FAMILIES = ("min-max", "rrf")
STEPS = 10  # of a line from the baseline to other weights
BEST_ALONE = 3  # runs that are tried alone
TOGETHER = (2, 3, 5)  # numbers of best runs that are tried with equal weights, beside all
STRENGTHS = (4.0, 2.0, 1.0, 0.5)  # from strong to weak
INNER_FOLDS = 5
LEAST_INNER = 2 * INNER_FOLDS  # training queries; with fewer the strength is 2


class Weighting(NamedTuple):
    """A family of fused lists, and the weight of each run; weights sum to 1."""

    family: str
    weights: np.ndarray


class WeightLearner:
    """Learns weights from some of the judged queries of a pool.

    Parameters
    ----------
    pool : PooledRuns
        With judgements.
    measure : Measure
    baseline : int
        The place of the run in production.
    """

    def __init__(self, pool: PooledRuns, measure: Measure, baseline: int):
        self.pool, self.measure, self.baseline = pool, measure, baseline
        self.parts = {family: parts_of(pool, family) for family in FAMILIES}
        self.n_runs = len(pool.names)
        judged = np.unique(pool.query[~np.isnan(pool.labels)])
        self.queries = judged[np.argsort(pool.ids[judged], kind="stable")]  # whatever the order of the files
        is_found = np.asarray(pool.is_retrieved.any(axis=0))
        place = np.full(pool.ids.size, -1)
        place[self.queries] = np.arange(self.queries.size)
        rows = np.flatnonzero(place[pool.query] >= 0)
        by_text = -np.unique(pool.docid[rows], return_inverse=True)[1]
        rows = rows[np.lexsort((by_text, ~is_found[rows], place[pool.query[rows]]))]
        if measure.rules.ties == "trec":  # the rows are in that order, so that no text is compared again
            self.measure = measure.under(replace(measure.rules, ties="stable"))
        self._indptr = np.searchsorted(place[pool.query[rows]], np.arange(self.queries.size + 1))
        self._n_found = np.add.reduceat(is_found[rows].astype(np.int64), self._indptr[:-1])
        self._labels, self._docid = np.nan_to_num(pool.labels[rows]), pool.docid[rows]
        self._own_parts = {family: np.nan_to_num(parts[:, rows]) for family, parts in self.parts.items()}
        self._values: dict[tuple[str, bytes], np.ndarray] = {}

    def values(self, weighting: Weighting) -> np.ndarray:
        """Return the measure of each judged query, higher is better; computed once for each weighting."""
        key = (weighting.family, weighting.weights.tobytes())
        if key not in self._values:
            scores = weighted_sum(self._own_parts[weighting.family], weighting.weights)
            lists = JudgedLists(self._labels, scores, self._indptr, docid=self._docid, n_retrieved=self._n_found)
            sign = 1.0 if self.measure.higher_is_better else -1.0
            self._values[key] = sign * self.measure.values(lists)
        return self._values[key]

    @property
    def baseline_alone(self) -> Weighting:
        return Weighting(FAMILIES[0], np.eye(self.n_runs)[self.baseline])

    def scores(self, weighting: Weighting) -> np.ndarray:
        """Return the scores of all rows of the pool."""
        return weighted_sum(np.nan_to_num(self.parts[weighting.family]), weighting.weights)

    def fit(self, train: np.ndarray, strength: float | None = None) -> Weighting:
        """Return the weighting learned from the queries at the places ``train`` of ``queries``."""
        if strength is None:
            strength = self._strength(train)
        return self._take(train, [strength])[0]

    def _strength(self, train: np.ndarray) -> float:
        if train.size < LEAST_INNER:
            return STRENGTHS[1]
        fold = np.random.default_rng(0).permutation(np.arange(train.size) % INNER_FOLDS)
        held_out = np.empty((len(STRENGTHS), train.size))
        for number in range(INNER_FOLDS):
            taken = self._take(train[fold != number], STRENGTHS)
            for place, weighting in enumerate(taken):
                held_out[place, fold == number] = self.values(weighting)[train[fold == number]]
        return STRENGTHS[int(np.argmax(np.round(np.nanmean(held_out, axis=1), 12)))]

    def _take(self, train: np.ndarray, strengths: Sequence[float]) -> list[Weighting]:
        """Return the candidate with the largest bound for each strength; of equal ones the nearest to the baseline."""
        candidates = self._candidates(train)
        base = self.values(candidates[0])[train]
        gains = np.array([self.values(candidate)[train] - base for candidate in candidates])
        gains = gains[:, ~np.isnan(gains).any(axis=0)]
        if gains.shape[1] < 2:
            return [candidates[0]] * len(strengths)
        # most queries do not change, so that ten may miss the losses: one more loses as much as any changed
        gains = np.column_stack([gains, -abs(gains).max(axis=1)])
        means, errors = gains.mean(axis=1), gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
        return [candidates[int(np.argmax(np.round(means - strength * errors, 12)))] for strength in strengths]

    def _candidates(self, train: np.ndarray) -> list[Weighting]:
        """Return the baseline alone, then the candidates by their distance from it."""
        vertices = np.eye(self.n_runs)
        start = self.baseline_alone.weights
        alone = [np.nanmean(self.values(Weighting(FAMILIES[0], vertex))[train]) for vertex in vertices]
        order = np.argsort(-np.nan_to_num(alone, nan=-np.inf), kind="stable")
        ends = [vertices[place] for place in order[:BEST_ALONE] if place != self.baseline]
        ends += [vertices[order[:n]].mean(axis=0) for n in (*TOGETHER, self.n_runs) if n <= self.n_runs]
        ends = list({end.tobytes(): end for end in ends}.values())
        return [self.baseline_alone] + [
            Weighting(family, (1 - step / STEPS) * start + step / STEPS * end)
            for step in range(1, STEPS + 1)
            for family in FAMILIES
            for end in ends
        ]


def parts_of(pool: PooledRuns, family: str, constant: float = RANK_CONSTANT) -> np.ndarray:
    """Return what each run adds to the score of each document with weight 1; NaN where it lacks the document."""
    if family == "min-max":
        return normalized(pool, "min-max")
    return np.where(pool.is_retrieved, 1.0 / (constant + pool.ranks), np.nan)


def weighted_sum(parts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the runs, in their order."""
    scores = np.zeros(parts.shape[1])
    for weight, part in zip(weights.tolist(), parts, strict=True):
        if weight:
            scores += weight * part
    return scores
