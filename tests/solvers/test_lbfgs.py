"""L-BFGS, and what every exact solver for smooth objectives must do alike."""

import numpy as np
import pytest

from plackett.solvers import LBFGS, Newton, get_solver, solver_names
from plackett.solvers.scaling import Scaling
from tests.solvers.problems import (
    Drawn,
    Exponential,
    Hinge,
    Logistic,
    Psi,
    Quadratic,
    SquaredHinge,
    differences,
    redundant,
    spanning_decades,
)

EXACT = [LBFGS(), Newton()]
SMOOTH = {
    "quadratic": lambda: Quadratic(differences(), np.random.default_rng(1).normal(size=300)),
    "logistic": lambda: Logistic(differences()),
    "logistic over six decades": lambda: Logistic(spanning_decades(), l2=1e-6),
    "logistic on redundant columns": lambda: Logistic(redundant()),
    "logistic, only the diagonal known": lambda: Logistic(differences(), estimate="diagonal"),
    "logistic, no curvature known": lambda: Logistic(differences(), estimate=None),
    "squared hinge": lambda: SquaredHinge(differences()),
    "exponential": lambda: Exponential(differences()),
}

exact = pytest.mark.parametrize("solver", EXACT, ids=lambda solver: solver.name)
smooth = pytest.mark.parametrize("make", SMOOTH.values(), ids=SMOOTH)


def minimize(solver, problem, max_iter=200, tol=1e-9, start=None, **others):
    start = np.zeros(problem.size) if start is None else start
    return solver.minimize(problem, start, max_iter=max_iter, tol=tol, **others)


@exact
def test_least_squares_are_solved_as_by_linear_algebra(solver):
    problem = SMOOTH["quadratic"]()
    result = minimize(solver, problem)
    np.testing.assert_allclose(result.coef, problem.solution(), atol=1e-8)
    assert result.is_converged
    assert result.stop_reason == "gradient below tol"


@smooth
def test_exact_solvers_agree(make):
    lbfgs, newton = (minimize(solver, make()) for solver in EXACT)
    np.testing.assert_allclose(newton.coef, lbfgs.coef, atol=1e-6, rtol=1e-6)
    np.testing.assert_allclose(newton.value, lbfgs.value, rtol=1e-12)


@exact
@pytest.mark.parametrize("name", [name for name in SMOOTH if "redundant" not in name])
def test_the_minimum_is_scipys(solver, name):
    from scipy.optimize import minimize as by_scipy

    problem = SMOOTH[name]()
    result = minimize(solver, problem)
    root = np.linalg.cholesky(problem.hessian(result.coef)).T  # scipy's solver gets round variables too

    def in_round_variables(u):
        problem.last = None
        coef = result.coef + np.linalg.solve(root, u)
        value, gradient = problem.value_and_gradient(coef)
        return value, np.linalg.solve(root.T, gradient)

    found = by_scipy(in_round_variables, np.full(problem.size, 0.1), jac=True, method="BFGS", options={"gtol": 1e-7})
    assert result.value <= found.fun + 1e-12
    assert np.linalg.norm(found.x) < 1e-5


@exact
@smooth
def test_every_evaluation_and_product_is_counted(solver, make):
    problem = make()
    result = minimize(solver, problem)
    assert (result.n_evaluations, result.n_products) == (problem.n_evaluations, problem.n_products)


@exact
@pytest.mark.parametrize("name", ["logistic over six decades", "logistic on redundant columns"])
def test_badly_scaled_and_redundant_columns_cost_few_evaluations(solver, name):
    result = minimize(solver, SMOOTH[name](), tol=1e-6)
    assert result.is_converged
    assert result.n_evaluations + result.n_products <= 40


@exact
def test_the_callback_sees_every_iteration_and_the_value_falls(solver):
    steps = []
    result = minimize(solver, SMOOTH["logistic"](), callback=lambda step: steps.append((step.iteration, step.value)))
    assert [iteration for iteration, _ in steps] == list(range(1, result.n_iter + 1))
    assert (np.diff([value for _, value in steps]) <= 1e-15).all()


@exact
def test_a_callback_ends_the_work_with_its_reason(solver):
    result = minimize(solver, SMOOTH["logistic"](), callback=lambda step: "enough" if step.iteration == 2 else None)
    assert (result.stop_reason, result.n_iter, result.is_converged) == ("enough", 2, False)


