"""What targets are written from if a ranker is a net that scores each document by itself, or why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.exports.form import LinearForm, checked_names, column_scaling
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
    first_index : int or None
        As in ``LinearForm``.
    """

    net: PlainNet
    offset: np.ndarray
    scale: np.ndarray
    names: list[str] | None
    scaling: str
    ranker: str
    first_index: int | None = None

    @property
    def n_features(self) -> int:
        return self.offset.size

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The formula, in float64."""
        return self.net.scores((X - self.offset) / self.scale)

    def steepest(self) -> LinearForm:
        """About how much a feature can add at most, as a linear form: its weights are sums over all ways to the score.

        They are exact bounds for ReLU and tanh, whose slopes are at most 1.
        """
        ways = reduce(lambda found, weight: np.abs(found) @ np.abs(weight), self.net.weights[::-1])[0]
        return LinearForm(ways, 0.0, self.offset, self.scale, self.names, self.scaling, self.ranker, self.first_index)

    def lost(self, feature: int, values: np.ndarray, rounded: np.ndarray) -> float:
        """By about how much scores change at most when the values of a feature are rounded."""
        return self.steepest().lost(feature, values, rounded)

    def advice(self, feature: int) -> str:
        """What to do about such a change."""
        return self.steepest().advice(feature)


def is_a_net(ranker: Any) -> bool:
    """Whether ``net_form`` is the one to ask about a ranker."""
    return isinstance(ranker, NeuralRanker)


def net_form(ranker: Any, feature_names: Sequence[str] | None = None) -> NetForm:
    """The net of a fitted ranker.

    Parameters
    ----------
    ranker : NeuralRanker
        Without attention, and scaled as ``linear_form`` takes it.
    feature_names : sequence of str, default=None
        In the order of the columns; None takes the names of the data that the ranker was fitted to, if they had any.

    Returns
    -------
    NetForm

    Raises
    ------
    ValueError
        If a score depends on more than the features of its document; the message says why.
    """
    name = type(ranker).__name__
    check_is_fitted(ranker)
    if type(ranker)._predict_grouped is not NeuralRanker._predict_grouped:
        raise ValueError(f"{name} cannot be exported: its scores are not known to be those of its net.")
    shape = ranker._shape()
    if shape.attention:
        raise ValueError(
            f"{name} with attention={shape.attention} cannot be exported: documents are scored in sight of the others "
            "of their list, so that a score depends on these. Fit it with attention=0."
        )
    offset, scale, scaling = column_scaling(ranker, shape.n_inputs)
    names = ranker.feature_names_ if feature_names is None else feature_names
    return NetForm(
        PlainNet.of(shape, ranker.weights_), offset, scale,
        None if names is None else checked_names(names, shape.n_inputs), scaling, name,
        getattr(ranker, "first_index_", None),
    )  # fmt: skip
