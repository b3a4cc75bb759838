"""Comparisons and cross-validation: the protocol against a literal loop, what survives, what is told."""

import itertools
import json
import math
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

import plackett as pk
from plackett.data.datasets.published import Fold
from plackett.evaluation import estimators
from plackett.evaluation.compare import folds
from plackett.evaluation.compare.comparison import Comparison, FoldFit, SummaryRow
from plackett.evaluation.compare.contestants import as_contestants
from plackett.evaluation.compare.folds import Criteria, prepare, run_fold_safely
from plackett.evaluation.evaluate import Evaluation
from plackett.evaluation.splits import as_folds
from plackett.evaluation.store.results import KIND, VERSION
from plackett.report.tables import tables
from plackett.storage.container import open_container

GRID = {"l2": [1.0, 0.1, 0.001]}
METRICS = ["ndcg@5", "map"]
RANKERS = {"listmle": ("listmle", GRID), "adarank": "adarank", "given": pk.LinearRanker(loss="squared")}


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 8, 4, random_state=1)


@pytest.fixture(scope="module")
def compared(data):
    return pk.compare(RANKERS, data, cv=4, metrics=METRICS)


def without_times(comparison):
    plain = comparison.to_dict()
    for fits in plain["fits"].values():
        for fit in fits:
            fit["seconds"] = None
    del plain["settings"]["date"]
    return plain


def kept_elsewhere(name):
    """An attribute whose value lies in a module of Python's: on the class, it would make it another one by each fit."""
    return property(lambda cls: getattr(sys, f"tests_{name}"), lambda cls, value: setattr(sys, f"tests_{name}", value))


class Counts(type(pk.LinearRanker)):
    fits, fails_at = kept_elsewhere("fits"), kept_elsewhere("fails_at")


class Counting(pk.LinearRanker, metaclass=Counts):
    """Writes down its fits; may fail, or be interrupted, at one of them."""

    def fit(self, X, y=None, *, qid=None, sample_weight=None, eval_set=None, eval_metric=None):
        Counting.fits += 1
        if Counting.fits in Counting.fails_at:
            raise Counting.fails_at[Counting.fits]
        return super().fit(X, y, qid=qid, eval_set=eval_set, eval_metric=eval_metric)


@pytest.fixture
def counting():
    Counting.fits, Counting.fails_at = 0, {}
    return Counting


# --- The protocol -----------------------------------------------------------------------------------------------------


def test_settings_are_chosen_on_validation_queries_and_measured_on_test_queries(data, compared):
    folds = as_folds(4, data)
    scores, chosen = [], []
    for fold in folds:
        rankers = [pk.ranker("listmle", l2=l2) for l2 in GRID["l2"]]
        fits = [ranker.fit(fold.train, eval_set=fold.validation, eval_metric="ndcg@5") for ranker in rankers]
        values = [
            pk.evaluate(fold.validation, fit.predict(fold.validation), metrics=["ndcg@5"]).mean()["ndcg@5"]
            for fit in fits
        ]
        chosen.append((GRID["l2"][int(np.argmax(values))], max(values)))
        scores.append(fits[int(np.argmax(values))].predict(fold.test))
    assert len({l2 for l2, _ in chosen}) > 1, "the data should tell settings apart"
    assert [(fit.params["l2"], fit.validation) for fit in compared.fits["listmle"]] == chosen
    np.testing.assert_array_equal(compared.scores["listmle"], np.concatenate(scores))
    everything = pk.Queries.concat([fold.test for fold in folds])
    table = pk.evaluate(everything, np.concatenate(scores), metrics=METRICS)
    np.testing.assert_array_equal(compared.tables["listmle"].values, table.values)
    assert compared.queries.ids.tolist() == everything.ids.tolist() == compared.tables["adarank"].queries.tolist()
    assert compared.fold_of.tolist() == [n for n, fold in enumerate(folds, 1) for _ in range(fold.test.n_queries)]
    assert [fit.n_candidates for fit in compared.fits["listmle"]] == [3] * 4
    assert [fit.params for fit in compared.fits["given"]] == [{}] * 4


