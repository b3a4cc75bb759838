"""Explanations of scores: what each feature adds to the score of a document, and to its lead over another.

Only differences within a list matter to a ranking, so contributions are relative to the mean of the document's list:
with linear scores, feature j adds ``coef[j] * (X[i, j] - mean of column j over the list of i)`` to document i. They sum
to the document's score minus the mean score of its list.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._drawing import draw_bars
from plackett._optional import import_optional
from plackett._tables import Bar, Column, Table, csv_text, notebook_html, plain_id
from plackett.validation import count_of, is_sparse, plain

ROWS_SHOWN = 20
PARTS_SHOWN = 15


class Contribution(NamedTuple):
    """What one feature adds to the score of one document."""

    feature: str
    value: float | str  # the name of a category
    contribution: float


class Difference(NamedTuple):
    """What one feature adds to the lead of document a over document b."""

    feature: str
    value_a: float | str
    value_b: float | str
    difference: float


class Records(ABC):
    """What can be written as CSV and as a data frame, with a line for each record."""

    _columns: Any

    @abstractmethod
    def _records(self) -> Iterable[Sequence[Any]]:
        """Return the records, each with a value for every column."""

    def to_csv(self) -> str:
        """Return CSV with a line for each record, the largest first."""
        return csv_text(self._columns, self._records())

    def to_frame(self):
        """Return a pandas data frame with a line for each record, the largest first."""
        pandas = import_optional("pandas", extra=None, needed_for=f"{type(self).__name__}.to_frame")
        return pandas.DataFrame(list(self._records()), columns=list(self._columns))


@dataclass(eq=False, repr=False, kw_only=True)
class Explanation(Records):
    """What each feature adds to the scores of documents; made by ``explain`` of a ranker or :func:`explain_linear`.

    The parts of a refined score are its stumps, such as ``"bm25 > 3.2"``. Methods take rows by their number in X, even
    if only some rows were explained.

    Attributes
    ----------
    contributions : ndarray or CSR matrix of shape (n_rows, n_features)
        What each feature adds to the score, compared with the mean of the list.
    values : ndarray or CSR matrix of shape (n_rows, n_features)
        The features of the rows.
    scores, baseline : ndarray of shape (n_rows,)
        The score of each document, and the mean score of its list; contributions sum to the first minus the second.
    feature_names : list of str
        Names of the features, in the order of the columns.
    rows : ndarray of shape (n_rows,)
        The row of X that each line explains.
    qid : ndarray of shape (n_rows,)
        The query id of each line.
    docid : list or None
        The document id of each line, if known.
    categories : dict of int to ndarray of str, or None
        Names of the codes of columns that hold categories.

    Examples
    --------
    >>> from plackett.explain.additive import explain_linear
    >>> X = [[3.0, 1.0], [1.0, 1.0], [2.0, 4.0]]
    >>> explanation = explain_linear([2.0, -1.0], X, feature_names=["bm25", "length"])
    >>> [(part.feature, part.contribution) for part in explanation.top(0)]
    [('bm25', 2.0), ('length', 1.0)]
    """

    contributions: Any
    values: Any
    scores: np.ndarray
    baseline: np.ndarray
    feature_names: list[str]
    rows: np.ndarray
    qid: np.ndarray
    docid: list | None = None
    categories: dict[int, np.ndarray] | None = None

    def __post_init__(self) -> None:
        self._place = {row: place for place, row in enumerate(self.rows.tolist())}

    def __len__(self) -> int:
        return self.rows.size

    def top(self, row: int, n: int | None = 5) -> list[Contribution]:
        """Return the ``n`` features that change the score of a document most, without those that add nothing.

        The largest absolute contribution comes first, and ties are in column order.

        Parameters
        ----------
        row : int
        n : int, default=5
            None returns all.
        """
        contributions, values = self._row(self._place_of(row))
        return [
            Contribution(self.feature_names[j], self._value(values, j), float(contributions[j]))
            for j in _largest_first(contributions)[:n].tolist()
        ]

    def importance(self) -> dict[str, float]:
        """Return the mean absolute contribution of each feature to these documents, the largest first.

        Features that add nothing to any document are left out.
        """
        means = np.asarray(abs(self.contributions).sum(axis=0)).ravel() / max(1, len(self))
        return {self.feature_names[j]: float(means[j]) for j in _largest_first(means).tolist()}

    def why(self, a: int, b: int) -> PairExplanation:
        """Return why row ``a`` ranks above row ``b`` of the same query: differences favour ``b`` if negative."""
        first, second = self._place_of(a), self._place_of(b)
        if self.qid[first] != self.qid[second]:
            raise ValueError(
                f"row {plain(a)} belongs to query {plain(self.qid[first])!r} and row {plain(b)} to query "
                f"{plain(self.qid[second])!r}; only documents of the same query can be compared."
            )
        (contributions_a, values_a), (contributions_b, values_b) = self._row(first), self._row(second)
        gaps = contributions_a - contributions_b
        return PairExplanation(
            row_a=int(self.rows[first]),
            row_b=int(self.rows[second]),
            name_a=self._name(first),
            name_b=self._name(second),
            score_a=float(self.scores[first]),
            score_b=float(self.scores[second]),
            differences=[
                Difference(self.feature_names[j], self._value(values_a, j), self._value(values_b, j), float(gaps[j]))
                for j in _largest_first(gaps).tolist()
            ],
        )

    def _row(self, place: int) -> list[np.ndarray]:
        """Return the contributions and the values of one row as vectors."""
        parts = (self.contributions, self.values)
        return [part[[place]].toarray().ravel() if is_sparse(part) else part[place] for part in parts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: for each row its score, the mean score of its list, and its contributions."""
        return {
            "rows": [
                {**self._about(place), "contributions": [part._asdict() for part in self.top(row, None)]}
                for place, row in enumerate(self.rows.tolist())
            ]
        }

    def __repr__(self) -> str:
        return f"Explanation({count_of(len(self), 'row')} × {count_of(len(self.feature_names), 'feature')})"

    def _table(self, n: int) -> Table:
        """Return a table of the first ``n`` rows with their strongest features."""
        named = [] if self.docid is None else [Column("document", "text")]
        columns = [Column("row", digits=0), Column("query", "text"), *named, Column("score"), Column("mean of list")]
        rows = []
        for place, row in enumerate(self.rows[:n].tolist()):
            name = [] if self.docid is None else [str(self._name(place))]
            strongest = ", ".join(f"{part.feature} {signed(part.contribution)}" for part in self.top(row, 3))
            numbers = [number(self.scores[place]), number(self.baseline[place])]
            rows.append([str(row), str(plain(self.qid[place])), *name, *numbers, strongest or "–"])
        return Table([*columns, Column("strongest features", "text")], rows)

    def _rest(self, n: int) -> list[str]:
        return [f"… and {count_of(len(self) - n, 'more row')}"] if len(self) > n else []

    def __str__(self) -> str:
        return "\n".join([self._table(ROWS_SHOWN).to_text(), *self._rest(ROWS_SHOWN)])

    def _repr_html_(self) -> str:
        columns = [Column("feature", "text"), Column("mean absolute contribution")]
        rows = [[name, Bar(mean, number(mean))] for name, mean in self.importance().items()]
        tables = [Table(columns, rows[:PARTS_SHOWN]), self._table(ROWS_SHOWN // 4)]
        return notebook_html(tables, [repr(self)], self._rest(ROWS_SHOWN // 4))

    def plot(self, *, ax: Any = None) -> Any:
        """Plot the mean absolute contribution of the strongest features as bars, on ``ax`` or in a new figure."""
        found = dict(list(self.importance().items())[:PARTS_SHOWN])
        return draw_bars(ax, found, "mean absolute contribution", needed_for="Explanation.plot")

    def _value(self, values: np.ndarray, column: int) -> float | str:
        """Return the value of a feature, or the name of its category; NaN where it is missing."""
        names, value = (self.categories or {}).get(column), float(values[column])
        if names is None or not 0 <= value < names.size:
            return value
        return str(names[int(value)])

    def _place_of(self, row: int) -> int:
        if row not in self._place:
            span = f", from {self.rows.min()} to {self.rows.max()}" if len(self) else ""
            raise ValueError(f"row {plain(row)!r} was not explained; there are {count_of(len(self), 'row')}{span}.")
        return self._place[row]

    def _name(self, place: int) -> str | None:
        return None if self.docid is None else str(plain(self.docid[place]))

    @property
    def _columns(self) -> list[str]:
        named = [] if self.docid is None else ["docid"]
        return ["row", "qid", *named, "score", "baseline", *Contribution._fields]

    def _records(self) -> Iterable[list[Any]]:
        for place, row in enumerate(self.rows.tolist()):
            for part in self.top(row, None):
                yield [*self._about(place).values(), *part]

    def _about(self, place: int) -> dict[str, Any]:
        named = {} if self.docid is None else {"docid": plain_id(self.docid[place])}
        numbers = {"score": float(self.scores[place]), "baseline": float(self.baseline[place])}
        return {"row": int(self.rows[place]), "qid": plain_id(self.qid[place]), **named, **numbers}


@dataclass(eq=False, repr=False, kw_only=True)
class PairExplanation(Records):
    """Why one document scores higher than another of its list; made by :meth:`Explanation.why`.

    Attributes
    ----------
    row_a, row_b : int
        The rows of X that are compared.
    name_a, name_b : str or None
        Ids of the documents, if known.
    score_a, score_b : float
        Their scores.
    total : float
        ``score_a - score_b``, the sum of the differences up to rounding.
    differences : list of (feature, value_a, value_b, difference)
        The largest absolute value first, without features that make no difference.

    Examples
    --------
    >>> from plackett.explain.additive import explain_linear
    >>> X = [[3.0, 1.0], [1.0, 1.0], [2.0, 4.0]]
    >>> found = explain_linear([2.0, -1.0], X, feature_names=["bm25", "length"]).why(0, 2)
    >>> found.total, found.differences[0].feature
    (5.0, 'length')
    """

    _columns = Difference._fields

    row_a: int
    row_b: int
    score_a: float
    score_b: float
    differences: list[Difference]
    name_a: str | None = None
    name_b: str | None = None

    @property
    def total(self) -> float:
        return self.score_a - self.score_b

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "a": {"row": self.row_a, "docid": self.name_a, "score": self.score_a},
            "b": {"row": self.row_b, "docid": self.name_b, "score": self.score_b},
            "total": self.total,
            "differences": [part._asdict() for part in self.differences],
        }

    def to_csv(self) -> str:
        """Return CSV with a line for each difference, and a last line with the scores and the total."""
        return csv_text(self._columns, [*self.differences, ["total", self.score_a, self.score_b, self.total]])

    def to_frame(self):
        """Return a pandas data frame with a line for each difference, and scores and total in ``frame.attrs``."""
        frame = super().to_frame()
        frame.attrs.update(score_a=self.score_a, score_b=self.score_b, total=self.total)
        return frame

    def to_text(self, n: int | None = PARTS_SHOWN) -> str:
        """Return a table for a terminal with the ``n`` largest differences, the others summed in one line."""
        return f"{self.headline()}\n{self._table(n).to_text()}"

    def headline(self) -> str:
        """Return both scores and which document leads, in a sentence."""
        named = [(self.row_a, self.name_a), (self.row_b, self.name_b)]
        a, b = (f"row {row}" if name is None else f"row {row} ({name})" for row, name in named)
        lead = "both score the same"
        if self.total:
            lead = f"{a if self.total > 0 else b} leads by {number(abs(self.total))}"
        return f"{a} scores {number(self.score_a)}, {b} scores {number(self.score_b)}: {lead}"

    def _table(self, n: int | None) -> Table:
        shown, others = self.differences[:n], self.differences[len(self.differences[:n]) :]
        parts = [(part.feature, number(part.value_a), number(part.value_b), part.difference) for part in shown]
        if others:
            rest = math.fsum(part.difference for part in others)
            parts.append((f"({count_of(len(others), 'other feature')})", "", "", rest))
        names = [f"row {self.row_a}", f"row {self.row_b}", "difference"]
        rows = [[*cells, Bar(value, signed(value))] for *cells, value in parts]
        total = [["total", "", "", signed(self.total)]]
        return Table([Column("feature", "text"), *map(Column, names)], rows, total)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return notebook_html(self._table(PARTS_SHOWN), [self.headline()])

    def plot(self, *, ax: Any = None) -> Any:
        """Plot the largest differences as bars, on ``ax`` or in a new figure: to the right what favours the first."""
        found = {part.feature: part.difference for part in self.differences[:PARTS_SHOWN]}
        label = f"adds to the lead of row {self.row_a} over row {self.row_b}"
        return draw_bars(ax, found, label, needed_for="PairExplanation.plot")

    def __repr__(self) -> str:
        return f"PairExplanation(row {self.row_a} over row {self.row_b} by {number(self.total)})"

    def _records(self) -> list[Difference]:
        return self.differences


def number(value: float | str) -> str:
    """Return a number with four significant digits; the name of a category is unchanged."""
    return value if isinstance(value, str) else f"{value:.4g}"


def signed(value: float) -> str:
    """Return a number with its sign and four significant digits."""
    return f"{value:+.4g}" if value else "0"


def _largest_first(amounts: np.ndarray) -> np.ndarray:
    """Return the columns that are not 0, by decreasing absolute value; ties keep their order."""
    columns = np.flatnonzero(amounts)
    return columns[np.argsort(-np.abs(amounts[columns]), kind="stable")]
