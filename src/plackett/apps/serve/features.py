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
        try:
            rows = _ROWS.validate_python(documents)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            i, *columns = map(int, wrong["loc"])
            if not columns or len(documents[i]) != self.n:
                self._raise_shape(documents[i], f"document {i}")
            self._raise_value(wrong["input"], f"document {i}, {self.labels[columns[0]]}", columns[0])
        for i, row in enumerate(rows):
            if len(row) != self.n:
                self._raise_shape(row, f"document {i}")
        X = np.array(rows, dtype=np.float64).reshape(len(rows), self.n)
        refused = np.isnan(X) & ~np.array(self.takes_missing)
        if refused.any():
            i, column = divmod(int(refused.argmax()), self.n)
            what = "is null; this model takes no missing values there."
            raise invalid(f"document {i}, {self.labels[column]} {what}")
        return X

    def _ordered(self, document: Any, where: str) -> list[Any]:
        if type(document) is not dict:
            raise invalid(f"{where} is {_shown(document)}, but the first is an object. Use one form for all.")
        column_of = self._column
        if column_of is None:
            raise invalid(
                f"{where} has named features, but this model has no names. Give arrays of {count_of(self.n, 'number')}."
            )
        row: list[Any] = [None] * self.n
        for name, value in document.items():
            column = column_of.get(name)
            if column is None:
                near = difflib.get_close_matches(name[:100], column_of, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else "GET /models lists the features."
                raise invalid(f"{where} has the feature {name[:100]!r}, which the model does not have.", hint)
            row[column] = value
        if len(document) < self.n:
            self._check_complete(document, where)
        return row

    def _check_complete(self, document: dict[str, Any], where: str) -> None:
        assert self.names is not None
        missing = [n for n, may in zip(self.names, self.takes_missing, strict=True) if not may and n not in document]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise invalid(f"{where} lacks the feature {missing[0]!r}{more}; this model takes no missing values.")

    def _raise_shape(self, document: Any, where: str) -> None:
        what = f"{count_of(self.n, 'number')}, one for each feature of the model in its order"
        if type(document) is list:
            raise invalid(
                f"{where} has {count_of(len(document), 'value')}; expected {what}.", "GET /models lists them."
            )
        raise invalid(f"{where} is {_shown(document)}; expected an array of {what}, or an object with named features.")

    def _raise_value(self, value: Any, where: str, column: int) -> None:
        if type(value) in (int, float):
            raise invalid(f"{where} is too large for a 64-bit number.")
        expected = "a number or null" if self.takes_missing[column] else "a number"
        raise invalid(f"{where} is {_shown(value)}; expected {expected}.")


def _shown(value: Any) -> str:
    """Return a description of a JSON value for messages."""
    return f"the string {value[:40]!r}" if type(value) is str else _KINDS.get(type(value), "a number")
