"""Query-dependent models by ADMM: the printed problems, scikit-learn's answers and the exact solver's."""

import itertools

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from plackett.rankers.query_dependent.admm_fits import AdmmFits, PreferenceForm, ScoreForm
from plackett.rankers.query_dependent.local_fits import LocalFits
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
    score_objective,
)

SETTINGS = {"tol": 1e-5, "n_jobs": 1}
TWO_TARGETS = neighbors(([0, 1, 2, 3], [1.6, 1.2, 0.8, 0.4]), ([2, 0], [3.0, 1.0]))


def strengths(*values):
    return np.array(values, dtype=np.float64)


def svc_preferences(it, pairs, l2):
    """The literal problem by scikit-learn: concatenated ordered pairs, an intercept, a weight for each."""
    first, second, signs, weights = in_both_orders(pairs)
    model = SVC(kernel="linear", C=1.0, tol=1e-7).fit(
        np.hstack([it.X[first], it.X[second]]), signs, sample_weight=weights / l2
    )
    u, v = np.split(model.coef_[0], 2)
    return u, v, model.intercept_[0]


# --- Pairs and forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [None, [0.4, 0.1, 0.3, 0.2]])
def test_pairs_are_those_of_the_equation(shares):
    it = Lists()
    fits = AdmmFits(it.X, it.labels, it.indptr, None if shares is None else np.array(shares))
    queries, weights = np.array([3, 0, 2]), np.array([2.0, 0.5, 1.5])
    found = fits.pairs(queries, weights)
    better, worse, counts = it.pairs(queries, weights, shares)
    np.testing.assert_allclose(found.rows[found.better], it.X[better])
    np.testing.assert_allclose(found.rows[found.worse], it.X[worse])
    np.testing.assert_allclose(found.weights, counts)


def test_products_of_the_score_form_are_those_of_written_out_rows():
    it = Lists()
    pairs = AdmmFits(it.X, it.labels, it.indptr).pairs(np.arange(4), np.ones(4))
    form, rng = ScoreForm(pairs), np.random.default_rng(1)
    M = pairs.rows[pairs.better] - pairs.rows[pairs.worse]
    w, pulls = rng.normal(size=3), rng.normal(size=pairs.n)
    np.testing.assert_allclose(form.rows @ w, M @ w)
    np.testing.assert_allclose(form.rows.T @ pulls, M.T @ pulls)
    assert form.rows.shape == M.shape


def test_rows_of_the_preference_form_are_signed_and_concatenated():
    it = Lists()
    pairs = AdmmFits(it.X, it.labels, it.indptr).pairs(np.arange(4), np.ones(4))
    form = PreferenceForm(pairs)
    for t in range(pairs.n):
        x, other = pairs.rows[pairs.better[t]], pairs.rows[pairs.worse[t]]
        np.testing.assert_array_equal(form.rows[t], [*x, *other, 1.0])
        np.testing.assert_array_equal(form.rows[pairs.n + t], [*-other, *-x, -1.0])
    np.testing.assert_allclose(form.weights, np.tile(pairs.weights / 2, 2))
    model = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(form.to_model(form.from_model(model)), model)


# --- Against scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [LocalFits, AdmmFits])
@pytest.mark.parametrize("l2", [1.0, 0.02])
def test_hinge_scores_are_those_of_linear_svc(make, l2):
    it = Lists()
    found = make(it.X, it.labels, it.indptr).solve(TWO_TARGETS, "hinge", strengths(l2), **SETTINGS)
    for target in range(2):
        pairs = it.pairs(*TWO_TARGETS.of(target)[:2])
        better, worse, weights = pairs
        rows = it.X[better] - it.X[worse]
        model = LinearSVC(loss="hinge", fit_intercept=False, C=1.0, tol=1e-8, max_iter=1_000_000, random_state=0)
        model.fit(
            np.vstack([rows, -rows]),
            np.repeat([1, -1], len(rows)),
            sample_weight=np.tile(weights / 2, 2) / l2,
        )
        best = score_objective(it.X, pairs, model.coef_[0], l2, "hinge")
        coef = found.coef[0, target]
        assert found.objective[0, target] == pytest.approx(best, rel=1e-3)
        assert score_objective(it.X, pairs, coef, l2, "hinge") == pytest.approx(found.objective[0, target], rel=1e-9)
        assert_same_order(it.X @ coef, it.X @ model.coef_[0], it.indptr)


