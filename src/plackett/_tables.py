"""Tables as text, Markdown, LaTeX, CSV, JSON and HTML."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

import numpy as np

from plackett.validation import plain

BETTER, WORSE = "▲", "▼"
LEVEL = 0.05  # of significance
LONGEST_NAME = 80  # characters; HTML shortens longer texts, the other formats do not
LONGEST_TEXT = 200
MOST_NAMES = 6  # in a sentence
LONGEST_VALUE = 600  # in a table of pairs
NARROWEST = 14  # characters of a column with wrapped cells
MISSING = "–"
_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_LATEX_MARKS = {BETTER: r"$\blacktriangle$", WORSE: r"$\blacktriangledown$"}
_LATEX_ESCAPES = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "−": "$-$",
    "Δ": r"$\Delta$",
    "\n": " ",
}
# Colours of text are those of the notebook; bars have colours that are visible on light and on dark pages.
NOTEBOOK_STYLE = """
.plackett { max-width: 64em; overflow-x: auto; line-height: 1.45; font-variant-numeric: tabular-nums }
.plackett p { margin: 0.2em 0 0.5em; max-width: 52em }
.plackett table { border-collapse: collapse; border: 0; margin: 0.2em 0 0.7em; width: auto; font-size: 0.95em }
.plackett table tr:nth-child(n) { background: none }
.plackett table :is(td, th) { padding: 0.2em 1.1em 0.2em 0; border: 0; vertical-align: baseline; white-space: nowrap }
.plackett table tr > * { border-bottom: 1px solid color-mix(in srgb, currentColor 16%, transparent) }
.plackett table .n { text-align: right }
.plackett table :is(.text, .interval, tbody th) { text-align: left }
.plackett table :is(td.text, tbody th) { white-space: normal; overflow-wrap: anywhere; max-width: 36em }
.plackett table tbody th { font-weight: 400 }
.plackett table thead th { font-weight: 600; vertical-align: bottom }
.plackett :is(small, .bounds, .reference) { opacity: 0.75 }
.plackett .bounds, .plackett .mark { margin-left: 0.4em }
.plackett .mark { display: inline-block; width: 1.6em; font-size: 0.75em; text-align: left }
.plackett .bar { width: 7em; height: 0.75em; margin-left: 0.5em; overflow: visible }
.plackett .bar line { vector-effect: non-scaling-stroke; stroke: #8b8f94; stroke-width: 2 }
.plackett .bar line.middle { stroke-width: 6 }
.plackett .bar :is(line, rect).good, .plackett .up { stroke: #3d8bd4; fill: #3d8bd4; color: #3d8bd4 }
.plackett .bar :is(line, rect).bad, .plackett .down { stroke: #d0742f; fill: #d0742f; color: #d0742f }
.plackett .bar rect { stroke: none }
"""


# --- Finished texts to tables -----------------------------------------------------------------------------------------


def aligned(rows: Iterable[Sequence[str]], align: str, width: int | None = None) -> str:
    """Return lines with columns of equal width; ``align`` has an ``l`` or ``r`` for each column.

    Cells of the widest columns are wrapped if the lines are longer than ``width``.

    Examples
    --------
    >>> print(aligned([["", "map"], ["mean", "0.5"]], "lr"))
          map
    mean  0.5
    """
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(align))]
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in rows:
        parts = [
            textwrap.wrap(cell, most) if len(cell) > most else [cell] for cell, most in zip(row, widths, strict=True)
        ]
        for line in zip_longest(*parts, fillvalue=""):
            cells = zip(line, widths, align, strict=True)
            lines.append("  ".join(cell.ljust(most) if side == "l" else cell.rjust(most) for cell, most, side in cells))
    return "\n".join(line.rstrip() for line in lines)


def _markdown_text(text: str) -> str:
    """Escape what would end a Markdown cell or begin an HTML tag."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def latex_text(text: str) -> str:
    """Escape the special characters of LaTeX."""
    return "".join(_LATEX_ESCAPES.get(character, character) for character in text)


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV with all digits; NaN becomes an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in [headings, *rows]:
        cells = ["" if cell != cell else cell for cell in row]
        # with this line terminator the csv module does not quote a lone carriage return
        is_odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL) if is_odd else writer).writerow(cells)
    return out.getvalue()


# --- Values to texts --------------------------------------------------------------------------------------------------


def rounded(value: float, digits: int = 4) -> str:
    """Format a number with ``digits`` decimal places; NaN becomes a dash."""
    return MISSING if math.isnan(value) else f"{value:,.{digits}f}"


def p_value(p: float) -> str:
    """Format a p-value with its sign of comparison: "0.0312", "< 0.0001"."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def signed(value: float, digits: int = 4) -> str:
    """Format a number with its sign and a typographic minus."""
    return MISSING if math.isnan(value) else f"{value:+.{digits}f}".replace("-", "−")


def for_display(text: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a text and replace control characters, among them those that change the writing direction."""
    safe = "".join("�" if unicodedata.category(c) == "Cc" or c in _BIDI_CONTROLS else c for c in text)
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"


def cut(name: str) -> str:
    """Return a name that fits into a sentence."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def listed(names: Sequence[str]) -> str:
    """Return ``a, b and c``; of many names the first few."""
    some = [cut(name) for name in names]
    if len(some) > MOST_NAMES:
        some = [*some[: MOST_NAMES - 1], f"{len(some) - MOST_NAMES + 1} others"]
    return " and ".join([", ".join(some[:-1]), some[-1]] if len(some) > 1 else some)


def plain_id(key: object) -> object:
    """Return the id of a query or document as a JSON value."""
    value = plain(key)
    return value if isinstance(value, (int, float, str, bool)) else str(value)


def json_value(value: Any) -> Any:
    """Convert to JSON values: no numpy types, None for NaN and infinite numbers, and the text of other objects."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(part) for part in value]
    if isinstance(value, np.ndarray):
        return json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


# --- Tables -----------------------------------------------------------------------------------------------------------


class Marked(NamedTuple):
    """A mean, the mark of its significance, and whether it is the best of its column."""

    value: float
    mark: str = ""
    is_best: bool = False


class Estimate(NamedTuple):
    """A difference with its confidence interval, its corrected p-value, and the direction that is better."""

    value: float
    low: float
    high: float
    p: float = math.nan
    higher_is_better: bool = True


class Bar(NamedTuple):
    """A number and its text; pages and notebooks draw it as a bar from zero, too."""

    value: float
    label: str


@dataclass(frozen=True)
class Column:
    """A heading and the format of its cells.

    Attributes
    ----------
    name : str
    kind : "text", "number", "p", "marked" or "estimate"
        Type of the cells: text, a number, a p-value, a `Marked` or an `Estimate`. Every kind accepts finished texts.
    digits : int or None
        Decimal places of a number; None gives three significant digits.
    """

    name: str
    kind: Literal["text", "number", "p", "marked", "estimate"] = "number"
    digits: int | None = 4

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    def number(self, cell: Any) -> float:
        """Return the number that the cell is sorted by; NaN if it is not a number."""
        value = cell.value if isinstance(cell, (Marked, Estimate, Bar)) else cell
        return math.nan if value is None or isinstance(value, str) else float(value)

    def text(self, cell: Any) -> str:
        """Return the cell as text, without its mark."""
        if isinstance(cell, str):
            return cell
        value = self.number(cell)
        if isinstance(cell, Bar):
            return cell.label
        if isinstance(cell, Estimate):
            return MISSING if math.isnan(value) else f"{signed(value)} {_bounds(cell)}"
        if self.kind == "p" and self.digits is not None:
            smallest = 10.0**-self.digits
            return f"< {smallest:.{self.digits}f}" if value < smallest else rounded(value, self.digits)
        return _three_digits(value) if self.digits is None else rounded(value, self.digits)

    def headings(self) -> list[str]:
        """Return the names of the CSV columns for this column."""
        more = {"marked": [f"{self.name} mark"], "estimate": [f"{self.name} low", f"{self.name} high"]}
        return [self.name, *more.get(self.kind, [])]

    def values(self, cell: Any) -> list[Any]:
        """Return the cell as plain values, one for each of ``headings()``."""
        if self.kind == "estimate":
            return list(cell[:3]) if isinstance(cell, Estimate) else [math.nan] * 3
        if self.kind == "marked":
            return [cell.value, cell.mark] if isinstance(cell, Marked) else [math.nan, ""]
        return [plain(cell.value if isinstance(cell, Bar) else cell)]


@dataclass(frozen=True)
class Table:
    """A table that can be written in several formats.

    Attributes
    ----------
    columns : list of Column
        Names and kinds of the columns.
    rows : list of lists
        Rows with one cell for each column.
    foot : list of lists
        Rows that stay below the others when these are sorted, such as reference scores.
    name : str
        One word, for file names and links.
    title : str
        Heading above the table; may be empty.
    notes : list of str
        Remarks below the table.

    Examples
    --------
    >>> from plackett._tables import Column
    >>> from plackett.report.tables import Table
    >>> table = Table([Column("ranker", "text"), Column("map")], [["listmle", 0.51239], ["adarank", float("nan")]])
    >>> print(table.to_text())
    ranker      map
    listmle  0.5124
    adarank       –
    """

    columns: list[Column]
    rows: list[list[Any]]
    foot: list[list[Any]] = field(default_factory=list)
    name: str = ""
    title: str = ""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Table:
        """Return a table of names and texts, without headings."""
        return cls([Column("", "text"), Column("", "text")], [list(pair) for pair in pairs])

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.title, self.to_text().rstrip("\n"), *self.notes]))

    def to_text(self, width: int | None = None) -> str:
        """Return the table in aligned columns, for a terminal; cells are wrapped to keep lines within ``width``."""
        # numbers stay aligned below each other when only some of them have a mark
        headings = [f"{column.name}   " if column.kind == "marked" else column.name for column in self.columns]
        return aligned([headings, *self._texts(_plain_cell)], self._align(), width)

    def to_markdown(self) -> str:
        """Return the table in Markdown, the best of each column in bold."""
        rules = ["---" if column.is_text else "---:" for column in self.columns]
        rows = [[column.name for column in self.columns], *self._texts(_markdown_cell)]
        lines = [f"| {' | '.join(map(_markdown_text, row))} |" for row in rows]
        return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]]) + "\n"

    def to_latex(self) -> str:
        """Return the table as a LaTeX ``tabular`` with booktabs rules; the marks need the package amssymb."""
        rows = [[latex_text(column.name) for column in self.columns], *self._texts(_latex_cell)]
        lines = [" & ".join(row) + r" \\" for row in rows]
        start = [rf"\begin{{tabular}}{{{self._align()}}}", r"\toprule", lines[0], r"\midrule"]
        return "\n".join([*start, *lines[1:], r"\bottomrule", r"\end{tabular}"]) + "\n"

    def to_csv(self) -> str:
        """Return CSV with all digits; marks and interval bounds in separate columns, NaN as an empty cell."""
        return csv_text(self._csv_headings(), self._csv_rows())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; marks and interval bounds in separate columns, NaN as None."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": self._csv_headings(),
            "rows": json_value(self._csv_rows()),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def to_html(self, *, with_headings: bool = True, is_sortable: bool = True) -> str:
        """Return an HTML ``table`` element with its caption; a script can sort it by the ``data-value`` of its cells.

        Estimates are drawn as bars on a common scale. The element has no inline styles. The headings are buttons
        for that script unless ``is_sortable`` is False.
        """
        scale, longest = self._scale(), LONGEST_TEXT if with_headings else LONGEST_VALUE
        heading = next((place for place, column in enumerate(self.columns) if column.name in ("ranker", "run")), None)
        if heading is None:
            heading = next((place for place, column in enumerate(self.columns) if column.is_text), -1)
        parts = [f"<caption>{escape(for_display(self.title))}</caption>"] if self.title else []
        if with_headings and any(column.name for column in self.columns):
            headings = [_html_heading(column, is_sortable) for column in self.columns]
            parts.append(f"<thead><tr>{''.join(headings)}</tr></thead>")
        for kind, rows in (("rows", self.rows), ("foot", self.foot)):
            if rows:
                lines = [
                    "".join(
                        _html_cell(column, cell, scale, LONGEST_NAME if place == heading else longest, place == heading)
                        for place, (column, cell) in enumerate(self._cells(row))
                    )
                    for row in rows
                ]
                body = "\n".join(f"<tr>{line}</tr>" for line in lines)
                parts.append(f'<tbody class="{kind}">\n{body}\n</tbody>')
        attributes = f' id="table-{escape(self.name)}"' if self.name else ""
        attributes += "" if with_headings else ' class="pairs"'
        return "\n".join([f"<table{attributes}>", *parts, "</table>"])

    def _align(self) -> str:
        return "".join("l" if column.is_text else "r" for column in self.columns)

    def _cells(self, row: Sequence[Any]) -> Iterator[tuple[Column, Any]]:
        return zip(self.columns, row, strict=True)

    def _texts(self, of_cell: Any) -> list[list[str]]:
        return [[of_cell(*pair) for pair in self._cells(row)] for row in [*self.rows, *self.foot]]

    def _csv_headings(self) -> list[str]:
        return [heading for column in self.columns for heading in column.headings()]

    def _csv_rows(self) -> list[list[Any]]:
        return [
            [value for column, cell in self._cells(row) for value in column.values(cell)]
            for row in [*self.rows, *self.foot]
        ]

    def _scale(self) -> tuple[float, float]:
        """Return the range of the bars: from the lowest to the highest bound of any interval, including zero."""
        cells = [cell for row in self.rows for cell in row if isinstance(cell, Estimate)]
        bounds = [bound for cell in cells for bound in (cell.low, cell.high) if math.isfinite(bound)]
        bounds += [
            cell.value for row in self.rows for cell in row if isinstance(cell, Bar) and math.isfinite(cell.value)
        ]
        return min([*bounds, 0.0]), max([*bounds, 0.0])

    def _repr_html_(self) -> str:
        return notebook_html(self, [self.title] if self.title else [], self.notes)


