"""Permutation importance against a literal loop, and on data whose important features are known."""

import numpy as np
import pytest
from scipy import sparse

import plackett as pk
from plackett.evaluation.permutation import permutation_drops, permutation_importance
from plackett.metrics.conventions import get_convention
from plackett.metrics.measure import Measure

STANDARD = get_convention("standard")


class Sum:
    """A ranker without a fit: the first column plus half of the second; it never reads the third."""

    def predict(self, queries):
        X = queries.X.toarray() if sparse.issparse(queries.X) else queries.X
        assert queries.y is None  # labels never reach a ranker
        return X[:, 0] + 0.5 * X[:, 1]


@pytest.fixture
def queries():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    return pk.Queries(X, (X[:, 0] + 0.1 * rng.normal(size=120) > 0.5).astype(float), np.repeat(np.arange(12), 10))


def drops_of(queries, **options):
    given = {"columns": [0, 1, 2], "random_state": 5, **options}
    return permutation_drops(Sum().predict, queries, Measure.parse("ndcg@10"), STANDARD, **given)


def test_drops_are_those_of_a_loop_over_queries_and_features(queries):
    rng = np.random.default_rng(5)
    expected = np.zeros((12, 3))
    before = pk.metrics.ndcg(queries.y, queries.X[:, 0] + 0.5 * queries.X[:, 1], qid=queries.qid, k=10)
    for _ in range(2):
        noise = rng.random(120)
        for column in range(3):
            X = queries.X.copy()
            for query in range(12):
                rows = np.flatnonzero(queries.qid == query)
                X[rows, column] = queries.X[rows[np.argsort(noise[rows])], column]
            after = pk.metrics.ndcg(queries.y, X[:, 0] + 0.5 * X[:, 1], qid=queries.qid, k=10)
            expected[:, column] += (before - after) / 2
    np.testing.assert_allclose(drops_of(queries, n_repeats=2), expected, atol=1e-12)


def test_a_sparse_matrix_gives_the_same_drops_and_x_stays_as_it_is(queries):
    X = queries.X.copy()
    np.testing.assert_array_equal(drops_of(queries.replace(X=sparse.csr_array(queries.X))), drops_of(queries))
    np.testing.assert_array_equal(queries.X, X)


def test_an_unused_feature_has_no_importance_and_a_used_one_has_the_largest(queries):
    found = permutation_importance(pk.ranker("listmle").fit(queries), queries, metric="map")
    assert found[0].feature.endswith("0")
    assert found[0].low <= found[0].mean <= found[0].high
    np.testing.assert_array_equal(drops_of(queries)[:, 2], 0.0)


def test_where_less_is_better_a_useful_feature_still_has_a_positive_importance(queries):
    measure = Measure.parse("average-rank")
    drops = permutation_drops(Sum().predict, queries, measure, STANDARD, columns=[0], random_state=0)
    assert not measure.higher_is_better
    assert drops.mean() > 0


def test_the_number_of_scored_documents_is_bounded(queries):
    counted = []

    def predict(part):
        counted.append(part.n_docs)
        return Sum().predict(part)

    drops = permutation_drops(
        predict, queries, Measure.parse("map"), STANDARD, columns=[0, 1, 2], n_repeats=2, most_rows=250
    )
    assert drops.shape == (4, 3)  # 250 / (2 * 3) documents are four queries
    assert sum(counted[1:]) <= 250
