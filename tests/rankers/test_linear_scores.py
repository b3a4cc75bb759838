"""Arrays that a linear ranker cannot score are refused."""

import numpy as np
import pytest

import plackett as pk

DATA = pk.datasets.make_web_like(30, n_features=11, random_state=1)


@pytest.fixture(scope="module")
def ranker():
    return pk.LinearRanker().fit(DATA.X, DATA.y, qid=DATA.qid)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_values_that_are_not_finite_are_found(ranker, wrong):
    X = DATA.X[:100].copy()
    X[31, 4] = wrong
    with pytest.raises(ValueError, match="row 31"):
        ranker.predict(X)


@pytest.mark.parametrize(
    ("X", "words"),
    [(np.ones((3, 10)), "10 features"), (np.ones(11), "1D array"), (np.ones((0, 11)), "0 sample")],
)
def test_arrays_of_another_shape_are_refused(ranker, X, words):
    with pytest.raises(ValueError, match=words):
        ranker.predict(X)


def test_qid_of_another_length_is_refused(ranker):
    with pytest.raises(ValueError, match="qid"):
        ranker.predict(DATA.X[:100], qid=DATA.qid[:99])


def test_a_ranker_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        pk.LinearRanker().predict(np.ones((3, 11)))
