"""What a model is exported from: its score as a linear form, trees, or a net."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.exports.forms.linear import LinearForm, linear_form
from plackett.exports.forms.nets import NetForm, net_form
from plackett.exports.forms.trees import TreeForm, tree_form
from plackett.rankers.boosting.rankboost import RankBoost
from plackett.rankers.neural.ranker import NeuralRanker
from plackett.rankers.trees.base import FlatBoostedTrees

Form = LinearForm | TreeForm | NetForm


def form_of(ranker: Any, feature_names: Sequence[str] | None = None) -> Form:
    """Return the form of a fitted ranker; raise a ValueError with the reason if it cannot be exported."""
    if getattr(ranker, "encoder_", None) is not None or getattr(ranker, "imputer_", None) is not None:
        raise ValueError(
            f"{type(ranker).__name__} cannot be exported: it encodes categories or fills missing values first. "
            "Prepare the features before training and before the engine (plackett.preprocessing)."
        )
    if isinstance(ranker, NeuralRanker):
        return net_form(ranker, feature_names)
    if isinstance(ranker, FlatBoostedTrees | RankBoost):
        return tree_form(ranker, feature_names)
    return linear_form(ranker, feature_names)
