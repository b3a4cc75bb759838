"""Columns of a model computed from the features: missing values filled, categories encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett.data.preprocessing.categories import OneHotCategories
from plackett.validation import count_of

FORMULA = (
    "first compute the columns of inputs, which replace the features: with category, 1 if the code of the feature is "
    "that number, else 0; with is_missing, 1 if the feature is missing, else 0; with means, the number at the code of "
    "the feature; else the value of the feature; a missing or unknown value is replaced by the number missing, if "
    "given"
)


@dataclass(frozen=True)
class InputColumn:
    """A column of the model, from one feature.

    ``missing`` replaces a missing value; NaN leaves it missing, as for rankers that take missing values. With
    ``category`` the column is 1 where the feature has this code, and 0 elsewhere. ``means`` replace the codes. With
    ``is_missing`` the column is 1 where the feature is missing, and 0 elsewhere.
    """

    feature: int
    missing: float = np.nan
    category: int | None = None
    means: np.ndarray | None = None
    is_missing: bool = False

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return the column from rows of features."""
        x = X[:, self.feature]
        if self.is_missing:
            return np.isnan(x).astype(np.float64)
        if self.category is not None:
            return (x == self.category).astype(np.float64)
        if self.means is not None:
            is_known = (x >= 0) & (x < self.means.size) & (x == np.floor(x))
            return np.where(is_known, np.append(self.means, 0.0)[np.where(is_known, x, 0).astype(int)], self.missing)
        return np.where(np.isnan(x), self.missing, x)

    def described(self) -> dict[str, Any]:
        """Return the column for JSON."""
        if self.is_missing:
            return {"feature": self.feature, "is_missing": True}
        if self.category is not None:
            return {"feature": self.feature, "category": self.category}
        fill = {} if np.isnan(self.missing) else {"missing": self.missing}
        return {"feature": self.feature, **fill, **({} if self.means is None else {"means": self.means.tolist()})}

    @classmethod
    def of(cls, described: dict[str, Any]) -> InputColumn:
        """Return the column from JSON."""
        means = described.get("means")
        return cls(**{**described, "means": None if means is None else np.array(means)})


@dataclass(frozen=True)
class Inputs:
    """How the columns of a model are computed from features, and the names of these and of their codes."""

    columns: list[InputColumn]
    n_features: int
    names: list[str] | None
    categories: dict[int, list[str]]

    def described(self) -> dict[str, Any]:
        """Return the inputs for JSON."""
        names = {} if self.names is None else {"features": self.names}
        known = {str(feature): own for feature, own in self.categories.items()}
        return {
            "n_features": self.n_features,
            **names,
            **({"categories": known} if known else {}),
            "columns": [column.described() for column in self.columns],
        }


def apply_inputs(described: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Return the columns of a model from rows of features, as described by ``Inputs.described``."""
    return np.column_stack([InputColumn.of(column).values(X) for column in described["columns"]])


def inputs_of(ranker: Any, feature_names: Sequence[str] | None) -> Inputs | None:
    """Return how a fitted ranker prepares its columns; None if it takes the features as they are.

    Raise a ``ValueError`` if that depends on other documents, or is done by another package.
    """
    encoder, imputer = ranker.encoder_, ranker.imputer_
    if encoder is None and imputer is None:
        return None
    n = ranker.n_features_in_
    columns = [InputColumn(feature) for feature in range(n)]
    if encoder is not None:
        for place, feature in enumerate(encoder.columns_.tolist()):
            if isinstance(encoder, OneHotCategories):
                columns[feature] = InputColumn(feature, category=0)
                columns += [InputColumn(feature, category=code) for code in range(1, encoder.names_[place].size)]
            else:
                columns[feature] = InputColumn(feature, encoder.prior_, means=encoder.means_[place])
    if imputer is not None:
        _refuse(ranker, imputer)
        is_number = [column.category is None and column.means is None for column in columns]
        columns = [
            InputColumn(column.feature, float(fill)) if number else column
            for column, fill, number in zip(columns, imputer.fill_, is_number, strict=True)
        ]
        columns += [InputColumn(columns[place].feature, is_missing=True) for place in imputer.indicated_.tolist()]
    names = ranker.feature_names_ if feature_names is None else list(feature_names)
    known = {feature: names.tolist() for feature, names in (ranker.categories_ or {}).items()}
    return Inputs(columns, n, names, known)


def _refuse(ranker: Any, imputer: Any) -> None:
    name = type(ranker).__name__
    if imputer.depends_on_list:
        raise ValueError(
            f"{name} with missing='query-median' cannot be exported: the filled values depend on the other documents "
            "of the list. Fit it with missing='median', or fill the features before they reach the model."
        )
    if imputer.transformer_ is not None:
        raise ValueError(
            f"{name} with missing={type(imputer.transformer_).__name__} cannot be exported: only plackett's own rules "
            "can be ('zero', 'mean', 'median', 'min')."
        )


def check_target(ranker: Any, inputs: Inputs, target: str) -> None:
    """Raise unless a target that reads only numbers, and missing ones as 0, can express the preparation."""
    name = type(ranker).__name__
    if ranker.encoder_ is not None:
        raise ValueError(
            f"{name} with encoding={ranker.encoding!r} cannot be exported to {target}, whose features are "
            f"numbers, not text ({count_of(len(inputs.categories), 'column')} of categories). Export it to onnx or "
            "json, or encode the categories as separate features before training."
        )
    if len(inputs.columns) > inputs.n_features or ranker.imputer_.fill_.any():
        rule = "missing_indicator=True" if len(inputs.columns) > inputs.n_features else f"missing={ranker.missing!r}"
        raise ValueError(
            f"{name} with {rule} cannot be exported to {target}, in which a missing feature is 0. Fit it with "
            "missing='zero', or export it to onnx or json."
        )
