"""Preferences in the space of a product kernel: antisymmetry, the literal problem and both solvers."""

import itertools

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

import plackett as pk
from plackett.rankers.query_dependent.admm_fits import AdmmFits
from plackett.rankers.query_dependent.pair_fits import (
    KernelForm,
    PairFits,
    antisymmetric_kernel,
    bilinear,
    product_kernel,
)
from plackett.rankers.query_dependent.ranker import QueryDependentRanker
from plackett.rankers.query_dependent.targets import score_lists
from plackett.reproductions.qsvm.draws import make_query_dependent
from plackett.scorers.kernel import factor
from tests.rankers.query_dependent.pair_problems import (
    Lists,
    assert_same_order,
    everybody,
    in_both_orders,
    least_squares_scores,
    logistic_minimum,
    neighbors,
    preference_objective,
)

SETTINGS = {"tol": 1e-5, "n_jobs": 1}
TWO_TARGETS = neighbors(([0, 1, 2, 3], [1.6, 1.2, 0.8, 0.4]), ([2, 0], [3.0, 1.0]))
KERNELS = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}


def make_fits(Z, labels, indptr, is_admm, **settings):
    if is_admm:
        return AdmmFits(Z, labels, indptr, is_bilinear=True, **settings)
    return PairFits(Z, labels, indptr, **settings)


class Space:
    """Lists with the features of a kernel."""

    def __init__(self, kernel="rbf", gamma=0.3, **lists):
        self.lists = Lists(**lists)
        self.K = KERNELS[kernel](self.lists.X, gamma=gamma)
        self.Z, _ = factor(self.K)

    def fits(self, is_admm=False, **settings):
        return make_fits(self.Z, self.lists.labels, self.lists.indptr, is_admm, **settings)

    def preference(self, coef):
        B = coef.reshape(self.Z.shape[1], -1)
        return lambda i, j: self.Z[i] @ B @ self.Z[j]

    def scores(self, f):
        """By (3.6), literally."""
        bounds = itertools.pairwise(self.lists.indptr)
        return np.concatenate([least_squares_scores(f, range(start, stop)) for start, stop in bounds])

    def model_scores(self, coef):
        return score_lists(self.Z, self.lists.indptr, np.tile(coef, (self.lists.n_queries, 1)), is_bilinear=True)


# --- Kernels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_of_concatenated_documents_is_a_product(kernel):
    it = Space(kernel)
    first, second, *_ = in_both_orders(it.lists.pairs(range(4), np.ones(4)))
    X = it.lists.X
    whole = KERNELS[kernel](np.hstack([X[first], X[second]]), gamma=0.3)
    np.testing.assert_allclose(product_kernel(it.K, first, second), whole, rtol=1e-12)


def test_the_antisymmetric_kernel_is_that_of_antisymmetric_features():
    it = Space()
    better, worse, _ = it.lists.pairs(range(4), np.ones(4))
    K = antisymmetric_kernel(it.K, better, worse)
    for t, (a, b) in enumerate(zip(better, worse, strict=True)):
        feature = 0.5 * (np.outer(it.Z[a], it.Z[b]) - np.outer(it.Z[b], it.Z[a]))
        for s, (c, d) in enumerate(zip(better, worse, strict=True)):
            assert K[t, s] == pytest.approx(feature.reshape(-1) @ np.outer(it.Z[c], it.Z[d]).reshape(-1), abs=1e-12)


def test_values_and_penalty_of_a_model_are_those_of_the_kernel():
    it, rng = Space(), np.random.default_rng(1)
    better, worse, _ = it.lists.pairs(range(4), np.ones(4))
    K, alpha = antisymmetric_kernel(it.K, better, worse), rng.normal(size=better.size)
    coef = bilinear(it.Z, better, worse, alpha)
    f = it.preference(coef)
    assert coef @ coef == pytest.approx(alpha @ K @ alpha, rel=1e-10)
    np.testing.assert_allclose([f(a, b) for a, b in zip(better, worse, strict=True)], K @ alpha, rtol=1e-8)
    assert f(0, 7) == pytest.approx(-f(7, 0))
    # and the norm is that of the product kernel
    first, second, signs, _ = in_both_orders((better, worse, alpha))
    whole = signs * np.r_[alpha, alpha] / 2
    assert whole @ product_kernel(it.K, first, second) @ whole == pytest.approx(coef @ coef, rel=1e-10)


