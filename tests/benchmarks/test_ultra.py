"""The simulation of learning from clicks: labels of each method, cells with intervals, and verdicts."""

import numpy as np
import pytest

import plackett as pk
from benchmarks.ultra import protocol, tables
from benchmarks.ultra.packages import PACKAGES
from benchmarks.ultra.protocol import FULL, NAIVE, OURS, ROBUST, SHOWN
from plackett.clicks.users import BROWSED
from plackett.reproductions.base import Job, Verdict


@pytest.fixture(scope="module")
def train():
    return pk.datasets.make_web_like(12, 15, 4, random_state=0)


@pytest.mark.parametrize("kind", ["cascade", "ubm"])
def test_clicks_over_looks_given_the_clicks_above(kind, train):
    log = pk.clicks.simulate_clicks(train, train.X[:, 0], 300, user=kind, k=10).compact()
    found = protocol.looked_at_rate(log, protocol.user_of(train, kind, 1.0))
    clicks, looks = np.zeros((2, log.n_pairs))
    for start, end in zip(log.indptr[:-1], log.indptr[1:], strict=True):
        last = 0
        for rank, row in enumerate(range(start, end), start=1):
            if kind == "cascade":
                looked = float(last == 0)
            else:
                looked = BROWSED[rank - 1][-1] if last == 0 else BROWSED[rank - 1][rank - last - 1]
            looks[log.pair[row]] += looked
            clicks[log.pair[row]] += log.click[row]
            last = rank if log.click[row] else last
    np.testing.assert_allclose(found, np.where(looks > 0, clicks / np.maximum(looks, 1e-300), 0.0), rtol=1e-12)


def test_skylines_have_the_chance_of_a_click_of_the_first_ten(train):
    scores = train.X[:, 0]
    found = protocol.skylines(train, scores, "pbm", 1.0)
    relevance = 0.1 + 0.9 * (2.0**train.y - 1) / (2.0 ** train.y.max() - 1)
    np.testing.assert_allclose(found[FULL].y, relevance)
    shown = []
    for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        best = sorted(range(start, end), key=lambda row: -scores[row])[:10]
        shown += sorted(best)
    np.testing.assert_allclose(found[SHOWN].y, relevance[shown])
    np.testing.assert_allclose(found[SHOWN].X, train.X[shown])


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("user", list(protocol.USERS))
def test_many_clicks_teach_what_the_user_thinks_of_the_shown_documents(user, train):
    kind, eta = protocol.USERS[user]
    scores = train.X[:, 0]
    log = pk.clicks.simulate_clicks(train, scores, 400_000, user=kind, eta=eta, k=10).compact()
    labels = protocol.labelled(log, train, kind, eta)
    truth = protocol.skylines(train, scores, kind, eta)[SHOWN]

    def sorted_labels(queries):
        return queries.y[np.lexsort((*queries.X.T, queries.query_of_row))]

    errors = {
        method: np.abs(sorted_labels(queries.subset(truth.ids)) - sorted_labels(truth))
        for method, (queries, _) in labels.items()
    }
    for method in (OURS, ROBUST) if ROBUST in labels else (OURS,):
        assert np.mean(errors[method] < 0.06) > 0.85  # low ranks are looked at too seldom
        assert errors[method].mean() < errors[NAIVE].mean() / 3


def test_a_run_has_every_method_and_depends_only_on_its_seed(monkeypatch):
    monkeypatch.setattr(protocol, "N_WEB_LIKE", (10, 6))
    one = protocol.run("web-like", "PBM, η = 1", 0.1, 3, Job(), sizes=(100, 200))
    again = protocol.run("web-like", "PBM, η = 1", 0.1, 3, Job(), sizes=(200,), with_packages=False)
    assert again.items() < one.items()
    assert {(200, "trees", package) for package in PACKAGES} < set(one)
    methods = {method for _, _, method in one}
    assert set(tables.METHODS) <= methods
    assert all(0 < value <= 1 for value in one.values())


def values_of(naive, ours, shown, n_runs=30, seed=0):
    rng = np.random.default_rng(seed)
    noise = 0.05 * rng.normal(size=n_runs)  # common to all methods: runs differ, methods are compared within them
    cell = {NAIVE: naive, OURS: ours, SHOWN: shown, FULL: shown}
    found = {(0, "production", "production"): noise + 0.3}
    for scorer in ("linear", "trees"):
        for method, mean in cell.items():
            place = 0 if method in (SHOWN, FULL) else 1000
            found[place, scorer, method] = mean + noise + 0.002 * rng.normal(size=n_runs)
    return found


def test_cells_in_which_naive_labels_win_are_shown_as_such():
    table = tables.table_of("mq2008", "UBM", 0.1, values_of(0.60, 0.55, 0.62))
    assert [row.verdict for row in table.rows] == [Verdict.NOT_CONFIRMED] * 2
    assert (
        "Naive labels are significantly better in 2 of 2 cells: 1,000 sessions, linear; 1,000 sessions, trees."
        in table.notes
    )
    table = tables.table_of("mq2008", "UBM", 0.1, values_of(0.50, 0.58, 0.60))
    assert [row.verdict for row in table.rows] == [Verdict.BETTER] * 2
    assert "Naive labels are significantly better in 0 of 2 cells." in table.notes


def test_the_share_of_the_gap_has_an_interval_over_runs():
    cell = next(iter(tables.cells(values_of(0.50, 0.58, 0.60))))
    share, low, high = cell.share_of_gap(OURS)
    gains = [(cell.values[name] - cell.values[NAIVE]).mean() for name in (OURS, SHOWN)]
    assert share == pytest.approx(gains[0] / gains[1])
    assert low < share < high
    assert high - low < 0.05


def test_every_table_of_the_grid_is_listed_once():
    titles = [item.title for item in tables.PAPER.items]
    assert len(set(titles)) == len(titles) == 3 * 6 * 3
    assert "MQ2008, PBM, η = 1, 1% ranker" in titles
