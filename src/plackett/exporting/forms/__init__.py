"""What a model is exported from: its score as a linear form, trees, or a net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plackett.exporting.forms.inputs import inputs_of
from plackett.exporting.forms.linear import LinearForm, linear_form
from plackett.exporting.forms.nets import NetForm, net_form
from plackett.exporting.forms.trees import TreeForm, tree_form
from plackett.rankers.boosting.rankboost import RankBoost
from plackett.rankers.neural.ranker import NeuralRanker
from plackett.rankers.trees.scores import TreeScores

Form = LinearForm | TreeForm | NetForm


def form_of(ranker: Any, feature_names: Sequence[str] | None = None) -> Form:
    """Return the form of a fitted ranker; raise a ValueError with the reason if it cannot be exported."""
    form: Form
    if isinstance(ranker, NeuralRanker):
        form = net_form(ranker, feature_names)
    elif isinstance(ranker, TreeScores | RankBoost):
        form = tree_form(ranker, feature_names)
    else:
        form = linear_form(ranker, feature_names)
    return replace(form, inputs=inputs_of(ranker, feature_names))
