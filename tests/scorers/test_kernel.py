"""Kernel scorers: factors multiply back to the kernel matrix, features have the kernel as inner products."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from plackett.scorers.kernel import (
    Kernel,
    PositionScorer,
    Training,
    arrangement,
    check_kernel,
    choose_landmarks,
    exact_scorer,
    factorize,
    kernel_scores,
    landmark_scorer,
    position_scores,
    settle_gamma,
)

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(40, 3))
NEW = RANDOM.normal(size=(7, 3))
DEFINITE = [
    Kernel("linear"),
    Kernel("rbf", 0.7),
    Kernel("laplacian", 0.3),
    Kernel("poly", 0.5, 2, 1.0),
    Kernel("cosine"),
    Kernel(lambda A, B: np.exp(A @ B.T / 3)),
]
definite = pytest.mark.parametrize("kernel", DEFINITE, ids=lambda kernel: kernel.name)


def whole(kernel, A, B):
    if callable(kernel.kernel):
        return kernel.kernel(A, B)
    return pairwise_kernels(
        A, B, metric=kernel.kernel, filter_params=True, gamma=kernel.gamma, degree=kernel.degree, coef0=kernel.coef0
    )


@pytest.mark.parametrize(("gamma", "coef0"), [(0.5, 0.0), (0.1, -0.3), (2.0, 1.0)])
def test_the_tanh_kernel_has_the_values_of_its_formula(gamma, coef0):
    """tanh(b x·z + a), by sums and exponentials; scikit-learn and the thesis's own kernel agree."""
    kernel = Kernel("sigmoid", gamma, 3, coef0)
    found = kernel.matrix(X, NEW)
    for i, one in enumerate(X):
        for j, other in enumerate(NEW):
            inner = gamma * sum(float(a) * float(b) for a, b in zip(one, other, strict=True)) + coef0
            expected = (math.exp(inner) - math.exp(-inner)) / (math.exp(inner) + math.exp(-inner))
            assert found[i, j] == pytest.approx(expected, rel=1e-10, abs=1e-13)
    np.testing.assert_allclose(found, whole(kernel, X, NEW), rtol=1e-12)


def exact(kernel, rows=X, given=None):
    return exact_scorer(kernel, Training(rows, given), has_intercept=False, max_bytes=1e9)


def with_landmarks(kernel, n_landmarks, rows=X, selection="k-means++", seed=0):
    return landmark_scorer(
        kernel, Training(rows), n_landmarks=n_landmarks, selection=selection, random_state=seed, has_intercept=False,
        max_bytes=1e9,
    )  # fmt: skip


# factors


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_a_factor_multiplies_back_to_its_matrix(rank):
    root = RANDOM.normal(size=(20, rank))
    K = root @ root.T
    Z, pivots = factorize(K.copy(), 1e-10, 1e-7)
    assert Z.shape == (20, rank)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-12 * K.max())
    assert np.array_equal(np.tril(Z[pivots]), Z[pivots])


def test_the_largest_remaining_entry_of_the_diagonal_is_taken_first():
    _, pivots = factorize(np.diag([1.0, 9.0, 0.0, 4.0]), 1e-10, 1e-7)
    assert pivots.tolist() == [1, 3, 0]


