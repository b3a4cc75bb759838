"""Trees on a Dask cluster: those of one machine, whatever lies where and whichever worker is lost."""

import itertools
import logging
import os
import signal

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import Queries
from plackett.distributed import boosting
from plackett.distributed.boosting import ClusterTrees
from plackett.distributed.cluster import GoneError
from plackett.losses import Softmax

pytest.importorskip("lightgbm")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed", reason="the tests of clusters need dask[distributed]")

# few bins, and numbers that all differ: no two splits have the same gain, so rounding decides nothing. LightGBM's count
# of the rows of a leaf is an estimate, and another one on several machines, so the limit is a sum of curvatures.
FEW_BINS = {
    "max_bin": 15, "n_rounds": 15, "learning_rate": 0.2, "min_data_in_leaf": 0, "min_sum_hessian_in_leaf": 5.0,
}  # fmt: skip


def made(n_queries=60, seed=0, shift=0.0):
    """Queries with missing values; the second half is shifted, as data that are ordered by market or day are."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries) + 1000 * seed, rng.integers(8, 25, n_queries))
    X = rng.normal(size=(qid.size, 5))
    labels = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=qid.size) + 1), 0, 4)
    X[X[:, 4] > 1.5, 4] = np.nan
    X[qid.size // 2 :, 0] += shift
    return Queries(X, labels, qid)


DATA, HELD = made(), made(20, seed=1)


@pytest.fixture(scope="module")
def client():
    """Two worker processes with nannies."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):  # fmt: skip
        yield connected


def parts_in(folder, data, sizes):
    """Write whole queries to one Parquet file for each part."""
    edges = np.cumsum([0, *sizes])
    for number, (first, last) in enumerate(itertools.pairwise(edges)):
        pk.write_parquet(data[first:last], folder / f"part-{number}.parquet")
    return str(folder / "part-*.parquet")


def check_same(found, expected, rows=HELD):
    np.testing.assert_allclose(found.predict(rows), expected.predict(rows), rtol=0, atol=1e-9)
    assert (found.n_rounds_, found.n_iter_, found.stop_reason_) == (
        expected.n_rounds_, expected.n_iter_, expected.stop_reason_,
    )  # fmt: skip
    assert found.history_.keys() == expected.history_.keys()
    for name, values in expected.history_.items():
        np.testing.assert_allclose(found.history_[name], values, rtol=0, atol=1e-9)
    assert vars(found).keys() == vars(expected).keys()


# --- The same trees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 3.0])
@pytest.mark.parametrize("loss", ["listmle", "lightgbm"])
def test_trees_are_those_of_one_machine(loss, shift, tmp_path, client):
    data = made(shift=shift)
    expected = pk.TreeRanker(loss=loss, patience=4, **FEW_BINS).fit(data, eval_set=HELD, eval_metric="ndcg@5")
    files = parts_in(tmp_path, data, [10, 35, 15])
    (tmp_path / "held").mkdir()
    held = HELD if shift else parts_in(tmp_path / "held", HELD, [5, 15])
    found = pk.TreeRanker(loss=loss, patience=4, **FEW_BINS).fit(files, eval_set=held, eval_metric="ndcg@5")
    check_same(found, expected)
    assert found.has_missing_
    assert found.n_queries_ == 60