@pytest.mark.parametrize("is_ordered", [False, True])
def test_a_model_and_the_coefficients_of_its_problem_belong_together(is_ordered):
    it, rng = Space(), np.random.default_rng(2)
    pairs = it.fits().pairs(np.array([0, 2]), np.ones(2))
    form = KernelForm(pairs, is_ordered=is_ordered)
    coef = form.from_model(bilinear(pairs.rows, pairs.better, pairs.worse, rng.normal(size=pairs.n)))
    model = form.to_model(coef)
    np.testing.assert_allclose(form.from_model(model), coef, atol=1e-7)
    assert model @ model == pytest.approx(coef @ coef)  # the penalty
    B = model.reshape(it.Z.shape[1], -1)
    values = np.einsum("ti,ij,tj->t", pairs.rows[pairs.better], B, pairs.rows[pairs.worse])
    np.testing.assert_allclose(form.rows @ coef, np.tile(values, 2 if is_ordered else 1), atol=1e-7)


def test_the_ordered_form_is_the_printed_problem_in_coefficients_of_a_factor():
    it, rng = Space(), np.random.default_rng(3)
    pairs = it.fits().pairs(np.array([0, 2]), np.ones(2))
    first, second, signs, weights = in_both_orders((pairs.better, pairs.worse, pairs.weights))
    K = product_kernel(pairs.rows @ pairs.rows.T, first, second)
    form, alpha, intercept = KernelForm(pairs, is_ordered=True), rng.normal(size=signs.size), 0.7
    Z = signs[:, None] * form.rows[:, :-1]
    coef = np.append(Z.T @ alpha, intercept)
    np.testing.assert_allclose(form.rows @ coef, signs * (K @ alpha + intercept), atol=1e-6)
    assert coef[:-1] @ coef[:-1] == pytest.approx(alpha @ K @ alpha)
    assert form.n_unpenalized == 1
    np.testing.assert_allclose(form.weights, weights)


# --- The literal problem ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("l2", [1.0, 0.02])
@pytest.mark.parametrize("is_admm", [False, True])
def test_hinge_preferences_are_those_of_svc_on_ordered_pairs(is_admm, l2, kernel):
    it = Space(kernel)
    found = it.fits(is_admm).solve(TWO_TARGETS, "hinge", np.array([l2]), **SETTINGS)
    assert found.is_converged.all()
    for target in range(2):
        pairs = it.lists.pairs(*TWO_TARGETS.of(target)[:2])
        first, second, signs, weights = in_both_orders(pairs)
        K = product_kernel(it.K, first, second)
        svc = SVC(kernel="precomputed", C=1.0, tol=1e-7).fit(K, signs, sample_weight=weights / l2)
        alpha = np.zeros(signs.size)
        alpha[svc.support_] = svc.dual_coef_[0]

        def literal(i, j, alpha=alpha, first=first, second=second, c=svc.intercept_[0]):
            return alpha @ (it.K[i, first] * it.K[j, second]) + c

        coef = found.coef[0, target]
        best = preference_objective(literal, alpha @ K @ alpha, pairs, l2, "hinge")
        own = preference_objective(it.preference(coef), coef @ coef, pairs, l2, "hinge")
        assert found.objective[0, target] == pytest.approx(best, rel=1e-4)
        assert own == pytest.approx(found.objective[0, target], rel=1e-4 if is_admm else 1e-9)
        assert_same_order(it.model_scores(coef), it.scores(literal), it.lists.indptr)


