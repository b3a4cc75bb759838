"""Estimates from clicks over logging probabilities: whole lists, documents at ranks, prefixes, linear rewards.

The value is the expected sum of discounts of the clicks that users would make on the new ranking: nothing is assumed
about how they examine a list, except the assumption of the estimator about the documents that a click depends on.
"""

from __future__ import annotations

import numpy as np

from plackett._threads import one_blas_thread
from plackett.clicks.counterfactual.discounts import Discount
from plackett.clicks.counterfactual.policy import MOST_DOCS, SCORES, SHUFFLED, LoggingPolicy, joint_chances
from plackett.clicks.counterfactual.ranking import Places, Ranking
from plackett.clicks.counterfactual.terms import Ratio, Terms, by_session, prefix_products, session_sums, sums_below
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.counts import Counts, count_pairs, session_groups
from plackett.validation import count_of

LIST, ITEM_POSITION, RIPS, CASCADE_DR, PSEUDO_INVERSE = "list", "item-position", "rips", "cascade-dr", "pseudo-inverse"
BY_LOGGING = (LIST, ITEM_POSITION, RIPS, CASCADE_DR, PSEUDO_INVERSE)
SHRINKAGE = 5.0  # expected clicks that the mean is worth in the click rate of a document


def slate_terms(
    log: ClickLog,
    ranking: Ranking,
    discount: Discount,
    policy: LoggingPolicy,
    estimator: str,
    *,
    of_session: bool,
    is_normalised: bool,
    seed: int,
) -> Terms:
    """Return the terms of an estimate. With ``of_session`` the new ranking orders each list, else the whole query."""
    n_ranks = log.longest
    weights_of_rank = discount.weights
    if ranking.scores is None:
        chance = np.ones(log.n_shown)
    elif estimator in (ITEM_POSITION, PSEUDO_INVERSE):
        chance = policy.marginal(log) if estimator == ITEM_POSITION or policy.kind == SHUFFLED else np.ones(log.n_shown)
    else:
        chance = policy.step(log)
    tables = None
    if estimator == PSEUDO_INVERSE and ranking.scores is not None and policy.kind != SHUFFLED:
        tables = _inverse_tables(log, ranking, policy, n_ranks)
    baselines = _Baselines(log, ranking, discount, of_session, seed) if estimator == CASCADE_DR else None

    def work(part: ClickLog, sessions: slice, rows: slice) -> list[np.ndarray]:
        place, length = part.rank.astype(np.int64) - 1, np.diff(part.indptr)
        places = ranking.in_sessions(part) if of_session else ranking.places.of(part.pair)
        own = _weights(part, places, place, chance[rows], estimator, ranking.scores is None, tables)
        value = np.where(part.click, weights_of_rank[place], 0.0)
        gain = value * own
        total = session_sums(part, gain)
        use = np.abs(gain)
        if baselines is not None:
            total = total + baselines.correction(part, sessions, places, place, own)
        share = weights_of_rank[place] / session_sums(part, weights_of_rank[place]).repeat(length).clip(1e-300)
        columns = [total, session_sums(part, use), session_sums(part, use**2), session_sums(part, share * own)]
        low, high = _bounds(part, chance[rows], estimator, own, ranking.scores is None, tables)
        columns += [session_sums(part, end * weights_of_rank[place]) for end in (low, high)]
        if is_normalised:
            padded = np.zeros((2, len(part), n_ranks))
            session = np.repeat(np.arange(len(part)), length)
            padded[0, session, place], padded[1, session, place] = gain, own
            columns += [padded[0], padded[1]]
        return columns

    total, weight, square, covered, low, high, *more = by_session(log, work)
    ratios = _normalised(more[0], more[1], np.diff(log.indptr)) if is_normalised else [Ratio(total)]
    return Terms(ratios, weight, square, covered, low, high)


