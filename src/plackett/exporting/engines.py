"""Models for the learning-to-rank plugins of Elasticsearch, OpenSearch and Solr: JSON that refers to features by name.

All compute in float32. Linear models are ``Σ_j w_j n_j(x_j)``, where n_j is one of

- min-max: ``(x - minimum) / (maximum - minimum)``, with the minimum below the maximum;
- standard: ``(x - mean) / deviation``, with a positive deviation;

or the identity. They have no intercept: see ``LinearForm.without_intercept``. Trees are nested and summed in order.

- Elasticsearch and OpenSearch, ``model/xgboost+json``: left ("yes") where ``x < split_condition``. A feature whose
  query does not match a document is 0, or in newer versions missing; then ``missing`` names its side: that of missing
  values if there were some in the training data, otherwise that of 0.
- Solr, ``MultipleAdditiveTreesModel``: left where ``x <= threshold + 0.000001``, with that sum in float32.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett.exporting.float32 import (
    as_range,
    check_depth,
    check_single,
    decimal,
    just_above,
    nodes_in_single,
    scores_in_single,
)
from plackett.exporting.forms import LinearForm, TreeForm
from plackett.exporting.nodes import Nodes
from plackett.exporting.plain_json import to_json, to_json_lines

SLACK = np.float32(1e-6)  # what Solr adds to thresholds
_SOLR_LINEAR = "org.apache.solr.ltr.model.LinearModel"
_SOLR_TREES = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
_SOLR_NORM = "org.apache.solr.ltr.norm."
# kind of scaling -> name of the normaliser and of its numbers; a maximum that is read first must be above the smallest
# positive number, so the minimum comes first
_NORMS = {"minmax": ("min_max", "minimum", "maximum"), "standard": ("standard", "mean", "standard_deviation")}
_SOLR_NORMS = {"minmax": ("MinMaxNormalizer", "min", "max"), "standard": ("StandardNormalizer", "avg", "std")}


# ---- linear models -----------------------------------------------------------------------------------------------


def write_elasticsearch(form: LinearForm, *, name: str, target: str = "elasticsearch") -> str:
    """Return the body of ``POST _ltr/_featureset/FEATURES/_createmodel``."""
    form, names = _prepared(form, target)
    model: dict[str, Any] = {
        "type": "model/linear",
        "definition": dict(zip(names, form.weights.tolist(), strict=True)),
    }
    norms = {}
    for feature, key in enumerate(names):
        kind, *numbers = _norm(form, feature)
        if kind in _NORMS:
            norm, *parts = _NORMS[kind]
            norms[key] = {norm: dict(zip(parts, numbers, strict=True))}
    if norms:
        model["feature_normalizers"] = norms
    return to_json({"model": {"name": name, "model": model}})


def score_elasticsearch(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that the plugin gives rows whose columns have these names."""
    model = json.loads(content)["model"]["model"]
    found = model.get("feature_normalizers", {})
    norms = [_moved_and_scaled(_NORMS, *next(iter(found[name].items()))) if name in found else None for name in names]
    return scores_in_single(X, [model["definition"][name] for name in names], norms)


def write_solr(form: LinearForm, *, name: str, store: str | None) -> str:
    """Return the body of ``PUT /solr/COLLECTION/schema/model-store``."""
    form, names = _prepared(form, "solr")
    features = []
    for feature, key in enumerate(names):
        kind, *numbers = _norm(form, feature)
        entry: dict[str, Any] = {"name": key}
        if kind in _SOLR_NORMS:  # parameters of normalisers are strings
            norm, *parts = _SOLR_NORMS[kind]
            entry["norm"] = {
                "class": f"{_SOLR_NORM}{norm}",
                "params": dict(zip(parts, map(str, numbers), strict=True)),
            }
        features.append(entry)
    weights = dict(zip(names, form.weights.tolist(), strict=True))
    return to_json({**_solr_head(_SOLR_LINEAR, name, store), "features": features, "params": {"weights": weights}})


