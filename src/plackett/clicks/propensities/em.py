"""Propensities by EM on counts: with a model of features for the attractiveness, and with trust bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.clicks.models.ascent import LEAST, Ascent, ascend
from plackett.clicks.propensities.counts import Counts

RIDGE = 1e-3  # per standardised feature, for features that separate
NEWTON_STEPS = 50

Fit = Callable[[np.ndarray, np.ndarray], np.ndarray]  # expected attractions and others of each pair -> attractiveness


class Start(NamedTuple):
    """Where an ascent begins: parameters of ranks and of pairs."""

    globals: np.ndarray
    pairs: np.ndarray


def logistic_fit(features: np.ndarray) -> Fit:
    """Return the M-step of a logistic model of standardised features, which begins where the last one ended."""
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    design = np.column_stack([np.ones(len(features)), scaled])
    coef = np.zeros(design.shape[1])
    ridge = np.append(0.0, np.full(features.shape[1], RIDGE))

    def loss(coef: np.ndarray, yes: np.ndarray, no: np.ndarray) -> float:
        logit = design @ coef
        return float((yes * np.logaddexp(0, -logit) + no * np.logaddexp(0, logit)).sum() + (ridge * coef**2).sum() / 2)

    def chances() -> np.ndarray:
        return np.clip(1 / (1 + np.exp(-np.clip(design @ coef, -30, 30))), LEAST, 1 - LEAST)

    def fit(yes: np.ndarray, no: np.ndarray) -> np.ndarray:
        nonlocal coef
        now = loss(coef, yes, no)
        for _ in range(NEWTON_STEPS):
            rate = chances()
            gradient = design.T @ (yes - (yes + no) * rate) - ridge * coef
            hessian = (design * ((yes + no) * rate * (1 - rate))[:, None]).T @ design + np.diag(ridge)
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
            size = 1.0
            while size > 1e-6 and not loss(coef + size * step, yes, no) <= now:
                size /= 2
            if size <= 1e-6 or np.abs(step).max() < 1e-8:
                break
            coef = coef + size * step
            now = loss(coef, yes, no)
        return chances()

    return fit


def classifier_fit(model: Any, features: np.ndarray) -> Fit:
    """Return the M-step of a classifier with ``fit(X, y, sample_weight=)`` and ``predict_proba(X)``."""
    with importing:
        from sklearn.base import clone

    def fit(yes: np.ndarray, no: np.ndarray) -> np.ndarray:
        labels = np.repeat([1, 0], len(features))
        fitted = clone(model).fit(np.concatenate([features, features]), labels, sample_weight=np.append(yes, no))
        return np.clip(np.asarray(fitted.predict_proba(features))[:, 1], LEAST, 1 - LEAST)

    return fit


def regression_em(
    counts: Counts, fit: Fit, start: Start | None, *, max_iter: int, tol: float
) -> tuple[Ascent, np.ndarray]:
    """Return the examination probabilities of all ranks but the first, and the attractiveness of pairs (wang2018a)."""
    shown, by_rank = counts.by_pair(counts.shown), counts.by_rank(counts.shown)
    rates = np.clip(counts.by_rank(counts.clicks) / np.maximum(1, by_rank), LEAST, 1)
    begin = np.clip(rates[1:] / rates[0], 0.05, 0.95) if start is None else start.globals
    pairs = np.full(counts.n_pairs, 0.5) if start is None else start.pairs.copy()

    def split(looks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        look, attraction = np.append(1.0, looks)[counts.rank], pairs[counts.pair]
        return look, attraction, 1 - look * attraction

    def step(looks: np.ndarray) -> tuple[float, np.ndarray]:
        look, attraction, skip = split(looks)
        yes = counts.by_pair(counts.clicks + counts.skips * (1 - look) * attraction / skip)
        pairs[...] = fit(yes, np.maximum(shown - yes, 0.0))
        look, attraction, skip = split(looks)
        looked = counts.by_rank(counts.clicks + counts.skips * look * (1 - attraction) / skip)
        value = (counts.clicks * np.log(look * attraction) + counts.skips * np.log(skip)).sum()
        return float(value), np.clip(looked / np.maximum(1, by_rank), LEAST, 1 - LEAST)[1:]

    gain = 0.01 * tol * by_rank[0]
    return ascend(step, begin, [pairs], max_iter=max_iter, tol=tol, least_gain=gain), pairs


def trust_em(counts: Counts, start: Start | None, *, max_iter: int, tol: float) -> tuple[Ascent, np.ndarray]:
    """Return the click probabilities of relevant and other documents at each rank, and P(relevant) of each pair.

    Relevance is a hidden state of each impression (agarwal2019a). The likelihood does not change if P(relevant) is
    shifted and scaled and the probabilities accordingly; ``trust_gauge`` chooses one solution.
    """
    by_rank = counts.by_rank(counts.shown)
    rates = np.clip(counts.by_rank(counts.clicks) / np.maximum(1, by_rank), LEAST, 1)
    begin = np.clip(np.append(2 * rates, 0.5 * rates), LEAST, 0.95) if start is None else start.globals
    pairs = np.full(counts.n_pairs, 0.5) if start is None else start.pairs.copy()
    n = counts.n_ranks

    def step(chances: np.ndarray) -> tuple[float, np.ndarray]:
        trusted, doubted = chances[:n][counts.rank], chances[n:][counts.rank]
        pairs[...] = _best_relevance(counts, trusted - doubted, doubted, pairs)
        relevance = pairs[counts.pair]
        click = doubted + (trusted - doubted) * relevance
        value = (counts.clicks * np.log(click) + counts.skips * np.log1p(-click)).sum()
        clicked = counts.clicks * trusted * relevance / click
        skipped = counts.skips * (1 - trusted) * relevance / (1 - click)
        yes, all_yes = counts.by_rank(clicked), counts.by_rank(clicked + skipped)
        no, all_no = counts.by_rank(counts.clicks - clicked), counts.by_rank(counts.shown - clicked - skipped)
        update = np.append(yes, no) / np.maximum(np.append(all_yes, all_no), 1e-300)
        return float(value), np.clip(update, LEAST, 1 - LEAST)

    gain = 0.01 * tol * by_rank[0]
    return ascend(step, begin, [pairs], max_iter=max_iter, tol=tol, least_gain=gain), pairs


def _best_relevance(counts: Counts, a: np.ndarray, b: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the P(relevant) of each pair that maximises the likelihood: concave, Newton's method in a bracket."""
    low, high = np.full(counts.n_pairs, LEAST), np.full(counts.n_pairs, 1 - LEAST)
    for _ in range(NEWTON_STEPS):
        click = b + a * pairs[counts.pair]
        slope = counts.by_pair(a * (counts.clicks / click - counts.skips / (1 - click)))
        curvature = counts.by_pair(a**2 * (counts.clicks / click**2 + counts.skips / (1 - click) ** 2))
        low, high = np.where(slope > 0, pairs, low), np.where(slope > 0, high, pairs)
        best = pairs + slope / np.maximum(curvature, 1e-300)
        margin = 0.02 * (high - low)  # so that pairs with a maximum at a bound come there in a few steps
        best = np.where((best > low) & (best < high), best, np.clip(best, low + margin, high - margin))
        move = np.abs(best - pairs).max(initial=0.0)
        pairs = best
        if move < 1e-7:
            break
    return pairs


def trust_gauge(trusted: np.ndarray, doubted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a and b of the solution with a_1 + b_1 = 1 and the least b, which is 0 at one rank.

    With P(relevant) = s + t x the probability a P + b is (a t) x + (b + a s): the same clicks for every s and t.
    """
    a = trusted - doubted
    if not (a > 0).all():
        return np.full(a.size, np.nan), np.full(a.size, np.nan)
    b = doubted - a * (doubted / a).min()
    return a * (1 - b[0]) / a[0], b