INDEFINITE = {
    "off the diagonal": [[0.0, 1.0], [1.0, 0.0]],
    "negative diagonal": [[-1.0, 0.0], [0.0, -2.0]],
    "mixed": [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "after a good start": [[4.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.1, 0.0]],
}


@pytest.mark.parametrize("matrix", INDEFINITE.values(), ids=INDEFINITE.keys())
def test_matrices_that_are_not_positive_semidefinite_have_no_factor(matrix):
    assert factorize(np.array(matrix), 1e-10, 1e-7) is None


def test_large_matrices_with_one_negative_eigenvalue_have_no_factor():
    root = np.linalg.qr(RANDOM.normal(size=(200, 200)))[0]
    for smallest, is_definite in ((-1e-3, False), (0.0, True), (1e-3, True)):
        K = (root * np.append(np.ones(199), smallest)) @ root.T
        assert (factorize((K + K.T) / 2, 1e-10, 1e-7) is not None) == is_definite


def test_a_matrix_of_zeros_has_an_empty_factor():
    Z, pivots = factorize(np.zeros((3, 3)), 1e-10, 1e-7)
    assert Z.shape == (3, 0)
    assert pivots.size == 0


# features


@definite
def test_inner_products_of_features_are_kernel_values(kernel):
    scorer = exact(kernel)
    assert scorer.penalty == "rkhs"
    np.testing.assert_allclose(scorer.X @ scorer.X.T, whole(kernel, X, X), atol=1e-7)
    np.testing.assert_allclose(scorer.features(NEW) @ scorer.X.T, whole(kernel, NEW, X), atol=1e-6)


@definite
@pytest.mark.parametrize("make", [exact, lambda kernel: with_landmarks(kernel, 12)], ids=["exact", "landmarks"])
def test_linear_scores_of_features_are_kernel_scores(kernel, make):
    scorer = make(kernel)
    weights = RANDOM.normal(size=scorer.n_features) / 100
    dual = scorer.dual(weights)
    support = X[scorer.places]
    np.testing.assert_allclose(whole(kernel, NEW, support) @ dual, scorer.features(NEW) @ weights, atol=1e-8)
    np.testing.assert_allclose(kernel_scores(kernel, NEW, support, dual), scorer.features(NEW) @ weights, atol=1e-8)
    np.testing.assert_allclose(dual @ whole(kernel, support, support) @ dual, weights @ weights, rtol=1e-6)


@definite
@pytest.mark.parametrize("make", [exact, lambda kernel: with_landmarks(kernel, 12)], ids=["exact", "landmarks"])
def test_coefficients_come_back_from_the_dual_ones(kernel, make):
    scorer = make(kernel)
    weights = RANDOM.normal(size=scorer.n_features)
    np.testing.assert_allclose(scorer.weights_of(scorer.dual(weights), scorer.support), weights, atol=1e-4)


def test_the_support_is_as_large_as_the_rank():
    assert exact(Kernel("linear")).places.size == 3
    assert exact(Kernel("rbf", 1.0), np.repeat(X[:5], 4, axis=0)).places.size == 5


def test_as_many_landmarks_as_documents_have_all_kernel_values():
    scorer = with_landmarks(Kernel("rbf", 0.7), 40)
    np.testing.assert_allclose(scorer.X @ scorer.X.T, rbf_kernel(X, gamma=0.7), atol=1e-8)


def test_more_landmarks_come_nearer_to_the_kernel():
    K = rbf_kernel(X, gamma=0.1)
    errors = []
    for n_landmarks in (2, 8, 32):
        Z = with_landmarks(Kernel("rbf", 0.1), n_landmarks).X
        errors.append(np.abs(Z @ Z.T - K).max())
    assert errors[0] > 2 * errors[1] > 20 * errors[2]


@pytest.mark.parametrize("n_values", [1, 50, 1 << 21])
def test_blocks_of_rows_make_no_difference(n_values, monkeypatch):
    kernel = Kernel("rbf", 0.7)
    expected = with_landmarks(kernel, 9)
    monkeypatch.setattr("plackett.scorers.kernel.VALUES_PER_BLOCK", n_values)
    scorer = with_landmarks(kernel, 9)
    np.testing.assert_allclose(scorer.X, expected.X, atol=1e-12)
    dual = RANDOM.normal(size=9)
    np.testing.assert_allclose(kernel_scores(kernel, NEW, X[:9], dual), rbf_kernel(NEW, X[:9], gamma=0.7) @ dual)


@pytest.mark.parametrize("kernel", [Kernel("sigmoid", 0.5, 3, 0.0), Kernel(lambda A, B: np.tanh(A @ B.T - 1))])
def test_an_indefinite_kernel_is_its_own_features(kernel):
    scorer = exact(kernel)
    assert scorer.penalty == "coefficients"
    np.testing.assert_allclose(scorer.X, whole(kernel, X, X))
    np.testing.assert_allclose(scorer.features(NEW), whole(kernel, NEW, X))
    assert with_landmarks(kernel, 10).penalty == "coefficients"


def test_a_kernel_that_is_not_symmetric_is_its_own_features():
    kernel = Kernel(lambda A, B: np.exp(-((A[:, None, 0] - 2 * B[None, :, 1]) ** 2)))
    assert exact(kernel).penalty == "coefficients"
    np.testing.assert_allclose(exact(kernel).X, kernel.kernel(X, X))


@pytest.mark.parametrize(
    ("kernel", "is_definite"),
    [
        (Kernel("poly", degree=2, coef0=0.0), True),
        (Kernel("poly", degree=2, coef0=-1.0), False),
        (Kernel("poly", degree=2.5), False),
        (Kernel("sigmoid"), False),
        (Kernel("additive_chi2"), False),
        (Kernel("precomputed"), None),
        (Kernel(np.dot), None),
    ],
)
def test_what_is_known_of_a_kernel_before_it_is_computed(kernel, is_definite):
    assert kernel.is_definite is is_definite


def test_a_function_may_keep_what_it_gave():
    K = rbf_kernel(X)
    exact(Kernel(lambda A, B: K))
    np.testing.assert_array_equal(K, rbf_kernel(X))


def test_sparse_and_single_precision_rows_give_the_same_values():
    rows = np.round(X * 2) / 2  # exact in float32, with zeros
    for name in ("linear", "rbf", "laplacian", "poly", "sigmoid", "cosine"):
        kernel = Kernel(name, 0.5)
        expected = kernel.matrix(rows, rows[:5])
        of_sparse = kernel.matrix(sparse.csr_matrix(rows), sparse.csr_matrix(rows[:5]))
        np.testing.assert_allclose(of_sparse, expected, atol=1e-12)
        np.testing.assert_allclose(kernel.matrix(rows.astype(np.float32), rows[:5]), expected, atol=1e-12)
    assert with_landmarks(Kernel("rbf"), 5, rows.astype(np.float32)).X.dtype == np.float32


def test_precomputed_values_are_taken_by_column():
    K = rbf_kernel(X)
    given = RANDOM.permutation(40)  # row i of the matrix stood in place given[i]
    scorer = exact(Kernel("precomputed"), K[given], given)
    np.testing.assert_allclose(scorer.X @ scorer.X.T, K[given][:, given], atol=1e-8)
    assert scorer.numbers.tolist() == given[scorer.places].tolist()
    np.testing.assert_allclose(scorer.features(rbf_kernel(NEW, X)) @ scorer.X.T, rbf_kernel(NEW, X[given]), atol=1e-6)


def test_a_float32_matrix_counts_as_definite_although_it_is_rounded():
    K = rbf_kernel(X, gamma=0.01).astype(np.float32)
    assert exact(Kernel("precomputed"), K).penalty == "rkhs"


def test_tiny_kernel_values_are_zero():
    assert Kernel("rbf", 1.0).matrix(np.array([[0.0]]), np.array([[0.0], [20.0], [26.0]]))[0, 2] == 0.0


def test_no_more_memory_is_needed_than_is_said(monkeypatch):
    monkeypatch.setattr("plackett.scorers.kernel.VALUES_PER_BLOCK", 1 << 14)
    rows = np.random.default_rng(0).normal(size=(1_000, 3))
    for kernel, n_bytes in ((Kernel("rbf", 2.0), 16 * 1_000**2), (Kernel("sigmoid"), 16 * 1_000**2)):
        tracemalloc.start()
        exact(kernel, rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.1 * n_bytes
    tracemalloc.start()
    with_landmarks(Kernel("rbf", 2.0), 50, np.tile(rows, (20, 1)), "uniform")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * 20_000 * 50 * 8


# the choice of landmarks and of gamma


@pytest.mark.parametrize("selection", ["k-means++", "uniform"])
def test_landmarks_depend_on_the_seed_and_not_on_the_order_of_rows(selection):
    shuffled = RANDOM.permutation(40)
    first, again, moved = (
        choose_landmarks(X, 9, selection, 0),
        choose_landmarks(X, 9, selection, 0),
        shuffled[choose_landmarks(X[shuffled], 9, selection, 0)],
    )
    assert first.tolist() == again.tolist() == sorted(moved.tolist())
    assert np.unique(first).size == 9
    assert first.tolist() != choose_landmarks(X, 9, selection, 1).tolist()


def test_k_means_looks_at_a_sample_of_many_documents(monkeypatch):
    monkeypatch.setattr("plackett.scorers.kernel.SMALLEST_POOL", 10)
    monkeypatch.setattr("plackett.scorers.kernel.POOL_PER_LANDMARK", 2)
    assert choose_landmarks(X, 3, "k-means++", 0).size == 3


def test_k_means_finds_every_cluster():
    centres = np.arange(5)[:, None] * [100.0, 0.0, 50.0]
    rows = np.repeat(centres, 8, axis=0) + 0.1 * X
    assert (choose_landmarks(rows, 5, "k-means++", 0) // 8).tolist() == [0, 1, 2, 3, 4]


def test_the_arrangement_of_rows_does_not_depend_on_where_they_stand():
    shuffled = RANDOM.permutation(40)
    np.testing.assert_array_equal(X[shuffled][arrangement(X[shuffled])], X[arrangement(X)])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda rows: rows.astype(np.float32)])
def test_gamma_from_the_data(form):
    rows = form(X)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)[np.triu_indices(40, 1)]
    lengths = np.abs(X[:, None] - X).sum(axis=2)[np.triu_indices(40, 1)]
    assert settle_gamma(None, "rbf", rows) == pytest.approx(1 / 3)
    assert settle_gamma("scale", "rbf", rows) == pytest.approx(1 / (3 * X.var()), rel=1e-5)
    assert settle_gamma("median", "rbf", rows) == pytest.approx(1 / np.median(squares), rel=1e-5)
    assert settle_gamma("median", "laplacian", rows) == pytest.approx(1 / np.median(lengths), rel=1e-5)
    assert settle_gamma(0.25, "rbf", rows) == 0.25


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_gamma_of_constant_data_is_that_of_none(gamma):
    assert settle_gamma(gamma, "rbf", np.ones((4, 2))) == 0.5


