"""Problems in pair form: value, slope and curvature by loops, and the exact minimum by Newton steps."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from plackett.scorers.kernel import factor
from plackett.solvers import Newton
from plackett.solvers.concave_convex import minimize_psi
from plackett.solvers.margin_losses import SmoothedHinge, get_margin_loss
from plackett.solvers.margins import MarginProblem
from plackett.solvers.smoothing import minimize_hinge

LOSSES = {
    "hinge": lambda m: max(0.0, 1.0 - m),
    "logistic": lambda m: np.log(1.0 + np.exp(-m)),
    "psi": lambda m: min(1.0, max(0.0, 1.0 - m)),
}


def pairs(n_rows=60, n_columns=5, seed=0):
    """Features, signs and weights of some pairs, most of them as a hidden direction has it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    signs = np.sign(X @ rng.normal(size=n_columns) + rng.normal(size=n_rows))
    return X, signs, rng.uniform(0.2, 2.0, size=n_rows) / n_rows


def make(kind="linear", loss="hinge", l2=0.1, n_free=0, seed=0, **shape):
    X, signs, weights = pairs(seed=seed, **shape)
    rows = signs[:, None] * (X if kind == "linear" else factor(rbf_kernel(X, gamma=0.2))[0])
    rows = np.hstack([rows, signs[:, None]]) if n_free else rows
    return MarginProblem(rows, weights, l2, loss=loss, n_free=n_free)


def minimize(problem, tol=1e-4, start=None):
    """The exact minimum, or where the concave-convex procedure ends; the logistic loss takes free coefficients too."""
    start = np.zeros(problem.size) if start is None else start
    if problem.is_smooth:
        tol *= np.linalg.norm(problem.value_and_gradient(np.zeros(problem.size))[1])
        return Newton().minimize(problem, start, max_iter=1000, tol=tol)
    if problem.is_convex:
        return minimize_hinge(problem, start, tol=tol)

    def solve(convex, last):
        return minimize_hinge(convex, *((start,) if last is None else (last.coef, last.details["pulls"])), tol=tol)

    return minimize_psi(problem, solve, tol)


def by_loops(problem, M, coef):
    value = 0.0
    for t in range(problem.n_rows):
        margin = sum(M[t, j] * coef[j] for j in range(problem.size))
        value += problem.weights[t] * LOSSES[problem.loss.name](margin) + problem.tilt[t] * margin
    return value + sum(0.5 * problem.l2 * coef[i] ** 2 for i in range(problem.n_held))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_free", [0, 1])
def test_value_is_the_sum_that_is_written_down(loss, n_free):
    rng = np.random.default_rng(1)
    plain = make("linear", loss, n_free=n_free, n_rows=8)
    M = plain.rows.matrix
    problem = MarginProblem(M, plain.weights, 0.3, loss=loss, n_free=n_free, tilt=rng.normal(size=8))
    coef = rng.normal(size=problem.size)
    assert problem.value(coef) == pytest.approx(by_loops(problem, M, coef), rel=1e-12)
    assert problem.value_and_gradient(coef)[0] == problem.value(coef)


