"""Every public reader takes URLs: of memory, and of S3 by a server on this machine."""

from __future__ import annotations

import os

import numpy as np
import pytest

import plackett as pk
from plackett.data import judgements
from plackett.data.documents.collections import read_smart
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback
from plackett.data.sources import sources
from plackett.exceptions import DataFormatError
from plackett.storage import models, remote

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("pyarrow")

RANKERS = {"linear": pk.LinearRanker(loss="squared")}
LISTS = "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:0.1 2:3 #docid = b\n1 qid:2 1:0.4 2:2 #docid = c\n"
TEXTS = {
    "lists.txt": LISTS,
    "judged.qrels": "1 0 a 2\n1 0 b 0\n2 0 c 1\n",
    "bm25.run": "1 Q0 b 1 0.9 bm25\n1 Q0 a 2 0.5 bm25\n2 Q0 c 1 0.3 bm25\n",
    "scores.txt": "0.5\n0.1\n0.4\n",
    "judged.csv": "query,docid,rating\n1,a,2\n1,b,0\n2,c,1\n",
    "bm25.csv": "query,docid,score\n1,b,0.9\n1,a,0.5\n2,c,0.3\n",
    "rows.csv": "qid,label,docid,x\n1,2,a,0.5\n1,0,b,0.1\n2,1,c,0.4\n",
    "ratings.dat": "196\t242\t3\t881250949\n186\t242\t4\t891717742\n",
    "movies.csv": "movieId,title,genres\n1,Toy Story (1995),Comedy\n",
    "texts.jsonl": '{"id": "a", "body": "red apples"}\n{"id": "b", "body": "pears"}\n',
    "feedback.jsonl": '{"qid": "1", "better": "a", "worse": "b"}\n',
    "clicks.csv": "session,query,docid,rank,click\ns,q,a,1,1\ns,q,b,2,0\n",
    "adi/ADI.ALL": ".I 1\n.W\nwings\n",
    "adi/ADI.QRY": ".I 1\n.W\nwings\n",
    "adi/ADI.REL": "1 1 0 0\n",
}
READERS = {
    "read_letor": ("lists.txt", pk.read_letor),
    "read_letor, gzip": ("lists.txt.gz", pk.read_letor),
    "read_letor, cache": ("lists.txt", lambda url: pk.read_letor(url, cache=True)),
    "read_parquet": ("lists.parquet", pk.read_parquet),
    "read_parquet, folder": ("parts", pk.read_parquet),
    "read_parquet, pattern": ("parts/*.parquet", pk.read_parquet),
    "read_table": ("rows.csv", pk.read_table),
    "sources": ("lists.txt", lambda url: pk.Queries.concat([one.load() for one in sources(url)])),
    "describe a frame's file": ("rows.csv", lambda url: pk.data.judged.as_judged(url, qid="qid")),
    "read_qrels": ("judged.qrels", lambda url: pk.read_qrels(url).to_dict()),
    "read_trec_run": ("bm25.run", lambda url: pk.read_trec_run(url).to_dict()),
    "read_scores": ("scores.txt", lambda url: pk.evaluation.read_scores(url).tolist()),
    "judgements.read": ("judged.csv", lambda url: judgements.read(url).to_qrels().to_dict()),
    "evaluate": ("judged.csv", lambda url: pk.evaluate(url, url.replace("judged", "bm25")).mean()),
    "compare_runs": ("judged.qrels", lambda url: pk.compare_runs(url, {"a": url.replace("judged.qrels", "bm25.run")})),
    "compare": ("lists.txt", lambda url: pk.compare(RANKERS, url, cv=2)),
    "read_movielens": ("ratings.dat", pk.datasets.read_movielens),
    "read_movies": ("movies.csv", pk.datasets.read_movies),
    "read_documents": ("texts.jsonl", lambda url: list(read_documents(url))),
    "read_feedback": ("feedback.jsonl", read_feedback),
    "read_clicks": ("clicks.csv", pk.clicks.read_clicks),
    "ClickLog.load": ("saved.clicks", pk.clicks.ClickLog.load),
    "read_smart": ("adi", lambda url: read_smart("adi", url)),
    "load": ("model.plackett", pk.load),
    "load_scorer": ("model.plackett", pk.load_scorer),
    "describe": ("model.plackett", lambda url: sorted(models.describe(url))),
    "open_index": ("index", pk.text.open_index),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a file of every kind."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "adi").mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    data = pk.read_letor(folder / "lists.txt")
    pk.write_letor(data, folder / "lists.txt.gz")
    pk.write_parquet(data, folder / "lists.parquet")
    pk.write_parquet(data, folder / "parts", partitions=2)
    pk.LinearRanker().fit(data).save(folder / "model.plackett")
    pk.clicks.read_clicks(folder / "clicks.csv").save(folder / "saved.clicks")
    pk.text.build_index(["red apples", "pears"], docid=["a", "b"]).save(folder / "index")
    return folder


@pytest.fixture(scope="module", params=["memory", "s3"])
def place(request, folder):
    """The URL of a copy of the folder."""
    if request.param == "memory":
        url = "memory://lists"
        fsspec.filesystem("memory").put(str(folder), "/lists", recursive=True)
        yield url
        return
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    pytest.importorskip("s3fs")
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUt", "AWS_DEFAULT_REGION": "us-east-1",
        }.items():  # fmt: skip
            patch.setenv(name, value)
        files = fsspec.filesystem("s3", skip_instance_cache=True)
        files.mkdir("lists")
        files.put(str(folder) + "/", "lists", recursive=True)
        yield "s3://lists"
    server.stop()


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_takes_urls(reader, place, folder):
    name, read = READERS[reader]
    assert repr(read(f"{place}/{name}")) == repr(read(str(folder / name)))


