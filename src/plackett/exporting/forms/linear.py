"""Rankers whose score is linear in the raw features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.exporting.forms.inputs import Inputs, model_names
from plackett.rankers.base import Normalized
from plackett.rankers.linear_scores import LinearScores
from plackett.validation import count_of, feature_number, is_sparse

ROUNDING = 2.5e-7  # relative, of scalers fitted in float32


@dataclass(frozen=True)
class LinearForm:
    """A score ``intercept + Σ_j weights_j (x_j - offset_j) / scale_j`` of the raw features x.

    Attributes
    ----------
    weights, offset, scale : ndarrays of shape (n_features,)
        The offset is 0 and the scale 1 where columns are not scaled; scales are positive.
    intercept : float
        The constant of the score.
    names : list of str or None
        Of the features, in the order of the columns.
    scaling : {"none", "standard", "minmax"}
        Whether offset and scale are unused, a centre and a spread, or a minimum and a range.
    ranker : str
        Name of the ranker's class.
    first_index : int or None
        Number of the first feature in the training file; None for arrays.
    inputs : Inputs or None
        How the columns are computed from the features; None if they are the features.

    Examples
    --------
    >>> from plackett.exporting.forms.linear import linear_form
    >>> import plackett as pk
    >>> form = linear_form(pk.LinearRanker("squared", l2=0).fit([[1.0], [2.0], [3.0]], [0, 1, 2]), ["bm25"])
    >>> form.names, form.weights.round(6), form.scaling
    (['bm25'], array([1.]), 'none')
    """

    weights: np.ndarray
    intercept: float
    offset: np.ndarray
    scale: np.ndarray
    names: list[str] | None
    scaling: str
    ranker: str
    first_index: int | None = None
    inputs: Inputs | None = None

    @property
    def n_features(self) -> int:
        return self.weights.size

    def label(self, feature: int) -> str:
        """Return the name of a feature in messages."""
        return feature_number(feature, self.first_index) if self.names is None else f"feature {self.names[feature]!r}"

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows by the formula, in float64."""
        return self.intercept + ((X - self.offset) / self.scale) @ self.weights

    def folded(self) -> tuple[np.ndarray, float]:
        """Return weights of the raw features and their intercept, for targets that do not scale."""
        weights = self.weights / self.scale
        return weights, float(self.intercept - self.offset @ weights)

    def without_intercept(self) -> LinearForm:
        """Return the same scores with an intercept of 0, for targets that have none.

        The offset of the feature with the largest weight changes: its term then includes the intercept.
        """
        if self.intercept == 0.0:
            return self
        feature = int(np.argmax(np.abs(self.weights)))
        if self.weights[feature] == 0.0:
            raise ValueError(
                f"every weight of this {self.ranker} is 0, so all documents have the same score, "
                f"{self.intercept:.6g}; a model without an intercept cannot express that."
            )
        offset = self.offset.copy()
        with np.errstate(over="ignore"):  # targets reject an offset that overflowed
            offset[feature] -= self.intercept * self.scale[feature] / self.weights[feature]
        return replace(self, offset=offset, intercept=0.0)


def linear_form(ranker: Any, feature_names: Sequence[str] | None = None) -> LinearForm:
    """Return the linear form of a fitted ranker.

    Parameters
    ----------
    ranker : LinearRanker, AdaRank, PRank or SVMMap
        Without ``normalize``, or with one that scales columns by what it learned from the training data: ``"minmax"``,
        ``"zscore"``, scikit-learn's ``MinMaxScaler``, ``StandardScaler``, ``MaxAbsScaler`` or ``RobustScaler``.
    feature_names : sequence of str, default=None
        In the order of the columns; None uses the names of the training data, if it has any.

    Returns
    -------
    LinearForm

    Raises
    ------
    ValueError
        If the score is not linear in the features; the message says why.

    Examples
    --------
    >>> from plackett.exporting.forms.linear import linear_form
    >>> import plackett as pk
    >>> ranker = pk.LinearRanker("squared", l2=0).fit([[1.0], [2.0], [3.0]], [0, 1, 2])
    >>> form = linear_form(ranker)
    >>> form.weights.round(6), round(form.intercept, 6)
    (array([1.]), -1.0)
    """
    if not isinstance(ranker, LinearScores) or not ranker.predicts_as(LinearScores):
        raise ValueError(_refusal(ranker))
    check_is_fitted(ranker)
    offset, scale, scaling = column_scaling(ranker, ranker.coef_.size)
    names = model_names(ranker, feature_names)
    form = LinearForm(
        np.array(ranker.coef_, dtype=np.float64), float(ranker.intercept_), offset, scale,
        None if names is None else checked_names(names, ranker.coef_.size), scaling, type(ranker).__name__,
        getattr(ranker, "first_index_", None),
    )  # fmt: skip
    numbers = np.concatenate([form.weights, form.offset, form.scale, [form.intercept]])
    if not np.isfinite(numbers).all() or (form.scale <= 0.0).any():
        raise ValueError(
            f"this {form.ranker} has a weight or a scale that is not a finite number, or a scale that is not positive."
        )
    return form


