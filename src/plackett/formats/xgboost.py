"""Models of XGBoost, ``Booster.save_model`` as JSON, to flat trees.

XGBoost rounds rows to single precision and goes left where ``x < threshold``; flat trees go left where
``x <= threshold``. Thresholds are replaced by the largest double that XGBoost sends left, so that every row reaches the
same leaf, in either precision.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np

from plackett.exceptions import DataWarning, warn
from plackett.formats.model import ToolModel
from plackett.scorers.trees import CATEGORY, LEAF, MOST_FEATURES, NUMBER, ZERO_IS_MISSING, FlatTrees, code_words

PLAIN = ("rank:", "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "reg:linear")
LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
MOST_WORDS = 2**24  # of sets of category codes
ZERO_WIDTH = 2.0**-150  # the largest number that single precision rounds to 0
LARGEST_CODE = 2**24  # of a category
COVER_OF_A_TREE = 2**30  # counts of a tree, divided among nodes by the curvature of their rows


def read_model(document: dict[str, Any]) -> ToolModel:
    """Return the model in a file; its scores are those of ``Booster.predict(data, output_margin=True)``.

    After early stopping, the rounds up to the best one are used, as by ``XGBRanker``.
    """
    learner = document["learner"]
    params, objective = learner["learner_model_param"], str(learner["objective"]["name"])
    if int(params.get("num_class", 0)) > 1 or int(params.get("num_target", 1)) > 1:
        raise ValueError(f"it has several scores for a row (objective={objective}), but ranking needs one.")
    n_features = int(params["num_feature"])
    if not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(f"it has {n_features:,} features; from 1 to {MOST_FEATURES:,} are supported.")
    start = base_score(learner)
    if objective.startswith(LOGISTIC):
        if not 0.0 < start < 1.0:
            raise ValueError(f"its base score {start:g} is not a probability.")
        start = -math.log(np.float32(1.0) / np.float32(start) - np.float32(1.0))  # up to the last bit
    elif not objective.startswith(PLAIN):
        raise ValueError(f"the raw scores of its objective {objective!r} are not supported.")
    _check_sizes(learner)
    trees = trees_of(learner, _best_rounds(learner), n_features, zero_is_missing=False)
    is_number = trees.features_ >= 0 if not trees.kinds_.size else (trees.features_ >= 0) & (trees.kinds_ == NUMBER)
    names = [str(name) for name in learner.get("feature_names") or []]
    return ToolModel(
        tool="XGBoost",
        objective=objective,
        trees=trees,
        start=start,
        is_single=True,
        names=names if len(names) == n_features else None,
        has_missing=bool(trees.missing_left_[is_number].any()),  # without missing values in training they go right
        categories=_category_names(learner, n_features),
    )


def _category_names(learner: dict[str, Any], n_features: int) -> dict[int, np.ndarray] | None:
    """Return the names of categories by column, if XGBoost was trained with a data frame; None without names.

    XGBoost cuts the names of a pandas frame from UTF-8 text by numbers of characters, not bytes, so names that are not
    ASCII are wrong in the file, which cannot be detected.
    """
    parts = learner["gradient_booster"]["model"].get("cats", {}).get("enc", ())
    found, doubtful = {}, []
    for column, part in enumerate(parts if len(parts) == n_features else ()):
        bounds, values = (np.asarray(part.get(key, ()), dtype=np.int64) for key in ("offsets", "values"))
        if "offsets" not in part and values.size:  # categories that are whole numbers
            found[column] = values.astype(str)
        if bounds.size < 2:
            continue
        if bounds[0] != 0 or bounds[-1] != values.size or (np.diff(bounds) < 0).any():
            raise ValueError("its names of categories must be parts of a text.")
        text = (values & 255).astype(np.uint8).tobytes()
        if text.isascii():
            found[column] = np.array([text[first:last].decode() for first, last in pairwise(bounds.tolist())])
        else:
            doubtful.append(column)
    if doubtful:
        warn(
            f"XGBoost may have truncated names of categories in column {', '.join(map(str, doubtful))}, because they "
            "are not ASCII. They are not used: pass the training codes there, as numbers.",
            DataWarning,
        )
    return found or None


def _best_rounds(learner: dict[str, Any]) -> int | None:
    best = learner.get("attributes", {}).get("best_iteration")
    bounds = learner["gradient_booster"].get("model", {}).get("iteration_indptr")
    if best is None or not bounds:
        return None
    n_rounds = int(best) + 1
    if not 0 < n_rounds < len(bounds):
        raise ValueError(f"its best iteration is {best}, but it has {len(bounds) - 1} rounds.")
    return n_rounds


def _check_sizes(learner: dict[str, Any]) -> None:
    """Raise for trees whose leaves are vectors, and for sets of categories that need far more memory than the file."""
    n_words = 0
    for tree in learner["gradient_booster"].get("model", {}).get("trees", ()):
        if int(tree.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
            raise ValueError("a leaf of a tree has several values, but ranking needs one.")
        if len(tree.get("categories_nodes", ())):
            largest = int(np.max(np.asarray(tree["categories"], dtype=np.int64), initial=0))
            n_words += (largest // 32 + 1) * len(tree["categories_nodes"])
    if n_words > MOST_WORDS:
        raise ValueError("its splits by category have too many codes.")


def read_trees(text: bytes, n_rounds: int, n_features: int, *, zero_is_missing: bool) -> tuple[FlatTrees, float]:
    """Return the trees of the first rounds of ``Booster.save_raw("json")``, and the base score.

    Instead of row counts, XGBoost stores sums of curvature (the cover), on which its contributions depend: ``counts_``
    are proportional to these. With ``zero_is_missing`` a 0 goes where splits send missing values.
    """
    learner = json.loads(text)["learner"]
    trees = trees_of(learner, n_rounds, n_features, zero_is_missing=zero_is_missing)
    return trees, base_score(learner)


def trees_of(learner: dict[str, Any], n_rounds: int | None, n_features: int, *, zero_is_missing: bool) -> FlatTrees:
    """Return the trees of the first rounds of a model, or of all."""
    booster = learner["gradient_booster"]
    model = booster.get("model", {})
    # XGBoost 3.4 and later call both kinds of trees "gbtree"; those of dart have weights
    name = "dart" if any(weight != 1 for weight in model.get("weight_drop", ())) else booster["name"]
    if name != "gbtree":
        raise ValueError(f"the booster is {name!r}; only trees that do not change (gbtree) are supported.")
    n_trees = len(model["trees"]) if n_rounds is None else model["iteration_indptr"][n_rounds]
    trees = [_tree(tree) for tree in model["trees"][:n_trees]]
    if zero_is_missing and any(_separates_zero(tree) for tree in trees):
        trees = [{**tree, "kinds": np.where(tree["features"] == LEAF, 0, ZERO_IS_MISSING)} for tree in trees]
    return FlatTrees.of(trees, n_features, zero_width=ZERO_WIDTH)


def base_score(learner: dict[str, Any]) -> float:
    """Return the number that the trees add to, before the transformation by the objective."""
    return float(np.float32(learner["learner_model_param"]["base_score"].strip("[]")))


def last_below(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest doubles that single precision rounds to less than these thresholds."""
    with np.errstate(over="ignore"):
        limits = np.array([np.nextafter(thresholds, np.float32(-np.inf)), thresholds], dtype=np.float64)
        limits = np.clip(limits, -(2.0**128), 2.0**128)  # the next power of 2 follows the largest number
        middle = limits.mean(axis=0)
        is_less = middle.astype(np.float32) < thresholds
    return np.where(is_less, middle, np.nextafter(middle, -np.inf))


