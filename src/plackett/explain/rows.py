"""Base classes of the explanations: explained rows, comparisons of two rows, and their tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett._tables import aligned, csv_text, plain_id
from plackett.data.grouping import Groups, group_rows
from plackett.data.queries import Queries
from plackett.validation import count_of, is_sparse, plain

ROWS_SHOWN = 20
PARTS_SHOWN = 15


def number(value: float | str) -> str:
    """Return a number with four significant digits; the name of a category is unchanged."""
    return value if isinstance(value, str) else f"{value:.4g}"


def signed(value: float) -> str:
    """Return a number with its sign and four significant digits."""
    return f"{value:+.4g}" if value else "0"


@dataclass(eq=False, repr=False, kw_only=True)
class ExplainedRows(ABC):
    """Documents with their scores, and the parts that make each differ from the mean score of its list."""

    _part: ClassVar[Any]  # the named tuple of one part, such as a feature
    _parts_name: ClassVar[str]
    _headings: ClassVar[tuple[str, str, str]]  # of the score, the baseline and the largest parts

    values: Any
    scores: np.ndarray
    baseline: np.ndarray
    feature_names: list[str]
    rows: np.ndarray
    qid: np.ndarray
    docid: list | None = None

    def __post_init__(self) -> None:
        self._place = {row: place for place, row in enumerate(self.rows.tolist())}

    def __len__(self) -> int:
        return self.rows.size

    @abstractmethod
    def top(self, row: int, n: int | None = 5) -> list:
        """Return the ``n`` parts that change the score of a document most; None returns all."""

    def importance(self) -> dict[str, float]:
        """Return the mean absolute contribution of each part to these documents, by name, the largest first.

        Parts that add nothing to any document are left out.
        """
        sums: dict[str, float] = {}
        for row in self.rows.tolist():
            for part in self.top(row, None):
                sums[self._name_of(part)] = sums.get(self._name_of(part), 0.0) + abs(part[-1])
        return {name: sums[name] / len(self) for name in sorted(sums, key=lambda name: -sums[name])}

    @staticmethod
    def _name_of(part: Any) -> str:
        return part.feature

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: for each row its score, the mean score of its list, and its parts."""
        return {"rows": [self._row_dict(place) for place in range(len(self))]}

    def to_csv(self) -> str:
        """Return CSV with a line for each row and part, the largest part first."""
        return csv_text(self._columns(), self._records())

    def to_frame(self):
        """Return a pandas data frame with a line for each row and part, the largest part first."""
        pandas = import_optional("pandas", extra=None, needed_for=f"{type(self).__name__}.to_frame")
        return pandas.DataFrame(list(self._records()), columns=self._columns())

    def __str__(self) -> str:
        headings = ["row", "query", *(["document"] if self.docid is not None else []), *self._headings[:2]]
        table = [[*headings, self._headings[2]]]
        for place, row in enumerate(self.rows[:ROWS_SHOWN].tolist()):
            name = [] if self.docid is None else [str(self._name(place))]
            strongest = ", ".join(self._shown(part) for part in self.top(row, 3))
            table.append([str(row), str(plain(self.qid[place])), *name, *self._numbers(place), strongest or "–"])
        lines = [aligned(table, f"r{'l' * (len(headings) - 3)}rrl")]
        if len(self) > ROWS_SHOWN:
            lines.append(f"… and {count_of(len(self) - ROWS_SHOWN, 'more row')}")
        return "\n".join(lines)

    def _numbers(self, place: int) -> list[str]:
        """Return the cells below the first two of ``_headings``."""
        return [number(self.scores[place]), number(self.baseline[place])]

    @staticmethod
    @abstractmethod
    def _shown(part: Any) -> str:
        """Return a short text for one of the strongest parts."""

    def _place_of(self, row: int) -> int:
        if row not in self._place:
            span = f", from {self.rows.min()} to {self.rows.max()}" if len(self) else ""
            raise ValueError(f"row {plain(row)!r} was not explained; there are {count_of(len(self), 'row')}{span}.")
        return self._place[row]

    def _places_of_one_query(self, a: int, b: int) -> tuple[int, int]:
        first, second = self._place_of(a), self._place_of(b)
        if self.qid[first] != self.qid[second]:
            raise ValueError(
                f"row {plain(a)} belongs to query {plain(self.qid[first])!r} and row {plain(b)} to query "
                f"{plain(self.qid[second])!r}; only documents of the same query can be compared."
            )
        return first, second

    def _both(self, first: int, second: int) -> dict[str, Any]:
        """Return the arguments of a comparison that describe its two documents."""
        return {
            "row_a": int(self.rows[first]),
            "row_b": int(self.rows[second]),
            "name_a": self._name(first),
            "name_b": self._name(second),
            "score_a": float(self.scores[first]),
            "score_b": float(self.scores[second]),
        }

    def _name(self, place: int) -> str | None:
        return None if self.docid is None else str(plain(self.docid[place]))

    def _columns(self) -> list[str]:
        names = ["docid"] if self.docid is not None else []
        return ["row", "qid", *names, "score", "baseline", *self._part._fields]

    def _records(self) -> Iterable[list[Any]]:
        for place, row in enumerate(self.rows.tolist()):
            name = [] if self.docid is None else [plain(self.docid[place])]
            heading = [row, plain(self.qid[place]), *name, float(self.scores[place]), float(self.baseline[place])]
            for part in self.top(row, None):
                yield [*heading, *part]

    def _row_dict(self, place: int) -> dict[str, Any]:
        row = int(self.rows[place])
        answer: dict[str, Any] = {"row": row, "qid": plain_id(self.qid[place])}
        if self.docid is not None:
            answer["docid"] = plain_id(self.docid[place])
        answer.update(score=float(self.scores[place]), baseline=float(self.baseline[place]))
        return {**answer, self._parts_name: [part._asdict() for part in self.top(row, None)]}


