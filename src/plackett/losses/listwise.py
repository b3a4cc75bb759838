"""ListNet and RankCosine: losses between the vectors of labels and scores of a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CurvatureProduct, Loss, evaluate
from plackett.losses.softmax import sums_for_rows
from plackett.losses.transforms import Linear, Transform, TransformedLoss, get_transform


class ListNet(TransformedLoss):
    """Cross entropy between the top-one probabilities of the labels and of the scores (Cao et al. 2007).

    ``−Σ_i P_i log(φ(f_i) / Σ_j φ(f_j))`` with ``P_i = φ(y_i) / Σ_j φ(y_j)``; with the default φ both are softmaxes.
    The minimum is the entropy of P, not 0. A query with equal labels pulls its scores together.

    Parameters
    ----------
    transform : {"exp", "linear", "sigmoid", "probit"} or Linear, default="exp"
        φ, applied to the scores and to the labels. The loss is convex and has curvature products only with "exp". A
        linear φ must be positive for every score, and not negative for any label; labels with φ = 0 everywhere count as
        equal.

    Examples
    --------
    >>> from plackett.losses import ListNet
    >>> import plackett as pk
    >>> value, slope = ListNet().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 4), slope.round(4)  # log 2; 1/2 − e/(1 + e) and 1/2 − 1/(1 + e)
    (0.6931, array([-0.2311,  0.2311]))
    """

    name = "listnet"

    def __init__(self, transform: Any = "exp"):
        self.transform = transform

    def check_labels(self, lists: QueryLists) -> None:
        transform = get_transform(self.transform)
        if isinstance(transform, Linear) and lists.n_docs:
            value = transform.value(lists.labels)
            row = int(np.argmin(value))
            if value[row] < 0.0:
                raise ValueError(
                    f"{transform!r} is {value[row]:g} for the label {lists.labels[row]:g} in row {row}, but ListNet "
                    'needs probabilities: at least 0 for every label. Use a larger b, or transform="exp".'
                )

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        self._require(self.has_curvature_product, "curvature_product")
        share = _softmax(scores, lists)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty_like(share)
            _native.losses.softmax_product(share, direction, lists.indptr, out)
            return out

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        if self._is_exp:
            return super().diagonal_at(scores, lists)
        logs, inner, second = get_transform(self.transform).log_and_derivatives(scores)
        share = _softmax(logs, lists)
        return share * (1.0 - share) * inner**2 + (share - self._target(lists)) * second

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.cross_entropy(lists.indptr, self._target(lists))

    def _target(self, lists: QueryLists) -> np.ndarray:
        transform = get_transform(self.transform)
        return lists.keep(("ListNet", transform), lambda: _shares_of_labels(transform, lists))


class RankCosine(Loss):
    """Half of one minus the cosine between φ of the labels and φ of the scores (Qin et al. 2008).

    Between 0 and 1 for lists of any length. Scores (or labels) with φ = 0 everywhere have a loss of ½ and slope 0, so
    that a fit must not start there. With the default φ the loss is scale-invariant, and rankers omit the penalty
    ``l2``, which would only shrink the coefficients. Not convex: it has a curvature diagonal, but no products.

    Parameters
    ----------
    transform : {"linear", "exp", "sigmoid", "probit"} or Linear, default="linear"
        φ, applied to the scores and to the labels. A linear φ may be negative here.

    Examples
    --------
    >>> from plackett.losses import RankCosine
    >>> import plackett as pk
    >>> queries = pk.Queries([[1], [2]], y=[1, 0])
    >>> value, slope = RankCosine().value_and_slope([3.0, 4.0], queries)
    >>> round(value, 4), slope.round(4)  # ½ (1 − 3/5); ½ (0.6 · 0.6 − 1) / 5 and ½ (0.6 · 0.8) / 5
    (0.2, array([-0.064,  0.048]))
    """

    name = "rankcosine"
    ignores_shifts = False
    is_convex = False

    @property
    def is_scale_free(self) -> bool:  # type: ignore[override]
        transform = get_transform(self.transform)
        return isinstance(transform, Linear) and transform.b == 0

    @property
    def is_flat_at_zero(self) -> bool:  # type: ignore[override]
        return self.is_scale_free

    def __init__(self, transform: Any = "linear"):
        self.transform = transform

    def check_labels(self, lists: QueryLists) -> None:
        get_transform(self.transform)

    @property
    def has_native(self) -> bool:
        return isinstance(get_transform(self.transform), Linear) and super().has_native

    def native(self, lists: QueryLists) -> Any:
        transform = get_transform(self.transform)
        if not isinstance(transform, Linear):
            return None
        a, b = float(transform.a), float(transform.b)
        return lists.keep(
            ("RankCosine compiled", transform),
            lambda: _native.losses.cosine_of_linear(lists.indptr, self._target(lists), a, b),
        )

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        transform = get_transform(self.transform)
        if isinstance(transform, Linear):
            return evaluate(self.native(lists), scores, lists, slope)
        losses = np.empty(lists.n_queries)
        unit, inner, _ = _unit_vectors(transform, scores, lists)
        _native.losses.cosine_of_unit(unit, self._target(lists), lists.indptr, losses, slope)
        slope *= inner
        return losses

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        unit, inner, second = _unit_vectors(get_transform(self.transform), scores, lists)
        slope, curvature = np.empty_like(scores), np.empty_like(scores)
        _native.losses.cosine_of_unit(unit, self._target(lists), lists.indptr, np.empty(lists.n_queries), slope)
        _native.losses.cosine_diagonal(unit, self._target(lists), lists.indptr, curvature)
        return curvature * inner**2 + slope * second

    def _target(self, lists: QueryLists) -> np.ndarray:
        transform = get_transform(self.transform)
        return lists.keep(("RankCosine", transform), lambda: _unit_vectors(transform, lists.labels, lists)[0])


def _softmax(values: np.ndarray, lists: QueryLists) -> np.ndarray:
    out = np.empty_like(values)
    _native.losses.softmax(values, lists.indptr, out)
    return out


def _shares_of_labels(transform: Transform, lists: QueryLists) -> np.ndarray:
    """Return φ of each label divided by the sum of its query."""
    if not isinstance(transform, Linear):
        return _softmax(transform.log_and_slope(lists.labels)[0], lists)
    value = transform.value(lists.labels)
    value[sums_for_rows(value, lists) == 0.0] = 1.0  # all 0: like other equal labels
    return value / sums_for_rows(value, lists)


def _unit_vectors(transform: Transform, scores: np.ndarray, lists: QueryLists) -> tuple[np.ndarray, Any, Any]:
    """Return φ of the scores, scaled to norm 1 in each query, and its two derivatives by the score, equally scaled."""
    lengths = np.empty(lists.n_queries)
    if isinstance(transform, Linear):
        unit = transform.value(scores)
        _native.losses.to_unit_length(unit, lists.indptr, lengths)
        lengths[lengths == 0.0] = 1.0  # slope and curvature are 0 there
        return unit, np.repeat(transform.a / lengths, np.diff(lists.indptr)), 0.0
    logs, slope, second = transform.log_and_derivatives(scores)
    unit = np.empty_like(logs)
    _native.losses.exp_below_largest(logs, lists.indptr, unit)
    _native.losses.to_unit_length(unit, lists.indptr, lengths)
    return unit, unit * slope, unit * (slope**2 + second)
