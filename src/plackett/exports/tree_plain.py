"""Trees as plain JSON for programs of one's own: every number with all digits, and the rule in words."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exports.tree_form import TreeForm
from plackett.exports.tree_nodes import LEAF, Nodes, with_one_per_line
from plackett.rankers.trees.flat_trees import FlatTrees

FORMAT = "plackett trees"
FORMAT_VERSION = 1
FORMULA = (
    "score = intercept + sum over the trees of the value of a leaf; from node 0 of a tree go to node left if the value "
    "of the feature <= threshold, else to node right, until there is a value"
)


def write_json_trees(form: TreeForm, *, name: str) -> str:
    """The trees as JSON, each a list of nodes; features and nodes are counted from 0."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "plackett": __version__,
        "name": name,
        "ranker": form.ranker,
        "formula": FORMULA,
        "intercept": form.intercept,
        "n_features": form.n_features,
    }
    if form.names is not None:
        document["features"] = form.names
    lists = [_nodes(form.trees, start, stop) for start, stop in pairwise(form.trees.starts_.tolist())]
    return with_one_per_line({**document, "trees": []}, "trees", lists)


def _nodes(trees: FlatTrees, start: int, stop: int) -> list[dict[str, Any]]:
    """The nodes of a tree, numbered within it."""
    own = slice(start, stop)
    left, right = trees.left_[own] - start, trees.right_[own] - start
    columns = (trees.features_[own], trees.thresholds_[own], left, right, trees.values_[own])
    keys = ("feature", "threshold", "left", "right")
    return [
        {"value": node[-1]} if node[0] == LEAF else dict(zip(keys, node, strict=False))
        for node in zip(*(column.tolist() for column in columns), strict=True)
    ]


def score_json_trees(content: str, X: np.ndarray) -> np.ndarray:
    """The formula over rows."""
    document = json.loads(content)
    trees = document["trees"]

    def parts(place: tuple[list, int]) -> Any:
        tree, number = place
        node = tree[number]
        if "value" in node:
            return node["value"]
        return node["feature"], node["threshold"], (tree, node["left"]), (tree, node["right"])

    return document["intercept"] + Nodes.read([(tree, 0) for tree in trees], parts, np.float64).scores(X)