@exact
def test_max_iter_ends_the_work(solver):
    result = minimize(solver, SMOOTH["logistic"](), max_iter=2)
    assert (result.stop_reason, result.n_iter, result.is_converged) == ("max_iter reached", 2, False)


@exact
def test_an_interrupt_keeps_the_best_coefficients_so_far(solver):
    problem = SMOOTH["logistic"]()

    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    result = minimize(solver, problem, callback=interrupt)
    assert result.is_interrupted
    assert not result.is_converged
    assert result.stop_reason == "interrupted"
    assert result.value == problem.value(result.coef) < problem.value(np.zeros(problem.size))


@exact
def test_a_start_at_the_minimum_costs_one_evaluation(solver):
    problem = SMOOTH["quadratic"]()
    result = minimize(solver, problem, start=problem.solution())
    assert (result.n_iter, result.n_evaluations, result.is_converged) == (0, 1, True)


@exact
def test_a_start_that_is_not_finite_is_refused(solver):
    with pytest.raises(ValueError, match="objective is not finite at the start; use smaller coefficients, or scale"):
        minimize(solver, Exponential(differences()), start=np.full(8, 1e4))


@exact
def test_a_tolerance_below_rounding_ends_at_working_precision(solver):
    result = minimize(solver, SMOOTH["logistic"](), tol=1e-30, max_iter=1000)
    assert result.stop_reason == "no further progress at working precision"
    assert result.gradient_norm < 1e-7
    assert result.n_evaluations < 100


@exact
def test_the_start_is_left_as_it_is(solver):
    start = np.full(8, 0.5)
    minimize(solver, SMOOTH["logistic"](), start=start)
    np.testing.assert_array_equal(start, np.full(8, 0.5))


@exact
def test_steps_that_overflow_are_shortened(solver):
    # at the start the curvature is a millionth of what it is farther on
    problem = Exponential(differences() * 40.0, l2=1e-6, estimate=None)
    result = minimize(solver, problem, max_iter=500, tol=1e-6)
    assert np.isfinite(result.coef).all()
    assert np.isfinite(result.value)
    assert result.value < 1.0


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Drawn(differences()), 'a deterministic loss; Drawn.. draws at random. Try solver="sgd"'),
        (Hinge(differences()), 'a smooth loss; Hinge.. has kinks. Try solver="newton"'),
        (Psi(differences()), 'a smooth loss; Psi.. has kinks. Try solver="sgd"'),
    ],
    ids=["random", "kinks", "kinks, not convex"],
)
def test_lbfgs_refuses_by_name(problem, message):
    with pytest.raises(ValueError, match=f'solver="lbfgs" needs {message}'):
        LBFGS().check(problem)


@pytest.mark.parametrize("estimate", ["matrix", "diagonal", None])
def test_scaled_variables_lead_back_to_the_coefficients(estimate):
    problem = Logistic(spanning_decades(), l2=1e-6, estimate=estimate)
    scaling = Scaling(problem.curvature_estimate(np.zeros(8)), 8)
    coef, gradient = np.random.default_rng(0).normal(size=(2, 8))
    np.testing.assert_allclose(scaling.to_coef(scaling.from_coef(coef)), coef, rtol=1e-8)
    # the chain rule: the same change of value in both variables
    np.testing.assert_allclose(scaling.pull(gradient) @ scaling.from_coef(coef), gradient @ coef, rtol=1e-8)


@pytest.mark.parametrize("estimate", [np.array([0.0, np.nan, 2.0]), np.diag([0.0, np.inf, 2.0]), -np.eye(3)])
def test_an_estimate_that_is_no_curvature_does_no_harm(estimate):
    with np.errstate(invalid="ignore"):
        scaling = Scaling(estimate, 3)
    assert np.isfinite(scaling.to_coef(np.ones(3))).all()


def test_solvers_are_known_by_name():
    assert [type(get_solver(name)).name for name in solver_names()] == solver_names()
    solver = LBFGS(memory=5)
    assert get_solver(solver) is solver
    with pytest.raises(ValueError, match=r"solver='simplex' is not known; choose auto, lbfgs, newton"):
        get_solver("simplex")
