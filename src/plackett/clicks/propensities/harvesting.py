"""Propensities as ratios of click rates: shuffled lists, swaps and intervention harvesting."""

from __future__ import annotations

import numpy as np

from plackett.clicks.propensities.counts import Counts, shared_evidence

MAX_STEPS = 200
TINY = 1e-9  # share of a click added where a rank has none, so that the maximum is finite


def randomised(counts: Counts) -> np.ndarray:
    """Return the click rate at each rank over that at rank 1, of lists that are long enough; counts by length."""
    clicks, shown = np.zeros((2, counts.n_pairs, counts.n_ranks))
    clicks[counts.pair, counts.rank], shown[counts.pair, counts.rank] = counts.clicks, counts.shown
    # a shuffled list has the same documents at rank 1 and at rank r, but only lists of at least r documents have both
    clicks, shown = (np.cumsum(values[::-1], axis=0)[::-1] for values in (clicks, shown))
    ranks = np.arange(counts.n_ranks)
    at_rank = clicks[ranks + 1, ranks] / np.maximum(1, shown[ranks + 1, ranks])
    at_first = clicks[ranks + 1, 0] / np.maximum(1, shown[ranks + 1, 0])
    return np.divide(at_rank, at_first, out=np.full(ranks.size, np.nan), where=at_first > 0)


def swapped(counts: Counts) -> np.ndarray:
    """Return the click rate at each rank over that at rank 1, of the pairs that were shown at both."""
    clicks, _ = shared_evidence(counts)
    values = np.divide(clicks[:, 0], clicks[0], out=np.full(counts.n_ranks, np.nan), where=clicks[0] > 0)
    values[0] = 1.0
    return values


def harvested(clicks: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """Return the propensities that maximise the likelihood of ``shared_evidence``; all ranks must be connected.

    P(click at k) = p_k ρ_kk' for the pairs shown at k and k'. In the logarithms of p and of ρ the log-likelihood is
    concave: Newton's method, in which every ρ is eliminated.
    """
    n_ranks = len(clicks)
    if n_ranks == 1:
        return np.ones(1)
    one, other = np.nonzero(np.triu(clicks + clicks.T + skips + skips.T) > 0)
    rank = np.stack([one, other])
    yes = np.stack([clicks[one, other], clicks[other, one]])
    no = np.stack([skips[one, other], skips[other, one]])
    total = yes + no
    yes, no = yes + TINY * total, no + TINY * total
    p, rho = np.zeros(n_ranks), np.log(yes.sum(axis=0) / (yes + no).sum(axis=0))

    def value(p: np.ndarray, rho: np.ndarray) -> float:
        logit = p[rank] + rho
        return float((yes * logit + no * np.log(-np.expm1(logit))).sum()) if logit.max() < 0 else -np.inf

    now = value(p, rho)
    for _ in range(MAX_STEPS):
        odds = -1 / np.expm1(-(p[rank] + rho))  # minus the odds of a click
        slope, curvature = yes + no * odds, no * odds * (odds - 1)
        by_rho = curvature.sum(axis=0)
        share = curvature / by_rho
        gradient = np.bincount(rank.ravel(), (slope - share * slope.sum(axis=0)).ravel(), n_ranks)
        matrix = np.zeros((n_ranks, n_ranks))
        joint = curvature[0] * share[1]
        np.add.at(matrix, (rank[0], rank[0]), joint)
        np.add.at(matrix, (rank[1], rank[1]), joint)
        np.add.at(matrix, (rank[0], rank[1]), -joint)
        np.add.at(matrix, (rank[1], rank[0]), -joint)
        step = np.zeros(n_ranks)
        step[1:] = np.linalg.lstsq(matrix[1:, 1:], gradient[1:], rcond=None)[0]
        rho_step = (slope.sum(axis=0) - (curvature * step[rank]).sum(axis=0)) / by_rho
        size = 1.0
        while size > 1e-10 and not value(p + size * step, rho + size * rho_step) >= now:
            size /= 2
        if size <= 1e-10:
            break
        p, rho = p + size * step, rho + size * rho_step
        before, now = now, value(p, rho)
        if max(np.abs(step).max(), np.abs(rho_step).max()) < 1e-9 or now - before <= 1e-15 * abs(now):
            break
    return np.exp(p - p[0])
