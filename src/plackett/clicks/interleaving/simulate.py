"""Interleaved tests and A/B tests on simulated users, to plan a test and to compare methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from plackett._tables import Column, Table, aligned, json_value
from plackett.clicks.interleaving.fold import Fold
from plackett.clicks.interleaving.interleaver import Interleaver
from plackett.clicks.interleaving.methods import get_method
from plackett.clicks.interleaving.preference import POWER, Preference, preference_of
from plackett.clicks.simulate import grouped_scores
from plackett.clicks.users import BROWSING, CASCADE, User, get_user
from plackett.data.grouping import ranked_rows
from plackett.data.queries import Queries
from plackett.evaluation.betting import values_needed
from plackett.metrics.graded import ndcg
from plackett.validation import check_number, check_positive_int, check_seed

LONGEST = 100  # documents of a list that are given to the interleaver
AB_SESSIONS = 200_000  # from which the number of needed sessions is estimated
AB_MEASURES = ("clicks", "sessions with a click", "reciprocal rank of the first click")
LEAST_ERRORS = 2.0  # standard errors of a mean above which sessions are counted that would find it
NO_DOCUMENT = -1  # behind the end of a list


class AbTest(NamedTuple):
    """An A/B test by one measure of sessions: the means of both rankers, and the sessions that it needs in all."""

    measure: str
    first: float
    second: float
    sessions_needed: float
    sessions_needed_fixed: float


@dataclass(frozen=True)
class InterleavingSimulation:
    """An interleaved test of two rankers on simulated users, with A/B tests on the same users beside it.

    Attributes
    ----------
    method, user : str
        The method and the simulated user.
    n_sessions : int
        Sessions of the interleaved test.
    share_contested : float
        Share of the sessions whose lists differ.
    share_clicked : float
        Share of the sessions with a click on such a list.
    preference : Preference
        What the test found. Units are users.
    sessions_needed : float
        Estimated sessions for a power of 95 %, inspected after every session; NaN if the mean is within two standard
        errors of 0 in the sessions of this simulation.
    sessions_needed_fixed : float
        The same, inspected once at the end.
    ab : tuple of AbTest
        A/B tests, half of the sessions for each ranker, by several measures. Numbers of sessions as above, estimated
        from 200,000 sessions.
    ndcg : tuple of float
        Mean NDCG at k of both rankers by the labels: the truth.
    values, counts : ndarray
        The values of the units, and how often they occur.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> found = pk.clicks.simulate_interleaving(lists, {"a": lists.X[:, 0], "b": lists.X[:, 1]}, 500)
    >>> found.method, found.n_sessions, found.preference.n_units <= 500
    ('team-draft', 500, True)
    """

    method: str
    user: str
    n_sessions: int
    share_contested: float
    share_clicked: float
    preference: Preference
    sessions_needed: float
    sessions_needed_fixed: float
    ab: tuple[AbTest, ...]
    ndcg: tuple[float, float]
    values: np.ndarray
    counts: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without those of the units."""
        return json_value(
            {
                "method": self.method,
                "user": self.user,
                "n_sessions": self.n_sessions,
                "share_contested": self.share_contested,
                "share_clicked": self.share_clicked,
                "ndcg": dict(zip((self.preference.first, self.preference.second), self.ndcg, strict=True)),
                "preference": self.preference.to_dict(),
                "sessions_needed": self.sessions_needed,
                "sessions_needed_fixed": self.sessions_needed_fixed,
                "n_sessions_ab": AB_SESSIONS,
                "ab": [test._asdict() for test in self.ab],
            }
        )

    def to_table(self) -> Table:
        """Return a table of the sessions needed by the interleaved test and by the A/B tests."""
        first, second = self.preference.first, self.preference.second
        columns = [Column("test", "text"), Column(first), Column(second)]
        columns += [Column("stop at any time", digits=0), Column("fixed size", digits=0)]
        rows: list[list[Any]] = [
            [self.method, self.preference.mean, -self.preference.mean, self.sessions_needed, self.sessions_needed_fixed]
        ]
        rows += [[f"A/B, {test.measure}", *test[1:]] for test in self.ab]
        return Table(columns, rows)

    def __str__(self) -> str:
        found = self.preference
        rows = [
            ("sessions", f"{self.n_sessions:,}"),
            ("with lists that differ", f"{self.share_contested:.1%}"),
            ("with a click on such a list", f"{self.share_clicked:.1%}"),
            (f"NDCG of {found.first} and {found.second}", " ".join(f"{value:.4f}" for value in self.ndcg)),
            *found.rows()[:-1],
        ]
        basis = f"estimated from {self.n_sessions:,} sessions, A/B tests from {AB_SESSIONS:,}"
        heading = f"sessions needed for a power of {POWER:.0%}, {basis}"
        parts = [aligned(rows, "ll"), f"{heading}\n{self.to_table().to_text()}"]
        if np.isnan(self.sessions_needed):
            parts.append(
                f"{self.method}: not known from {self.n_sessions:,} sessions, in which the preference is within "
                f"{LEAST_ERRORS:g} standard errors of 0. Simulate more sessions."
            )
        return "\n\n".join(parts)