# one coefficient per position


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_positions_have_the_kernel_values_of_their_list_in_their_columns(form):
    indptr = np.array([0, 3, 4, 9])
    rows, kernel = form(X[:9]), Kernel("rbf", 0.7)
    scorer = PositionScorer(kernel, rows, indptr, has_intercept=False, max_bytes=1e6)
    features = scorer.features(rows, indptr)
    expected = np.zeros((9, 5))
    for start, stop in itertools.pairwise(indptr):
        for i in range(start, stop):
            for j in range(start, stop):
                expected[i, j - start] = np.exp(-0.7 * ((X[i] - X[j]) ** 2).sum())
    np.testing.assert_allclose(features.toarray(), expected)
    dual = RANDOM.normal(size=5)
    np.testing.assert_allclose(position_scores(kernel, rows, indptr, dual), expected @ dual)


def test_positions_beyond_those_in_training_count_for_nothing():
    scorer = PositionScorer(Kernel("linear"), X[:4], np.array([0, 2, 4]), has_intercept=False, max_bytes=1e6)
    expected = (X @ X.T)[:, :2]
    np.testing.assert_allclose(scorer.features(X, np.array([0, 40])).toarray(), expected)
    np.testing.assert_allclose(
        position_scores(Kernel("linear"), X, np.array([0, 40]), np.ones(2)), expected.sum(axis=1)
    )


