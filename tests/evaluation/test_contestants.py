"""Who takes part: rankers by name with their default grids, rankers as they are, and trees of other packages."""

import sys

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.contestants import Contestant, as_contestants
from plackett.evaluation.grids import DEFAULT_GRIDS, default_grid
from plackett.evaluation.peers import PEERS, CatBoostRanker, LightGBMRanker, XGBoostRanker, peer
from plackett.evaluation.settings import fit_setting, settings_of
from plackett.rankers.paths import DEFAULT_L2

SMALL = {"lightgbm": {"min_data_in_leaf": 5, "num_leaves": 7}, "xgboost": {"max_depth": 3}, "catboost": {"depth": 3}}


@pytest.fixture(scope="module")
def parts():
    data = pk.datasets.make_web_like(50, 12, 6, random_state=1)
    return data[:30], data[30:]


@pytest.fixture(params=PEERS)
def trees(request):
    """Few and small trees of each package that is installed."""
    pytest.importorskip(request.param)
    return peer(request.param).set_params(n_rounds=12, learning_rate=0.3, **SMALL[request.param])


# --- Who takes part ---------------------------------------------------------------------------------------------------


def test_names_bring_their_default_grids():
    by_text, by_list = (
        as_contestants(" listmle,AdaRank , p_listmle,"),
        as_contestants(["listmle", "adarank", "p-listmle"]),
    )
    assert by_text[0].name == "listmle"
    assert [one.name for one in by_text] == [one.name for one in by_list] == ["listmle", "adarank", "p-listmle"]
    assert [setting["l2"] for setting in by_text[2].settings()] == list(DEFAULT_L2)
    assert by_text[1].settings() == [{}]
    assert by_text[2].estimator.loss == "p-listmle"


def test_rankers_take_part_as_they_are():
    own = pk.LinearRanker(l2=7.0)
    assert as_contestants([own, "listmle"])[0] == Contestant("LinearRanker", own, {})
    assert as_contestants(own)[0].settings() == [{}]
    named = as_contestants({"a": own, "b": ("listmle", {"l2": [1, 2]}), "c": (own, None), "d": "ranksvm"})
    assert [(one.name, len(one.settings())) for one in named] == [("a", 1), ("b", 2), ("c", 1), ("d", 5)]
    assert as_contestants(named) == named


@pytest.mark.parametrize(
    ("rankers", "error", "match"),
    [
        ("", ValueError, "no ranker is named"),
        ([], ValueError, "no ranker is named"),
        ("listmel", ValueError, "there is no ranker 'listmel'. Did you mean listmle.* catboost"),
        ("listmle,listmle", ValueError, "'listmle' takes part twice"),
        ([pk.LinearRanker(), pk.LinearRanker(l2=1)], ValueError, "'LinearRanker' takes part twice"),
        ({"a": ("listmle", {"C": [1]})}, ValueError, "LinearRanker has no parameter 'C'"),
        ({"a": 3}, TypeError, "a contestant is a ranker, the name of one, or .* not 3, which has no fit"),
        (7, TypeError, "not 7"),
        ([pk.LinearRanker], TypeError, r"LinearRanker is a class; give one of its objects: LinearRanker\(\)"),
    ],
)
def test_what_is_no_ranker_is_refused(rankers, error, match):
    with pytest.raises(error, match=match):
        as_contestants(rankers)


# --- Default grids ----------------------------------------------------------------------------------------------------


def test_every_name_has_a_grid_and_it_is_a_copy():
    assert set(DEFAULT_GRIDS) == {*pk.ranker_names(), *PEERS}
    default_grid("listmle")["l2"].append("changed")
    assert default_grid("ListMLE") == {"l2": list(DEFAULT_L2), "patience": [None]}
    with pytest.raises(ValueError, match="there is no ranker 'listmel'"):
        default_grid("listmel")


