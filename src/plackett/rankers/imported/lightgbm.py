"""Text files of LightGBM: ``Booster.save_model``."""

from __future__ import annotations

import json
import re

import numpy as np

from plackett.data.tables.kinds import number_text
from plackett.formats.lightgbm import read_trees
from plackett.rankers.imported.rankers import ImportedTrees
from plackett.scorers.trees import CATEGORY, MOST_FEATURES

DEFAULT_NAME = re.compile(r"Column_\d+")


def read_model(text: str) -> ImportedTrees:
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
    ranker = ImportedTrees.of(
        trees.with_known_counts(), "LightGBM", objective,
        names=None if all(map(DEFAULT_NAME.fullmatch, names)) else names,
        has_missing=bool((numbers & ~goes_as_zero).any()),
    )  # fmt: skip
    ranker.categories_ = _categories(text, about, n_features)
    return ranker


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
        or not all(type(one) in (str, int, float, bool) for names in lists for one in names)
    ):
        return None
    return {column: np.array([number_text(one) for one in names]) for column, names in zip(columns, lists, strict=True)}
