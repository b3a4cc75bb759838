"""``check_ranker`` passes ours, and names what is wrong with others."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

import plackett as pk
from plackett.testing import check_ranker


@pytest.mark.parametrize("name", ["listmle", "adarank", "featurerank", "prank", "lightgbm", "xgboost", "qsvm"])
def test_our_rankers_pass(name):
    check_ranker(pk.ranker(name))


def test_estimators_of_others_pass():
    check_ranker(Ridge())
    lightgbm = pytest.importorskip("lightgbm")
    check_ranker(lightgbm.LGBMRanker(n_estimators=2, n_jobs=1, verbose=-1))


class ByFeature(BaseEstimator):
    def __init__(self, column=0, random_state=None):
        self.column, self.random_state = column, random_state

    def fit(self, X, y, qid=None):
        return self

    def predict(self, X, qid=None):
        return X[:, self.column]


def changed(**methods):
    return type("Changed", (ByFeature,), methods)()


def changes_data(self, X, y, qid=None):
    y[0] = 100.0
    return self


def changes_parameters(self, X, y, qid=None):
    self.column = 1
    return self


def is_random(self, X, y, qid=None):
    self.column_ = np.random.default_rng().normal()
    return self


def takes_neighbours_as_lists(self, X, y, qid=None):
    self.weight_ = float(np.sum(X[:-1, 0] * y[1:] * (np.diff(qid) == 0)))
    return self


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (changed(fit=changes_data), "fit changed X or y"),
        (changed(fit=changes_parameters), "fit changed its parameters"),
        (changed(fit=is_random, predict=lambda self, X, qid=None: X[:, 0] + self.column_), "two fits of Changed"),
        (
            changed(predict=lambda self, X, qid=None: X[:2, 0]),
            "predict failed: ValueError: predict returned scores of shape",
        ),
        (changed(predict=lambda self, X, qid=None: np.sort(X[:, 0])), "Scores must follow the rows"),
        (changed(predict=lambda self, X, qid=None: X[:, 0] * np.nan), "not finite"),
        (
            changed(fit=takes_neighbours_as_lists, predict=lambda self, X, qid=None: X[:, 0] + self.weight_),
            "adjacent rows of different queries",
        ),
        (object(), "which has no fit"),
    ],
)
def test_each_mistake_is_named(ranker, message):
    with pytest.raises(AssertionError, match=message):
        check_ranker(ranker)


def test_an_estimator_that_draws_rows_passes():
    from sklearn.ensemble import RandomForestRegressor

    check_ranker(RandomForestRegressor(n_estimators=3))


def test_random_state_does_not_hide_lists_of_adjacent_rows():
    class Adjacent(BaseEstimator):
        """Subtracts the mean label of each run of rows with the same qid."""

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X, y, qid=None):
            starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
            sizes = np.diff(np.append(starts, y.size))
            gaps = y - np.repeat(np.add.reduceat(y, starts) / sizes, sizes)
            self.coef_ = X.T @ gaps + 1.0
            return self

        def predict(self, X):
            return X @ self.coef_

    with pytest.raises(AssertionError, match="treats adjacent rows of different queries as one list"):
        check_ranker(Adjacent())