@pytest.mark.parametrize("is_admm", [False, True])
def test_logistic_preferences_are_at_the_minimum(is_admm):
    it, l2 = Space(lengths=(4, 4, 3)), 0.02
    near = neighbors(([0, 1, 2], [2.0, 0.6, 0.4]))
    found = it.fits(is_admm).solve(near, "logistic", np.array([l2]), **SETTINGS)
    pairs = it.lists.pairs(*near.of(0)[:2])
    first, second, signs, weights = in_both_orders(pairs)
    features = np.einsum("ti,tj->tij", it.Z[first], it.Z[second]).reshape(signs.size, -1)
    w, best = logistic_minimum(np.hstack([features, np.ones((signs.size, 1))]), signs, weights, l2, n_free=1)
    coef = found.coef[0, 0]
    assert found.objective[0, 0] == pytest.approx(best, rel=1e-5)
    own = preference_objective(it.preference(coef), coef @ coef, pairs, l2, "logistic")
    assert own == pytest.approx(best, rel=1e-5)
    assert w[-1] == pytest.approx(0.0, abs=1e-8)  # by the symmetry
    np.testing.assert_allclose(coef, w[:-1], atol=0.01 * np.abs(w).max())
    assert_same_order(it.model_scores(coef), it.scores(it.preference(w[:-1])), it.lists.indptr)


# --- Both solvers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_both_solvers_agree_along_a_path(loss):
    it, path = Space(lengths=(6, 1, 5, 4), seed=3), np.array([10.0, 0.5, 0.02])
    exact, found = (it.fits(is_admm).solve(TWO_TARGETS, loss, path, **SETTINGS) for is_admm in (False, True))
    assert exact.is_converged.all()
    assert found.is_converged.all()
    np.testing.assert_allclose(found.objective, exact.objective, rtol=1e-4)
    np.testing.assert_allclose(found.coef, exact.coef, atol=0.01 * np.abs(exact.coef).max())
    # what the gaps promise
    assert (found.objective - found.gap <= exact.objective + 1e-12).all()
    assert (exact.objective - exact.gap <= found.objective + 1e-12).all()


@pytest.mark.parametrize("is_admm", [False, True])
def test_a_path_ends_where_single_fits_do(is_admm):
    it, path = Space(), np.array([1.0, 0.1, 0.01])
    fits = it.fits(is_admm)
    together = fits.solve(TWO_TARGETS, "hinge", path, **SETTINGS)
    start = None
    for place, l2 in enumerate(path):
        alone = fits.solve(TWO_TARGETS, "hinge", np.array([l2]), start=start, **SETTINGS)
        np.testing.assert_allclose(alone.objective[0], together.objective[place], rtol=2e-5)
        start = alone.coef[0]
    once = fits.solve(TWO_TARGETS, "logistic", path[-1:], **SETTINGS)
    again = fits.solve(TWO_TARGETS, "logistic", path[-1:], start=once.coef[0], **SETTINGS)
    assert again.n_steps.sum() < once.n_steps.sum()