def last_at_most(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest doubles that single precision rounds to at most these numbers."""
    with np.errstate(over="ignore"):
        return last_below(np.nextafter(thresholds.astype(np.float32), np.float32(np.inf)))


def _tree(tree: dict[str, Any]) -> dict[str, Any]:
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    order = _reachable(left, right)
    place = np.zeros(left.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    is_leaf = left[order] < 0

    def numbers(name: str, dtype: Any = np.float32) -> np.ndarray:
        found = np.array(tree[name], dtype=dtype)
        if found.shape != left.shape:
            raise ValueError(f"{name} of a tree has {found.size:,} numbers for {left.size:,} nodes.")
        return found[order]

    conditions, cover = numbers("split_conditions"), numbers("sum_hessian").astype(np.float64)
    if not (np.isfinite(conditions[is_leaf]).all() and np.isfinite(cover).all()):
        raise ValueError("leaves of XGBoost's trees overflowed. Lower learning_rate.")
    found = {
        "features": np.where(is_leaf, LEAF, numbers("split_indices", np.int64)),
        "thresholds": np.where(is_leaf, 0.0, last_below(conditions)),
        "left": np.where(is_leaf, 0, place[left[order]]),
        "right": np.where(is_leaf, 0, place[right[order]]),
        "values": np.where(is_leaf, conditions, 0.0).astype(np.float64),
        "counts": np.maximum(np.rint(cover * (COVER_OF_A_TREE / (cover[0] or 1.0))), 1.0),  # no count is 0
        "gains": np.where(is_leaf, 0.0, numbers("loss_changes")),
        "missing_left": numbers("default_left", bool),
    }
    sum_up(found, np.flatnonzero(~is_leaf))
    return _with_categories(found, tree, place) if len(tree.get("categories_nodes", ())) else found


def _with_categories(found: dict[str, Any], tree: dict[str, Any], place: np.ndarray) -> dict[str, Any]:
    """Return the tree with splits by category.

    XGBoost sends the categories of a split to the right, flat trees to the left: the children change places.
    """
    names = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
    codes, nodes, starts, sizes = (np.array(tree[name], dtype=np.int64) for name in names)
    if not nodes.size == starts.size == sizes.size or nodes.min() < 0 or nodes.max() >= place.size:
        raise ValueError("a tree names categories of nodes that it does not have.")
    if codes.size and not 0 <= codes.min() <= codes.max() < LARGEST_CODE:
        raise ValueError(f"categories must be codes from 0 to {LARGEST_CODE:,}.")
    if ((starts < 0) | (sizes < 0) | (starts + sizes > codes.size)).any():
        raise ValueError("a tree names more categories than it has.")
    by_category = place[nodes]
    swapped = {"left": found["left"].copy(), "right": found["right"].copy()}
    swapped["left"][by_category] = found["right"][by_category]
    swapped["right"][by_category] = found["left"][by_category]
    kinds = np.zeros(found["features"].size, dtype=np.uint8)
    kinds[by_category] = CATEGORY
    if (found["features"][by_category] == LEAF).any():
        raise ValueError("a leaf of a tree has categories.")
    thresholds, missing_left = found["thresholds"].copy(), found["missing_left"].copy()
    thresholds[by_category] = np.arange(by_category.size)
    missing_left[by_category] = ~missing_left[by_category]
    sets = [code_words(codes[start : start + size]) for start, size in zip(starts, sizes, strict=True)]
    return {**found, **swapped, "thresholds": thresholds, "missing_left": missing_left, "kinds": kinds, "sets": sets}


def _reachable(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the nodes that can be reached, level by level, without those that XGBoost has pruned."""
    if left.ndim != 1 or left.shape != right.shape or not left.size:
        raise ValueError("a tree has no nodes, or not as many left children as right ones.")
    if max(left.max(), right.max()) >= left.size or ((left < 0) != (right < 0)).any():
        raise ValueError("a node of a tree has a child that does not exist.")
    level, levels, n_reached = np.zeros(1, dtype=np.int64), [], 0
    while level.size:
        n_reached += level.size
        if n_reached > left.size:
            raise ValueError("the nodes of a tree form a cycle, or have several parents.")
        levels.append(level)
        inner = level[left[level] >= 0]
        level = np.column_stack([left[inner], right[inner]]).ravel()
    return np.concatenate(levels)


def sum_up(tree: dict[str, np.ndarray], inner: np.ndarray) -> None:
    """Set the counts of splits to sums over their leaves, and values to means."""
    left, right, values, counts = (tree[name].tolist() for name in ("left", "right", "values", "counts"))
    for node in inner[::-1].tolist():
        one, other = left[node], right[node]
        counts[node] = counts[one] + counts[other]
        values[node] = (values[one] * counts[one] + values[other] * counts[other]) / counts[node]
    tree["values"], tree["counts"] = np.array(values), np.array(counts)


def _separates_zero(tree: dict[str, np.ndarray]) -> bool:
    """Return whether a split sends a 0 to another side than the numbers around it."""
    is_split = tree["features"] != LEAF
    return bool((tree["missing_left"] != (tree["thresholds"] >= 0.0))[is_split].any())
