"""Text files of LightGBM (``Booster.save_model``), and conversion between their trees and flat trees."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np

from plackett._arrays import bounds
from plackett.data.tables.kinds import number_text
from plackett.formats.model import ToolModel
from plackett.scorers.trees import (
    CATEGORY,
    LARGEST,
    LEAF,
    MOST_FEATURES,
    NUMBER,
    ZERO_IS_MISSING,
    FlatTrees,
    code_words,
)

DEFAULT_NAME = re.compile(r"Column_\d+")

# bits of a split's decision type: whether it is by category, whether a missing value goes left, and what is missing
_BY_CATEGORY, _MISSING_GOES_LEFT, _MISSING = 1, 2, 2
_NONE, _ZERO, _NAN = range(3)  # what is missing; without a missing value in the training data, NaN is taken as 0
_ZERO_WIDTH = float(np.float32(1e-35))  # the largest number that LightGBM takes as 0


def read_model(text: str) -> ToolModel:
    """Return the model in a file; its scores are those of ``Booster.predict(X, raw_score=True)``."""
    head = text.partition("\nTree=")[0]
    if "\nend of trees" not in text:
        raise ValueError("it ends before all trees were read. Save it again.")
    about = dict(line.split("=", 1) for line in head.splitlines() if "=" in line)
    n_features = int(about.get("max_feature_idx", "")) + 1
    names = about.get("feature_names", "").split()
    if not 1 <= n_features <= MOST_FEATURES or len(names) != n_features:
        raise ValueError(f"it has {len(names):,} feature names for {n_features:,} features.")
    n_classes = int(about.get("num_tree_per_iteration", about.get("num_class", "1")))
    objective = about.get("objective", "custom")
    if n_classes != 1:
        raise ValueError(f"it has {n_classes} scores for a row (objective={objective}), but ranking needs one.")
    trees = read_trees(text, n_features, with_constants=True)
    n_trees = len(about["tree_sizes"].split()) if "tree_sizes" in about else trees.n_trees
    if trees.n_trees != n_trees:
        raise ValueError(f"it has only {trees.n_trees:,} of {n_trees:,} trees. Save it again.")
    is_split = trees.features_ >= 0
    goes_as_zero = trees.missing_left_ == (trees.thresholds_ >= 0.0)
    numbers = is_split if not trees.kinds_.size else is_split & (trees.kinds_ != CATEGORY)
    return ToolModel(
        tool="LightGBM",
        objective=objective,
        trees=trees.with_known_counts(),
        names=None if all(map(DEFAULT_NAME.fullmatch, names)) else names,
        has_missing=bool((numbers & ~goes_as_zero).any()),
        categories=_categories(text, about, n_features),
    )


def _categories(text: str, about: dict[str, str], n_features: int) -> dict[int, np.ndarray] | None:
    """Return the categories of a pandas frame by column; None if they cannot be matched to the columns."""
    found = re.search(r"^pandas_categorical:(\[.*\])$", text, flags=re.MULTILINE)
    infos = about.get("feature_infos", "").split()
    columns = [column for column, info in enumerate(infos) if info != "none" and not info.startswith("[")]
    if found is None or len(infos) != n_features:
        return None
    lists = json.loads(found[1])
    is_list = all(isinstance(names, list) and names for names in lists)
    if (
        not is_list
        or len(lists) != len(columns)
        or not all(type(name) in (str, int, float, bool) for names in lists for name in names)
    ):
        return None
    return {column: np.array([number_text(one) for one in names]) for column, names in zip(columns, lists, strict=True)}


def read_trees(text: str, n_features: int, *, with_constants: bool = False) -> FlatTrees:
    """Return the trees of ``Booster.model_to_string()``; leaves must be constant.

    A tree without a split, which LightGBM writes if the first round finds none, is left out unless ``with_constants``.
    Arrays of the wrong length are an error; ``FlatTrees.check_loaded`` checks what they hold.
    """
    blocks = re.split(r"^Tree=\d+$", text.split("\nend of trees")[0], flags=re.MULTILINE)[1:]
    trees = [_tree(block) for block in blocks]
    kept = [tree for tree in trees if with_constants or tree["features"].size > 1]
    return FlatTrees.of(kept, n_features, zero_width=_ZERO_WIDTH)


def _tree(block: str) -> dict[str, Any]:
    lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    if lines.get("is_linear", "0") != "0":
        raise ValueError("a tree has linear leaves; only constant leaves are supported.")

    def numbers(name: str, size: int | None = None) -> np.ndarray:
        found = np.array(lines.get(name, "").split(), dtype=np.float64)
        if size is not None and found.size != size:
            raise ValueError(f"{name} of a tree has {found.size:,} numbers instead of {size:,}.")
        return found

    n_leaves = int(lines.get("num_leaves", "0"))
    values = numbers("leaf_value", n_leaves)
    if not n_leaves:
        raise ValueError("a tree has no leaves.")
    n_inner = n_leaves - 1
    thresholds = np.clip(numbers("threshold", n_inner), -LARGEST, LARGEST)  # infinite: missing values from all others
    decisions = _whole(numbers("decision_type", n_inner))
    missing, by_category = (decisions >> _MISSING) & 3, (decisions & _BY_CATEGORY) == 1
    goes_left = np.where(missing == _NONE, thresholds >= 0.0, (decisions & _MISSING_GOES_LEFT) != 0)
    kinds = np.where(by_category, CATEGORY, np.where(missing == _ZERO, ZERO_IS_MISSING, NUMBER))
    edges, words = _whole(numbers("cat_boundaries")), _whole(numbers("cat_threshold"))
    if edges.size and (edges[0] != 0 or edges[-1] != words.size or (np.diff(edges) < 0).any()):
        raise ValueError("cat_boundaries of a tree must rise from 0 to the number of words.")
    nothing = np.zeros(n_leaves)
    leaf_counts = numbers("leaf_count", n_leaves) if n_inner else nothing

    def children(name: str) -> np.ndarray:
        """Return children by number: inner nodes first, then leaves, which LightGBM counts downwards from -1."""
        child = _whole(numbers(name, n_inner))
        return np.append(np.where(child < 0, n_inner - 1 - child, child), nothing)

    return {
        "features": np.append(numbers("split_feature", n_inner), np.full(n_leaves, LEAF)),
        "thresholds": np.append(thresholds, nothing),
        "missing_left": np.append(goes_left & ~by_category, nothing),  # a missing category goes right
        "kinds": np.append(kinds, nothing),
        "sets": [words[first:last].astype(np.uint32) for first, last in pairwise(edges.tolist())],
        "left": children("left_child"),
        "right": children("right_child"),
        "values": np.append(numbers("internal_value", n_inner), values),
        "counts": np.append(numbers("internal_count", n_inner), leaf_counts),
        "gains": np.append(numbers("split_gain", n_inner), nothing),
    }


def _whole(numbers: np.ndarray) -> np.ndarray:
    if (numbers != np.floor(numbers)).any() or np.abs(numbers).max(initial=0.0) > 2.0**32:
        raise ValueError("a tree has fractions or overflows where whole numbers are needed.")
    return numbers.astype(np.int64)


def write_trees(trees: FlatTrees) -> str:
    """Return a model that ``lightgbm.Booster(model_str=...)`` reads, with the same trees.

    Where a 0 is missing, LightGBM takes every number up to 1e-35 as 0. LightGBM sends missing categories to the right;
    where a split sends them to the left, the model has the code ``missing_code(trees)`` for them.
    """
    head = [
        "tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0",
        f"max_feature_idx={trees.n_features_ - 1}", "objective=custom",
        "feature_names=" + " ".join(f"Column_{column}" for column in range(trees.n_features_)),
        "feature_infos=" + " ".join(["[-inf:inf]"] * trees.n_features_),
    ]  # fmt: skip
    blocks = [f"Tree={tree}\n{_block(trees, tree)}\n\n" for tree in range(trees.n_trees)]
    sizes = "tree_sizes=" + " ".join(str(len(block)) for block in blocks)
    return "\n".join([*head, sizes, "", *["".join(blocks) + "end of trees", ""]])


def _block(trees: FlatTrees, tree: int) -> str:
    nodes = slice(trees.starts_[tree], trees.starts_[tree + 1])
    is_leaf = trees.features_[nodes] == LEAF
    place = np.where(is_leaf, -np.cumsum(is_leaf), np.cumsum(~is_leaf) - 1)  # inner nodes upwards, leaves downwards

    def children(side: np.ndarray) -> np.ndarray:
        return place[side[nodes][~is_leaf] - nodes.start]

    kinds = trees.kinds_[nodes] if trees.kinds_.size else np.full(is_leaf.size, NUMBER)
    thresholds, by_category = trees.thresholds_[nodes].copy(), kinds == CATEGORY
    what = np.where(kinds == ZERO_IS_MISSING, _ZERO, _NAN) << _MISSING
    decisions = by_category * _BY_CATEGORY + trees.missing_left_[nodes] * _MISSING_GOES_LEFT + what
    sets = [_codes(trees, nodes.start + node) for node in np.flatnonzero(by_category)]
    thresholds[by_category] = np.arange(len(sets))
    category_lines = []
    if sets:
        category_lines = [_line("cat_boundaries", bounds([part.size for part in sets]))]
        category_lines += [_line("cat_threshold", np.concatenate(sets))]
    values, counts, n_leaves = trees.values_[nodes], trees.counts_[nodes], int(is_leaf.sum())
    rows = [
        f"num_leaves={n_leaves}",
        f"num_cat={len(sets)}",
        _line("split_feature", trees.features_[nodes][~is_leaf]),
        _line("split_gain", trees.gains_[nodes][~is_leaf]),
        _line("threshold", thresholds[~is_leaf]),
        _line("decision_type", decisions[~is_leaf]),
        _line("left_child", children(trees.left_)),
        _line("right_child", children(trees.right_)),
        *category_lines,
        _line("leaf_value", values[is_leaf]),
        _line("leaf_weight", counts[is_leaf]),
        _line("leaf_count", counts[is_leaf]),
        _line("internal_value", values[~is_leaf]),
        _line("internal_weight", counts[~is_leaf]),
        _line("internal_count", counts[~is_leaf]),
        "is_linear=0",
        "shrinkage=1",
    ]
    return "\n".join(rows)


def _line(name: str, values: np.ndarray) -> str:
    return f"{name}=" + " ".join(map(repr, values.tolist()))


def missing_code(trees: FlatTrees) -> int:
    """Return a category code that is in no set."""
    return 32 * int(np.diff(trees.set_starts_).max(initial=0))


def _codes(trees: FlatTrees, node: int) -> np.ndarray:
    """Return the codes that go left, as the words of a set."""
    codes = trees.codes(node)
    if trees.missing_left_[node]:
        codes = np.append(codes, missing_code(trees))
    return code_words(codes)
