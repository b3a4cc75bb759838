"""Regression on the label."""

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import DataWarning
from plackett.losses import BinaryCrossEntropy, Squared, get_loss
from tests.losses import literal

LISTS = literal.lists_of([2, 0, 1], [], [3], [-1, 5000])
SCORES = np.array([0.5, -1.0, 1.0, 2.0, 0.0, 4999.0])


def test_squared_is_half_the_sum_of_squared_residuals():
    # ½ (1.5² + 1² + 0²), nothing, ½ 1², ½ (1² + 1²)
    np.testing.assert_allclose(literal.values_of(Squared(), SCORES, LISTS), [1.625, 0.0, 0.5, 1.0])


def test_squared_is_the_literal_sum():
    queries = zip(LISTS.indptr, LISTS.indptr[1:], strict=False)
    expected = [literal.squared(SCORES[a:b], LISTS.labels[a:b]) for a, b in queries]
    np.testing.assert_allclose(literal.values_of(Squared(), SCORES, LISTS), expected, rtol=1e-12)


def test_a_query_with_one_document_counts():
    value, slope = Squared().value_and_slope([3.0], literal.lists_of([1]))
    assert (value, slope.tolist()) == (2.0, [2.0])


def test_the_slope_is_the_residual():
    _, slope = Squared().value_and_slope(SCORES, LISTS)
    np.testing.assert_array_equal(slope, SCORES - LISTS.labels)


def test_the_second_derivative_is_one():
    direction = np.arange(6.0)
    np.testing.assert_array_equal(Squared().curvature_product(SCORES, LISTS, direction), direction)
    np.testing.assert_array_equal(Squared().curvature_diagonal(SCORES, LISTS), np.ones(6))
    np.testing.assert_array_equal(Squared().curvature_bound(SCORES, LISTS), np.ones(6))


def test_a_product_is_a_new_array():
    direction = np.arange(6.0)
    assert Squared().curvature_at(SCORES, LISTS)(direction) is not direction


def test_the_minimum_is_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    queries = pk.Queries(X, y, qid=np.repeat([0, 1, 2], [5, 20, 5]))
    coef = np.linalg.lstsq(X, y, rcond=None)[0]
    _, slope = Squared().value_and_slope(X @ coef, queries)
    np.testing.assert_allclose(X.T @ slope, 0.0, atol=1e-12)


def test_squared_has_its_name_and_notices_shifts():
    assert get_loss("squared") == Squared()
    assert not Squared().ignores_shifts
    assert Squared().is_convex


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_lists_without_documents_cost_nothing(sizes):
    lists = literal.lists_of(*([] for _ in sizes))
    assert literal.values_of(Squared(), np.empty(0), lists).tolist() == [0.0] * len(sizes)


def test_warns_of_grades_where_probabilities_are_needed():
    grades = pk.Queries([[0.0], [1.0], [2.0]], y=[0, 1, 2])
    with pytest.warns(DataWarning, match=r"whole numbers up to 2.*threshold to 1"):
        get_loss("binary-cross-entropy").check_fit(grades.lists)
    BinaryCrossEntropy(threshold=1).check_fit(grades.lists)
    BinaryCrossEntropy().check_fit(pk.Queries([[0.0], [1.0]], y=[0.0, 2.5]).lists)  # an estimate from clicks
