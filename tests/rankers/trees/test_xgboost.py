"""XGBoost's trees kept as arrays: they score as its Booster does, bit by bit, are saved and explained."""

import io
import json
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import plackett as pk
from plackett.formats.xgboost import read_trees
from plackett.scorers.trees import ZERO_IS_MISSING, FlatTrees

DATA = pk.datasets.make_web_like(50, 12, 6, random_state=1)
TRAIN, HELD_BACK = DATA[:30], DATA[30:]
PARAMS = {"learning_rate": 0.3, "max_depth": 3}
FEW = pk.XGBoostRanker(n_rounds=8, **PARAMS)
OF_TREES = [
    {},
    {"num_parallel_tree": 2, "subsample": 0.8},
    {"tree_method": "exact", "gamma": 0.5},  # by which some nodes are pruned
    {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
    {"gamma": 1e9},  # by which every tree is one leaf
]


def sparse_rows(X, seed=0):
    """Rows of both signs, most of which are 0."""
    draws = np.random.default_rng(seed)
    return np.where(draws.random(X.shape) < 0.6, 0.0, draws.normal(size=X.shape).round(1) + 0.3 * X)


def booster_of(X, params, n_rounds=8):
    xgboost = pytest.importorskip("xgboost")
    params = {"objective": "rank:ndcg", "tree_method": "hist", "nthread": 1, "verbosity": 0, **PARAMS, **params}
    return xgboost.train(params, matrix(X, label=TRAIN.y, group=np.diff(TRAIN.indptr)), n_rounds)


def matrix(X, **given):
    return pytest.importorskip("xgboost").DMatrix(X, missing=0.0 if sparse.issparse(X) else np.nan, **given)


def rows_at(booster, X):
    """Rows of X of which many values are thresholds of the booster, their neighbours, and what rounds to these."""
    limits = [tree["split_conditions"] for tree in json.loads(booster.save_raw("json"))["learner"][
        "gradient_booster"]["model"]["trees"]]  # fmt: skip
    limits = np.concatenate(limits).astype(np.float32)
    near = [limits, np.nextafter(limits, np.float32(-np.inf)), np.nextafter(limits, np.float32(np.inf))]
    near = np.concatenate(near).astype(np.float64)
    between = (near[:-1] + near[1:]) / 2
    values = np.concatenate([near, between, near * (1 + 1e-9), [0.0, -0.0, 1e-46, -1e-46, 1e-45, -1e-45]])
    draws = np.random.default_rng(0)
    return np.where(draws.random(X.shape) < 0.7, draws.choice(values, X.shape), X)


# --- Scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", OF_TREES, ids=lambda params: next(iter(params), "plain"))
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_scores_are_those_of_xgboost_bit_by_bit(params, is_sparse):
    form = sparse.csr_matrix if is_sparse else np.asarray
    X = sparse_rows(TRAIN.X)
    booster = booster_of(form(X), params)
    ranker = clone(FEW).set_params(**params).fit(form(X), TRAIN.y, qid=TRAIN.qid)
    at_edges = rows_at(booster, sparse_rows(HELD_BACK.X, seed=1))
    precisions = (np.float64,) if is_sparse or params else (np.float64, np.float32)
    for rows in (form(at_edges.astype(dtype)) for dtype in precisions):
        own = booster.predict(matrix(rows), output_margin=True)
        found = ranker.predict(rows)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, own)
    has_split = "gamma" not in params or params["gamma"] < 1e9
    assert (np.unique(own).size > 5) == has_split
    assert (ZERO_IS_MISSING in ranker.trees_.kinds_) == (is_sparse and has_split)
    ranker.trees_.check_loaded()


def test_the_trees_of_some_rounds_are_those_of_a_booster_of_some_rounds():
    booster = booster_of(TRAIN.X, {"num_parallel_tree": 2})
    trees, start = read_trees(booster.save_raw("json"), 3, 6, zero_is_missing=False)
    assert trees.n_trees == 6
    found = trees.predict(HELD_BACK.X, np.full(HELD_BACK.n_docs, start, dtype=np.float32))
    own = booster.predict(matrix(HELD_BACK.X), output_margin=True, iteration_range=(0, 3))
    np.testing.assert_array_equal(found, own)


