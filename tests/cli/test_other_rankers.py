"""Rankers without a loss, by their names: trained, ranking, explained, interrupted, and what they do not take."""

import csv
import io
import json
import os

import numpy as np
import pytest

import plackett as pk
from plackett.cli.shared.rankers import options_of
from plackett.rankers.registry import ENTRIES, parameters
from tests.cli.test_train import INTERRUPT, facts_of, unboxed

SETTINGS = {  # where the default is not the quickest
    "featurerank": {"n_intervals": 4},
    "bl-featurerank": {"n_intervals": 4, "balance": "query"},
    "diffrank": {"n_intervals": 4, "top_k": 5},
    "adarank": {"metric": "ndcg@5", "n_rounds": 20},
    "rankboost": {"n_rounds": 20, "n_thresholds": 8},
    "prank": {"n_epochs": 3},
    "svm-map": {"C": 1.0, "relevant_from": 2},
}
TAKE_FEATURES = ["featurerank", "bl-featurerank", "diffrank", "adarank", "rankboost"]
STEPS = {"adarank": "round", "rankboost": "round", "prank": "epoch", "svm-map": "iteration"}


def words_of(name):
    settings = [word for key, value in SETTINGS[name].items() for word in ("--set", f"{key}={value}")]
    return ["-r", name, *settings, *(["--seed", "1"] if name == "prank" else [])]


def fitted_as(name, lists):
    seed = {"random_state": 1} if name == "prank" else {}
    ranker = pk.ranker(name, **SETTINGS[name], **seed)
    return ranker.fit(lists[:18], eval_set=lists[18:24], eval_metric="map")