def poisoned(fold):
    """The fold, its test queries with labels that say the opposite, and a strange one."""
    test = fold.test
    labels = test.labels.max() - test.labels
    labels[0] = 7.0
    names = test.feature_names
    test = pk.Queries.from_groups(test.X, labels, test.ids, test.indptr, feature_names=names)
    return Fold(fold.train, fold.validation, test)


def test_test_labels_reach_nobody_before_the_measuring(data, compared, tmp_path):
    clean = as_folds(4, data)
    result = pk.compare(RANKERS, cv=[poisoned(fold) for fold in clean], metrics=METRICS, folder=tmp_path)
    for name in RANKERS:
        np.testing.assert_array_equal(result.scores[name], compared.scores[name])
        for fit, other in zip(result.fits[name], compared.fits[name], strict=True):
            assert (fit.params, fit.validation) == (other.params, other.validation)
        assert result.mean()[name] != compared.mean()[name]
    features = {reference: result.reference_scores[reference].best_features for reference in result.reference_scores}
    assert features == {
        reference: compared.reference_scores[reference].best_features for reference in compared.reference_scores
    }
    # neither do the keys under which scores are kept depend on test labels
    before = len(list(tmp_path.iterdir()))
    assert pk.compare(RANKERS, cv=clean, metrics=METRICS, folder=tmp_path).mean() == compared.mean()
    assert len(list(tmp_path.iterdir())) == before


def test_contestants_are_given_test_documents_without_labels(data):
    seen = []

    class Curious(pk.LinearRanker):
        def predict(self, X, *, qid=None):
            seen.append(X.y)
            return super().predict(X)

    pk.compare({"curious": Curious()}, data, cv=3, metrics="map")
    assert [labels is None for labels in seen] == [False, True] * 3  # validation, then test


def test_folds_without_validation_hold_a_part_of_the_training_queries_back(data):
    folds = [Fold(fold.train, None, fold.test) for fold in as_folds(3, data)]
    chosen = pk.compare({"listmle": ("listmle", GRID)}, cv=folds, metrics="map")
    assert all(not math.isnan(fit.validation) for fit in chosen.fits["listmle"])
    as_it_is = pk.compare({"listmle": pk.ranker("listmle")}, cv=folds, metrics="map")
    assert all(math.isnan(fit.validation) for fit in as_it_is.fits["listmle"])
    expected = pk.ranker("listmle", random_state=0).fit(folds[0].train).predict(folds[0].test)
    np.testing.assert_array_equal(as_it_is.scores["listmle"][: expected.size], expected)


def test_the_measure_that_chooses_can_be_another_one(data):
    by_err = pk.compare(
        {"listmle": ("listmle", GRID)}, data, cv=3, metrics="map", select_by="err@3", convention="letor4"
    )
    fold = as_folds(3, data)[0]
    ranker = pk.ranker("listmle", l2=by_err.fits["listmle"][0].params["l2"])
    ranker.fit(fold.train, eval_set=fold.validation, eval_metric="err@3")
    value = pk.evaluate(fold.validation, ranker.predict(fold.validation), metrics=["err@3"], convention="letor4")
    assert by_err.fits["listmle"][0].validation == value.mean()["err@3"]


def test_rankers_that_draw_are_given_the_seed(data):
    first, second, other = (
        pk.compare({"prank": pk.PRank(n_epochs=1)}, data, cv=3, metrics="map", random_state=seed) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first.scores["prank"], second.scores["prank"])
    assert (first.scores["prank"] != other.scores["prank"]).any()


# --- Any number of jobs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_results_are_the_same_side_by_side(data, compared, backend):
    with joblib.parallel_config(backend, n_jobs=2):
        result = pk.compare(RANKERS, data, cv=4, metrics=METRICS)
    assert without_times(result) == without_times(compared)


