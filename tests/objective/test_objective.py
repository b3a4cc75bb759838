"""The objective against the formula, and what it promises: one result whatever the threads, blocks and form of X."""

import numpy as np
import pytest
from scipy import sparse

import plackett as pk
from plackett import _threads
from plackett.losses import ListMLE, get_loss, loss_names
from plackett.objective import objective
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer

DATA = pk.datasets.make_web_like(60, n_features=7, random_state=3)
RAW = DATA.X.astype(float)
X = (RAW - RAW.mean(0)) / (RAW.std(0) + 1e-9)
COEF = np.random.default_rng(1).normal(size=7) * 0.3
every_loss = pytest.mark.parametrize("name", loss_names())


def make(loss, rows=X, *, weights=None, l2=0.1, data=DATA, random_state=0):
    loss = get_loss(loss)
    scorer = LinearScorer(rows, has_intercept=not loss.ignores_shifts)
    penalty = L2(l2, n_free=int(scorer.has_intercept))
    return Objective(loss, scorer, data.lists, penalty, weights=weights, random_state=random_state)


def start_of(built):
    return np.append(COEF, 0.2)[: built.size]


@pytest.fixture
def many_blocks(monkeypatch):
    """Blocks so small that even this little data has many."""
    monkeypatch.setattr(objective, "VALUES_PER_SHARE", 500)
    monkeypatch.setattr(objective, "BYTES_PER_BLOCK", 2000)
    monkeypatch.setattr(objective, "BYTES_IN_CACHE", 2000)


@every_loss
@pytest.mark.parametrize("is_weighted", [False, True])
def test_value_and_gradient_follow_the_formula(name, is_weighted, many_blocks):
    weights = np.random.default_rng(2).random(DATA.n_queries) if is_weighted else None
    built = make(name, weights=weights)
    coef = start_of(built)
    s = np.ones(DATA.n_queries) if weights is None else weights
    full = np.hstack([X, np.ones((len(X), built.size - 7))])
    value, gradient = 0.0, np.zeros(built.size)
    for q, one in enumerate(DATA):
        rows = full[DATA.indptr[q] : DATA.indptr[q + 1]]
        loss, slope = get_loss(name).value_and_slope(rows @ coef, one)
        value += s[q] * loss / s.sum()
        gradient += s[q] * rows.T @ slope / s.sum()
    held = np.append(np.ones(7), 0.0)[: built.size]
    found, found_gradient = built.value_and_gradient(coef)
    assert found == pytest.approx(value + 0.05 * (held * coef) @ coef, rel=1e-10)
    np.testing.assert_allclose(found_gradient, gradient + 0.1 * held * coef, rtol=1e-8, atol=1e-8)


@every_loss
def test_results_are_the_same_for_any_number_of_threads(name, many_blocks):
    def everything():
        built = make(name)
        coef = start_of(built)
        parts = [*built.value_and_gradient(coef), built.curvature_estimate(coef)]
        if built.has_curvature_product:
            parts.append(built.curvature_at(coef)(coef))
        return parts

    try:
        _threads.set_n_threads(1)
        alone = everything()
        _threads.set_n_threads(3)
        together = everything()
    finally:
        _threads.set_n_threads(None)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@every_loss
