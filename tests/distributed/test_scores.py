"""Evaluation and scores of data in parts: those of all rows, computed where the parts are."""

import itertools
import logging

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import Queries
from plackett.evaluation import write_scores

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed", reason="the tests of clusters need dask[distributed]")
parquet = pytest.importorskip("pyarrow.parquet")

METRICS = ["ndcg@5", "map", "mrr"]


def made():
    data = pk.datasets.make_web_like(40, n_features=5, random_state=0)
    docid = [f"d{row}" for row in range(data.n_docs)]
    return Queries(data.X, data.y, data.qid, docid=docid, feature_names=list("abcde"))


DATA = made()
RANKERS = {
    "linear": pk.LinearRanker().fit(DATA),
    "within queries": pk.LinearRanker(normalize="query-zscore").fit(DATA),
    "features": pk.ranker("featurerank").fit(DATA),
    "net": pk.ranker("regression").fit(DATA),
}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):  # fmt: skip
        yield connected


@pytest.fixture
def files(tmp_path):
    (tmp_path / "lists").mkdir()
    for number, (first, last) in enumerate([(0, 10), (10, 11), (11, 40)]):
        pk.write_parquet(DATA[first:last], tmp_path / "lists" / f"{number}.parquet")
    return str(tmp_path / "lists")


def frames():
    """A Dask data frame of DATA, and the rows that it has."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame(DATA.X, columns=list("abcde")).assign(docid=DATA.docid, label=DATA.y, qid=DATA.qid)
    # not dd.from_delayed: Dask 2026.8 cannot compute arrays that are made of such frames
    parts = [rows.iloc[first:last] for first, last in itertools.pairwise(DATA.indptr[[0, 7, 20, 40]])]
    return dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])


def check_same(found, expected):
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.queries, expected.queries)
    assert (found.metrics, found.n_empty, found.notes) == (expected.metrics, expected.n_empty, expected.notes)


@pytest.mark.parametrize("name", RANKERS)
def test_parts_are_measured_like_all_rows(name, files, client):
    ranker = RANKERS[name]
    for convention in ("standard", "trec"):
        expected = pk.evaluate(DATA, ranker.predict(DATA), metrics=METRICS, convention=convention)
        given = {"ranker": ranker, "metrics": METRICS, "convention": convention}
        check_same(pk.evaluate(files, **given), expected)
    check_same(pk.evaluate(frames(), qid="qid", label="label", **given), expected)
    futures = client.map(lambda first, last: made()[first:last], [0, 20], [20, 40], pure=False)
    check_same(pk.evaluate(futures, **given), expected)


def test_a_ranker_takes_the_place_of_scores_in_this_process_too(files):
    ranker = RANKERS["linear"]
    expected = pk.evaluate(DATA, ranker.predict(DATA), metrics=METRICS)
    for data in (DATA, files, [files], [DATA[:3], DATA[3:]]):
        check_same(pk.evaluate(data, ranker=ranker, metrics=METRICS), expected)
    with pytest.raises(TypeError, match="evaluate needs scores, or ranker=, and not both"):
        pk.evaluate(DATA)
    with pytest.raises(ValueError, match="reference_scores and complete need all rows in one place"):
        pk.evaluate([files], ranker=ranker, reference_scores=True)
    with pytest.raises(ValueError, match=r"query \S+ has rows in partition 0 and in partition 1"):
        pk.evaluate([DATA[:3], DATA[2:]], ranker=ranker)


@pytest.mark.parametrize("name", ["linear", "within queries"])
def test_scores_of_a_collection_are_a_dask_array(name, client):
    da = pytest.importorskip("dask.array")
    ranker, expected = RANKERS[name], RANKERS[name].predict(DATA)
    chunks = tuple(np.diff(DATA.indptr[[0, 25, 40]]).tolist())
    rows, qid = da.from_array(DATA.X, chunks=(chunks, 3)), da.from_array(DATA.qid, chunks=(chunks,))
    found = ranker.predict(rows, qid=qid)
    assert found.chunks == (chunks,)
    np.testing.assert_array_equal(found.compute(), expected)
    np.testing.assert_array_equal(ranker.predict(frames(), qid="qid").compute(), expected)
    torn = da.from_array(DATA.X, chunks=(200, -1)), da.from_array(DATA.qid, chunks=200)
    if ranker.depends_on_list:
        with pytest.raises(ValueError, match="has rows in partition 0 and in partition 1"):
            ranker.predict(torn[0], qid=torn[1]).compute()
    else:
        np.testing.assert_array_equal(ranker.predict(torn[0]).compute(), expected)


@pytest.mark.parametrize("has_client", [True, False])
@pytest.mark.parametrize("name", ["linear", "within queries"])
def test_scores_are_written_beside_the_ids(name, has_client, files, tmp_path, request):
    if has_client:
        request.getfixturevalue("client")
    expected = RANKERS[name].predict(DATA)
    written = write_scores(RANKERS[name], files, tmp_path / "scores")
    table = parquet.read_table(tmp_path / "scores")
    assert table.column_names == ["qid", "docid", "score"]
    assert written == sorted(map(str, (tmp_path / "scores").iterdir()))
    np.testing.assert_array_equal(table["score"].to_numpy(), expected)
    assert table["docid"].to_pylist() == list(DATA.docid)
    np.testing.assert_array_equal(table["qid"].to_numpy(), DATA.qid)
    with pytest.raises(FileExistsError, match="is not empty; write_scores needs a new or empty folder"):
        write_scores(RANKERS[name], files, tmp_path / "scores")


def test_scored_rows_need_no_labels(client, tmp_path):
    unlabelled = DATA.replace(y=None)
    pk.write_parquet(unlabelled, tmp_path / "rows.parquet")
    expected = RANKERS["linear"].predict(DATA)
    for place, data in enumerate((str(tmp_path / "rows.parquet"), frames().drop(columns="label"))):
        write_scores(RANKERS["linear"], data, tmp_path / f"scores-{place}", qid="qid")
        found = parquet.read_table(tmp_path / f"scores-{place}")
        np.testing.assert_array_equal(found["score"].to_numpy(), expected)
        assert found["docid"].to_pylist() == list(DATA.docid)
    with pytest.raises(ValueError, match="label"):
        pk.evaluate(str(tmp_path / "rows.parquet"), ranker=RANKERS["linear"])
