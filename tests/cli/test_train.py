"""``plackett train``: a model file that is whole or not there, a summary on standard output, wrong usage."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plackett as pk
from plackett.rankers.registry import ENTRIES
from tests.cli.conftest import is_one_line

INTERRUPT = """
import os, signal
from plackett._progress import Progress

steps = []

def interrupt(self, shown=""):
    steps.append(shown)
    if len(steps) == 2:
        os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C sends

Progress.advance = interrupt
"""

INTERRUPT_THE_MEASURING = """
import os, signal, time
from plackett.evaluation import evaluate

def interrupt(*arguments, **keywords):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

evaluate.evaluate = interrupt
"""


def facts_of(stdout):
    pairs = (line.split("  ", 1) for line in stdout.splitlines())
    return {heading: value.strip() for heading, value in pairs}


def test_a_trained_model_ranks_as_the_same_ranker_in_python(run, lists):
    done = run("train", "train.txt", "--ranker", "listnet", "--l2", "0.1", "--model", "model.plackett")
    assert (done.returncode, done.stderr) == (0, "")
    facts = facts_of(done.stdout)
    expected = pk.LinearRanker(loss="listnet", l2=0.1).fit(lists[:18])
    np.testing.assert_allclose(pk.load("model.plackett").coef_, expected.coef_, rtol=1e-6)
    assert facts["ranker"] == "listnet (LinearRanker)"
    assert (facts["loss"], facts["l2"], facts["solver"]) == ("listnet", "0.1", expected.solver_)
    assert facts["training set"] == "18 queries, 216 documents, 6 features"
    assert facts["iterations"] == str(expected.n_iter_)
    assert facts["objective"] == f"{expected.objective_:.6g}"
    assert facts["stopped"] == expected.stop_reason_
    means = pk.evaluate(lists[:18], expected.predict(lists[:18]), metrics=["ndcg@10", "map"]).mean()
    assert facts["on training"] == f"ndcg@10 {means['ndcg@10']:.4f}, map {means['map']:.4f}"
    assert facts["model"] == "model.plackett"


def test_listmle_is_trained_where_nothing_is_said(run):
    assert facts_of(run("train", "train.txt", "-o", "model").stdout)["ranker"] == "listmle (LinearRanker)"


def test_the_summary_shows_what_is_not_as_by_default(run):
    facts = facts_of(run("train", "train.txt", "-o", "model", "--max-iter", "300", "--seed", "7", "-q").stdout)
    assert facts == {}
    facts = facts_of(run("train", "train.txt", "-o", "model", "--max-iter", "300", "--seed", "7").stdout)
    assert (facts["max_iter"], facts["random_state"]) == ("300", "7")
    assert not {"tol", "normalize", "warm_start", "verbose", "patience"} & set(facts)


@pytest.mark.parametrize("words", [("--loss", "squared"), ("--set", "loss=squared")])
def test_a_loss_alone_means_the_linear_ranker(run, words):
    facts = facts_of(run("train", "train.txt", "-o", "model", *words).stdout)
    assert (facts["ranker"], facts["loss"]) == ("linear (LinearRanker)", "squared")


def test_settings_of_a_loss_are_parameters(run):
    loss = pk.losses.Pairwise("logistic", "lambdarank", 3)
    run("train", "train.txt", "-o", "model", "--loss", "logistic", "--set", "weight=lambdarank", "--set", "k=3")
    assert pk.load("model").loss == loss
    run("train", "train.txt", "-o", "trees", "-r", "trees:lambdarank", "--set", "k=3", "--set", "n_rounds=3")
    assert pk.load("trees").loss == loss


def test_options_become_parameters(run):
    words = ["--normalize", "query-zscore", "--solver", "lbfgs", "--max-iter", "300", "--tol", "1e-3", "--seed", "7"]
    settings = ["--set", "k=5", "--set", "weights=label", "--set", "warm_start=true"]
    run("train", "train.txt", "-o", "model", "-r", "cs-listmle", *words, *settings)
    params = pk.load("model").get_params(deep=False)
    assert params["loss"] == pk.losses.CSListMLE(k=5, weights="label")
    assert (params["normalize"], params["solver"], params["max_iter"]) == ("query-zscore", "lbfgs", 300)
    assert (params["tol"], params["random_state"], params["warm_start"]) == (1e-3, 7, True)
    assert params["verbose"] is False


@pytest.mark.parametrize("words", [[], ["--validation", "vali.txt", "--tune-l2"], ["--validation", "vali.txt"]])
@pytest.mark.parametrize("name", ["ranksvm", "ranknet", "regression", "kernel-cs-listmle"])
def test_every_kind_of_ranker_is_trained(run, name, words):
    done = run("train", "train.txt", "-o", "model", "-r", name, "--normalize", "query-zscore", "--json", *words)
    assert (done.returncode, json.loads(done.stdout)["ranker"]) == (0, name)
    assert pk.load("model").normalize == "query-zscore"


def test_the_summary_in_json(run):
    done = run("train", "train.txt", "--validation", "vali.txt", "-o", "model", "-m", "map", "-m", "p@5", "--json")
    facts = json.loads(done.stdout)
    model = pk.load("model")
    assert (facts["ranker"], facts["class"], facts["params"]["loss"]) == ("listmle", "LinearRanker", "listmle")
    assert (facts["n_queries"], facts["n_docs"], facts["n_features"]) == (18, 216, 6)
    assert (facts["n_iter"], facts["objective"]) == (model.n_iter_, model.objective_)
    assert list(facts["training"]) == list(facts["validation"]) == ["map", "p@5"]
    assert facts["best_iteration"] == model.best_iteration_
    assert facts["validation"]["map"] == pytest.approx(model.best_score_)
    assert set(facts["seconds"]) == {"reading", "fitting"}


def test_a_measure_without_a_value_is_null_in_json(run, lists_folder):
    (lists_folder / "flat.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    words = ["--validation", "flat.txt", "-m", "map,ndcg(empty=skip)", "--json"]
    done = run("train", "train.txt", "-o", "model", *words)
    facts = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert facts["validation"] == {"map": 0.0, "ndcg(empty=skip)": None}


def test_quiet_prints_nothing(run):
    assert run("train", "train.txt", "-o", "model", "-q") == (0, "", "")
    assert pk.load("model").n_features_in_ == 6


def test_a_validation_set_stops_the_fit(run, lists):
    words = ["--validation", "vali.txt", "--metrics", "ndcg@5", "--patience", "1", "--solver", "lbfgs", "--l2", "0"]
    done = run("train", "train.txt", "-o", "model", *words)
    expected = pk.LinearRanker(solver="lbfgs", l2=0.0, patience=1)
    expected.fit(lists[:18], eval_set=lists[18:24], eval_metric="ndcg@5")
    facts = facts_of(done.stdout)
    assert facts["stopped"] == "no improvement on the validation set"
    assert facts["iterations"] == f"{expected.n_iter_}, best on the validation set: {expected.best_iteration_}"
    assert facts["on validation"] == f"ndcg@5 {expected.best_score_:.4f}"
    assert facts["validation set"] == "6 queries, 72 documents, 6 features"


def test_l2_is_chosen_on_the_validation_set(run, lists):
    done = run("train", "train.txt", "--validation", "vali.txt", "-o", "model", "--l2-path", "1,0.01,0.1")
    path = pk.LinearRanker().l2_path(lists[:18], l2=[1, 0.1, 0.01], eval_set=lists[18:24])
    heading, *rows = (line.split() for line in done.stdout.partition("\n\n")[0].splitlines())
    assert heading == ["l2", "objective", "iterations", "ndcg@10"]
    assert [row[0] for row in rows] == ["1", "0.1", "0.01"]
    assert [row[3] for row in rows] == [f"{value:.4f}" for value in path.validation]
    assert [row[0] for row in rows if row[-1] == "best"] == [f"{path.best.l2:g}"]
    assert pk.load("model").l2 == path.best.l2
    assert facts_of(done.stdout.partition("\n\n")[2])["l2"] == f"{path.best.l2:g}"


def test_the_default_path_in_json(run):
    done = run("train", "train.txt", "--validation", "vali.txt", "-o", "model", "--tune-l2", "--json")
    path = json.loads(done.stdout)["l2_path"]
    assert [one["l2"] for one in path] == [1.0, 0.1, 0.01, 0.001, 0.0001]
    assert sum(one["is_best"] for one in path) == 1


@pytest.mark.parametrize(("validation", "end"), [([0.5, 0.4, 0.3], "strongest"), ([0.3, 0.4, 0.5], "weakest")])
def test_a_best_l2_at_an_end_of_the_path_is_noted(run, validation, end, monkeypatch):
    monkeypatch.setattr("plackett.rankers.monitor.ValidationSet.mean", lambda *_: validation.pop(0))
    done = run("train", "train.txt", "--validation", "vali.txt", "-o", "model", "--l2-path", "1,0.1,0.01")
    assert done.stderr == f"the {end} l2 of the path is the best one; --l2-path can extend it\n"


@pytest.mark.parametrize("validation", [[0.3, 0.5, 0.4], [0.4, 0.4, 0.3]])
def test_a_best_l2_within_the_path_is_not(run, validation, monkeypatch):
    monkeypatch.setattr("plackett.rankers.monitor.ValidationSet.mean", lambda *_: validation.pop(0))
    assert run("train", "train.txt", "--validation", "vali.txt", "-o", "model", "--l2-path", "1,0.1,0.01").stderr == ""


def test_standard_input_and_several_files_are_read(run, lists_folder, lists):
    text = (lists_folder / "train.txt").read_text(encoding="utf-8")
    assert run("train", "-", "-o", "model", stdin=text).returncode == 0
    assert facts_of(run("train", "train.txt", "vali.txt", "-o", "model").stdout)["training set"].startswith(
        "24 queries"
    )


def test_columns_that_one_file_leaves_out_count_as_zero(run, lists_folder, lists):
    zeros = lists.X.copy()
    zeros[:, 4:] = 0.0
    pk.write_letor(pk.Queries(zeros, lists.y, lists.qid)[18:24], "short.txt")
    text = "".join(
        " ".join(line.split()[:6]) + "\n"
        for line in (lists_folder / "short.txt").read_text(encoding="utf-8").splitlines()
    )
    (lists_folder / "short.txt").write_text(text)
    done = run("train", "train.txt", "--validation", "short.txt", "-o", "model")
    note = "short.txt has 4 features and the training set has 6; the last 2 count as 0\n"
    assert (done.returncode, done.stderr) == (0, note)
    done = run("train", "short.txt", "--validation", "vali.txt", "-o", "model")
    assert done.stderr == "the training set has 4 features and vali.txt has 6; the last 2 count as 0\n"
    assert pk.load("model").n_features_in_ == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-r", "ranksvn"], "there is no ranker 'ranksvn'. Did you mean ranksvm"),
        (["--loss", "listmel"], "--loss listmel is not known. Did you mean listmle or"),
        (["--solver", "adam"], "--solver adam is not known. hint: choose one of auto, lbfgs, newton"),
        (["--normalize", "log"], "--normalize log is not known. hint: choose one of query-minmax"),
        (["-r", "listnet", "--loss", "listmle"], "the ranker 'listnet' has loss='listnet', not 'listmle'"),
        (["--set", "k"], "--set k: write it like --set key=value."),
        (["--set", "warm_start=1", "--set", "warm_start=0"], "--set warm_start=0: warm_start is given twice."),
        (["--set", "l2=1", "--l2", "2"], "--set l2 and --l2 are the same parameter; give one of them."),
        (["--set", "l2=1", "--tune-l2", "--validation", "vali.txt"], "--l2 and --patience cannot be combined with"),
        (["--set", "l2=-1"], "--set l2=-1: it must be a finite number of at least 0."),
        (["--set", "patience=3"], "--patience needs a --validation set."),
        (["--set", "verbose=true"], "verbose has its own option, --quiet."),
        (["-r", "listnet", "--set", "loss=listmle"], "the ranker 'listnet' has loss='listnet', not 'listmle'"),
        (["-r", "cs-listmle", "--set", "k=abc"], "--set k=abc: it must be a whole number of at least 1."),
        (["--set", "ties=none"], "--set ties=none is not known"),
        (["-r", "ranksvm", "--set", "loss__normalize=[1]"], "normalize=[1] is not known"),
        (["-r", "kernel", "--set", "gamma=abc"], "--set gamma=abc: it must be a number above 0"),
        (["-r", "kernel", "--set", "gamma=-1"], "--set gamma=-1: it must be a finite number above 0."),
        (["-r", "kernel", "--set", "landmarks=0"], "--set landmarks=0: it must be a whole number of at least 1."),
        (["--tol", "0"], "--tol 0: it must be a finite number above 0."),
        (["--l2", "inf"], "--l2 inf: it must be a finite number of at least 0."),
        (["-o", "-"], "a model cannot be written to standard output; give the name of a file."),
        (["-o", "model.gz"], "model.gz: models are not compressed"),
        (["--set", "kk=1"], "the ranker 'listmle' has no parameter 'kk'"),
        (["-m", "ndgc"], "ndgc"),
        (["-m", "map", "-m", "MAP"], "--metrics: give at least one measure, and each one once."),
        (["--l2", "-1"], "--l2 -1: it must be a finite number of at least 0."),
        (["--max-iter", "0"], "--max-iter 0: it must be a whole number of at least 1."),
        (["-r", "trees:listmel"], "loss='listmel' is not known. Did you mean listmle"),
        (["--tune-l2"], "--tune-l2 and --l2-path need a --validation set."),
        (["--patience", "3"], "--patience needs a --validation set."),
        (["--tune-l2", "--l2", "1", "--validation", "vali.txt"], "--l2 and --patience cannot be combined with"),
        (["--l2-path", "1,x", "--validation", "vali.txt"], "--l2-path: '1,x': expected numbers"),
        (["--validation", "-", "-"], "standard input (-) can be used for one file only."),
    ],
)
def test_wrong_usage_exits_2_and_says_what_exists(run, lists_folder, words, message):
    done = run("train", "train.txt", "-o", "model", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in unboxed(done.stderr)
    assert not (lists_folder / "model").exists()


def unboxed(text):
    """The text without a box around it and the breaks of its lines."""
    return " ".join(" ".join(line.strip(" │╭╮╰╯─") for line in text.splitlines()).split())


def test_a_model_needs_a_name(run):
    assert run("train", "train.txt").returncode == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.txt", "-o", "model"], "there is no file 'nowhere.txt'"),
        (["train.txt", "-o", "nowhere/model"], "there is no folder"),
        (["train.txt", "-o", "."], "is a folder; give the name of a file for the model."),
        (["nan.txt", "-o", "model"], "X has a NaN in row 2, feature 1"),  # of the file, whose queries are torn apart
        (["bare.txt", "-o", "model"], 'bare.txt has 2 rows but no features; expected rows like "label qid:ID 1:value'),
        (["train.txt", "--validation", "bare.txt", "-o", "model"], "bare.txt has 2 rows but no features"),
    ],
)
def test_a_fit_that_fails_is_one_line_and_leaves_the_model_alone(run, lists_folder, words, message):
    (lists_folder / "nan.txt").write_text("1 qid:1 1:1\n0 qid:2 1:2\n0 qid:1 1:NULL\n")
    (lists_folder / "bare.txt").write_text("1 qid:1\n0 qid:1\n")
    (lists_folder / "model").write_text("the old one")
    done = run("train", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("plackett: error: ")
    assert is_one_line(done.stderr)
    assert message in done.stderr
    assert (lists_folder / "model").read_text(encoding="utf-8") == "the old one"
    files = {"train.txt", "vali.txt", "test.txt", "nan.txt", "bare.txt", "model"}
    assert {path.name for path in lists_folder.iterdir()} == files


def test_a_fit_that_ends_too_early_is_a_warning(run_apart):
    done = run_apart("train", "train.txt", "-o", "model", "--max-iter", "1", "--l2", "0")
    assert done.returncode == 0
    assert "plackett: warning: newton stopped after 1 iterations" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "sgd"])
def test_control_c_saves_the_best_coefficients_so_far(run_apart, solver):
    words = ["train", "train.txt", "-o", "model", "--solver", solver, "--l2", "1e-6", "--tol", "1e-12"]
    done = run_apart(*words, before=INTERRUPT)
    assert (done.returncode, done.stdout) == (130, "")
    said = "stopped after 2 iterations; the best coefficients so far are in model.\nplackett: stopped.\n"
    assert done.stderr.endswith(said)
    model = pk.load("model")
    assert (model.n_iter_, model.stop_reason_) == (2, "interrupted")
    assert np.abs(model.coef_).max() > 0


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_control_c_while_a_fit_is_measured_does_not_lose_it(run_apart, lists):
    done = run_apart("train", "train.txt", "-o", "model", before=INTERRUPT_THE_MEASURING)
    assert (done.returncode, done.stdout) == (130, "")
    said = "stopped during the evaluation; the fitted model is in model.\nplackett: stopped.\n"
    assert done.stderr.endswith(said)
    np.testing.assert_allclose(pk.load("model").coef_, pk.LinearRanker().fit(lists[:18]).coef_, rtol=1e-6)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_control_c_on_a_path_writes_no_model(run_apart, lists_folder):
    done = run_apart("train", "train.txt", "-o", "model", "--validation", "vali.txt", "--tune-l2", before=INTERRUPT)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("stopped before l2 was chosen; no model was written.\nplackett: stopped.\n")
    assert not (lists_folder / "model").exists()


@pytest.mark.skipif(os.name != "posix", reason="a terminal as on POSIX systems")
def test_a_progress_bar_is_drawn_on_a_terminal_only(lists_folder):
    import pty

    ours, theirs = pty.openpty()
    code = "from plackett.cli import main; main()"
    command = [sys.executable, "-c", code, "train", "train.txt", "-o", "model"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    done = subprocess.run(
        command, cwd=lists_folder, stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=300
    )
    os.close(theirs)
    shown = os.read(ours, 1 << 20).decode()
    os.close(ours)
    assert "fitting" in shown
    assert "objective" in shown
    assert b"fitting" not in done.stdout.replace(b" fitting\n", b"")


def test_help_and_the_page_name_every_ranker(run):
    page = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    text = run("train", "--rankers").stdout
    for name, entry in ENTRIES.items():
        assert re.search(rf"^{name} +{re.escape(entry.description)}$", text, re.MULTILINE)
        assert f"| `{name}` | {entry.description} |\n" in page


# --- Trees ------------------------------------------------------------------------------------------------------------


def test_trees_are_trained_with_any_loss_and_parameters_of_lightgbm(run):
    pytest.importorskip("lightgbm")
    words = ("-r", "trees", "--set", "loss=p-listmle", "--set", "n_rounds=5", "--set", "max_depth=2")
    done = run("train", "train.txt", "-o", "model", *words)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^max_depth +2$", done.stdout, re.MULTILINE)
    assert "shares of the gain" in done.stdout
    assert run("rank", "model", "vali.txt").returncode == 0
    wrong = run("train", "train.txt", "-o", "model", "-r", "trees", "--set", "subsample=0.5")
    assert wrong.returncode == 2
    assert "Did you mean bagging_fraction?" in " ".join(wrong.stderr.replace("│", " ").split())


def test_trees_of_xgboost_are_trained_and_saved(run):
    pytest.importorskip("xgboost")
    assert "None" not in run("train", "train.txt", "-o", "model", "-r", "xgboost").stdout
    done = run("train", "train.txt", "-o", "model", "-r", "xgboost", "--set", "n_rounds=3")
    assert done.returncode == 0, done.stderr
    assert "shares of the gain" in done.stdout
    assert run("rank", "model", "vali.txt").returncode == 0


def test_no_words_are_wrong_usage(run):
    done = run("train")
    assert done.returncode == 2
    assert "is missing" in done.stderr
