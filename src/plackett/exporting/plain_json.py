"""Plain JSON for other programs: every number with all digits, and the formula in words."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from plackett import __version__
from plackett.exporting.forms import AnyForm, LinearForm, NetForm, TreeForm
from plackett.exporting.inputs import FORMULA, apply_inputs
from plackett.scorers.plain_net import FORMULAS, PlainNet
from plackett.scorers.trees import CATEGORY, LEAF, NUMBER, ZERO_IS_MISSING, FlatTrees, code_words

FORMAT_VERSION = 1
LINEAR_FORMULA = "score = intercept + sum of weight * (value - offset) / scale over the features"
TREE_FORMULA = (
    "score = intercept + sum over the trees of the value of a leaf; from node 0 of a tree go to node missing if the "
    "value of the feature is missing, to node left if it is <= threshold, else to node right, until there is a value"
)
CATEGORY_FORMULA = "; a node with categories instead of a threshold goes left if the code of the feature is one of them"
ZERO_FORMULA = "; a value is missing if its absolute value is at most zero_width"
NET_FORMULA = (
    "x = (value - offset) / scale for each feature; for each layer z = weight * x + bias (one z for each row of the "
    "weights), and x = activation(z) except after the last layer, whose only z is the score"
)


def write_linear(form: LinearForm, *, name: str) -> str:
    """Return a linear model as JSON, its features in the order of the columns."""
    head = _head(form, "plackett linear model", name, LINEAR_FORMULA)
    features = _features(form, weight=form.weights, offset=form.offset, scale=form.scale)
    return to_json({**head, "intercept": form.intercept, "features": features})


def score_linear(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return the scores of rows by the formula."""
    document, X = _read(content, X)
    scores = np.full(X.shape[0], document["intercept"])
    for column, feature in zip(X.T, document["features"], strict=True):
        scores += feature["weight"] * (column - feature["offset"]) / feature["scale"]
    return scores


def write_trees(form: TreeForm, *, name: str) -> str:
    """Return trees as JSON, each a list of nodes; features and nodes are counted from 0."""
    kinds = set(form.trees.kinds_.tolist())
    formula = TREE_FORMULA + CATEGORY_FORMULA * (CATEGORY in kinds) + ZERO_FORMULA * (ZERO_IS_MISSING in kinds)
    document = _head(form, "plackett trees", name, formula)
    document |= {"intercept": form.intercept, "n_features": form.n_features}
    if ZERO_IS_MISSING in kinds:
        document["zero_width"] = form.trees.zero_width_
    if form.names is not None:
        document["features"] = form.names
    if form.categories:
        document["categories"] = {str(column): names.tolist() for column, names in form.categories.items()}
    lists = [_nodes(form.trees, start, stop) for start, stop in pairwise(form.trees.starts_.tolist())]
    return to_json_lines({**document, "trees": []}, "trees", lists)


def _nodes(trees: FlatTrees, start: int, stop: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree, numbered within it."""
    nodes = []
    for node in range(start, stop):
        if trees.features_[node] == LEAF:
            nodes.append({"value": trees.values_[node].item()})
            continue
        left, right = int(trees.left_[node]) - start, int(trees.right_[node]) - start
        is_category = trees.kinds_.size and trees.kinds_[node] == CATEGORY
        rule = (
            {"categories": trees.codes(node).tolist()} if is_category else {"threshold": trees.thresholds_[node].item()}
        )
        ways = {"left": left, "right": right, "missing": left if trees.missing_left_[node] else right}
        nodes.append({"feature": int(trees.features_[node]), **rule, **ways})
    return nodes


def score_trees(content: str, X: np.ndarray, names: list[str] | None = None) -> np.ndarray:
    """Return the scores of rows by the formula."""
    document, X = _read(content, X)
    trees = [_read_tree(nodes, "zero_width" in document) for nodes in document["trees"]]
    read = FlatTrees.of(trees, document["n_features"], zero_width=document.get("zero_width", 0.0))
    return document["intercept"] + read.predict(X)


def _read_tree(nodes: list[dict[str, Any]], zero_is_missing: bool) -> dict[str, Any]:
    """Return a tree as ``FlatTrees.of`` takes it."""

    def column(key: str, default: Any) -> np.ndarray:
        return np.array([node.get(key, default) for node in nodes])

    is_category, is_leaf = (np.array([key in node for node in nodes]) for key in ("categories", "value"))
    sets = [np.array(node["categories"], dtype=np.int64) for node in nodes if "categories" in node]
    number = ZERO_IS_MISSING if zero_is_missing else NUMBER
    return {
        "features": column("feature", LEAF),
        "thresholds": np.where(is_category, np.cumsum(is_category) - 1, column("threshold", 0.0)),
        "kinds": np.where(is_category, CATEGORY, np.where(is_leaf, NUMBER, number)),
        "sets": [code_words(codes) for codes in sets],
        "left": column("left", 0),
        "right": column("right", 0),
        "missing_left": column("missing", 0) == column("left", 0),
        "values": column("value", 0.0),
    }


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
    document, X = _read(content, X)
    offset, scale = ([feature[key] for feature in document["features"]] for key in ("offset", "scale"))
    weights, biases = ([np.array(layer[key]) for layer in document["layers"]] for key in ("weight", "bias"))
    net = PlainNet(weights, biases, document["activation"])
    return net.scores((X - offset) / scale)


def _read(content: str, X: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return the document, and the columns of its model from rows of features."""
    document = json.loads(content)
    return document, X if "inputs" not in document else apply_inputs(document["inputs"], X)


def _head(form: AnyForm, kind: str, name: str, formula: str) -> dict[str, Any]:
    return {
        "format": kind,
        "version": FORMAT_VERSION,
        "plackett": __version__,
        "name": name,
        "ranker": form.ranker,
        **({"formula": formula} if form.inputs is None else {"formula": f"{FORMULA}; then {formula}"}),
        **({} if form.inputs is None else {"inputs": form.inputs.described()}),
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
