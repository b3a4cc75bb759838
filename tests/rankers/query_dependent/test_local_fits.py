"""Models of many target queries: their objectives and gaps against literal sums and scikit-learn's solvers."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import plackett as pk
from plackett.rankers.query_dependent.local_fits import LocalFits, batches
from plackett.rankers.query_dependent.neighbors import Neighbors

LOSSES = {
    "hinge": lambda u: np.maximum(0.0, 1.0 - u),
    "logistic": lambda u: np.logaddexp(0.0, -u),
    "psi": lambda u: np.minimum(1.0, np.maximum(0.0, 1.0 - u)),
}


def make_lists(seed, n_queries=8, n_docs=9, n_features=4, n_levels=3):
    """Rows in label order within queries of different lengths."""
    draws = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(draws.integers(2, n_docs + 1, n_queries))])
    X = draws.normal(size=(indptr[-1], n_features))
    labels = draws.integers(0, n_levels, indptr[-1]).astype(float)
    labels[indptr[:-1]], labels[indptr[1:] - 1] = n_levels, -1.0  # every query has a pair
    order = np.lexsort((-labels, np.repeat(np.arange(n_queries), np.diff(indptr))))
    return X[order], labels[order], indptr


def pair_differences(X, labels, indptr, weights):
    """x_i - x_j of all pairs with i better than j, and what each counts: π 2 / (N (N - 1)) / n."""
    differences, counts = [], []
    for q in range(indptr.size - 1):
        n_docs = indptr[q + 1] - indptr[q]
        for i in range(indptr[q], indptr[q + 1]):
            for j in range(indptr[q], indptr[q + 1]):
                if labels[i] > labels[j] and weights[q] > 0:
                    differences.append(X[i] - X[j])
                    counts.append(weights[q] * 2 / (n_docs * (n_docs - 1)) / (indptr.size - 1))
    return np.array(differences).reshape(-1, X.shape[1]), np.array(counts)


def objective(loss, differences, counts, coef, l2):
    return (counts * LOSSES[loss](differences @ coef)).sum() + 0.5 * l2 * coef @ coef


def minimum(loss, differences, counts, l2):
    """What scikit-learn finds on the list of pairs."""
    sign = np.where(np.arange(counts.size) % 2, 1.0, -1.0)
    if loss == "hinge":
        model = LinearSVC(loss="hinge", fit_intercept=False, dual=True, tol=1e-9, max_iter=1_000_000, random_state=0)
    else:
        model = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(differences * sign[:, None], sign, sample_weight=counts / l2)
    return objective(loss, differences, counts, model.coef_[0], l2)


def as_neighbors(weights):
    """Rows of weights, one per target, as neighbours."""
    targets, queries = np.nonzero(weights)
    indptr = np.concatenate([[0], np.cumsum((weights > 0).sum(axis=1))])
    return Neighbors(indptr, queries, weights[targets, queries], np.zeros(queries.size))


def some_weights(seed, n_targets, n_queries):
    draws = np.random.default_rng(seed)
    weights = draws.random((n_targets, n_queries)) * (draws.random((n_targets, n_queries)) < 0.6)
    weights[np.arange(n_targets), np.arange(n_targets) % n_queries] += 0.1
    return weights * (n_queries / weights.sum(axis=1, keepdims=True))


# ---- optima --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_objectives_are_literal_sums_and_within_tol_of_scikit_learn_s(loss, l2):
    X, labels, indptr = make_lists(0)
    weights = some_weights(1, 5, 8)
    found = LocalFits(X, labels, indptr).solve(as_neighbors(weights), loss, np.array([l2]), tol=1e-4)
    assert found.is_converged.all()
    for target in range(5):
        differences, counts = pair_differences(X, labels, indptr, weights[target])
        value = objective(loss, differences, counts, found.coef[0, target], l2)
        best = minimum(loss, differences, counts, l2)
        assert found.objective[0, target] == pytest.approx(value, rel=1e-9)
        assert value <= best * (1 + 1.1e-4)
        assert value - found.gap[0, target] <= best * (1 + 1e-7)
        assert best <= value * (1 + 1e-7)
        assert found.gap[0, target] <= 1.2e-4 * value


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-5])
def test_gaps_are_true_whatever_the_accuracy(tol):
    X, labels, indptr = make_lists(2)
    weights = some_weights(2, 4, 8)
    found = LocalFits(X, labels, indptr).solve(as_neighbors(weights), "hinge", np.array([0.02]), tol=tol)
    for target in range(4):
        best = minimum("hinge", *pair_differences(X, labels, indptr, weights[target]), 0.02)
        value, gap = found.objective[0, target], found.gap[0, target]
        assert value - gap <= best * (1 + 1e-7) <= value * (1 + 2e-7)
        assert gap <= tol * value


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_fits_cut_short_tell_a_true_gap(loss):
    X, labels, indptr = make_lists(3)
    weights = some_weights(3, 4, 8)
    found = LocalFits(X, labels, indptr).solve(
        as_neighbors(weights), loss, np.array([1e-3]), start=np.full(4, 5.0), tol=1e-6, max_iter=1
    )
    assert not found.is_converged.any()
    assert (found.n_steps == 1).all()
    for target in range(4):
        differences, counts = pair_differences(X, labels, indptr, weights[target])
        value = objective(loss, differences, counts, found.coef[0, target], 1e-3)
        best = minimum(loss, differences, counts, 1e-3)
        assert found.objective[0, target] == pytest.approx(value, rel=1e-9)
        assert value - found.gap[0, target] <= best * (1 + 1e-7) <= value * (1 + 2e-7)


@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_psi_ends_no_higher_than_the_hinge_s_solution_and_where_nothing_pulls(l2):
    X, labels, indptr = make_lists(4)
    weights = some_weights(4, 6, 8)
    fits, neighbors = LocalFits(X, labels, indptr), as_neighbors(weights)
    psi = fits.solve(neighbors, "psi", np.array([l2]), tol=1e-7)
    hinge = fits.solve(neighbors, "hinge", np.array([l2]), tol=1e-7)
    assert np.isnan(psi.gap).all()
    n_lower = 0
    for target in range(6):
        differences, counts = pair_differences(X, labels, indptr, weights[target])
        coef = psi.coef[0, target]
        value = objective("psi", differences, counts, coef, l2)
        assert psi.objective[0, target] == pytest.approx(value, rel=1e-9)
        of_hinge = objective("psi", differences, counts, hinge.coef[0, target], l2)
        assert value <= of_hinge * (1 + 1e-6)
        n_lower += value < 0.99 * of_hinge
        # stationary: at its own tangent, the convex problem has no lower value
        is_wrong = differences @ coef < 0
        tangent = (counts * is_wrong) @ differences
        draws = np.random.default_rng(0)

        def convex(at):
            return objective("hinge", differences, counts, at, l2) + tangent @ at  # noqa: B023

        here = convex(coef)
        for size in (1e-3, 1e-2, 0.1):
            for step in draws.normal(size=(50, 4)) * size:
                assert convex(coef + step) >= here - 1e-5 * abs(here)
    assert n_lower > 0


def test_uniform_models_are_those_in_which_all_neighbours_count_alike():
    X, labels, indptr = make_lists(5)
    fits, everybody = LocalFits(X, labels, indptr), as_neighbors(np.ones((1, 8)))
    for loss in LOSSES:
        for l2 in (1e-3, 0.1, 100.0):
            one = fits.solve_uniform(loss, np.array([l2]), tol=1e-6)
            other = fits.solve(everybody, loss, np.array([l2]), tol=1e-6)
            np.testing.assert_allclose(one.objective, other.objective, rtol=2e-6)
            assert one.is_converged.all()


def test_shares_weigh_queries_beside_their_nearness():
    X, labels, indptr = make_lists(6)
    shares = np.random.default_rng(0).dirichlet(np.ones(8))
    weights = some_weights(6, 3, 8)
    found = LocalFits(X, labels, indptr, shares).solve(as_neighbors(weights), "hinge", np.array([0.1]), tol=1e-6)
    told = LocalFits(X, labels, indptr).solve(as_neighbors(weights * shares * 8), "hinge", np.array([0.1]), tol=1e-6)
    np.testing.assert_allclose(found.coef, told.coef, rtol=1e-9)


def test_preferences_of_pairs_are_scores_with_twice_the_penalty():
    X, labels, indptr = make_lists(7)
    neighbors = as_neighbors(some_weights(7, 3, 8))
    pair = LocalFits(X, labels, indptr, is_pair=True).solve(neighbors, "hinge", np.array([0.1]))
    score = LocalFits(X, labels, indptr).solve(neighbors, "hinge", np.array([0.2]))
    np.testing.assert_array_equal(pair.coef, score.coef)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_long_lists_agree_with_literal_sums_too(loss):
    X, labels, indptr = make_lists(8, n_queries=3, n_docs=400, n_levels=40)  # crossings, not leaves alone
    weights = some_weights(8, 2, 3)
    found = LocalFits(X, labels, indptr).solve(as_neighbors(weights), loss, np.array([0.05]), tol=1e-4)
    for target in range(2):
        differences, counts = pair_differences(X, labels, indptr, weights[target])
        value = objective(loss, differences, counts, found.coef[0, target], 0.05)
        assert found.objective[0, target] == pytest.approx(value, rel=1e-9)
        draws = np.random.default_rng(0).normal(size=(100, 4))
        if loss != "psi":
            near = [objective(loss, differences, counts, found.coef[0, target] + 0.1 * step, 0.05) for step in draws]
            assert min(near) >= value - found.gap[0, target]


# ---- paths and starts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_warm_path_ends_where_cold_fits_do(loss):
    X, labels, indptr = make_lists(9)
    fits, neighbors = LocalFits(X, labels, indptr), as_neighbors(some_weights(9, 4, 8))
    strengths = 10.0 ** np.arange(2, -4, -1.0)
    path = fits.solve(neighbors, loss, strengths, tol=1e-4)
    shared = fits.solve_uniform(loss, strengths, tol=1e-4)
    assert path.is_converged.all()
    for place, l2 in enumerate(strengths):
        cold = fits.solve(neighbors, loss, np.array([l2]), tol=1e-4)
        np.testing.assert_allclose(path.objective[place], cold.objective[0], rtol=1.1e-4)
        np.testing.assert_allclose(
            shared.objective[place], fits.solve_uniform(loss, np.array([l2]), tol=1e-4).objective[0], rtol=1.1e-4
        )


def test_bad_starts_change_nothing_but_the_way():
    X, labels, indptr = make_lists(10)
    fits, neighbors = LocalFits(X, labels, indptr), as_neighbors(some_weights(10, 3, 8))
    for loss in ("hinge", "logistic"):
        for l2 in (1e-3, 1.0):
            cold = fits.solve(neighbors, loss, np.array([l2]), tol=1e-6)
            for far in (1e3, -1e3, 1e12):
                other = fits.solve(neighbors, loss, np.array([l2]), start=np.full(4, far), tol=1e-6)
                np.testing.assert_allclose(other.objective, cold.objective, rtol=2e-6)


# ---- extremes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e4, 1e8])
def test_only_the_penalty_over_the_squared_scale_matters(loss, scale):
    X, labels, indptr = make_lists(11)
    neighbors = as_neighbors(some_weights(11, 3, 8))
    told = LocalFits(X, labels, indptr).solve(neighbors, loss, np.array([0.05]), tol=1e-6)
    found = LocalFits(scale * X, labels, indptr).solve(neighbors, loss, np.array([0.05 * scale**2]), tol=1e-6)
    np.testing.assert_allclose(found.objective, told.objective, rtol=1e-5 if loss != "psi" else 1e-2)
    if loss != "psi":
        np.testing.assert_allclose(scale * found.coef, told.coef, rtol=0.02, atol=5e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_penalty_beyond_all_losses_leaves_the_order_of_the_gradient(loss):
    X, labels, indptr = make_lists(12)
    weights = some_weights(12, 3, 8)
    for X_scaled, l2 in ((X, 1e6), (X, 1e14), (1e-8 * X, 0.1)):
        fits = LocalFits(X_scaled, labels, indptr)
        found = fits.solve(as_neighbors(weights), loss, np.array([l2]))
        shared = fits.solve_uniform(loss, np.array([l2]))
        assert found.is_converged.all()
        assert shared.is_converged.all()
        for coef, own in zip([*found.coef[0], shared.coef[0, 0]], [*weights, np.ones(8)], strict=True):
            differences, counts = pair_differences(X_scaled, labels, indptr, own)
            expected = counts @ differences / l2 * (0.5 if loss == "logistic" else 1.0)
            np.testing.assert_allclose(coef, expected, rtol=0.02, atol=0.01 * abs(expected).max())


@pytest.mark.parametrize("n_queries", [1, 3])
def test_pairs_that_can_be_ordered_under_a_weak_penalty(n_queries):
    """The objective is far below that of zeros; margins of 1 are met as closely as anywhere else."""
    draws = np.random.default_rng(13)
    X = draws.normal(size=(6 * n_queries, 12))
    labels, indptr = np.tile(np.arange(6.0)[::-1], n_queries), 6 * np.arange(n_queries + 1)
    fits, everybody = LocalFits(X, labels, indptr), as_neighbors(np.ones((1, n_queries)))
    differences, counts = pair_differences(X, labels, indptr, np.ones(n_queries))
    if n_queries > 1:
        X[:, 0] += labels  # one direction orders all
        fits, (differences, counts) = LocalFits(X, labels, indptr), pair_differences(X, labels, indptr, np.ones(3))
    for l2 in (1e-4, 1e-6, 1e-9):
        found = fits.solve(everybody, "hinge", np.array([l2]), tol=1e-4)
        assert found.is_converged.all()
        assert found.gap[0, 0] <= 1.1e-4 * found.objective[0, 0] + 1e-14
        value = objective("hinge", differences, counts, found.coef[0, 0], l2)
        assert value == pytest.approx(found.objective[0, 0], rel=1e-5)
        assert (differences @ found.coef[0, 0] > 0.99).all()


def test_queries_without_pairs_have_no_say_and_alone_give_zeros():
    X, labels, indptr = make_lists(14)
    labels = labels.copy()
    labels[indptr[2] : indptr[3]] = 1.0
    fits = LocalFits(X, labels, indptr)
    weights = np.zeros((2, 8))
    weights[0, 2], weights[1, [1, 2]] = 8.0, 4.0
    for loss in LOSSES:
        for start in (None, np.full(4, 3.0)):
            found = fits.solve(as_neighbors(weights), loss, np.array([1.0, 0.1]), start=start)
            assert found.is_converged.all()
            np.testing.assert_array_equal(found.coef[:, 0], 0.0)
            np.testing.assert_array_equal(found.objective[:, 0], 0.0)
            assert (found.coef[:, 1] != 0).any()
    nobody = LocalFits(X, np.zeros(X.shape[0]), indptr)
    for loss in LOSSES:
        for found in (
            nobody.solve_uniform(loss, np.array([0.1])),
            nobody.solve(as_neighbors(weights), loss, np.array([0.1]), start=np.ones(4)),
        ):
            assert found.is_converged.all()
            np.testing.assert_array_equal(found.coef, 0.0)


def test_documents_that_do_not_differ_give_zeros():
    X, labels, indptr = make_lists(15)
    X = np.repeat(X[indptr[:-1]], np.diff(indptr), axis=0)
    for loss in LOSSES:
        found = LocalFits(X, labels, indptr).solve(
            as_neighbors(some_weights(15, 3, 8)), loss, np.array([0.1]), start=np.ones(4)
        )
        assert found.is_converged.all()
        np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)


def test_a_column_that_is_no_more_than_an_offset_of_its_query_costs_no_precision():
    X, labels, indptr = make_lists(16)
    offset = np.repeat(np.arange(8.0), np.diff(indptr))[:, None] * [1e6, 0.0, 3e6, -1e5]
    neighbors = as_neighbors(some_weights(16, 3, 8))
    plain = LocalFits(X, labels, indptr).solve(neighbors, "hinge", np.array([0.1]), tol=1e-6)
    moved = LocalFits(X + offset, labels, indptr).solve(neighbors, "hinge", np.array([0.1]), tol=1e-6)
    np.testing.assert_allclose(moved.objective, plain.objective, rtol=1e-6)


def test_float32_rows_give_the_objective_of_their_own_values():
    X, labels, indptr = make_lists(17)
    X = (X + 1000.0).astype(np.float32)
    weights = some_weights(17, 3, 8)
    found = LocalFits(X, labels, indptr).solve(as_neighbors(weights), "hinge", np.array([0.1]))
    for target in range(3):
        differences, counts = pair_differences(X.astype(float), labels, indptr, weights[target])
        value = objective("hinge", differences, counts, found.coef[0, target], 0.1)
        assert found.objective[0, target] == pytest.approx(value, rel=1e-6)


def test_many_columns_are_not_turned(monkeypatch):
    X, labels, indptr = make_lists(18)
    neighbors = as_neighbors(some_weights(18, 3, 8))
    turned = LocalFits(X, labels, indptr).solve(neighbors, "hinge", np.array([0.05]), tol=1e-6)
    monkeypatch.setattr("plackett.rankers.query_dependent.local_fits.LARGEST_ROTATION", 3)
    plain = LocalFits(X, labels, indptr).solve(neighbors, "hinge", np.array([0.05]), tol=1e-6)
    np.testing.assert_allclose(plain.objective, turned.objective, rtol=2e-6)


# ---- workers -------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_the_workers(monkeypatch):
    X, labels, indptr = make_lists(19)
    fits, neighbors = LocalFits(X, labels, indptr), as_neighbors(some_weights(19, 11, 8))
    told = fits.solve(neighbors, "hinge", np.array([1.0, 0.1]), n_jobs=1)
    for n_jobs in (2, 3, None):
        np.testing.assert_array_equal(
            fits.solve(neighbors, "hinge", np.array([1.0, 0.1]), n_jobs=n_jobs).coef, told.coef
        )
    with joblib.parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(fits.solve(neighbors, "hinge", np.array([1.0, 0.1])).coef, told.coef)
    for threads in ("1", "2"):
        monkeypatch.setenv("PLACKETT_NUM_THREADS", threads)
        np.testing.assert_array_equal(fits.solve(neighbors, "hinge", np.array([1.0, 0.1])).coef, told.coef)


def test_every_target_is_reported_and_none_is_an_answer_too():
    X, labels, indptr = make_lists(20)
    fits, done = LocalFits(X, labels, indptr), []
    fits.solve(as_neighbors(some_weights(20, 7, 8)), "hinge", np.array([1.0]), on_done=lambda: done.append(1))
    assert len(done) == 7
    none = fits.solve(as_neighbors(np.zeros((0, 8))), "hinge", np.array([1.0, 0.1]))
    assert none.coef.shape == (2, 0, 4)
    assert none.objective.shape == none.gap.shape == none.is_converged.shape == (2, 0)


@pytest.mark.parametrize(("n_targets", "n_jobs"), [(0, 1), (1, 4), (7, 1), (100, 3)])
def test_batches_cover_all_targets_once(n_targets, n_jobs):
    covered = [place for begin, end in batches(n_targets, n_jobs) for place in range(begin, end)]
    assert covered == list(range(n_targets))


def test_uniform_is_the_linear_ranker_with_all_pairs():
    X, labels, indptr = make_lists(21)
    qid = np.repeat(np.arange(8), np.diff(indptr))
    for loss in ("hinge", "logistic"):
        kind = pk.losses.Pairwise(loss, normalize="all")
        found = LocalFits(X, labels, indptr).solve_uniform(loss, np.array([0.1]), tol=1e-5)
        ranker = pk.LinearRanker(loss=kind, l2=0.1, tol=1e-6, max_iter=1000).fit(X, labels, qid=qid)
        differences, counts = pair_differences(X, labels, indptr, np.ones(8))
        told = objective(loss, differences, counts, ranker.coef_, 0.1)
        assert found.objective[0, 0] == pytest.approx(told, rel=1e-4)
