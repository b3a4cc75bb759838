"""Probabilities of pairs against the matrix, and decision trees in model files."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import plackett as pk
from plackett import _native
from plackett.exceptions import ModelFormatError
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.weak_learners import BasePairs, SavedTree, confidence_of


def product_with(pairs, vector):
    """W @ vector, by the kernel."""
    values = vector[pairs.order]
    product, unused = np.empty_like(values), np.empty_like(values)
    _native.rankers.multiply_base_pairs(pairs.powers, values, values, product, unused)
    answer = np.empty_like(product)
    answer[pairs.order] = product
    return answer


def test_the_terms_of_the_logistic_function_keep_their_bound():
    bound = 1.0 / np.cosh(_native.rankers.N_TERMS * np.arccosh(3.0))
    assert bound < 1e-15
    for distance in np.concatenate([np.linspace(0, 1, 501), np.linspace(1, 60, 501)]):
        terms = product_with(BasePairs(np.array([0.0, distance]), 1.0), np.array([0.0, 1.0]))[0]
        assert abs(terms * (1.0 + np.exp(distance)) - 1.0) < bound + 40 * np.finfo(float).eps


@pytest.mark.parametrize("confidence", [0.0, 0.01, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_products_with_w_equal_those_of_the_matrix(n, confidence):
    draws = np.random.default_rng(n)
    base, vector = draws.normal(size=n), np.exp(3 * draws.normal(size=n))
    base[: n // 3] = np.round(base[: n // 3])  # ties
    with np.errstate(over="ignore"):
        W = 1.0 / (1.0 + np.exp(-confidence * (base[:, None] - base[None, :])))
    np.testing.assert_allclose(product_with(BasePairs(base, confidence), vector), W @ vector, rtol=1e-13, atol=1e-300)


def test_products_with_w_err_little_on_long_lists():
    n = 100_000
    draws = np.random.default_rng(0)
    base, vector = 5 * draws.normal(size=n), np.where(draws.random(n) < 0.3, 1.7, 0.1)
    product = product_with(BasePairs(base, 1.0), vector)
    some = np.argsort(base)[:: n // 40]
    exact = (vector / (1.0 + np.exp(-(base[some, None] - base[None, :])))).sum(axis=1)
    np.testing.assert_allclose(product[some], exact, rtol=1e-12)


def test_the_confidence_is_one_over_the_spread_of_the_ten_best():
    base = np.arange(30.0) ** 1.5
    assert confidence_of(base) == pytest.approx(1.0 / base[-10:].std())
    assert confidence_of(base[:4]) == pytest.approx(1.0 / base[:4].std())
    assert confidence_of(1e300 * base) == pytest.approx(1e-300 / base[-10:].std())
    assert confidence_of(np.array([-1.5e308, 1.5e308])) == pytest.approx(1 / 1.5e308)
    refiner = MultiplicativeRefiner().fit(base[:, None], base_score=base)
    assert refiner.confidence_ == pytest.approx([confidence_of(base)])


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e-300])
def test_ten_equal_base_scores_say_nothing(value):
    assert confidence_of(np.full(12, value)) == 0.0
    assert confidence_of(np.concatenate([np.full(10, value), np.full(5, value - 1.0)])) == 0.0


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier()])
def test_decision_trees_are_saved_as_arrays_and_predict_the_same(tree, data, feedback, tmp_path):
    fitted = LinearRefiner(n_rounds=5, estimator=tree, random_state=0).fit(data, feedback, base_score=1)
    for _ in range(2):  # what was loaded can be saved again
        fitted.save(tmp_path / "model.plackett")
        assert {type(one) for one in fitted.estimators_} in ({type(tree)}, {SavedTree})
        loaded = pk.load(tmp_path / "model.plackett")
        np.testing.assert_array_equal(loaded.predict(data), fitted.scores_)
        further = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32) * data.X.std(axis=0)
        key = [data.qid[0]] * 500
        np.testing.assert_array_equal(loaded.predict(further, qid=key), fitted.predict(further, qid=key))
        assert str(loaded.explain(data, rows=[0])) == str(fitted.explain(data, rows=[0]))
        fitted = loaded


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("features_", lambda features: features + 99),
        ("features_", lambda features: features - 5),
        ("left_", lambda nodes: nodes * 0),  # in a circle
        ("right_", lambda nodes: nodes + 99),
        ("classes_", lambda classes: classes[:-1]),
        ("thresholds_", lambda limits: limits * np.nan),
    ],
)
def test_a_file_with_what_is_no_tree_is_refused(attribute, change, data, feedback, tmp_path):
    tree = DecisionTreeClassifier(max_depth=2)
    fitted = MultiplicativeRefiner(2, estimator=tree).fit(data, feedback, base_score=1)
    fitted.estimators_ = [SavedTree.of(one) for one in fitted.estimators_]
    setattr(fitted.estimators_[0], attribute, change(getattr(fitted.estimators_[0], attribute)))
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError):
        pk.load(tmp_path / "model.plackett")
