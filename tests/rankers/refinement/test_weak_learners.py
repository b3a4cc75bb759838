"""Probabilities of pairs against the matrix."""

import numpy as np
import pytest

from plackett import _native
from plackett.rankers.refinement.boosted import MultiplicativeRefiner
from plackett.rankers.refinement.weak_learners import BasePairs, confidence_of


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
