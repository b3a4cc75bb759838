"""Stochastic gradient descent: any loss, the same result from the same seed, and never worse than the start."""

import warnings

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import ConvergenceWarning
from plackett.solvers import LBFGS, SGD
from plackett.solvers.sgd import RATES
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

ALL = {
    "quadratic": lambda: Quadratic(differences(), np.random.default_rng(1).normal(size=300)),
    "logistic": lambda: Logistic(differences()),
    "exponential": lambda: Exponential(differences()),
    "squared hinge": lambda: SquaredHinge(differences()),
    "hinge": lambda: Hinge(differences()),
    "psi": lambda: Psi(differences(noise=0.3)),
    "random": lambda: Drawn(differences()),
    "six decades": lambda: Logistic(spanning_decades()),
}
everything = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def minimize(solver, problem, max_iter=20, tol=1e-4, start=None, random_state=0, **others):
    # psi is flat at 0
    start = np.full(problem.size, 0.01) if start is None else start
    return solver.minimize(problem, start, max_iter=max_iter, tol=tol, random_state=random_state, **others)


@everything
def test_it_works_with_every_loss(make):
    problem = make()
    result = minimize(SGD(), problem)
    assert result.value < problem.value(np.full(problem.size, 0.01)) + (0.02 if problem.is_random else 0.0)
    assert np.isfinite(result.coef).all()
    assert np.isfinite(result.gradient_norm)
    assert result.stop_reason in {"loss changed by less than the threshold", "max_iter reached"}


@everything
def test_the_same_seed_gives_the_same_result(make):
    first, again, other = (minimize(SGD(), make(), max_iter=3, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.coef, again.coef)
    assert not np.array_equal(first.coef, other.coef)


@pytest.mark.parametrize("name", ["quadratic", "logistic", "exponential", "squared hinge"])
def test_it_comes_near_the_minimum(name):
    best = LBFGS().minimize(ALL[name](), np.zeros(8), max_iter=200, tol=1e-9)
    result = minimize(SGD(), ALL[name](), max_iter=100, tol=1e-6)
    assert result.value <= best.value * 1.005


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_of_the_papers_is_kept_in_all_passes(rate):
    result = minimize(SGD(learning_rate=rate, threshold=1e-12), ALL["logistic"](), max_iter=5)
    assert result.details["learning_rate"] == rate
    assert result.n_iter == 5


def test_one_pass_is_what_a_loop_gives():
    problem, coef = ALL["logistic"](), np.zeros(8)
    for term in np.random.default_rng(7).permutation(300):
        coef = coef - 0.01 * problem.term_value_and_gradient(coef, term)[1]
    problem = ALL["logistic"]()
    result = minimize(SGD(learning_rate=0.01), problem, max_iter=1, start=np.zeros(8), random_state=7)
    np.testing.assert_allclose(result.coef, coef, rtol=1e-12)
    assert problem.n_terms_seen == 300
    assert result.value == pytest.approx(problem.value(coef))


def test_it_stops_when_a_pass_changes_the_loss_by_less_than_the_threshold():
    values = [ALL["logistic"]().value(np.zeros(8))]
    result = minimize(
        SGD(learning_rate=0.001, threshold=1e-3), ALL["logistic"](), max_iter=500, start=np.zeros(8),
        callback=lambda step: values.append(step.value),
    )  # fmt: skip
    changes = np.abs(np.diff(values))
    assert changes[-1] < 1e-3
    assert (changes[:-1] >= 1e-3).all()
    assert result.is_converged
    assert result.stop_reason == "loss changed by less than the threshold"


def test_decay_shortens_the_steps_of_later_passes():
    def length_of_last_pass(decay):
        coefs = []
        solver = SGD(learning_rate=0.01, threshold=1e-12, decay=decay)
        minimize(solver, ALL["logistic"](), max_iter=6, callback=lambda step: coefs.append(step.coef.copy()))
        return np.linalg.norm(coefs[-1] - coefs[-2])

    assert length_of_last_pass(decay=10.0) < 0.2 * length_of_last_pass(decay=0.0)


def test_too_high_a_rate_leaves_the_start_and_says_so():
    problem = Exponential(differences() * 30.0)
    result = minimize(SGD(learning_rate=10.0), problem, start=np.zeros(8))
    np.testing.assert_array_equal(result.coef, np.zeros(8))
    assert result.value == 1.0
    assert result.stop_reason == "diverged: lower learning_rate"
    assert not result.is_converged


def test_auto_finds_a_rate_for_steep_losses():
    problem = Exponential(differences(noise=0.0) * 10.0)
    result = minimize(SGD(), problem, start=np.zeros(8))
    assert result.value < 0.9


def test_auto_gives_back_the_lowest_of_all_passes():
    problem, values = ALL["six decades"](), []
    first = problem.value(np.full(8, 0.01))
    result = minimize(SGD(threshold=0.0), problem, callback=lambda step: values.append(step.value))
    assert result.value == min(values) < first
    assert result.n_iter == len(values) == 20


def test_auto_lowers_its_rate_after_three_passes_in_vain():
    best = LBFGS().minimize(ALL["logistic"](), np.zeros(8), max_iter=200, tol=1e-10)
    first, later = (
        minimize(SGD(threshold=0.0), ALL["logistic"](), max_iter=n, start=best.coef).details["learning_rate"]
        for n in (2, 6)
    )
    assert later == first / 4


def test_the_start_is_given_back_when_nothing_is_better():
    problem = ALL["logistic"]()
    best = LBFGS().minimize(problem, np.zeros(8), max_iter=200, tol=1e-10)
    problem.last = None
    result = minimize(SGD(learning_rate=0.1), problem, start=best.coef)
    np.testing.assert_array_equal(result.coef, best.coef)


def test_an_interrupt_keeps_the_best_coefficients_so_far():
    def interrupt(step):
        if step.iteration == 2:
            raise KeyboardInterrupt

    problem = ALL["logistic"]()
    result = minimize(SGD(), problem, callback=interrupt)
    assert (result.stop_reason, result.is_interrupted, result.n_iter) == ("interrupted", True, 2)
    assert result.value == pytest.approx(problem.value(result.coef))


def test_a_callback_ends_the_work_with_its_reason():
    result = minimize(SGD(), ALL["logistic"](), callback=lambda step: "enough" if step.iteration == 3 else None)
    assert (result.stop_reason, result.n_iter, result.is_converged) == ("enough", 3, False)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, "fast", None])
def test_rates_that_are_none_are_refused(rate):
    with pytest.raises(ValueError, match=f"learning_rate={rate!r}; it must be a number above 0, such as 0.01"):
        SGD(learning_rate=rate).check(ALL["logistic"]())


@pytest.mark.parametrize("loss", ["psi", "pl-rank"])
def test_auto_does_not_depend_on_the_scale_of_the_columns(loss):
    data = pk.datasets.make_web_like(30, 12, 6, random_state=0)
    scales = np.array([1e4, 1.0, 1e-3, 1.0, 30.0, 1.0])
    settings = {"loss": loss, "l2": 0.0, "max_iter": 5, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = pk.LinearRanker(**settings).fit(data).coef_
        scaled = pk.LinearRanker(**settings).fit(data.replace(X=data.X * scales)).coef_
    np.testing.assert_allclose(scaled * scales, plain, rtol=0.05, atol=0.05 * np.abs(plain).max())