def test_the_best_rounds_are_kept_and_without_one_all_scores_are_zero(monkeypatch):
    pytest.importorskip("xgboost")
    ranker = clone(FEW).fit(TRAIN, eval_set=HELD_BACK)
    assert ranker.trees_.n_trees == ranker.n_rounds_ == ranker.best_iteration_
    monkeypatch.setattr("plackett.rankers.trees.xgboost.XGBoostRanker._grow_rounds", lambda *_: "none")
    ranker = clone(FEW).fit(TRAIN)
    assert (ranker.trees_.n_trees, ranker.intercept_) == (0, 0.0)
    assert not ranker.predict(HELD_BACK).any()
    assert not hasattr(ranker, "_booster")


def test_what_is_no_sum_of_trees_over_numbers_is_refused():
    pytest.importorskip("xgboost")
    with pytest.raises(ValueError, match="does not take 'booster': trees must not change after they are grown"):
        pk.XGBoostRanker(booster="dart").fit(TRAIN)
    with pytest.raises(ValueError, match="does not take 'enable_categorical'"):
        pk.XGBoostRanker(enable_categorical=True).fit(TRAIN)
    dart = booster_of(TRAIN.X, {"booster": "dart", "rate_drop": 0.5, "one_drop": 1})
    with pytest.raises(ValueError, match="the booster is 'dart'"):
        read_trees(dart.save_raw("json"), 1, 6, zero_is_missing=False)


def test_constraints_may_be_lists_and_name_columns():
    names = list("abcdef")
    frame = pytest.importorskip("pandas").DataFrame(TRAIN.X, columns=names)

    def scores(**constraints):
        return clone(FEW).set_params(**constraints).fit(frame, TRAIN.y, qid=TRAIN.qid).predict(frame)

    for name, text, others in [
        ("monotone_constraints", "(-1,0,0,1,0,0)", [[-1, 0, 0, 1, 0, 0], {"d": 1, "a": -1}, {3: 1, 0: -1}]),
        ("interaction_constraints", "[[0,1],[2,5]]", [[[0, 1], [2, 5]], (("a", "b"), ["c", np.int64(5)])]),
    ]:
        expected = booster_of(TRAIN.X, {name: text}).predict(matrix(TRAIN.X), output_margin=True)
        assert (expected != scores()).any()
        for value in others:
            np.testing.assert_array_equal(scores(**{name: value}), expected)
    with pytest.raises(ValueError, match="interaction_constraints names 'z', which is not a column of X"):
        scores(interaction_constraints=[["a", "z"]])
    with pytest.raises(ValueError, match="monotone_constraints names 6, which is not a column of X"):
        scores(monotone_constraints={6: 1})


def test_leaves_beyond_all_numbers_are_refused():
    pytest.importorskip("xgboost")
    with pytest.raises(ValueError, match=r"overflowed\. Lower learning_rate"):
        clone(FEW).set_params(learning_rate=3e38).fit(TRAIN)


# --- What the trees say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_contributions_and_importances_are_those_of_xgboost(form):
    pytest.importorskip("lightgbm")
    X, rows = form(sparse_rows(TRAIN.X)), form(sparse_rows(HELD_BACK.X, seed=1))
    booster = booster_of(X, {"max_depth": 4})
    ranker = clone(FEW).set_params(max_depth=4).fit(X, TRAIN.y, qid=TRAIN.qid)
    explanation = ranker.explain(rows)
    own = booster.predict(matrix(rows), pred_contribs=True)[:, :-1]
    np.testing.assert_allclose(explanation.contributions, own - own.mean(axis=0), atol=2e-6)
    np.testing.assert_array_equal(explanation.scores, ranker.predict(rows))
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=1), explanation.scores - explanation.baseline, atol=1e-6
    )
    for kind, word in (("gain", "total_gain"), ("split", "weight")):
        known = booster.get_score(importance_type=word)
        np.testing.assert_allclose(ranker.importances(kind), [known.get(f"f{j}", 0.0) for j in range(6)], rtol=1e-5)
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)


