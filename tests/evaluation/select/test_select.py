"""Choosing between settings: on validation queries or in parts, by grid, at random or by Optuna."""

import json
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.model_selection import ParameterGrid

import plackett as pk
from plackett.evaluation import estimators
from plackett.evaluation.select.grids import candidates_of, with_params
from plackett.evaluation.select.select import select
from plackett.evaluation.splits import QueryKFold
from plackett.exceptions import ConvergenceWarning
from plackett.rankers.base import Ranker


class Column(Ranker):
    """Ranks by a column; some columns cannot be fitted."""

    def __init__(self, column=0, sign=1, random_state=None):
        self.column, self.sign, self.random_state = column, sign, random_state

    def fit(self, X, y=None, *, qid=None):
        queries = self._check_queries(X, y, qid, reset=True)
        if self.column >= queries.n_features:
            raise ValueError(f"there is no column {self.column}.\nMore words.")
        if self.column < 0:
            warnings.warn("counted from the end", ConvergenceWarning, stacklevel=2)
        self.fitted_, self.draw_ = queries.ids, self.random_state
        return self

    def _predict_grouped(self, queries):
        return self.sign * queries.X[:, self.column].astype(float)


@pytest.fixture(scope="module")
def parts():
    data = pk.datasets.make_web_like(60, 10, 6, random_state=3)
    return data[:35], data[35:]


def mean(queries, scores, metric="ndcg@10", **rules):
    return pk.evaluate(queries, scores, metrics=[metric], **rules).mean()[metric]


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_settings_are_those_of_scikit_learn_in_the_order_of_the_grid():
    grid = {"tol": [1e-3, 1e-4], "l2": [1, 0.1, 0.01]}
    settings = candidates_of(pk.LinearRanker(), grid)
    assert settings[:4] == [{"tol": 1e-3, "l2": 1}, {"tol": 1e-3, "l2": 0.1}, {"tol": 1e-3, "l2": 0.01},
                            {"tol": 1e-4, "l2": 1}]  # fmt: skip
    as_sets = {frozenset(setting.items()) for setting in settings}
    assert as_sets == {frozenset(setting.items()) for setting in ParameterGrid(grid)}
    assert len(candidates_of(pk.LinearRanker(), [grid, {"l2": (5,)}])) == 7
    assert candidates_of(pk.LinearRanker(), None) == candidates_of(pk.LinearRanker(), {}) == [{}]


@pytest.mark.parametrize(
    ("grid", "match"),
    [
        ({"l3": [1]}, "LinearRanker has no parameter 'l3'; it has .*l2"),
        ({"loss__q": [1]}, "LinearRanker has no parameter 'loss__q'"),
        ({"l2": []}, "l2 has no values"),
        ({"l2": 1.0}, "l2 must be a list of values, not 1.0. Distributions need the method random"),
        ({"loss": "listmle"}, "loss must be a list of values, not 'listmle'"),
        (["l2"], "grid must be a dict such as"),
        ([], "grid must be a dict such as"),
    ],
)
def test_a_grid_that_makes_no_settings_is_refused(grid, match):
    with pytest.raises(ValueError, match=match):
        candidates_of(pk.LinearRanker(), grid)


def test_parameters_of_the_loss_reach_the_loss():
    given = pk.ranker("cs-listmle")
    for name in ("k", "loss__k"):
        assert with_params(given, {name: 3, "l2": 0.5}).loss == pk.losses.CSListMLE(k=3)
    assert given.loss == "cs-listmle"
    changed = with_params(pk.ranker("linear"), {"loss": "hinge", "loss__normalize": "all", "normalize": None})
    assert changed.loss == pk.losses.Pairwise("hinge", normalize="all")
    kept = pk.losses.CSListMLE(k=7)
    assert with_params(pk.LinearRanker(loss=kept), {"k": 2}).loss.k == 2
    assert kept.k == 7


def test_one_setting_is_fitted_as_by_hand_whatever_was_fitted_before(parts):
    train, validation = parts
    given = pk.LinearRanker(solver="lbfgs")
    estimators.fit_copy(with_params(given, {"l2": 1.0}), train, validation, "map")
    fitted = estimators.fit_copy(with_params(given, {"l2": 1e-4}), train, validation, "map")
    by_hand = pk.LinearRanker(solver="lbfgs", l2=1e-4).fit(train, eval_set=validation, eval_metric="map")
    np.testing.assert_array_equal(fitted.coef_, by_hand.coef_)
    assert fitted.history_["map"] == by_hand.history_["map"]
    assert not hasattr(given, "coef_")


