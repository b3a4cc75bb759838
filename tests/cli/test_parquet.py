"""Parquet on the command line: a file or a folder of files, wherever LETOR files are taken."""

import json

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.compare.comparison import Comparison

pytest.importorskip("pyarrow")


@pytest.fixture
def parquet(lists, lists_folder):
    """The three parts as Parquet; the first as a folder of files."""
    pk.write_parquet(lists[:18], lists_folder / "train", partitions=3)
    pk.write_parquet(lists[18:24], lists_folder / "vali.parquet")
    pk.write_parquet(lists[24:], lists_folder / "test.parquet")


@pytest.mark.parametrize(("letor", "packed"), [("train.txt", "train"), ("test.txt", "test.parquet")])
def test_info_tells_the_same(run, parquet, letor, packed):
    found = [json.loads(run("info", name, "--json").stdout) for name in (letor, packed)]
    assert [one.pop("feature_names") is None for one in found] == [True, False]  # LETOR has no names
    assert [one.pop("first_index") for one in found] == [1, None]  # and Parquet no numbers
    assert found[0] == found[1]


def test_models_are_trained_applied_and_measured(run, parquet, lists):
    for model, train, vali in (("m.plackett", "train", "vali.parquet"), ("letor.plackett", "train.txt", "vali.txt")):
        done = run("train", train, "--validation", vali, "-r", "listmle", "-o", model, "--cache")
        assert done.returncode == 0
    loaded = pk.load("m.plackett")
    np.testing.assert_array_equal(loaded.coef_, pk.load("letor.plackett").coef_)
    scores = run("rank", "m.plackett", "test.parquet", "-o", "scores.csv")
    assert scores.returncode == 0
    for words in (["test.parquet"], ["test.parquet", "--cache"], ["test.txt"]):
        table = run("evaluate", *words, "scores.csv", "-m", "ndcg@10").stdout
        mean = pk.evaluate(lists[24:], loaded.predict(lists[24:]), metrics=["ndcg@10"]).mean()["ndcg@10"]
        assert table.split()[-1] == f"{mean:.4f}"
    words = ("--query", "25", "--json")
    told = [run("explain", "m.plackett", name, *words).stdout for name in ("test.parquet", "test.txt")]
    assert told[0] == told[1] != ""


def test_comparisons_are_those_of_the_lists(run, parquet, lists):
    words = ["-r", "listnet,prank", "-f", "2", "-m", "ndcg@5", "--json", "--per-query", "-q"]
    means = []
    for more in ([], ["--cache"]):
        done = run("compare", "train", *words, *more)
        assert done.returncode == 0, done.stderr
        means.append(Comparison.from_dict(json.loads(done.stdout)).mean())
    assert means == 2 * [pk.compare("listnet,prank", lists[:18], cv=2, metrics=["ndcg@5"]).mean()]


def test_documents_without_labels_can_be_ranked_but_not_measured(run, parquet, lists):
    run("train", "train", "-r", "listmle", "-o", "m.plackett")
    pk.write_parquet(pk.Queries(lists[24:].X, None, lists[24:].qid), "new.parquet")
    done = run("rank", "m.plackett", "new.parquet")
    assert [float(line) for line in done.stdout.split()] == pk.load("m.plackett").predict(lists[24:]).tolist()
    done = run("rank", "m.plackett", "new.parquet", "-m", "ndcg@10")
    assert done.returncode == 1
    assert "has no column 'label'" in done.stderr


def test_what_does_not_go_together_is_said_in_a_line(run, parquet, lists_folder):
    done = run("info", "test.parquet", "vali.txt")
    assert done.returncode == 1
    assert "test.parquet is Parquet but vali.txt is not" in done.stderr
    (lists_folder / "empty").mkdir()
    done = run("info", "empty")
    assert done.returncode == 1
    assert "has no Parquet files" in done.stderr
    content = (lists_folder / "test.parquet").read_bytes()
    (lists_folder / "torn.parquet").write_bytes(content[: len(content) // 2])
    done = run("info", "torn.parquet")
    assert done.returncode == 1
    assert "torn.parquet: not a Parquet file, or a damaged one" in done.stderr
    assert "Traceback" not in done.stderr
    done = run("compare", "train", "-r", "prank", "--folds", "letor")
    assert done.returncode == 2
