"""A table in whatever format it is needed: Markdown, LaTeX, CSV, JSON; the page draws it from the same cells."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from plackett.evaluation.compare.comparison import BETTER, WORSE
from plackett.evaluation.table import csv_text, latex_table, latex_text, markdown_table, rounded
from plackett.validation import plain

LONGEST_NAME = 80  # characters; a longer one is cut in the page, never in the files
_TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # they change the direction of writing
_MARKS_IN_LATEX = {BETTER: r"$\blacktriangle$", WORSE: r"$\blacktriangledown$"}


class Marked(NamedTuple):
    """A mean, the mark of its significance, and whether it is the best of its column."""

    value: float
    mark: str = ""
    is_best: bool = False


class Interval(NamedTuple):
    """A difference, the interval around it, its corrected p-value, and which side is the good one."""

    value: float
    low: float
    high: float
    p: float = math.nan
    higher_is_better: bool = True


@dataclass(frozen=True)
class Column:
    """A heading and how its cells read.

    Attributes
    ----------
    name : str
    kind : "text", "number", "p", "marked" or "interval"
        What the cells are: text, a number, a p-value, a `Marked` or an `Interval`.
    digits : int or None
        Decimal places of a number; None gives three significant digits.
    """

    name: str
    kind: Literal["text", "number", "p", "marked", "interval"] = "number"
    digits: int | None = 4

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    def number(self, cell: Any) -> float:
        """What the cell is sorted by; NaN where it has no number."""
        value = cell.value if isinstance(cell, (Marked, Interval)) else cell
        return math.nan if value is None or isinstance(value, str) else float(value)

    def text(self, cell: Any) -> str:
        """The cell as a reader sees it, without its mark."""
        if isinstance(cell, str):
            return cell
        if isinstance(cell, Interval):
            return "–" if math.isnan(cell.value) else f"{signed(cell.value)} {self.bounds(cell)}"
        value = self.number(cell)
        if math.isnan(value):
            return "–"
        if self.kind == "p":
            return "< 0.0001" if value < 0.0001 else rounded(value)
        return _three_digits(value) if self.digits is None else rounded(value, self.digits)

    @staticmethod
    def bounds(cell: Interval) -> str:
        """Both ends of an interval, in brackets."""
        return f"[{signed(cell.low)}, {signed(cell.high)}]"

    def headings(self) -> list[str]:
        """The columns that a file of plain numbers has for this one."""
        more = {"marked": [f"{self.name} mark"], "interval": [f"{self.name} low", f"{self.name} high"]}
        return [self.name, *more.get(self.kind, [])]

    def values(self, cell: Any) -> list[Any]:
        """The cell as plain values, one for each of ``headings()``."""
        if self.kind == "interval":
            return list(cell[:3]) if isinstance(cell, Interval) else [math.nan] * 3
        if self.kind == "marked":
            return [cell.value, cell.mark] if isinstance(cell, Marked) else [math.nan, ""]
        return [plain(cell)]


@dataclass(frozen=True)
class Table:
    """A table with a title, in whatever format it is needed.

    Attributes
    ----------
    name : str
        One word, for file names and links.
    title : str
    columns : list of Column
    rows : list of lists, one cell for each column
    foot : list of lists
        Rows that stay below the others however these are sorted: the floors.
    notes : list of str
        What a reader should know.
    """

    name: str
    title: str
    columns: list[Column]
    rows: list[list[Any]]
    foot: list[list[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def row_heading(self) -> int:
        """The column that says what a row is about: the ranker, or the first column that is text."""
        names = [column.name for column in self.columns]
        texts = [place for place, column in enumerate(self.columns) if column.is_text]
        return names.index("ranker") if "ranker" in names else texts[0]

    def to_markdown(self) -> str:
        """The table in Markdown, the best of each column in bold."""
        align = "".join("l" if column.is_text else "r" for column in self.columns)
        rows = [[_in_markdown(*pair) for pair in self._pairs(row)] for row in self._all_rows()]
        return markdown_table([column.name for column in self.columns], rows, align)

    def to_latex(self) -> str:
        """The table as a LaTeX ``tabular`` with booktabs rules; the marks need the package amssymb."""
        align = "".join("l" if column.is_text else "r" for column in self.columns)
        rows = [[_in_latex(*pair) for pair in self._pairs(row)] for row in self._all_rows()]
        return latex_table([latex_text(column.name) for column in self.columns], rows, align)

    def to_csv(self) -> str:
        """The table as CSV with all digits; marks and interval ends in columns of their own, NaN as an empty cell."""
        return csv_text(self._headings(), self._values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; marks and interval ends in columns of their own, NaN as None."""
        rows = [[_or_none(value) for value in row] for row in self._values()]
        return {
            "name": self.name,
            "title": self.title,
            "columns": self._headings(),
            "rows": rows,
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def _all_rows(self) -> list[list[Any]]:
        return [*self.rows, *self.foot]

    def _pairs(self, row: Sequence[Any]) -> Iterator[tuple[Column, Any]]:
        return zip(self.columns, row, strict=True)

    def _headings(self) -> list[str]:
        return [heading for column in self.columns for heading in column.headings()]

    def _values(self) -> list[list[Any]]:
        return [
            [value for column, cell in self._pairs(row) for value in column.values(cell)] for row in self._all_rows()
        ]


def signed(value: float, digits: int = 4) -> str:
    """A number with its sign, a real minus among them."""
    if math.isnan(value):
        return "–"
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−")


def shown(text: str, most: int = LONGEST_NAME) -> str:
    """``text`` as the page shows it: cut where it is too long, without characters that turn around what follows."""
    plain = "".join("�" if unicodedata.category(letter) == "Cc" or letter in _TURNING else letter for letter in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _three_digits(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _in_markdown(column: Column, cell: Any) -> str:
    text, mark, is_best = column.text(cell), getattr(cell, "mark", ""), getattr(cell, "is_best", False)
    return " ".join(part for part in (f"**{text}**" if is_best else text, mark) if part)


def _in_latex(column: Column, cell: Any) -> str:
    text, is_best = latex_text(column.text(cell)), getattr(cell, "is_best", False)
    mark = "".join(_MARKS_IN_LATEX.get(character, character) for character in getattr(cell, "mark", ""))
    return " ".join(part for part in (rf"\textbf{{{text}}}" if is_best else text, mark) if part)


def _or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