# refusals


def test_a_matrix_that_would_not_fit_is_refused_with_its_size():
    with pytest.raises(
        ValueError, match=r"matrix of 40 documents and its factor would take 25,600 bytes, above max_byt"
    ):
        exact_scorer(Kernel("rbf"), Training(X), has_intercept=False, max_bytes=25_000)
    with pytest.raises(
        ValueError, match=r"40 documents by 10 landmarks would take 4,800 bytes.*Choose fewer landmarks"
    ):
        landmark_scorer(
            Kernel("rbf"), Training(X), n_landmarks=10, selection="uniform", random_state=0, has_intercept=False,
            max_bytes=1_000,
        )  # fmt: skip
    with pytest.raises(ValueError, match=r"kernel matrices of all lists would take 19,200 bytes"):
        PositionScorer(Kernel("rbf"), X, np.array([0, 40]), has_intercept=False, max_bytes=1_000)


def test_functions_that_give_no_matrix_are_refused():
    with pytest.raises(ValueError, match=r"the kernel of 7 rows and 40 rows returned shape \(7,\); a matrix of shape"):
        Kernel(lambda A, B: A[:, 0]).matrix(NEW, X)


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"kernel='poly' gives values that are NaN or infinite\. Scale the columns"):
        Kernel("poly", 1.0, 200).matrix(X * 1e3, X)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"kernel='gauss' is not known; choose one of 'additive_chi2'"):
        check_kernel("gauss")
    with pytest.raises(ValueError, match=r"gamma='auto'; it must be a number above 0, None, 'scale' or 'median'"):
        settle_gamma("auto", "rbf", X)
    with pytest.raises(ValueError, match=r"gamma=0; it must be a finite number above 0"):
        settle_gamma(0, "rbf", X)
