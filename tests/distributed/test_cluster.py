"""Fits on a Dask cluster: the same as on one machine, whoever holds what and whoever goes away."""

import itertools
import logging
import os
import signal
import threading

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import Queries
from plackett.distributed import cluster as on_cluster
from plackett.distributed.cluster import ClusterPartitions

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed", reason="the tests of clusters need dask[distributed]")

N_PARTS = 5
LOSSES = ["listmle", "p-listmle", "listnet", "cs-listmle", "squared", "logistic"]


def whole():
    made = pk.datasets.make_web_like(60, n_features=7, random_state=3)
    rows = (made.X - made.X.mean(0)) / (made.X.std(0) + 1e-9)
    return Queries(rows.astype(float), made.y, made.qid)


def part_of(number):
    edges = np.linspace(0, 60, N_PARTS + 1).astype(int)
    return whole()[edges[number] : edges[number + 1]]


DATA = whole()


@pytest.fixture(scope="module")
def cluster():
    """One worker of one thread in this process; a test asks for more by ``scale``, and they go with it."""
    settings = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as made,
    ):
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


def delayed_parts():
    return [dask.delayed(part_of, pure=False)(number) for number in range(N_PARTS)]


# --- The same result --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_coefficients_are_those_of_one_process_for_any_number_of_workers(n_workers, cluster, client):
    cluster.scale(n_workers)
    client.wait_for_workers(n_workers)
    try:
        for loss in LOSSES if n_workers == 2 else ["listmle"]:
            expected = pk.LinearRanker(loss=loss, tol=1e-10).fit(DATA)
            local = pk.LinearRanker(loss=loss, tol=1e-10).fit([part_of(number) for number in range(N_PARTS)])
            found = pk.LinearRanker(loss=loss, tol=1e-10).fit(delayed_parts())
            np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8)
            assert found.intercept_ == pytest.approx(expected.intercept_, abs=1e-8)
            np.testing.assert_array_equal(found.coef_, local.coef_)  # to the last bit: the partitioning is the same
            assert found.objective_ == local.objective_
    finally:
        cluster.scale(1)


@pytest.mark.parametrize("is_direct", [True, False])
def test_both_ways_to_ask_the_workers_give_the_same_bits(is_direct, client, monkeypatch):
    monkeypatch.setattr(on_cluster, "DIRECT_BYTES", 1 << 26 if is_direct else -1)
    ways = {"_sum_by_broadcast": 0, "_sum_by_graph": 0}
    for name in ways:
        count_calls(monkeypatch, name, ways)
    found = pk.LinearRanker(loss="hinge", l2=1e-2, tol=0.05).fit(delayed_parts())
    local = pk.LinearRanker(loss="hinge", l2=1e-2, tol=0.05).fit([part_of(number) for number in range(N_PARTS)])
    np.testing.assert_array_equal(found.coef_, local.coef_)
    assert found.duality_gap_ == local.duality_gap_
    assert bool(ways["_sum_by_broadcast"]) == is_direct
    assert bool(ways["_sum_by_graph"]) == (not is_direct)


def test_answers_that_are_too_long_for_the_scheduler_come_by_a_tree_of_tasks(client, monkeypatch):
    local = pk.LinearRanker().fit([part_of(number) for number in range(N_PARTS)])
    monkeypatch.setattr(on_cluster, "DIRECT_BYTES", 300)  # more than a gradient, less than a matrix of 7 x 7
    by_graph = {"_sum_by_graph": 0}
    count_calls(monkeypatch, "_sum_by_graph", by_graph)
    found = pk.LinearRanker().fit(delayed_parts())
    np.testing.assert_array_equal(found.coef_, local.coef_)
    assert by_graph["_sum_by_graph"] == 1  # the estimate of the curvature


def count_calls(monkeypatch, name, counts):
    plain = getattr(ClusterPartitions, name)

    def counted(self, *arguments):
        counts[name] += 1
        return plain(self, *arguments)

    monkeypatch.setattr(ClusterPartitions, name, counted)


# --- What users have --------------------------------------------------------------------------------------------------