def simulate_interleaving(
    queries: Queries,
    rankers: Mapping[str, Any],
    n_sessions: int,
    *,
    method: str = "team-draft",
    credit: str | None = None,
    user: str = "pbm",
    k: int = 10,
    eta: float = 1.0,
    epsilon: float = 0.1,
    max_label: float | None = None,
    sessions_per_user: float = 1.0,
    lists_per_unit: int | None = 1,
    level: float = 0.95,
    random_state: int = 0,
) -> InterleavingSimulation:
    """Return the result of an interleaved test of two rankers on simulated users, with A/B tests beside it.

    Each session draws a query and a user, all equally likely, and serves one list. Users click by the labels, as in
    :func:`simulate_clicks`.

    Parameters
    ----------
    queries : Queries
        With labels.
    rankers : mapping of two names to fitted rankers or array-likes of scores
    n_sessions : int
    method, credit
        As in :class:`Interleaver`.
    lists_per_unit : int, default=1
        Clicked lists of a user that count; None counts all.
    user, k, eta, epsilon, max_label
        As in :func:`simulate_clicks`.
    sessions_per_user : float, default=1.0
        Mean number of sessions of a user; with 1, every session has its own user.
    level : float, default=0.95
        Level of the interval.
    random_state : int, default=0

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> found = pk.clicks.simulate_interleaving(lists, {"a": lists.X[:, 0], "b": lists.X[:, 1]}, 500)
    >>> found.preference.n_units <= 500
    True
    """
    n_sessions, k = check_positive_int(n_sessions, "n_sessions"), check_positive_int(k, "k")
    per_user, seed = check_number(sessions_per_user, "sessions_per_user", least=1), check_seed(random_state)
    if len(rankers) != 2:
        raise ValueError(f"two rankers are compared, but {len(rankers)} were given.")
    if queries.y is None:
        raise ValueError("queries has no labels; simulated users click by them.")
    grouped = queries.grouped
    labels = np.asarray(grouped.y, dtype=np.float64)
    people = get_user(user, labels, k, eta=eta, epsilon=epsilon, max_label=max_label)
    scores = [grouped_scores(ranker, queries) for ranker in rankers.values()]
    ranked = [_ranked(grouped, one) for one in scores]
    test = Interleaver(method, k=k, credit=credit, random_state=seed, rankers=[*rankers])
    fold = Fold(get_method(method, credit), 2, lists_per_unit)

    # the same number of draws for each session: the first 1,000 sessions of 10,000 are those of 1,000
    draws = np.random.default_rng([seed, 0]).random((n_sessions, 2 + 2 * k))
    query = (draws[:, 0] * grouped.n_queries).astype(np.int64)
    unit = (draws[:, 1] * max(1, round(n_sessions / per_user))).astype(np.int64)
    names = [[list(map(str, own)) for own in lists] for lists in ranked]
    shown, served = np.full((n_sessions, k), NO_DOCUMENT), []
    for session, at in enumerate(query.tolist()):
        lists = dict(zip(rankers, (own[at] for own in names), strict=True))
        one = test.draw(lists, key=session, unit=int(unit[session]) if per_user > 1 else session)
        shown[session, : len(one.documents)] = [int(document) for document in one.documents]
        served.append(one)
    clicked = simulated_clicks(people, shown, draws[:, 2:])
    users = unit.tolist() if per_user > 1 else range(n_sessions)
    for one, user_id, places in zip(served, users, clicked, strict=True):
        if places.any():
            fold.click(str(user_id), one.id, one.basis, np.flatnonzero(places).tolist())
    fold.close()

    is_contested = np.array([one.is_contested for one in served])
    tally = fold.tally(0, 1)
    lower, upper, counts = tally.bounds()
    values, (first, second) = (lower + upper) / 2, rankers
    return InterleavingSimulation(
        method,
        user,
        n_sessions,
        float(is_contested.mean()),
        float((is_contested & clicked.any(axis=1)).mean()),
        preference_of(tally, first, second, level=level, margin=None),
        *_needed(values, counts, n_sessions / max(1.0, counts.sum()), level),
        tuple(_ab_tests(people, ranked, k, level, seed)),
        (_mean_ndcg(grouped, scores[0], k), _mean_ndcg(grouped, scores[1], k)),
        values,
        counts,
    )


