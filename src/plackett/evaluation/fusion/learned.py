"""Weights of runs, learned from judged queries and pulled towards the run in production.

A fused list is a weighted sum of min-max scores or of reciprocal ranks, the two families that engines have. Candidates
lie on lines from the baseline alone to other weights: each of the best runs alone, and the best two, three, five or all
runs with equal weights. A candidate's bound is its mean gain over the baseline minus ``strength`` standard errors of
that mean, over the training queries and one more that loses as much as any of them changed; the candidate with the
largest bound is taken. The baseline's bound is 0, so that few judgements, whose gains have large errors, change little.
This is done on resamples of the queries, and the weights are their mean, in the family that most of them take: a single
choice changes with a few queries, and a mixture rarely loses as much as another run alone. The strength is chosen by
cross-validation within the training queries; of equal ones, the strongest. Few queries cannot tell strengths apart, and
take ``FEW_STRENGTH``. All of this was settled on made runs (``made_runs`` in benchmarks/fusion.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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
FEW_STRENGTH = 1.0
RESAMPLES = 50
INNER_FOLDS = 5
LEAST_INNER = 50  # training queries for it


class Weighting(NamedTuple):
    """A family of fused lists, and the weight of each run; weights sum to 1."""

    family: str
    weights: np.ndarray


class WeightLearner:
    """Learns weights from some of the judged queries of a pool; ``baseline`` is the place of the run in production."""

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

    def values(self, weighting: Weighting, places: np.ndarray | None = None) -> np.ndarray:
        """Return the measure of each judged query, higher is better; computed once for each weighting.

        Of a new weighting ``places``, ascending, takes only those queries, and the values are not kept.
        """
        key = (weighting.family, weighting.weights.tobytes())
        if key in self._values:
            return self._values[key] if places is None else self._values[key][places]
        sizes: np.ndarray = np.diff(self._indptr)
        own: Any = slice(None) if places is None else places
        rows: Any = own if places is None else np.repeat(np.isin(np.arange(sizes.size), places), sizes)
        indptr = np.append(0, np.cumsum(sizes[own]))
        scores = weighted_sum(self._own_parts[weighting.family][:, rows], weighting.weights)
        lists = JudgedLists(self._labels[rows], scores, indptr, docid=self._docid[rows], n_retrieved=self._n_found[own])
        values = self.measure.values(lists) * (1.0 if self.measure.higher_is_better else -1.0)
        if places is None:
            self._values[key] = values
        return values

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
            return FEW_STRENGTH
        fold = np.random.default_rng(0).permutation(np.arange(train.size) % INNER_FOLDS)
        held_out = np.empty((len(STRENGTHS), train.size))
        for number in range(INNER_FOLDS):
            taken = self._take(train[fold != number], STRENGTHS)
            for place, weighting in enumerate(taken):
                held_out[place, fold == number] = self.values(weighting, train[fold == number])
        return STRENGTHS[int(np.argmax(np.round(np.nanmean(held_out, axis=1), 12)))]

    def _take(self, train: np.ndarray, strengths: Sequence[float]) -> list[Weighting]:
        """Return the mean of the weights that resamples of the queries take, for each strength."""
        candidates = self._candidates(train)
        base = self.values(candidates[0])[train]
        gains = np.array([self.values(candidate)[train] - base for candidate in candidates])
        gains = gains[:, ~np.isnan(gains).any(axis=0)]
        n = gains.shape[1]
        if n < 2:
            return [candidates[0]] * len(strengths)
        counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES).T
        # most queries do not change, so that ten may miss the losses: one more loses as much as any changed
        lost = abs(gains).max(axis=1, keepdims=True)
        means, squares = (gains @ counts - lost) / (n + 1), (gains**2 @ counts + lost**2) / (n + 1)
        errors = np.sqrt(np.maximum(squares - means**2, 0.0) / n)
        is_rrf = np.array([candidate.family == "rrf" for candidate in candidates])
        weights, answer = np.array([candidate.weights for candidate in candidates]), []
        for strength in strengths:
            bounds = np.round(means - strength * errors, 12)  # of equal ones the nearest to the baseline
            moved = [place for place in bounds.argmax(axis=0) if place]
            family = FAMILIES[int(2 * is_rrf[moved].sum() > len(moved))]
            bounds[1:][is_rrf[1:] != (family == "rrf")] = -np.inf
            answer.append(Weighting(family, weights[bounds.argmax(axis=0)].mean(axis=0)))
        return answer

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
        parts = np.full(pool.scores.shape, np.nan)
        for place in range(len(pool.names)):
            rows, own = normalized(pool, place, "min-max")
            parts[place, rows] = own
        return parts
    return np.where(pool.is_retrieved, 1.0 / (constant + pool.ranks), np.nan)


def weighted_sum(parts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the runs, in their order."""
    scores = np.zeros(parts.shape[1])
    for weight, part in zip(weights.tolist(), parts, strict=True):
        if weight:
            scores += weight * part
    return scores