def test_a_data_frame_has_weights_and_categories(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng, edges = np.random.default_rng(0), DATA.indptr[[0, 12, 40, 60]]
    rows = pd.DataFrame(DATA.X, columns=list("abcde")).assign(
        brand=rng.choice(["x", "y", "z"], DATA.n_docs), grade=DATA.y, query=DATA.qid,
        weight=np.repeat(rng.random(60), np.diff(DATA.indptr)),
    )  # fmt: skip
    rows.loc[: edges[1], "brand"] = "x"  # the first part knows only one of the categories
    features = rows.drop(columns=["grade", "query", "weight"])
    options = {**FEW_BINS, "min_data_per_group": 10, "loss": "squared"}
    expected = pk.TreeRanker(**options).fit(features, rows["grade"], qid=rows["query"], sample_weight=rows["weight"])
    parts = [dask.delayed(rows.iloc[first:last]) for first, last in itertools.pairwise(edges)]
    frame = dd.from_delayed(parts, meta=rows.iloc[:0], verify_meta=False)
    found = pk.TreeRanker(**options).fit(frame, "grade", qid="query", sample_weight="weight")
    assert 5 in found.trees_.features_
    assert found.categories_[5].tolist() == ["x", "y", "z"]
    check_same(found, expected, features)


def test_futures_may_be_fitted_with_bins_of_a_sample(client):
    futures = client.map(made, [40, 40], [3, 4], pure=False)
    ranker = pk.TreeRanker(bin_construct_sample_cnt=300, **FEW_BINS).fit(futures, eval_set=HELD)
    expected = pk.TreeRanker(**FEW_BINS).fit(Queries.concat([made(40, 3), made(40, 4)]), eval_set=HELD)
    assert ranker.best_score_ == pytest.approx(expected.best_score_, abs=0.03)


def test_paths_are_read_into_this_process_without_a_cluster(tmp_path):
    files = parts_in(tmp_path, DATA, [10, 50])
    (tmp_path / "held").mkdir()
    held = parts_in(tmp_path / "held", HELD, [20])
    check_same(pk.TreeRanker(**FEW_BINS).fit(files, eval_set=held), pk.TreeRanker(**FEW_BINS).fit(DATA, eval_set=HELD))


def test_constant_columns_grow_no_tree(client):
    flat = client.map(lambda data: data.replace(X=np.ones_like(data.X)), [DATA[:20], DATA[20:]], pure=False)
    ranker = pk.TreeRanker().fit(flat)
    assert (ranker.n_rounds_, ranker.stop_reason_) == (0, "no split improves the objective")


# --- What may go wrong ------------------------------------------------------------------------------------------------


def at_round(monkeypatch, number, act):
    """Do something before a certain round."""
    plain, n_rounds = ClusterTrees.grow, 0

    def grow_after_act(self):
        nonlocal n_rounds
        n_rounds += 1
        if n_rounds == number:
            act(self)
        return plain(self)

    monkeypatch.setattr(ClusterTrees, "grow", grow_after_act)


@pytest.mark.parametrize("n_killed", [1, 2])
def test_workers_that_are_killed_change_nothing(n_killed, tmp_path, client, monkeypatch):
    fits = []
    client.wait_for_workers(2)

    def kill(trees):
        fits.append(trees)
        assert trees._plan.params["min_data_in_leaf"] == 1  # of 0, LightGBM would fail where it estimates no row
        for process in list(client.run(os.getpid).values())[:n_killed]:
            os.kill(process, signal.SIGKILL)

    at_round(monkeypatch, 6, kill)
    with pytest.warns(RuntimeWarning, match=r"a Dask worker was lost \(.*\); the fit continues after 5 trees\."):
        found = pk.TreeRanker(**FEW_BINS).fit(parts_in(tmp_path, DATA, [10, 35, 15]), eval_set=HELD)
    assert fits[0].n_restarts > 0
    check_same(found, pk.TreeRanker(**FEW_BINS).fit(DATA, eval_set=HELD))


class _Broken(Softmax):
    def query_values(self, *_):
        raise IndexError("of a loss, not of Dask")


def test_an_error_of_one_worker_ends_the_fit_on_all(client):
    large = DATA[40:].replace(y=DATA[40:].y * 1e300)
    futures = client.map(lambda data: data, [DATA[:40], large], pure=False)
    with pytest.raises(ValueError, match=r"the slope of Squared\(\) overflows in LightGBM after 0 trees"):
        pk.TreeRanker(loss="squared").fit(futures)
    with pytest.raises(ValueError, match=r"whole numbers of at least 0; found 0\.5"):
        pk.TreeRanker(loss="lightgbm").fit(
            [*futures[:1], client.submit(lambda: made(9, 5).replace(y=np.full(made(9, 5).n_docs, 0.5)))]
        )
    with pytest.raises(IndexError, match="of a loss, not of Dask"):
        pk.TreeRanker(loss=_Broken()).fit(futures[:1])
    assert pk.TreeRanker(n_rounds=2).fit(futures[:1]).n_rounds_ == 2  # nothing was left behind


def test_ctrl_c_leaves_the_trees_so_far(tmp_path, client, monkeypatch):
    def press(_):
        raise KeyboardInterrupt

    at_round(monkeypatch, 4, press)
    ranker, expected = pk.TreeRanker(**FEW_BINS), pk.TreeRanker(**(FEW_BINS | {"n_rounds": 3})).fit(DATA)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(parts_in(tmp_path, DATA, [30, 30]))
    assert ranker.stop_reason_ == "interrupted"
    np.testing.assert_allclose(ranker.predict(HELD), expected.predict(HELD), atol=1e-9)
    np.testing.assert_allclose(ranker.history_["objective"], expected.history_["objective"], atol=1e-9)


def test_one_fit_at_a_time(client, monkeypatch):
    monkeypatch.setattr(boosting, "LOCK_SECONDS", 0.2)
    futures, lock = client.map(lambda data: data, [DATA[:40], DATA[40:]], pure=False), distributed.Lock(boosting.LOCK)
    lock.acquire()
    messages = []

    def warn(message, _):
        messages.append(message)
        lock.release()

    monkeypatch.setattr(boosting, "warn", warn)
    assert pk.TreeRanker(n_rounds=2).fit(futures).n_rounds_ == 2
    assert messages == ["another fit grows trees on this cluster; waiting until it ends."]


def test_what_does_not_fit_together_is_refused(tmp_path, client):
    files = parts_in(tmp_path, DATA, [30, 30])
    with pytest.raises(ValueError, match="base_score needs all rows in one place, but X is in parts"):
        pk.TreeRanker().fit(files, base_score=0)
    torn = client.map(lambda data: data, [DATA[:31], DATA[30:]], pure=False)
    with pytest.raises(ValueError, match=r"query 30 has rows in partition 0 and in partition 1"):
        pk.TreeRanker().fit(torn)
    narrow = client.submit(lambda: HELD.replace(X=HELD.X[:, :3]), pure=False)
    with pytest.raises(ValueError, match=r"partition 0 has 3 features but .*part-0\.parquet.* has 5"):
        pk.TreeRanker().fit(files, eval_set=[narrow])


@pytest.fixture
def threads():
    """Two workers in this process, which have no nannies."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):  # fmt: skip
        yield connected


def test_workers_may_be_threads_of_this_process_but_cannot_be_restarted(tmp_path, threads, monkeypatch):
    files, expected = parts_in(tmp_path, DATA, [10, 35, 15]), pk.TreeRanker(**FEW_BINS).fit(DATA)
    check_same(pk.TreeRanker(**FEW_BINS).fit(files), expected)

    def lose_one(trees):
        raise_in = trees._recover
        raise_in(GoneError("no answer", trees._workers[:1]))

    at_round(monkeypatch, 3, lose_one)
    without_nanny = r"has no nanny that could restart it\. Start workers with a nanny"
    with pytest.warns(RuntimeWarning, match="lost"), pytest.raises(ConnectionError, match=without_nanny):
        pk.TreeRanker(**FEW_BINS).fit(files)
