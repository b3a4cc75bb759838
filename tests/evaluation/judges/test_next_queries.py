"""Queries to judge next, and verdicts valid at any time."""

import math

import numpy as np
import pytest

from plackett.evaluation import judge_next
from plackett.evaluation.betting import FRACTIONS
from plackett.evaluation.judges.next_queries import NextQueries, QueryOrder, log_capitals
from plackett.exceptions import DataWarning

pytestmark = pytest.mark.timeout(120)
LEADS = {"x": 2.0, "y": 1.0}, {"x": 1.0, "y": 2.0}


def made(n=30, n_led=30):
    """Two runs, of which the first finds the relevant document of the first queries, and people's judgements."""
    first = {f"q{q}": LEADS[q >= n_led] for q in range(n)}
    second = {f"q{q}": LEADS[q < n_led] for q in range(n)}
    return {"a": first, "b": second}, {f"q{q}": {"x": 1, "y": 0} for q in range(n)}


def some(people, queries):
    return {qid: people[qid] for qid in queries}


@pytest.mark.parametrize("n_before", [0, 3])
def test_the_capital_is_that_of_a_loop(n_before):
    rng = np.random.default_rng(0)
    gaps, size, mean = rng.uniform(-1, 1, 12), 20, 0.05
    capitals, seen = np.full(FRACTIONS.size, 1 / FRACTIONS.size), list(gaps[:n_before])
    for gap, found in zip(
        gaps[n_before:], log_capitals(gaps[None], mean, size=size, n_before=n_before)[0], strict=True
    ):
        left = (size * mean - sum(seen)) / (size - len(seen))  # the mean of what is left, if the hypothesis is true
        capitals = capitals * [1 + share * (gap - left) / (1 + left) for share in FRACTIONS]
        seen.append(gap)
        assert found == pytest.approx(math.log(capitals.sum()), abs=1e-9)


def test_at_the_true_mean_the_expected_capital_is_1():
    """Over all orders of a small set, after every value."""
    from itertools import permutations

    gaps = np.array([-0.6, -0.1, 0.3, 0.5, 0.9])
    orders = np.array(list(permutations(gaps)))
    found = log_capitals(orders, gaps.mean(), size=5)
    assert np.exp(found[:, :-1]).mean(axis=0) == pytest.approx(1.0, abs=1e-12)


def test_wrong_verdicts_are_rarer_than_the_level_and_an_order_by_hopes_is_not_valid():
    rng = np.random.default_rng(0)
    size, bar = 60, math.log(2 / 0.05)
    wrong = {"random": [], "hopes": []}
    for _ in range(150):
        gaps = np.clip(rng.normal(scale=0.3, size=size), -0.9, 0.9)
        gaps -= gaps.mean()
        hopes = gaps + rng.normal(scale=0.2, size=size)
        for kind, order in (("random", rng.permutation(size)), ("hopes", np.argsort(-hopes))):
            found = [log_capitals(side * gaps[None, order], 0.0, size=size)[0, :-1].max() for side in (1, -1)]
            wrong[kind].append(max(found) >= bar)
    assert np.mean(wrong["random"]) <= 0.05
    assert np.mean(wrong["hopes"]) > 0.2


def test_a_clear_difference_stops_early_and_a_small_one_does_not():
    runs, people = made()
    drawn = judge_next(runs)
    assert drawn.verdict is None
    assert sorted(drawn.order.queries) == sorted(people)
    found = judge_next(runs, some(people, drawn.order.queries[:12]), order=drawn.order, metric="mrr")
    assert found.verdict == "a"
    assert str(found).startswith("Stop: a is better than b by mrr on this set of queries (12 of 30 queries judged).")
    runs, people = made(n_led=16)
    drawn = judge_next(runs)
    found = judge_next(runs, some(people, drawn.order.queries[:12]), order=drawn.order, metric="mrr")
    assert found.verdict is None
    assert "Not decided: 12 of 30 queries judged" in str(found)
    more = found.more_needed()
    assert 1 <= more[0] <= more[1] <= 18