def _normalised(gains: np.ndarray, weights: np.ndarray, lengths: np.ndarray) -> list[Ratio]:
    """Return the ratios of each rank: gains over weights, times the share of lists that reach it."""
    ranks = np.flatnonzero(weights.sum(axis=0) > 0)
    return [Ratio(gains[:, rank] * float((lengths > rank).mean()), weights[:, rank]) for rank in ranks]


def _weights(
    part: ClickLog,
    places: Places,
    place: np.ndarray,
    chance: np.ndarray,
    estimator: str,
    is_logged: bool,
    tables: np.ndarray | None,
) -> np.ndarray:
    """Return the weight of each row: its probability under the new ranking over that under the logging policy."""
    if is_logged:
        return np.ones(place.size)
    if estimator == ITEM_POSITION:
        return places.chance(place) / chance
    if estimator == PSEUDO_INVERSE:
        length = np.diff(part.indptr)
        if tables is not None:
            return np.repeat(session_sums(part, tables[part.pair, place]), length)
        # all orders equally likely: the inverse of the second moments of the order in closed form
        met = session_sums(part, places.chance(place))
        return np.repeat((length - 1) * met - (length - 2), length)
    weight = prefix_products(part, places.next_chance(place) / chance)
    return _last(part, weight) if estimator == LIST else weight