def simulated_clicks(user: User, shown: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return which of the documents of each session are clicked, by two uniform random numbers for each place."""
    clicked = np.zeros(shown.shape, dtype=bool)
    last = np.zeros(len(shown), dtype=np.int64)  # rank of the last click
    for place in range(shown.shape[1]):
        chance = user.slope[place] * user.relevance[shown[:, place]] + user.offset[place]
        is_clicked = (draws[:, 2 * place] < chance) & (shown[:, place] != NO_DOCUMENT)
        if user.kind == CASCADE:
            is_clicked &= last == 0
        elif user.kind == BROWSING:
            is_clicked &= draws[:, 2 * place + 1] < user.browse[place, last]
        clicked[:, place] = is_clicked
        last[is_clicked] = place + 1
    return clicked


def _mean_ndcg(grouped: Queries, scores: np.ndarray, k: int) -> float:
    return float(ndcg(grouped.y, scores, qid=grouped.qid, k=k).mean())


def _ranked(grouped: Queries, scores: np.ndarray) -> list[list[int]]:
    """Return the best rows of each query, best first."""
    bounds = grouped.indptr.tolist()
    query_of_row = np.repeat(np.arange(grouped.n_queries), np.diff(bounds))
    rows = ranked_rows(query_of_row, scores, grouped.docid)
    return [rows[first : min(last, first + LONGEST)].tolist() for first, last in pairwise(bounds)]


def _ab_tests(user: User, ranked: list[list[list[int]]], k: int, level: float, seed: int) -> Iterator[AbTest]:
    """Yield A/B tests by all measures, each session with one of the two rankers."""
    n = AB_SESSIONS // 2
    by_ranker = []
    for number, lists in enumerate(ranked, start=1):
        shown_of = np.array([[*own[:k], *[NO_DOCUMENT] * (k - len(own))] for own in lists])
        draws = np.random.default_rng([seed, number]).random((n, 1 + 2 * k))
        query = (draws[:, 0] * len(lists)).astype(np.int64)
        clicked = simulated_clicks(user, shown_of[query], draws[:, 1:])
        is_any = clicked.any(axis=1)
        first = np.where(is_any, 1 / (clicked.argmax(axis=1) + 1), 0.0)
        by_ranker.append((clicked.sum(axis=1) / k, is_any.astype(float), first))
    for measure, one, other in zip(AB_MEASURES, *by_ranker, strict=True):
        values, counts = np.unique(one - other, return_counts=True)
        scale = k if measure == AB_MEASURES[0] else 1
        means = (float(one.mean()) * scale, float(other.mean()) * scale)
        yield AbTest(measure, *means, *_needed(values, counts, 2.0, level))


def _needed(values: np.ndarray, counts: np.ndarray, sessions: float, level: float) -> tuple[float, float]:
    """Return the sessions needed if the interval is inspected after each, and if it is inspected once.

    ``sessions`` is the number of sessions per value. NaN if the mean does not differ significantly from 0.
    """
    n = counts.sum()
    if not n or abs(counts @ values) < LEAST_ERRORS * np.sqrt(counts @ values**2):
        return np.nan, np.nan
    shares = counts / n
    numbers = (values_needed(values, shares, level=level, power=POWER, anytime=anytime) for anytime in (True, False))
    anytime, fixed = (float(np.ceil(number * sessions)) for number in numbers)
    return anytime, fixed
