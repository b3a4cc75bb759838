"""Trees for the engines that read XGBoost's JSON, against the text that XGBoost writes for the same model."""

import json

import numpy as np
import pytest

import plackett as pk

pytestmark = pytest.mark.peer
xgboost = pytest.importorskip("xgboost")

NAMES = ["bm25", "rank", "age"]


def nested(node):
    if "leaf" in node:
        return node["leaf"]
    sides = {child["nodeid"]: nested(child) for child in node["children"]}
    assert len(sides) == 2
    question = node["split"], np.float32(node["split_condition"])
    return question, node["missing"] == node["yes"], sides[node["yes"]], sides[node["no"]]


def test_trees_for_elasticsearch_are_those_that_xgboost_writes(tmp_path):
    draws = np.random.default_rng(0)
    X = draws.normal(size=(400, 3)).astype(np.float32)
    X[draws.random(X.shape) < 0.2] = np.nan
    rows = xgboost.DMatrix(X, np.nan_to_num(X) @ [1.0, -0.5, 0.2], feature_names=NAMES)
    booster = xgboost.train({"max_depth": 4, "nthread": 1}, rows, num_boost_round=6)
    booster.save_model(tmp_path / "model.json")
    ranker = pk.load(tmp_path / "model.json")
    theirs = [json.loads(tree) for tree in booster.get_dump(dump_format="json")]
    model = json.loads(pk.export(ranker, "elasticsearch", feature_names=NAMES))["model"]["model"]
    intercept, *ours = model["definition"]
    assert "leaf" in intercept  # XGBoost's dump lacks it
    for tree, expected in zip(map(nested, ours), map(nested, theirs), strict=True):
        assert_equal(tree, expected)
    fields = [set(next(tree for tree in trees if "children" in tree)) for trees in (ours, theirs)]
    assert fields[0] == fields[1]


def assert_equal(tree, expected):
    if not isinstance(tree, tuple):
        assert tree == pytest.approx(expected, rel=1e-6)
        return
    assert tree[:2] == expected[:2]
    for side in (2, 3):
        assert_equal(tree[side], expected[side])