def columns_of(data):
    return {f"x{column}": data.X[:, column] for column in range(data.n_features)}


@pytest.fixture(scope="module")
def frame():
    """A Dask data frame of DATA, queries whole, one partition empty; with a weight for each query."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({**columns_of(DATA), "grade": DATA.y, "query": DATA.qid, "weight": row_weights()})
    edges = [DATA.indptr[place] for place in (0, 11, 11, 40, 60)]
    parts = [rows.iloc[start:stop] for start, stop in itertools.pairwise(edges)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=rows.iloc[:0], verify_meta=False)


def row_weights():
    return np.repeat(np.random.default_rng(0).random(DATA.n_queries), np.diff(DATA.indptr))


def test_a_data_frame_is_fitted_by_column_names(frame, client):
    local = frame.compute()
    features = local.drop(columns=["grade", "query", "weight"])
    expected = pk.LinearRanker(tol=1e-10).fit(features, local["grade"], qid=local["query"])
    found = pk.LinearRanker(tol=1e-10).fit(frame.drop(columns="weight"), "grade", qid="query")
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8)
    assert vars(found).keys() == vars(expected).keys()
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    np.testing.assert_allclose(found.predict(features), expected.predict(features), atol=1e-7)


def test_weights_of_queries_come_as_a_column_or_a_series(frame, client):
    expected = pk.LinearRanker(tol=1e-10).fit(DATA, sample_weight=row_weights())
    for y, weight in (("grade", "weight"), (frame["grade"], frame["weight"]), ("grade", frame["weight"])):
        rows = frame if isinstance(weight, str) else frame.drop(columns="weight")
        rows = rows if isinstance(y, str) else rows.drop(columns="grade")
        found = pk.LinearRanker(tol=1e-10).fit(rows, y, qid="query", sample_weight=weight)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8)


def test_missing_values_of_a_frame_are_named_by_row_and_column_whatever_their_type(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({**columns_of(DATA), "grade": DATA.y, "query": DATA.qid})
    counts = pd.array(np.arange(len(rows)) % 3, dtype="Int64")
    found = pk.LinearRanker().fit(dd.from_pandas(rows.assign(x1=counts), npartitions=1), "grade", qid="query")
    plain = rows.assign(x1=np.arange(len(rows)) % 3.0)
    expected = pk.LinearRanker().fit(dd.from_pandas(plain, npartitions=1), "grade", qid="query")
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    counts[4] = pd.NA
    with pytest.raises(ValueError, match=r'partition 0: X has a NaN in row 4, column 1 \("x1"\)'):
        pk.LinearRanker().fit(dd.from_pandas(rows.assign(x1=counts), npartitions=1), "grade", qid="query")


def test_columns_that_are_not_numbers_are_named_before_anything_is_computed(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")

    def never():
        raise AssertionError("the frame was computed")

    numbers = pd.DataFrame({"x": [0.0], "grade": [0], "query": ["a"]})
    texts = {"title": ["t"], "brand": pd.Categorical(["b"])}
    frame = dd.from_delayed([dask.delayed(never)()], meta=numbers.assign(**texts), verify_meta=False)
    with pytest.raises(ValueError, match=r"features must be numbers, .*: 'title' \(.*\), 'brand' \(category\)\. Leave"):
        pk.LinearRanker().fit(frame, "grade", qid="query")
    with pytest.raises(ValueError, match="labels must be numbers, but column 'query' of X is"):
        pk.LinearRanker().fit(frame, "query", qid="grade")
    with pytest.raises(ValueError, match=r"these columns of X are not: 'title' \("):
        pk.LinearRanker().fit(frame[["x", "title"]], frame["grade"], qid=frame["query"])


def test_a_column_docid_of_a_frame_is_no_feature_as_in_parquet(tmp_path, client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    names = [f"d{row}" for row in range(DATA.n_docs)]
    rows = pd.DataFrame({**columns_of(DATA), "docid": names, "label": DATA.y, "qid": DATA.qid})
    rows.to_parquet(tmp_path / "all.parquet")
    found = pk.LinearRanker().fit(dd.from_pandas(rows, npartitions=1), "label", qid="qid")
    of_file = pk.LinearRanker().fit(tmp_path / "all.parquet")
    np.testing.assert_array_equal(found.coef_, of_file.coef_)


def test_the_index_of_a_frame_may_be_the_query(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({**columns_of(DATA), "grade": DATA.y}, index=pd.Index(DATA.qid, name="query"))
    found = pk.LinearRanker(tol=1e-10).fit(dd.from_pandas(rows, npartitions=3, sort=True), "grade", qid="query")
    np.testing.assert_allclose(found.coef_, pk.LinearRanker(tol=1e-10).fit(DATA).coef_, rtol=0, atol=1e-8)


def test_arrays_are_fitted_in_their_chunks(client):
    da = pytest.importorskip("dask.array")
    chunks = tuple(np.diff(DATA.indptr[[0, 25, 60]]).tolist())
    rows = da.from_array(DATA.X, chunks=(chunks, 3))  # columns in three blocks
    labels = da.from_array(DATA.y, chunks=1000)
    qid = da.from_array(DATA.qid, chunks=(chunks,))
    found = pk.LinearRanker(tol=1e-10).fit(rows, labels[:, None], qid=qid)
    np.testing.assert_allclose(found.coef_, pk.LinearRanker(tol=1e-10).fit(DATA).coef_, rtol=0, atol=1e-8)


def test_futures_are_fitted_and_a_split_query_is_named(client):
    futures = client.map(part_of, range(N_PARTS), pure=False)
    expected = pk.LinearRanker(tol=1e-10).fit(DATA)
    for given in (futures, dask.delayed(whole)()):
        np.testing.assert_allclose(pk.LinearRanker(tol=1e-10).fit(given).coef_, expected.coef_, rtol=0, atol=1e-8)
    split = part_of(2).ids[-1]
    torn = [*futures[:3], client.submit(lambda: DATA.subset([split]), pure=False)]
    with pytest.raises(ValueError, match=rf"query {split.item()!r} has rows in partition 2 and in partition 3"):
        pk.LinearRanker().fit(torn)


def test_parquet_is_cut_between_row_groups_for_the_threads_there_are(tmp_path, client, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    pk.write_parquet(DATA, tmp_path / "all.parquet", rows_per_group=500)
    parquet.write_table(parquet.read_table(tmp_path / "all.parquet").slice(0, 0), tmp_path / "none.parquet")
    one_worker = client.nthreads()
    monkeypatch.setattr(type(client), "nthreads", lambda self: dict.fromkeys(one_worker, 5))
    plain, n_parts = ClusterPartitions.load, []

    def load(self):
        n_parts.append(len(self._made))
        plain(self)

    monkeypatch.setattr(ClusterPartitions, "load", load)
    found = pk.LinearRanker(tol=1e-10).fit(str(tmp_path))
    assert n_parts[0] >= 5
    np.testing.assert_allclose(found.coef_, pk.LinearRanker(tol=1e-10).fit(DATA).coef_, rtol=0, atol=1e-8)


def test_what_is_not_cut_as_x_is_refused(frame, client):
    da = pytest.importorskip("dask.array")
    rows = da.from_array(DATA.X, chunks=(1000, -1))
    with pytest.raises(ValueError, match="y is a ndarray, but X is a Dask collection"):
        pk.LinearRanker().fit(rows, DATA.y, qid=DATA.qid)
    with pytest.raises(ValueError, match="qid has 2 dimensions; one value for each row of X is needed"):
        pk.LinearRanker().fit(rows, rows[:, 0], qid=rows[:, :2])
    with pytest.raises(ValueError, match="needs y and qid"):
        pk.LinearRanker().fit(rows)
    with pytest.raises(ValueError, match="qid has 4 partitions but X has"):
        pk.LinearRanker().fit(rows, da.from_array(DATA.y, chunks=1000), qid=frame["query"])
    with pytest.raises(ValueError, match="X has no column 'label'; it has x0"):
        pk.LinearRanker().fit(frame, "label", qid="query")
    with pytest.raises(ValueError, match="X mixes Dask objects"):
        pk.LinearRanker().fit([*delayed_parts(), "file.txt"])
    with pytest.raises(ValueError, match="sample_weight cannot be used with a list of partitions"):
        pk.LinearRanker().fit(delayed_parts(), sample_weight=np.ones(60))


def test_collections_need_a_client():
    with pytest.raises(ValueError, match="needs a Dask client, but there is none"):
        pk.LinearRanker().fit(delayed_parts())


def test_an_asynchronous_client_is_refused(client, monkeypatch):
    monkeypatch.setattr(type(client), "asynchronous", True)
    with pytest.raises(ValueError, match="the Dask client is asynchronous, but fit is a blocking call"):
        pk.LinearRanker().fit(delayed_parts())


def test_a_fit_inside_a_task_does_not_wait_for_other_tasks(tmp_path, client):
    pk.write_letor(DATA, tmp_path / "all.txt")
    fitting = client.submit(lambda: pk.LinearRanker().fit(str(tmp_path / "*.txt")).coef_, pure=False)
    np.testing.assert_allclose(fitting.result(timeout=30), pk.LinearRanker().fit(DATA).coef_, atol=1e-4)


# --- What may go wrong ------------------------------------------------------------------------------------------------


def test_a_file_that_a_worker_cannot_read_is_told_as_on_one_machine(tmp_path, client):
    (tmp_path / "good.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    (tmp_path / "torn.txt").write_text("1 qid:2 1:1\n0 qid:2 1:zero\n")
    with pytest.raises(pk.exceptions.DataFormatError, match=r"torn\.txt, line 2") as raised:
        pk.LinearRanker().fit(str(tmp_path / "*.txt"))
    assert raised.value.path == str(tmp_path / "torn.txt")
    client.nthreads()  # whatever was let go before this question has been let go when it is answered
    assert not client.futures  # what could be read does not stay on the workers, though the error is still known


def test_workers_with_different_builds_of_the_kernels_are_refused(cluster, client, monkeypatch):
    monkeypatch.setattr(on_cluster, "_build", lambda dask_worker: f"build of {dask_worker.address}")
    cluster.scale(2)
    client.wait_for_workers(2)
    try:
        with pytest.raises(ValueError, match=r"different builds .* Set PLACKETT_NATIVE=baseline in the environment"):
            pk.LinearRanker().fit(delayed_parts())
    finally:
        cluster.scale(1)


def test_workers_with_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(on_cluster, "_version", lambda: "0.0.1")
    with pytest.raises(ValueError, match=r"has plackett 0\.0\.1, but .* runs here. Install the same version"):
        pk.LinearRanker().fit(delayed_parts())


def test_a_cluster_that_loses_all_workers_ends_the_fit_with_a_word(cluster, client, monkeypatch):
    monkeypatch.setattr(on_cluster, "NO_WORKERS_SECONDS", 1.0)
    act_at_call(monkeypatch, 4, lambda: cluster.scale(0))
    try:
        with pytest.raises(ConnectionError, match=r"all workers of the Dask cluster at inproc.* were lost"):
            pk.LinearRanker(tol=1e-12).fit(delayed_parts())
        with pytest.raises(ConnectionError, match=r"has no workers\. Start some, for example: dask worker inproc"):
            pk.LinearRanker(tol=1e-12).fit(delayed_parts())
    finally:
        cluster.scale(1)


def test_a_scheduler_that_goes_away_ends_the_fit_with_a_word(monkeypatch):
    options = {"processes": False, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as own,
        distributed.Client(own),
    ):
        act_at_call(monkeypatch, 4, own.close)
        with pytest.raises(ConnectionError, match="lost the fit"):
            pk.LinearRanker(tol=1e-12).fit(delayed_parts())


def act_at_call(monkeypatch, number, act):
    """Do something before a certain evaluation."""
    plain, n_calls = ClusterPartitions.sum, 0

    def sum_after_act(self, *arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == number:
            act()
        return plain(self, *arguments)

    monkeypatch.setattr(ClusterPartitions, "sum", sum_after_act)


def test_ctrl_c_leaves_the_best_coefficients(client, monkeypatch):
    def press():
        raise KeyboardInterrupt

    act_at_call(monkeypatch, 8, press)
    ranker = pk.LinearRanker(tol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(delayed_parts())
    assert ranker.stop_reason_ == "interrupted"
    assert np.isfinite(ranker.coef_).all()


# --- Real processes ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def processes():
    """Two worker processes, each with a nanny that starts another one when it dies."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as made,
        distributed.Client(made) as connected,
    ):
        yield connected


