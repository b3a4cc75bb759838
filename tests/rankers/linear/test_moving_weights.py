"""Losses that follow the ranks of the scores, in rounds with their weights held."""

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import ConvergenceWarning
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer
from tests.losses.moving_weights import LiteralLambda, pair_weights


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(40, 8, 5, random_state=3)


def test_the_held_objective_has_the_weights_of_its_coefficients(data):
    objective = Objective(LiteralLambda(), LinearScorer(data.X), data.lists, L2(0.1, n_free=0))
    coef, other = np.random.default_rng(0).normal(size=(2, 5))
    held = objective.held_at(coef)
    expected = 0.05 * other @ other
    for query in range(data.n_queries):
        rows = slice(data.indptr[query], data.indptr[query + 1])
        weights = pair_weights(data.X[rows] @ coef, data.labels[rows])
        margins = np.subtract.outer(data.X[rows] @ other, data.X[rows] @ other)
        expected += np.sum(weights * np.logaddexp(0, -margins)) / data.n_queries
    value, gradient = held.value_and_gradient(other)
    assert value == pytest.approx(expected)
    step = 1e-6 * np.eye(5)
    slopes = [(held.value_and_gradient(other + d)[0] - held.value_and_gradient(other - d)[0]) / 2e-6 for d in step]
    assert gradient == pytest.approx(slopes, rel=1e-5)
    assert objective.value_and_gradient(coef)[0] == pytest.approx(held.value_and_gradient(coef)[0])


def test_rounds_end_where_weighing_anew_hardly_changes_the_minimum(data):
    ranker = pk.LinearRanker(LiteralLambda(), l2=0.1).fit(data)
    assert ranker.stop_reason_ == "ranks settled"
    assert ranker.solver_ == "newton"
    assert ranker.n_iter_ == len(ranker.history_["objective"]) > 1
    objective = Objective(LiteralLambda(), LinearScorer(data.X), data.lists, L2(0.1, n_free=0))
    held = objective.held_at(ranker.coef_)
    minimum = pk.solvers.get_solver("newton").minimize(held, ranker.coef_, max_iter=100, tol=1e-6)
    assert minimum.coef == pytest.approx(ranker.coef_, abs=0.2 * np.abs(ranker.coef_).max())
    assert minimum.value == pytest.approx(ranker.objective_, rel=1e-2)


def test_parts_give_the_same_ranker(data):
    whole = pk.LinearRanker(LiteralLambda(), l2=0.1).fit(data)
    parts = pk.LinearRanker(LiteralLambda(), l2=0.1).fit([data[:15], data[15:]])
    assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-6)
    assert parts.n_iter_ == whole.n_iter_


def test_validation_chooses_among_rounds(data):
    ranker = pk.LinearRanker(LiteralLambda(), l2=0.01).fit(data[:25], eval_set=data[25:])
    assert ranker.best_iteration_ <= ranker.n_iter_
    assert ranker.score(data[25:]) == pytest.approx(ranker.best_score_)


def test_lbfgs_takes_the_same_rounds(data):
    ranker, newton = (pk.LinearRanker(LiteralLambda(), l2=0.1, solver=name).fit(data) for name in ("lbfgs", "newton"))
    assert ranker.objective_ == pytest.approx(newton.objective_, rel=1e-3)
    assert ranker.n_iter_ == newton.n_iter_


@pytest.mark.parametrize("weight", ["lambdarank", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2++"])
def test_compiled_losses_take_the_same_rounds_with_either_solver(data, weight):
    newton, lbfgs = (
        pk.LinearRanker(pk.losses.Pairwise(weight=weight), l2=0.1, solver=solver, tol=1e-5).fit(data)
        for solver in ("newton", "lbfgs")
    )
    assert newton.stop_reason_ == lbfgs.stop_reason_ == "ranks settled"
    assert lbfgs.coef_ == pytest.approx(newton.coef_, abs=0.01 * np.abs(newton.coef_).max())


def test_the_compiled_loss_is_the_literal_one(data):
    literal = pk.LinearRanker(LiteralLambda(), l2=0.1).fit(data)
    ours = pk.LinearRanker(pk.losses.Pairwise(weight="lambdarank", normalize="none"), l2=0.1).fit(data)
    assert ours.coef_ == pytest.approx(literal.coef_, rel=1e-4)


def test_sgd_weighs_anew_at_each_step(data):
    few = data[:20]
    ranker = pk.LinearRanker(LiteralLambda(), l2=0.1, solver=pk.solvers.SGD(threshold=0.05), random_state=0)
    newton = pk.LinearRanker(LiteralLambda(), l2=0.1).fit(few)
    assert ranker.fit(few).score(few) == pytest.approx(newton.score(few), abs=0.03)


def test_too_few_rounds_are_reported(data):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        pk.LinearRanker(LiteralLambda(), l2=0.1, max_iter=1).fit(data)


def test_a_loss_that_is_not_convex_starts_at_listmle(data):
    start = pk.LinearRanker("listmle", l2=0.1).fit(data)
    ranker = pk.LinearRanker("psi", l2=0.1, solver=pk.solvers.SGD(learning_rate=1e-12), max_iter=1).fit(data)
    assert ranker.coef_ == pytest.approx(start.coef_, abs=1e-6)


def test_a_kernel_ranker_takes_moving_weights(data):
    linear = pk.LinearRanker(LiteralLambda(), l2=0.1).fit(data)
    kernel = pk.KernelRanker(LiteralLambda(), kernel="linear", l2=0.1).fit(data)
    assert kernel.predict(data) == pytest.approx(linear.predict(data), abs=0.02 * np.ptp(linear.predict(data)))