def test_the_verdict_of_all_queries_is_the_sign_of_the_mean():
    for n_led, verdict in ((16, "a"), (14, "b"), (15, "equal")):
        runs, people = made(n_led=n_led)
        drawn = judge_next(runs)
        assert judge_next(runs, people, order=drawn.order, metric="mrr").verdict == verdict


def test_queries_judged_before_count_without_a_bet():
    runs, people = made(n_led=20)
    before = some(people, [f"q{q}" for q in range(10)])  # chosen by hand: all of them led by a
    drawn = judge_next(runs, before)
    assert drawn.order.n_before == 10
    assert drawn.order.queries[:10] == list(before)
    found = judge_next(runs, before, order=drawn.order, metric="mrr")
    assert found.verdict is None
    assert found.interval().low == pytest.approx((10 * 0.5 - 20) / 30)


def test_only_queries_in_their_turn_count():
    runs, people = made()
    drawn = judge_next(runs)
    ahead = [*drawn.order.queries[:2], *drawn.order.queries[5:25]]
    found = judge_next(runs, some(people, ahead), order=drawn.order, metric="mrr")
    assert (found.n_judged, found.verdict) == (2, None)
    assert "20 queries judged out of turn" in str(found)


def test_an_order_by_hopes_has_no_verdict_until_all_are_judged():
    runs, people = made(n_led=20)
    drawn = judge_next(runs, by="hopes", model_labels=people, metric="mrr")
    assert set(drawn.order.queries[:20]) == {f"q{q}" for q in range(20)}
    found = judge_next(runs, some(people, drawn.order.queries[:20]), order=drawn.order, metric="mrr")
    assert found.verdict is None
    assert "No verdict follows from this order" in str(found)
    assert "23 %" in str(found)
    assert judge_next(runs, people, order=drawn.order, metric="mrr").verdict == "a"
    with pytest.raises(ValueError, match="needs them"):
        judge_next(runs, by="hopes")


def test_an_order_is_kept_in_a_list_of_queries(tmp_path):
    path = tmp_path / "order.txt"
    order = QueryOrder("random", ["black shoes", "red dress"], 1)
    path.write_text(order.to_text())
    assert QueryOrder.read(path) == order
    path.write_text("black shoes\nred dress\n")
    with pytest.raises(ValueError, match="is not an order of judge_next"):
        QueryOrder.read(path)


def test_other_queries_other_measures_and_lost_judgements_are_errors():
    runs, people = made()
    drawn = judge_next(runs, some(people, ["q0"]))
    with pytest.raises(ValueError, match=r"another set of queries than the runs: q0\. Draw a new order"):
        judge_next({name: some(run, list(run)[1:]) for name, run in runs.items()}, people, order=drawn.order)
    with pytest.raises(ValueError, match=r"people judged q0 before; the qrels lack"):
        judge_next(runs, some(people, ["q1"]), order=drawn.order)
    with pytest.raises(ValueError, match="a verdict needs values from 0 to 1"):
        judge_next(runs, people, metric="dcg@10")
    with pytest.raises(ValueError, match="between two runs; found 1"):
        judge_next({"a": runs["a"]}, people)


def test_the_interval_holds_all_the_time():
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(40):
        gaps = np.clip(rng.normal(0.1, 0.3, size=40), -1, 1)
        order = QueryOrder("random", [str(n) for n in range(40)])
        for n in (10, 20, 39):
            low, high = NextQueries(("a", "b"), "mrr", order, n, gaps[:n], 0.95, []).interval()
            misses += not low <= gaps.mean() <= high
    assert misses <= 6


def test_unjudged_documents_at_the_top_are_warned_of():
    runs, people = made()
    drawn = judge_next(runs)
    people = {qid: {"x": 1} for qid in drawn.order.queries[:4]}
    with pytest.warns(DataWarning, match="unjudged by people in the top 10, .*: a 50.0 % and b 50.0 %"):
        judge_next(runs, people, order=drawn.order, metric="ndcg@10")