def score_solr(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that Solr gives rows whose columns have these names."""
    model = json.loads(content)
    found = {entry["name"]: entry.get("norm") for entry in model["features"]}
    norms = [
        None if norm is None else _moved_and_scaled(_SOLR_NORMS, norm["class"].removeprefix(_SOLR_NORM), norm["params"])
        for norm in (found[name] for name in names)
    ]
    return scores_in_single(X, [model["params"]["weights"][name] for name in names], norms)


def _prepared(form: LinearForm, target: str) -> tuple[LinearForm, list[str]]:
    names = form.distinct_names(target)
    form = form.without_intercept()
    check_single(form, target)
    return form, names


def _norm(form: LinearForm, feature: int) -> tuple[str, float, float]:
    """Return a normaliser: its kind, and its range or its mean and deviation; ``"none"`` for the identity."""
    offset, scale = float(form.offset[feature]), float(form.scale[feature])
    if (offset, scale) == (0.0, 1.0):
        return "none", 0.0, 1.0
    ends = as_range(offset, scale) if form.scaling == "minmax" else None
    return ("standard", offset, scale) if ends is None else ("minmax", *ends)


def _moved_and_scaled(norms: dict[str, tuple[str, str, str]], norm: str, params: dict[str, Any]) -> tuple[Any, Any]:
    """Return what a normaliser subtracts from values, and what it divides them by."""
    kind, (_, *parts) = next(item for item in norms.items() if item[1][0] == norm)
    first, second = (np.float32(params[part]) for part in parts)
    return first, second - first if kind == "minmax" else second


# ---- trees -------------------------------------------------------------------------------------------------------


def write_elasticsearch_trees(form: TreeForm, *, name: str, target: str = "elasticsearch") -> str:
    """Return the body of ``POST _ltr/_featureset/FEATURES/_createmodel``."""
    names, nodes = _prepared_trees(form, target)
    limits = just_above(nodes.thresholds)
    roots = xgboost_trees(nodes, names, limits, form.has_missing, decimal)
    model = {"type": "model/xgboost+json", "definition": []}
    return to_json_lines({"model": {"name": name, "model": model}}, "definition", roots)


def score_elasticsearch_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that the plugin gives rows whose columns have these names."""
    trees = json.loads(content)["model"]["model"]["definition"]
    return score_xgboost_trees(trees, X, names, np.float32)


def xgboost_trees(nodes: Nodes, names: list[str], limits: np.ndarray, has_missing: bool, text: Any) -> list[Any]:
    """Return trees as XGBoost dumps them, which go left where ``x < limit``; ``text`` makes a plain number."""
    missing_left = nodes.missing_left if has_missing else limits > 0.0
    numbers, depths = (part.tolist() for part in nodes.in_trees())

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        yes, no = left["nodeid"], right["nodeid"]
        return {
            "nodeid": numbers[node],
            "depth": depths[node],
            "split": names[nodes.features[node]],
            "split_condition": text(limits[node]),
            "yes": yes,
            "no": no,
            "missing": yes if missing_left[node] else no,
            "children": [left, right],
        }

    return nodes.nested(split, lambda node: {"nodeid": numbers[node], "leaf": text(nodes.values[node])})


def score_xgboost_trees(trees: list[Any], X: np.ndarray, names: list[str], dtype: Any) -> np.ndarray:
    """Return the scores by trees that XGBoost dumps, of rows whose columns have these names."""
    columns = {name: column for column, name in enumerate(names)}

    def parts(node: dict[str, Any]) -> Any:
        if "leaf" in node:
            return node["leaf"]
        missing_left = node["missing"] == node["yes"]
        return columns[node["split"]], node["split_condition"], *node["children"], missing_left

    return Nodes.read(trees, parts, dtype).scores(X, is_strict=True)


def write_solr_trees(form: TreeForm, *, name: str, store: str | None) -> str:
    """Return the body of ``PUT /solr/COLLECTION/schema/model-store``."""
    names, nodes = _prepared_trees(form, "solr")
    form.check_missing("solr")
    limits = before_slack(nodes.thresholds)

    def split(node: int, left: Any, right: Any) -> dict[str, Any]:
        feature, threshold = names[nodes.features[node]], f"{decimal(limits[node])}"  # Solr reads numbers as strings
        return {"feature": feature, "threshold": threshold, "left": left, "right": right}

    roots = nodes.nested(split, lambda node: {"value": f"{decimal(nodes.values[node])}"})
    used = nodes.used if nodes.used.size else np.arange(1)  # Solr rejects a model without features
    model = _solr_head(_SOLR_TREES, name, store)
    model["features"] = [{"name": names[feature]} for feature in used]
    trees = [{"weight": "1", "root": root} for root in roots]
    return to_json_lines({**model, "params": {"trees": []}}, "trees", trees)


def score_solr_trees(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the scores that Solr gives rows whose columns have these names."""
    columns = {name: column for column, name in enumerate(names)}

    def parts(node: dict[str, Any]) -> Any:
        if "value" in node:
            return float(node["value"])
        return columns[node["feature"]], np.float32(float(node["threshold"])) + SLACK, node["left"], node["right"]

    roots = [tree["root"] for tree in json.loads(content)["params"]["trees"]]
    return Nodes.read(roots, parts, np.float32).scores(X)


def before_slack(limits: np.ndarray) -> np.ndarray:
    """Return thresholds that become these limits when Solr adds its 0.000001.

    Where no float32 does, they become the largest reachable number below. This affects limits within 0.000004 of 0,
    which become lower by up to 3e-13 (0 stays 0), and some negative limits, which become the next lower float32. No
    limit becomes larger, so 0 never changes sides.
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


def _prepared_trees(form: TreeForm, target: str) -> tuple[list[str], Nodes]:
    names = form.distinct_names(target)
    check_depth(form, target)
    return names, nodes_in_single(form, target)


def _solr_head(kind: str, name: str, store: str | None) -> dict[str, Any]:
    return {"class": kind, "name": name, **({} if store is None else {"store": store})}
