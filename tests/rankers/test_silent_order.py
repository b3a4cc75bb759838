"""Scores that depended on the order of rows by rounding, and with them measures of lists with equal documents."""

import numpy as np

import plackett as pk
from plackett.data.queries import Queries
from plackett.rankers.query_dependent.features import mean_features


def test_kernels_score_equal_documents_exactly_alike():
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(40, 17))
    train = np.repeat(np.arange(10), 4)
    ranker = pk.KernelRanker(loss="squared").fit(documents, rng.integers(0, 3, 40), qid=train)
    which = rng.integers(0, 40, 317)
    for rows in (documents[which], documents[which].astype(np.float32)):
        scores = ranker.predict(rows, qid=0)
        assert [np.ptp(scores[which == number]) for number in range(40)] == [0.0] * 40
        assert np.unique(scores).size == np.unique(which).size


def test_mean_features_of_a_query_are_the_same_for_any_order_of_its_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5))
    X[7] = X[11]
    qid = np.repeat([0, 1, 2], 20)
    expected = mean_features(Queries(X, qid=qid), np.ones(60))
    np.testing.assert_allclose(expected, X.reshape(3, 20, 5).mean(axis=1), rtol=0, atol=1e-14)
    for seed in range(5):
        order = np.lexsort((np.random.default_rng(seed).random(60), qid))
        np.testing.assert_array_equal(mean_features(Queries(X[order], qid=qid), np.ones(60)), expected)
