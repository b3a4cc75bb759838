"""Exported trees score as their rankers do, also where a value is a threshold; what cannot be said is refused."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import plackett as pk
from plackett.exporting import engines
from plackett.exporting.float32 import at_or_below, decimal
from plackett.exporting.forms import TreeForm, form_of
from plackett.exporting.targets import TARGETS as ALL_TARGETS
from plackett.exporting.targets import build
from plackett.scorers.trees import FlatTrees
from tests.exporting import tree_formulas
from tests.exporting.test_targets import of_onnxruntime

pytest.importorskip("lightgbm")

NAMES = ['title "bm25"', "größe ✓", "trees", "page rank", "a,b", '"trees": []']
TARGETS = ALL_TARGETS[TreeForm]
WITH_ANY_NAMES = [target for target in TARGETS if target != "vespa"]  # whose names are rank features: test_vespa.py
IN_SINGLE = ["elasticsearch", "opensearch", "solr", "ranklib", "onnx"]


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(12, 10, 6, random_state=0)


RANKERS = {
    "listmle": pk.TreeRanker("listmle", n_rounds=8, num_leaves=5, min_data_in_leaf=5),
    "with an intercept": pk.TreeRanker("squared", n_rounds=5, num_leaves=8, min_data_in_leaf=3),
    "lightgbm": pk.TreeRanker("lightgbm", n_rounds=5, num_leaves=4, min_data_in_leaf=5),
    "xgboost": pk.XGBoostRanker(n_rounds=6, max_depth=3, learning_rate=0.3),
    "rankboost": pk.RankBoost(n_rounds=12),
}


@pytest.fixture(scope="module", params=RANKERS, ids=lambda name: name.replace(" ", "-"))
def ranker(request, lists):
    ranker = RANKERS[request.param]
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    return ranker.fit(lists)


def as_the_target_computes(target, content, rows, names=NAMES):
    if target == "onnx":
        return of_onnxruntime(content, rows)
    of_row = {
        "elasticsearch": lambda row: tree_formulas.of_elasticsearch(content, names, row),
        "opensearch": lambda row: tree_formulas.of_elasticsearch(content, names, row),
        "solr": lambda row: tree_formulas.of_solr(content, names, row),
        "elastic-ltr": lambda row: tree_formulas.of_elastic_ltr(content, names, row),
        "ranklib": lambda row: tree_formulas.of_ranklib(content, row),
        "json": lambda row: tree_formulas.of_json(content, row),
    }[target]
    return np.array([of_row(row) for row in np.asarray(rows, dtype=float).tolist()])


def exported(ranker, target, **kwargs):
    if target == "onnx":
        pytest.importorskip("onnx")
    return pk.export(ranker, target, **kwargs)


def rows_at_thresholds(form, rows, n_rows=60):
    """Rows of which every value is a threshold as float32, or a neighbour of it among the float32."""
    draws = np.random.default_rng(0)
    rows = np.array(rows[:n_rows], dtype=np.float32)
    for feature in range(rows.shape[1]):
        limits = at_or_below(form.trees.thresholds_[form.trees.features_ == feature])
        limits = limits[np.abs(limits) > 1e-5]  # Solr's slack has a test of its own
        if limits.size:
            chosen = draws.choice(limits, rows.shape[0])
            moved = np.nextafter(chosen, draws.choice([-np.inf, np.inf], rows.shape[0]).astype(np.float32))
            rows[:, feature] = np.where(draws.random(rows.shape[0]) < 0.5, chosen, moved)
    return rows


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_scores_are_those_of_the_ranker(target, ranker, lists):
    content = exported(ranker, target, feature_names=NAMES, check=lists)
    rows = np.concatenate([lists.X[:40], rows_at_thresholds(form_of(ranker), lists.X)])
    ours = ranker.predict(rows)
    assert np.unique(ours).size > 10
    theirs = as_the_target_computes(target, content, rows)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=2e-6 * np.ptp(ours))
    assert build(ranker, target, feature_names=NAMES, check=rows).parity.relative < 2e-6


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_a_model_from_a_file_is_exported_as_it_was(target, ranker, tmp_path):
    ranker.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert exported(loaded, target, feature_names=NAMES) == exported(ranker, target, feature_names=NAMES)


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_without_a_split_there_is_a_constant(target, lists):
    X, labels = np.ones((20, 6)), np.arange(20) % 3
    constants = ((pk.TreeRanker("squared"), labels.mean()), (pk.TreeRanker("lightgbm"), 0.0), (pk.RankBoost(), 0.0))
    for ranker, constant in constants:
        content = exported(ranker.fit(X, labels), target, feature_names=NAMES, check=X)
        np.testing.assert_allclose(as_the_target_computes(target, content, X[:2]), constant, rtol=1e-7)


# --- Any trees --------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats(-1e30, 1e30),
    st.floats(-(2.0**99), 2.0**99, width=32),
    st.sampled_from([0.0, -0.0, 1e-35, -1e-35, 0.1, 0.5, 1.0, 1e-45, -1e-45, 16777217.0]),
)


def three_splits(splits):
    """A tree whose root has two splits below it; the leaves are 1, 2, 4 and 8."""
    features, thresholds = zip(*splits, strict=True)
    return {
        "features": np.array([*features, -1, -1, -1, -1]),
        "thresholds": np.array([*thresholds, 0, 0, 0, 0]),
        "left": np.array([1, 3, 5, 0, 0, 0, 0]),
        "right": np.array([2, 4, 6, 0, 0, 0, 0]),
        "values": np.array([0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 8.0]),
        "counts": np.zeros(7),
        "gains": np.zeros(7),
    }


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), NUMBERS), min_size=3, max_size=3),
    st.sampled_from(["elasticsearch", "ranklib", "json"]),
)
def test_no_float32_changes_sides_of_any_threshold(splits, target):
    trees = FlatTrees.of([three_splits(splits)], 2)
    form = TreeForm(trees=trees, intercept=16.0, names=["a", "b"], ranker="TreeRanker")
    content = TARGETS[target].write(form, **({} if target == "ranklib" else {"name": "m"}))
    near = at_or_below(np.array([threshold for _, threshold in splits]))
    neighbours = [np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf)]
    values = np.unique([near, *neighbours, near * 0]).astype(float)
    rows = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    exact = [tree_formulas.of_arrays(trees, 16.0, row) for row in rows]
    np.testing.assert_array_equal(as_the_target_computes(target, content, rows, ["a", "b"]), exact)
    np.testing.assert_array_equal(TARGETS[target].score(content, rows, ["a", "b"]), exact)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnxruntime_changes_no_sides_either(dtype):
    pytest.importorskip("onnx")
    draws = np.random.default_rng(1)
    thresholds = np.concatenate([draws.normal(size=50), [0.0, 1e-35, -1e-35, 0.1, 16777217.0, -1e30]])
    near = at_or_below(thresholds) if dtype == "float32" else thresholds
    end = near.dtype.type(np.inf)
    values = np.concatenate([near, np.nextafter(near, end), np.nextafter(near, -end), [0.0]])
    rows = np.column_stack([values, values[::-1]]).astype(float)
    for limit in thresholds:
        trees = FlatTrees.of([three_splits([(0, limit), (1, limit), (1, 0.5)])], 2)
        form = TreeForm(trees=trees, intercept=16.0, ranker="TreeRanker")
        content = TARGETS["onnx"].write(form, name="m", dtype=dtype)
        exact = [tree_formulas.of_arrays(trees, 16.0, row) for row in rows]
        np.testing.assert_array_equal(of_onnxruntime(content, rows), exact)


def test_the_decimals_of_a_float32_are_read_back():
    numbers = np.random.default_rng(0).integers(0, 2**32, 5000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    for number in numbers[np.isfinite(numbers)]:
        assert np.float32(decimal(number)) == number
    assert decimal(np.float32(0.1)) == 0.1


# --- Solr's slack -----------------------------------------------------------------------------------------------------


def test_the_slack_of_solr_is_taken_off_before_it_is_added():
    draws = np.random.default_rng(0)
    sizes = 10.0 ** draws.uniform(-5.4, 30, 20_000)  # from 0.000004 on
    powers = 2.0 ** np.arange(-17, 100)
    limits = np.concatenate([sizes, powers, np.nextafter(powers, 0), [0.0]]).astype(np.float32)
    np.testing.assert_array_equal(engines.before_slack(limits) + np.float32(1e-6), limits)


def test_where_no_float32_gives_a_threshold_solr_has_one_just_below_it():
    limits = np.array([1e-35, 3e-8, -1e-35, -1e-9, *-(10.0 ** np.linspace(-12, 20, 4000))], dtype=np.float32)
    found = engines.before_slack(limits) + np.float32(1e-6)
    assert (found <= limits).all()
    assert (limits - found <= 2.3e-13 + 2.4e-7 * np.abs(limits)).all()
    assert found[0] == 0.0
    assert found[2] < 0.0  # 0 stays on its side
    np.testing.assert_array_equal(found[np.abs(limits) >= 64], limits[np.abs(limits) >= 64])


# --- What a file says -------------------------------------------------------------------------------------------------


def test_a_feature_that_elasticsearch_calls_missing_goes_the_way_of_zero(lists):
    ranker = pk.TreeRanker("squared", n_rounds=6, num_leaves=6, min_data_in_leaf=3).fit(lists)
    content = pk.export(ranker, "elasticsearch", feature_names=NAMES)
    for feature, name in enumerate(NAMES):
        rows = np.array(lists.X[:15], dtype=float)
        rows[:, feature] = 0.0
        theirs = [tree_formulas.of_elasticsearch(content, NAMES, row, missing=(name,)) for row in rows.tolist()]
        np.testing.assert_allclose(theirs, ranker.predict(rows), rtol=1e-5)


def test_features_are_named_or_counted(lists):
    ranker = pk.RankBoost(n_rounds=1).fit(lists.X, lists.y, qid=lists.qid)
    (feature,) = ranker.steps_["feature"]
    solr = json.loads(pk.export(ranker, "solr", feature_names=NAMES, name="mine", store="shop"))
    assert (solr["name"], solr["store"]) == ("mine", "shop")
    assert solr["features"] == [{"name": NAMES[feature]}]  # those that are used
    assert f"<feature> {feature + 1} </feature>" in pk.export(ranker, "ranklib")
    plain = json.loads(pk.export(ranker, "json"))
    assert (plain["trees"][0][0]["feature"], plain["n_features"], "features" in plain) == (feature, 6, False)
    assert json.loads(pk.export(ranker, "json", feature_names=NAMES))["features"] == NAMES
    with pytest.raises(ValueError, match="opensearch finds features by their names"):
        pk.export(ranker, "opensearch")


def test_onnx_takes_any_number_of_rows_and_both_precisions(lists):
    onnx = pytest.importorskip("onnx")
    ranker = pk.TreeRanker("squared", n_rounds=20, min_data_in_leaf=3).fit(lists)
    ours = ranker.predict(lists)
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-14)):
        content = pk.export(ranker, "onnx", dtype=dtype, name="mine", feature_names=NAMES, check=lists)
        np.testing.assert_allclose(of_onnxruntime(content, lists.X), ours, rtol=0, atol=tolerance * np.ptp(ours))
        for n_rows in (0, 1, 3):
            assert of_onnxruntime(content, lists.X[:n_rows]).shape == (n_rows,)
        model = onnx.load_from_string(content)
        about = {entry.key: entry.value for entry in model.metadata_props}
        assert (model.graph.name, about["ranker"]) == ("mine", "TreeRanker")
        assert json.loads(about["feature_names"]) == NAMES


# --- The check --------------------------------------------------------------------------------------------------------


def test_the_check_finds_a_threshold_that_is_compared_wrongly(lists, monkeypatch):
    ranker = pk.TreeRanker("squared", n_rounds=3, min_data_in_leaf=3).fit(lists)
    rows = rows_at_thresholds(form_of(ranker), lists.X)
    monkeypatch.setattr(engines, "just_above", lambda thresholds: thresholds)  # x < t for x <= t
    monkeypatch.setattr(engines, "before_slack", lambda thresholds: thresholds)
    for target in ("elasticsearch", "solr"):
        with pytest.raises(ValueError, match=f"{target} would score row .* Nothing was written"):
            pk.export(ranker, target, feature_names=NAMES, check=rows)


@pytest.mark.parametrize("target", WITH_ANY_NAMES)
def test_the_check_finds_a_leaf_that_was_written_wrongly(target, lists, monkeypatch):
    ranker = pk.TreeRanker("squared", n_rounds=3, min_data_in_leaf=3).fit(lists)
    right = TARGETS[target]

    def wrong(form, **options):
        trees = form.trees.first(form.trees.n_trees)
        trees.values_ = trees.values_ * 1.001
        return right.write(replace(form, trees=trees), **options)

    monkeypatch.setitem(TARGETS, target, replace(right, write=wrong))
    with pytest.raises(ValueError, match=f"{target} would score row"):
        exported(ranker, target, feature_names=NAMES, check=lists)


def test_values_that_float32_takes_across_a_threshold_are_told(lists, tmp_path):
    X = np.array(lists.X, dtype=float)
    X[:, 2] = 0.1 + lists.y * 1e-9  # all of them 0.1 as float32
    ranker = pk.TreeRanker("squared", n_rounds=2, min_data_in_leaf=3).fit(X, lists.y, qid=lists.qid)
    path = tmp_path / "model.json"
    path.write_text("before")
    for target in IN_SINGLE:
        with pytest.raises(ValueError, match=r"check with float32 rows.*Nothing"):
            exported(ranker, target, path=path, feature_names=NAMES, check=X)
    assert path.read_text(encoding="utf-8") == "before"
    assert os.listdir(tmp_path) == ["model.json"]
    pk.export(ranker, "json", path, check=X)
    exported(ranker, "onnx", dtype="float64", check=X)


def test_sparse_rows_check_as_well(lists):
    ranker = pk.TreeRanker("squared", n_rounds=3, min_data_in_leaf=3).fit(lists)
    assert build(ranker, "solr", feature_names=NAMES, check=csr_matrix(lists.X)).parity.relative < 1e-6


# --- What is refused --------------------------------------------------------------------------------------------------


def test_trees_on_top_of_a_base_are_refused(lists):
    for base in (0, pk.LinearRanker().fit(lists)):
        ranker = pk.TreeRanker(n_rounds=2, min_data_in_leaf=3).fit(lists, base_score=base)
        with pytest.raises(ValueError, match="this TreeRanker cannot be exported: it was fitted with a base_score"):
            pk.export(ranker, "json")


def test_only_json_has_trees_to_which_a_zero_is_missing(lists):
    pytest.importorskip("xgboost")
    rows = csr_matrix(np.where(np.median(lists.X, axis=0) < lists.X, lists.X, 0.0))
    ranker = pk.XGBoostRanker(n_rounds=4, max_depth=3).fit(rows, lists.y, qid=lists.qid)
    assert "at most zero_width" in json.loads(pk.export(ranker, "json", check=rows))["formula"]
    for target in IN_SINGLE:
        with pytest.raises(ValueError, match=r"treats every 0 as missing.*some splits.*or fit it on dense rows"):
            pk.export(ranker, target, feature_names=NAMES)


@pytest.mark.parametrize("name", ["listmle", "xgboost"])
def test_missing_values_are_exported_or_refused(lists, name):
    """Solr and RankLib read them as 0."""
    ranker = clone(RANKERS[name])
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(lists.X.shape) < 0.3, np.nan, lists.X)
    ranker.fit(X, lists.y, qid=lists.qid)
    rows = np.where(rng.random(X.shape) < 0.5, np.nan, X).astype(np.float32)
    for target in ("json", "onnx", "elasticsearch", "opensearch"):
        pk.export(ranker, target, feature_names=NAMES, check=rows)
    pk.export(ranker, "onnx", dtype="float64", check=rows)
    text = pk.export(ranker, "elasticsearch", feature_names=NAMES)
    for row, score in zip(rows[:20], ranker.predict(rows[:20]), strict=True):
        missing = [one for one, value in zip(NAMES, row, strict=True) if np.isnan(value)]
        assert tree_formulas.of_elasticsearch(text, NAMES, row, missing) == pytest.approx(score, abs=1e-6)
    for target in ("solr", "ranklib"):
        with pytest.raises(ValueError, match=r"reads missing values as 0: it was trained.*to another side than 0"):
            pk.export(ranker, target, feature_names=NAMES)


def test_thresholds_of_scaled_columns_are_refused(lists):
    for normalize in ("zscore", "query-zscore"):
        ranker = pk.RankBoost(n_rounds=2, normalize=normalize).fit(lists)
        with pytest.raises(ValueError, match=f"normalize='{normalize}' cannot be exported.*scaled columns"):
            pk.export(ranker, "json")


def test_rankers_that_are_not_fitted_or_score_otherwise_are_refused(lists):
    for ranker in (pk.TreeRanker(), pk.TreeRanker("lightgbm"), pk.XGBoostRanker(), pk.RankBoost()):
        with pytest.raises(NotFittedError):
            pk.export(ranker, "json")

    class Mine(pk.RankBoost):
        def _predict_grouped(self, queries):
            return super()._predict_grouped(queries) ** 3

    with pytest.raises(ValueError, match=r"Mine cannot be exported.* not known to be those of a RankBoost"):
        pk.export(Mine(n_rounds=2).fit(lists), "json")


@pytest.mark.parametrize("target", IN_SINGLE)
def test_numbers_that_float32_cannot_hold_are_refused(target, lists):
    huge_leaf = pk.RankBoost(n_rounds=3).fit(lists)
    huge_leaf.steps_["weight"] *= [1, 1e42, 1]
    tiny_leaves = pk.RankBoost(n_rounds=3).fit(lists)
    tiny_leaves.steps_["weight"] *= 1e-44
    huge_threshold = pk.RankBoost(n_rounds=3).fit(lists)
    huge_threshold.steps_["threshold"] = [0.5, -1e39, 0.5]
    cases = ((huge_leaf, "a leaf of"), (tiny_leaves, "a leaf of"), (huge_threshold, r"'.*' has a threshold of -1e\+39"))
    for ranker, what in cases:
        with pytest.raises(ValueError, match=f"{what}.*float32 cannot hold"):
            exported(ranker, target, feature_names=NAMES)
        pk.export(ranker, "json", check=lists)
    if target == "onnx":
        exported(huge_leaf, target, dtype="float64", check=lists)


def test_trees_that_are_nested_too_deeply_are_refused():
    X, labels = np.arange(400.0)[:, None], np.arange(400) % 2
    ranker = pk.TreeRanker("squared", n_rounds=1).fit(X, labels, qid=0)
    n = 250  # a chain: each split has a leaf and the next split
    deep = {
        "features": np.array([0] * n + [-1] * (n + 1)),
        "thresholds": np.append(np.arange(n, 0, -1.0), np.zeros(n + 1)),
        "left": np.append(np.append(np.arange(1, n), 2 * n), np.zeros(n + 1)),
        "right": np.append(np.arange(n, 2 * n), np.zeros(n + 1)),
        "values": np.append(np.zeros(n), np.arange(n + 1.0)),
        "counts": np.zeros(2 * n + 1),
        "gains": np.zeros(2 * n + 1),
    }
    ranker.trees_ = FlatTrees.of([deep], 1)
    for target in ("elasticsearch", "solr", "ranklib"):
        with pytest.raises(ValueError, match=f"a tree of this TreeRanker is 250 splits deep; {target} nests trees"):
            pk.export(ranker, target, feature_names=["x"])
    for target in ("json", "onnx"):
        exported(ranker, target, check=X)


def test_the_form_is_the_score(ranker, lists):
    form = form_of(ranker)
    tolerance = 1e-6 if isinstance(ranker, pk.XGBoostRanker) else 1e-14  # XGBoost adds up in single precision
    np.testing.assert_allclose(form.trees.predict(lists.X, form.intercept), ranker.predict(lists), atol=tolerance)
    exact = [tree_formulas.of_arrays(form.trees, form.intercept, row) for row in lists.X[:10].astype(float)]
    np.testing.assert_allclose(exact, ranker.predict(lists)[:10], atol=tolerance)
