"""The best ranker of a comparison is fitted to all queries, with the settings that the folds chose."""

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.compare.comparison import FoldFit
from plackett.evaluation.compare.refit import _most_chosen


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(30, 8, 5, random_state=0)


def test_the_best_is_fitted_to_all_queries(data):
    grid = {"l2": [1.0, 0.01], "patience": [None]}  # fitted to the minimum, without an iteration to choose
    result = pk.compare({"a": ("listmle", grid), "b": pk.ranker("adarank")}, data, cv=3, metrics="map", refit=True)
    name = result.best()
    assert result.notes[-1].startswith(f"best ranker: {name}, fitted to ")
    only = pk.compare({"a": ("listmle", grid)}, data, cv=3, metrics="map", refit=True)
    chosen = [fit.params["l2"] for fit in only.fits["a"]]
    l2 = max(set(chosen), key=chosen.count)
    expected = pk.ranker("listmle", l2=l2, patience=None).fit(pk.Queries.concat([only.queries]))
    np.testing.assert_array_equal(only.best_.coef_, expected.coef_)
    assert only.best_.n_queries_ == 30


def test_iterations_are_chosen_on_queries_that_are_held_back(data):
    result = pk.compare({"boost": pk.ranker("rankboost", n_rounds=20)}, data, cv=3, metrics="map", refit=True)
    assert result.notes[-1] == "best ranker: boost, fitted to 22 queries, with 8 queries held back for early stopping"
    assert result.best_.n_queries_ == 22


def test_queries_outside_the_test_sets_are_used_too(data):
    result = pk.compare({"a": pk.LinearRanker()}, cv=[(data[:20], None, data[20:])], metrics="map", refit=True)
    assert result.best_.n_queries_ == 30


def test_most_folds_decide_and_then_the_validation_queries():
    fits = [FoldFit(fold, {"l2": l2}, value, 0.0, 2) for fold, (l2, value) in enumerate([(1, 0.3), (2, 0.9), (1, 0.2)])]
    assert _most_chosen(fits, higher_is_better=True) == ({"l2": 1}, 2)
    assert _most_chosen(fits[:2], higher_is_better=True) == ({"l2": 2}, 1)
    assert _most_chosen(fits[:2], higher_is_better=False) == ({"l2": 1}, 1)


class FailsOnAll(pk.LinearRanker):
    def fit(self, X, y=None, *, qid=None, sample_weight=None, eval_set=None, eval_metric=None):
        if X.n_queries == 30:
            raise ValueError("too many")
        return super().fit(X, y, qid=qid)


def test_a_failing_refit_does_not_lose_the_comparison(data):
    result = pk.compare({"a": FailsOnAll(patience=None)}, data, cv=3, metrics="map", refit=True)
    assert result.notes[-1] == "the refit of a failed: ValueError: too many"
    with pytest.raises(AttributeError, match=r"no best_: the refit failed \(see the notes\)"):
        _ = result.best_
    with pytest.raises(AttributeError, match="no best_: pass refit=True to compare"):
        _ = pk.compare({"a": pk.LinearRanker()}, data, cv=2, metrics="map").best_
