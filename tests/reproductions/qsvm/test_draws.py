"""The simulated data of dai2019."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plackett.reproductions.qsvm.draws import make_query_dependent

ALL_SCENARIOS = ["I", "II", "III", "IV"]


@pytest.mark.parametrize("scenario", ALL_SCENARIOS)
@pytest.mark.parametrize(("example", "n_docs", "b"), [(1, 50, 40), (2, 30, 4)])
def test_simulations_have_the_papers_sizes(example, n_docs, b, scenario):
    data = make_query_dependent(example, scenario)
    assert (data.queries.n_queries, data.queries.n_docs, data.queries.n_features) == (40, 40 * n_docs, b)
    assert data.query_features.shape == data.coef.shape == (40, b)


def s1(u):
    return u


def s2(u):
    return (2 * u - 1) ** 2


def s3(u):
    return math.sin(math.pi * u) / (2 - math.sin(math.pi * u))


def s4(u):
    return (
        0.1 * math.sin(math.pi * u)
        + 0.2 * math.cos(math.pi * u)
        + 0.3 * math.sin(math.pi * u) ** 2
        + 0.4 * math.cos(math.pi * u) ** 3
        + 0.5 * math.sin(math.pi * u) ** 3
    )


@pytest.mark.parametrize("example", [1, 2])
def test_labels_are_ranks_of_the_papers_scores(example):
    data = make_query_dependent(example, "III", n_queries=8, random_state=4)
    curves = (s1, s2, s3, s4) if example == 2 else (s1,) * 40
    for place, query in enumerate(data.queries):
        scores = [
            sum(beta * curve(u) for beta, curve, u in zip(data.coef[place], curves, x, strict=True)) for x in query.X
        ]
        np.testing.assert_allclose(data.scores[data.queries.indptr[place] : data.queries.indptr[place + 1]], scores)
        assert query.y.tolist() == [1 + sum(other < score for other in scores) for score in scores]


@pytest.mark.parametrize(("scenario", "size"), [("I", 40), ("II", 20), ("III", 10), ("IV", 1)])
def test_queries_of_a_group_share_their_coefficients(scenario, size):
    data = make_query_dependent(1, scenario, random_state=2)
    assert data.group.tolist() == [place // size for place in range(40)]
    for one in range(40):
        for other in range(40):
            assert (data.coef[one] == data.coef[other]).all() == (one // size == other // size)


@pytest.mark.parametrize(("scenario", "n_groups"), [("I", 1), ("II", 2), ("III", 4)])
def test_coefficients_scatter_around_their_pattern(scenario, n_groups):
    data = make_query_dependent(1, scenario, n_features=4000, n_queries=n_groups, docs_per_query=2, random_state=0)
    width = 4000 // n_groups
    for group, coef in enumerate(data.coef):
        pattern = np.zeros(4000)
        pattern[group * width : (group + 1) * width] = 1
        rest = coef - pattern
        assert rest.mean() == pytest.approx(0.0, abs=4 * math.sqrt(0.1 / 4000))
        assert rest.var() == pytest.approx(0.1, rel=0.1)


def test_coefficients_of_scenario_four_are_standard_normal():
    coef = make_query_dependent(1, "IV", n_queries=400, docs_per_query=2, random_state=0).coef
    assert coef.mean() == pytest.approx(0.0, abs=0.03)
    assert coef.var() == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.9])
def test_query_features_are_the_coefficients_and_noise(noise):
    data = make_query_dependent(1, "III", noise=noise, n_queries=200, docs_per_query=2, random_state=0)
    assert (data.query_features - data.coef).std() == pytest.approx(noise, rel=0.05)


def test_features_have_variance_one_tenth_and_independent_documents():
    X = make_query_dependent(1, "I", random_state=0).queries.X.reshape(40, 50, 40)
    assert X.mean() == pytest.approx(0.0, abs=0.01)
    assert X.var() == pytest.approx(0.1, rel=0.02)
    assert X.mean(axis=1).var() == pytest.approx(0.1 / 50, rel=0.2)  # the mean of 50 independent documents


def test_dependent_documents_share_a_draw_of_their_query():
    X = make_query_dependent(1, "III", dependent=True, random_state=0).queries.X.reshape(40, 50, 40)
    assert X.var() == pytest.approx(0.2, rel=0.05)
    assert X.mean(axis=1).var() == pytest.approx(0.1 + 0.1 / 50, rel=0.1)
    assert (X - X.mean(axis=1, keepdims=True)).var() == pytest.approx(0.1 * 49 / 50, rel=0.02)


@pytest.mark.parametrize(("example", "shares"), [(1, (10, 10, 30)), (2, (6, 6, 18))])
def test_documents_are_dealt_20_20_60_within_every_query(example, shares):
    data = make_query_dependent(example, "II", random_state=0)
    parts = [mask.reshape(40, -1).sum(axis=1) for mask in (data.train, data.validation, data.test)]
    assert [set(part.tolist()) for part in parts] == [{share} for share in shares]
    assert (data.train.astype(int) + data.validation + data.test == 1).all()


@pytest.mark.parametrize(("gamma", "n_held_out"), [(0.0, 0), (0.1, 4), (0.2, 8), (1.0, 40)])
def test_held_out_queries_are_wholly_in_the_test_set(gamma, n_held_out):
    data = make_query_dependent(1, "III", gamma=gamma, random_state=0)
    assert data.held_out.sum() == n_held_out
    test = data.test.reshape(40, 50)
    assert test[data.held_out].all()
    assert (test[~data.held_out].sum(axis=1) == 30).all()


def test_simulations_are_repeated_by_their_seed():
    first, again, other = (make_query_dependent(2, "III", gamma=0.1, random_state=seed) for seed in (1, 1, 2))
    for name in ("coef", "query_features", "scores", "train", "held_out"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.coef, other.coef)