def test_trees_of_one_leaf_explain_nothing():
    pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    ranker = clone(FEW).set_params(gamma=1e9).fit(TRAIN)
    assert ranker.trees_.n_trees == 8
    assert not ranker.explain(HELD_BACK).contributions.any()
    mixed = FlatTrees.of([as_dict(ranker.trees_, 0), as_dict(clone(FEW).fit(TRAIN).trees_, 0)], 6)
    alone = FlatTrees.of([as_dict(mixed, 1)], 6)
    ranker.trees_ = mixed
    both = ranker.explain(HELD_BACK).contributions
    ranker.trees_ = alone
    np.testing.assert_array_equal(both, ranker.explain(HELD_BACK).contributions)


def as_dict(trees, tree):
    nodes = slice(*trees.starts_[tree : tree + 2])
    parts = {name.removesuffix("_"): getattr(trees, name)[nodes].copy() for name in trees._of_nodes}
    parts["left"], parts["right"] = parts["left"] - nodes.start, parts["right"] - nodes.start
    return parts


# --- Files ------------------------------------------------------------------------------------------------------------


def saved(ranker):
    file = io.BytesIO()
    ranker.save(file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_loaded_ranker_needs_no_xgboost(form, monkeypatch):
    pytest.importorskip("xgboost")
    X, rows = form(sparse_rows(TRAIN.X)), form(sparse_rows(HELD_BACK.X, seed=1))
    ranker = clone(FEW).set_params(subsample=0.9).fit(X, TRAIN.y, qid=TRAIN.qid)
    file = saved(ranker)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    loaded = pk.load(file)
    assert repr(loaded) == repr(ranker)
    assert loaded.zero_is_missing_ == sparse.issparse(X)
    np.testing.assert_array_equal(loaded.predict(rows), ranker.predict(rows))
    np.testing.assert_array_equal(loaded.explain(rows).contributions, ranker.explain(rows).contributions)
    with pytest.raises(ModuleNotFoundError, match="XGBoostRanker needs xgboost"):
        loaded.fit(TRAIN)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ModuleNotFoundError, match=r"Explaining XGBoostRanker needs lightgbm.*plackett\[trees\]"):
        loaded.explain(rows)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("missing_left_", np.zeros(3, dtype=bool), "as many thresholds, children"),
        ("missing_left_", np.zeros(3), "missing_left_ must be a vector"),
        ("missing_left_", None, "missing_left_ must be a vector"),
        ("left_", np.zeros(3, dtype=np.int64), "as many thresholds, children"),
    ],
)
def test_a_file_with_damaged_trees_is_refused(name, value, match):
    pytest.importorskip("xgboost")
    ranker = clone(FEW).fit(sparse.csr_array(sparse_rows(TRAIN.X)), TRAIN.y, qid=TRAIN.qid)
    setattr(ranker.trees_, name, value)
    with pytest.raises(pk.exceptions.ModelFormatError, match=match):
        pk.load(saved(ranker))


def test_a_file_must_say_what_a_zero_is():
    pytest.importorskip("xgboost")
    ranker = clone(FEW).fit(TRAIN)
    ranker.zero_is_missing_ = 1
    with pytest.raises(pk.exceptions.ModelFormatError, match="zero_is_missing_ must be True or False"):
        pk.load(saved(ranker))


def test_a_file_must_hold_leaves_of_single_precision():
    pytest.importorskip("xgboost")
    ranker = clone(FEW).fit(TRAIN)
    ranker.trees_.values_[-1] = 1e39
    with pytest.raises(pk.exceptions.ModelFormatError, match="leaves must be numbers that single precision can hold"):
        pk.load(saved(ranker))