@pytest.mark.parametrize("name", pk.ranker_names())
def test_default_grids_fit_with_and_without_validation(name, parts):
    train, validation = parts
    estimator, grid = pk.ranker(name), default_grid(name)
    settings = settings_of(estimator, grid)
    fitted = fit_setting(estimator, settings[-1], train, validation, "ndcg@10")
    assert np.isfinite(fitted.predict(validation)).all()
    assert fit_setting(estimator, settings[0], train).predict(validation).shape == (validation.n_docs,)
    assert all(fitted.get_params()[name] == value for name, value in settings[-1].items())


# --- Trees of other packages ------------------------------------------------------------------------------------------


def test_trees_learn_and_keep_those_up_to_the_best(trees, parts):
    train, validation = parts
    trees.fit(train, eval_set=validation, eval_metric="map")
    history = trees.history_["map"]
    assert trees.best_iteration_ == int(np.argmax(history)) + 1 == trees.n_iter_
    assert trees.best_score_ == max(history)
    kept = pk.evaluate(validation, trees.predict(validation), metrics=["map"]).mean()["map"]
    assert kept == pytest.approx(trees.best_score_, abs=1e-12)
    floor = pk.evaluate(train, np.zeros(train.n_docs), metrics=["map"], floors=True).floors["random order"]["map"]
    assert pk.evaluate(train, trees.predict(train), metrics=["map"]).mean()["map"] > floor + 0.05


def test_without_validation_all_trees_are_used(trees, parts):
    train, validation = parts
    trees.fit(train)
    assert (trees.n_iter_, trees.best_iteration_, trees.best_score_, trees.history_) == (12, None, None, {})
    assert np.isfinite(trees.predict(validation)).all()


def test_growing_ends_when_it_is_of_no_use(trees, parts):
    train, validation = parts
    trees.set_params(n_rounds=60, patience=2).fit(train, eval_set=validation)
    grown = len(trees.history_["ndcg@10"])
    assert grown < 60
    if not isinstance(trees, CatBoostRanker):  # which ends by a measure of its own
        assert grown == trees.best_iteration_ + 2


def test_trees_are_the_same_every_time_and_rows_may_come_in_any_order(trees, parts):
    train, validation = parts
    first = trees.fit(train).predict(validation)
    np.testing.assert_array_equal(trees.fit(train).predict(validation), first)
    order = np.random.default_rng(0).permutation(validation.n_docs)
    shuffled = trees.predict(validation.X[order], qid=validation.qid[order])
    np.testing.assert_allclose(shuffled, first[order], rtol=1e-6)


def test_a_lower_measure_keeps_the_lowest(trees, parts):
    trees.fit(parts[0], eval_set=parts[1], eval_metric="mre")
    assert trees.best_score_ == min(trees.history_["mre"])


def test_trees_are_not_saved_as_our_models(trees, parts, tmp_path):
    with pytest.raises(ValueError, match=r"save that one: ranker\.model_\.save_model"):
        trees.fit(parts[0]).save(tmp_path / "model")


@pytest.mark.parametrize("kind", [LightGBMRanker, XGBoostRanker])
def test_labels_that_trees_cannot_take_are_named(kind, parts):
    pytest.importorskip(next(name for name, one in PEERS.items() if one is kind))
    train = pk.Queries(parts[0].X, parts[0].y - 0.5, parts[0].qid)
    with pytest.raises(ValueError, match=r"takes whole labels from 0 on; there is a label -?\d\.5"):
        kind().fit(train)
    many = pk.Queries(parts[0].X, np.arange(parts[0].n_docs), parts[0].qid)
    assert np.isfinite(kind(n_rounds=2).fit(many).predict(many)).all()


@pytest.mark.parametrize("name", PEERS)
def test_a_package_that_is_missing_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ModuleNotFoundError, match=f"the ranker '{name}' needs {name}. Install it with: pip install {name}"
    ):
        as_contestants(["listmle", name])