def _plain_cell(column: Column, cell: Any) -> str:
    text = column.text(cell)
    return f"{text} {getattr(cell, 'mark', ''):<2}" if column.kind == "marked" else text


def _markdown_cell(column: Column, cell: Any) -> str:
    text, mark, is_best = column.text(cell), getattr(cell, "mark", ""), getattr(cell, "is_best", False)
    return " ".join(part for part in (f"**{text}**" if is_best else text, mark) if part)


def _latex_cell(column: Column, cell: Any) -> str:
    text, is_best = latex_text(column.text(cell)), getattr(cell, "is_best", False)
    mark = "".join(_LATEX_MARKS.get(character, character) for character in getattr(cell, "mark", ""))
    return " ".join(part for part in (rf"\textbf{{{text}}}" if is_best else text, mark) if part)


def notebook_html(tables: Table | Iterable[Table], before: Iterable[str] = (), after: Iterable[str] = ()) -> str:
    """Return tables for a notebook, between lines of text, in one style for light and dark pages."""
    tables = [tables] if isinstance(tables, Table) else list(tables)
    head = "".join(f"<p>{escape(for_display(line, LONGEST_VALUE))}</p>\n" for line in before)
    body = "\n".join(table.to_html(is_sortable=False) for table in tables if table.rows or table.foot)
    notes = "<br>\n".join(escape(for_display(line, LONGEST_VALUE)) for line in after)
    foot = f"<p><small>{notes}</small></p>\n" if notes else ""
    return f'<div class="plackett"><style>{NOTEBOOK_STYLE}</style>\n{head}{body}\n{foot}</div>'


