"""Feature values of a request as an array, with errors that name the document and the feature."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from plackett.apps.access.errors import invalid
from plackett.rankers.scoring.scorer import Scorer
from plackett.validation import count_of, feature_labels

_VALUE = Annotated[float, Field(allow_inf_nan=False)] | None
_ROW = Annotated[list[_VALUE], Field(fail_fast=True)]
_ROWS = TypeAdapter(Annotated[list[_ROW], Field(fail_fast=True)], config=ConfigDict(strict=True))
_KINDS = {dict: "an object", list: "an array", bool: "a Boolean", type(None): "null"}


class FeatureSchema:
    """The features that a model takes: their names and order, and which may be missing.

    ``names`` are those of ``fit``, or the numbers of a LETOR file; None if there are none.
    """

    def __init__(self, scorer: Scorer):
        self.n = scorer.n_features
        self.names = scorer.feature_names
        if self.names is None and scorer.first_index is not None:
            self.names = tuple(str(number) for number in range(scorer.first_index, scorer.first_index + self.n))
        self._column = None if self.names is None else {name: column for column, name in enumerate(self.names)}
        self.labels = feature_labels(self.n, scorer.feature_names, scorer.first_index)
        self.takes_missing = [scorer.takes_missing or column in scorer.category_columns for column in range(self.n)]

    def is_same(self, other: FeatureSchema) -> bool:
        """Return whether the features have the same names and order."""
        return (self.n, self.names) == (other.n, other.names)

    def describe(self) -> list[dict[str, Any]]:
        """Return the features in their order, as plain values."""
        names = self.names or (None,) * self.n
        return [{"name": name, "may_be_missing": may} for name, may in zip(names, self.takes_missing, strict=True)]

    def rows(self, documents: list[Any]) -> np.ndarray:
        """Return the documents of a list as an array; raise a `RequestError` about a document or a value."""
        if documents and type(documents[0]) is dict:
            documents = [self._ordered(document, f"document {i}") for i, document in enumerate(documents)]
        for i, row in enumerate(documents):
            if type(row) is not list or len(row) != self.n:
                what = f"{count_of(self.n, 'number')}, one for each feature of the model in its order"
                if type(row) is list:
                    found = count_of(len(row), "value")
                    raise invalid(f"document {i} has {found}; expected {what}.", "GET /models lists them.")
                expected = f"expected an array of {what}, or an object with named features"
                raise invalid(f"document {i} is {_shown(row)}; {expected}.")
        try:
            X = np.array(_ROWS.validate_python(documents), dtype=np.float64).reshape(len(documents), self.n)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            i, column = map(int, wrong["loc"])
            where, value = f"document {i}, {self.labels[column]}", wrong["input"]
            if type(value) in (int, float):
                raise invalid(f"{where} is too large for a 64-bit number.") from None
            expected = "a number or null" if self.takes_missing[column] else "a number"
            raise invalid(f"{where} is {_shown(value)}; expected {expected}.") from None
        refused = np.isnan(X) & ~np.array(self.takes_missing)
        if refused.any():
            i, column = divmod(int(refused.argmax()), self.n)
            raise invalid(f"document {i}, {self.labels[column]} is null; this model takes no missing values there.")
        return X

    def _ordered(self, document: Any, where: str) -> list[Any]:
        if type(document) is not dict:
            raise invalid(f"{where} is {_shown(document)}, but the first is an object. Use one form for all.")
        if self._column is None:
            raise invalid(
                f"{where} has named features, but this model has no names. Give arrays of {count_of(self.n, 'number')}."
            )
        row: list[Any] = [None] * self.n
        for name, value in document.items():
            column = self._column.get(name)
            if column is None:
                near = difflib.get_close_matches(name[:100], self._column, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else "GET /models lists the features."
                raise invalid(f"{where} has the feature {name[:100]!r}, which the model does not have.", hint)
            row[column] = value
        names = zip(self._column, self.takes_missing, strict=True)
        lacking = [name for name, may_miss in names if not may_miss and name not in document]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise invalid(f"{where} lacks the feature {lacking[0]!r}{more}; this model takes no missing values.")
        return row


def _shown(value: Any) -> str:
    """Return a description of a JSON value for messages."""
    return f"the string {value[:40]!r}" if type(value) is str else _KINDS.get(type(value), "a number")
