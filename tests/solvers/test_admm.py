"""Inexact ADMM: every update against its printed formula, and its end against the exact solver."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, LinearSVC

from plackett.solvers.admm import (
    minimize_by_admm,
    next_coef,
    next_copy,
    next_multipliers,
    next_shortfall,
    next_surplus,
    pull,
    step_bound,
)
from plackett.solvers.margins import MarginProblem, minimize_psi
from tests.solvers.test_margins import dual_minimum, logistic_minimum, make, pairs, with_linear


class Printed:
    """The quantities of the paper, by loops: x̃_t the pairs, y their signs, α̃ = (α, α_0) with the intercept last."""

    def __init__(self, n_pairs=7, seed=0):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n_pairs, 3))
        self.y = np.where(rng.random(n_pairs) < 0.5, -1.0, 1.0)
        self.n, self.rho, self.lam, self.zeta = n_pairs, 0.3, 0.2, 11.0
        self.c = rng.uniform(0.1, 1.0, n_pairs)  # π̃_i / n
        self.K = np.empty((n_pairs, n_pairs))
        for t in range(n_pairs):
            for s in range(n_pairs):
                self.K[t, s] = np.exp(-sum((x[t, d] - x[s, d]) ** 2 for d in range(3)))
        self.K_tilde = np.zeros((n_pairs + 1, n_pairs + 1))
        self.K_tilde[:n_pairs, :n_pairs] = self.K
        self.M = np.empty((n_pairs, n_pairs + 1))
        for t in range(n_pairs):
            for s in range(n_pairs):
                self.M[t, s] = self.y[t] * self.K[t, s]
            self.M[t, n_pairs] = self.y[t]
        self.coef = rng.normal(size=n_pairs + 1)
        self.u, self.xi, self.gamma = rng.normal(size=n_pairs), rng.random(n_pairs), rng.random(n_pairs)
        self.problem = MarginProblem(self.M, self.c, self.lam, n_unpenalized=1)

    def margin(self, t, coef):
        """y (1, K_x̃ᵀ) α̃ of one pair."""
        return self.y[t] * (coef[self.n] + sum(self.K[t, s] * coef[s] for s in range(self.n)))


def test_the_step_of_the_coefficients_is_the_printed_one():
    it = Printed()
    v = np.zeros(it.n + 1)
    for t in range(it.n):
        inner = it.margin(t, it.coef) - 1 + it.xi[t] - it.gamma[t] + it.u[t]
        for s in range(it.n):
            v[s] += it.K[t, s] * it.y[t] * inner
        v[it.n] += it.y[t] * inner
    expected = (it.zeta * np.eye(it.n + 1) - it.lam * it.K_tilde) / it.zeta @ it.coef - it.rho / it.zeta * v
    found = pull(it.problem, it.M @ it.coef, it.u, 1 - it.xi + it.gamma)
    np.testing.assert_allclose(found, v, rtol=1e-12)
    held = it.lam * it.K_tilde @ it.coef
    np.testing.assert_allclose(next_coef(it.coef, held, found, it.rho, it.zeta), expected, rtol=1e-12)


def test_slacks_and_multipliers_are_the_printed_ones():
    it = Printed()
    margins = it.M @ it.coef
    xi, gamma = next_shortfall(margins, it.u, it.c, it.rho), next_surplus(margins, it.u)
    u = next_multipliers(margins, it.u, 1 - xi + gamma)
    for t in range(it.n):
        assert xi[t] == pytest.approx(max(1 - it.margin(t, it.coef) - it.u[t] - it.c[t] / it.rho, 0))
        assert gamma[t] == pytest.approx(max(it.margin(t, it.coef) - 1 + it.u[t], 0))
        assert u[t] == pytest.approx(it.u[t] + it.margin(t, it.coef) - 1 + xi[t] - gamma[t])


@pytest.mark.parametrize("rho", [1e-4, 0.3, 100.0])
def test_the_copy_of_a_logistic_margin_is_at_its_minimum(rho):
    rng = np.random.default_rng(1)
    margins, u, weights = 5 * rng.normal(size=20), rng.normal(size=20), rng.uniform(0.0, 2.0, size=20)
    found = next_copy(margins, u, weights, rho, np.zeros(20))
    for t in range(20):

        def cost(z, t=t):
            return weights[t] * np.logaddexp(0, -z) / rho + 0.5 * (z - margins[t] - u[t]) ** 2

        target = margins[t] + u[t]
        best = minimize_scalar(cost, bounds=(target - 1, target + 1 + weights[t] / rho), method="bounded")
        assert cost(found[t]) <= best.fun + 1e-9 * abs(best.fun)
        slope = -weights[t] / rho / (1 + np.exp(found[t])) + found[t] - target
        assert abs(slope) <= 1e-9 * (1 + weights[t] / rho)


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
    with pytest.raises(ValueError, match="rho=0"):
        minimize_by_admm(problem, rho=0.0)


def test_a_start_at_the_minimum_saves_rounds():
    problem = make(l2=1e-2)
    cold = minimize_by_admm(problem)
    warm = minimize_by_admm(problem, start=cold.coef, multipliers=cold.details["multipliers"])
    assert warm.n_iter < 0.5 * cold.n_iter
    assert warm.value == pytest.approx(cold.value, rel=1e-3)