def test_progress_is_told_in_order(data):
    lines = []
    pk.compare({"a": pk.LinearRanker(), "b": ("listmle", GRID)}, data, cv=3, metrics="map", progress=lines.append)
    assert [line.partition(" in ")[0] for line in lines[2:4]] == [
        "3 of 6: a, fold 3: 1 candidate",
        "4 of 6: b, fold 1: 3 candidates",
    ]


# --- Failures and interruptions ---------------------------------------------------------------------------------------


def test_a_ranker_that_fails_stops_nobody_else(data, compared, counting, tmp_path):
    counting.fails_at = {2: RuntimeError("no luck\nat all"), 3: ValueError()}
    rankers = {"counting": counting(), **RANKERS}
    result = pk.compare(rankers, data, cv=4, metrics=METRICS, folder=tmp_path, baseline="counting")
    assert result.failures == {"counting": ["fold 2: RuntimeError: no luck", "fold 3: ValueError"]}
    assert list(result.tables) == list(RANKERS)
    assert [fit.fold for fit in result.fits["counting"]] == [1, 4]
    assert result.mean() == compared.mean()
    assert result.baseline == next(iter(RANKERS)), "the next one named, not the best"
    assert "failed: counting, fold 2: RuntimeError: no luck" in str(result)
    assert "the baseline counting failed" in str(result)
    # what failed is tried again, and nothing else
    assert counting.fits == 4
    repaired = pk.compare(rankers, data, cv=4, metrics=METRICS, folder=tmp_path)
    assert counting.fits == 6
    assert repaired.failures == {}
    plain = pk.compare({"plain": pk.LinearRanker()}, data, cv=4, metrics=METRICS)
    np.testing.assert_array_equal(repaired.scores["counting"], plain.scores["plain"])


@pytest.mark.parametrize("folder", [None, "runs"])
def test_a_setting_that_fails_is_told_of_and_never_wins(data, compared, counting, tmp_path, folder):
    def run(**changes):
        grid = {"l2": [1.0, "no number", 0.1, 0.001], **changes}
        rankers = {"counting": (counting(loss="listmle"), grid), "all": (counting(), {"l2": ["a", "b"]})}
        place = None if folder is None else tmp_path / folder
        lines = []
        return pk.compare(rankers, data, cv=4, metrics=METRICS, folder=place, progress=lines.append), lines

    result, lines = run()
    np.testing.assert_array_equal(result.scores["counting"], compared.scores["listmle"])
    assert [fit.params for fit in result.fits["counting"]] == [fit.params for fit in compared.fits["listmle"]]
    assert [fit.n_candidates for fit in result.fits["counting"]] == [4] * 4
    (note,) = result.notes
    assert note.startswith("counting: 4 of 16 fits failed, in folds 1, 2, 3, 4, the first with l2=no number: ")
    assert lines[0].endswith("s, 1 failed")
    assert list(result.failures) == ["all"]
    assert result.failures["all"][1].startswith("fold 2: all 2 candidates failed, the first with l2=a: ")
    if folder is None:
        return
    counting.fits = 0
    again, lines = run()
    assert without_times(again) == without_times(result)
    assert lines[0] == "1 of 8: counting, fold 1: already finished, 1 failed"
    assert counting.fits == 4 + 2 * 4, "what failed is tried again, and nothing else"


class Stubborn(Exception):
    """An error that cannot be sent to another process."""

    def __init__(self, what, why):
        super().__init__(f"{what}, because of {why}")


def test_an_error_that_cannot_travel_between_processes_still_stops_nobody(data, counting):
    counting.fails_at = {1: Stubborn("no luck", "bad stars"), 2: ValueError("plain")}
    counting.fails_at[2].cannot_travel = lambda: None
    criteria = Criteria.of("map", "standard", None, 0)
    setup = prepare(as_contestants({"counting": counting()}), criteria, as_folds(3, data), None, None, None)
    outcomes = [
        run_fold_safely(setup.contestants[0], fold, setup.criteria, setup.store, parent=-1) for fold in setup.folds
    ]
    reasons = [pickle.loads(pickle.dumps(outcome)).reason for outcome in outcomes[:2]]
    assert reasons == [
        "fold 1: Stubborn: no luck, because of bad stars",
        "fold 2: ValueError: plain",
    ]
    assert [(type(outcome.error), str(outcome.error)) for outcome in outcomes[:2]] == [
        (RuntimeError, "Stubborn: no luck, because of bad stars"),
        (ValueError, "plain"),
    ]
    assert outcomes[2].error is None