@pytest.mark.parametrize("name", SETTINGS)
def test_it_is_trained_and_ranks_and_is_explained(run, lists, name):
    expected = fitted_as(name, lists)
    words = ["--validation", "vali.txt", "-m", "map,ndcg@5", "-o", "model"]
    done = run("train", "train.txt", *words_of(name), *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert (facts["ranker"], facts["class"]) == (name, type(expected).__name__)
    assert facts["params"] == expected.get_params(deep=False)
    assert (facts["n_iter"], facts["best_iteration"]) == (expected.n_iter_, expected.best_iteration_)
    assert facts["stop_reason"] == expected.stop_reason_
    assert list(facts["training"]) == list(facts["validation"]) == ["map", "ndcg@5"]
    assert not {"loss", "l2", "solver", "gradient_norm", "l2_path"} & set(facts)
    assert ("feature_weights" in facts) == (name in TAKE_FEATURES)

    done = run("rank", "model", "test.txt")
    scores = expected.predict(lists[24:])
    assert [float(line) for line in done.stdout.splitlines()] == scores.tolist()

    done = run("explain", "model", "test.txt", "--query", "26")
    assert (done.returncode, done.stderr) == (0, "")
    from_top = (-scores[12:24]).argsort(kind="stable").tolist()
    assert [int(line.split()[0]) for line in done.stdout.splitlines()[1:13]] == from_top
    pair = ["--query", "26", "--above", "3", "--below", "5"]
    plain = json.loads(run("explain", "model", "test.txt", *pair, "--json").stdout)
    assert (plain["a"]["score"], plain["b"]["score"]) == pytest.approx((scores[15], scores[17]))
    table = list(csv.DictReader(io.StringIO(run("explain", "model", "test.txt", *pair, "--csv").stdout)))
    assert len(table) > 0


@pytest.mark.parametrize("name", SETTINGS)
def test_the_summary_shows_what_the_ranker_has(run, lists, name):
    expected = fitted_as(name, lists)
    done = run("train", "train.txt", *words_of(name), "--validation", "vali.txt", "-m", "map", "-o", "model")
    facts = facts_of(done.stdout)
    assert facts["ranker"] == f"{name} ({type(expected).__name__})"
    for key, value in SETTINGS[name].items():
        assert facts[key] == (f"{value:g}" if isinstance(value, float) else str(value))
    best = f", best on the validation set: {expected.best_iteration_}"
    assert facts[f"{STEPS.get(name, 'step')}s"] == f"{expected.n_iter_}{best}"
    assert facts["stopped"] == expected.stop_reason_
    assert facts["on validation"] == f"map {expected.best_score_:.4f}"
    assert ("feature weights" in facts) == (name in TAKE_FEATURES)
    assert ("objective" in facts) == (name == "svm-map")
    assert not {"loss", "l2", "solver", "verbose"} & set(facts)


def test_features_stand_by_the_size_of_their_weights(run, lists):
    model = ["--set", "cycles=2", "-o", "model"]
    done = run("train", "train.txt", "-r", "diffrank", *model)
    weights = pk.DiffRank(cycles=2).fit(lists[:18]).feature_weights_
    order = np.argsort(-np.abs(weights))
    words = [f"feature {column + 1} {weights[column]:.4g}" for column in order[:5]]  # as the file numbers them
    assert facts_of(done.stdout)["feature weights"] == ", ".join([*words, "and 1 more"])
    facts = json.loads(run("train", "train.txt", "-r", "diffrank", *model, "--json").stdout)["feature_weights"]
    assert [one["feature"] for one in facts] == [f"feature {column + 1}" for column in order]
    assert [one["weight"] for one in facts] == pytest.approx(weights[order].tolist())


def test_thresholds_of_rankboost_add_up_by_their_size(run):
    done = run("train", "train.txt", "-r", "rankboost", "--set", "n_rounds=30", "-o", "model", "--json")
    expected = pk.RankBoost(n_rounds=30).fit(pk.read_letor("train.txt"))
    sums = {}
    for column, alpha, _, _ in expected.steps_.tolist():
        sums[f"feature {column + 1}"] = sums.get(f"feature {column + 1}", 0.0) + abs(alpha)
    found = {one["feature"]: one["weight"] for one in json.loads(done.stdout)["feature_weights"]}
    assert found == pytest.approx(sums)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_lists_of_which_nothing_can_be_learned_make_a_model_too(run, lists_folder, name):
    (lists_folder / "flat.txt").write_text("1 qid:1 1:1 2:3\n1 qid:1 1:2 2:2\n0 qid:2 1:1 2:1\n0 qid:2 1:0 2:4\n")
    done = run("train", "flat.txt", "-r", name, "--validation", "flat.txt", "-o", "model")
    assert done.returncode == 0
    facts = facts_of(done.stdout)
    n_steps = {"adarank": "0", "rankboost": "0", "svm-map": "1"}
    assert facts[f"{STEPS.get(name, 'step')}s"].startswith(n_steps.get(name, ""))
    assert "feature weights" not in facts
    assert len(run("rank", "model", "flat.txt").stdout.splitlines()) == 4


def test_adarank_without_a_validation_set_keeps_the_best_rounds_on_the_training_set(run, lists):
    done = run("train", "train.txt", "-r", "adarank", "--tol", "0.01", "-o", "model")
    expected = pk.AdaRank(tol=0.01).fit(lists[:18])
    assert expected.steps_.size < expected.n_iter_
    assert facts_of(done.stdout)["rounds"] == f"{expected.n_iter_}, best on the training set: {expected.steps_.size}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-r", "svm-map", "--l2", "1"], "--l2: the ranker 'svm-map' has no such option. It takes --C 100.0, --tol"),
        (["-r", "listmle", "--cycles", "3"], "--cycles: the ranker 'listmle' has no such option. It takes --l2 0.001,"),
        (["-r", "adarank", "--loss", "hinge"], "--loss: the ranker 'adarank' has no such option. It takes"),
        (["-r", "adarank", "--max-iter", "5"], "the ranker 'adarank' has no such option. It takes --metric map"),
        (["-r", "adarank", "--max-iter", "5"], "--n-rounds 500, --tol"),
        (["-r", "diffrank", "--normalize", "zscore"], "--normalize: the ranker 'diffrank' has no such option."),
        (["-r", "prank", "--solver", "newton"], "--solver: the ranker 'prank' has no such option."),
        (["-r", "rankboost", "--seed", "3"], "--seed: the ranker 'rankboost' has no such option."),
        (
            ["-r", "prank", "--tune-l2", "--validation", "vali.txt"],
            "--tune-l2 and --l2-path: the ranker 'prank' has no l2.",
        ),
        (["-r", "svm-map", "--set", "c=1"], "the ranker 'svm-map' has no parameter 'c'. Did you mean C?"),
        (["-r", "svm-map", "--set", "C=0"], "--set C=0: it must be a finite number above 0."),
        (["-r", "svm-map", "--normalize", "log"], "--normalize log is not known. hint: choose one of query-minmax"),
        (["-r", "adarank", "--set", "metric=ndgc"], "ndgc"),
        (["-r", "rankboost", "--set", "n_rounds=x"], "--set n_rounds=x: it must be a whole number of at least 1."),
        (["-r", "rankboost", "--patience", "3"], "--patience needs a --validation set."),
        (["-r", "adarank", "--patience", "3"], "--patience needs a --validation set."),
        (["-r", "prank", "--set", "n_epochs=0"], "--set n_epochs=0: it must be a whole number of at least 1."),
        (
            ["-r", "bl-featurerank", "--set", "balance=all"],
            "--set balance=all is not known. hint: choose one of global",
        ),
        (["-r", "featurerank", "--set", "cycles=1.5"], "--set cycles=1.5: it must be a whole number of at least 1."),
        (["-r", "diffrnk"], "there is no ranker 'diffrnk'. Did you mean diffrank"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_the_ranker_takes(run, lists_folder, words, message):
    done = run("train", "train.txt", "-o", "model", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in unboxed(done.stderr)
    assert not (lists_folder / "model").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
@pytest.mark.parametrize(
    ("name", "words", "found"),
    [
        ("diffrank", [], "steps"),
        ("adarank", ["--validation", "vali.txt"], "best rounds"),
        ("prank", [], "epochs"),
        ("svm-map", [], "best coefficients"),
    ],
)
def test_control_c_saves_what_was_found_so_far(run_apart, name, words, found):
    done = run_apart("train", "train.txt", "-o", "model", "-r", name, *words, before=INTERRUPT)
    assert (done.returncode, done.stdout) == (130, "")
    word = STEPS.get(name, "step")
    said = f"stopped after 2 {word}s; the {found} so far are in model.\nplackett: stopped.\n"
    assert done.stderr.endswith(said)
    model = pk.load("model")
    assert (model.n_iter_, model.stop_reason_) == (2, "interrupted")


def test_parameters_of_a_ranker_are_options_with_the_sentences_of_its_docstring(run, lists):
    shown = " ".join(run("train", "-r", "diffrank", "--help").stdout.replace("│", " ").split())
    assert "--cycles N Passes over the features (10)." in shown
    assert "--n-intervals N Number of parts into which lists are split to find the ranking by a feature (8)." in shown
    assert "--loss" not in shown
    assert run("train", "train.txt", "-r", "diffrank", "--cycles", "2", "--top-k=3", "-o", "model").returncode == 0
    params = pk.load("model").get_params(deep=False)
    assert (params["cycles"], params["top_k"], params["n_intervals"]) == (2, 3, 8)
    done = run("train", "train.txt", "-r", "diffrank", "--cycles", "2", "--set", "cycles=2", "-o", "model")
    assert (done.returncode, "--set cycles and --cycles are the same parameter" in done.stderr) == (2, True)


WITHOUT_TEXT = ("learning_rate", "min_data_in_leaf", "lambda_l2", "min_child_weight", "reg_lambda", "activation")


@pytest.mark.parametrize("name", ENTRIES)
def test_options_of_a_ranker_are_the_parameters_of_its_class(name):
    options = {option.name: option for option in options_of(name)}
    own = parameters(name)
    assert set(options) == set(own) - {"verbose"}
    for param, option in options.items():
        assert option.default == own[param] or param == "max_bytes"  # which is a constant
        assert option.help or param in WITHOUT_TEXT
