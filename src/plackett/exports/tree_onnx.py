"""Trees as an ONNX graph with one node for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett.exports.onnx_model import finished_model
from plackett.exports.tree_form import TreeForm
from plackett.exports.tree_nodes import LEAF, Nodes
from plackett.exports.tree_single import nodes_in_single

ML_OPSET = {"float32": 1, "float64": 5}  # the oldest of "ai.onnx.ml" in which scores are of that precision


def write_onnx_trees(form: TreeForm, *, name: str, dtype: str) -> bytes:
    """A model with input ``features`` (n, n_features) and output ``scores`` (n,), both of ``dtype``."""
    import_optional("onnx", extra="onnx", needed_for="Exporting to ONNX")
    from onnx import helper, numpy_helper

    if dtype == "float32":
        operation, attributes = "TreeEnsembleRegressor", _regressor(nodes_in_single(form, "onnx with dtype='float32'"))
    else:
        operation, attributes = "TreeEnsemble", _ensemble(form.nodes(), numpy_helper.from_array)
    trees = helper.make_node(
        operation, ["features"], ["column"], name="trees", domain="ai.onnx.ml", n_targets=1, **attributes
    )
    squeeze = helper.make_node("Squeeze", ["column", "axes"], ["scores"], name="squeeze")
    constants = [numpy_helper.from_array(np.array([1]), "axes")]
    return finished_model(form, [trees, squeeze], constants, name, dtype, ml_opset=ML_OPSET[dtype])


def _regressor(nodes: Nodes) -> dict[str, Any]:
    """All nodes, leaves among them, numbered within their trees; a leaf's value is looked up by tree and number."""
    is_leaf = nodes.features == LEAF
    trees = np.repeat(np.arange(nodes.n_trees), np.diff(nodes.starts))
    numbers = np.arange(is_leaf.size) - nodes.starts[trees]

    def ways(side: np.ndarray) -> list[int]:
        return np.where(is_leaf, 0, side - nodes.starts[trees]).tolist()

    return {
        "nodes_treeids": trees.tolist(),
        "nodes_nodeids": numbers.tolist(),
        "nodes_featureids": np.where(is_leaf, 0, nodes.features).tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": nodes.thresholds.tolist(),
        "nodes_truenodeids": ways(nodes.left),
        "nodes_falsenodeids": ways(nodes.right),
        "target_treeids": trees[is_leaf].tolist(),
        "target_nodeids": numbers[is_leaf].tolist(),
        "target_ids": [0] * int(is_leaf.sum()),
        "target_weights": nodes.values[is_leaf].tolist(),
    }


def _ensemble(nodes: Nodes, as_tensor: Any) -> dict[str, Any]:
    """Splits and leaves apart, numbered over all trees; a tree of one leaf has a split that leads to it either way."""
    is_leaf = nodes.features == LEAF
    is_lone = np.zeros_like(is_leaf)
    is_lone[nodes.starts[:-1]] = is_leaf[nodes.starts[:-1]]
    is_split = ~is_leaf | is_lone
    leaf_number, split_number = np.cumsum(is_leaf) - 1, np.cumsum(is_split) - 1
    itself = np.arange(is_leaf.size)

    def ways(side: np.ndarray) -> tuple[list[int], list[int]]:
        to = np.where(is_lone, itself, side)[is_split]
        return np.where(is_leaf[to], leaf_number[to], split_number[to]).tolist(), is_leaf[to].astype(np.int64).tolist()

    (left, left_is_leaf), (right, right_is_leaf) = ways(nodes.left), ways(nodes.right)
    return {
        "tree_roots": split_number[nodes.starts[:-1]].tolist(),
        "nodes_featureids": np.where(is_lone, 0, nodes.features)[is_split].tolist(),
        "nodes_splits": as_tensor(nodes.thresholds[is_split]),
        "nodes_modes": as_tensor(np.zeros(int(is_split.sum()), dtype=np.uint8)),  # x <= threshold
        "nodes_truenodeids": left,
        "nodes_trueleafs": left_is_leaf,
        "nodes_falsenodeids": right,
        "nodes_falseleafs": right_is_leaf,
        "leaf_targetids": [0] * int(is_leaf.sum()),
        "leaf_weights": as_tensor(nodes.values[is_leaf]),
    }
