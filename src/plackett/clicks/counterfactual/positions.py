"""Estimates from clicks over propensities: plain, self-normalised, clipped and doubly robust.

The relevance of a document is the probability of a click at rank 1, or P(relevant) with trust bias. The value of a
ranking is the sum of relevance times discount over the documents, averaged over sessions. With candidates "session" the
new ranking orders the documents of each list, and a click counts 1 / a of its rank. With "query" it orders all
documents of the query, and a click counts 1 / ρ, where ρ is the mean of a over all sessions of the query, 0 where the
document was not shown (oosterhuis2020). That ρ comes from the log: the terms of sessions are then the pseudo-values of
a jackknife, with the mean of the estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.clicks.correction.estimates import Bias
from plackett.clicks.counterfactual.discounts import Discount
from plackett.clicks.counterfactual.ranking import Ranking
from plackett.clicks.counterfactual.terms import Ratio, Terms, by_session, session_sums
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.counts import Counts

IPS, SNIPS, CLIPPED, DR = "ips", "snips", "clipped", "dr"
BY_POSITION = (IPS, SNIPS, CLIPPED, DR)
SESSION, QUERY = "session", "query"


class Exposure(NamedTuple):
    """How pairs were shown, if a ranking orders all documents of a query.

    ``mean`` is ρ, the mean of a over the ``n_sessions`` of the query; ``relevance`` the estimate by clicks over ρ.
    """

    counts: Counts
    n_sessions: np.ndarray
    mean: np.ndarray
    relevance: np.ndarray


def exposure_of(log: ClickLog, counts: Counts, bias: Bias) -> Exposure:
    """Return the exposure of every pair."""
    n_sessions = np.maximum(np.bincount(log.session_query, minlength=len(log.queries)), 1)[log.pair_query]
    total = counts.by_pair(counts.shown * bias.a[counts.rank])
    clicks = counts.by_pair(counts.clicks - counts.shown * bias.b[counts.rank])
    relevance = np.where(total > 0, clicks / np.where(total > 0, total, 1.0), 0.0)
    return Exposure(counts, n_sessions, total / n_sessions, relevance)


class _Residuals:
    """What a click or a skip adds to an estimate of relevance, over the sessions of the query.

    Where ρ is not clipped, the estimate is a ratio of sums over sessions, and a session adds what the estimate would
    lose without it. ``excess`` is the mean of that over the sessions of the query.
    """

    def __init__(self, exposure: Exposure, bias: Bias, clip: float, guess: np.ndarray):
        self._bias, self._guess = bias, guess
        self._n, self._rho = exposure.n_sessions, exposure.mean
        self._is_ratio = (self._rho >= clip) & (self._rho > 0)
        self._divisor = np.maximum(self._rho, max(clip, np.finfo(float).tiny))
        self.center = np.where(self._is_ratio, exposure.relevance, guess)
        counts = exposure.counts
        clicks, skips = (self.of(counts.pair, counts.rank, hit) for hit in (1.0, 0.0))
        self.excess = counts.by_pair(counts.clicks * clicks + counts.skips * skips) / self._n
        self.excess[~self._is_ratio] = 0.0

    def of(self, pair: np.ndarray, rank: np.ndarray, click: np.ndarray | float) -> np.ndarray:
        """Return the residuals of rows, at ranks from 0."""
        a, b = self._bias.a[rank], self._bias.b[rank]
        own, n, rho = self.center[pair], self._n[pair], self._rho[pair]
        residual = click - b - a * own
        rest = n * rho - a  # exposure in the other sessions
        is_alone = rest <= 1e-9 * a
        without = np.where(is_alone, own - self._guess[pair], residual / np.where(is_alone, 1.0, rest))
        return np.where(self._is_ratio[pair], (n - 1) * without, residual / self._divisor[pair])


def position_terms(
    log: ClickLog,
    ranking: Ranking,
    discount: Discount,
    bias: Bias,
    *,
    clip: float,
    exposure: Exposure | None = None,
    regression: np.ndarray | None = None,
    is_normalised: bool = False,
) -> Terms:
    """Return the terms of an estimate. ``exposure`` is given where all documents of a query are candidates.

    A document adds ``discount * (g + (c - b - a g) / max(ρ, clip))``, where g is the regression (doubly robust) or 0.
    """
    sums, counted = discount.sums, discount.counted
    guess = np.zeros(log.n_pairs) if regression is None else regression
    residuals = None if exposure is None else _Residuals(exposure, bias, clip, guess)
    uncut = guess if exposure is None else np.where(exposure.mean > 0, exposure.relevance, guess)
    by_pair = ranking.places.averaged(sums)
    error = np.maximum(np.abs(guess), np.abs(1 - guess)) if regression is not None else np.ones(log.n_pairs)
    added = np.append(0.0, np.cumsum(discount.added))
    mass = counted[ranking.lengths]

    def of_query(values: np.ndarray) -> np.ndarray:
        return np.bincount(log.pair_query, values, len(log.queries))

    of_queries = {}
    if exposure is not None and residuals is not None:
        mean = residuals.center - residuals.excess
        lost = 1 - exposure.mean / np.maximum(np.maximum(exposure.mean, clip), np.finfo(float).tiny)
        never_scored = sums[ranking.lengths] - of_query(by_pair)  # documents of a run that no list showed
        of_queries = {
            "base": of_query(by_pair * mean),
            "uncut": of_query(by_pair * uncut),
            "norm": of_query(mean),
            "unknown": of_query(by_pair * lost * error) + np.maximum(never_scored, 0.0),
            "covered": of_query(np.where(exposure.mean > 0, ranking.places.averaged(counted), 0.0)),
        }

    def work(part: ClickLog, sessions: slice, rows: slice) -> list[np.ndarray]:
        pair, click, rank = part.pair, part.click, part.rank - 1
        a, b = bias.a[rank], bias.b[rank]
        query, length = part.session_query, np.diff(part.indptr)
        if exposure is None or residuals is None:
            weight, full, own = ranking.in_sessions(part).averaged(sums), a, guess[pair]
        else:
            weight, full, own = by_pair[pair], exposure.mean[pair], residuals.center[pair]
        divisor = np.maximum(full, clip)
        residual = (click - b - a * own) / divisor if residuals is None else residuals.of(pair, rank, click)
        if exposure is None:
            base, base_norm = session_sums(part, weight * own), session_sums(part, own)
            unknown = session_sums(part, weight * (1 - full / divisor) * error[pair])
            covered = session_sums(part, ranking.places.of(pair).averaged(counted))
        else:
            base, base_norm = of_queries["base"][query], of_queries["norm"][query]
            unknown, covered = of_queries["unknown"][query], of_queries["covered"][query]
        constant = base + added[np.minimum(length, added.size - 1)]
        total = constant + session_sums(part, weight * residual)
        use = np.where(click, weight / divisor, 0.0)
        columns = [total, session_sums(part, use), session_sums(part, use**2)]
        columns += [_share(covered, mass[query]), unknown]
        if is_normalised:
            columns.append(base_norm + session_sums(part, residual))
        if clip > 0:
            whole = uncut[pair]
            first = session_sums(part, weight * whole) if exposure is None else of_queries["uncut"][query]
            with np.errstate(divide="ignore", invalid="ignore"):
                rest = np.where(full > 0, (click - b - a * whole) / full, 0.0)
            columns.append(
                total - added[np.minimum(length, added.size - 1)] - first - session_sums(part, weight * rest)
            )
        return columns

    total, weight, square, covered, unknown, *more = by_session(log, work)
    norm = more.pop(0) if is_normalised else None
    if norm is not None and not norm.sum() > 0:
        raise ValueError('the clicks over propensities sum to 0; estimator="snips" divides by their sum.')
    if ranking.scores is None:
        covered = np.ones_like(covered)
    return Terms(Ratio(total, norm), weight, square, covered, more.pop(0) if more else None, unknown)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.minimum(part / np.where(whole > 0, whole, 1.0), 1.0)