def test_scores_that_are_no_numbers_are_a_failure(data):
    class Endless(pk.LinearRanker):
        def predict(self, X, *, qid=None):
            return np.full(X.n_docs, np.inf)

    class Short(pk.LinearRanker):
        def predict(self, X, *, qid=None):
            return np.zeros(3)

    result = pk.compare({"endless": Endless(), "short": Short()}, data, cv=3)
    assert result.failures["endless"][0] == "fold 1: ValueError: predict returned scores that are not finite numbers."
    assert "scores of shape (3,)" in result.failures["short"][0]
    assert (result.tables, result.baseline, result.hardest()) == ({}, "", [])
    assert "random order" in str(result)


def test_ctrl_c_ends_the_run_and_keeps_what_is_finished(data, counting, tmp_path):
    rankers = {"counting": (counting(), GRID)}
    counting.fails_at = {5: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path)
    assert (
        len(list(tmp_path.iterdir())) == 1 + 3 + 1 + 1
    )  # the date, three settings and scores of fold 1, one setting of fold 2
    resumed = pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path)
    fresh = pk.compare(rankers, data, cv=3, metrics=METRICS)
    assert without_times(resumed) == without_times(fresh)


def test_a_finished_run_is_read_and_not_repeated_and_keeps_its_times(data, counting, tmp_path):
    rankers = {"counting": (counting(), GRID)}
    first = pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path)
    lines = []
    second = pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path, progress=lines.append)
    assert counting.fits == 9
    assert first.to_json() == second.to_json()
    assert lines[0] == "1 of 3: counting, fold 1: already finished"
    pk.compare({"another name": (counting(), GRID)}, data, cv=3, metrics="err@5", select_by="ndcg@5", folder=tmp_path)
    assert counting.fits == 9, "neither the name nor what is measured on the test queries changes a fit"
    pk.compare(rankers, data, cv=3, metrics="map", folder=tmp_path)
    assert counting.fits == 18, "what chooses does"
    pk.compare({"counting": (counting(), {"l2": [0.1, 0.001]})}, data, cv=3, metrics=METRICS, folder=tmp_path)
    assert counting.fits <= 18 + 3, "of settings that are finished only the chosen ones are fitted again"


def test_other_data_or_another_version_are_not_mistaken_for_these(data, counting, tmp_path, monkeypatch):
    rankers = {"counting": counting()}
    pk.compare(rankers, data, cv=3, folder=tmp_path)
    assert counting.fits == 3
    X = data.X.copy()
    X[0, 0] = np.nextafter(X[0, 0], np.inf)
    pk.compare(rankers, pk.Queries.from_groups(X, data.y, data.ids, data.indptr), cv=3, folder=tmp_path)
    assert counting.fits == 6
    monkeypatch.setattr(pk, "__version__", "0.1.1")
    pk.compare(rankers, data, cv=3, folder=tmp_path)
    assert counting.fits == 9


def test_a_damaged_file_is_made_again(data, counting, tmp_path):
    rankers = {"counting": (counting(), GRID)}
    first = pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    assert without_times(pk.compare(rankers, data, cv=3, metrics=METRICS, folder=tmp_path)) == without_times(first)


