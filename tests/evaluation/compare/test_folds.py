"""Fits in folds: the measure and convention of the selection also stop fits early."""

from typing import ClassVar

import pytest
from sklearn.base import BaseEstimator

import plackett as pk
from plackett.rankers.monitor import ValidationSet
from tests.test_row_order import Coarse, sorted_lists


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
