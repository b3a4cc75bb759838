"""Estimates from clicks over logging probabilities: whole lists, documents at ranks, prefixes, linear rewards.

The value is the expected sum of discounts of the clicks that users would make on the new ranking: nothing is assumed
about how they examine a list, except the assumption of the estimator about the documents that a click depends on.
"""

from __future__ import annotations

import numpy as np

from plackett.clicks.counterfactual.discounts import Discount
from plackett.clicks.counterfactual.policy import LoggingPolicy
from plackett.clicks.counterfactual.ranking import Places, Ranking
from plackett.clicks.counterfactual.terms import Ratio, Terms, by_session, prefix_products, session_sums
from plackett.clicks.log import ClickLog

LIST, ITEM_POSITION, RIPS, PSEUDO_INVERSE = "list", "item-position", "rips", "pseudo-inverse"
BY_LOGGING = (LIST, ITEM_POSITION, RIPS, PSEUDO_INVERSE)


def slate_terms(
    log: ClickLog, ranking: Ranking, discount: Discount, policy: LoggingPolicy, estimator: str, *, of_session: bool
) -> Terms:
    """Return the terms of an estimate. With ``of_session`` the new ranking orders each list, else the whole query."""
    is_logged = ranking.scores is None
    if is_logged:
        chance = np.ones(log.n_shown)
    else:
        chance = policy.marginal(log) if estimator in (ITEM_POSITION, PSEUDO_INVERSE) else policy.step(log)

    def work(part: ClickLog, sessions: slice, rows: slice) -> list[np.ndarray]:
        place, length = part.rank.astype(np.int64) - 1, np.diff(part.indptr)
        places = ranking.in_sessions(part) if of_session else ranking.places.of(part.pair)
        own = np.ones(place.size) if is_logged else _weights(part, places, place, chance[rows], estimator)
        weights = discount.weights[place]
        gain = np.where(part.click, weights, 0.0) * own
        share = weights / session_sums(part, weights).repeat(length).clip(1e-300)
        use = np.abs(gain)
        return [session_sums(part, values) for values in (gain, use, use**2, share * own)]

    total, weight, square, covered = by_session(log, work)
    return Terms(Ratio(total), weight, square, covered)


def _weights(part: ClickLog, places: Places, place: np.ndarray, chance: np.ndarray, estimator: str) -> np.ndarray:
    """Return the weight of each row: its probability under the new ranking over that under the logging policy."""
    if estimator == ITEM_POSITION:
        return places.chance(place) / chance
    if estimator == PSEUDO_INVERSE:
        # all orders equally likely: the inverse of the second moments of the order in closed form (swaminathan2017)
        length = np.diff(part.indptr)
        met = session_sums(part, places.chance(place))
        return np.repeat((length - 1) * met - (length - 2), length)
    weight = prefix_products(part, places.next_chance(place) / chance)
    return _last(part, weight) if estimator == LIST else weight


def _last(part: ClickLog, values: np.ndarray) -> np.ndarray:
    return np.repeat(values[part.indptr[1:] - 1], np.diff(part.indptr))