@pytest.mark.parametrize("loss", ["logistic", SmoothedHinge(0.7), SmoothedHinge(0.7, 0.4)])
def test_gradient_and_curvature_match_finite_differences(loss):
    problem = make("rbf", loss, n_free=1, n_rows=12)
    rng = np.random.default_rng(2)
    coef, direction = rng.normal(size=problem.size), rng.normal(size=problem.size)
    assert check_grad(problem.value, lambda c: problem.value_and_gradient(c)[1], coef) < 1e-6
    ahead, behind = (problem.value_and_gradient(coef + h * direction)[1] for h in (1e-7, -1e-7))
    product = problem.curvature_at(coef)(direction)
    np.testing.assert_allclose(product, (ahead - behind) / 2e-7, atol=1e-5)
    np.testing.assert_allclose(problem.curvature_estimate(coef) @ direction, product, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_of_losses_are_their_differences_away_from_kinks(loss):
    margins = np.array([-800.0, -2.3, -0.4, 0.3, 0.9, 1.2, 800.0])
    found = get_margin_loss(loss)
    differences = (found.values(margins + 1e-6) - found.values(margins - 1e-6)) / 2e-6
    np.testing.assert_allclose(found.slopes(margins), differences, atol=1e-6)


def test_the_smoothed_hinge_about_zero_is_a_parabola_and_two_lines():
    loss = SmoothedHinge(0.5)
    np.testing.assert_allclose(loss.values(np.array([2.0, 1.0, 0.75, 0.5, -1.0])), [0, 0, 0.0625, 0.25, 1.75])
    np.testing.assert_allclose(loss.bends(np.array([2.0, 1.0, 0.75, 0.5, -1.0])), [0, 0, 2, 2, 0])


@pytest.mark.parametrize("l2", [1e-3, 1e-1, 1e1, 1e3])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_the_hinge_is_that_of_a_support_vector_machine(l2, kind):
    problem = make(kind, "hinge", l2)
    # scikit-learn minimises ½‖f‖² + C Σ weight · hinge with an intercept, which rows of both signs leave at 0
    M = problem.rows.matrix
    rows, signs, weights = np.vstack([M, -M]), np.repeat([1, -1], len(M)), np.tile(0.5 * problem.weights, 2)
    machine = SVC(kernel="linear", C=1.0 / l2, tol=1e-8).fit(rows, signs, sample_weight=weights)
    expected = problem.value(machine.coef_[0])
    result = minimize(problem, tol=1e-5)
    assert result.is_converged
    assert result.value == pytest.approx(expected, rel=1e-4)
    assert result.value == pytest.approx(problem.value(result.coef), rel=1e-9)
    assert result.value - result.details["duality_gap"] <= expected * (1 + 1e-6)


@pytest.mark.parametrize("l2", [1e-3, 1e-1, 1e1])
@pytest.mark.parametrize("has_intercept", [False, True])
def test_the_logistic_loss_is_that_of_logistic_regression(l2, has_intercept):
    X, signs, weights = pairs()
    other = LogisticRegression(C=1.0 / l2, fit_intercept=has_intercept, tol=1e-10, max_iter=1000)
    other.fit(X, signs, sample_weight=weights)
    problem = make("linear", "logistic", l2, n_free=int(has_intercept))
    expected = np.append(other.coef_[0], other.intercept_) if has_intercept else other.coef_[0]
    result = minimize(problem, tol=1e-6)
    assert result.is_converged
    assert result.value <= problem.value(expected) * (1 + 1e-7)
    np.testing.assert_allclose(result.coef, expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_pulls_bound_every_value_from_below(loss):
    rng = np.random.default_rng(3)
    plain = make(n_rows=40)
    tilt = plain.weights * (rng.random(40) < 0.2)
    problem = MarginProblem(plain.rows.matrix, plain.weights, 0.2, loss=loss, tilt=tilt)
    least = minimize(problem, tol=1e-8)
    assert least.is_converged
    for _ in range(3):
        assert problem.dual_value(rng.random(40)) <= least.value + 1e-9
    pulls = least.details["pulls"] if loss == "hinge" else -problem.loss.slopes(problem.margins(least.coef))
    assert pulls.min() >= 0.0
    assert pulls.max() <= 1.0
    assert problem.dual_value(pulls) == pytest.approx(least.value, abs=1e-7)


def test_pulls_that_move_an_intercept_bound_nothing():
    problem = make(n_free=1, n_rows=40)
    assert problem.dual_value(np.ones(40)) == -np.inf
    assert problem.dual_value(np.zeros(40)) == 0.0


@pytest.mark.parametrize("l2", [1e-3, 1e-2, 1e-1, 1e3])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_psi_never_rises_and_ends_where_lost_pairs_stay_lost(l2, kind):
    problem = make(kind, "psi", l2)
    result = minimize(problem)
    values = result.details["values"]
    assert result.is_converged
    assert np.all(np.diff(values) < 0)
    assert values[0] == pytest.approx(problem.value(minimize(make(kind, "hinge", l2)).coef), rel=1e-2)
    assert result.value == pytest.approx(values[-1])
    lost = problem.margins(result.coef) < 0
    again = minimize(problem.with_loss("hinge", problem.weights * lost), tol=1e-5)
    assert problem.value(again.coef) >= result.value * (1 - 1e-3)


def test_the_factor_of_a_semidefinite_matrix_has_its_rank():
    low = np.random.default_rng(5).normal(size=(20, 4))
    K = low @ low.T
    kept = K.copy()
    Z, pivots = factor(K)
    assert Z.shape == (20, 4)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9)
    np.testing.assert_array_equal(Z[pivots], np.tril(Z[pivots]))
    np.testing.assert_array_equal(K, kept)
    assert factor(np.zeros((3, 3)))[0].shape == (3, 0)
    assert factor(np.zeros((0, 0)))[0].shape == (0, 0)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("loss", LOSSES)
def test_degenerate_problems_are_solved(loss):
    none = minimize(MarginProblem(np.zeros((0, 3)), np.zeros(0), 1.0, loss=loss), start=np.ones(3))
    assert none.value == pytest.approx(0.0, abs=1e-6)
    zeros = MarginProblem(np.zeros((4, 3)), np.ones(4), 1.0, loss=loss)
    assert minimize(zeros).value == pytest.approx(zeros.value(np.zeros(3)))
    one = MarginProblem(np.array([[2.0]]), np.ones(1), 1.0, loss=loss)
    grid = min(one.value(np.array([a])) for a in np.linspace(-1, 1, 4001))
    assert minimize(one, tol=1e-6).value == pytest.approx(grid, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_that_comes_twice_counts_twice(loss):
    problem = make(loss=loss, n_rows=20)
    M = problem.rows.matrix
    twice = MarginProblem(np.vstack([M, M]), np.tile(problem.weights / 2, 2), problem.l2, loss=loss)
    expected, found = (minimize(each, tol=1e-7).value for each in (problem, twice))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_coefficients_and_pulls_of_a_minimum_are_known_for_one(kind):
    problem = make(kind)
    first = minimize(problem, tol=1e-8)
    again = minimize_hinge(problem, first.coef, first.details["pulls"], tol=1e-6)
    assert again.is_converged
    assert again.n_iter == 0


def test_what_does_not_fit_is_refused():
    M, weights = np.ones((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="weights has shape"):
        MarginProblem(M, np.ones(2), 1.0)
    with pytest.raises(ValueError, match="below 0"):
        MarginProblem(M, -weights, 1.0)
    with pytest.raises(ValueError, match="above 0"):
        MarginProblem(M, weights, 0.0)
    with pytest.raises(ValueError, match="n_free=3"):
        MarginProblem(M, weights, 1.0, n_free=3)
    with pytest.raises(ValueError, match="choose one of hinge, logistic, psi"):
        MarginProblem(M, weights, 1.0, loss="square")
