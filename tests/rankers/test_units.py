"""The unit of a column changes no ranking: raw columns tie by equality, however small or large their values are."""

import numpy as np
import pytest

import plackett as pk
from plackett.rankers.boosting.discovery import find_centres
from plackett.rankers.boosting.feature_rank import BLFeatureRank
from plackett.rankers.refinement.weak_learners import confidence_of

UNITS = [1e-11, 1e11, 1e-200]


def made_lists():
    """Lists with smooth, coarse, constant and offset columns, and graded labels."""
    rng = np.random.default_rng(5)
    n_queries, n_docs = 12, 9
    X = rng.normal(size=(n_queries * n_docs, 6))
    X[:, 1] = rng.integers(0, 3, len(X))
    X[:, 2] = np.exp(3 * X[:, 2])
    X[:, 3] = 0.1
    X[:, 4] += 1e3
    y = np.round(X[:, 0] - (X[:, 4] - 1e3) ** 2 + X[:, 1] + 0.5 * rng.normal(size=len(X))).clip(0, 3)
    return X, y, np.repeat(np.arange(n_queries), n_docs)


X, Y, QID = made_lists()
QUERIES = np.arange(len(Y)).reshape(12, 9)

# a score of each is the same for any unit of any column
UNITLESS = {
    "featurerank": pk.FeatureRank(cycles=2),
    "featurerank, linear": pk.FeatureRank(discovery="linear"),
    "bl-featurerank": BLFeatureRank(cycles=2),
    "bl-featurerank, query": BLFeatureRank(balance="query"),
    "diffrank": pk.DiffRank(cycles=2),
    "diffrank, posterior": pk.DiffRank(centre="posterior", discovery="quasi-knn"),
    "rankboost": pk.RankBoost(n_rounds=20),
    "adarank, minmax": pk.AdaRank(n_rounds=20, normalize="query-minmax"),
    "adarank, zscore": pk.AdaRank(n_rounds=20, normalize="query-zscore"),
    "adarank, unit": pk.AdaRank(n_rounds=20, normalize="query-unit"),
    "adarank, rank": pk.AdaRank(n_rounds=20, normalize="query-rank"),
    "ranksvm, zscore": pk.ranker("ranksvm", normalize="query-zscore"),
}


@pytest.mark.parametrize("name", UNITLESS)
def test_the_unit_of_a_column_changes_no_score(name):
    ranker = UNITLESS[name]
    expected = ranker.fit(X, Y, qid=QID).predict(X, qid=QID)
    assert np.ptp(expected) > 0
    for units in (1e-11, [1e-11, 1e11, 1e-200, 1e-11, 1e-11, 1.0]):
        scaled = X * units
        found = ranker.fit(scaled, Y, qid=QID).predict(scaled, qid=QID)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_all_columns_changes_no_ranking_of_adarank(unit):
    expected = pk.AdaRank(n_rounds=20).fit(X, Y, qid=QID)
    found = pk.AdaRank(n_rounds=20).fit(unit * X, Y, qid=QID)
    np.testing.assert_array_equal(found.steps_["feature"], expected.steps_["feature"])
    np.testing.assert_allclose(found.predict(unit * X, qid=QID), unit * expected.predict(X, qid=QID), rtol=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_centres_of_a_constant_column_are_equal_in_any_unit_and_with_any_weights(unit):
    queries = pk.Queries(np.column_stack([0.1 * unit * np.ones(len(Y)), unit * X[:, 0]]), Y, QID)
    centres = find_centres(queries.X, queries.lists, 4, weights=np.random.default_rng(1).random(queries.n_queries))
    assert np.unique(centres[0]).size == 1
    assert np.unique(centres[1]).size == 4


def test_columns_far_from_zero_keep_their_order():
    near = np.column_stack([X[:, 0], X[:, 1]])
    near = np.round(near * 2.0**20) / 2.0**20  # so that adding 2^30 rounds nothing away
    expected = pk.DiffRank().fit(near, Y, qid=QID).predict(near, qid=QID)
    far = near + 2.0**30
    np.testing.assert_allclose(pk.DiffRank().fit(far, Y, qid=QID).predict(far, qid=QID), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "refiner",
    [pk.MultiplicativeRefiner(n_rounds=10), pk.LinearRefiner(n_rounds=10), pk.RocchioRefiner()],
    ids=lambda refiner: type(refiner).__name__,
)
@pytest.mark.parametrize("base", [0, 4])
def test_the_unit_of_a_column_changes_no_refined_ranking(refiner, base):
    told = np.where(np.arange(len(Y)) % 3 == 0, Y, np.nan)
    expected = refiner.fit(X, told, qid=QID, base_score=base).scores_.copy()
    for units in (1e-11, [1e-11, 1e11, 1e-200, 1e-11, 1e-11, 1.0]):
        found = refiner.fit(X * units, told, qid=QID, base_score=base).scores_
        for rows in QUERIES:
            np.testing.assert_array_equal(np.argsort(found[rows]), np.argsort(expected[rows]))


def test_a_base_column_counts_however_far_from_zero_it_is():
    base = 2.0**45 + np.arange(10.0)
    assert confidence_of(base) == 0.0  # scores of a ranker: rounding
    assert confidence_of(base, is_column=True) == pytest.approx(1 / np.arange(10.0).std())