def _html_heading(column: Column, is_sortable: bool) -> str:
    if not is_sortable:
        style = "text" if column.is_text else "n"
        return f'<th scope="col" class="{style}">{escape(for_display(column.name, 32))}</th>'
    kind, first = "text" if column.is_text else "number", "ascending"
    style = "" if column.is_text else ' class="n"'
    if column.kind in ("marked", "estimate"):
        first, style = "descending", f' class="{"n marked" if column.kind == "marked" else "interval"}"'
    name = escape(for_display(column.name, 32))
    attributes = f'scope="col" aria-sort="none" data-kind="{kind}" data-first="{first}"{style}'
    return f'<th {attributes}><button type="button">{name}</button></th>'


def _html_cell(column: Column, cell: Any, scale: tuple[float, float], longest: int, is_heading: bool) -> str:
    if is_heading:
        return f'<th scope="row">{escape(for_display(str(cell), longest))}</th>'
    if column.is_text:
        return f'<td class="text">{escape(for_display(str(cell), longest))}</td>'
    if column.kind == "estimate" and isinstance(cell, str):
        return f'<td class="interval reference" data-value="{"0" if cell else ""}">{escape(cell)}</td>'
    number, text = column.number(cell), escape(column.text(cell))
    value = f'data-value="{"" if math.isnan(number) else number}"'
    if isinstance(cell, Estimate):
        bounds = f'{signed(cell.value)}<span class="bounds">{_bounds(cell)}</span>{_html_bar(cell, scale)}'
        return f'<td class="interval" {value}>{bounds}</td>'
    if isinstance(cell, Bar):
        return f'<td class="n" {value}>{text}{_html_span(cell.value, scale)}</td>'
    if isinstance(cell, Marked):
        shown = f'<b class="best">{text}</b>' if cell.is_best else f"<span>{text}</span>"
        return f'<td class="n" {value}>{shown}{_html_mark(cell.mark)}</td>'
    return f'<td class="n" {value}>{text}</td>'


