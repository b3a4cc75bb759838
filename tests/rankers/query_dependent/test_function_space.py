"""Features of kernels, and queries that are scored by models of their own."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from plackett.rankers.query_dependent.function_space import FunctionSpace, median_gamma
from plackett.rankers.query_dependent.targets import Targets, score_lists

X = np.random.default_rng(0).normal(size=(15, 3))
NEW = np.random.default_rng(1).normal(size=(6, 3))


def fitted(kernel="rbf", gamma="median", landmarks=None, rows=X, max_bytes=1e9, **parameters):
    space = FunctionSpace(kernel, gamma, **parameters)
    return space, space.fit(rows, landmarks=landmarks, random_state=0, max_bytes=max_bytes)


@pytest.mark.parametrize(("kernel", "options"), [
    ("rbf", {"gamma": 0.3}), ("laplacian", {"gamma": 0.2}), ("poly", {"gamma": 0.5, "degree": 2, "coef0": 1.0}),
])  # fmt: skip
def test_products_of_features_are_values_of_the_kernel(kernel, options):
    space, rows = fitted(kernel, **options)
    expected = pairwise_kernels(X, X, metric=kernel, filter_params=True, **options)
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-8)
    np.testing.assert_allclose(space.features(X), rows, atol=1e-6)
    crossed = pairwise_kernels(NEW, X, metric=kernel, filter_params=True, **options)
    np.testing.assert_allclose(space.features(NEW) @ rows.T, crossed, atol=1e-6)


def test_median_gamma_is_one_over_the_median_distance_and_not_its_square():
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(15) for j in range(i)]
    assert median_gamma(X) == pytest.approx(1 / np.median(distances), rel=1e-9)
    assert median_gamma(10 * X) == pytest.approx(0.1 * median_gamma(X), rel=1e-9)
    assert fitted()[0].gamma_ == median_gamma(X)


def test_as_many_landmarks_as_documents_are_exact():
    exact, approximate = fitted()[1], fitted(landmarks=15)[1]
    np.testing.assert_allclose(approximate @ approximate.T, exact @ exact.T, atol=1e-8)
    space, few = fitted(landmarks=4)
    assert few.shape == (15, 4)
    np.testing.assert_allclose(space.features(X), few, atol=1e-8)


def test_documents_that_repeat_add_no_features():
    rows = np.repeat(X[:4], 3, axis=0)
    space, features = fitted(rows=rows)
    assert features.shape[1] <= 4
    np.testing.assert_allclose(
        features @ features.T, pairwise_kernels(rows, metric="rbf", gamma=space.gamma_), atol=1e-6
    )
    same = np.ones((5, 3))
    space, features = fitted(rows=same, gamma=1.0)
    np.testing.assert_allclose(features @ features.T, 1.0)
    np.testing.assert_allclose(space.features(same), features, atol=1e-9)


def test_a_linear_space_takes_columns_as_they_are_and_writes_out_sparse_ones():
    space, rows = fitted("linear")
    np.testing.assert_array_equal(rows, X)
    assert space.is_linear
    csr = sparse.csr_array(np.where(X > 0, X, 0.0))
    np.testing.assert_array_equal(fitted("linear", rows=csr)[1], csr.toarray())
    with pytest.raises(ValueError, match=r"15 sparse rows of 3 columns.*raise max_bytes"):
        fitted("linear", rows=csr, max_bytes=100)


def test_sparse_rows_have_the_features_of_dense_ones():
    dense = np.where(X > 0, X, 0.0)
    for landmarks in (None, 5):
        one, other = (
            fitted(rows=dense, landmarks=landmarks)[1],
            fitted(rows=sparse.csr_array(dense), landmarks=landmarks)[1],
        )
        np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-8)


# ---- targets -------------------------------------------------------------------------------------------------------


def targets(places, how_new="neighbors", is_uniform_only=False):
    n = len(places)
    return Targets(np.zeros((n, 1)), np.arange(n + 1), np.array(places), None, how_new, is_uniform_only)


def test_what_serves_observed_and_new_queries():
    np.testing.assert_array_equal(targets([1, -1, 0]).places_with_neighbors, [0, 1, 2])
    np.testing.assert_array_equal(targets([1, -1, 0], "uniform").places_with_neighbors, [0, 2])
    np.testing.assert_array_equal(targets([1, -1, 0], "uniform").is_uniform, [False, True, False])
    np.testing.assert_array_equal(targets([1, -1, 0], "random").places_with_neighbors, [0, 2])
    assert not targets([1, -1, 0], "random").is_uniform.any()
    assert targets([1, -1], is_uniform_only=True).is_uniform.all()
    assert targets([1, -1], is_uniform_only=True).places_with_neighbors.size == 0


def test_scores_are_products_with_each_query_s_own_coefficients():
    indptr, coef = np.array([0, 4, 5, 15]), np.random.default_rng(2).normal(size=(3, 3))
    scores = score_lists(X, indptr, coef, is_bilinear=False)
    for query in range(3):
        for row in range(indptr[query], indptr[query + 1]):
            assert scores[row] == pytest.approx(X[row] @ coef[query])


def test_bilinear_scores_solve_the_least_squares_of_the_preferences():
    indptr, draws = np.array([0, 6, 15]), np.random.default_rng(3)
    halves = draws.normal(size=(2, 3, 3))
    bilinear = halves - halves.transpose(0, 2, 1)
    scores = score_lists(X, indptr, bilinear.reshape(2, 9), is_bilinear=True)
    for query in range(2):
        own = X[indptr[query] : indptr[query + 1]]
        n = own.shape[0]
        design, wanted = [], []
        for j in range(n):
            for other in range(n):
                row = np.zeros(n)
                row[j] += 1
                row[other] -= 1
                design.append(row)
                wanted.append(own[j] @ bilinear[query] @ own[other])
        best = np.linalg.lstsq(np.array(design), np.array(wanted), rcond=None)[0]
        found = scores[indptr[query] : indptr[query + 1]]
        np.testing.assert_allclose(found - found.mean(), best - best.mean(), atol=1e-9)


def test_preferences_that_are_differences_give_the_scores_back():
    draws = np.random.default_rng(4)
    rows = np.column_stack([draws.normal(size=10), np.ones(10)])  # f(x, x') = s - s' as x·B x'
    scores = score_lists(rows, np.array([0, 10]), np.array([[0.0, 1.0, -1.0, 0.0]]), is_bilinear=True)
    np.testing.assert_allclose(scores - scores.mean(), rows[:, 0] - rows[:, 0].mean(), atol=1e-12)
