"""Rankers by name: what a name stands for, where parameters go, and that all of it can be saved."""

import inspect
import subprocess
import sys
import types

import numpy as np
import pytest

import plackett as pk
from plackett.data.preprocessing import QueryMinMax, QueryRank, QueryUnitLength, QueryZScore
from plackett.losses import loss_names
from plackett.rankers import registry
from plackett.rankers.boosting.feature_rank import BLFeatureRank
from plackett.storage import models

PAPERS = {
    "listmle": "listmle",
    "p-listmle": "p-listmle",
    "listnet": "listnet",
    "rankcosine": "rankcosine",
    "cs-listmle": "cs-listmle",
    "ranksvm": "hinge",
    "ranknet": "logistic",
    "regression": "squared",
}
OTHERS = {
    "featurerank": pk.FeatureRank,
    "bl-featurerank": BLFeatureRank,
    "diffrank": pk.DiffRank,
    "adarank": pk.AdaRank,
    "rankboost": pk.RankBoost,
    "prank": pk.PRank,
    "svm-map": pk.SVMMap,
}


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(20, n_features=5, random_state=0)


@pytest.mark.parametrize(("name", "loss"), PAPERS.items())
def test_a_name_of_the_literature_is_a_linear_ranker_with_its_loss(name, loss):
    ranker = pk.ranker(name, l2=0.01)
    assert type(ranker) is pk.LinearRanker
    assert (ranker.loss, ranker.l2) == (loss, 0.01)


@pytest.mark.parametrize(("name", "cls"), OTHERS.items())
def test_a_method_without_a_loss_is_its_class_with_all_its_parameters(name, cls):
    assert type(pk.ranker(name)) is cls
    params = dict.fromkeys(cls().get_params(), "as given")  # nothing is checked before fit
    assert pk.ranker(name, **params).get_params() == params
    assert registry.parameters(name) == cls().get_params()
    assert list(registry.parameters(name)) == list(inspect.signature(cls).parameters)


def test_adarank_takes_the_measure_that_it_boosts():
    assert pk.ranker("AdaRank", metric="ndcg@5").metric == "ndcg@5"


def test_the_names_are_those_of_the_contract():
    assert {*PAPERS, *OTHERS, "kernel-cs-listmle"} <= set(pk.ranker_names())


def test_every_fixed_loss_is_a_loss():
    fixed = {entry.fixed["loss"] for entry in registry.ENTRIES.values() if "loss" in entry.fixed}
    assert fixed <= {*loss_names(), "lightgbm"}


def test_the_kernel_ranker_goes_by_name_too():
    ranker = pk.ranker("kernel-cs-listmle", gamma=0.5, k=3)
    assert type(ranker) is pk.KernelRanker
    assert (ranker.gamma, ranker.loss) == (0.5, pk.losses.CSListMLE(k=3))


def test_a_fitted_kernel_ranker_comes_back_from_its_file(data, tmp_path):
    fitted = pk.ranker("kernel-cs-listmle", landmarks=20, random_state=0, normalize="query-zscore").fit(data)
    fitted.save(tmp_path / "model.plackett")
    np.testing.assert_array_equal(pk.load(tmp_path / "model.plackett").predict(data), fitted.predict(data))


def test_a_ranker_with_any_loss_is_named_with_its_loss():
    assert repr(pk.ranker("trees:listnet", num_leaves=3)) == "TreeRanker(loss='listnet', num_leaves=3)"
    assert repr(pk.ranker("Linear:CS_ListMLE", k=4)) == "LinearRanker(loss=CSListMLE(k=4))"
    assert isinstance(pk.ranker("kernel:hinge"), pk.KernelRanker)
    assert pk.ranker("Trees:LightGBM").loss == "lightgbm"
    with pytest.raises(ValueError, match="loss='lambda' is not known"):
        pk.ranker("trees:lambda")
    with pytest.raises(ValueError, match="has loss='hinge', not 'listmle'"):
        pk.ranker("trees:hinge", loss="listmle")


def test_names_are_read_in_any_case():
    assert pk.ranker("P_ListMLE").loss == "p-listmle"


def test_parameters_of_the_loss_reach_the_loss():
    ranker = pk.ranker("cs-listmle", k=5, max_iter=7)
    assert (ranker.loss, ranker.max_iter) == (pk.losses.CSListMLE(k=5), 7)
    assert pk.ranker("p-listmle", position_weights="dcg").loss == pk.losses.PListMLE(position_weights="dcg")


def test_a_parameter_that_ranker_and_loss_share_is_the_rankers_unless_marked():
    ranker = pk.ranker("listmle", random_state=3, loss__random_state=4)
    assert (ranker.random_state, ranker.loss.random_state) == (3, 4)


def test_a_loss_object_of_the_same_name_keeps_its_parameters():
    ranker = pk.ranker("cs-listmle", loss=pk.losses.CSListMLE(weights="label"), k=5)
    assert ranker.loss == pk.losses.CSListMLE(k=5, weights="label")


