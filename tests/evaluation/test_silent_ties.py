"""Comparisons, selections and references are the same for any order of the rows, and choose by what they report."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import plackett as pk
from plackett.rankers.monitor import ValidationSet


def coarse_lists(n_queries=18, seed=0):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(4, 16, n_queries))
    X = rng.integers(0, 4, (qid.size, 3)).astype(float)
    labels = np.clip(X[:, 0] - X[:, 1] + rng.integers(-1, 2, qid.size), 0, 3)
    return X, labels, qid


def sorted_lists(sign, **options):
    """The same rows, the best of each query first (-1) or last (1)."""
    X, labels, qid = coarse_lists(**options)
    rows = np.lexsort((X[:, 2], sign * labels, qid))
    return pk.Queries(X[rows], labels[rows], qid, docid=[f"d{row}" for row in rows])


class Coarse(BaseEstimator):
    """Scores that tie: a column, divided and rounded down."""

    def __init__(self, step=1):
        self.step = step

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0] // self.step


CONTESTANTS = {
    "coarse": (Coarse(), {"step": [1, 2, 9]}),
    "rankboost": pk.ranker("rankboost", n_rounds=3),
    "adarank": pk.ranker("adarank", n_rounds=3),
}


def test_no_order_of_the_rows_changes_a_comparison_or_its_references():
    results = [pk.compare(CONTESTANTS, sorted_lists(sign), cv=3, metrics="ndcg@5,map,kendall,wpd") for sign in (-1, 1)]
    one, other = ({**result.tables, **result.reference_scores} for result in results)
    for name in one:
        np.testing.assert_allclose(one[name].values, other[name].values, rtol=1e-9, err_msg=name)
        assert one[name].best_features == other[name].best_features
    chosen, again = (
        {name: [(fit.params, fit.validation) for fit in fits] for name, fits in result.fits.items()}
        for result in results
    )
    for name in chosen:
        for (params, value), (other_params, other_value) in zip(chosen[name], again[name], strict=True):
            assert params == other_params
            assert value == pytest.approx(other_value, rel=1e-9)


def test_no_order_of_the_rows_changes_what_is_selected():
    validation = [sorted_lists(sign, seed=1) for sign in (-1, 1)]
    train = sorted_lists(-1)
    for metric in ("ndcg@5", "kendall"):
        one, other = (
            pk.select(Coarse(), train, {"step": [9, 2, 1]}, validation=held, metric=metric) for held in validation
        )
        assert [trial.value for trial in one.trials] == [trial.value for trial in other.trials]
        assert one.best_params == other.best_params == {"step": 1}, "constant scores are the worst here"


def test_a_constant_score_earns_what_a_random_order_does():
    data = sorted_lists(-1)
    metrics = "ndcg@5,map,mrr,err,p@3,kendall,wpd,mre,exact,persistence@3,sharp-ndcg"
    result = pk.evaluate(data, np.zeros(data.n_docs), metrics=metrics, reference_scores=True)
    assert result.mean() == pytest.approx(result.reference_scores["random order"])


class Recorder(BaseEstimator):
    """Takes queries; notes by which measure it was asked to stop, and what that measure gave."""

    asked: ClassVar = []

    def fit(self, queries, eval_set=None, eval_metric=None):
        if eval_set is not None:
            type(self).asked.append((eval_metric, ValidationSet(eval_set, eval_metric).mean(self.predict(eval_set))))
        return self

    def predict(self, queries):
        return queries.X[:, 0]


@pytest.mark.parametrize("convention", ["standard", "letor4", "trec", "xgboost"])
def test_fits_end_early_by_the_convention_that_chooses_settings(convention):
    data = sorted_lists(-1)
    Recorder.asked = []
    result = pk.compare({"recorder": Recorder()}, data, cv=3, metrics="ndcg@5,map", convention=convention)
    chosen = [fit.validation for fit in result.fits["recorder"]]
    assert [value for _, value in Recorder.asked] == chosen
    expected = "ndcg@5" if convention == "standard" else f"ndcg@5(convention={convention})"
    assert {str(measure) for measure, _ in Recorder.asked} == {expected}
    Recorder.asked = []
    found = pk.select(Recorder(), data[:9], [{}], validation=data[9:], metric="map", convention=convention)
    assert [value for _, value in Recorder.asked] == [found.best_value]
    assert found.convention == convention


def test_a_measure_with_its_own_convention_chooses_by_it():
    data = sorted_lists(-1)
    Recorder.asked = []
    own = pk.metrics.Measure("ndcg", 5, convention="letor4")
    result = pk.compare({"recorder": Recorder()}, data, cv=3, metrics="map", select_by=own, convention="sklearn")
    assert [(str(measure), value) for measure, value in Recorder.asked] == [
        ("ndcg@5(convention=letor4)", fit.validation) for fit in result.fits["recorder"]
    ]
    found = pk.select(Coarse(), data[:9], {"step": [1, 2]}, validation=data[9:], metric=own)
    table = pk.evaluate(data[9:], found.best_.predict(data[9:].X), metrics="ndcg@5", convention="letor4")
    assert found.best_value == table.mean()["ndcg@5"]
    assert found.convention == "letor4"
