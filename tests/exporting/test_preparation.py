"""Exports of rankers that fill missing values and encode categories give the same scores, or say why they cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.impute import SimpleImputer

import plackett as pk
from tests.rankers.test_preparation import FRAME, NEW, NEW_QID, NUMBERS, QID, Y

pytestmark = pytest.mark.filterwarnings("ignore:categories that were not in fit count as missing")
NUMERIC = NEW[["bm25", "price", "age"]]
UNKNOWN = NEW.assign(brand=["new", *NEW["brand"][1:]])
RULES = [
    {"missing": "mean", "missing_indicator": True, "encoding": "one-hot"},
    {"missing": "median", "encoding": "target", "normalize": "zscore"},
    {"missing": "min", "missing_indicator": True, "encoding": "target"},
]


def make_all(params):
    yield pk.LinearRanker(**params)
    yield pk.PRank(n_epochs=2, random_state=0, **params)


@pytest.mark.parametrize("params", RULES, ids=lambda params: f"{params['missing']}, {params['encoding']}")
@pytest.mark.parametrize("target", ["json", "onnx"])
def test_exported_models_prepare_the_features(params, target):
    if target == "onnx":
        pytest.importorskip("onnxruntime")
    for ranker in make_all(params):
        ranker.fit(FRAME, Y, qid=QID)
        assert pk.export(ranker, target, check=UNKNOWN)  # raises unless scores are the same
    names = ["score", "cost", "days", "maker"]
    content = pk.export(ranker, target, feature_names=names, check=UNKNOWN)
    if target == "json":
        inputs = json.loads(content)["inputs"]
        assert inputs["features"] == names
        assert inputs["categories"] == {"3": ["acme", "beta", "zeta"]}
        assert len(inputs["columns"]) == ranker.n_prepared


def test_nets_and_stumps_prepare_the_features():
    pytest.importorskip("torch")
    params = {"missing": "mean", "missing_indicator": True, "encoding": "one-hot"}
    net = pk.NeuralRanker(n_epochs=1, hidden=(4,), random_state=0, **params).fit(FRAME, Y, qid=QID)
    assert pk.export(net, "json", check=UNKNOWN)
    boosted = pk.RankBoost(n_rounds=5, encoding="one-hot").fit(FRAME, Y, qid=QID)
    assert pk.export(boosted, "json", check=UNKNOWN)


@pytest.mark.parametrize("encoding", ["one-hot", "target"])
@pytest.mark.parametrize("target", ["json", "onnx"])
def test_missing_numbers_stay_missing_for_stumps_with_categories(target, encoding):
    if target == "onnx":
        pytest.importorskip("onnxruntime")
    boosted = pk.RankBoost(n_rounds=40, encoding=encoding).fit(FRAME, Y, qid=QID)
    bare = FRAME.assign(bm25=np.nan, price=np.nan, age=np.nan)
    assert np.abs(boosted.predict(bare) - boosted.predict(FRAME.assign(bm25=0.0, price=0.0, age=0.0))).min() > 0.1
    assert pk.export(boosted, target, check=bare)


@pytest.mark.parametrize("target", ["elasticsearch", "solr", "ranklib", "json"])
def test_a_missing_feature_is_zero_in_engines(target):
    ranker = pk.LinearRanker(missing="zero").fit(FRAME[["bm25", "price", "age"]], Y, qid=QID)
    assert pk.export(ranker, target, check=NUMERIC)


@pytest.mark.parametrize(
    ("params", "target", "message"),
    [
        ({"missing": "median"}, "solr", "missing='median' cannot be exported to solr, in which a missing feature is 0"),
        (
            {"missing": "zero", "missing_indicator": True},
            "ranklib",
            "missing_indicator=True cannot be exported",
        ),
        ({"missing": "query-median"}, "json", "depend on the other documents of the list"),
        ({"missing": SimpleImputer()}, "json", "missing=SimpleImputer cannot be exported"),
    ],
)
def test_what_a_target_cannot_express_is_refused(params, target, message):
    ranker = pk.LinearRanker(**params).fit(FRAME[["bm25", "price", "age"]], Y, qid=QID)
    with pytest.raises(ValueError, match=message):
        pk.export(ranker, target)


def test_categories_do_not_go_into_a_feature_store():
    ranker = pk.LinearRanker(missing="zero", encoding="one-hot").fit(FRAME, Y, qid=QID)
    with pytest.raises(ValueError, match=r"encoding='one-hot' cannot be exported to elasticsearch.*not text"):
        pk.export(ranker, "elasticsearch")


def test_stumps_with_defaults_are_exported():
    ranker = pk.RankBoost(n_rounds=20).fit(NUMBERS, Y, qid=QID)
    assert ranker.steps_["default"].any()
    assert pk.export(ranker, "json", check=NUMERIC.to_numpy())


def test_scores_of_json_are_those_of_the_ranker():
    from plackett.exporting.plain_json import score_linear

    ranker = pk.LinearRanker(missing="mean", encoding="one-hot").fit(FRAME, Y, qid=QID)
    content = pk.export(ranker, "json")
    rows = ranker.check(UNKNOWN, qid=NEW_QID).X
    np.testing.assert_allclose(score_linear(content, rows), ranker.predict(UNKNOWN, qid=NEW_QID), rtol=1e-12)
