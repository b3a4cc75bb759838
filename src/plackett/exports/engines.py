"""The learning-to-rank plugins of Elasticsearch, OpenSearch and Solr: JSON with a weight and a normaliser by name.

Both compute ``Σ_j w_j n_j(x_j)`` in float32, n_j being one of

- min-max: ``(x - minimum) / (maximum - minimum)``, the minimum below the maximum;
- standard: ``(x - mean) / deviation``, the deviation positive;

or nothing. Neither has an intercept: see ``LinearForm.without_intercept``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plackett.exports.form import LinearForm, names_for
from plackett.exports.single import as_range, check_single, scores_in_single

_SOLR_MODEL = "org.apache.solr.ltr.model.LinearModel"
_SOLR_NORM = "org.apache.solr.ltr.norm."


def write_elasticsearch(form: LinearForm, *, name: str, target: str = "elasticsearch") -> str:
    """The body of ``POST _ltr/_featureset/FEATURES/_createmodel``."""
    form, names = _prepared(form, target)
    model: dict[str, Any] = {
        "type": "model/linear",
        "definition": dict(zip(names, form.weights.tolist(), strict=True)),
    }
    norms = {}
    for feature, key in enumerate(names):
        kind, first, second = _norm(form, feature)
        if kind == "minmax":
            # in this order: a maximum that is read first must be above the smallest positive number
            norms[key] = {"min_max": {"minimum": first, "maximum": second}}
        elif kind == "standard":
            norms[key] = {"standard": {"mean": first, "standard_deviation": second}}
    if norms:
        model["feature_normalizers"] = norms
    return _as_json({"model": {"name": name, "model": model}})


def score_elasticsearch(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """What the plugin makes of rows whose columns have these names."""
    model = json.loads(content)["model"]["model"]
    found = model.get("feature_normalizers", {})
    norms: list[Any] = []
    for name in names:
        if "min_max" in found.get(name, {}):
            ends = found[name]["min_max"]
            norms.append(_of_range(ends["minimum"], ends["maximum"]))
        elif "standard" in found.get(name, {}):
            norms.append((found[name]["standard"]["mean"], found[name]["standard"]["standard_deviation"]))
        else:
            norms.append(None)
    return scores_in_single(X, [model["definition"][name] for name in names], norms)


def write_solr(form: LinearForm, *, name: str, store: str | None) -> str:
    """The body of ``PUT /solr/COLLECTION/schema/model-store``."""
    form, names = _prepared(form, "solr")
    features = []
    for feature, key in enumerate(names):
        kind, first, second = _norm(form, feature)
        entry: dict[str, Any] = {"name": key}
        if kind == "minmax":  # parameters of normalisers are texts
            entry["norm"] = {
                "class": f"{_SOLR_NORM}MinMaxNormalizer",
                "params": {"min": f"{first}", "max": f"{second}"},
            }
        elif kind == "standard":
            entry["norm"] = {
                "class": f"{_SOLR_NORM}StandardNormalizer",
                "params": {"avg": f"{first}", "std": f"{second}"},
            }
        features.append(entry)
    model: dict[str, Any] = {"class": _SOLR_MODEL, "name": name}
    if store is not None:
        model["store"] = store
    weights = dict(zip(names, form.weights.tolist(), strict=True))
    return _as_json({**model, "features": features, "params": {"weights": weights}})


def score_solr(content: str, X: np.ndarray, names: list[str]) -> np.ndarray:
    """What Solr makes of rows whose columns have these names."""
    model = json.loads(content)
    found = {entry["name"]: entry.get("norm") for entry in model["features"]}
    norms: list[Any] = []
    for name in names:
        norm = found[name]
        if norm is None:
            norms.append(None)
        elif norm["class"].endswith("MinMaxNormalizer"):
            norms.append(_of_range(norm["params"]["min"], norm["params"]["max"]))
        else:
            norms.append((norm["params"]["avg"], norm["params"]["std"]))
    return scores_in_single(X, [model["params"]["weights"][name] for name in names], norms)


def _prepared(form: LinearForm, target: str) -> tuple[LinearForm, list[str]]:
    names = names_for(form, target)
    form = form.without_intercept()
    check_single(form, target)
    return form, names


def _norm(form: LinearForm, feature: int) -> tuple[str, float, float]:
    """A normaliser: its kind, and its ends or its mean and deviation; ``"none"`` for one that would change nothing."""
    offset, scale = float(form.offset[feature]), float(form.scale[feature])
    if (offset, scale) == (0.0, 1.0):
        return "none", 0.0, 1.0
    ends = as_range(offset, scale) if form.scaling == "minmax" else None
    return ("standard", offset, scale) if ends is None else ("minmax", *ends)


def _of_range(low: Any, high: Any) -> tuple[np.float32, np.float32]:
    low32 = np.float32(low)
    return low32, np.float32(high) - low32


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
