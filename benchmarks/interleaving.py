"""Study interleaving: false positives at any time, sensitivity against A/B tests, and speed.

    python -m benchmarks.interleaving [validity] [sensitivity] [speed]

*validity*: two rankers with different lists, and users who click at random. For half of the queries the second ranker
has the order of the first, with its best document behind all others. Values of sessions are drawn from their exact
distribution, by enumeration of every list and every set of clicks, so the true preference is 0. Each
run has 5,000 sessions of about 1,000 users, a few of whom have many, and is looked at after every session. In the
last row half of the clicks of a user favour one ranker, drawn for each user: the mean over users is still 0.

*sensitivity*: sessions that find a difference with a probability of 95 %, for all methods and for A/B tests on the
same simulated users; distributions of values are measured on many sessions, and runs drawn from them.

*speed*: microseconds per call.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

import plackett as pk
from plackett.clicks import Interleaver, ShownList, simulate_interleaving
from plackett.clicks.interleaving.method import Method
from plackett.clicks.interleaving.methods import METHODS, get_method
from plackett.evaluation.betting import FRACTIONS

LEVEL, POWER = 0.95, 0.95
N_RUNS, N_SESSIONS, N_USERS = 2000, 5000, 1000
RUNS_AT_ONCE = 100
K, N_QUERIES, N_DOCS = 4, 12, 7  # of validity: small enough to enumerate
CLICKED = (0.5, 0.35, 0.25, 0.2)  # chance of a random click by rank
POOLS, POWER_RUNS = (20_000, 20_000, 80_000), 400  # more sessions for smaller differences
COMPARED = ("team-draft", "probabilistic", "optimised", "optimised, inverse credit", "pairwise-preference")
USERS = ("pbm", "cascade")

Distribution = tuple[np.ndarray, np.ndarray]  # values and their chances; NaN: no click


def first_decisions(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row of values when its interval first excludes 0, from 1, 0 for never, and the sign by then.

    Parameters
    ----------
    values : ndarray of shape (n_runs, n_values)
        Inspected after every value.
    level : float
    """
    bar = np.log(2 / (1 - level)) + np.log(FRACTIONS.size)
    when, sign = np.zeros(values.shape[0], dtype=np.int64), np.zeros(values.shape[0], dtype=np.int64)
    for side in (1, -1):
        total = np.full(values.shape, -np.inf)
        for fraction in FRACTIONS:
            np.logaddexp(total, np.cumsum(np.log1p(side * fraction * values), axis=1), out=total)
        is_over = total >= bar
        first = np.where(is_over.any(axis=1), is_over.argmax(axis=1) + 1, 0)
        is_earlier = (first > 0) & ((when == 0) | (first < when))
        when[is_earlier], sign[is_earlier] = first[is_earlier], side
    return when, sign


# validity


class AllChoices:
    """Draws that follow given choices, then take the first ones, and note the others."""

    def __init__(self, given: list[int]):
        self.given, self.made, self.chance = given, [], 1.0
        self.others: list[list[int]] = []

    def _choose(self, chances: list[float]) -> int:
        place = len(self.made)
        choice = self.given[place] if place < len(self.given) else next(i for i, one in enumerate(chances) if one > 0)
        if place >= len(self.given):
            more = [i for i in range(choice + 1, len(chances)) if chances[i] > 0]
            self.others += [[*self.made, i] for i in more]
        self.made.append(choice)
        self.chance *= chances[choice]
        return choice

    def pick(self, n: int) -> int:
        return self._choose([1 / n] * n)

    def weighted(self, weights: Any) -> int:
        total = sum(weights)
        return self._choose([weight / total for weight in weights])


def outcomes(method: Method, lists: list[list[str]]) -> Iterator[tuple[float, list[list[float]]]]:
    """Yield every outcome of a method with its chance."""
    waiting: list[list[int]] = [[]]
    while waiting:
        draws = AllChoices(waiting.pop())
        _, basis = method.draw(lists, K, draws)
        waiting += draws.others
        yield draws.chance, basis


def random_clicker(method: Method, seed: int = 0) -> Distribution:
    """Return the exact distribution of the value of a session under random clicks, over several queries."""
    rng = np.random.default_rng(seed)
    chance_of: dict[float, float] = {}
    none = 0.0
    for query in range(N_QUERIES):
        lists = [[f"d{i}" for i in rng.permutation(N_DOCS)[: K + 1]] for _ in range(2)]
        if query % 2:
            lists[1] = [*lists[0][1:], lists[0][0]]
        for chance, basis in outcomes(method, lists):
            for is_clicked in product((False, True), repeat=K):
                together = chance / N_QUERIES
                for place, one in enumerate(is_clicked):
                    together *= CLICKED[place] if one else 1 - CLICKED[place]
                places = [place for place, one in enumerate(is_clicked) if one]
                if not places:
                    none += together
                    continue
                first, second = method.credit(basis, places, 2)
                value = round(first - second, 12)
                chance_of[value] = chance_of.get(value, 0.0) + together
    values, chances = np.array([*chance_of, np.nan]), np.array([*chance_of.values(), none])
    return values, chances / chances.sum()


