"""Simulated logs: exact chances, draws by counter, files."""

import numpy as np
import pytest

import plackett as pk
from plackett.clicks import ClickLog, simulate_clicks
from plackett.clicks.users import BROWSED, LOOKED_AT

LISTS = pk.datasets.make_web_like(30, 14, 4, random_state=1)
USERS = ("pbm", "cascade", "ubm", "trust")


def labels_of(log):
    """The label of each row of a log, by the names of query and document."""
    named = {(str(qid), str(row)): label for row, (qid, label) in enumerate(zip(LISTS.qid, LISTS.y, strict=True))}
    of_pair = np.array([named[log.pairs[code]] for code in range(log.n_pairs)])
    return of_pair[log.pair]


def arrays(log):
    return [log.indptr, log.pair, log.click, log.session_query, log.ranker, log.is_random]


@pytest.mark.parametrize("user", USERS)
def test_click_rates_are_those_of_the_user(user):
    log = simulate_clicks(LISTS, LISTS.X[:, 0], 20_000, user=user, random_state=2)
    label, place = labels_of(log), log.rank - 1
    chance = 0.1 + 0.9 * (2.0**label - 1) / (2.0 ** LISTS.y.max() - 1)
    # the last click above each row
    clicked_at = np.where(log.click, log.rank, 0).reshape(-1, 10)
    last = np.maximum.accumulate(np.insert(clicked_at, 0, 0, axis=1), axis=1)[:, :-1].reshape(-1)
    if user == "pbm":
        chance *= np.array(LOOKED_AT)[place]
    elif user == "cascade":
        chance *= last == 0
    elif user == "ubm":
        table = np.array(
            [[BROWSED[r][r - one if one else -1] for one in range(r + 1)] + [0] * (9 - r) for r in range(10)]
        )
        chance *= table[place, last]
    else:
        looked_at = 0.35 / log.rank + 0.65 / (1 + 0.05 * place)
        relevant = label / LISTS.y.max()
        chance = looked_at * (relevant / (1 + 0.005 * place) + (1 - relevant) * 0.65 / log.rank)
    for one in range(10):
        rows = place == one
        error = np.sqrt((chance[rows] * (1 - chance[rows])).sum())
        assert abs(log.click[rows].sum() - chance[rows].sum()) < 4.5 * error + 1e-9
    assert (log.click <= (chance > 0)).all()


def test_lists_are_those_of_the_ranker():
    log = simulate_clicks(LISTS, -LISTS.X[:, 1], 200, k=6)
    for i in range(len(log)):
        name = log.queries[int(log.session_query[i])]
        rows = np.flatnonzero(LISTS.qid.astype(str) == name)
        best = rows[np.argsort(LISTS.X[rows, 1], kind="stable")][:6]
        shown = [log.pairs[int(code)][1] for code in log.pair[log.indptr[i] : log.indptr[i + 1]]]
        assert shown == best.astype(str).tolist()


def test_a_fitted_ranker_makes_the_lists():
    ranker = pk.LinearRanker(max_iter=500).fit(LISTS)
    one, other = simulate_clicks(LISTS, ranker, 50), simulate_clicks(LISTS, ranker.predict(LISTS), 50)
    np.testing.assert_array_equal(one.pair, other.pair)


def test_draws_depend_on_the_number_of_the_session_only(monkeypatch, tmp_path):
    rankers = {"new": LISTS.X[:, 0], "old": LISTS.X[:, 1]}
    options = {"random_share": 0.2, "random_state": 5}
    log = simulate_clicks(LISTS, rankers, 5000, **options)
    monkeypatch.setattr("plackett.clicks.simulate.SESSIONS_PER_BLOCK", 700)
    pk.set_n_threads(3)
    try:
        longer = simulate_clicks(LISTS, rankers, 6000, **options)
        stored = simulate_clicks(LISTS, rankers, 6000, path=tmp_path / "log.plackett", **options)
    finally:
        pk.set_n_threads(None)
    for one, other, third in zip(arrays(log), arrays(longer[:5000]), arrays(stored[:5000]), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    assert isinstance(stored, ClickLog)
    assert list(stored.rankers) == ["new", "old"]
    other = simulate_clicks(LISTS, rankers, 5000, random_share=0.2, random_state=6)
    assert (other.pair[:500] != log.pair[:500]).any()


def test_shuffled_lists_show_every_document_anywhere():
    log = simulate_clicks(LISTS, LISTS.X[:, 0], 20_000, random_share=1.0, k=4)
    assert log.is_random.all()
    counts = np.zeros((log.n_pairs, 4))
    np.add.at(counts, (log.pair, log.rank - 1), 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    assert np.abs(share - 0.25).max() < 0.1
    assert log.describe().is_connected


def test_the_order_of_rows_and_queries_does_not_matter():
    order = np.random.default_rng(0).permutation(LISTS.n_docs)
    docid = np.arange(LISTS.n_docs)
    named = pk.Queries(LISTS.X, LISTS.y, LISTS.qid, docid=docid)
    moved = pk.Queries(LISTS.X[order], LISTS.y[order], LISTS.qid[order], docid=docid[order])
    one = simulate_clicks(named, named.X[:, 0], 300)
    other = simulate_clicks(moved, moved.X[:, 0], 300)
    np.testing.assert_array_equal(one.pair, other.pair)
    np.testing.assert_array_equal(one.click, other.click)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": "me"}, "user='me' is not known"),
        ({"random_share": 2}, "random_share=2"),
        ({"epsilon": 2}, "at most 1"),
        ({"max_label": 0.5}, "between 0 and max_label"),
        ({"k": 0}, "k=0"),
    ],
)
def test_wrong_options_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        simulate_clicks(LISTS, LISTS.X[:, 0], 10, **options)
    with pytest.raises(ValueError, match="has no labels"):
        simulate_clicks(pk.Queries([[1.0]]), [1.0], 10)