def test_what_cannot_be_recognised_again_is_not_kept(data, tmp_path):
    odd = pk.LinearRanker()
    odd.normalize = None
    odd.random_state = 0
    odd.verbose = sys.__stdout__.write  # a stream has a state that no other run can see
    with pytest.warns(UserWarning, match="odd is not stored") as warned:
        result = pk.compare({"odd": odd, "plain": pk.LinearRanker()}, data, cv=3, folder=tmp_path)
    assert result.notes == [
        "odd is not stored in the folder: verbose is a TextIOWrapper, which cannot be identified in another process."
    ]
    assert [str(one.message) for one in warned] == result.notes
    kept = []
    for path in tmp_path.iterdir():
        with open_container(path, KIND, VERSION) as container:
            kept.append(container.header["what"])
    assert sorted(kept) == ["best feature"] * 3 + ["candidate"] * 3 + ["date"] + ["scores"] * 3


def test_nothing_is_written_without_a_folder(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pk.compare("regression", data, cv=3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="processes cannot be forked here")
def test_a_run_that_is_killed_twenty_times_ends_as_if_it_had_not_been(tmp_path):
    script = Path(__file__).with_name("killed_runs.py")
    done = subprocess.run([sys.executable, script, tmp_path / "runs"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert sum(told["ways"].values()) == 20
    assert min(told["ways"].values()) >= 3
    assert told["n_files"] > 0
    assert told["ends"] == [0, 0]
    assert told["expected"]["failures"]["broken"]
    assert told["resumed"] == told["expected"]
    assert told["again"] == told["expected"]


# --- Reference scores -------------------------------------------------------------------------------------------------


def test_the_random_reference_is_the_mean_over_all_orders():
    queries = pk.Queries(np.arange(12.0).reshape(-1, 1), [2, 0, 1, 0] * 3, np.repeat([1, 2, 3], 4))
    reference = pk.compare({"line": pk.LinearRanker()}, queries, cv=3, metrics=["ndcg@2"]).reference_scores[
        "random order"
    ]
    orders = [
        pk.evaluate([2, 0, 1, 0], np.array(scores, dtype=float), metrics=["ndcg@2"]).mean()["ndcg@2"]
        for scores in itertools.permutations(range(4))
    ]
    np.testing.assert_allclose(reference["ndcg@2"], np.mean(orders), rtol=1e-12)


def test_the_best_feature_is_chosen_on_the_training_queries(data, compared):
    folds, values = as_folds(4, data), []
    for fold in folds:
        reached = {}
        for column, sign in itertools.product(range(data.n_features), (1.0, -1.0)):
            table = pk.evaluate(fold.train, sign * fold.train.X[:, column], metrics=["map(ties=average)"])
            reached[column, sign] = next(iter(table.mean().values()))
        column, sign = max(reached, key=reached.get)
        values.append(pk.evaluate(fold.test, sign * fold.test.X[:, column], metrics=["map(ties=average)"]).values[:, 0])
    np.testing.assert_allclose(compared.reference_scores["best feature"]["map"], np.concatenate(values), rtol=1e-12)
    assert set(compared.reference_scores["best feature"].best_features) == set(METRICS)


# --- What is told of it -----------------------------------------------------------------------------------------------


def made_up(values, **changes):
    """A comparison of given values, one metric: a row of numbers for each contestant."""
    metrics = changes.pop("metrics", ["map"])
    n = len(next(iter(values.values())))
    ids = np.arange(n)
    labels = changes.pop("labels", np.tile([1.0, 0.0], n))
    queries = pk.Queries.from_groups(np.zeros((2 * n, 0)), np.array(labels), ids, np.arange(0, 2 * n + 1, 2))
    tables = {
        name: Evaluation(metrics, ids, np.array(row, dtype=float).reshape(n, 1), convention="standard")
        for name, row in values.items()
    }
    given = {"fold_of": np.ones(n, dtype=int), "scores": {}, "fits": {}, **changes}
    return Comparison(metrics=metrics, convention="standard", tables=tables, queries=queries, **given)


def test_differences_count_and_correct():
    draws = np.random.default_rng(0)
    a = draws.uniform(size=40)
    values = {"a": a, "b": a + np.where(np.arange(40) < 30, 0.1, -0.02), "c": a + draws.normal(scale=0.05, size=40)}
    values["c"][:4] = a[:4]
    comparison = made_up(values, baseline="b")
    assert made_up(values).baseline == "a"
    pairs = {(pair.a, pair.b): pair for pair in comparison.differences()}
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    one = pairs["a", "b"]
    assert (one.wins, one.losses, one.ties) == (10, 30, 0)
    assert pairs["a", "c"].ties == 4
    assert one.mean == pytest.approx(-(30 * 0.1 - 10 * 0.02) / 40)
    assert one.low < one.mean < one.high < 0
    p_values = [stats.ttest_rel(values[a], values[b]).pvalue for a, b in pairs]
    np.testing.assert_allclose([pair.p_t for pair in pairs.values()], p_values, rtol=1e-9)
    in_order, largest = np.argsort(p_values), 0.0
    for place, number in enumerate(in_order):  # Holm, literally: over all three pairs
        largest = max(largest, min(1.0, p_values[number] * (3 - place)))
        assert list(pairs.values())[number].p_t_holm == pytest.approx(largest)
    against = comparison.differences(against="b")
    assert [(pair.a, pair.b) for pair in against] == [("a", "b"), ("c", "b")]
    assert against[0].p_random == one.p_random
    assert against[1].p_random == pairs["b", "c"].p_random
    assert (against[1].mean, against[1].low) == (-pairs["b", "c"].mean, -pairs["b", "c"].high)
    assert (against[1].wins, against[1].losses) == (pairs["b", "c"].losses, pairs["b", "c"].wins)
    assert max(pair.p_t_holm for pair in against) <= 2 * max(pair.p_t for pair in against)
    with pytest.raises(ValueError, match="against='d' is not among the contestants a, b, c"):
        comparison.differences(against="d")


def test_p_values_do_not_depend_on_who_else_takes_part_nor_on_what_was_asked_before():
    draws = np.random.default_rng(1)
    values = {name: draws.uniform(size=30) for name in "abcd"}
    alone = made_up({"b": values["b"], "d": values["d"]}).differences()[0]
    pair = next(pair for pair in made_up(values).differences() if (pair.a, pair.b) == ("b", "d"))
    assert (pair.p_random, pair.p_t, pair.low, pair.high) == (alone.p_random, alone.p_t, alone.low, alone.high)
    first, second = made_up(values), made_up(values)
    first.differences(against="c")
    assert first.differences() == second.differences()


def test_marks_say_better_and_worse_by_the_measures_own_direction():
    values = {"base": np.linspace(0.4, 0.6, 50), "up": np.linspace(0.5, 0.7, 50), "down": np.linspace(0.3, 0.5, 50)}
    values["same"] = values["base"] + np.where(np.arange(50) % 2, 0.01, -0.01)
    marks = made_up(values, baseline="base").marks()
    assert marks == {"base": "", "up": "▲▲", "down": "▼▼", "same": ""}
    lower_is_better = made_up(values, baseline="base", metrics=["kendall"])
    assert not pk.metrics.Measure.parse("kendall").higher_is_better
    assert lower_is_better.marks() == {"base": "", "up": "▼▼", "down": "▲▲", "same": ""}
    assert made_up(values, metrics=["kendall"], baseline="best").baseline == "down"
    assert lower_is_better.differences(against="base")[0].losses == 50
    assert "lower is better: kendall" in str(lower_is_better)
    assert "lower is better" not in str(made_up(values))


def test_queries_that_do_not_count_are_left_out_of_pairs():
    comparison = made_up({"a": [0.5, np.nan, 0.2, 0.1], "b": [0.4, 0.9, np.nan, 0.1]})
    (pair,) = comparison.differences()
    assert (pair.wins, pair.losses, pair.ties, pair.mean) == (1, 0, 1, pytest.approx(0.05))


def test_hardest_queries_are_those_with_the_worst_mean():
    comparison = made_up({"a": [0.5, 0.1, np.nan, 0.9], "b": [0.7, 0.3, np.nan, 0.0]})
    hardest = comparison.hardest(3)
    assert [(query.qid, round(query.mean, 12)) for query in hardest] == [(1, 0.2), (3, 0.45), (0, 0.6)]
    assert hardest[1].values == {"a": 0.9, "b": 0.0}
    flat = made_up({"a": [0.5, 0.1, 0.9]}, labels=[1.0, 0.0, 2.0, 2.0, 0.0, 1.0])
    assert [query.qid for query in flat.hardest()] == [0, 2]
    by_kendall = made_up({"a": [0.5, 0.1, 0.9]}, metrics=["kendall"]).hardest(1)
    assert by_kendall[0].qid == 2


def test_folds_have_means_of_their_own(compared):
    by_fold = compared.by_fold("map")["adarank"]
    for fold, mean in enumerate(by_fold, 1):
        assert mean == compared.tables["adarank"]["map"][compared.fold_of == fold].mean()


def test_it_goes_through_json_and_back(compared):
    text = compared.to_json()
    again = Comparison.from_dict(json.loads(text))
    assert again.to_json() == text
    assert str(again) == str(compared)
    assert again.hardest(3) == compared.hardest(3)
    assert (
        again.reference_scores["best feature"].best_features
        == compared.reference_scores["best feature"].best_features
        != {}
    )
    assert again.queries.ids.tolist() == compared.queries.ids.tolist()
    np.testing.assert_array_equal(again.scores["listmle"], compared.scores["listmle"])
    for other in ({}, {"format": "something"}, compared.to_dict(per_query=False)):
        with pytest.raises(ValueError, match="not the values of a comparison"):
            Comparison.from_dict(other)


def test_the_summary_reads_well(compared):
    n_headline = len(compared.headline())
    assert str(compared).splitlines()[:n_headline] == compared.headline()
    lines = str(compared).splitlines()[n_headline:]
    assert lines[0].split() == ["ndcg@5", "map", "seconds"]
    assert [line.split("  ")[0] for line in lines[1:6]] == [*RANKERS, "random order", "best feature"]
    assert f"{compared.mean()['listmle']['map']:.4f}" in lines[1]
    assert lines[6] == "24 test queries in 4 folds, convention standard"
    assert "Holm over the 2 pairs with it" in lines[7]
    assert repr(compared) == "Comparison(listmle, adarank, given; 24 queries × ndcg@5, map)"


def test_settings_and_description_tell_how_it_was_run(compared, data):
    settings = compared.settings
    assert settings["grids"]["listmle"] == GRID
    assert (settings["select_by"], settings["n_folds"], settings["random_state"]) == ("ndcg@5", 4, 0)
    assert settings["versions"]["plackett"] == pk.__version__
    assert compared.description["n_queries"] == data.n_queries
    assert compared.fits["listmle"][0].history[0].keys() >= {"objective", "ndcg@5"}


def test_warnings_of_fits_become_notes(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pk.compare({"hasty": pk.LinearRanker(max_iter=1, l2=1e-6)}, data, cv=3)
    (note,) = result.notes
    assert note.startswith("hasty: 3 warnings, the first: ConvergenceWarning: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rankers": "listmel"}, "there is no ranker 'listmel'. Did you mean listmle"),
        ({"baseline": "adarank"}, "baseline='adarank'; it is not among the contestants regression"),
        ({"metrics": "ndgc"}, "ndgc"),
        ({"metrics": "map", "select_by": "maap"}, "maap"),
        ({"convention": "mine"}, "mine"),
        ({"cv": 1}, "at least 2 parts"),
        ({"cv": 25}, "cannot be divided into so many parts"),
        ({"random_state": 2**32}, "random_state=4294967296; a seed must be a whole number from 0 to 4294967295"),
        ({"random_state": None}, "random_state=None; a seed must be a whole number"),
        ({"random_state": np.random.RandomState(0)}, "a whole number"),
        ({"rankers": {"best feature": "regression"}}, "'best feature' is the name of a reference"),
    ],
)
def test_wrong_words_are_found_before_any_fit(data, changes, message, counting):
    with pytest.raises(ValueError, match=message):
        pk.compare(**{"rankers": {"regression": counting()}, "data": data, **changes})
    assert counting.fits == 0


def test_documents_that_nobody_judged_are_found_before_any_fit(data, counting):
    labels = data.y.astype(float)
    labels[[2, 5]] = np.nan
    with pytest.raises(ValueError, match="2 documents of these queries are not judged"):
        pk.compare({"counting": counting()}, pk.Queries(data.X, labels, data.qid), cv=3)
    assert counting.fits == 0


def test_two_folds_of_few_queries_hold_one_of_them_back(data):
    result = pk.compare("regression", data[:4], cv=2, metrics="map")
    assert result.fits["regression"][0].n_candidates > 1
    with pytest.raises(ValueError, match="there is 1 query to train on"):
        pk.compare("regression", data[:2], cv=2, metrics="map")


# --- One ranker -------------------------------------------------------------------------------------------------------


def test_cross_validation_is_a_comparison_of_one(data, compared, tmp_path):
    result = pk.cross_validate("listmle", data, cv=4, grid=GRID, metrics=METRICS, folder=tmp_path)
    np.testing.assert_array_equal(result.scores, compared.scores["listmle"])
    assert result.mean() == compared.mean()["listmle"]
    assert [fold["map"] for fold in result.by_fold()] == compared.by_fold("map")["listmle"]
    assert [fit.params for fit in result.fits] == [fit.params for fit in compared.fits["listmle"]]
    lines = str(result).splitlines()
    assert lines[0].split() == ["ndcg@5", "map", "seconds", "chosen"]
    assert lines[5].split()[:2] == ["mean", f"{result.mean()['ndcg@5']:.4f}"]
    assert repr(result).startswith("CrossValidation(4 folds, ndcg@5 0.")


def test_cross_validation_lets_errors_out_with_their_fold(data, counting):
    counting.fails_at = {2: RuntimeError("no luck")}
    with pytest.raises(RuntimeError, match="no luck") as error:
        pk.cross_validate(counting(), data, cv=3)
    assert error.value.__notes__ == ["(in fold 2)"]
    assert counting.fits == 2
    counting.fails_at = {3: RuntimeError("first"), 4: ValueError("second")}
    with pytest.raises(RuntimeError, match="first") as error:
        pk.cross_validate(counting(), data, cv=3, grid={"l2": [1.0, 0.1]})
    assert error.value.__notes__ == ["(in fold 1, where all 2 candidates failed)"]


# --- What it costs ----------------------------------------------------------------------------------------------------


def test_our_rankers_are_fitted_once_before_they_are_timed(data, monkeypatch):
    sizes = []
    real = estimators.fit_copy
    monkeypatch.setattr(folds, "_warm", set())
    monkeypatch.setattr(estimators, "fit_copy", lambda *args: sizes.append(args[1].n_queries) or real(*args))
    pk.compare({"a": pk.LinearRanker(l2=1), "b": pk.LinearRanker(l2=2), "c": Ridge()}, data, cv=2, metrics="map")
    n_train = data.n_queries // 2
    assert sizes[0] == folds.WARM_UP_QUERIES
    assert sizes[1:] == [n_train] * 6, "and nobody else, and nothing twice"


def test_a_warm_up_that_fails_leaves_no_trace(data, monkeypatch):
    monkeypatch.setattr(folds, "_warm", set())
    monkeypatch.setattr(folds, "WARM_UP_QUERIES", 0)
    result = pk.compare({"a": pk.LinearRanker(l2=1)}, data, cv=2, metrics="map")
    assert result.failures == {}
    assert len(result.fits["a"]) == 2


def test_no_table_tells_of_memory_which_depends_on_who_came_before(data):
    result = pk.compare({"a": pk.LinearRanker(l2=1)}, data, cv=2, metrics="map")
    assert "MB" not in str(result)
    assert not any("mb" in name for name in (*SummaryRow._fields, *FoldFit.__dataclass_fields__))
    assert all(column.name != "MB" for table in tables(result) for column in table.columns)