def test_any_loss_goes_with_the_linear_ranker():
    assert pk.ranker("linear", loss="listnet").loss == "listnet"
    assert pk.ranker("linear", ties="efron").loss == pk.losses.ListMLE(ties="efron")


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ranksvn", {}, r"there is no ranker 'ranksvn'\. Did you mean ranksvm.*\? The names are listmle, p-listmle"),
        ("zzz", {}, r"there is no ranker 'zzz'\. The names are listmle"),
        (7, {}, "not 7"),
        ("listmle", {"loss": "listnet"}, r"has loss='listmle', not 'listnet'; the ranker 'linear' takes any loss"),
        ("listmle", {"loss": pk.losses.ListNet()}, r"has loss='listmle', not ListNet\(\)"),
        (
            "cs-listmle",
            {"kk": 5},
            r"has no parameter 'kk'\. Did you mean k\? It has encoding, l2, .*, and k, weights of its loss",
        ),
        ("listnet", {"loss__kk": 5}, "has no parameter 'loss__kk'"),
        (
            "svm-map",
            {"c": 5},
            r"'svm-map' has no parameter 'c'\. Did you mean C\? It has C, encoding, .*, verbose\.$",
        ),
        ("rankboost", {"rounds": 5}, r"no parameter 'rounds'\. Did you mean n_rounds\? It has alpha, "),
        ("diffrank", {"loss": "hinge"}, r"'diffrank' has no parameter 'loss'\. It has centre, cycles, "),
        ("prank", {"loss__normalize": "all"}, r"'prank' has no parameter 'loss__normalize'"),
    ],
)
def test_what_is_wrong_is_said(name, params, message):
    with pytest.raises(ValueError, match=message):
        pk.ranker(name, **params)


@pytest.mark.parametrize("solver", ["auto", pk.solvers.LBFGS()])
@pytest.mark.parametrize("normalize", [None, "query-zscore", "zscore", QueryMinMax()])
def test_a_fitted_ranker_comes_back_from_its_file(solver, normalize, data, tmp_path):
    fitted = pk.ranker("cs-listmle", k=5, solver=solver, normalize=normalize).fit(data)
    fitted.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert loaded.loss == pk.losses.CSListMLE(k=5)
    np.testing.assert_array_equal(loaded.predict(data), fitted.predict(data))


def test_every_loss_solver_and_normaliser_can_be_saved():
    registry.fill()
    for name in loss_names():
        loss = pk.losses.get_loss(name)
        assert models.registered(f"plackett.losses.{type(loss).__name__}") is type(loss)
    for name in pk.solvers.solver_names():
        solver = pk.solvers.get_solver(name)
        assert models.registered(f"plackett.solvers.{type(solver).__name__}") is type(solver)
    for cls in (
        QueryMinMax,
        QueryZScore,
        QueryUnitLength,
        QueryRank,
    ):
        assert models.registered(f"plackett.data.{cls.__name__}") is cls


def test_a_model_is_loaded_by_a_process_that_used_no_ranker_before(data, tmp_path):
    pk.ranker("listnet").fit(data).save(tmp_path / "model.plackett")
    code = "import sys, plackett; print(plackett.load(sys.argv[1]).loss)"
    command = [sys.executable, "-c", code, str(tmp_path / "model.plackett")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "listnet\n"


def test_the_table_of_names_loads_nothing_heavy():
    code = (
        "import sys, plackett.rankers.registry\n"
        "print([name for name in ['numba', 'sklearn', 'scipy', 'numpy'] if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_one_model_has_one_name():
    names = ["linear:lambdarank", "Linear:Hinge", "trees:lightgbm", "trees:lambdarank", "kernel:cs-listmle"]
    assert list(map(registry.known_name, names)) == [
        "lambdarank", "ranksvm", "lightgbm", "trees:lambdarank", "kernel-cs-listmle",
    ]  # fmt: skip


def test_catboost_is_the_ranker_of_its_package(monkeypatch):
    class CatBoostRanker:
        def __init__(self, **params):
            self.params = params

    monkeypatch.setitem(sys.modules, "catboost", types.SimpleNamespace(CatBoostRanker=CatBoostRanker))
    ranker = pk.ranker("CatBoost", depth=3, random_seed=5)
    assert type(ranker) is CatBoostRanker
    assert (ranker.params["depth"], ranker.params["random_seed"], ranker.params["thread_count"]) == (3, 5, 1)


# --- Every name -------------------------------------------------------------------------------------------------------

LISTS = pk.datasets.make_web_like(12, n_features=5, random_state=0)


def ranker_of(name):
    """The ranker, if the package that it needs is installed."""
    ranker = pk.ranker(name)
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    return ranker


def test_every_class_goes_by_a_name_with_nothing_fixed():
    assert {entry.class_name for entry in registry.ENTRIES.values() if not entry.fixed} == {
        entry.class_name for entry in registry.ENTRIES.values()
    }


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", pk.ranker_names())
def test_a_saved_ranker_predicts_the_same(name, tmp_path):
    ranker = ranker_of(name)
    assert type(ranker).__name__ == registry.ENTRIES[name].class_name
    ranker.fit(LISTS.X, LISTS.y, qid=LISTS.qid)
    scores = ranker.predict(LISTS.X, qid=LISTS.qid)
    assert scores.shape == LISTS.y.shape
    assert np.unique(scores).size > 1
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert type(loaded) is type(ranker)
    assert repr(loaded) == repr(ranker)
    np.testing.assert_array_equal(loaded.predict(LISTS.X, qid=LISTS.qid), scores)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", sorted(name for name, entry in registry.ENTRIES.items() if not entry.fixed))
@pytest.mark.parametrize(
    ("attribute", "value"),
    [("feature_names_", 3), ("feature_names_", ["a"]), ("feature_names_", [1] * 5), ("n_features_in_", 5.0)],
)
def test_a_file_with_the_wrong_names_is_refused(name, attribute, value, tmp_path):
    ranker = ranker_of(name).fit(LISTS.X, LISTS.y, qid=LISTS.qid)
    setattr(ranker, attribute, value)
    ranker.save(tmp_path / "model.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError, match=attribute):
        pk.load(tmp_path / "model.plackett")


@pytest.mark.parametrize("name", pk.ranker_names())
def test_a_line_says_what_it_does(name):
    """It fits beside the name on a terminal of 80 columns."""
    assert 20 < len(registry.ENTRIES[name].description) < 60
    assert not registry.ENTRIES[name].description.endswith(".")