# --- The best on the validation queries -------------------------------------------------------------------------------


def test_the_best_is_what_a_loop_finds(parts):
    train, validation = parts
    grid = {"l2": [10.0, 1.0, 0.01, 1e-4], "patience": [None]}
    found = select("listnet", train, grid, validation=validation, metric="map", convention="letor4")
    values = []
    for l2 in grid["l2"]:
        ranker = pk.LinearRanker(loss="listnet", l2=l2).fit(train)
        values.append(mean(validation, ranker.predict(validation), "map", convention="letor4"))
    np.testing.assert_allclose([trial.value for trial in found.trials], values, rtol=1e-12)
    assert found.best_params["l2"] == grid["l2"][int(np.argmax(values))]
    assert found.best_value == max(trial.value for trial in found.trials)
    assert mean(validation, found.best_.predict(validation), "map") == pytest.approx(found.best_value)


def test_labels_of_other_queries_make_no_difference(parts):
    train, validation = parts
    other = pk.Queries(train.X, -train.y + 9, train.qid)
    found = select(Column(), train, {"column": [0, 1, 2, 3, 4, 5]}, validation=validation)
    again = select(Column(), other, {"column": [0, 1, 2, 3, 4, 5]}, validation=validation)
    assert [trial.value for trial in found.trials] == [trial.value for trial in again.trials]


def test_of_equal_settings_the_first_wins(parts):
    found = select(Column(), parts[0], {"sign": [1, 2, 3], "column": [1, 0, 0, 1]}, validation=parts[1])
    assert found.trials[1].value == found.trials[2].value == found.trials[5].value
    best = max(found.trials, key=lambda trial: trial.value)
    assert found.best_params == best.params
    assert found.best_params["sign"] == 1
    assert found.best_trial == found.trials.index(best)


def test_where_lower_is_better_the_lowest_wins(parts):
    found = select(Column(), parts[0], {"column": range(6)}, validation=parts[1], metric="mre")
    assert found.best_value == min(trial.value for trial in found.trials)


def test_a_setting_that_fails_is_recorded_and_never_wins(parts):
    found = select(Column(), parts[0], {"column": [9, 0, 8]}, validation=parts[1])
    assert found.best_params == {"column": 0}
    assert [trial.error for trial in found.trials] == [
        "ValueError: there is no column 9.", None, "ValueError: there is no column 8.",
    ]  # fmt: skip
    assert np.isnan(found.trials[0].value)
    assert "failed with column=9: ValueError: there is no column 9." in str(found)
    with pytest.raises(ValueError, match=r"2 of 2 candidates failed.* ValueError: there is no column 7\.$") as raised:
        select(Column(), parts[0], {"column": [7, 8]}, validation=parts[1])
    assert isinstance(raised.value.__cause__, ValueError)
    with pytest.raises(ValueError, match="the only candidate failed"):
        select(Column(), parts[0], {"column": [7]}, validation=parts[1])


def test_a_measure_without_a_value_chooses_nothing(parts):
    nothing_relevant = pk.Queries(parts[1].X, np.zeros(parts[1].n_docs), parts[1].qid)
    with pytest.raises(ValueError, match=r"map\(empty=skip\) has no value on any of the 25 validation queries"):
        select(Column(), parts[0], {"column": [0, 1]}, validation=nothing_relevant, metric="map(empty=skip)")


def test_warnings_are_those_of_the_best_alone(parts):
    with pytest.warns(ConvergenceWarning, match="counted from the end") as told:
        found = select(Column(), parts[0], {"column": [-6, -5, -4, -3, -2, -1]}, validation=parts[1])
    assert len(told) == 1
    assert found.best_params["column"] < 0
    either = {"column": [0, 1, 2, 3, 4, 5, -6, -5, -4, -3, -2, -1]}
    assert select(Column(), parts[0], either, validation=parts[1]).best_params["column"] >= 0  # and no warning


def test_rankers_that_draw_get_the_seed(parts):
    found = select(Column(), parts[0], {"column": [0]}, validation=parts[1], random_state=11)
    assert found.best_.draw_ == 11
    assert found.best_params == {"column": 0}
    own = select(Column(random_state=5), parts[0], {"column": [0]}, validation=parts[1], random_state=11)
    assert own.best_.draw_ == 5


