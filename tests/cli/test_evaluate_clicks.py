"""``plackett clicks evaluate``: values of runs, models and the logged order, by the clicks of a log."""

import json

import numpy as np
import pytest

import plackett as pk

THETA = "0.68,0.61,0.48,0.34"
WORDS = ("--propensities", THETA, "-m", "dcg@3")
EVALUATE = ("clicks", "evaluate", "log.plackett")


@pytest.fixture
def part(lists):
    return lists[24:]


@pytest.fixture
def folder(lists_folder, part):
    """A log of the test lists, and the run of a feature."""
    served = {"a": part.X[:, 0], "b": part.X[:, 1]}
    pk.clicks.simulate_clicks(part, served, 1_500, k=4, random_share=0.5).save(lists_folder / "log.plackett")
    pk.write_trec_run(pk.Run.from_scores(part, part.X[:, 2]), lists_folder / "new.run")
    return lists_folder


def test_runs_are_valued_by_clicks_and_compared(run, folder, part):
    done = run(*EVALUATE, "new.run", "logged", *WORDS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["ranker", "dcg@3", "low", "high"]
    assert lines[1].startswith("new.run")
    assert "new.run - logged" in done.stdout
    assert "1,500 sessions with" in done.stderr
    found = json.loads(run(*EVALUATE, "new.run", "logged", *WORDS, "--json").stdout)
    log = pk.clicks.ClickLog.load(folder / "log.plackett")
    theta = [float(one) for one in THETA.split(",")]
    scores = [part.X[int(log.pairs[code][1]), 2] for code in range(log.n_pairs)]
    known = pk.clicks.evaluate_from_clicks(log, scores, propensities=theta, metric="dcg@3")
    assert found["rankers"]["new.run"]["value"] == pytest.approx(known.value)
    assert found["rankers"]["new.run"]["interval"] == pytest.approx(known.interval)
    assert [one["other"] for one in found["differences"]] == ["logged"]


@pytest.mark.parametrize(("form", "start"), [("--markdown", "| ranker | dcg@3 |"), ("--csv", "ranker,dcg@3,low,high")])
def test_tables_come_in_other_formats(run, folder, form, start):
    assert run(*EVALUATE, "new.run", *WORDS, form).stdout.startswith(start)


def test_models_rank_the_features_of_a_file(run, folder, part):
    assert run("train", "train.txt", "-r", "regression", "-o", "model.plackett", "-q").returncode == 0
    done = run(*EVALUATE, "test.txt", "model.plackett", *WORDS, "--json")
    assert done.returncode == 0, done.stderr
    scores = pk.load("model.plackett").predict(part)
    np.savetxt("scores.txt", scores)
    same = run(*EVALUATE, "test.txt", "scores.txt", *WORDS, "--json")
    values = [json.loads(one.stdout)["rankers"] for one in (done, same)]
    assert values[0]["model.plackett"]["value"] == pytest.approx(values[1]["scores.txt"]["value"])
    refused = run(*EVALUATE, "model.plackett", *WORDS)
    assert refused.returncode == 1
    assert "is a model, which needs features: give a LETOR file" in refused.stderr


def test_shuffled_lists_need_no_propensities(run, folder):
    done = run(*EVALUATE, "new.run", "--estimator", "item-position", "-m", "clicks")
    assert done.returncode == 0, done.stderr
    assert "mean weight" in done.stdout
    assert "estimator item-position" in done.stderr


def test_propensities_may_be_estimated_from_the_log(run, folder):
    done = run(*EVALUATE, "new.run", "--propensities", "randomised")
    assert done.returncode == 0, done.stderr
    assert "The propensities are estimates from this log (randomised)" in done.stderr


def test_estimated_propensities_are_noted_for_models_too(run, folder):
    assert run("train", "train.txt", "-r", "regression", "-o", "model.plackett", "-q").returncode == 0
    words = (*EVALUATE, "test.txt", "model.plackett", "--propensities")
    done = run(*words, "em")
    assert done.returncode == 0, done.stderr
    assert "The propensities are estimates from this log (em)" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new.run",), "the estimator 'ips' needs propensities"),
        (("new.run", "new.run", *WORDS), "new.run is given twice"),
        (("new.run", *WORDS, "-m", "dcg@3,p@1"), "give one measure"),
        (("test.txt", *WORDS), "rankings are missing"),
        ((), "RANKING is missing"),
        (("none.run", *WORDS), "none.run"),
    ],
)
def test_mistakes_are_explained(run, folder, words, message):
    done = run(*EVALUATE, *words)
    assert done.returncode in (1, 2)
    assert message in " ".join(done.stderr.replace("│", " ").split())
