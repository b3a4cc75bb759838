"""The form that a ranker is exported in: linear, trees, or a net."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.exports.form import LinearForm, linear_form
from plackett.exports.net_form import NetForm, is_a_net, net_form
from plackett.exports.tree_form import TreeForm, is_made_of_trees, tree_form

Form = LinearForm | TreeForm | NetForm


def form_of(ranker: Any, feature_names: Sequence[str] | None = None) -> Form:
    """What a target is written from; an error that says why for a ranker that has no such form."""
    if is_a_net(ranker):
        return net_form(ranker, feature_names)
    return (tree_form if is_made_of_trees(ranker) else linear_form)(ranker, feature_names)
