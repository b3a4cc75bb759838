"""Descent with one step length per coefficient: monotone, on the unit sphere or off it."""

import numpy as np
import pytest

from plackett.solvers import LBFGS, NewtonDiagonal
from tests.solvers.problems import (
    Drawn,
    Exponential,
    Hinge,
    Logistic,
    Psi,
    Quadratic,
    SquaredHinge,
    differences,
    spanning_decades,
)

BOUNDED = {
    "quadratic": lambda: Quadratic(differences(), np.random.default_rng(1).normal(size=300)),
    "logistic": lambda: Logistic(differences()),
    "logistic over six decades": lambda: Logistic(spanning_decades()),
    "squared hinge": lambda: SquaredHinge(differences()),
    "exponential, the bound too low": lambda: Exponential(differences() * 5.0),
}
bounded = pytest.mark.parametrize("make", BOUNDED.values(), ids=BOUNDED)
either = pytest.mark.parametrize("unit_norm", [True, False], ids=["unit norm", "free"])


def minimize(problem, unit_norm=True, max_iter=100, tol=1e-6, start=None, **others):
    start = np.zeros(problem.size) if start is None else start
    return NewtonDiagonal(unit_norm=unit_norm).minimize(problem, start, max_iter=max_iter, tol=tol, **others)


@either
@bounded
def test_the_loss_falls_with_every_step(make, unit_norm):
    values = []
    result = minimize(make(), unit_norm, callback=lambda step: values.append(step.value))
    assert len(values) == result.n_iter > 0
    assert (np.diff(values) < 0).all()
    assert result.value == values[-1]


@bounded
def test_coefficients_have_unit_norm_after_every_step(make):
    norms = []
    minimize(make(), callback=lambda step: norms.append(np.linalg.norm(step.coef)))
    np.testing.assert_allclose(norms, 1.0, rtol=1e-12)


@pytest.mark.parametrize("name", ["quadratic", "logistic", "squared hinge"])
def test_without_unit_norm_it_comes_near_the_minimum(name):
    best = LBFGS().minimize(BOUNDED[name](), np.zeros(8), max_iter=200, tol=1e-9)
    result = minimize(BOUNDED[name](), unit_norm=False, max_iter=2000, tol=1e-10)
    assert result.value <= best.value + 1e-6


def test_the_first_free_step_is_the_gradient_over_the_bound():
    problem = BOUNDED["logistic"]()
    result = minimize(problem, unit_norm=False, max_iter=1)
    gradient = -0.5 * problem.X.mean(axis=0)  # every pair pulls with ½ at 0
    bound = 0.25 * (np.abs(problem.X) * np.abs(problem.X).sum(axis=1, keepdims=True)).mean(axis=0) + 1e-3
    np.testing.assert_allclose(result.coef, -gradient / bound)


def test_a_start_at_zero_takes_the_direction_of_the_first_step():
    # ten times too steep: every unit vector is worse than 0
    problem = Quadratic(differences() * 100.0, np.full(300, 1.0))
    free, scaled = (minimize(problem, unit_norm, max_iter=1) for unit_norm in (False, True))
    np.testing.assert_allclose(scaled.coef, free.coef / np.linalg.norm(free.coef))
    assert scaled.value > problem.value(np.zeros(8))


def test_a_start_off_the_sphere_is_scaled_to_it():
    result = minimize(BOUNDED["logistic"](), max_iter=0, start=np.full(8, 5.0))
    np.testing.assert_allclose(result.coef, np.full(8, 8**-0.5))


@either
def test_it_stops_when_the_loss_changes_by_less_than_tol(unit_norm):
    values = []
    result = minimize(BOUNDED["logistic"](), unit_norm, tol=1e-3, callback=lambda step: values.append(step.value))
    assert abs(values[-1] - values[-2]) < 1e-3
    assert (np.abs(np.diff(values[:-1])) >= 1e-3).all()
    assert (result.stop_reason, result.is_converged) == ("loss changed by less than tol", True)


def test_it_stops_when_no_step_lowers_the_loss():
    result = minimize(BOUNDED["logistic"](), unit_norm=False, tol=0.0, max_iter=10_000)
    assert (result.stop_reason, result.is_converged) == ("no step lowers the loss", True)


def test_columns_that_nothing_depends_on_stay_at_zero():
    X = differences()
    X[:, 3] = 0.0
    assert minimize(Logistic(X, l2=0.0)).coef[3] == 0.0


def test_max_iter_and_the_callback_end_the_work():
    result = minimize(BOUNDED["logistic"](), max_iter=2, tol=0.0)
    assert (result.stop_reason, result.n_iter, result.is_converged) == ("max_iter reached", 2, False)
    result = minimize(BOUNDED["logistic"](), tol=0.0, callback=lambda step: "enough" if step.iteration == 3 else None)
    assert (result.stop_reason, result.n_iter, result.is_converged) == ("enough", 3, False)


def test_an_interrupt_keeps_the_coefficients_so_far():
    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    problem = BOUNDED["logistic"]()
    result = minimize(problem, callback=interrupt)
    assert (result.stop_reason, result.is_interrupted, result.n_iter) == ("interrupted", True, 2)
    assert result.value == pytest.approx(problem.value(result.coef))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Hinge(differences()), r'a loss with curvature_bound; Hinge\(\) has none. Try solver="newton"'),
        (Psi(differences()), r'a loss with curvature_bound; Psi\(\) has none. Try solver="sgd"'),
        (Drawn(differences()), 'a deterministic loss; Drawn.. draws at random. Try solver="sgd"'),
    ],
    ids=["hinge", "psi", "random"],
)
def test_it_refuses_by_name(problem, message):
    with pytest.raises(ValueError, match=f'solver="newton-diag" needs {message}'):
        NewtonDiagonal().check(problem)
