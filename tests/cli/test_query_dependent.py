"""Query-dependent rankers on the command line: from judged lists to models of new queries."""

import json
import re

import pytest

import plackett as pk

TRAIN = pk.datasets.make_web_like(18, n_features=5, random_state=0)
NEW = pk.datasets.make_web_like(5, n_features=5, random_state=1)


@pytest.fixture
def files(tmp_path):
    pk.write_letor(TRAIN, tmp_path / "train.txt")
    pk.write_letor(pk.Queries(NEW.X, NEW.y, 1000 + NEW.qid), tmp_path / "new.txt")
    return tmp_path


def test_a_model_of_all_queries_ranks_and_explains_new_ones(run, files):
    model = str(files / "model.plackett")
    args = ["--ranker", "qsvm", "--l2-path", "1,0.1,0.01", "--validation", str(files / "new.txt"), "-o", model]
    out = run("train", str(files / "train.txt"), *args)
    assert out.returncode == 0, out.stderr
    assert "query features" in out.stdout
    assert "means of the documents" in out.stdout
    assert "of 3 on the validation set" in out.stdout
    assert re.search(r"chosen n_neighbors *(15|18) of 18", out.stdout)
    assert "MB of training data" in out.stdout
    ranked = run("rank", model, str(files / "new.txt"))
    assert ranked.returncode == 0, ranked.stderr
    assert len(ranked.stdout.split("\n")) > NEW.n_docs
    query = str(1000 + NEW.ids[0])
    text = run("explain", model, str(files / "new.txt"), "--query", query).stdout
    assert f"query {query}, learned from" in text
    assert "difference" in text
    assert "strongest features" in text
    story = json.loads(run("explain", model, str(files / "new.txt"), "--query", query, "--json").stdout)
    assert len(story["neighbors"]) in (15, TRAIN.n_queries)
    assert {"feature", "coefficient", "uniform", "difference"} == set(story["coefficients"][0])


def test_json_has_one_objective_and_the_chosen_strength(run, files):
    model = str(files / "model.plackett")
    out = run("train", str(files / "train.txt"), "-r", "knn-svm", "--set", "n_neighbors=3", "-o", model, "--json")
    assert out.returncode == 0, out.stderr
    answer = json.loads(out.stdout)
    assert answer["class"] == "QueryDependentRanker"
    assert isinstance(answer["objective"], float)
    assert answer["params"]["n_neighbors"] == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-r", "qsvm", "--l2", "0"], "l2"),
        (["-r", "qsvm", "--set", "function=pairs"], "function"),
        (["-r", "qsvm", "--set", "weights=knn"], "has weights='gaussian'"),
        (["-r", "qsvm", "--tune-l2"], "--validation"),
        (["-r", "qsvm", "--loss", "listmle"], "loss"),
    ],
)
def test_wrong_usage_is_told(run, files, args, message):
    out = run("train", str(files / "train.txt"), "-o", str(files / "model.plackett"), *args)
    assert out.returncode == 2
    assert message in out.stderr


def test_a_query_that_was_not_in_training_has_no_model_of_its_own(run, files):
    model = str(files / "model.plackett")
    assert run("train", str(files / "train.txt"), "-r", "indv-svm", "-o", model).returncode == 0
    out = run("rank", model, str(files / "new.txt"))
    assert out.returncode == 1
    assert "individual" in out.stderr
    assert "gaussian" in out.stderr