@dataclass(eq=False, repr=False, kw_only=True)
class ComparedRows(ABC):
    """Two documents of a list, and the parts of the difference between their scores."""

    _part: ClassVar[Any]

    row_a: int
    row_b: int
    score_a: float
    score_b: float
    differences: list
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
        """Return CSV with a line for each difference, and a last line with the total and the scores."""
        return csv_text(self._part._fields, [*self.differences, self._total_record()])

    def to_frame(self):
        """Return a pandas data frame with a line for each difference, and scores and total in ``frame.attrs``."""
        pandas = import_optional("pandas", extra=None, needed_for=f"{type(self).__name__}.to_frame")
        frame = pandas.DataFrame(self.differences, columns=list(self._part._fields))
        frame.attrs.update(score_a=self.score_a, score_b=self.score_b, total=self.total)
        return frame

    @abstractmethod
    def to_text(self, n: int | None = PARTS_SHOWN) -> str:
        """Return a table for a terminal."""

    def __str__(self) -> str:
        return self.to_text()

    @abstractmethod
    def _total_record(self) -> list[Any]:
        """Return the last line of the CSV."""

    def _labels(self) -> tuple[str, str]:
        named = [(self.row_a, self.name_a), (self.row_b, self.name_b)]
        a, b = (f"row {row}" if name is None else f"row {row} ({name})" for row, name in named)
        return a, b


class ChosenRows(NamedTuple):
    """The rows to explain, and their lists."""

    rows: np.ndarray
    qid: np.ndarray
    docid: list | None
    groups: Groups
    queries: np.ndarray  # numbers of those with a chosen row
    place: np.ndarray  # of the query of each row among them
    sizes: np.ndarray  # of the list of each row


def choose_rows(n_docs: int, qid: Any, rows: Any, docid: Any) -> ChosenRows:
    """Return the rows of ``rows`` (all for None), with their queries and ids."""
    groups = group_rows(qid, n_docs)
    chosen = _checked(rows, n_docs)
    names = _checked_names(docid, n_docs)
    query_of_row = np.empty(n_docs, dtype=np.int64)
    order = slice(None) if groups.order is None else groups.order
    query_of_row[order] = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
    queries, place = np.unique(query_of_row[chosen], return_inverse=True)
    return ChosenRows(
        rows=chosen,
        qid=groups.ids[query_of_row[chosen]],
        docid=None if names is None else [names[row] for row in chosen.tolist()],
        groups=groups,
        queries=queries,
        place=place,
        sizes=np.diff(groups.indptr)[queries][place],
    )


class NeededLists(NamedTuple):
    """The complete lists of the rows to explain, without other lists."""

    queries: Queries
    places: np.ndarray  # of their rows among all grouped rows
    numbers: np.ndarray  # of their rows in the order given
    rows: np.ndarray  # those to explain, by their position in ``queries``
    docid: list | None


def needed_lists(queries: Queries, rows: Iterable[int] | None, docid: Iterable[Any] | None) -> NeededLists:
    """Return the lists of ``rows``; ``rows`` and ``docid`` are in the order given."""
    chosen, names = _checked(rows, queries.n_docs), _checked_names(docid, queries.n_docs)
    numbers = np.arange(queries.n_docs) if queries.row_order is None else queries.row_order
    place_of = queries.in_row_order(np.arange(numbers.size))
    wanted = place_of[chosen] if chosen.size else np.zeros(min(1, numbers.size), dtype=np.int64)  # for the normalizer
    is_needed = np.zeros(queries.n_queries, dtype=bool)
    is_needed[np.searchsorted(queries.indptr, wanted, side="right") - 1] = True
    places = np.flatnonzero(np.repeat(is_needed, np.diff(queries.indptr)))
    return NeededLists(
        queries=queries if is_needed.all() else queries[is_needed],
        places=places,
        numbers=numbers[places],
        rows=np.searchsorted(places, place_of[chosen]),
        docid=None if names is None else [names[number] for number in numbers[places].tolist()],
    )


def _checked_names(docid: Iterable[Any] | None, n_docs: int) -> list | None:
    names = None if docid is None else list(docid)
    if names is not None and len(names) != n_docs:
        raise ValueError(f"docid has {len(names):,} ids but X has {n_docs:,} rows.")
    return names


def _checked(rows: Iterable[int] | None, n_docs: int) -> np.ndarray:
    if rows is None:
        return np.arange(n_docs)
    chosen = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be row numbers, not {chosen.dtype} of shape {chosen.shape}.")
    outside = (chosen < 0) | (chosen >= n_docs)
    if outside.any():
        raise ValueError(f"rows contains {int(chosen[outside][0])}, but X has rows 0 to {n_docs - 1:,}.")
    if np.unique(chosen).size < chosen.size:
        raise ValueError("rows contains a row twice.")
    return chosen.astype(np.int64)


def largest_first(amounts: np.ndarray) -> np.ndarray:
    """Return the columns that are not 0, by decreasing absolute value; ties keep their order."""
    columns = np.flatnonzero(amounts)
    return columns[np.argsort(-np.abs(amounts[columns]), kind="stable")]


def dense_row(matrix: Any, place: int) -> np.ndarray:
    """Return one row of a dense or sparse matrix as a vector."""
    return matrix[[place]].toarray().ravel() if is_sparse(matrix) else matrix[place]
