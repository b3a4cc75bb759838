"""Newton: few steps, kinks, and the duality gap."""

import numpy as np
import pytest

from plackett.solvers import Newton
from plackett.solvers.trust_region import TrustRegion
from tests.solvers.problems import (
    Drawn,
    Exponential,
    Hinge,
    Logistic,
    Problem,
    Psi,
    SquaredHinge,
    differences,
    redundant,
    spanning_decades,
)

HINGES = {
    "strong penalty": lambda: Hinge(differences(), l2=0.1),
    "weak penalty": lambda: Hinge(differences(), l2=1e-4),
    "four decades": lambda: Hinge(differences() * np.logspace(-2, 2, 8), l2=1e-1),
    "redundant columns": lambda: Hinge(redundant(n_rows=300, n_columns=60), l2=1e-3),
    "no curvature known": lambda: Hinge(differences(), l2=1e-2, estimate=None),
    "separable": lambda: Hinge(differences(noise=0.0), l2=1e-4),
}
hinges = pytest.mark.parametrize("make", HINGES.values(), ids=HINGES)


def minimize(problem, max_iter=200, tol=1e-9, start=None, **others):
    start = np.zeros(problem.size) if start is None else start
    return Newton().minimize(problem, start, max_iter=max_iter, tol=tol, **others)


def best_hinge_value(problem):
    """The least value, found by libsvm from pairs of both signs, for which the intercept is 0."""
    from sklearn.svm import SVC

    X, n = problem.X, problem.n_terms
    machine = SVC(kernel="precomputed", C=1 / (2 * n * problem.l2), tol=1e-7)
    both = np.vstack([X, -X])
    machine.fit(both @ both.T, np.repeat([1, -1], n))
    return problem.value(machine.dual_coef_[0] @ both[machine.support_])


def test_the_last_steps_gain_digits_ever_faster():
    norms = []
    minimize(Logistic(differences()), tol=1e-12, callback=lambda step: norms.append(step.gradient_norm))
    digits = np.log10(norms)
    assert digits[-1] < -12
    assert digits[-1] - digits[-2] < 1.3 * (digits[-3] - digits[-4])


def test_the_squared_hinge_is_solved_to_nine_digits_in_a_few_steps():
    result = minimize(SquaredHinge(redundant()))
    assert result.gradient_norm <= 1e-9
    assert result.n_iter <= 10


@pytest.mark.parametrize("X", [redundant(), spanning_decades()], ids=["redundant", "six decades"])
@pytest.mark.parametrize("kind", [Logistic, SquaredHinge, Exponential])
def test_hard_columns_cost_fewer_than_a_hundred_passes(kind, X):
    result = minimize(kind(X, l2=1e-6))
    assert result.is_converged
    assert result.gradient_norm <= 1e-9
    assert result.n_evaluations + result.n_products <= 100


def test_a_refused_step_asks_for_no_more_products():
    # far out the loss is nearly straight: its parabola promises far too much
    problem = Logistic(differences(), l2=1e-9, estimate=None)
    region = TrustRegion(problem, np.full(8, 30.0))
    region.radius = 1e9
    before = region.value
    assert region.step()
    assert region.value < before
    assert region.n_evaluations > 5
    assert region.n_products == problem.n_products <= 2 * 8 + 10


class Valley(Problem):
    """x⁴/4 - x²/2 in every column: bent downwards at the start."""

    is_convex = False

    def losses(self, scores, rows=slice(None)):
        return 0.25 * scores**4 - 0.5 * scores**2, scores**3 - scores, 3 * scores**2 - 1.0


def test_curvature_that_bends_downwards_is_left_behind():
    problem = Valley(np.eye(3), l2=0.0, estimate=None)
    result = minimize(problem, start=np.array([0.1, -0.2, 0.05]))
    np.testing.assert_allclose(np.abs(result.coef), 1.0, atol=1e-7)


@hinges
def test_the_hinge_is_within_tol_of_the_minimum(make):
    problem = make()
    result = minimize(problem, tol=1e-3, max_iter=400)
    best = best_hinge_value(problem)
    assert result.stop_reason == "duality gap below tol"
    assert result.is_converged
    assert result.value == pytest.approx(problem.value(result.coef))
    assert result.value <= best * (1 + 1e-3) + 1e-9


@hinges
def test_the_gap_is_no_smaller_than_the_distance_to_the_minimum(make):
    problem = make()
    best = best_hinge_value(problem)
    for max_iter in (1, 3, 6, 12):
        result = minimize(problem, tol=1e-9, max_iter=max_iter)
        assert result.stop_reason == "max_iter reached"
        assert result.details["duality_gap"] >= result.value - best - 1e-9


