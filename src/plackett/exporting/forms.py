"""What a ranker is exported from: its score as a formula of the raw features, which is linear, trees, or a net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.exporting.inputs import Inputs, inputs_of
from plackett.exporting.nodes import Nodes
from plackett.rankers.base import Ranker
from plackett.rankers.preparation import steps_of
from plackett.scorers import models
from plackett.scorers.plain_net import PlainNet
from plackett.scorers.trees import CATEGORY, LEAF, ZERO_IS_MISSING, FlatTrees
from plackett.validation import count_of, feature_number

ROUNDING = 2.5e-7  # relative, of scalers fitted in float32


@dataclass(frozen=True, kw_only=True)
class Form:
    """The name of a ranker's class, and the names of its features in the order of the columns.

    ``first_index`` is the number of the first feature in the training file; None for arrays. ``inputs`` say how the
    columns are computed from the features; None if they are the features.
    """

    ranker: str
    names: list[str] | None = None
    first_index: int | None = None
    inputs: Inputs | None = None

    def label(self, feature: int) -> str:
        """Return the name of a feature in messages."""
        return feature_number(feature, self.first_index) if self.names is None else f"feature {self.names[feature]!r}"

    def distinct_names(self, target: str) -> list[str]:
        """Return the names of the features; raise unless they are known, not empty and distinct."""
        if self.names is None:
            raise ValueError(
                f"{target} finds features by their names, but this model was fitted to columns without names. "
                "Pass feature_names (on the command line: --features FILE), one name per column, in column order."
            )
        seen: dict[str, int] = {}
        for place, name in enumerate(self.names):
            if not name.strip():
                raise ValueError(f"feature_names[{place}] is empty; {target} finds features by their names.")
            if name in seen:
                raise ValueError(f"feature_names has {name!r} at {seen[name]} and at {place}; names must differ.")
            seen[name] = place
        return self.names


@dataclass(frozen=True, kw_only=True)
class LinearForm(Form):
    """A score ``intercept + Σ_j weights_j (x_j - offset_j) / scale_j`` of the raw features x.

    The offset is 0 and the scale 1 where columns are not scaled; scales are positive. ``scaling`` says whether they are
    unused (``"none"``), a centre and a spread (``"standard"``), or a minimum and a range (``"minmax"``).
    """

    weights: np.ndarray
    intercept: float
    offset: np.ndarray
    scale: np.ndarray
    scaling: str

    @property
    def n_features(self) -> int:
        return self.weights.size

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


@dataclass(frozen=True, kw_only=True)
class TreeForm(Form):
    """A score ``intercept + Σ_t tree_t(x)`` of the raw features x, in double precision.

    ``has_missing`` says whether splits have learned where missing values go; ``categories`` are the names of the codes
    of columns that hold categories.
    """

    trees: FlatTrees
    intercept: float
    has_missing: bool = False
    categories: dict[int, np.ndarray] | None = None

    @property
    def n_features(self) -> int:
        return self.trees.n_features_

    def nodes(self) -> Nodes:
        """Return all trees in float64, after a tree of one leaf if there is an intercept or no tree."""
        trees, first = self.trees, int(self.intercept != 0.0 or self.trees.n_trees == 0)
        constant = np.full(first, self.intercept)
        nothing = np.zeros(first)
        return Nodes(
            np.concatenate([np.zeros(first, dtype=np.int64), trees.starts_ + first]),
            np.concatenate([np.full(first, LEAF), trees.features_]),
            np.concatenate([nothing, trees.thresholds_]),
            np.concatenate([nothing, trees.left_ + first]).astype(np.int64),
            np.concatenate([nothing, trees.right_ + first]).astype(np.int64),
            np.concatenate([constant, trees.values_]),
            np.concatenate([nothing, trees.missing_left_]).astype(bool),
        )

    def check_kinds(self, target: str) -> None:
        """Raise if the target compares numbers only, and the trees split by categories or treat 0 as missing."""
        if (self.trees.kinds_ == CATEGORY).any():
            feature = int(self.trees.features_[self.trees.kinds_ == CATEGORY][0])
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}, which compares numbers only: it splits by the "
                f"categories of {self.label(feature)}. Export to json, or train it on numbers."
            )
        if (self.trees.kinds_ == ZERO_IS_MISSING).any():
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}: it treats every 0 as missing, as XGBoost does "
                "with sparse rows, and some splits send 0 to another side than the numbers around it. Export to json, "
                "or fit it on dense rows."
            )

    def check_missing(self, target: str) -> None:
        """Raise if the target reads missing values as 0, and the trees have learned to send them elsewhere."""
        self.check_kinds(target)
        trees = self.trees
        is_apart = (trees.features_ != LEAF) & (trees.missing_left_ != (trees.thresholds_ >= 0.0))
        if self.has_missing and is_apart.any():
            feature = int(trees.features_[is_apart][0])
            raise ValueError(
                f"this {self.ranker} cannot be exported to {target}, which reads missing values as 0: it was trained "
                f"with missing values and sends those of {self.label(feature)} to another side than 0. Export to json "
                "or onnx, or fill missing values with 0 before training."
            )


@dataclass(frozen=True, kw_only=True)
class NetForm(Form):
    """A score ``net((x - offset) / scale)`` of the raw features x, which are scaled as in ``LinearForm``."""

    net: PlainNet
    offset: np.ndarray
    scale: np.ndarray
    scaling: str

    @property
    def n_features(self) -> int:
        return self.offset.size


AnyForm = LinearForm | TreeForm | NetForm


def form_of(ranker: Any, feature_names: Sequence[str] | None = None) -> AnyForm:
    """Return the score of a fitted ranker as a formula of the raw features, in arrays.

    Parameters
    ----------
    ranker : LinearRanker, AdaRank, PRank, SVMMap, TreeRanker, XGBoostRanker, RankBoost or NeuralRanker
        As ``export`` takes them; others raise a ``ValueError`` that says why.
    feature_names : sequence of str, default=None
        In the order of the columns; None uses the names of the training data, if it has any.

    Examples
    --------
    >>> from plackett.exporting.forms import form_of
    >>> import plackett as pk
    >>> form = form_of(pk.LinearRanker("squared", l2=0).fit([[1.0], [2.0], [3.0]], [0, 1, 2]), ["bm25"])
    >>> form.names, form.weights.round(6), round(form.intercept, 6)
    (['bm25'], array([1.]), -1.0)
    >>> form = form_of(pk.RankBoost(n_rounds=1).fit([[1.0], [2.0], [3.0]], [0, 1, 1]))
    >>> float(form.trees.thresholds_[0]), form.trees.n_trees
    (1.5, 1)
    """
    name = getattr(ranker, "__name__", type(ranker).__name__)
    _check_kind(ranker, name)
    check_is_fitted(ranker)
    if ranker.model_of.__self__ is not models.Trees:
        offset, scale, scaling = column_scaling(ranker)
    elif getattr(ranker, "normalizer_", None) is not None:
        raise ValueError(
            f"{name} with normalize={ranker.normalize!r} cannot be exported: its thresholds are on scaled columns. "
            "Fit it without normalize: scaling over all rows does not change its ranking."
        )
    model = ranker.model_of(ranker, ranker.n_prepared)
    about: dict[str, Any] = {
        "ranker": name,
        "names": _checked_names(ranker, feature_names),
        "first_index": ranker.first_index_,
        "inputs": inputs_of(ranker, feature_names),
    }
    if isinstance(model, models.Trees):
        return _tree_form(ranker, model, about)
    about |= {"offset": offset, "scale": scale, "scaling": scaling}
    if isinstance(model, models.Net):
        if model.shape.attention:
            raise ValueError(
                f"{name} with attention={model.shape.attention} cannot be exported: the score of a document depends "
                "on the other documents of its list. Fit it with attention=0."
            )
        return NetForm(net=PlainNet.of(model.shape, model.weights), **about)
    if not np.isfinite([offset, scale]).all() or (scale <= 0.0).any():
        raise ValueError(f"this {name} has a scale that is not a finite number, or not positive.")
    return LinearForm(weights=model.coef[:-1], intercept=float(model.coef[-1]), **about)


def _tree_form(ranker: Any, model: models.Trees, about: dict[str, Any]) -> TreeForm:
    if getattr(ranker, "has_base_", False):
        raise ValueError(
            f"this {about['ranker']} cannot be exported: it was fitted with a base_score, to which its trees only add. "
            "Fit it without one."
        )
    return TreeForm(
        trees=model.trees if model.scale == 1.0 else model.trees.times(model.scale),
        intercept=model.start * model.scale + model.bias,
        has_missing=getattr(ranker, "has_missing_", False),
        categories=ranker.categories_ if ranker.takes_categories else None,
        **about,
    )


def _check_kind(ranker: Any, name: str) -> None:
    """Raise with the reason if an object has no form."""
    if isinstance(ranker, type):
        raise ValueError(f"expected a fitted ranker, not the class {name}.")
    if getattr(ranker, "not_portable", None) is not None:
        raise ValueError(f"{name} cannot be exported: {ranker.not_portable}.")
    if not isinstance(ranker, Ranker):
        reason = (
            "it is not one of the linear rankers (LinearRanker, AdaRank, PRank, SVMMap), nor one of trees (TreeRanker, "
            "XGBoostRanker, RankBoost), nor a net (NeuralRanker)"
        )
        if hasattr(ranker, "steps"):
            reason = "only rankers themselves are exported; instead of a step before the ranker, use its normalize="
        raise ValueError(f"{name} cannot be exported: {reason}.")
    home = next(cls for cls in type(ranker).__mro__ if cls.__module__.startswith("plackett."))
    if ranker.model_of is None or not ranker.predicts_as(home):
        raise ValueError(f"{name} cannot be exported: its scores are not known to be those of a {home.__name__}.")


def column_scaling(ranker: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the offset and the scale of each column, and what kind of scaling they are."""
    with importing:
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    scaler = ranker.normalizer_
    zero, one = np.zeros(ranker.n_prepared), np.ones(ranker.n_prepared)
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


def _checked_names(ranker: Any, feature_names: Sequence[str] | None) -> list[str] | None:
    """Return the names of the model's columns, from given ones of the features: strings that UTF-8 can encode."""
    if isinstance(feature_names, str):
        raise ValueError(f"feature_names must be a list with one name per feature, not the string {feature_names!r}.")
    names = ranker.feature_names_ if feature_names is None else list(feature_names)
    if names is not None and len(names) != ranker.n_features_in_:
        raise ValueError(
            f"there are {count_of(len(names), 'feature name')} but the model has {ranker.n_features_in_:,} features."
        )
    for place, name in enumerate(names or ()):
        if not isinstance(name, str):
            raise ValueError(f"feature_names[{place}] is {name!r}; names must be strings.")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"feature_names[{place}], {name!r}, cannot be written as UTF-8.") from None
    if feature_names is None:
        is_prepared = ranker.n_prepared != ranker.n_features_in_
        return ranker.feature_labels if is_prepared or names is not None else None
    for step in steps_of(ranker):
        names = step.labels(names)
    return names
