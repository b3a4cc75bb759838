"""Inexact ADMM: its rounds against the printed formulas, and its end against the exact solver."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, LinearSVC

from plackett.solvers.admm import minimize_by_admm, step_bound
from plackett.solvers.margins import MarginProblem, minimize_psi
from tests.solvers.test_margins import dual_minimum, logistic_minimum, make, pairs, with_linear


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rounds_are_the_printed_ones(loss):
    """The formulas of the paper by loops; K̃ is the identity in coefficients of a factor of the kernel."""
    problem = make(loss=loss, l2=0.2)
    M, c, n_rounds = problem.rows, problem.weights, 4
    result = minimize_by_admm(problem, max_iter=n_rounds, tol=0.0)
    rho, zeta = result.details["rho"], result.details["zeta"]
    assert rho == pytest.approx(sum(c) / len(c))
    alpha, z = np.zeros(problem.size), np.zeros(len(M))
    u = np.array([weight * float(problem.loss.slopes(np.zeros(1))[0]) / rho for weight in c])
    for _ in range(n_rounds):
        v = sum(M[t] * (M[t] @ alpha - z[t] + u[t]) for t in range(len(M)))
        alpha = alpha - (problem.l2 * alpha + rho * v) / zeta
        for t in range(len(M)):
            margin = M[t] @ alpha
            if loss == "hinge":
                xi, gamma = max(1 - margin - u[t] - c[t] / rho, 0), max(margin - 1 + u[t], 0)
                z[t] = 1 - xi + gamma
            else:

                def cost(z, target=margin + u[t], weight=c[t]):
                    return weight * np.logaddexp(0, -z) / rho + 0.5 * (z - target) ** 2

                ends = margin + u[t] - 1, margin + u[t] + 1 + c[t] / rho
                z[t] = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
            u[t] += margin - z[t]
    tolerance = 1e-10 if loss == "hinge" else 1e-6
    np.testing.assert_allclose(result.coef, alpha, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(result.details["multipliers"], u, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_zeta_is_above_the_largest_eigenvalue_but_not_far(seed, kind):
    problem = make(kind, l2=10.0 ** (seed % 5 - 2), seed=seed, n_unpenalized=1)
    M, rho = problem.rows, 0.1
    matrix = rho * M.T @ M
    matrix[np.diag_indices(problem.n_penalized)] += problem.l2
    largest = np.linalg.eigvalsh(matrix)[-1]
    assert largest <= step_bound(problem, rho) <= 1.15 * largest


def exact_value(problem):
    """By scipy; the hinge with an intercept by scikit-learn."""
    if problem.loss.name == "logistic":
        return logistic_minimum(problem)
    if problem.n_unpenalized == 0:
        return dual_minimum(problem)[1]
    signs = problem.rows[:, -1]
    X = signs[:, None] * problem.rows[:, :-1]
    machine = SVC(kernel="linear", C=1.0 / problem.l2, tol=1e-8).fit(X, signs, sample_weight=problem.weights)
    return problem.value(np.append(machine.coef_[0], machine.intercept_))


@pytest.mark.parametrize("l2", [1e-3, 1e-2, 1e-1, 1e1, 1e3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
@pytest.mark.parametrize("n_unpenalized", [0, 1])
def test_it_ends_where_the_exact_solver_does(l2, loss, kind, n_unpenalized):
    problem = make(kind, loss, l2, n_unpenalized)
    result = minimize_by_admm(problem)
    assert result.is_converged
    assert result.stop_reason == "residuals below tol"
    assert max(result.details["primal_residual"], result.details["dual_residual"]) <= 1e-4
    assert result.value == pytest.approx(exact_value(problem), rel=1e-3)
    assert result.value == pytest.approx(problem.value(result.coef))


def test_the_hinge_is_that_of_liblinear():
    X, signs, weights = pairs(200)
    problem = make("linear", "hinge", 0.05, n_rows=200)
    machine = LinearSVC(loss="hinge", C=1 / 0.05, fit_intercept=False, tol=1e-8, max_iter=100_000)
    machine.fit(X, signs, sample_weight=weights)
    assert minimize_by_admm(problem).value == pytest.approx(problem.value(machine.coef_[0]), rel=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_two_thousand_pairs_converge(loss, kind):
    n_rows = 2000 if kind == "linear" else 500
    problem = make(kind, loss, 1e-2, n_rows=n_rows)
    result = minimize_by_admm(problem)
    assert result.is_converged
    assert result.value == pytest.approx(exact_value(problem), rel=1e-3)


@pytest.mark.parametrize("l2", [1e-2, 1e-1, 1e3])
@pytest.mark.parametrize("n_unpenalized", [0, 1])
def test_psi_never_rises(l2, n_unpenalized):
    problem = make("linear", "psi", l2, n_unpenalized)

    def solve(convex, last):
        before = {} if last is None else {"start": last.coef, "multipliers": last.details["multipliers"]}
        return minimize_by_admm(convex, **before)

    result = minimize_psi(problem, solve, 1e-4)
    values = result.details["values"]
    assert np.all(np.diff(values) < 0)
    assert result.value == values[-1] == pytest.approx(problem.value(result.coef))
    hinge = minimize_by_admm(make("linear", "hinge", l2, n_unpenalized))
    assert result.value <= problem.value(hinge.coef) * (1 + 1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_degenerate_problems_are_solved(loss):
    none = minimize_by_admm(MarginProblem(np.zeros((0, 3)), np.zeros(0), 1.0, loss=loss), start=np.ones(3))
    assert none.value == pytest.approx(0.0, abs=1e-6)
    zeros = MarginProblem(np.zeros((4, 3)), np.ones(4), 1.0, loss=loss, n_unpenalized=1)
    assert minimize_by_admm(zeros).value == pytest.approx(zeros.value(np.zeros(3)))
    one = MarginProblem(np.array([[2.0]]), np.ones(1), 1.0, loss=loss)
    assert minimize_by_admm(one).value == pytest.approx(exact_value(one), rel=1e-3)
    opposite = MarginProblem(np.array([[1.0, 2.0], [-1.0, -2.0]]), np.ones(2), 1.0, loss=loss)
    assert minimize_by_admm(opposite).value == pytest.approx(opposite.value(np.zeros(2)), rel=1e-3)


def test_linear_terms_are_part_of_the_problem():
    plain = make(n_rows=30)
    rng = np.random.default_rng(2)
    for loss in ("hinge", "logistic"):
        problem = with_linear(plain, plain.weights * (rng.random(30) < 0.3), loss)
        assert minimize_by_admm(problem).value == pytest.approx(dual_minimum(problem)[1], rel=1e-3)


def test_it_says_why_it_stopped():
    problem = make()
    short = minimize_by_admm(problem, max_iter=3)
    assert (short.n_iter, short.stop_reason, short.is_converged) == (3, "max_iter reached", False)


def test_a_start_at_the_minimum_saves_rounds():
    problem = make(l2=1e-2)
    cold = minimize_by_admm(problem)
    warm = minimize_by_admm(problem, start=cold.coef, multipliers=cold.details["multipliers"])
    assert warm.n_iter < 0.5 * cold.n_iter
    assert warm.value == pytest.approx(cold.value, rel=1e-3)