def test_progress_is_told_after_every_setting(parts):
    told = []
    found = select(
        Column(), parts[0], {"column": [0, 9, 1]}, validation=parts[1], progress=lambda *words: told.append(words)
    )
    assert told == [(1, 3, found.trials[0]), (2, 3, found.trials[1]), (3, 3, found.trials[2])]


# --- In parts ---------------------------------------------------------------------------------------------------------


def test_in_parts_the_mean_is_over_all_queries_and_the_best_is_fitted_to_all(parts):
    data = pk.Queries.concat(parts)
    found = select(pk.LinearRanker(), data, {"l2": [1.0, 1e-3]}, cv=3, metric="map")
    for trial in found.trials:
        values = []
        for train, _, test in QueryKFold(3, validation=False).folds(data):
            ranker = pk.LinearRanker(**trial.params).fit(train)
            values += list(pk.evaluate(test, ranker.predict(test), metrics=["map"])["map"])
        assert trial.value == pytest.approx(np.mean(values), abs=1e-12)
        assert len(values) == 60
    assert found.judged_on == "60 queries in 3 parts"
    np.testing.assert_array_equal(found.best_.coef_, pk.LinearRanker(**found.best_params).fit(data).coef_)


def test_validation_parts_of_folds_are_trained_on(parts):
    data = pk.Queries.concat(parts)
    folds = [(data[:20], data[20:40], data[40:]), (data[40:], data[:20], data[20:40])]
    found = select(Column(), data, {"column": [0, 1]}, cv=folds)
    assert found.judged_on == "40 queries in 2 parts"
    assert found.best_.fitted_.size == 60


def test_five_parts_where_nothing_is_said(parts):
    assert select(Column(), parts[0], {"column": [0, 1]}).judged_on == "35 queries in 5 parts"


# --- At random, and by Optuna -----------------------------------------------------------------------------------------


def test_draws_repeat_with_the_seed_and_listed_settings_never_come_twice(parts):
    train, validation = parts
    space = {"l2": loguniform(1e-5, 1), "max_iter": randint(100, 200), "normalize": [None, "query-zscore"]}

    def draw(seed):
        found = select("listmle", train, space, validation=validation, method="random", n_trials=4, random_state=seed)
        return [trial.params for trial in found.trials]

    assert draw(1) == draw(1) != draw(2)
    assert all(type(params["max_iter"]) is int and 1e-5 <= params["l2"] <= 1 for params in draw(1))
    found = select(Column(), train, {"column": [0, 1, 2], "sign": [1, -1]}, validation=validation, method="random")
    assert len(found.trials) == 6
    assert len({tuple(trial.params.items()) for trial in found.trials}) == 6


def test_optuna_proposes_from_lists_ranges_and_distributions(parts):
    pytest.importorskip("optuna")
    train, validation = parts
    space = {"l2": loguniform(1e-5, 1), "max_iter": randint(100, 200), "tol": uniform(1e-4, 1e-3),
             "loss": [pk.losses.ListMLE(), "listnet"], "patience": range(3, 9, 2)}  # fmt: skip
    runs = [
        select("linear", train, space, validation=validation, method="optuna", n_trials=12, random_state=4)
        for _ in range(2)
    ]
    first, second = ([trial.params for trial in run.trials] for run in runs)
    assert first == second
    assert runs[0].best_value == max(trial.value for trial in runs[0].trials)
    for params in first:
        assert list(params) == list(space)
        assert 1e-5 <= params["l2"] <= 1
        assert params["max_iter"] in range(100, 200)
        assert params["loss"] in space["loss"]
        assert params["patience"] in (3, 5, 7)


def test_optuna_fits_no_setting_twice_and_learns_from_failures(parts):
    pytest.importorskip("optuna")
    found = select(Column(), parts[0], {"column": [0, 1, 9]}, validation=parts[1], method="optuna", n_trials=15)
    tried = [trial.params["column"] for trial in found.trials]
    assert len(tried) == len(set(tried))
    assert found.best_params["column"] in (0, 1)


