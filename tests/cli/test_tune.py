"""``plackett tune``: a table of settings with the best marked, a model file, wrong usage."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.select.select import select

INTERRUPT = """
import os, signal
from plackett._progress import Progress

steps = []

def interrupt(self, shown=""):
    if shown.startswith("l2="):  # fits have bars of their own
        steps.append(shown)
    if len(steps) == 2:
        os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C sends

Progress.advance = interrupt
"""


def test_the_best_on_the_validation_set_is_marked_and_saved(run, lists):
    done = run("tune", "train.txt", "--validation", "vali.txt", "-r", "ranksvm", "--grid", "l2=1,0.1,0.01", "-m", "map",
               "--convention", "letor4", "-o", "model")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    grid = {"l2": [1, 0.1, 0.01]}
    expected = select("ranksvm", lists[:18], grid, validation=lists[18:24], metric="map", convention="letor4")
    heading, *rows, summary, model = done.stdout.splitlines()
    assert heading.split() == ["l2", "map", "seconds"]
    assert [row.split()[-2] for row in rows] == [f"{trial.value:.4f}" for trial in expected.trials]
    assert [row.startswith("*") for row in rows] == [place == expected.best_trial for place in range(3)]
    assert (summary, model) == (str(expected).splitlines()[-1], "model: model")
    np.testing.assert_allclose(pk.load("model").coef_, expected.best_.coef_, rtol=1e-6)


def test_without_a_validation_set_parts_of_the_data_decide(run, lists):
    for words, n_parts in (([], 5), (["--folds", "3"], 3)):
        done = json.loads(run("tune", "train.txt", "--json", *words, "-o", "model").stdout)
        expected = select("listmle", lists[:18], cv=n_parts)
        assert done["judged_on"] == f"18 queries in {n_parts} parts"
        assert [trial["value"] for trial in done["trials"]] == pytest.approx([one.value for one in expected.trials])
        assert done["best"]["params"] == expected.best_params
        assert (done["ranker"], done["model"]) == ("listmle", "model")
        np.testing.assert_allclose(pk.load("model").coef_, expected.best_.coef_, rtol=1e-6)


def test_what_is_set_is_the_same_in_all_settings(run):
    words = ("tune", "train.txt", "--validation", "vali.txt", "-o", "model")
    done = run(*words, "-r", "cs-listmle", "--set", "k=3", "--set", "normalize=query-zscore", "--json")
    fitted = pk.load("model")
    assert (fitted.loss, fitted.normalize) == (pk.losses.CSListMLE(k=3), "query-zscore")
    assert [trial["params"]["l2"] for trial in json.loads(done.stdout)["trials"]] == [1, 0.1, 0.01, 0.001, 0.0001]
    done = run(*words, "--set", "l2=7", "--json")  # set, so that nothing of the default grid is left to choose
    assert [trial["params"] for trial in json.loads(done.stdout)["trials"]] == [{"patience": None}]
    assert pk.load("model").l2 == 7


def test_values_are_numbers_words_and_lists(run):
    done = run(
        "tune", "train.txt", "--folds", "2", "--json", "-g", "normalize=None, query-zscore,query-rank", "-g", "l2=1"
    )
    assert [trial["params"] for trial in json.loads(done.stdout)["trials"]] == [
        {"normalize": value, "l2": 1} for value in (None, "query-zscore", "query-rank")
    ]
    done = run("tune", "train.txt", "--validation", "vali.txt", "-r", "knn-svm", "-g", "l2=[1,0.1],[0.5]", "--json")
    assert [trial["params"]["l2"] for trial in json.loads(done.stdout)["trials"]] == [[1, 0.1], [0.5]]


@pytest.mark.parametrize("method", ["random", "optuna"])
def test_settings_are_drawn_from_ranges_and_repeat_with_the_seed(run, method):
    if method == "optuna":
        pytest.importorskip("optuna")
    words = ("tune", "train.txt", "--validation", "vali.txt", "--method", method, "--trials", "4", "--json",
             "-g", "l2=1e-4..1:log", "-g", "max_iter=300..310", "-g", "tol=0.001..0.01")  # fmt: skip

    def drawn(seed):
        return [trial["params"] for trial in json.loads(run(*words, "--seed", seed).stdout)["trials"]]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)) == 4
    for params in drawn(1):
        assert 1e-4 <= params["l2"] <= 1
        assert params["max_iter"] in range(300, 311)
        assert 0.001 <= params["tol"] <= 0.01


def test_a_setting_that_fails_is_shown_and_all_failing_is_an_error(run):
    words = ("tune", "train.txt", "--validation", "vali.txt", "-r", "featurerank", "-g")
    done = run(*words, "n_intervals=0,4")
    assert done.returncode == 0
    assert "failed with n_intervals=0: ParameterError: n_intervals=0" in done.stdout
    done = run(*words, "n_intervals=0", "-o", "model")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("plackett: error: -g n_intervals=0: it must be ")
    assert not os.path.exists("model")


def test_finished_trials_are_kept_in_a_folder(run, run_apart):
    words = ("tune", "train.txt", "--validation", "vali.txt", "--folder", "kept")
    stopped = run_apart(*words, "-o", "model", before=INTERRUPT)
    assert stopped.returncode == 130
    assert "stopped after 2 of 5 candidates; finished trials are stored in kept; nothing was chosen." in stopped.stderr
    assert not os.path.exists("model")
    assert len(os.listdir("kept")) == 2
    resumed = json.loads(run(*words, "--json").stdout)
    whole = json.loads(run(*words[:4], "--json").stdout)
    assert len(os.listdir("kept")) == 5
    assert [trial["value"] for trial in resumed["trials"]] == [trial["value"] for trial in whole["trials"]]


def test_a_terminal_gets_a_progress_bar_and_standard_output_the_table_alone(lists_folder):
    import pty

    outer, inner = pty.openpty()
    command = [sys.executable, "-c", "from plackett.cli import main; main()", "tune", "train.txt", "--folds", "2"]
    done = subprocess.run(command, cwd=lists_folder, stdout=subprocess.PIPE, stderr=inner, timeout=300)
    os.close(inner)
    shown = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(outer)
    assert b"tuning" in shown
    assert b"5/5" in shown
    assert done.stdout.startswith(b"       l2  ndcg@10  seconds\n")


def test_trees_of_xgboost_are_tuned_and_saved(run):
    pytest.importorskip("xgboost")
    words = (
        "tune",
        "train.txt",
        "--validation",
        "vali.txt",
        "-r",
        "xgboost",
        "--set",
        "n_rounds=5",
        "-g",
        "max_depth=2,3",
    )
    done = run(*words, "-o", "model")
    assert done.returncode == 0, done.stderr
    assert run("rank", "model", "vali.txt").returncode == 0


def test_trees_of_catboost_are_not_tuned_to_be_saved(run):
    pytest.importorskip("catboost")
    done = run("tune", "train.txt", "--validation", "vali.txt", "-r", "catboost", "-g", "depth=2,3", "-o", "model")
    assert done.returncode == 2
    assert "models of catboost are not ours to save" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--ranker", "listmel"], "Did you mean listmle"),
        (["--grid", "l2"], "write it like --grid l2=1,0.1,0.01"),
        (["--grid", "l2="], "l2 has no values"),
        (["--grid", "l3=1,2"], "no parameter 'l3'"),
        (["--grid", "l2=1", "--grid", "l2=2"], "l2 is given twice"),
        (["--grid", "l2=1..2:log"], "Distributions need the method random or optuna."),
        (["--grid", "l2=2..1", "--method", "random"], "a range is written like"),
        (["--grid", "l2=0..1:log", "--method", "random"], "must start above 0"),
        (["--set", "l2"], "write it like --set key=value"),
        (["--set", "l3=1"], "no parameter 'l3'"),
        (["--set", "l2=-1"], "l2=-1"),
        (["--set", "l2=1", "--grid", "l2=1"], "give a parameter in one of them only"),
        (["--method", "best"], "--method best is not known. hint: choose one of grid, random, optuna."),
        (["--method", "grdi"], "Did you mean grid?"),
        (["-g", "l2=a,b"], "-g l2=a: it must be a finite number of at least 0."),
        (["-g", "solvr=sgd"], "the ranker 'listmle' has no parameter 'solvr'. Did you mean solver?"),
        (["-m", "ndcg@0"], "--metrics ndcg@0: k=0; it must be a whole number of at least 1."),
        (["--trials", "3"], "--trials 3: random and optuna have trials"),
        (["--trials", "0", "--method", "random"], "--trials 0: it must be at least 1."),
        (["--folds", "1"], "--folds 1: it must be at least 2."),
        (["--seed", "4294967296"], "--seed 4294967296: it must be from 0 to 4294967295"),
        (["--folds", "2", "--validation", "vali.txt"], "either --validation or --folds"),
        (["--metrics", "ndgc@10"], "ndgc"),
        (["--metrics", "ndcg@10", "-m", "map"], "give one measure"),
        (["--convention", "letor5"], "letor5"),
        (["--model", "model.gz"], "models are not compressed"),
        (["--validation", "-", "-"], "standard input (-) can be used for one file only"),
    ],
)
def test_wrong_usage_is_told_in_a_word(run, words, hint):
    done = run("tune", "train.txt", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in " ".join(done.stderr.replace("│", " ").split())


def test_help_is_one_screen_with_an_example(run):
    done = run("tune", "--help")
    assert "Example: plackett tune" in done.stdout
    assert len(done.stdout.splitlines()) <= 64


def test_files_that_are_not_there_are_named(run):
    done = run("tune", "nothing.txt")
    assert (done.returncode, "there is no file 'nothing.txt'" in done.stderr) == (1, True)
