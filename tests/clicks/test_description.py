"""The description of a log against slow counts."""

from collections import defaultdict

import numpy as np

import plackett as pk
from plackett.clicks import ClickLog, simulate_clicks

LISTS = pk.datasets.make_web_like(25, 12, 3, random_state=1)


def test_counts_against_a_loop(monkeypatch):
    log = simulate_clicks(LISTS, {"a": LISTS.X[:, 0], "b": LISTS.X[:, 1]}, 500, random_share=0.1)
    monkeypatch.setattr("plackett.clicks.description.ROWS_AT_ONCE", 333)
    found = log.describe()
    places, shown, clicks = defaultdict(set), defaultdict(int), defaultdict(int)
    for pair, rank, click in zip(log.pair.tolist(), log.rank.tolist(), log.click.tolist(), strict=True):
        places[pair].add(rank)
        shown[rank] += 1
        clicks[rank] += click
    assert found.shown_by_rank == [shown[rank] for rank in range(1, 11)]
    assert found.click_rate_by_rank == [clicks[rank] / shown[rank] for rank in range(1, 11)]
    assert found.pairs_by_rank == [sum(rank in one for one in places.values()) for rank in range(1, 11)]
    assert found.pairs_shared_with_rank_above == [
        sum({rank, rank + 1} <= one for one in places.values()) for rank in range(1, 10)
    ]
    assert found.n_pairs_at_one_rank == sum(len(one) == 1 for one in places.values())
    assert (found.n_pairs, found.n_clicks, found.n_queries) == (len(places), log.n_clicks, 25)
    per_session = np.add.reduceat(log.click, log.indptr[:-1], dtype=int)
    assert found.share_without_click == np.mean(per_session == 0)
    assert found.share_with_several_clicks == np.mean(per_session > 1)
    assert found.rankers == {"a": int((log.ranker == 0).sum()), "b": int((log.ranker == 1).sum())}
    assert found.is_connected


def test_ranks_that_share_no_pairs_are_named():
    log = ClickLog.from_arrays(["q"] * 3, list("abcdbacdabdc"), [1, 0, 0, 1] * 3, indptr=[0, 4, 8, 12])
    found = log.describe()
    assert found.rank_groups == [[1, 2], [3, 4]]
    assert "Ranks 3 to 4 share no pair with ranks 1 to 2" in str(found)
    assert "ranks connected by shared pairs  1 to 2; 3 to 4" in str(found)


def test_lists_that_are_longer_than_the_table_are_named():
    log = ClickLog.from_arrays(["q"], [f"d{rank}" for rank in range(70)], [1] * 70, indptr=[0, 70])
    assert log.describe().findings[-1] == "Lists have up to 70 documents; ranks after 64 are not described."


def test_an_empty_log_and_one_without_clicks():
    log = ClickLog.from_arrays(["q"], ["a"], [0], indptr=[0, 1])
    assert "Nothing was clicked" in str(log.describe())
    assert log[:0].describe().findings == ["The log has no sessions."]


def test_a_log_without_sessions_is_described():
    log = pk.clicks.ClickLog.from_arrays(["q"], ["a"], [0], indptr=[0, 1])[:0]
    assert "The log has no sessions." in str(log.describe())


def test_ranks_that_share_nothing_are_one_finding():
    log = pk.clicks.ClickLog.from_arrays(["q"] * 3, list("abcd") * 3, [1, 0, 0, 0] * 3, indptr=[0, 4, 8, 12])
    found = [one for one in log.describe().findings if "share no pair" in one]
    assert len(found) == 1
    assert found[0].startswith("Ranks 2 to 4 share no pair with rank 1")
