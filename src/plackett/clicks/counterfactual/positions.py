"""Estimates from clicks over propensities: plain, self-normalised, clipped and doubly robust.

The relevance of a document is the chance of a click at rank 1, or P(relevant) with trust bias. The value of a ranking
is the sum of relevance times discount over the documents, the mean over sessions. With candidates "session" the new
ranking orders the documents of each list, and a click counts 1 / a of its rank. With "query" it orders all documents of
the query, and a click counts 1 / ρ, where ρ is the mean of a over all sessions of the query, 0 where the document was
not shown (oosterhuis2020). That ρ comes from the log, and the terms are those of a ratio, linearised.
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

    ``mean`` is ρ, the mean of a over the sessions of the query; ``relevance`` the estimate by clicks over ρ.
    """

    mean: np.ndarray
    relevance: np.ndarray


def exposure_of(log: ClickLog, counts: Counts, bias: Bias) -> Exposure:
    """Return the exposure of every pair."""
    n_sessions = np.maximum(np.bincount(log.session_query, minlength=len(log.queries)), 1)[log.pair_query]
    total = counts.by_pair(counts.shown * bias.a[counts.rank])
    clicks = counts.by_pair(counts.clicks - counts.shown * bias.b[counts.rank])
    return Exposure(total / n_sessions, np.where(total > 0, clicks / np.where(total > 0, total, 1.0), 0.0))


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

    A document adds ``discount * (g + (c - b - a g) / max(ρ, clip))``. g is the regression (doubly robust) or 0, and
    where ρ comes from the log and is not clipped, the estimate of the relevance itself, because of the linearisation.
    """
    sums, counted = discount.sums, discount.counted
    guess = np.zeros(log.n_pairs) if regression is None else regression
    center, uncut = guess, guess
    if exposure is not None:
        center = np.where((exposure.mean >= clip) & (exposure.mean > 0), exposure.relevance, guess)
        uncut = np.where(exposure.mean > 0, exposure.relevance, guess)
    by_pair = ranking.places.averaged(sums)
    error = np.maximum(np.abs(guess), np.abs(1 - guess)) if regression is not None else np.ones(log.n_pairs)
    added = np.append(0.0, np.cumsum(discount.added))
    mass = counted[ranking.lengths]

    def of_query(values: np.ndarray) -> np.ndarray:
        return np.bincount(log.pair_query, values, len(log.queries))

    of_queries = {}
    if exposure is not None:
        lost = 1 - exposure.mean / np.maximum(np.maximum(exposure.mean, clip), np.finfo(float).tiny)
        never_scored = sums[ranking.lengths] - of_query(by_pair)  # documents of a run that no list showed
        of_queries = {
            "base": of_query(by_pair * center),
            "uncut": of_query(by_pair * uncut),
            "norm": of_query(center),
            "unknown": of_query(by_pair * lost * error) + np.maximum(never_scored, 0.0),
            "covered": of_query(np.where(exposure.mean > 0, ranking.places.averaged(counted), 0.0)),
        }

    def work(part: ClickLog, sessions: slice, rows: slice) -> list[np.ndarray]:
        pair, click, rank = part.pair, part.click, part.rank - 1
        a, b = bias.a[rank], bias.b[rank]
        query, length = part.session_query, np.diff(part.indptr)
        if exposure is None:
            weight = ranking.in_sessions(part).averaged(sums)
            full = a
        else:
            weight, full = by_pair[pair], exposure.mean[pair]
        divisor = np.maximum(full, clip)
        own = center[pair]
        residual = (click - b - a * own) / divisor
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
        least = constant - session_sums(part, weight * (b + a * own) / divisor)
        columns = [total, session_sums(part, use), session_sums(part, use**2)]
        columns += [_share(covered, mass[query]), least, least + session_sums(part, weight / divisor), unknown]
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

    total, weight, square, covered, low, high, unknown, *more = by_session(log, work)
    norm = more.pop(0) if is_normalised else None
    if norm is not None and not norm.sum() > 0:
        raise ValueError('the clicks over propensities sum up to nothing; estimator="snips" divides by their sum.')
    if ranking.scores is None:
        covered = np.ones_like(covered)
    return Terms([Ratio(total, norm)], weight, square, covered, low, high, more.pop(0) if more else None, unknown)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.minimum(part / np.where(whole > 0, whole, 1.0), 1.0)
