"""Feature numbers on the command line are those of the file."""

import json

import numpy as np
import pytest

import plackett as pk


@pytest.fixture
def rows(lists_folder):
    """Six features, in a file that counts from 1 and in one that counts from 0."""
    data = pk.datasets.make_web_like(8, 6, 6, random_state=1)
    named = pk.Queries(data.X, data.y, data.qid, docid=[f"d{row}" for row in range(data.n_docs)])
    pk.write_letor(named, "from_1.txt")
    pk.write_letor(named, "from_0.txt", first_index=0)
    lines = [
        f"{query} 0 d{row} {int(label > 1)}\n" for row, (query, label) in enumerate(zip(data.qid, data.y, strict=True))
    ]
    (lists_folder / "qrels").write_text("".join(lines))
    return data


def base_scores(done):
    """By document, as ``refine --json`` tells them."""
    assert done.returncode == 0, done.stderr
    documents = [one for query in json.loads(done.stdout)["queries"] for one in query["documents"]]
    return [one["base_score"] for one in sorted(documents, key=lambda one: int(one["docid"][1:]))]


def test_the_base_is_the_feature_of_that_number_in_the_file_and_is_echoed(rows, run):
    words = ["--feedback", "qrels", "--method", "rocchio", "--json"]
    for file, number, more in (("from_1.txt", "2", []), ("from_0.txt", "1", ["--zero-based"])):
        done = run("refine", file, "--base", number, *words, *more)
        np.testing.assert_allclose(base_scores(done), rows.X[:, 1], rtol=1e-6)
        assert f"the base is feature {number}\n" in done.stderr
    for number in ("0", "7"):
        done = run("refine", "from_1.txt", "--base", number, *words)
        assert done.returncode == 1
        assert f"--base {number}: from_1.txt has feature 1 to 6." in done.stderr


def test_a_base_is_named_before_it_is_counted(rows, run):
    pk.write_parquet(rows.replace(feature_names=["6", "5", "4", "3", "2", "1"]), "lists.parquet")
    done = run("refine", "trial", "lists.parquet", "--base", "6", "-n", "2", "--method", "rocchio")
    assert done.returncode == 0, done.stderr
    assert 'the base is column 0 ("6")' in done.stderr


def test_trained_models_speak_of_the_numbers_of_the_file(rows, run):
    done = run("train", "from_1.txt", "--ranker", "adarank", "--set", "n_rounds=1", "-o", "model")
    assert done.returncode == 0, done.stderr
    number = pk.load("model").steps_["feature"][0] + 1
    assert f"feature {number} " in done.stdout
    explained = run("explain", "model", "from_1.txt", "--query", str(rows.ids[0]), "--csv")
    assert f"feature {number}," in explained.stdout
    assert "column" not in explained.stdout


def test_parameters_that_name_features_take_the_numbers_of_the_file():
    from plackett.cli.shared.parameters import grid_of, settings_of

    assert settings_of(["query_features=[2,5]", "depth=3", "base_column=4"]) == {
        "query_features": ["feature 2", "feature 5"],
        "depth": 3,
        "base_column": "feature 4",
    }
    assert grid_of(["query_features=mean,[2]"]) == {"query_features": ["mean", ["feature 2"]]}
