"""Models of RankLib: ensembles of trees in XML, and linear models and RankBoost as lines of numbers.

RankLib numbers features from 1 and does not write how many there are. It reads features, thresholds and missing values
(which are 0) in single precision, and goes left where ``x <= threshold``.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

import numpy as np

from plackett.formats.detect import ENSEMBLES, LINEAR, RANKBOOST
from plackett.formats.model import ToolModel
from plackett.formats.xgboost import last_at_most
from plackett.scorers.trees import LEAF, MOST_FEATURES, FlatTrees

DEEPEST = 10_000  # nested tags
MOST_LINEAR = 2**24  # weights, one for each feature up to the largest number in the file
COLUMNS: dict[str, Any] = {"tool": "RankLib", "first_index": 1, "ignores_further_columns": True}
_TAGS = {"ensemble": ("models",), "tree": ("ensemble",), "split": ("tree", "split")}
_TAGS |= dict.fromkeys(("feature", "threshold", "output"), ("split",))


def read_model(text: str) -> ToolModel:
    """Return the model in a file."""
    lines = text.splitlines()
    name = next((line.lstrip("#").strip() for line in lines if line.startswith("#")), "LambdaMART")
    content = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if name in ENSEMBLES:
        return _ensembles(name, "\n".join(content))
    if name in LINEAR:
        return _linear(name, content)
    if name == RANKBOOST:
        return _rankboost(content)
    known = ", ".join((*ENSEMBLES, *LINEAR, RANKBOOST))
    raise ValueError(f"it is a model of RankLib's {name[:60]!r}; supported are {known}.")


def _ensembles(name: str, text: str) -> ToolModel:
    found = _Ensembles()
    found.read(text)
    if not found.trees:
        raise ValueError("it has no trees.")
    is_forest = name == "Random Forests"  # which adds up in double precision
    n_features = max(int(tree["features"].max()) for tree in found.trees) + 1
    trees = FlatTrees.of(found.trees, max(n_features, 1))
    if is_forest:
        trees.values_ = _as_single(trees.values_)
    scale = 1.0 / found.n_ensembles if is_forest else 1.0
    return ToolModel(objective=name, trees=trees, is_single=not is_forest, scale=scale, **COLUMNS)


class _Ensembles:
    """Trees of XML text, read tag by tag: no tree of tags is built, and nothing outside the text is read."""

    def __init__(self) -> None:
        self.trees: list[dict[str, np.ndarray]] = []
        self.n_ensembles = 0
        self._open: list[str] = []  # tags
        self._splits: list[int] = []  # numbers of the nodes that are open
        self._texts: list[str] = []

    def read(self, text: str) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = self._texts.append, _refuse_doctype
        try:
            parser.Parse(f"<models>{text}</models>", True)
        except expat.ExpatError as error:
            raise ValueError(f"it is not valid XML ({error}).") from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        inside = self._open[-1] if self._open else None
        if tag != "models" and inside not in _TAGS.get(tag, ()):
            raise ValueError(f"<{tag[:40]}> is not expected in <{str(inside)[:40]}>.")
        if len(self._open) >= DEEPEST:
            raise ValueError(f"tags are nested more than {DEEPEST:,} deep.")
        self._open.append(tag)
        self._texts.clear()
        if tag == "ensemble":
            self.n_ensembles += 1
        elif tag == "tree":
            self._nodes: list[dict[str, Any]] = []
            self._weight = float(np.float32(attributes.get("weight", "1")))
        elif tag == "split":
            self._nodes.append({"children": {}})
            if self._splits:
                side = attributes.get("pos")
                siblings = self._nodes[self._splits[-1]]["children"]
                if side not in ("left", "right") or side in siblings:
                    raise ValueError("a split must have one part with pos='left' and one with pos='right'.")
                siblings[side] = len(self._nodes) - 1
            elif len(self._nodes) > 1:
                raise ValueError("a tree has several roots.")
            self._splits.append(len(self._nodes) - 1)

    def _end(self, tag: str) -> None:
        self._open.pop()
        if tag in ("feature", "threshold", "output"):
            self._nodes[self._splits[-1]][tag] = float("".join(self._texts).strip())
        elif tag == "split":
            self._splits.pop()
        elif tag == "tree":
            self.trees.append(self._tree())

    def _tree(self) -> dict[str, np.ndarray]:
        if not self._nodes:
            raise ValueError("a tree has no nodes.")
        is_leaf = np.array(["output" in node for node in self._nodes])
        for node, leaf in zip(self._nodes, is_leaf.tolist(), strict=True):
            wanted = ({"output"}, 0) if leaf else ({"feature", "threshold"}, 2)
            if (set(node) - {"children"}, len(node["children"])) != wanted:
                raise ValueError("a node must have an output, or a feature, a threshold and two parts.")

        def numbers(key: str, default: float) -> np.ndarray:
            return np.array([node.get(key, default) for node in self._nodes])

        def children(side: str) -> np.ndarray:
            return np.array([node["children"].get(side, 0) for node in self._nodes], dtype=np.int64)

        features = numbers("feature", 0.0)
        _check_features(features[~is_leaf])
        return {
            "features": np.where(is_leaf, LEAF, features - 1).astype(np.int64),
            "thresholds": np.where(is_leaf, 0.0, last_at_most(numbers("threshold", 0.0))),
            "left": children("left"),
            "right": children("right"),
            "values": _as_single(numbers("output", 0.0)) * self._weight,
        }


def _as_single(numbers: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # infinite values are rejected later
        return numbers.astype(np.float32).astype(np.float64)


def _refuse_doctype(*_: Any) -> None:
    raise ValueError("it declares a document type, which RankLib models never do.")


def _check_features(numbers: np.ndarray) -> None:
    is_wrong = (numbers < 1) | (numbers > MOST_FEATURES) | (numbers != np.floor(numbers))
    if is_wrong.any():
        raise ValueError(f"features must be numbered from 1; found feature {numbers[is_wrong][0]:g}.")


def _numbers(content: list[str], n_parts: int, name: str) -> np.ndarray:
    """Return the numbers of ``a:b`` or ``a:b:c`` in lines, one row for each."""
    rows = [pair.split(":") for line in content for pair in line.split()]
    if not rows or any(len(row) != n_parts for row in rows):
        raise ValueError(f"a model of {name} must hold numbers such as {'1:0.5' if n_parts == 2 else '1:0.5:0.25'}.")
    return np.array(rows, dtype=np.float64)


def _linear(name: str, content: list[str]) -> ToolModel:
    """Return a sum of weights times features; key 0 is the constant of a linear regression."""
    keys, weights = _numbers(content, 2, name).T
    is_constant = (keys == 0) & (name == "Linear Regression")
    _check_features(keys[~is_constant])
    places = keys[~is_constant].astype(np.int64) - 1
    n_features = int(places.max(initial=0)) + 1
    if n_features > MOST_LINEAR:
        raise ValueError(f"found feature {n_features:,}; at most {MOST_LINEAR:,} are supported.")
    coef = np.bincount(places, weights=weights[~is_constant], minlength=n_features)
    return ToolModel(objective=name, coef=coef, start=float(weights[is_constant].sum()), **COLUMNS)


def _rankboost(content: list[str]) -> ToolModel:
    """Return stumps: α is added where the feature is above the threshold."""
    features, thresholds, alphas = _numbers(content, 3, RANKBOOST).T
    _check_features(features)
    rounded = _as_single(thresholds)  # which are double, but are compared with features in single precision
    with np.errstate(over="ignore"):
        below = np.nextafter(rounded.astype(np.float32), np.float32(-np.inf))
    limits = last_at_most(np.where(rounded > thresholds, below, rounded))
    steps = np.rec.fromarrays([(features - 1).astype(np.int64), alphas, limits, limits < 0.0])
    return ToolModel(objective=RANKBOOST, trees=FlatTrees.of_stumps(steps, int(features.max())), **COLUMNS)