def _bounds(
    part: ClickLog, chance: np.ndarray, estimator: str, own: np.ndarray, is_logged: bool, tables: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest weight that each row may have, by the smallest probabilities of the log."""
    nothing = np.zeros_like(own)
    if is_logged:
        return nothing, own
    if estimator == PSEUDO_INVERSE:
        length = np.repeat(np.diff(part.indptr), np.diff(part.indptr))
        if tables is not None:
            return np.minimum(own, 0.0), np.maximum(own, 0.0)
        return np.minimum(2.0 - length, 0.0), length * (length - 1.0) - (length - 2.0)
    if estimator == ITEM_POSITION:
        return nothing, 1 / chance
    largest = prefix_products(part, 1 / chance)
    return nothing, _last(part, largest) if estimator == LIST else largest


def _last(part: ClickLog, values: np.ndarray) -> np.ndarray:
    return np.repeat(values[part.indptr[1:] - 1], np.diff(part.indptr))


class _Baselines:
    """Expected clicks from each rank of the new ranking on, by click rates of ranks and of documents.

    Each session uses rates of the other half of the log, so that its own clicks do not enter, and the estimate stays
    unbiased whatever the rates are.
    """

    def __init__(self, log: ClickLog, ranking: Ranking, discount: Discount, of_session: bool, seed: int):
        self.discount, self.ranking, self.of_session = discount, ranking, of_session
        self.half = np.zeros(len(log), dtype=np.int8)
        halves = list(session_groups(log, 2, seed))
        self.half[halves[1]] = 1
        others = [count_pairs(log[sessions], log.longest) for sessions in halves[::-1]]
        self.rates = [_click_rates(one) for one in others]  # of half 0: those of half 1
        self.tails = None if of_session else [self._by_query(log, *rates) for rates in self.rates]

    def _by_query(self, log: ClickLog, by_rank: np.ndarray, by_doc: np.ndarray) -> np.ndarray:
        """Return sums of expected clicks over the first 0, 1, … ranks of each query."""
        places, n_ranks = self.ranking.places, by_rank.size
        values = np.zeros((len(log.queries), n_ranks + 1))
        size = np.maximum(places.stop - places.start, 1)
        for rank in range(n_ranks):
            is_there = (places.start <= rank) & (rank < places.stop)
            mean = np.bincount(log.pair_query, np.where(is_there, by_doc / size, 0.0), len(log.queries))
            values[:, rank + 1] = mean * by_rank[rank] * self.discount.weights[rank]
        return np.cumsum(values, axis=1)

    def _by_session(self, part: ClickLog, places: Places, by_rank: np.ndarray, by_doc: np.ndarray) -> np.ndarray:
        """Return the expected clicks from each row's rank on, in the new order of each list."""
        order = np.lexsort((places.start, np.repeat(np.arange(len(part)), np.diff(part.indptr))))
        start, size = places.start[order], (places.stop - places.start)[order]
        first = np.flatnonzero(np.arange(start.size) - part.indptr[:-1].repeat(np.diff(part.indptr)) == start)
        mean = np.repeat(np.add.reduceat(by_doc[part.pair[order]], first), size[first]) / size
        rank = part.rank - 1
        return sums_below(part, mean * by_rank[rank] * self.discount.weights[rank])

    def correction(
        self, part: ClickLog, sessions: slice, places: Places, place: np.ndarray, own: np.ndarray
    ) -> np.ndarray:
        """Return the sum over ranks of (weight above - weight) times what is expected from the rank on."""
        above = np.ones_like(own)
        above[1:] = own[:-1]
        above[part.indptr[:-1]] = 1.0
        half = np.repeat(self.half[sessions], np.diff(part.indptr))
        if self.ranking.scores is None:
            return np.zeros(len(part))
        if self.tails is None:
            tails = [self._by_session(part, places, *rates) for rates in self.rates]
            tail = np.where(half == 0, *tails)
        else:
            query = np.repeat(part.session_query, np.diff(part.indptr))
            length = np.repeat(np.diff(part.indptr), np.diff(part.indptr))
            tails = [sums[query, length] - sums[query, place] for sums in self.tails]
            tail = np.where(half == 0, *tails)
        return session_sums(part, (above - own) * tail)


def _click_rates(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Return click rates of ranks, and clicks over expected clicks of pairs, shrunk towards 1."""
    by_rank = counts.by_rank(counts.clicks) / np.maximum(counts.by_rank(counts.shown), 1)
    expected = counts.by_pair(counts.shown * by_rank[counts.rank])
    return by_rank, (counts.by_pair(counts.clicks) + SHRINKAGE) / (expected + SHRINKAGE)


def _inverse_tables(log: ClickLog, ranking: Ranking, policy: LoggingPolicy, n_ranks: int) -> np.ndarray:
    """Return, for each pair and rank, what it adds to the weight of a session (swaminathan2017).

    The weight of a list is the new ranking's vector of probabilities times the pseudo-inverse of the second moments of
    the logged lists, times the vector of the list.
    """
    if policy.kind != SCORES:
        raise ValueError(
            'estimator="pseudo-inverse" needs the joint probabilities of documents at two ranks: logging="shuffled" or '
            "LoggingPolicy.plackett_luce(...)."
        )
    bounds = np.searchsorted(log.pair_query, np.arange(len(log.queries) + 1))
    shortest, longest = np.full(len(log.queries), n_ranks), np.zeros(len(log.queries), dtype=np.int64)
    np.minimum.at(shortest, log.session_query, np.diff(log.indptr))
    np.maximum.at(longest, log.session_query, np.diff(log.indptr))
    table = np.zeros((log.n_pairs, n_ranks))
    for query in np.flatnonzero(longest).tolist():
        first, last, k = int(bounds[query]), int(bounds[query + 1]), int(longest[query])
        if last - first > MOST_DOCS or shortest[query] != k:
            raise ValueError(
                f"query {log.queries[query]!r} has {count_of(last - first, 'document')}, and lists of "
                f'{shortest[query]} to {k}; "pseudo-inverse" takes up to {MOST_DOCS} documents, and lists of one '
                "length per query."
            )
        size = (last - first) * k
        moments = joint_chances(policy.weights_of(log, query), k).reshape(size, size)
        places = ranking.places.of(slice(first, last))
        wanted = np.stack([places.chance(np.full(last - first, rank)) for rank in range(k)], axis=1)
        with one_blas_thread():
            solved = np.linalg.pinv(moments, hermitian=True) @ wanted.reshape(-1)
        table[first:last, :k] = solved.reshape(-1, k)
    return table