def _html_mark(mark: str) -> str:
    if not mark:
        return '<span class="mark"></span>'
    side, word = ("up", "better") if mark[0] == BETTER else ("down", "worse")
    label = f"{word}, p at most {'0.01' if len(mark) > 1 else '0.05'}"
    return f'<span class="mark {side}" role="img" aria-label="{label}">{mark}</span>'


def _html_bar(cell: Estimate, scale: tuple[float, float]) -> str:
    """Draw zero, both bounds and the estimate at positions from 3 to 97; empty if there is no interval."""
    first, last = scale
    if first == last or not all(math.isfinite(bound) for bound in cell[:3]):
        return ""
    zero, middle, low, high = (
        round(3 + 94 * (bound - first) / (last - first), 1) for bound in (0.0, cell.value, cell.low, cell.high)
    )
    side = "even"
    if cell.p <= LEVEL:  # the corrected p-value, like the marks; the interval is that of one pair alone
        side = "good" if (cell.value > 0) == cell.higher_is_better else "bad"
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="zero" x1="{zero}" x2="{zero}" y1="-2" y2="12"/>'
        f'<line class="range {side}" x1="{low}" x2="{high}" y1="5" y2="5"/>'
        f'<line class="middle {side}" x1="{middle}" x2="{middle}" y1="5" y2="5"/></svg>'
    )


def _html_span(value: float, scale: tuple[float, float]) -> str:
    """Draw a number as a bar from zero."""
    first, last = scale
    if first == last or not math.isfinite(value):
        return ""
    side = "good" if value > 0 else "bad"
    start, end = sorted(round(100 * (one - first) / (last - first), 1) for one in (0.0, value))
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{side}" x="{start}" width="{round(end - start, 1)}" height="10"/></svg>'
    )


def _bounds(cell: Estimate) -> str:
    return f"[{signed(cell.low)}, {signed(cell.high)}]"


def _three_digits(value: float) -> str:
    if not math.isfinite(value):
        return MISSING
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