@pytest.fixture
def files(tmp_path):
    """DATA in six files."""
    for number in range(6):
        pk.write_letor(DATA[10 * number : 10 * (number + 1)], tmp_path / f"{number}.txt")
    return sorted(tmp_path.iterdir())


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(processes, files, monkeypatch):
    expected = pk.LinearRanker(tol=1e-10).fit([pk.read_letor(file) for file in files])
    killed, by_graph = [], {"_sum_by_graph": 0}
    count_calls(monkeypatch, "_sum_by_graph", by_graph)

    def kill_one():
        killed.append(next(iter(processes.run(os.getpid).values())))
        # in the middle of an evaluation, as near as can be
        threading.Timer(0.002, os.kill, (killed[0], signal.SIGKILL)).start()

    act_at_call(monkeypatch, 5, kill_one)
    found = pk.LinearRanker(tol=1e-10).fit(files)
    assert killed
    assert by_graph["_sum_by_graph"] > 0  # where what was lost is made again
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_allclose(found.coef_, pk.LinearRanker(tol=1e-10).fit(DATA).coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("when", ["loading", "fitting"])
def test_workers_that_all_die_and_come_back_change_nothing(when, processes, files, monkeypatch):
    expected = pk.LinearRanker(tol=1e-10).fit([pk.read_letor(file) for file in files])
    processes.wait_for_workers(2)
    killed = []

    def kill_all():
        killed.extend(processes.run(os.getpid).values())
        for process in killed:
            os.kill(process, signal.SIGKILL)

    if when == "fitting":
        act_at_call(monkeypatch, 5, kill_all)
    else:
        plain = ClusterPartitions._wait

        def wait(self, *arguments):
            if not killed:  # the parts were submitted, and are not loaded
                kill_all()
            plain(self, *arguments)

        monkeypatch.setattr(ClusterPartitions, "_wait", wait)
    found = pk.LinearRanker(tol=1e-10)
    fit = threading.Thread(target=found.fit, args=(files,), daemon=True)
    fit.start()
    fit.join(timeout=60)
    assert not fit.is_alive(), "the fit waits for workers that will not come back"
    assert len(killed) == 2
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_no_partition_s_data_pass_through_the_client(processes, monkeypatch):
    n_docs, n_features, n_parts = 20_000, 20, 4

    def make(number):  # on a worker
        rng = np.random.default_rng(number)
        qid = np.arange(n_docs) // 50 + number * n_docs
        return Queries(rng.normal(size=(n_docs, n_features)), rng.integers(0, 3, n_docs), qid)

    def refuse(*_):
        raise AssertionError("rows were pickled or unpickled in the client's process")

    for method in ("__reduce_ex__", "__setstate__"):
        monkeypatch.setattr(Queries, method, refuse, raising=False)
    received = bytes_received(monkeypatch)
    ranker = pk.LinearRanker(tol=1e-10).fit([dask.delayed(make)(number) for number in range(n_parts)])
    n_asked = ranker.n_evaluations_ + ranker.n_products_
    # the scheduler of this cluster is in this process too: what it hears is counted as well
    assert n_asked * n_features * 8 < sum(received) < 0.1 * n_parts * n_docs * n_features * 8


def bytes_received(monkeypatch):
    """A list of the sizes of all messages that come to this process from now on."""
    from distributed.comm import tcp

    plain, sizes = tcp.from_frames, []

    async def counted(frames, *arguments, **others):
        sizes.extend(len(memoryview(frame).cast("B")) for frame in frames)
        return await plain(frames, *arguments, **others)

    monkeypatch.setattr(tcp, "from_frames", counted)
    return sizes