@pytest.mark.parametrize(
    ("method", "grid", "options", "match"),
    [
        ("grid", {"l2": loguniform(1e-3, 1)}, {}, "l2 must be a list of values, not a distribution"),
        ("grid", {"l2": [1]}, {"n_trials": 3}, "n_trials=3; random and optuna have trials"),
        ("random", {"l2": 0.5}, {}, "l2 must be a list of values or a distribution"),
        ("random", {"l2": [1]}, {"n_trials": 0}, "n_trials=0"),
        ("random", {"l3": [1]}, {}, "no parameter 'l3'"),
        ("best", {"l2": [1]}, {}, "method='best'"),
        ("grid", {"l2": [1]}, {"cv": 3}, "pass either validation or cv"),
        ("grid", None, {}, "LinearRanker needs a grid"),
    ],
)
def test_what_cannot_be_is_refused_before_any_fit(parts, method, grid, options, match):
    with pytest.raises(ValueError, match=match):
        select(pk.LinearRanker(), parts[0], grid, validation=parts[1], method=method, **options)


def test_optuna_refuses_what_it_cannot_draw(parts):
    pytest.importorskip("optuna")
    with pytest.raises(ValueError, match='method="optuna" takes lists, ranges, and the uniform'):
        select(pk.LinearRanker(), parts[0], {"l2": norm()}, validation=parts[1], method="optuna")
    with pytest.raises(ValueError, match="one dict of parameters"):
        select(pk.LinearRanker(), parts[0], [{"l2": [1]}, {"tol": [1]}], validation=parts[1], method="optuna")


def test_arrays_in_place_of_queries_are_refused(parts):
    with pytest.raises(TypeError, match="data is a tuple; Queries, a data frame, a path or an array is needed"):
        select("listmle", parts[0], validation=(parts[1].X, parts[1].y, parts[1].qid))


# --- Kept trials ------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_was_and_ends_the_same(parts, tmp_path):
    train, validation = parts
    grid = {"l2": [1.0, 0.1, 0.01, 0.001]}

    class Stop(Exception):
        pass

    def stop_after_two(done, total, trial):
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        select("listmle", train, grid, validation=validation, folder=tmp_path, progress=stop_after_two)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(kept) == 2
    resumed = select("listmle", train, grid, validation=validation, folder=tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in kept} == kept
    whole = select("listmle", train, grid, validation=validation)
    assert [trial.value for trial in resumed.trials] == [trial.value for trial in whole.trials]
    np.testing.assert_array_equal(resumed.best_.coef_, whole.best_.coef_)
    again = select("listmle", train, grid, validation=validation, folder=tmp_path)  # the best is fitted anew
    np.testing.assert_array_equal(again.best_.coef_, whole.best_.coef_)
    assert len(list(tmp_path.iterdir())) == 4


def test_trials_of_other_data_or_another_measure_do_not_count(parts, tmp_path):
    train, validation = parts
    grid = {"l2": [1.0]}
    for arguments in (
        {"data": train, "validation": validation},
        {"data": train, "validation": validation, "metric": "map"},
        {"data": train, "validation": validation, "convention": "letor4"},
        {"data": train[1:], "validation": validation},
        {"data": train, "validation": validation[1:]},
        {"data": train, "cv": 3},
    ):
        before = len(list(tmp_path.iterdir()))
        select("listmle", grid=grid, folder=tmp_path, **arguments)
        assert len(list(tmp_path.iterdir())) == before + 1


# --- What is shown ----------------------------------------------------------------------------------------------------


def test_the_table_marks_the_best_and_names_what_all_share(parts):
    found = select(Column(), parts[0], {"column": [0, 1, 2], "sign": [-1]}, validation=parts[1])
    heading, *rows, last = str(found).splitlines()
    assert heading.split() == ["column", "ndcg@10", "seconds"]
    assert [row.startswith("*") for row in rows] == [place == found.best_trial for place in range(3)]
    assert rows[2].split()[-2] == f"{found.trials[2].value:.4f}"
    assert last == "Column: 3 candidates, sign=-1; ndcg@10 on 25 validation queries, convention standard"
    best = f"column={found.best_params['column']}, sign=-1: ndcg@10 {found.best_value:.4f}"
    assert repr(found) == f"Selection(Column, {best})"


def test_plain_values_are_ready_for_json(parts):
    grid = {"loss": [pk.losses.ListNet(), "listmle"], "l2": [np.float64(0.5)], "tol": [-1, 1]}
    found = select("linear", parts[0], grid, validation=parts[1])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["trials"][0]["params"] == {"loss": "ListNet()", "l2": 0.5, "tol": -1}
    assert plain["trials"][0]["value"] is None
    assert plain["best"]["value"] == found.best_value
