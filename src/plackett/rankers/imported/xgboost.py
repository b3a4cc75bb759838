"""Models of XGBoost: ``Booster.save_model`` as JSON."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from plackett.exceptions import DataWarning, warn
from plackett.formats.xgboost import base_score, trees_of
from plackett.rankers.imported.rankers import ImportedTrees
from plackett.scorers.trees import MOST_FEATURES, NUMBER

PLAIN = ("rank:", "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "reg:linear")
LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
MOST_WORDS = 2**24  # of sets of category codes


def read_model(document: dict[str, Any]) -> ImportedTrees:
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
    ranker = ImportedTrees.of(
        trees, "XGBoost", objective, start=start, is_single=True,
        names=names if len(names) == n_features else None,
        has_missing=bool(trees.missing_left_[is_number].any()),  # without missing values in training they go right
    )  # fmt: skip
    ranker.categories_ = _categories(learner, n_features)
    return ranker


def _categories(learner: dict[str, Any], n_features: int) -> dict[int, np.ndarray] | None:
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
