"""Elasticsearch's own learning to rank: the definition of an ensemble of trees, for ``PUT _ml/trained_models/NAME``.

Trees are lists of nodes, numbered from 0. A document goes left where ``x <= threshold`` (``lte``) in float64, and to
the side of ``default_left`` where the feature is missing, as its query did not match the document. Trees are summed.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exporting.forms import TreeForm
from plackett.exporting.nodes import LEAF, Nodes
from plackett.exporting.plain_json import to_json_lines

TARGET = "elastic-ltr"


def write_trees(form: TreeForm, *, name: str) -> str:
    """Return the body of ``PUT _ml/trained_models/NAME`` without ``inference_config``, the queries of the features."""
    names = form.distinct_names(TARGET)
    form.check_kinds(TARGET)
    nodes = form.nodes()
    missing_left = nodes.missing_left if form.has_missing else nodes.thresholds >= 0.0
    trees = [
        {
            "tree": {
                "feature_names": names,
                "tree_structure": [_node(nodes, missing_left, node, start) for node in range(start, stop)],
                "target_type": "regression",
            }
        }
        for start, stop in pairwise(nodes.starts.tolist())
    ]
    ensemble = {
        "feature_names": names,
        "trained_models": [],
        "aggregate_output": {"weighted_sum": {}},
        "target_type": "regression",
    }
    body = {
        "description": f"{name}: {form.ranker} by plackett {__version__}",
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return to_json_lines(body, "trained_models", trees)


def _node(nodes: Nodes, missing_left: np.ndarray, node: int, start: int) -> dict[str, Any]:
    if nodes.features[node] == LEAF:
        return {"node_index": node - start, "leaf_value": nodes.values[node].item()}
    return {
        "node_index": node - start,
        "split_feature": int(nodes.features[node]),
        "decision_type": "lte",
        "threshold": nodes.thresholds[node].item(),
        "left_child": int(nodes.left[node]) - start,
        "right_child": int(nodes.right[node]) - start,
        "default_left": bool(missing_left[node]),
    }


def score_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that Elasticsearch gives rows whose columns have these names."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    columns = [names.index(name) for name in ensemble["feature_names"]]

    def parts(place: tuple[list[dict[str, Any]], int]) -> Any:
        tree, number = place
        node = tree[number]
        if "leaf_value" in node:
            return node["leaf_value"]
        sides = ((tree, node[side]) for side in ("left_child", "right_child"))
        return columns[node["split_feature"]], node["threshold"], *sides, node["default_left"]

    roots = [(model["tree"]["tree_structure"], 0) for model in ensemble["trained_models"]]
    return Nodes.read(roots, parts, np.float64).scores(X)
