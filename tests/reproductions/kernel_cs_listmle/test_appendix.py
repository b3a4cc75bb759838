"""The R code in the appendix of olinto2016, against its loops."""

import numpy as np
import pytest

import plackett as pk
from plackett.reproductions.kernel_cs_listmle.appendix import (
    descend,
    first_rows,
    kernel_values,
    ndcg_of_own_top,
    ranked_labels,
)


def r_minus_row(x, i):
    """``x - x[i,]`` in R: the vector is repeated down the columns."""
    flat = x.ravel(order="F")
    return (flat - np.resize(x[i], flat.size)).reshape(x.shape, order="F")


def r_step(x, y, f):
    """``grad_listMLE_plain`` and ``grad_listMLE_kernel``, loop by loop, f being ``xw`` or ``kxw``."""
    n, p = x.shape
    if y.sum() == 0:
        return np.zeros(p)
    beta = y / y.sum()
    alpha = np.array([[(y[i] - y[t]) / y[i] if y[i] > y[t] and t > i else 0.0 for t in range(n)] for i in range(n)])
    step = np.zeros(p)
    for j in range(p):
        first = second = 0.0
        for i in range(n):
            difference = r_minus_row(x, i)[:, j]
            inner = sum(alpha[i, t] * np.exp(f[t] - f[i]) * difference[t] for t in range(n))
            squares = sum(alpha[i, t] * np.exp(f[t] - f[i]) * difference[t] ** 2 for t in range(n))
            first += beta[i] * inner / (1 + inner)
            second += beta[i] * squares / (1 + inner) ** 2
        step[j] = 0.0 if first == 0 and second == 0 else first / second
    return step


def r_descent(queries, labels, norm, is_kernel):
    p = queries[0].shape[1]
    w_old, w_new, steps, i = np.full(p, 0.048), np.full(p, 0.05), [], 0
    while (np.abs(w_new - w_old) >= 0.001).any():
        i += 1
        w_old = w_new
        for x, y in zip(queries, labels, strict=True):
            steps.append(r_step(x, y, x.sum(axis=1) * w_old if is_kernel else x @ w_old))
        w_new = w_old - np.mean(steps, axis=0)
        w_new = norm * w_new / np.sqrt((w_new**2).sum())
        if i >= 200:
            break
    return w_new, i


@pytest.mark.parametrize("is_kernel", [False, True])
@pytest.mark.parametrize("norm", [1.0, 10.0])
def test_the_descent_is_that_of_the_loops_in_r(is_kernel, norm):
    rng = np.random.default_rng(3)
    labels = np.array([[0, 2, 1, 0], [1, 0, 0, 3], [0, 0, 0, 0], [4, 1, 1, 0], [2, 2, 0, 1]], dtype=float)
    X = rng.random((5, 4, 7))
    values = kernel_values(X, "tanh", b=0.1) if is_kernel else X
    coef, n_iter = r_descent(values, labels, norm, is_kernel)
    ours = descend(values, labels, is_kernel=is_kernel, norm=norm)
    assert ours.n_iter == n_iter
    assert ours.n_left_out == 0
    np.testing.assert_allclose(ours.coef, coef, rtol=1e-8)


def test_steps_that_are_not_finite_are_left_out_and_counted():
    # the last step is 1e-200 over its square, which underflows to 0
    values, labels = np.array([[[1, 1e-200, 0], [1e-200, 1, 2e-200], [0, 2e-200, 1]]]), np.array([[1.0, 0, 1]])
    with np.errstate(divide="ignore"):
        assert np.isinf(r_step(values[0], labels[0], np.zeros(3))).tolist() == [False, False, True]
    descent = descend(values, labels, is_kernel=True)
    assert descent.n_left_out > 0
    assert np.isfinite(descent.coef).all()


def test_queries_are_cut_to_their_first_rows_and_short_ones_padded():
    queries = pk.Queries([[3.0, 0], [4, 0], [9, 9], [5, 2]], y=[2, 0, 4, 1], qid=["a", "a", "a", "b"])
    rows = first_rows(queries, 2)
    np.testing.assert_allclose(rows.X, [[[0.6, 0], [0.8, 0]], [[1, 1], [0, 0]]])
    np.testing.assert_array_equal(rows.y, [[2, 0], [1, 0]])


def test_kernels_are_those_of_the_code():
    X = np.random.default_rng(0).random((1, 3, 4))
    products = X[0] @ X[0].T
    for i in range(3):
        for j in range(3):
            distance = sum((products[i, c] - products[j, c]) ** 2 for c in range(3))
            expected = {
                ("gaussian", "sigma", 2.0): np.exp(-distance / 8),
                ("laplace", "gama", 0.3): np.exp(-0.3 * distance),
                ("polynomial", "d", 3.0): products[i, j] ** 3,
                ("tanh", "b", 0.5): np.tanh(0.5 * products[i, j]),
            }
            for (kernel, name, parameter), value in expected.items():
                assert kernel_values(X, kernel, **{name: parameter})[0, i, j] == pytest.approx(value)


def test_the_measure_forgives_what_was_not_brought_up():
    ranked = np.array([[1.0, 1, 0, 4], [0, 0, 0, 4], [1, 2, 0, 0]])
    best = 3 + 1 / np.log2(3)
    np.testing.assert_allclose(ndcg_of_own_top(ranked, 2), [1, 0, (1 + 3 / np.log2(3)) / best])
    # where k is the length of the list, it is NDCG
    whole = pk.metrics.ndcg(ranked.ravel(), np.tile([4, 3, 2, 1], 3), qid=np.repeat([0, 1, 2], 4))
    np.testing.assert_allclose(ndcg_of_own_top(ranked, 4), whole)


def test_equal_scores_keep_the_order_of_the_rows():
    assert ranked_labels(np.array([[1.0, 2, 3]]), np.array([[0.5, 0.7, 0.5]])).tolist() == [[2, 1, 3]]
