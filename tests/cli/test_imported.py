"""Files of other tools in place of a model: ``rank``, ``evaluate``, ``explain``, ``export`` and ``info``."""

import json

import numpy as np
import pytest

import plackett as pk

LINEAR = "## Coordinate Ascent\n## Restart = 5\n1:0.25 2:-0.5 4:1.0\n"


@pytest.fixture
def model(lists, lists_folder):
    lightgbm = pytest.importorskip("lightgbm")
    params = {"objective": "lambdarank", "num_leaves": 5, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(lists.X, lists.y, group=np.diff(lists.indptr)), 5)
    booster.save_model(lists_folder / "model.txt")
    (lists_folder / "ascent.txt").write_text(LINEAR)
    return pk.load(lists_folder / "model.txt")


def test_models_of_others_rank_and_are_evaluated(run, model, lists):
    test = lists[24:]
    done = run("rank", "model.txt", "test.txt", "-o", "scores.txt")
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_array_equal(pk.evaluation.read_scores("scores.txt"), model.predict(test.X))
    by_scores, by_model = (
        run("evaluate", "test.txt", name, "-m", "map").stdout for name in ("scores.txt", "model.txt")
    )
    assert by_scores == by_model
    both = run("evaluate", "test.txt", "model.txt", "ascent.txt", "-m", "ndcg@10", "--json")
    assert set(json.loads(both.stdout)["mean"]) >= {"model.txt", "ascent.txt"} or "ascent" in both.stdout


def test_models_of_others_are_explained_exported_and_described(run, model, lists):
    explained = json.loads(run("explain", "model.txt", "test.txt", "--query", str(lists[24:].ids[0]), "--json").stdout)
    assert explained
    done = run("export", "ascent.txt", "--to", "json", "--check", "test.txt")
    assert "checked on" in done.stderr
    assert json.loads(run("info", "model.txt", "--json").stdout)["tool"] == "LightGBM"
    told = run("info", "ascent.txt").stdout
    assert "RankLib" in told
    assert "Coordinate Ascent" in told


def test_a_file_that_is_no_model_is_an_error(run, lists_folder):
    (lists_folder / "model.cbm").write_bytes(b"CBM1" + bytes(40))
    done = run("rank", "model.cbm", "test.txt")
    assert done.returncode == 1
    assert "a binary model of CatBoost. Save it as JSON" in done.stderr
