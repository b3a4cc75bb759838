"""Feature values of a request as an array, with errors that name the document and the feature."""

from __future__ import annotations

import difflib
import math
import struct
from itertools import chain
from typing import Any

import numpy as np

from plackett.apps.access.errors import RequestError
from plackett.rankers.scoring.scorer import Scorer
from plackett.validation import count_of, feature_labels

_NUMBERS = {float, int}


class FeatureSchema:
    """The features that a model takes: their names and order, and which may be missing.

    Attributes
    ----------
    names : tuple of str or None
        Names in the order of the columns: those of ``fit``, or the numbers of a LETOR file; None if there are none.
    """

    def __init__(self, scorer: Scorer):
        self.n = scorer.n_features
        self.names = scorer.feature_names
        if self.names is None and scorer.first_index is not None:
            self.names = tuple(str(number) for number in range(scorer.first_index, scorer.first_index + self.n))
        self._column = None if self.names is None else {name: column for column, name in enumerate(self.names)}
        self.labels = feature_labels(self.n, scorer.feature_names, scorer.first_index)
        self._row = f"{self.n}d"  # struct format of a packed row
        self.takes_missing = [scorer.takes_missing or column in scorer.category_columns for column in range(self.n)]

    def is_same(self, other: FeatureSchema) -> bool:
        """Return whether the features have the same names and order."""
        return (self.n, self.names) == (other.n, other.names)

    def describe(self) -> list[dict[str, Any]]:
        """Return the features in their order, as plain values."""
        names = self.names or (None,) * self.n
        return [{"name": name, "may_be_missing": may} for name, may in zip(names, self.takes_missing, strict=True)]

    def rows(self, documents: Any, where: str) -> np.ndarray:
        """Return the documents of a list as an array; ``where`` begins the messages of errors, such as "list 3, "."""
        if type(documents) is not list:
            raise _invalid(f"{where}documents must be an array of documents, not {_shown(documents)}.")
        if documents and type(documents[0]) is dict:
            documents = [self._ordered(document, f"{where}document {i}") for i, document in enumerate(documents)]
        X = np.empty((len(documents), self.n))
        try:
            for i, document in enumerate(documents):
                struct.pack_into(self._row, X.data, i * X.strides[0], *document)
            is_plain = set(map(type, chain.from_iterable(documents))) <= _NUMBERS  # Booleans were packed too
        except (TypeError, OverflowError, struct.error):
            is_plain = False
        if not is_plain:
            X = self._checked(documents, where)
        if np.isinf(X).any():
            place = int(np.argmax(np.isinf(X)))
            raise _invalid(f"{self._place(place, where)} is too large for a 64-bit number.")
        return X

    def _checked(self, documents: list[Any], where: str) -> np.ndarray:
        """Return the rows, some with missing values, or raise an error about a document or a value."""
        for i, document in enumerate(documents):
            if type(document) is not list or len(document) != self.n:
                self._raise_shape(document, f"{where}document {i}")
        values = [self._number(value, place, where) for place, value in enumerate(chain.from_iterable(documents))]
        return np.array(values, dtype=np.float64).reshape(len(documents), self.n)

    def _ordered(self, document: Any, where: str) -> list[Any]:
        if type(document) is not dict:
            raise _invalid(f"{where} is {_shown(document)}, but the first is an object. Use one form for all.")
        column_of = self._column
        if column_of is None:
            raise _invalid(
                f"{where} has named features, but this model has no names. Give arrays of {count_of(self.n, 'number')}."
            )
        row: list[Any] = [None] * self.n
        for name, value in document.items():
            column = column_of.get(name)
            if column is None:
                near = difflib.get_close_matches(name[:100], column_of, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else "GET /models lists the features."
                raise _invalid(f"{where} has the feature {name[:100]!r}, which the model does not have.", hint)
            row[column] = value
        if len(document) < self.n:
            self._check_missing(document, where)
        return row

    def _check_missing(self, document: dict[str, Any], where: str) -> None:
        assert self.names is not None
        missing = [n for n, may in zip(self.names, self.takes_missing, strict=True) if not may and n not in document]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise _invalid(f"{where} lacks the feature {missing[0]!r}{more}; this model takes no missing values.")

    def _raise_shape(self, document: Any, where: str) -> None:
        what = f"{count_of(self.n, 'number')}, one for each feature of the model in its order"
        if type(document) is list:
            raise _invalid(
                f"{where} has {count_of(len(document), 'value')}; expected {what}.", "GET /models lists them."
            )
        raise _invalid(f"{where} is {_shown(document)}; expected an array of {what}, or an object with named features.")

    def _number(self, value: Any, place: int, where: str) -> float:
        """Return one value as a number; null is a missing value."""
        if value is None:
            if not self.takes_missing[place % self.n]:
                raise _invalid(f"{self._place(place, where)} is null; this model takes no missing values there.")
            return math.nan
        if type(value) not in _NUMBERS:
            expected = "a number or null" if self.takes_missing[place % self.n] else "a number"
            raise _invalid(f"{self._place(place, where)} is {_shown(value)}; expected {expected}.")
        try:
            return float(value)
        except OverflowError:
            raise _invalid(f"{self._place(place, where)} is too large for a 64-bit number.") from None

    def _place(self, place: int, where: str) -> str:
        document, column = divmod(place, self.n)
        return f"{where}document {document}, {self.labels[column]}"


def _invalid(message: str, hint: str | None = None) -> RequestError:
    return RequestError(422, "invalid", message, hint)


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a Boolean", type(None): "null"}


def _shown(value: Any) -> str:
    """Return a description of a JSON value for messages."""
    kind = _KINDS.get(type(value), "a number")
    return f"the string {value[:40]!r}" if type(value) is str else kind