@pytest.mark.parametrize("make", [LocalFits, AdmmFits])
@pytest.mark.parametrize("l2", [1.0, 0.02])
def test_hinge_preferences_are_those_of_svc_on_concatenated_pairs(make, l2):
    it = Lists()
    found = make(it.X, it.labels, it.indptr, is_pair=True).solve(TWO_TARGETS, "hinge", strengths(l2), **SETTINGS)
    for target in range(2):
        pairs = it.pairs(*TWO_TARGETS.of(target)[:2])
        u, v, c = svc_preferences(it, pairs, l2)

        def f(i, j, u=u, v=v, c=c):
            return it.X[i] @ u + it.X[j] @ v + c

        best = preference_objective(f, u @ u + v @ v, pairs, l2, "hinge")
        assert found.objective[0, target] == pytest.approx(best, rel=1e-3)
        scores = [least_squares_scores(f, range(a, b)) for a, b in itertools.pairwise(it.indptr)]
        assert_same_order(it.X @ found.coef[0, target], np.concatenate(scores), it.indptr)


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("make", [LocalFits, AdmmFits])
def test_logistic_models_are_at_the_minimum(make, is_pair):
    it, l2 = Lists(), 0.05
    found = make(it.X, it.labels, it.indptr, is_pair=is_pair).solve(TWO_TARGETS, "logistic", strengths(l2), **SETTINGS)
    for target in range(2):
        better, worse, weights = pairs = it.pairs(*TWO_TARGETS.of(target)[:2])
        if is_pair:
            first, second, signs, halves = in_both_orders(pairs)
            rows = np.hstack([it.X[first], it.X[second], np.ones((first.size, 1))])
            w, best = logistic_minimum(rows, signs, halves, l2, n_free=1)
            w = (w[:3] - w[3:6]) / 2
        else:
            w, best = logistic_minimum(it.X[better] - it.X[worse], np.ones(better.size), weights, l2)
        assert found.objective[0, target] == pytest.approx(best, rel=1e-4)
        assert_same_order(it.X @ found.coef[0, target], it.X @ w, it.indptr)


# --- Against the exact solver -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_both_solvers_agree_along_a_path(kernel, loss, is_pair):
    it = Lists(lengths=(6, 1, 5, 7, 4), seed=3)
    rows = it.X if kernel == "linear" else factor(rbf_kernel(it.X, gamma=0.3))[0]
    shares, path = np.array([0.3, 0.2, 0.1, 0.3, 0.1]), strengths(10.0, 0.5, 0.02)
    near = neighbors((range(5), np.ones(5)), ([0, 2], [4.0, 1.0]))
    exact = LocalFits(rows, it.labels, it.indptr, shares, is_pair=is_pair).solve(near, loss, path, **SETTINGS)
    found = AdmmFits(rows, it.labels, it.indptr, shares, is_pair=is_pair).solve(near, loss, path, **SETTINGS)
    assert found.is_converged.all()
    np.testing.assert_allclose(found.objective, exact.objective, rtol=1e-4)
    np.testing.assert_allclose(found.coef, exact.coef, atol=0.01 * np.abs(exact.coef).max())
    assert (found.gap <= 2e-5 * found.objective).all()
    # what the gap promises
    assert (found.objective - found.gap <= exact.objective + 1e-12).all()
    assert (exact.objective - exact.gap <= found.objective + 1e-12).all()


