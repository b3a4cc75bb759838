"""Estimates of relevance from clicks and skips by pair and rank, with their variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.clicks.propensities.counts import Counts

BY_IMPRESSION, BY_SESSION = ("naive", "ips", "affine"), ("policy-aware", "dr")


class Bias(NamedTuple):
    """Click probability at each rank: ``a`` times the relevance plus ``b``."""

    a: np.ndarray
    b: np.ndarray


class Estimates(NamedTuple):
    """Estimates of pairs, as means over ``n`` impressions of each pair, or sessions of its query.

    ``clicked`` and ``skipped`` hold, for each cell of the counts, what one click or skip adds to the error of the
    estimate; ``absent`` what a session of the query without the pair adds. Divisors are those of single impressions
    (by cell), or of all impressions of a pair.
    """

    values: np.ndarray
    n: np.ndarray
    clicked: np.ndarray
    skipped: np.ndarray
    absent: np.ndarray
    exact: np.ndarray  # divisor of each cell before clipping
    divisor: np.ndarray  # and after

    def variance(self, counts: Counts) -> np.ndarray:
        """Return the sample variance of the means; NaN for means over one term."""
        squares = counts.by_pair(counts.clicks * self.clicked**2 + counts.skips * self.skipped**2)
        squares += (self.n - counts.by_pair(counts.shown)) * self.absent**2
        return _corrected(squares, self.n)

    def covariance(self, other: Estimates, counts: Counts) -> np.ndarray:
        """Return the covariance with other estimates from the same log."""
        products = counts.clicks * self.clicked * other.clicked + counts.skips * self.skipped * other.skipped
        return _corrected(counts.by_pair(products), np.minimum(self.n, other.n))


def by_impression(counts: Counts, bias: Bias, clip: float) -> Estimates:
    """Return the mean of ``(c - b) / max(a, clip)`` over the impressions of each pair."""
    a, b = bias.a[counts.rank], bias.b[counts.rank]
    divisor, n = np.maximum(a, clip), counts.by_pair(counts.shown)
    values = counts.by_pair((counts.clicks - counts.shown * b) / divisor) / n
    own, n_own = values[counts.pair], n[counts.pair]
    parts = ((1 - b) / divisor - own) / n_own, (-b / divisor - own) / n_own
    return Estimates(values, n, *parts, np.zeros_like(n), a, divisor)


def by_session(
    counts: Counts, bias: Bias, clip: float, n_sessions: np.ndarray, regression: np.ndarray | None = None
) -> Estimates:
    """Return ``R + mean of (c - b - a R) / rho`` over all sessions of the query, where R is a regression, or 0.

    a, b and c are 0 where a pair was not shown; ``rho`` is the mean of a, at least ``clip``. Where it is not clipped,
    the estimate is a ratio of two means, and its error that of the ratio.
    """
    a, b, n = bias.a[counts.rank], bias.b[counts.rank], n_sessions.astype(np.float64)
    base = np.zeros(counts.n_pairs) if regression is None else regression
    mean = counts.by_pair(counts.shown * a) / n
    rho = np.maximum(mean, clip)
    # in this form a regression has no share, not even by rounding, where rho is not clipped
    values = base * (1 - mean / rho) + counts.by_pair(counts.clicks - counts.shown * b) / n / rho
    center = np.where(mean < clip, base, values)
    expected = b + a * center[counts.pair]
    drift = (values - center) / n  # mean of the terms, 0 where rho is not clipped
    scale = (rho * n)[counts.pair]
    parts = (1 - expected) / scale - drift[counts.pair], -expected / scale - drift[counts.pair]
    return Estimates(values, n, *parts, -drift, mean[counts.pair], rho[counts.pair])


def _corrected(sums: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return sums of squared deviations over n (n - 1), given those over n², for n terms."""
    return np.where(n > 1, sums * n / np.maximum(n - 1, 1), np.nan)
