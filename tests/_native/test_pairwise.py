"""Compiled pairwise losses, beyond the tests of the losses: fused passes, ranges of scores, NaN."""

import numpy as np
import pytest
from scipy import sparse

from plackett.losses import Pairwise, get_loss
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer
from tests.losses import literal
from tests.losses import literal_pairwise as loops

LOSSES = [get_loss(name) for name in ("hinge", "squared-hinge", "psi", "logistic", "exponential")]
LOSSES.append(Pairwise("smoothed-hinge", width=0.3))


def some_lists():
    """Return short lists, long ones with crossings, one with a single label, and an empty one."""
    rng = np.random.default_rng(0)
    return literal.lists_of(
        rng.integers(0, 3, 7),
        rng.permutation(260),
        [1, 1],
        [],
        rng.integers(0, 5, 100),
        rng.integers(0, 2, 500),
        [2, 0],
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_one_pass_over_the_rows_gives_what_scores_and_slopes_give(loss, kind):
    lists, rng = some_lists(), np.random.default_rng(1)
    X = rng.normal(size=(lists.n_docs, 4)).astype("float32" if kind == "float32" else "float64")
    X[rng.random(X.shape) < 0.3] = 0
    rows = sparse.csr_array(X) if kind == "sparse" else X
    objective = Objective(loss, LinearScorer(rows), lists, L2(0.0))
    coef, direction = rng.normal(size=(2, 4))
    value, slope = loss.value_and_slope(X.astype(float) @ coef, lists)
    found, gradient = objective.value_and_gradient(coef)
    assert found == pytest.approx(value / lists.n_queries, rel=1e-12)
    np.testing.assert_allclose(gradient, slope @ X / lists.n_queries, rtol=1e-10, atol=1e-13)
    if loss.has_curvature_product:
        product = loss.curvature_product(X.astype(float) @ coef, lists, X.astype(float) @ direction)
        found = objective.curvature_at(coef)(direction)
        np.testing.assert_allclose(found, product @ X / lists.n_queries, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("spread", [20.0, 159.0, 161.0, 599.0, 601.0, 2000.0])
def test_the_logistic_loss_is_one_function_at_every_range_of_scores(spread):
    rng = np.random.default_rng(2)
    lists = literal.lists_of(rng.integers(0, 3, 60), rng.permutation(40))
    scores = rng.uniform(0, spread, 100)
    scores[[0, 60]], scores[[1, 61]] = 0.0, spread
    values, slope = loops.query_sums(loops.logistic, scores, lists)
    found = np.empty(100)
    np.testing.assert_allclose(get_loss("logistic").query_values(scores, lists, found), values, rtol=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_score_that_is_no_number_shows_in_its_query_alone(loss):
    lists = some_lists()
    scores, slope = np.random.default_rng(3).normal(size=lists.n_docs), np.empty(lists.n_docs)
    clean = loss.query_values(scores, lists, slope)
    docs = lists.indptr[:-1]
    scores[[docs[0], docs[1] + 100, docs[5] + 3]] = np.nan
    values = loss.query_values(scores, lists, slope)
    np.testing.assert_array_equal(np.isnan(values), [True, True, False, False, False, True, False])
    kept = ~np.isnan(values)
    np.testing.assert_array_equal(values[kept], clean[kept])
