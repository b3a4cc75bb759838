"""Who takes part: rankers by name with their default grids, rankers as they are, and trees of other packages."""

import re
import sys

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation import estimators
from plackett.evaluation.compare.contestants import Contestant, as_contestants, contestant_of
from plackett.evaluation.select.grids import DEFAULT_GRIDS, candidates_of, default_grid, with_params
from plackett.rankers.linear.l2_path import DEFAULT_L2


@pytest.fixture(scope="module")
def parts():
    data = pk.datasets.make_web_like(50, 12, 6, random_state=1)
    return data[:30], data[30:]


# --- Who takes part ---------------------------------------------------------------------------------------------------


def test_names_bring_their_default_grids():
    by_text, by_list = (
        as_contestants(" listmle,AdaRank , p_listmle,"),
        as_contestants(["listmle", "adarank", "p-listmle"]),
    )
    assert by_text[0].name == "listmle"
    assert [one.name for one in by_text] == [one.name for one in by_list] == ["listmle", "adarank", "p-listmle"]
    assert [setting["l2"] for setting in by_text[2].candidates()] == list(DEFAULT_L2)
    assert by_text[1].candidates() == [{}]
    assert by_text[2].estimator.loss == "p-listmle"


def test_rankers_take_part_as_they_are():
    own = pk.LinearRanker(l2=7.0)
    assert as_contestants([own, "listmle"])[0] == Contestant("LinearRanker", own, {})
    assert as_contestants(own)[0].candidates() == [{}]
    named = as_contestants({"a": own, "b": ("listmle", {"l2": [1, 2]}), "c": (own, None), "d": "ranksvm"})
    assert [(one.name, len(one.candidates())) for one in named] == [("a", 1), ("b", 2), ("c", 1), ("d", 5)]
    assert as_contestants(named) == named
    assert as_contestants((own, {"l2": [1, 2]})) == as_contestants([(own, {"l2": [1, 2]})])


@pytest.mark.parametrize(
    ("rankers", "error", "match"),
    [
        ("", ValueError, "no rankers were given"),
        ([], ValueError, "no rankers were given"),
        ("listmel", ValueError, "there is no ranker 'listmel'. Did you mean listmle.* catboost"),
        ("listmle,listmle", ValueError, "'listmle' occurs twice"),
        ([pk.LinearRanker(), pk.LinearRanker(l2=1)], ValueError, "'LinearRanker' occurs twice"),
        ({"a": ("listmle", {"C": [1]})}, ValueError, "LinearRanker has no parameter 'C'"),
        ({"a": 3}, TypeError, "a contestant must be a ranker, the name of one, or .* not 3, which has no fit"),
        (7, TypeError, "not 7"),
        ([pk.LinearRanker], TypeError, r"LinearRanker is a class; pass an instance: LinearRanker\(\)"),
    ],
)
def test_what_is_no_ranker_is_refused(rankers, error, match):
    with pytest.raises(error, match=match):
        as_contestants(rankers)


# --- Default grids ----------------------------------------------------------------------------------------------------


def test_every_name_has_a_grid_and_it_is_a_copy():
    assert set(DEFAULT_GRIDS) == {*pk.ranker_names(), "catboost"}
    default_grid("listmle")["l2"].append("changed")
    assert default_grid("ListMLE") == {"l2": list(DEFAULT_L2), "patience": [None]}
    with pytest.raises(ValueError, match="there is no ranker 'listmel'"):
        default_grid("listmel")


@pytest.mark.parametrize("name", pk.ranker_names())
def test_default_grids_fit_with_and_without_validation(name, parts):
    train, validation = parts
    estimator, grid = pk.ranker(name), default_grid(name)
    if hasattr(estimator, "package"):
        pytest.importorskip(estimator.package)
    settings = candidates_of(estimator, grid)
    fitted = estimators.fit_copy(with_params(estimator, settings[-1]), train, validation, "ndcg@10")
    assert np.isfinite(fitted.predict(validation)).all()
    assert estimators.fit_copy(with_params(estimator, settings[0]), train).predict(validation).shape == (
        validation.n_docs,
    )
    assert all(fitted.get_params()[name] == value for name, value in settings[-1].items())


# --- Packages that may be missing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_a_package_that_is_missing_is_left_out_with_a_note(name, monkeypatch, parts):
    monkeypatch.setitem(sys.modules, name, None)
    install = re.escape("'plackett[trees]'") if name == "lightgbm" else name
    message = f"(Ranker|catboost) needs {name}. Install it with: pip install {install}"
    for alone in (lambda: contestant_of(name), lambda: pk.compare([name], parts[1], cv=2)):
        with pytest.raises(ModuleNotFoundError, match=message):
            alone()
    for entry in (name, (name, {"depth": [3]})):
        result = pk.compare({"linear": pk.LinearRanker(), name: entry}, parts[1], cv=2, metrics="ndcg@5")
        assert list(result.tables) == ["linear"]
        [note] = [note for note in result.notes if note.startswith(f"{name} is skipped: ")]
        assert re.search(message, note)


def test_one_model_has_one_name():
    assert [one.name for one in as_contestants("linear,query-dependent,trees")] == ["listmle", "qsvm", "trees"]
    with pytest.raises(ValueError, match="'listmle' occurs twice"):
        as_contestants("linear,listmle")
