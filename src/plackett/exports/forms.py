"""The form that a ranker is exported in: linear, or trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.exports.form import LinearForm, linear_form
from plackett.exports.tree_form import TreeForm, is_made_of_trees, tree_form


def form_of(ranker: Any, feature_names: Sequence[str] | None = None) -> LinearForm | TreeForm:
    """What a target is written from; an error that says why for a ranker that has no such form."""
    return (tree_form if is_made_of_trees(ranker) else linear_form)(ranker, feature_names)