@pytest.mark.parametrize("has_cluster", [False, True])
def test_urls_are_parts_of_data(has_cluster, place, folder, request):
    if has_cluster:
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        )
        request.addfinalizer(cluster.close)
        request.addfinalizer(distributed.Client(cluster).close)
    data = pk.read_letor(folder / "lists.txt")
    expected = pk.LinearRanker(loss="squared").fit([data])
    for urls in ([f"{place}/lists.txt"], [f"{place}/parts/part-00000.parquet", f"{place}/parts/part-00001.parquet"]):
        np.testing.assert_allclose(pk.LinearRanker(loss="squared").fit(urls).coef_, expected.coef_, atol=1e-8)
    for url in (f"{place}/parts", f"{place}/parts/*.parquet", f"file://{folder}/parts", f"{place}/lists.txt"):
        np.testing.assert_allclose(pk.LinearRanker(loss="squared").fit(url).coef_, expected.coef_, atol=1e-8)
        values = pk.evaluate([url], ranker=expected, metrics="ndcg").values
        np.testing.assert_array_equal(values, pk.evaluate(data, ranker=expected, metrics="ndcg").values)
    scores = f"{place}/scores-{has_cluster}"
    files = pk.evaluation.write_scores(expected, [f"{place}/parts"], scores)
    assert files == [f"{scores}/part-00000.parquet", f"{scores}/part-00001.parquet"]
    assert pk.read_parquet(files[0], label=None, features=["score"]).n_docs == 2
    with pytest.raises(DataFormatError, match=rf"^{place}/judged.qrels, line 1") as caught:
        pk.LinearRanker().fit([f"{place}/judged.qrels"])
    assert caught.value.path == f"{place}/judged.qrels"


def test_what_is_written_comes_back(place, folder):
    data = pk.read_letor(folder / "lists.txt")
    pk.write_letor(data, f"{place}/new/again.txt.gz")
    pk.write_parquet(data, f"{place}/new/again.parquet")
    pk.write_parquet(data, f"{place}/new/parts", partitions=2)
    for again in (pk.read_letor(f"{place}/new/again.txt.gz"), pk.read_parquet(f"{place}/new/again.parquet")):
        np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(pk.read_parquet(f"{place}/new/parts").X, data.X)
    ranker = pk.LinearRanker().fit(data)
    ranker.save(f"{place}/new/model.plackett")
    np.testing.assert_array_equal(pk.load(f"{place}/new/model.plackett").coef_, ranker.coef_)
    pk.clicks.read_clicks(folder / "clicks.csv").save(f"{place}/new/saved.clicks")
    assert len(pk.clicks.ClickLog.load(f"{place}/new/saved.clicks")) == 1


class Upath:
    """What remote paths of universal_pathlib have."""

    def __init__(self, url):
        self.fs, self.path = fsspec.core.url_to_fs(url)
        self.protocol, self._url = url.partition("://")[0], url

    def __str__(self):
        return self._url


def test_paths_with_a_file_system_are_urls(place, folder):
    assert repr(pk.read_letor(Upath(f"{place}/lists.txt"))) == repr(pk.read_letor(folder / "lists.txt"))
    pk.load(Upath(f"{place}/model.plackett")).save(Upath(f"{place}/copy.plackett"))
    pk.load(f"{place}/copy.plackett")


def test_a_changed_file_is_read_again():
    files = fsspec.filesystem("memory")
    for text, n in ((LISTS, 3), (LISTS + LISTS.replace("qid:", "qid:9"), 6)):
        files.pipe("/changing/lists.txt", text.encode())
        assert pk.read_letor("memory://changing/lists.txt").n_docs == n


def test_errors_name_the_url_without_credentials(place):
    with pytest.raises(FileNotFoundError, match=r"there is no such file: '[a-z0-9]+://lists/absent.txt'"):
        pk.read_letor(f"{place}/absent.txt")
    fsspec.filesystem("memory").pipe("/bad/lists.txt", b"1 qid:1 1:x\n")
    with pytest.raises(DataFormatError, match=r"^memory://bad/lists.txt, line 1: expected index:value") as caught:
        pk.read_letor("memory://bad/lists.txt")
    assert caught.value.path == "memory://bad/lists.txt"
    secret = "memory://user:wJalrXUt@lists/lists.txt?signature=wJalrXUt"
    assert remote.shown(secret) == "memory://lists/lists.txt"
    with pytest.raises(OSError) as found:
        pk.read_letor(secret)
    assert "wJalrXUt" not in str(found.value)


def test_missing_packages_are_named(monkeypatch):
    with pytest.raises(ModuleNotFoundError, match=r"gs://bucket/a.txt needs a further package: .*gcsfs"):
        pk.read_letor("gs://bucket/a.txt")
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ModuleNotFoundError, match=r"s3:// needs fsspec. .*pip install 'plackett\[remote\]'"):
        pk.read_letor("s3://bucket/a.txt")


def test_settings_of_a_comparison_hold_no_credentials(folder):
    secret = "memory://user:wJalrXUt@lists/lists.txt"
    assert remote.shown("https://token@host/lists.txt?sig=token") == "https://host/lists.txt"
    assert remote.shown(folder) == os.fspath(folder)
    files = fsspec.filesystem("memory")
    files.put(str(folder / "lists.txt"), "/user:wJalrXUt@lists/lists.txt")
    result = pk.compare(RANKERS, secret, cv=2, metrics="ndcg")
    assert result.settings["data"] == "memory://lists/lists.txt"
    assert "wJalrXUt" not in str(result.to_dict())