def _refusal(ranker: Any) -> str:
    """Return why a ranker has no linear form."""
    if isinstance(ranker, type):
        return f"expected a fitted ranker, not the class {ranker.__name__}."
    reason = getattr(ranker, "not_portable", None)
    if reason is None and hasattr(ranker, "steps"):
        reason = "only rankers themselves are exported; instead of a step before the ranker, use its normalize="
    others = (
        "it is not one of the linear rankers (LinearRanker, AdaRank, PRank, SVMMap), nor one of trees (TreeRanker, "
        "XGBoostRanker, RankBoost), nor a net (NeuralRanker)"
    )
    return f"{type(ranker).__name__} cannot be exported: {reason or others}."


def column_scaling(ranker: Normalized, n_features: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the offset and the scale of each column, and what kind of scaling they are."""
    with importing:
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    scaler = ranker.normalizer_
    zero, one = np.zeros(n_features), np.ones(n_features)
    if scaler is None:
        return zero, one, "none"
    shown = ranker.normalize if isinstance(ranker.normalize, str) else type(scaler).__name__
    if isinstance(scaler, QueryNormalizer):
        raise ValueError(
            f"{type(ranker).__name__} with normalize={shown!r} cannot be exported: columns are scaled within each "
            "query, so a score depends on the other documents of its list. Scale over all rows "
            "(normalize='zscore' or 'minmax'), or scale the features before they reach the model."
        )
    if type(scaler) is StandardScaler:  # subclasses may compute something else
        return (
            _float64(scaler.mean_) if scaler.with_mean else zero,
            _float64(scaler.scale_) if scaler.with_std else one,
            "standard",
        )
    if type(scaler) is RobustScaler:
        return (
            _float64(scaler.center_) if scaler.with_centering else zero,
            _float64(scaler.scale_) if scaler.with_scaling else one,
            "standard",
        )
    if type(scaler) is MaxAbsScaler and not getattr(scaler, "clip", False):
        return zero, _float64(scaler.scale_), "standard"
    if type(scaler) is MinMaxScaler and not scaler.clip:
        return *_of_min_max(scaler), "minmax"
    why = "it clips" if getattr(scaler, "clip", False) else "it does more than shift and scale columns"
    raise ValueError(f"{type(ranker).__name__} with normalize={shown!r} cannot be exported: {why}.")


def _of_min_max(scaler: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``MinMaxScaler`` computes, ``x * scale_ + min_``, as an offset and a scale."""
    scale = 1.0 / _float64(scaler.scale_)
    offset = -_float64(scaler.min_) * scale
    low, width = _float64(scaler.data_min_), _float64(scaler.data_range_)
    # prefer the numbers of the data, which are easier to read, where they differ by rounding only
    is_same = (abs(offset - low) <= ROUNDING * scale) & (abs(scale - width) <= ROUNDING * scale)
    return np.where(is_same, low, offset), np.where(is_same, width, scale)


def _float64(numbers: np.ndarray) -> np.ndarray:
    return np.array(numbers, dtype=np.float64)


def checked_names(names: Sequence[str], n_features: int) -> list[str]:
    """Return the names; raise unless there is one per feature, and all are strings that UTF-8 can encode."""
    if isinstance(names, str):
        raise ValueError(f"feature_names must be a list with one name per feature, not the string {names!r}.")
    names = list(names)
    if len(names) != n_features:
        raise ValueError(f"there are {count_of(len(names), 'feature name')} but the model has {n_features:,} features.")
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"feature_names[{place}] is {name!r}; names must be strings.")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"feature_names[{place}], {name!r}, cannot be written as UTF-8.") from None
    return names


class Named(Protocol):
    """A form of any kind, with the names of its features."""

    @property
    def names(self) -> list[str] | None: ...


def names_for(form: Named, target: str) -> list[str]:
    """Return the names of the features; raise unless they are known, not empty and distinct."""
    if form.names is None:
        raise ValueError(
            f"{target} finds features by their names, but this model was fitted to columns without names. "
            "Pass feature_names (on the command line: --features FILE), one name per column, in column order."
        )
    seen: dict[str, int] = {}
    for place, name in enumerate(form.names):
        if not name.strip():
            raise ValueError(f"feature_names[{place}] is empty; {target} finds features by their names.")
        if name in seen:
            raise ValueError(f"feature_names has {name!r} at {seen[name]} and at {place}; names must differ.")
        seen[name] = place
    return form.names


def dense_rows(X: Any, first: int, last: int) -> np.ndarray:
    """Return some rows of X as a float64 array."""
    rows = X[first:last]
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
