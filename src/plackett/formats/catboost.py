"""Models of CatBoost: ``save_model(path, format="json")``, with numeric features.

CatBoost rounds features to single precision. A row goes right where ``x > border``. Flat trees go left where
``x <= threshold``, so their thresholds are the largest doubles that single precision rounds to at most the border.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett.formats.model import ToolModel
from plackett.formats.xgboost import COVER_OF_A_TREE, last_at_most, sum_up
from plackett.scorers.trees import LEAF, MOST_FEATURES, FlatTrees

DEEPEST = 16  # of oblivious trees, as in CatBoost
Splits = Callable[[list[dict[str, Any]]], dict[str, np.ndarray]]


def read_model(document: dict[str, Any]) -> ToolModel:
    """Return the model in a file; its scores are those of ``predict(X)``, prediction_type="RawFormulaVal"."""
    info = document["features_info"]
    if any(info.get(name) for name in ("categorical_features", "text_features", "embedding_features")):
        raise ValueError("it has features that are not numbers, which are not supported. Train it on numeric features.")
    features = info["float_features"]
    columns = [int(feature["flat_feature_index"]) for feature in features]
    n_features = max(columns, default=-1) + 1
    if not 1 <= n_features == len(columns) <= MOST_FEATURES or sorted(columns) != list(range(n_features)):
        raise ValueError("its features are not numbered consecutively from 0.")
    goes_left = np.array([feature.get("nan_value_treatment", "AsIs") != "AsTrue" for feature in features])
    splits = _reader_of_splits(np.array(columns), goes_left)
    if "oblivious_trees" in document:
        trees = [_oblivious(tree, splits) for tree in document["oblivious_trees"]]
    else:
        trees = [_nested(tree, splits) for tree in document["trees"]]
    scale, bias = document.get("scale_and_bias", [1.0, [0.0]])
    bias = bias if isinstance(bias, list) else [bias]
    if len(bias) != 1:
        raise ValueError(f"it has {len(bias)} scores for a row, but ranking needs one.")
    names = [str(feature.get("feature_id") or feature.get("feature_name") or "") for feature in features]
    in_order = [name for _, name in sorted(zip(columns, names, strict=True))]
    return ToolModel(
        tool="CatBoost",
        objective=_objective(document),
        trees=FlatTrees.of(trees, n_features),
        scale=float(scale),
        bias=float(bias[0]),
        names=in_order if all(in_order) else None,
        has_missing=any(bool(feature.get("has_nans")) for feature in features),
    )


def _reader_of_splits(columns: np.ndarray, goes_left: np.ndarray) -> Splits:
    """Return a function that returns columns, thresholds and sides of missing values of splits by numeric features."""

    def read(splits: list[dict[str, Any]]) -> dict[str, np.ndarray]:
        for split in splits:
            kind = split.get("split_type", "FloatFeature")
            if kind != "FloatFeature":
                raise ValueError(f"it has a split of the type {kind!r}; only splits by numbers are supported.")
        numbers = np.array([int(split["float_feature_index"]) for split in splits], dtype=np.int64)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < columns.size:
            raise ValueError("a split names a feature that it does not have.")
        thresholds = last_at_most(np.array([split["border"] for split in splits], dtype=np.float64))
        return {"features": columns[numbers], "thresholds": thresholds, "missing_left": goes_left[numbers]}

    return read


def _oblivious(tree: dict[str, Any], splits: Splits) -> dict[str, np.ndarray]:
    """Return a tree whose nodes of a level have the same split; bit ``i`` of a leaf's number is that of split ``i``."""
    values, depth = np.array(tree["leaf_values"], dtype=np.float64), len(tree["splits"])
    if depth > DEEPEST or values.shape != (2**depth,):
        raise ValueError(f"a tree with {depth} splits has {values.size:,} leaves.")
    weights = np.array(tree.get("leaf_weights") or np.zeros(values.size), dtype=np.float64)
    found = splits(tree["splits"][::-1])  # the root has the highest bit
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    inner = np.arange(level.size)
    return _tree({name: part[level] for name, part in found.items()}, 2 * inner + 1, 2 * inner + 2, values, weights)


def _nested(root: dict[str, Any], splits: Splits) -> dict[str, np.ndarray]:
    """Return a tree of any shape, splits first, then leaves, parents before children."""
    inner: list[dict[str, Any]] = []
    leaves: list[dict[str, Any]] = []
    children: list[list[int]] = []  # numbers of splits, or of leaves downwards from -1
    stack: list[tuple[dict[str, Any], int, int]] = [(root, -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        if "split" in node:
            number = len(inner)
            inner.append(node["split"])
            children.append([0, 0])
            stack += [(node["right"], number, 1), (node["left"], number, 0)]
        else:
            leaves.append(node)
            number = -len(leaves)
        if parent >= 0:
            children[parent][side] = number
    left, right = np.array(children, dtype=np.int64).reshape(-1, 2).T
    values, weights = (
        np.array([leaf.get(key, 0.0) for leaf in leaves], dtype=np.float64) for key in ("value", "weight")
    )
    left, right = (np.where(side < 0, len(inner) - 1 - side, side) for side in (left, right))
    return _tree(splits(inner), left, right, values, weights)


def _tree(
    found: dict[str, np.ndarray], left: np.ndarray, right: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> dict[str, np.ndarray]:
    if weights.shape != values.shape or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("each leaf must have one weight of at least 0.")
    nothing, n_inner, total = np.zeros(values.size), left.size, weights.sum()
    counts = np.maximum(np.rint(weights * (COVER_OF_A_TREE / total)), 1.0) if total > 0 else nothing
    tree = {
        "features": np.append(found["features"], np.full(values.size, LEAF)),
        "thresholds": np.append(found["thresholds"], nothing),
        "missing_left": np.append(found["missing_left"], nothing),
        "left": np.append(left, nothing).astype(np.int64),
        "right": np.append(right, nothing).astype(np.int64),
        "values": np.append(np.zeros(n_inner), values),
        "counts": np.append(np.zeros(n_inner), counts),
    }
    if total > 0:
        sum_up(tree, np.arange(n_inner))
    return tree


def _objective(document: dict[str, Any]) -> str:
    params = document.get("model_info", {}).get("params", {})
    loss = params.get("loss_function", {}) if isinstance(params, dict) else {}
    return str(loss.get("type", "unknown")) if isinstance(loss, dict) else "unknown"