@pytest.mark.parametrize("name", ["strong penalty", "weak penalty", "four decades"])
def test_more_steps_do_not_make_the_gap_much_wider(name):
    problem = HINGES[name]()
    results = [minimize(problem, tol=1e-9, max_iter=max_iter) for max_iter in range(1, 25)]
    gaps = [result.details["duality_gap"] for result in results]
    least = np.minimum.accumulate(gaps)
    assert (gaps[1:] <= 3 * least[:-1]).all()  # though the first steps of a new width have large gradients


def test_the_hinge_value_is_that_of_liblinear():
    from sklearn.svm import LinearSVC

    X, l2 = differences(n_rows=400), 1e-2
    # both signs of every pair: LinearSVC wants two classes
    machine = LinearSVC(loss="hinge", C=1 / (l2 * 800), fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    machine.fit(np.vstack([X, -X]), np.repeat([1, -1], 400))
    problem = Hinge(X, l2=l2)
    result = minimize(problem, tol=1e-5)
    assert result.value == pytest.approx(problem.value(machine.coef_[0]), rel=1e-4)


def test_the_hinge_can_be_had_to_many_digits():
    problem = HINGES["strong penalty"]()
    result = minimize(problem, tol=1e-6, max_iter=1000)
    assert result.is_converged
    assert result.details["duality_gap"] <= 1e-6


def test_many_pairs_cost_the_hinge_few_passes():
    result = minimize(Hinge(redundant(n_rows=5000), l2=1e-4), tol=1e-3)
    assert result.is_converged
    assert result.n_evaluations + result.n_products <= 100


def test_a_start_at_the_hinges_minimum_stays_there():
    problem = HINGES["weak penalty"]()
    first = minimize(problem, tol=1e-4)
    again = minimize(problem, tol=1e-3, start=first.coef)
    assert again.n_iter <= 3
    assert again.is_converged


def test_where_nothing_can_be_learned_the_hinge_ends_at_once():
    result = minimize(Hinge(np.zeros((5, 3))), tol=1e-3)
    assert result.is_converged
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.coef, np.zeros(3))


def test_without_a_penalty_the_hinge_still_ends_lower():
    problem = Hinge(differences(), l2=0.0)
    problem.duality_gap = lambda coef, width: np.inf  # the dual has no point to offer
    result = minimize(problem, tol=1e-3)
    reference = minimize(Hinge(differences(), l2=1e-7), tol=1e-5)
    assert not result.is_converged
    assert result.details["duality_gap"] == np.inf
    assert result.value <= reference.value * (1 + 1e-2)


def test_an_interrupt_leaves_value_and_gap_of_the_coefficients_given_back():
    problem = HINGES["weak penalty"]()

    def interrupt(step):
        if step.iteration == 4:
            raise KeyboardInterrupt

    result = minimize(problem, tol=1e-6, callback=interrupt)
    assert (result.stop_reason, result.is_interrupted, result.is_converged) == ("interrupted", True, False)
    assert result.value == pytest.approx(problem.value(result.coef))
    assert result.details["duality_gap"] >= result.value - best_hinge_value(problem)


def test_a_callback_ends_the_hinge_too():
    result = minimize(HINGES["weak penalty"](), callback=lambda step: "enough" if step.iteration == 3 else None)
    assert (result.stop_reason, result.n_iter) == ("enough", 3)


class Bent(Logistic):
    is_convex = has_curvature_product = False


class Flat(Logistic):
    has_curvature_product = False


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Drawn(differences()), 'a deterministic loss; Drawn.. draws at random. Try solver="sgd"'),
        (
            Psi(differences()),
            r'a loss with curvature_product; Psi\(\) has none \(it is not convex\). Try solver="sgd"\.$',
        ),
        (
            Bent(differences()),
            r'a loss with curvature_product; Bent\(\) has none \(it is not convex\). Try solver="lbfgs"',
        ),
        (Flat(differences()), r'a loss with curvature_product; Flat\(\) has none. Try solver="lbfgs"'),
    ],
    ids=["random", "psi", "not convex", "no product"],
)
def test_newton_refuses_by_name(problem, message):
    with pytest.raises(ValueError, match=f'solver="newton" needs {message}'):
        Newton().check(problem)
    with pytest.raises(ValueError, match='solver="newton" needs'):
        minimize(problem)
