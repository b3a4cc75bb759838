"""Rankers that are nets and score each document independently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.exporting.forms.inputs import Inputs, model_names
from plackett.exporting.forms.linear import LinearForm, checked_names, column_scaling
from plackett.rankers.neural.ranker import NeuralRanker
from plackett.scorers.plain_net import PlainNet


@dataclass(frozen=True)
class NetForm:
    """A score ``net((x - offset) / scale)`` of the raw features x.

    Attributes
    ----------
    net : PlainNet
    offset, scale : ndarrays of shape (n_features,)
        The offset is 0 and the scale 1 where columns are not scaled; scales are positive.
    names : list of str or None
        Of the features, in the order of the columns.
    scaling : str
        As in ``LinearForm``.
    ranker : str
        Name of the ranker's class.
    first_index, inputs
        As in ``LinearForm``.
    """

    net: PlainNet
    offset: np.ndarray
    scale: np.ndarray
    names: list[str] | None
    scaling: str
    ranker: str
    first_index: int | None = None
    inputs: Inputs | None = None

    @property
    def n_features(self) -> int:
        return self.offset.size

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows by the formula, in float64."""
        return self.net.scores((X - self.offset) / self.scale)

    def steepest(self) -> LinearForm:
        """Return approximately how much each feature can change a score, as a linear form.

        Its weights are sums over all paths to the score: exact bounds for ReLU and tanh, whose slopes are at most 1.
        """
        bounds = reduce(lambda found, weight: np.abs(found) @ np.abs(weight), self.net.weights[::-1])[0]
        return LinearForm(bounds, 0.0, self.offset, self.scale, self.names, self.scaling, self.ranker, self.first_index)


def net_form(ranker: Any, feature_names: Sequence[str] | None = None) -> NetForm:
    """Return the net of a fitted ranker without attention; raise a ``ValueError`` that says why others have none."""
    name = type(ranker).__name__
    check_is_fitted(ranker)
    if not isinstance(ranker, NeuralRanker) or not ranker.predicts_as(NeuralRanker):
        raise ValueError(f"{name} cannot be exported: its scores are not known to be those of its net.")
    shape = ranker.net_shape()
    if shape.attention:
        raise ValueError(
            f"{name} with attention={shape.attention} cannot be exported: the score of a document depends on the "
            "other documents of its list. Fit it with attention=0."
        )
    offset, scale, scaling = column_scaling(ranker, shape.n_inputs)
    names = model_names(ranker, feature_names)
    return NetForm(
        PlainNet.of(shape, ranker.weights_), offset, scale,
        None if names is None else checked_names(names, shape.n_inputs), scaling, name,
        getattr(ranker, "first_index_", None),
    )  # fmt: skip