def drawn(distribution: Distribution, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    values, chances = distribution
    places = np.searchsorted(np.cumsum(chances)[:-1], rng.random(shape), side="right")
    return values[places]


def by_unit(values: np.ndarray, users: np.ndarray, per_unit: int) -> np.ndarray:
    """Return the values of units of each run in the order in which they close, 0 behind the last one."""
    closed = np.zeros_like(values)
    longest = 0
    for run in range(len(values)):
        clicked = np.flatnonzero(~np.isnan(values[run]))
        order = clicked[np.argsort(users[run, clicked], kind="stable")]
        user = users[run, order]
        starts = np.flatnonzero(np.append(True, user[1:] != user[:-1]))
        number = np.arange(user.size) - np.repeat(starts, np.diff(np.append(starts, user.size)))
        sums = np.cumsum(np.append(0.0, values[run, order]))
        ends = np.flatnonzero(number == per_unit - 1)
        means = (sums[ends + 1] - sums[ends + 1 - per_unit]) / per_unit
        in_time = means[np.argsort(order[ends])]
        closed[run, : in_time.size] = in_time
        longest = max(longest, in_time.size)
    return closed[:, : max(1, longest)]


def peeked(values: np.ndarray) -> np.ndarray:
    """Return whether a z-test at level 0.95 is ever significant, looked at after every session from the 30th on."""
    known = np.nan_to_num(values)
    n = np.maximum(np.cumsum(~np.isnan(values), axis=1), 1)
    total, squares = np.cumsum(known, axis=1), np.cumsum(known**2, axis=1)
    return ((np.abs(total) > 1.959964 * np.sqrt(squares)) & (n >= 30)).any(axis=1)


def validity(n_runs: int = N_RUNS, n_sessions: int = N_SESSIONS, names: tuple[str, ...] = tuple(METHODS)) -> list[str]:
    """Return lines of a table: the share of runs that are ever decided."""
    shares = 1 / np.arange(1, N_USERS + 1) ** 0.8
    shares /= shares.sum()
    analyses: dict[str, Callable] = {
        "unit = session": lambda values, users: first_decisions(np.nan_to_num(values), LEVEL)[0] > 0,
        "unit = user, first list": lambda values, users: first_decisions(by_unit(values, users, 1), LEVEL)[0] > 0,
        "unit = user, five lists": lambda values, users: first_decisions(by_unit(values, users, 5), LEVEL)[0] > 0,
        "z-test at every look": lambda values, users: peeked(values),
    }
    lines = ["| clicks | method | " + " | ".join(analyses) + " |", "|---|---|" + "---|" * len(analyses)]
    for is_partial in (False, True):
        for name in names:
            if is_partial and name != "team-draft":
                continue
            distribution = random_clicker(get_method(name))
            rng = np.random.default_rng(1)
            found = dict.fromkeys(analyses, 0)
            for start in range(0, n_runs, RUNS_AT_ONCE):
                shape = (min(RUNS_AT_ONCE, n_runs - start), n_sessions)
                values = drawn(distribution, shape, rng)
                users = np.searchsorted(np.cumsum(shares)[:-1], rng.random(shape), side="right")
                if is_partial:
                    side = rng.choice([-1.0, 1.0], size=(shape[0], N_USERS))
                    favoured = np.abs(values) * np.take_along_axis(side, users, axis=1)
                    values = np.where(rng.random(shape) < 0.5, favoured, values)
                for analysis, decide in analyses.items():
                    found[analysis] += int(decide(values, users).sum())
            cells = " | ".join(f"{found[analysis] / n_runs:.4f}" for analysis in analyses)
            clicks = "users favour one ranker each" if is_partial else "at random"
            lines.append(f"| {clicks} | {name} | {cells} |")
            print(lines[-1], file=sys.stderr)
    return lines


# sensitivity


def ranker_pairs() -> tuple[pk.Queries, dict[str, dict[str, np.ndarray]]]:
    """Return test queries, and pairs of rankers that differ much, less and little."""
    lists = pk.datasets.make_web_like(600, 40, 20, random_state=0)
    train, test = lists[:300], lists[300:]
    full = pk.LinearRanker(loss="listmle").fit(train.X, train.y, qid=train.qid)
    few = train[:6]
    weak = pk.LinearRanker(loss="listmle").fit(few.X, few.y, qid=few.qid)
    without = np.array(train.X)
    dropped = np.argsort(-np.abs(full.coef_))[2]
    without[:, dropped] = 0
    partial = pk.LinearRanker(loss="listmle").fit(without, train.y, qid=train.qid)
    masked = np.array(test.X)
    masked[:, dropped] = 0
    best = max(
        range(test.n_features), key=lambda f: pk.metrics.ndcg(train.y, train.X[:, f], qid=train.qid, k=10).mean()
    )
    scores = full.predict(test.X, qid=test.qid)
    return test, {
        "300 queries against one feature": {"a": scores, "b": np.asarray(test.X[:, best])},
        "300 against 6 queries": {"a": scores, "b": weak.predict(test.X, qid=test.qid)},
        "with and without a feature": {"a": scores, "b": partial.predict(masked, qid=test.qid)},
    }


def quantile_of_decisions(values: np.ndarray, counts: np.ndarray, estimate: float) -> float:
    """Return the number of values after which 95 % of the runs are decided."""
    n = int(2 * estimate)
    rng = np.random.default_rng(2)
    decided = []
    rows = max(1, min(POWER_RUNS, 20_000_000 // n))
    for start in range(0, POWER_RUNS, rows):
        shape = (min(rows, POWER_RUNS - start), n)
        when, _ = first_decisions(drawn((values, counts / counts.sum()), shape, rng), LEVEL)
        decided.append(np.where(when > 0, when, np.inf))
    return float(np.quantile(np.concatenate(decided), POWER, method="higher"))


def sensitivity(pools: tuple[int, ...] = POOLS) -> list[str]:
    """Return lines of a table: sessions needed, looked at after each and once.

    Team draft multileaving of two rankers is team draft.
    """
    test, pairs = ranker_pairs()
    columns = [(name, user) for name in pairs for user in USERS]
    pool_of = dict(zip(pairs, pools, strict=True))
    rows: dict[str, list[str]] = {}
    facts = []
    for name, user in columns:
        pool = pool_of[name]
        for method in COMPARED:
            kind, _, credit = method.partition(", ")
            options: dict[str, Any] = {"method": kind, "credit": "inverse" if credit else None}
            found = simulate_interleaving(test, pairs[name], pool, user=user, **options)
            cell = "—"
            if np.isfinite(found.sessions_needed):
                units = found.counts.sum()
                needed = quantile_of_decisions(found.values, found.counts, found.sessions_needed * units / pool)
                sign = "" if found.preference.mean > 0 else " (prefers b)"
                cell = f"{needed * pool / units:,.0f} / {found.sessions_needed_fixed:,.0f}{sign}"
            rows.setdefault(method, []).append(cell)
            print(f"{name}, {user}, {method}: {found.preference.mean:+.4f}, {cell}", file=sys.stderr)
        for ab in found.ab:
            cell = (
                "—"
                if not np.isfinite(ab.sessions_needed)
                else f"{ab.sessions_needed:,.0f} / {ab.sessions_needed_fixed:,.0f}"
            )
            rows.setdefault(f"A/B, {ab.measure}", []).append(cell + ("" if ab.first > ab.second else " (prefers b)"))
        facts.append(f"{name}, {user}: NDCG@10 {found.ndcg[0]:.3f} and {found.ndcg[1]:.3f}")
    lines = [
        "| sessions needed, any time / one look | " + " | ".join(f"{name}, {user}" for name, user in columns) + " |"
    ]
    lines.append("|---|" + "---|" * len(columns))
    lines += [f"| {method} | {' | '.join(cells)} |" for method, cells in rows.items()]
    return [*lines, "", *facts]


# speed


def speed(n: int = 200, n_rounds: int = 30) -> list[str]:
    """Return lines of a table: microseconds per call for two lists of 10, the best of many short rounds."""
    rng = np.random.default_rng(0)
    lists = [{"a": [f"d{i}" for i in range(10)], "b": [f"d{i}" for i in rng.permutation(14)[:10]]} for _ in range(100)]
    lines = ["| method | draw, µs | a clicked list of the log, µs |", "|---|---|---|"]
    for name in METHODS:
        test = Interleaver(name, random_state=0)
        for one in lists:
            test.draw(one)  # solves the linear programmes
        best = [np.inf, np.inf]
        for part in range(n_rounds):
            start = time.perf_counter()
            shown = [test.draw(lists[i % 100], key=f"{part} {i}") for i in range(n)]
            middle = time.perf_counter()
            Interleaver.from_log([*map(test.record, shown), *map(click_on, shown)])
            end = time.perf_counter()
            best = [min(best[0], (middle - start) / n), min(best[1], (end - middle) / n)]
        lines.append(f"| {name} | {1e6 * best[0]:.0f} | {1e6 * best[1]:.0f} |")
    return lines


def click_on(shown: ShownList) -> dict[str, Any]:
    """Return a click on the second document of a list."""
    click = {"action_name": "click", "query_id": shown.id, "timestamp": "2026-03-01T10:00:00Z"}
    return {**click, "event_attributes": {"object": {"object_id": shown.documents[1]}}}


def main() -> None:
    studies = {"validity": validity, "sensitivity": sensitivity, "speed": speed}
    for name in sys.argv[1:] or studies:
        start = time.perf_counter()
        print("\n".join(studies[name]()))
        print(f"\n{name}: {time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main()