def test_dense_sparse_float32_and_mapped_rows_agree(name, tmp_path):
    rows = X.astype(np.float32)
    np.save(tmp_path / "X.npy", rows)
    forms = {
        "float64": rows.astype(float),
        "float32": rows,
        "sparse": sparse.csr_matrix(rows),
        "mapped": np.load(tmp_path / "X.npy", mmap_mode="r"),
    }
    results = {}
    for form, given in forms.items():
        built = make(name, given)
        results[form] = built.value_and_gradient(start_of(built))
    for form in forms:
        assert results[form][0] == pytest.approx(results["float64"][0], rel=1e-10), form
        np.testing.assert_allclose(results[form][1], results["float64"][1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in loss_names() if get_loss(name).has_curvature_product])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_curvature_products_are_differences_of_gradients(name, is_weighted, many_blocks):
    weights = np.random.default_rng(2).random(DATA.n_queries) if is_weighted else None
    built = make(name, weights=weights)
    coef, direction = start_of(built), np.cos(np.arange(built.size))
    built = built.held_at(coef) if built.loss.has_moving_weights else built
    built.value_and_gradient(coef)
    multiply = built.curvature_at(coef)
    step = 1e-6
    ahead = built.value_and_gradient(coef + step * direction)[1]
    behind = built.value_and_gradient(coef - step * direction)[1]
    # the product stays that of its own point, whatever was evaluated since
    np.testing.assert_allclose(multiply(direction), (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-4)


def test_the_bound_s_diagonal_follows_the_formula(many_blocks):
    built = make("listmle")
    bound = ListMLE().curvature_bound(X @ COEF, DATA)
    expected = (X**2).T @ bound / DATA.n_queries + 0.1
    np.testing.assert_allclose(built.curvature_bound_diagonal(COEF), expected, rtol=1e-9)


def test_the_estimate_is_near_the_second_derivative_of_listnet_at_zero():
    built = make("listnet", l2=0.01)
    zeros = np.zeros(7)
    multiply = built.curvature_at(zeros)
    exact = np.array([multiply(unit) for unit in np.eye(7)])
    np.testing.assert_allclose(built.curvature_estimate(zeros), exact, rtol=1e-6, atol=1e-8)


def test_the_mean_of_the_terms_is_the_objective():
    weights = np.random.default_rng(2).random(DATA.n_queries)
    for given in (None, weights):
        built = make("listmle", weights=given)
        terms = [built.term_value_and_gradient(COEF, term) for term in range(built.n_terms)]
        value, gradient = built.value_and_gradient(COEF)
        assert np.mean([term[0] for term in terms]) == pytest.approx(value)
        np.testing.assert_allclose(np.mean([term[1] for term in terms], axis=0), gradient, atol=1e-9)


def test_the_duality_gap_bounds_the_distance_to_the_minimum():
    built = make("hinge", l2=0.5)
    at_start = built.value_and_gradient(COEF)[0]
    gap = built.duality_gap(COEF, 0.1)
    best = pk.LinearRanker(loss="hinge", l2=0.5, tol=1e-5).fit(X, DATA.y, qid=DATA.qid)
    assert 0 < at_start - best.objective_ <= gap
    assert built.duality_gap(best.coef_, 1e-4) <= 1e-3 * best.objective_


def test_queries_that_contribute_nothing_count_in_the_mean():
    lone = pk.Queries(
        np.vstack([X, np.zeros((40, 7))]), np.append(DATA.y, np.zeros(40)), qid=np.append(DATA.qid, -np.arange(1, 41))
    )
    with_lone = make("listmle", lone.X, data=lone, l2=0.0).value_and_gradient(COEF)[0]
    without = make("listmle", l2=0.0).value_and_gradient(COEF)[0]
    assert with_lone == pytest.approx(without * 60 / 100)


def test_random_losses_repeat_with_the_seed_and_draw_anew_at_every_pass():
    one, same, other = (make(ListMLE(ties="random"), random_state=seed) for seed in (0, 0, 1))
    values = [built.value_and_gradient(COEF)[0] for built in (one, same, other)]
    assert values[0] == values[1] != values[2]
    assert one.value_and_gradient(COEF)[0] != values[0]


def test_a_loss_of_one_s_own_works_at_once():
    class Cubic(pk.losses.Loss):
        name = "cubic"
        ignores_shifts = False

        def query_values(self, scores, lists, slope):
            np.copyto(slope, scores**2)
            return np.add.reduceat(np.abs(scores) ** 3 / 3, lists.indptr[:-1])

    value, gradient = make(Cubic(), l2=0.0).value_and_gradient(np.append(COEF, 0.0))
    assert value == pytest.approx((np.abs(X @ COEF) ** 3 / 3).sum() / 60)
    np.testing.assert_allclose(gradient[:7], X.T @ (X @ COEF) ** 2 / 60)