@pytest.mark.parametrize("is_admm", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_psi_ends_no_higher_than_the_hinge(is_admm, seed):
    it, l2 = Space(seed=seed, noise=2.0, gamma=0.05), 0.01
    fits = it.fits(is_admm)
    hinge, psi = (fits.solve(TWO_TARGETS, loss, np.array([l2]), **SETTINGS) for loss in ("hinge", "psi"))
    assert np.isnan(psi.gap).all()
    for target in range(2):
        pairs = it.lists.pairs(*TWO_TARGETS.of(target)[:2])

        def value(coef, pairs=pairs):
            return preference_objective(it.preference(coef), coef @ coef, pairs, l2, "psi")

        assert psi.objective[0, target] == pytest.approx(value(psi.coef[0, target]), rel=1e-4)
        assert value(psi.coef[0, target]) <= value(hinge.coef[0, target]) * (1 + (1e-4 if is_admm else 1e-12))
    if seed == 0:
        assert not np.allclose(psi.coef, hinge.coef, rtol=0.05, atol=1e-3)  # it is another minimum


def test_as_many_coefficients_as_pairs_take_few_steps():
    it = Space(lengths=(8,) * 8)
    found = it.fits().solve_uniform("hinge", np.array([1e-4]), **SETTINGS)
    assert found.is_converged.all()
    assert found.n_steps.max() <= 40  # a width that shrinks took 97


def test_uniform_weights_are_one_model_of_all_queries():
    it = Space()
    fits = it.fits()
    uniform = fits.solve_uniform("hinge", np.array([0.1]), **SETTINGS)
    np.testing.assert_array_equal(uniform.coef, fits.solve(everybody(4), "hinge", np.array([0.1]), **SETTINGS).coef)
    assert uniform.coef.shape == (1, 1, fits.size) == (1, 1, it.Z.shape[1] ** 2)


@pytest.mark.parametrize("solver", ["newton", "admm"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rankers_learn_preferences(kernel, solver):
    data = make_query_dependent(2, "II", n_queries=8, docs_per_query=6, random_state=0)
    shown, hidden, features = data.queries[:6], data.queries[6:], data.query_features
    ranker = QueryDependentRanker(
        n_neighbors=3, kernel=kernel, function="pair", solver=solver, l2=[1.0, 0.01], n_jobs=1
    ).fit(shown, query_features=features[:6], eval_set=hidden, eval_query_features=features[6:])
    assert pk.metrics.mre(shown.y, ranker.predict(shown), qid=shown.qid).mean() < 0.2
    assert pk.metrics.mre(hidden.y, ranker.predict(hidden, query_features=features[6:]), qid=hidden.qid).mean() < 0.5
    B = ranker.coef_.reshape(6, *[int(np.sqrt(ranker.coef_.shape[1]))] * 2)
    np.testing.assert_allclose(B, -B.transpose(0, 2, 1), atol=1e-12)
    uniform = QueryDependentRanker("uniform", kernel=kernel, function="pair", solver=solver, l2=0.01).fit(shown)
    assert pk.metrics.mre(shown.y, uniform.predict(shown), qid=shown.qid).mean() < 0.4


# --- Edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_admm", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "psi"])
def test_targets_without_pairs_have_coefficients_of_zero(loss, is_admm):
    Z = np.eye(5)
    fits = make_fits(Z, np.array([1.0, 1.0, 0.0, 0.0, 2.0]), np.array([0, 2, 4, 5]), is_admm)
    found = fits.solve(neighbors(([0, 1], [1, 2]), ([2], [3])), loss, np.array([1.0, 0.1]), **SETTINGS)
    assert not found.coef.any()
    assert not found.objective.any()
    assert found.is_converged.all()


@pytest.mark.parametrize("is_admm", [False, True])
def test_equal_documents_have_coefficients_of_zero(is_admm):
    fits = make_fits(np.ones((4, 1)), np.array([3.0, 2.0, 1.0, 0.0]), np.array([0, 4]), is_admm)
    found = fits.solve(everybody(1), "hinge", np.array([0.1]), **SETTINGS)
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)
    assert found.objective[0, 0] == pytest.approx(1.0)
    assert found.is_converged.all()


@pytest.mark.parametrize("is_admm", [False, True])
def test_neighbours_of_weight_zero_are_as_good_as_none(is_admm):
    fits = Space().fits(is_admm)
    some = fits.solve(neighbors(([0, 2], [3.0, 1.0])), "hinge", np.array([0.1]), **SETTINGS)
    more = fits.solve(neighbors(([0, 1, 2, 3], [3.0, 0.0, 1.0, 0.0])), "hinge", np.array([0.1]), **SETTINGS)
    np.testing.assert_array_equal(some.coef, more.coef)


def test_results_do_not_depend_on_the_number_of_workers():
    fits = Space().fits()
    one, two = (fits.solve(TWO_TARGETS, "hinge", np.array([0.1]), n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.coef, two.coef)


@pytest.mark.parametrize("is_admm", [False, True])
def test_more_than_max_bytes_is_refused_with_its_size(is_admm):
    it = Space()
    n = it.lists.pairs(range(4), np.ones(4))[0].size * (2 if is_admm else 1)
    fits = it.fits(is_admm, max_bytes=8 * n * n - 1)
    what = f"{n} ordered pairs" if is_admm else f"{n} pairs"
    with pytest.raises(ValueError, match=rf"kernel values of {what} with each other would take {8 * n * n:,} bytes"):
        fits.solve_uniform("hinge", np.array([0.1]))
    it.fits(is_admm, max_bytes=8 * n * n).solve_uniform("hinge", np.array([0.1]))
