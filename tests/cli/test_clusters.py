"""``--cluster`` and ``--local-cluster`` of train, evaluate and rank: what comes out is what comes out without them."""

import json
import logging
import os
import sys
import tempfile

import numpy as np
import pytest

import plackett as pk
from plackett.cli.shared import clusters
from plackett.cli.shared.options import Source

distributed = pytest.importorskip("distributed", reason="training on clusters needs dask[distributed]")

OPTIONS = ["--normalize", "query-zscore", "--tol", "1e-10", "--json"]


@pytest.fixture(scope="module")
def address():
    """A scheduler that is reached by its address, with a worker of two threads in this process."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp://", host="127.0.0.1",
        dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


def without_seconds(stdout):
    told = json.loads(stdout)
    del told["seconds"], told["model"]
    return told


def check_same(done, expected):
    assert (done.returncode, done.stderr) == (0, "")
    told, known = without_seconds(done.stdout), without_seconds(expected.stdout)
    assert told.keys() == known.keys()
    for key in known:
        if key in ("objective", "gradient_norm"):
            assert told[key] == pytest.approx(known[key], rel=1e-9, abs=1e-9)
        else:
            assert told[key] == known[key]
    np.testing.assert_allclose(pk.load("there.plackett").coef_, pk.load("here.plackett").coef_, rtol=0, atol=1e-8)


def test_a_cluster_gives_what_this_process_gives(run, address):
    words = ["train", "train.txt", "test.txt", "--validation", "vali.txt", *OPTIONS]
    expected = run(*words, "--model", "here.plackett")
    check_same(run(*words, "--model", "there.plackett", "--cluster", address), expected)


def test_a_cluster_of_this_machine_comes_and_goes(run, monkeypatch, tmp_path):
    words = ["train", "train.txt", "test.txt", *OPTIONS]
    expected = run(*words, "--model", "here.plackett")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # into which no other process writes
    before = set(os.listdir(tmp_path))
    held = workers_seen(monkeypatch)
    check_same(run(*words, "--model", "there.plackett", "--local-cluster", "1"), expected)
    assert held == [1]
    trees = ["train", "train.txt", "test.txt", "--validation", "vali.txt", "--ranker", "trees", "--json"]
    exact = ["max_bin=15", "min_data_in_leaf=0", "min_sum_hessian_in_leaf=5", "n_rounds=5"]  # no ties, see test_trees
    words = [*trees, *(word for one in exact for word in ("--set", one)), "--model", "trees.plackett"]
    expected, found = run(*words), run(*words, "--local-cluster", "2")
    assert found.stderr == ""
    assert without_seconds(found.stdout)["validation"] == pytest.approx(json.loads(expected.stdout)["validation"])
    assert not [name for name in set(os.listdir(tmp_path)) - before if "dask" in name or "plackett-" in name]


def test_parts_are_measured_where_they_are_and_some_may_be_empty(address, tmp_path):

    parquet = pytest.importorskip("pyarrow.parquet")
    data = pk.datasets.make_web_like(8, n_features=3, random_state=0)
    pk.write_parquet(data, tmp_path / "all.parquet")
    parquet.write_table(parquet.read_table(tmp_path / "all.parquet").slice(0, 0), tmp_path / "none.parquet")
    ranker = pk.LinearRanker().fit(data)
    with distributed.Client(address) as client:
        parts = clusters.parts_of([str(tmp_path)], client, Source())
        sizes, means = clusters.measure(parts, ranker, ["ndcg@10", "map"])
    assert sizes == (8, data.n_docs, 3)
    assert means == pytest.approx(pk.evaluate(data, ranker.predict(data), metrics=["ndcg@10", "map"]).mean())


def test_models_are_measured_and_scores_written_on_a_cluster(run, address, lists, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("train", "train.txt", "--model", "model.plackett", "--quiet")
    words = ["evaluate", "test.txt", "model.plackett", "--convention", "trec", "--csv"]
    expected, found = run(*words), run(*words, "--cluster", address)
    assert (found.returncode, found.stdout, found.stderr) == (0, expected.stdout, expected.stderr)
    done = run("rank", "model.plackett", "vali.txt", "test.txt", "-o", "scores", "-m", "map", "--cluster", address)
    assert (done.returncode, done.stderr) == (0, "12 queries\n")
    assert run("rank", "model.plackett", "vali.txt", "test.txt", "-o", "here", "-m", "map").stdout == done.stdout
    scores = parquet.read_table("scores")["score"].to_pylist()
    assert scores == pk.load("model.plackett").predict(lists[18:]).tolist()


def test_columns_are_named_on_a_cluster_too(run, address, lists):
    parquet = pytest.importorskip("pyarrow.parquet")
    pk.write_parquet(lists, "lists.parquet")
    names = {"label": "grade", "qid": "session"}
    table = parquet.read_table("lists.parquet")
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    parquet.write_table(table.append_column("more", table["grade"]), "other.parquet")
    words = ["--label", "grade", "--qid", "session"]
    run("train", "lists.parquet", "--model", "model.plackett", "--quiet")
    expected = run("evaluate", "lists.parquet", "model.plackett", "--csv").stdout
    assert run("evaluate", "other.parquet", "model.plackett", "--csv", *words, "--cluster", address).stdout == expected
    done = run("evaluate", "other.parquet", "model.plackett", "--drop", "more", *words, "--cluster", address)
    assert (done.returncode, "--drop needs all rows in this process" in " ".join(done.stderr.split())) == (2, True)


def workers_seen(monkeypatch):
    """How many workers each measuring has had."""

    plain, seen = clusters.measure, []

    def counted(*arguments):
        seen.append(len(distributed.default_client().nthreads()))
        return plain(*arguments)

    monkeypatch.setattr(clusters, "measure", counted)
    return seen


def test_l2_is_chosen_on_a_cluster_too(run, address):
    words = ["train", "train.txt", "--validation", "vali.txt", "--tune-l2", *OPTIONS]
    expected, found = (
        run(*words, "--model", "here.plackett"),
        run(*words, "--model", "there.plackett", "--cluster", address),
    )
    assert found.returncode == 0
    chosen = [[row["l2"] for row in json.loads(done.stdout)["l2_path"] if row["is_best"]] for done in (expected, found)]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train.txt", "--cluster", "tcp://a:1", "--local-cluster", "2"], "give one of them"),
        (["train.txt", "--cluster", "somewhere"], "an address such as tcp://scheduler:8786"),
        (["-", "--local-cluster", "2"], "needs files that every worker can read"),
        (["train.txt", "--local-cluster", "2", "--cache"], "--cache keeps a copy on this machine"),
        (["train.txt", "--local-cluster", "2", "--ranker", "rankboost"], "a cluster supports only linear rankers"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_wrong_usage(run, words, said):
    done = run("train", *words, "--model", "model.plackett")
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rank", "m.plackett", "test.txt"], "name a folder with -o, and no --run"),
        (["rank", "m.plackett", "test.txt", "-o", "scores", "--run", "mine"], "name a folder with -o, and no --run"),
        (["evaluate", "test.txt", "m.plackett", "vali.txt"], "measures a single model, under one convention"),
        (["evaluate", "test.txt", "m.plackett", "--every-convention"], "a single model, under one convention"),
        (["evaluate", "test.txt", "vali.txt"], "--local-cluster needs a model, but vali.txt is not one"),
    ],
)
def test_what_a_cluster_does_not_measure_is_wrong_usage(run, words, said):
    run("train", "train.txt", "--model", "m.plackett", "--quiet")
    done = run(*words, "--local-cluster", "2")
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_scheduler_that_does_not_answer_is_named(run, monkeypatch):

    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.2)
    done = run("train", "train.txt", "--model", "model.plackett", "--cluster", "tcp://127.0.0.1:9")
    assert done.returncode == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr


def test_without_dask_the_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("train", "train.txt", "--model", "model.plackett", "--local-cluster", "2")
    assert done.returncode == 1
    assert "--local-cluster needs distributed. Install it with: pip install 'plackett[dask]'" in done.stderr
