"""Problems in pair form: value and bound by their formulas, and the concave-convex procedure."""

import numpy as np
import pytest
from scipy.optimize import minimize as minimize_by_scipy
from scipy.special import entr, expit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from plackett.scorers.kernel import factor
from plackett.solvers.base import Result
from plackett.solvers.margins import LOSSES, MarginProblem, minimize_psi

VALUES = {
    "hinge": lambda m: max(0.0, 1.0 - m),
    "logistic": lambda m: np.log(1.0 + np.exp(-m)),
    "psi": lambda m: min(1.0, max(0.0, 1.0 - m)),
}
losses = pytest.mark.parametrize("loss", VALUES)


def pairs(n_rows=60, n_columns=5, seed=0):
    """Features, signs and weights of some pairs, most of them ordered by a hidden direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    signs = np.sign(X @ rng.normal(size=n_columns) + rng.normal(size=n_rows))
    return X, signs, rng.uniform(0.2, 2.0, size=n_rows) / n_rows


def make(kind="linear", loss="hinge", l2=0.1, n_unpenalized=0, seed=0, **shape):
    X, signs, weights = pairs(seed=seed, **shape)
    rows = signs[:, None] * (X if kind == "linear" else factor(rbf_kernel(X, gamma=0.2))[0])
    rows = np.hstack([rows, signs[:, None]]) if n_unpenalized else rows
    return MarginProblem(rows, weights, l2, loss=loss, n_unpenalized=n_unpenalized)


def with_linear(problem, linear, loss=None, l2=None):
    return MarginProblem(problem.rows, problem.weights, l2 or problem.l2, loss=loss or problem.loss.name, linear=linear)


def dual_minimum(problem):
    """The minimum of a problem without unpenalised coefficients, and its dual point, by scipy on the dual problem."""
    M, c, b, l2, is_hinge = problem.rows, problem.weights, problem.linear, problem.l2, problem.loss.name == "hinge"

    def negative(y):
        pulled = M.T @ (c * y - b)
        if is_hinge:
            worth, slope = c @ y, c
        else:
            worth, slope = c @ (entr(y) + entr(1 - y)), c * np.log((1 - y) / y)
        return pulled @ pulled / (2 * l2) - worth, c * (M @ pulled) / l2 - slope

    bounds = [(0, 1) if is_hinge else (1e-12, 1 - 1e-12)] * len(c)
    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-13, "gtol": 1e-9, "maxcor": 50}
    found = minimize_by_scipy(
        negative, np.full(len(c), 0.5), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return M.T @ (c * found.x - b) / l2, -found.fun, found.x


def logistic_minimum(problem):
    """The minimum of a logistic problem by scipy on the problem itself; it may have unpenalised coefficients."""
    M, c, held = problem.rows, problem.weights, problem.l2 * (np.arange(problem.size) < problem.n_penalized)

    def value(w):
        slope = -c * expit(-M @ w)
        return c @ np.logaddexp(0, -M @ w) + 0.5 * (held * w) @ w, M.T @ slope + held * w

    return minimize_by_scipy(value, np.zeros(problem.size), jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def by_loops(problem, coef):
    value = 0.0
    for t in range(problem.n_rows):
        margin = sum(problem.rows[t, j] * coef[j] for j in range(problem.size))
        value += problem.weights[t] * VALUES[problem.loss.name](margin) + problem.linear[t] * margin
    return value + sum(0.5 * problem.l2 * coef[i] ** 2 for i in range(problem.n_penalized))


@losses
@pytest.mark.parametrize("n_unpenalized", [0, 1])
def test_value_is_the_sum_that_is_written_down(loss, n_unpenalized):
    rng = np.random.default_rng(1)
    plain = make("linear", loss, n_unpenalized=n_unpenalized, n_rows=8)
    problem = MarginProblem(
        plain.rows, plain.weights, 0.3, loss=loss, n_unpenalized=n_unpenalized, linear=rng.normal(size=8)
    )
    coef = rng.normal(size=problem.size)
    assert problem.value(coef) == pytest.approx(by_loops(problem, coef), rel=1e-12)


@losses
def test_slopes_of_losses_are_their_differences_away_from_kinks(loss):
    margins = np.array([-800.0, -2.3, -0.4, 0.3, 0.9, 1.2, 800.0])
    found = LOSSES[loss]
    differences = (found.values(margins + 1e-6) - found.values(margins - 1e-6)) / 2e-6
    np.testing.assert_allclose(found.slopes(margins), differences, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_dual_points_bound_every_value_from_below(loss, kind):
    rng = np.random.default_rng(3)
    plain = make(kind, n_rows=40)
    problem = with_linear(plain, plain.weights * (rng.random(40) < 0.2), loss, 0.2)
    coef, least, dual = dual_minimum(problem)
    assert problem.value(coef) == pytest.approx(least, rel=1e-5)
    for _ in range(3):
        assert problem.dual_value(rng.random(40)) <= least + 1e-9
    assert problem.dual_value(dual) == pytest.approx(least, abs=1e-9)


def test_a_dual_point_that_moves_an_intercept_bounds_nothing():
    problem = make(n_unpenalized=1, n_rows=40)
    assert problem.dual_value(np.ones(40)) == -np.inf
    assert problem.dual_value(np.zeros(40)) == 0.0


def test_the_reference_is_a_support_vector_machine():
    problem = make("rbf")
    # scikit-learn minimises ½‖f‖² + C Σ weight · hinge with an intercept, which rows of both signs leave at 0
    M = problem.rows
    rows, signs, weights = np.vstack([M, -M]), np.repeat([1, -1], len(M)), np.tile(0.5 * problem.weights, 2)
    machine = SVC(kernel="linear", C=1.0 / problem.l2, tol=1e-8).fit(rows, signs, sample_weight=weights)
    assert dual_minimum(problem)[1] == pytest.approx(problem.value(machine.coef_[0]), rel=1e-5)


@pytest.mark.parametrize("l2", [1e-3, 1e-2, 1e-1, 1e3])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_psi_never_rises_and_ends_where_pairs_in_the_wrong_order_stay_there(l2, kind):
    problem = make(kind, "psi", l2, n_rows=40)

    def solve(convex, last):
        coef, value, _ = dual_minimum(convex)
        return Result(coef, value, 0.0, 1, 1, "", is_converged=True)

    result = minimize_psi(problem, solve, 1e-4)
    values = result.details["values"]
    assert result.is_converged
    assert np.all(np.diff(values) < 0)
    assert values[0] == pytest.approx(problem.value(dual_minimum(make(kind, "hinge", l2, n_rows=40))[0]))
    assert result.value == values[-1] == pytest.approx(problem.value(result.coef))
    again = dual_minimum(with_linear(problem, problem.weights * (problem.rows @ result.coef < 0), "hinge"))[0]
    assert problem.value(again) >= result.value * (1 - 1e-3)
