"""Cutting planes: the minimum of small convex problems, the bound from below, and how the work ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from plackett.solvers.cutting_plane import best_weights, minimize_by_planes


def hinge_problem(seed, n_rows=30, size=4):
    """Mean hinge of some rows: risk, subgradient, and the height of their plane at 0."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, size))

    def oracle(coef):
        margins = 1 - rows @ coef
        is_short = margins > 0
        return float(np.maximum(margins, 0).mean()), -(rows * is_short[:, None]).mean(0), float(is_short.mean())

    return rows, oracle


def least_hinge(rows, l2):
    """The minimum by a general solver, the hinge written as slack variables."""
    n_rows, size = rows.shape
    answer = minimize(
        lambda point: 0.5 * l2 * point[:size] @ point[:size] + point[size:].mean(),
        np.append(np.zeros(size), np.ones(n_rows)),
        jac=lambda point: np.append(l2 * point[:size], np.full(n_rows, 1 / n_rows)),
        bounds=[(None, None)] * size + [(0, None)] * n_rows,
        constraints={
            "type": "ineq",
            "fun": lambda point: rows @ point[:size] + point[size:] - 1,
            "jac": lambda point: np.hstack([rows, np.eye(n_rows)]),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert answer.success
    return answer.fun


@pytest.mark.parametrize("l2", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_of_a_hinge_is_that_of_a_general_solver(seed, l2):
    rows, oracle = hinge_problem(seed)
    result = minimize_by_planes(oracle, 4, l2=l2, max_iter=1000, tol=1e-7)
    assert result.is_converged
    assert result.stop_reason == "violation below tol"
    assert result.details["violation"] <= 1e-7
    assert result.value == pytest.approx(least_hinge(rows, l2), abs=1e-6)
    assert result.value == pytest.approx(oracle(result.coef)[0] + 0.5 * l2 * result.coef @ result.coef)


def test_the_minimum_of_a_smooth_risk_is_found():
    centre = np.array([1.0, -2.0, 0.5])

    def oracle(coef):
        slope = coef - centre
        return float(0.5 * slope @ slope), slope, float(0.5 * slope @ slope - slope @ coef)

    result = minimize_by_planes(oracle, 3, l2=0.5, max_iter=500, tol=1e-9)
    assert result.coef == pytest.approx(centre / 1.5, abs=1e-4)
    assert result.gradient_norm < 1e-3


@pytest.mark.parametrize("scale", [1e6, 1e8, 1e10])
def test_the_gap_is_true_where_rows_are_large(scale):
    rows, oracle = hinge_problem(5)

    def scaled(coef):
        value, slope, offset = oracle(scale * coef)
        return value, scale * slope, offset

    result = minimize_by_planes(scaled, 4, l2=0.1, max_iter=1000, tol=1e-3)
    least = least_hinge(rows, 0.1)  # a smaller penalty, 0.1 / scale², has a smaller least value
    assert result.value - result.details["violation"] <= least


def test_values_fall_and_the_gap_bounds_them_at_every_step():
    rows, oracle = hinge_problem(5)
    steps = []
    minimize_by_planes(oracle, 4, l2=0.1, max_iter=1000, tol=1e-6, callback=steps.append)
    least = least_hinge(rows, 0.1)
    values, gaps = np.array([step.value for step in steps]), np.array([step.violation for step in steps])
    assert (np.diff(values) <= 0).all()
    assert (np.diff(gaps) <= 0).all()
    assert (values - gaps <= least + 1e-7).all()
    assert [step.iteration for step in steps] == list(range(1, len(steps) + 1))


def test_planes_that_no_longer_matter_are_dropped():
    _, oracle = hinge_problem(1, n_rows=300, size=10)
    result = minimize_by_planes(oracle, 10, l2=1e-4, max_iter=3000, tol=1e-5)
    assert result.is_converged
    assert result.n_iter > result.details["n_planes"]


def test_a_flat_risk_ends_at_once():
    result = minimize_by_planes(lambda coef: (3.0, np.zeros(2), 3.0), 2, l2=1.0, max_iter=10, tol=1e-6)
    assert (result.n_iter, result.value, result.coef.tolist()) == (1, 3.0, [0.0, 0.0])
    assert result.is_converged


def test_reasons_to_stop_are_told_apart():
    _, oracle = hinge_problem(2)
    short = minimize_by_planes(oracle, 4, l2=0.01, max_iter=3, tol=1e-9)
    assert (short.stop_reason, short.n_iter, short.is_converged) == ("max_iter reached", 3, False)
    asked = minimize_by_planes(oracle, 4, l2=0.01, max_iter=99, tol=1e-9, callback=lambda step: "enough")
    assert (asked.stop_reason, asked.n_iter) == ("enough", 1)
    exact = minimize_by_planes(oracle, 4, l2=0.01, max_iter=10_000, tol=1e-300)
    assert exact.stop_reason in ("no further progress at working precision", "violation below tol")
    assert exact.details["violation"] < 1e-10

    def interrupted(coef):
        if coef.any():
            raise KeyboardInterrupt
        return oracle(coef)

    broken = minimize_by_planes(interrupted, 4, l2=0.01, max_iter=99, tol=1e-9)
    assert broken.is_interrupted
    assert np.isfinite(broken.value)


@pytest.mark.parametrize("slope", [np.inf, 1e200])
def test_a_risk_beyond_all_scale_is_refused(slope):
    with pytest.raises(ValueError, match="the objective is not finite at the start"):
        minimize_by_planes(lambda coef: (1.0, np.full(2, slope), 1.0), 2, l2=1.0, max_iter=10, tol=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    rank=st.integers(1, 5),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    has_copies=st.booleans(),
)
def test_weights_meet_the_conditions_of_an_optimum(seed, n, rank, scale, has_copies):
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.normal(size=(n, rank)) * scale, rng.normal(size=n)
    if has_copies:
        slopes, offsets = np.vstack([slopes, slopes]), np.append(offsets, offsets)
    products = slopes @ slopes.T
    start = np.zeros(offsets.size)
    start[0] = 1.0
    tol = 1e-8 * max(1.0, scale**2)
    weights = best_weights(products, offsets, start, tol)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    slope = offsets - products @ weights
    assert slope.max() - weights @ slope <= tol * 1.001
