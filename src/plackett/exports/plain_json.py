"""Plain JSON for other programs: every number with all digits, and the formula in words."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exports.forms import Form
from plackett.exports.forms.linear import LinearForm
from plackett.exports.forms.nets import NetForm
from plackett.exports.forms.trees import LEAF, Nodes, TreeForm
from plackett.scorers.plain_net import FORMULAS, PlainNet
from plackett.scorers.trees import FlatTrees

FORMAT_VERSION = 1
LINEAR_FORMULA = "score = intercept + sum of weight * (value - offset) / scale over the features"
TREE_FORMULA = (
    "score = intercept + sum over the trees of the value of a leaf; from node 0 of a tree go to node left if the value "
    "of the feature <= threshold, else to node right, until there is a value"
)
NET_FORMULA = (
    "x = (value - offset) / scale for each feature; for each layer z = weight * x + bias (one z for each row of the "
    "weights), and x = activation(z) but behind the last layer, whose one z is the score"
)


def write_linear(form: LinearForm, *, name: str) -> str:
    """Return a linear model as JSON, its features in the order of the columns."""
    head = _head(form, "plackett linear model", name, LINEAR_FORMULA)
    features = _features(form, weight=form.weights, offset=form.offset, scale=form.scale)
    return to_json({**head, "intercept": form.intercept, "features": features})


def score_linear(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return the scores of rows by the formula."""
    document = json.loads(content)
    scores = np.full(X.shape[0], document["intercept"])
    for column, feature in zip(X.T, document["features"], strict=True):
        scores += feature["weight"] * (column - feature["offset"]) / feature["scale"]
    return scores


def write_trees(form: TreeForm, *, name: str) -> str:
    """Return trees as JSON, each a list of nodes; features and nodes are counted from 0."""
    document = _head(form, "plackett trees", name, TREE_FORMULA)
    document |= {"intercept": form.intercept, "n_features": form.n_features}
    if form.names is not None:
        document["features"] = form.names
    lists = [_nodes(form.trees, start, stop) for start, stop in pairwise(form.trees.starts_.tolist())]
    return to_json_lines({**document, "trees": []}, "trees", lists)


def _nodes(trees: FlatTrees, start: int, stop: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree, numbered within it."""
    own = slice(start, stop)
    left, right = trees.left_[own] - start, trees.right_[own] - start
    columns = (trees.features_[own], trees.thresholds_[own], left, right, trees.values_[own])
    keys = ("feature", "threshold", "left", "right")
    return [
        {"value": node[-1]} if node[0] == LEAF else dict(zip(keys, node, strict=False))
        for node in zip(*(column.tolist() for column in columns), strict=True)
    ]


def score_trees(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return the scores of rows by the formula."""
    document = json.loads(content)

    def parts(place: tuple[list, int]) -> Any:
        tree, number = place
        node = tree[number]
        if "value" in node:
            return node["value"]
        return node["feature"], node["threshold"], (tree, node["left"]), (tree, node["right"])

    nodes = Nodes.read([(tree, 0) for tree in document["trees"]], parts, np.float64)
    return document["intercept"] + nodes.scores(X)


def write_net(form: NetForm, *, name: str) -> str:
    """Return a net as JSON, its features in the order of the columns."""
    document = _head(form, "plackett net", name, NET_FORMULA) | {
        "activation": form.net.activation,
        "activation_formula": FORMULAS[form.net.activation],
        "features": _features(form, offset=form.offset, scale=form.scale),
        "layers": [],
    }
    layers = [
        {"weight": weight.tolist(), "bias": bias.tolist()}
        for weight, bias in zip(form.net.weights, form.net.biases, strict=True)
    ]
    return to_json_lines(document, "layers", layers)


def score_net(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return the scores of rows by the formula."""
    document = json.loads(content)
    offset, scale = ([feature[key] for feature in document["features"]] for key in ("offset", "scale"))
    weights, biases = ([np.array(layer[key]) for layer in document["layers"]] for key in ("weight", "bias"))
    net = PlainNet(weights, biases, document["activation"])
    return net.scores((X - offset) / scale)


def _head(form: Form, kind: str, name: str, formula: str) -> dict[str, Any]:
    return {
        "format": kind,
        "version": FORMAT_VERSION,
        "plackett": __version__,
        "name": name,
        "ranker": form.ranker,
        "formula": formula,
    }


def _features(form: LinearForm | NetForm, **parts: np.ndarray) -> list[dict[str, Any]]:
    """Return one entry per feature, with its name where it has one."""
    names = [{}] * form.n_features if form.names is None else [{"name": name} for name in form.names]
    columns = zip(*(part.tolist() for part in parts.values()), strict=True)
    return [{**name, **dict(zip(parts, numbers, strict=True))} for name, numbers in zip(names, columns, strict=True)]


def to_json(value: Any) -> str:
    """Return indented JSON that ends with a line break."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_json_lines(document: dict[str, Any], key: str, items: list[Any]) -> str:
    """Return JSON of a document whose empty list ``key`` gets these deeply nested items, one per line."""
    text = to_json(document)
    head, empty, tail = text.partition(f'"{key}": []')  # no name can contain this: its quotes are escaped
    assert empty
    indent = " " * (len(head) - head.rindex("\n") - 1)
    if not items:
        return text
    lines = [f"{indent}  {json.dumps(item, ensure_ascii=False, allow_nan=False)}" for item in items]
    return f'{head}"{key}": [\n' + ",\n".join(lines) + f"\n{indent}]{tail}"
