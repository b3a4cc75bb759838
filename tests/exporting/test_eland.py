"""Trees for Elasticsearch's own learning to rank, against eland, Elastic's own writer of the format.

eland needs an older pandas than the other tests, so that ``make engines`` installs it apart, in ``.venv/engines``.
"""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plackett as pk

pytestmark = pytest.mark.peer
lightgbm = pytest.importorskip("lightgbm")

FOLDER = Path(sys.prefix) / "engines"
NAMES = ["bm25", "page rank", "age"]
WRITE = """
import json, pickle, sys, warnings
warnings.simplefilter("ignore")  # of newer versions of packages than eland knows
from eland.ml.transformers import get_model_transformer
model = pickle.load(sys.stdin.buffer)
print(json.dumps(get_model_transformer(model, feature_names=json.loads(sys.argv[1])).transform().serialize_model()))
"""


def by_eland(model):
    if not (FOLDER / "eland").is_dir():
        pytest.skip(f"eland is not in {FOLDER}: make engines")
    return json.loads(
        subprocess.run(
            [sys.executable, "-c", WRITE, json.dumps(NAMES)],
            input=pickle.dumps(model),
            env={**os.environ, "PYTHONPATH": str(FOLDER)},
            stdout=subprocess.PIPE,
            check=True,
            timeout=300,
        ).stdout
    )


def nested(tree, place=0):
    """A tree as eland and we mean it, whatever the numbers of its nodes."""
    nodes = {node["node_index"]: node for node in tree["tree_structure"]}
    node = nodes[place]
    if "leaf_value" in node:
        return node["leaf_value"]
    sides = [nested(tree, node[side]) for side in ("left_child", "right_child")]
    question = (tree["feature_names"][node["split_feature"]], node["decision_type"], node["threshold"])
    return question, node["default_left"], *sides


def rows_with_gaps():
    draws = np.random.default_rng(0)
    X = draws.normal(size=(400, 3))
    X[draws.random(X.shape) < 0.2] = np.nan
    return X, np.where(np.isnan(X[:, 0]), 1.0, np.nan_to_num(X) @ [1.0, -0.5, 0.2])


def test_trees_of_lightgbm_are_written_as_elastic_writes_them(tmp_path):
    model = lightgbm.LGBMRegressor(n_estimators=7, num_leaves=9, verbose=-1).fit(*rows_with_gaps())
    model.booster_.save_model(tmp_path / "model.txt")
    theirs = by_eland(model)["trained_model"]["ensemble"]
    ours = json.loads(pk.export(pk.load(tmp_path / "model.txt"), "elastic-ltr", feature_names=NAMES))
    ours = ours["definition"]["trained_model"]["ensemble"]
    trees = [[nested(one["tree"]) for one in ensemble["trained_models"]] for ensemble in (ours, theirs)]
    assert trees[0] == trees[1]
    nodes = [node for one in ours["trained_models"] for node in one["tree"]["tree_structure"]]
    assert {node["default_left"] for node in nodes if "threshold" in node} == {False, True}
    assert {key: ours[key] for key in ours if key != "trained_models"} == {
        key: theirs[key] for key in theirs if key != "trained_models"
    }
    fields = [
        {key for one in ensemble["trained_models"] for node in one["tree"]["tree_structure"] for key in node}
        for ensemble in (ours, theirs)
    ]
    assert fields[0] == fields[1] - {"number_samples"}  # optional: how many documents of training came by
