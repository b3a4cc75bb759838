"""Trees for the learning-to-rank plugins of Elasticsearch, OpenSearch and Solr: nested JSON, features by name.

All read features, thresholds and leaves as float32 and add up the leaves in float32, tree after tree.

- Elasticsearch and OpenSearch, ``model/xgboost+json``: left ("yes") where ``x < split_condition``. A feature whose
  query does not match a document is 0, or in newer versions missing; then ``missing`` names the side of 0.
- Solr, ``MultipleAdditiveTreesModel``: left where ``x <= threshold + 0.000001``, that sum being taken in float32.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett.exports.form import names_for
from plackett.exports.tree_form import TreeForm
from plackett.exports.tree_nodes import Nodes, with_one_per_line
from plackett.exports.tree_single import check_depth, decimal, just_above, nodes_in_single

SLACK = np.float32(1e-6)  # Solr's
_SOLR_MODEL = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"


def write_elasticsearch_trees(form: TreeForm, *, name: str, target: str = "elasticsearch") -> str:
    """The body of ``POST _ltr/_featureset/FEATURES/_createmodel``."""
    names, nodes = _prepared(form, target)
    limits = just_above(nodes.thresholds)
    numbers, depths = (part.tolist() for part in nodes.in_trees())

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        yes, no = left["nodeid"], right["nodeid"]
        return {
            "nodeid": numbers[node],
            "depth": depths[node],
            "split": names[nodes.features[node]],
            "split_condition": decimal(limits[node]),
            "yes": yes,
            "no": no,
            "missing": yes if limits[node] > 0.0 else no,
            "children": [left, right],
        }

    roots = nodes.nested(split, lambda node: {"nodeid": numbers[node], "leaf": decimal(nodes.values[node])})
    model = {"type": "model/xgboost+json", "definition": []}
    return with_one_per_line({"model": {"name": name, "model": model}}, "definition", roots)


def score_elasticsearch_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """What the plugin makes of rows whose columns have these names."""
    columns = {name: column for column, name in enumerate(names)}

    def parts(node: dict[str, Any]) -> Any:
        if "leaf" in node:
            return node["leaf"]
        return columns[node["split"]], node["split_condition"], *node["children"]

    trees = json.loads(content)["model"]["model"]["definition"]
    return Nodes.read(trees, parts, np.float32).scores(X, is_strict=True)


def write_solr_trees(form: TreeForm, *, name: str, store: str | None) -> str:
    """The body of ``PUT /solr/COLLECTION/schema/model-store``."""
    names, nodes = _prepared(form, "solr")
    limits = before_slack(nodes.thresholds)

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        feature, threshold = names[nodes.features[node]], f"{decimal(limits[node])}"  # numbers are texts there
        return {"feature": feature, "threshold": threshold, "left": left, "right": right}

    roots = nodes.nested(split, lambda node: {"value": f"{decimal(nodes.values[node])}"})
    used = nodes.used if nodes.used.size else np.arange(1)  # a model without features is refused
    model: dict[str, Any] = {"class": _SOLR_MODEL, "name": name}
    if store is not None:
        model["store"] = store
    model["features"] = [{"name": names[feature]} for feature in used]
    trees = [{"weight": "1", "root": root} for root in roots]
    return with_one_per_line({**model, "params": {"trees": []}}, "trees", trees)


def score_solr_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """What Solr makes of rows whose columns have these names."""
    columns = {name: column for column, name in enumerate(names)}

    def parts(node: dict[str, Any]) -> Any:
        if "value" in node:
            return float(node["value"])
        return columns[node["feature"]], np.float32(float(node["threshold"])) + SLACK, node["left"], node["right"]

    roots = [tree["root"] for tree in json.loads(content)["params"]["trees"]]
    return Nodes.read(roots, parts, np.float32).scores(X)


def before_slack(limits: np.ndarray) -> np.ndarray:
    """What Solr makes these limits of when it adds its 0.000001, or the next number below where no float32 does it.

    That is so for limits within 0.000004 of 0, which come out lower by up to 3e-13 (0 comes out as 0), and for some
    negative ones, which come out as their neighbour. None comes out larger, so that 0 never changes sides.
    """
    best = limits - SLACK
    reached = np.full_like(limits, -np.inf)
    start = best
    for steps in range(-2, 3):
        tried = start
        for _ in range(abs(steps)):
            tried = np.nextafter(tried, np.float32(np.copysign(np.inf, steps)))
        found = tried + SLACK
        is_better = (found <= limits) & (found > reached)
        best, reached = np.where(is_better, tried, best), np.where(is_better, found, reached)
    return best


def _prepared(form: TreeForm, target: str) -> tuple[list[str], Nodes]:
    names = names_for(form, target)
    check_depth(form, target)
    return names, nodes_in_single(form, target)
