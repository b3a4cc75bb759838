import numpy as np
import pytest

import plackett as pk
from plackett.clicks import simulate_clicks, simulate_interleaving
from plackett.clicks.interleaving.simulate import NO_DOCUMENT, simulated_clicks
from plackett.clicks.users import USERS, get_user


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(30, 12, 4, random_state=0)


@pytest.mark.parametrize("user", USERS)
def test_users_click_at_the_rates_of_simulated_logs(user, lists):
    """The same users as in simulate_clicks, on the same lists: click rates by rank agree within four errors."""
    n, k = 20_000, 6
    log = simulate_clicks(lists, lists.X[:, 0], n, user=user, k=k, random_state=1)
    expected = np.array([log.click[log.rank == rank].mean() for rank in range(1, k + 1)])
    order = [
        np.argsort(-lists.X[first:last, 0], kind="stable") + first
        for first, last in zip(lists.indptr, lists.indptr[1:], strict=False)
    ]
    draws = np.random.default_rng(2).random((n, 1 + 2 * k))
    shown = np.array([own[:k] for own in order])[(draws[:, 0] * len(order)).astype(int)]
    people = get_user(user, lists.labels, k, eta=1.0, epsilon=0.1, max_label=None)
    clicked = simulated_clicks(people, shown, draws[:, 1:])
    assert clicked.mean(axis=0) == pytest.approx(expected, abs=4 * np.sqrt(0.5 / n))
    shown[:, 3:] = NO_DOCUMENT
    assert not simulated_clicks(people, shown, draws[:, 1:])[:, 3:].any()


@pytest.mark.parametrize("method", ["team-draft", "optimised", "pairwise-preference"])
def test_the_better_ranker_is_found_and_the_first_sessions_do_not_depend_on_their_number(method, lists):
    rankers = {"labels": lists.y, "noise": np.random.default_rng(0).random(lists.n_docs)}
    found = simulate_interleaving(lists, rankers, 800, method=method, k=5)
    assert found.preference.verdict == "labels"
    assert found.ndcg[0] == 1 > found.ndcg[1]
    assert all(test.first > test.second for test in found.ab)
    assert found.sessions_needed < 2000
    again = simulate_interleaving(lists, rankers, 800, method=method, k=5)
    assert again.to_dict() == found.to_dict()
    shuffled = np.random.default_rng(1).permutation(lists.n_docs)
    moved = pk.Queries(lists.X[shuffled], lists.y[shuffled], lists.qid[shuffled])
    other = simulate_interleaving(
        moved, {name: values[shuffled] for name, values in rankers.items()}, 800, method=method, k=5
    )
    assert other.ndcg == pytest.approx(found.ndcg)


def test_users_are_units(lists):
    rankers = {"a": lists.X[:, 0], "b": lists.X[:, 1]}
    found = simulate_interleaving(lists, rankers, 600, sessions_per_user=20, k=5)
    assert found.preference.n_units <= 30
    every = simulate_interleaving(lists, rankers, 600, sessions_per_user=20, lists_per_unit=None, k=5)
    assert every.preference.n_units == found.preference.n_units


def test_equal_rankers_say_nothing(lists):
    found = simulate_interleaving(lists, {"a": lists.X[:, 0], "b": lists.X[:, 0]}, 50)
    assert (found.share_contested, found.preference.n_units) == (0, 0)
    assert np.isnan(found.sessions_needed)
    assert "with lists that differ" in str(found)
    assert "team-draft: not known from 50 sessions" in str(found)
    assert "inf" not in str(found)
    assert found.to_dict()["sessions_needed"] is None
    assert {one["sessions_needed"] for one in found.to_dict()["ab"]} == {None}
    assert found.to_dict()["n_sessions_ab"] == 200_000


def test_wrong_arguments_are_refused(lists):
    with pytest.raises(ValueError, match="two rankers are compared, but 1 were given"):
        simulate_interleaving(lists, {"a": lists.X[:, 0]}, 50)
    with pytest.raises(ValueError, match="has no labels"):
        simulate_interleaving(pk.Queries(lists.X, qid=lists.qid), {"a": lists.X[:, 0], "b": lists.X[:, 1]}, 50)