@pytest.mark.parametrize("function", ["score", "pair"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rankers_of_both_solvers_agree(kernel, function, loss):
    data = make_query_dependent(2, "II", n_queries=6, docs_per_query=5, random_state=1)
    shown, hidden = data.queries[:5], data.queries[5:]
    scores, rankers = {}, {}
    for solver in ("newton", "admm"):
        ranker = QueryDependentRanker(
            n_neighbors=3, kernel=kernel, function=function, loss=loss, l2=0.05, solver=solver, tol=1e-6, n_jobs=1
        )
        rankers[solver] = ranker.fit(shown, query_features=data.query_features[:5])
        scores[solver] = (
            ranker.predict(shown),
            ranker.predict(hidden, query_features=data.query_features[5:]),
        )
    newton, admm = rankers["newton"], rankers["admm"]
    assert newton.stop_reason_ == admm.stop_reason_ == "all models converged"
    np.testing.assert_allclose(newton.objective_, admm.objective_, rtol=1e-4)
    assert_same_order(scores["newton"][0], scores["admm"][0], shown.indptr)
    assert_same_order(scores["newton"][1], scores["admm"][1], hidden.indptr)


def test_uniform_weights_are_one_model_of_all_queries():
    it = Lists(seed=2)
    fits = AdmmFits(it.X, it.labels, it.indptr)
    uniform = fits.solve_uniform("hinge", strengths(0.1), **SETTINGS)
    exact = LocalFits(it.X, it.labels, it.indptr).solve_uniform("hinge", strengths(0.1), **SETTINGS)
    assert uniform.objective[0, 0] == pytest.approx(exact.objective[0, 0], rel=1e-4)
    np.testing.assert_array_equal(uniform.coef, fits.solve(everybody(4), "hinge", strengths(0.1), **SETTINGS).coef)


# --- psi --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("make", [LocalFits, AdmmFits])
@pytest.mark.parametrize("seed", range(3))
def test_psi_ends_no_higher_than_the_hinge(make, is_pair, seed):
    it, l2 = Lists(seed=seed, noise=2.0), 0.01
    fits = make(it.X, it.labels, it.indptr, is_pair=is_pair)
    hinge = fits.solve(TWO_TARGETS, "hinge", strengths(l2), **SETTINGS)
    psi = fits.solve(TWO_TARGETS, "psi", strengths(l2), **SETTINGS)
    assert np.isnan(psi.gap).all()
    for target in range(2):
        pairs = it.pairs(*TWO_TARGETS.of(target)[:2])

        def value(w, pairs=pairs):
            return score_objective(it.X, pairs, w, 2 * l2 if is_pair else l2, "psi")

        assert psi.objective[0, target] == pytest.approx(value(psi.coef[0, target]), rel=1e-6)
        assert value(psi.coef[0, target]) <= value(hinge.coef[0, target]) + 1e-12
    if not is_pair and seed == 0:
        assert not np.allclose(psi.coef, hinge.coef, rtol=0.05)  # it is another minimum


# --- Edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "psi"])
def test_targets_without_pairs_have_coefficients_of_zero(loss, is_pair):
    X = np.arange(10.0).reshape(5, 2)
    fits = AdmmFits(X, np.array([1.0, 1.0, 0.0, 0.0, 2.0]), np.array([0, 2, 4, 5]), is_pair=is_pair)
    start = np.ones(2)
    found = fits.solve(neighbors(([0, 1], [1, 2]), ([2], [3])), loss, strengths(1.0, 0.1), start=start, **SETTINGS)
    assert not found.coef.any()
    assert not found.objective.any()
    assert found.is_converged.all()


def test_equal_documents_have_coefficients_of_zero():
    fits = AdmmFits(np.ones((4, 2)), np.array([3.0, 2.0, 1.0, 0.0]), np.array([0, 4]))
    found = fits.solve(everybody(1), "hinge", strengths(0.1), **SETTINGS)
    assert not found.coef.any()
    assert found.objective[0, 0] == pytest.approx(1.0)  # all pairs, each with a loss of 1


@pytest.mark.parametrize("is_pair", [False, True])
def test_neighbours_of_weight_zero_are_as_good_as_none(is_pair):
    it = Lists()
    fits = AdmmFits(it.X, it.labels, it.indptr, is_pair=is_pair)
    some = fits.solve(neighbors(([0, 2], [3.0, 1.0])), "hinge", strengths(0.1), **SETTINGS)
    more = fits.solve(neighbors(([0, 1, 2, 3], [3.0, 0.0, 1.0, 0.0])), "hinge", strengths(0.1), **SETTINGS)
    np.testing.assert_array_equal(some.coef, more.coef)


def test_no_targets_are_no_work():
    it = Lists()
    nobody = neighbors(([0], [1.0]))
    nobody = type(nobody)(np.zeros(1, dtype=np.int64), nobody.queries[:0], nobody.weights[:0], nobody.distances[:0])
    found = AdmmFits(it.X, it.labels, it.indptr).solve(nobody, "hinge", strengths(0.1))
    assert found.coef.shape == (1, 0, 3)


def test_results_do_not_depend_on_the_number_of_workers_and_each_target_is_told():
    it = Lists()
    fits, told = AdmmFits(it.X, it.labels, it.indptr), []
    one = fits.solve(TWO_TARGETS, "logistic", strengths(0.1), n_jobs=1)
    two = fits.solve(TWO_TARGETS, "logistic", strengths(0.1), n_jobs=2, on_done=lambda: told.append(1))
    np.testing.assert_array_equal(one.coef, two.coef)
    assert len(told) == 2


def test_too_few_rounds_are_said_to_be_too_few():
    it = Lists()
    found = AdmmFits(it.X, it.labels, it.indptr).solve(
        TWO_TARGETS, "hinge", strengths(1e-6), tol=1e-9, max_iter=1, n_jobs=1
    )
    assert not found.is_converged.any()
    assert (found.n_steps == 100).all()
    assert (found.gap > 1e-9 * found.objective).all()


@pytest.mark.parametrize(("is_pair", "what"), [(False, r"16 numbers for each of \d+ pairs"), (True, r"ordered pairs")])
def test_more_than_max_bytes_is_refused(is_pair, what):
    it = Lists()
    fits = AdmmFits(it.X, it.labels, it.indptr, is_pair=is_pair, max_bytes=1000)
    with pytest.raises(ValueError, match=rf"{what}.* would take [\d,]+ bytes, above max_bytes=1,000"):
        fits.solve(TWO_TARGETS, "hinge", strengths(0.1))


# --- From preferences to scores ---------------------------------------------------------------------------------------


def test_preferences_that_are_differences_give_the_scores_back():
    """(3.6): with f = s_j - s_l, s up to a constant for each list."""
    rng = np.random.default_rng(0)
    indptr, w = np.array([0, 4, 5, 9]), rng.normal(size=3)
    X = np.hstack([rng.normal(size=(9, 3)), np.ones((9, 1))])
    B = np.zeros((4, 4))
    B[:3, 3], B[3, :3] = w, -w  # (x, 1)·B (x', 1) = w·x - w·x'
    scores = score_lists(X, indptr, np.tile(B.reshape(-1), (3, 1)), is_bilinear=True)
    for start, stop in itertools.pairwise(indptr):
        true = X[start:stop, :3] @ w
        np.testing.assert_allclose(scores[start:stop], true - true.mean(), atol=1e-12)


def test_scores_are_the_least_squares_answer():
    rng = np.random.default_rng(1)
    X, indptr = rng.normal(size=(9, 3)), np.array([0, 5, 9])
    B = rng.normal(size=(2, 3, 3))
    B -= B.transpose(0, 2, 1)
    scores = score_lists(X, indptr, B.reshape(2, -1), is_bilinear=True)
    for query, (start, stop) in enumerate(itertools.pairwise(indptr)):
        best = least_squares_scores(lambda i, j, query=query: X[i] @ B[query] @ X[j], range(start, stop))
        np.testing.assert_allclose(scores[start:stop], best - best.mean(), atol=1e-12)
