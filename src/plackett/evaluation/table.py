"""The result of an evaluation: one value per query and measure, and ways to take it elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett.metrics.judged import mean_of_counted
from plackett.metrics.measure import Measure
from plackett.validation import count_of, plain


class Evaluation:
    """Values of measures, query by query.

    Indexing with a measure's name gives its values, one per query; NaN marks a query that the convention leaves out.

    Attributes
    ----------
    metrics : list of str
        The measures, as they were asked for.
    queries : ndarray of shape (n_queries,)
        Query ids.
    values : ndarray of shape (n_queries, n_metrics)
    convention : str
        The rules under which the values were computed.
    n_empty : dict of str to int
        How many queries had no relevant document, or were too short, for each measure.
    notes : list of str
        What a reader of the numbers should know.
    floors : dict of str to dict
        For each floor ("random order", "best feature") the value of each measure; empty unless asked for.
    best_features : dict of str to str
        The feature behind each measure's "best feature" floor.
    """

    def __init__(
        self,
        metrics: Sequence[str],
        queries: np.ndarray,
        values: np.ndarray,
        *,
        convention: str,
        n_empty: Mapping[str, int] | None = None,
        notes: Sequence[str] = (),
        floors: Mapping[str, Mapping[str, float]] | None = None,
        best_features: Mapping[str, str] | None = None,
    ):
        self.metrics, self.queries, self.values, self.convention = list(metrics), queries, values, convention
        self.n_empty = dict(n_empty or {})
        self.notes = list(notes)
        self.floors = {name: dict(row) for name, row in (floors or {}).items()}
        self.best_features = dict(best_features or {})

    def __getitem__(self, metric: str | Measure) -> np.ndarray:
        if metric in self.metrics:
            return self.values[:, self.metrics.index(str(metric))]
        wanted = Measure.parse(metric)  # "NDCG@10" finds what was asked for as "ndcg@10"
        for column, name in enumerate(self.metrics):
            if Measure.parse(name) == wanted:
                return self.values[:, column]
        raise KeyError(f"{str(metric)!r} was not evaluated; there are {', '.join(self.metrics)}.")

    def __len__(self) -> int:
        return self.queries.size

    def mean(self) -> dict[str, float]:
        """The mean of each measure over the queries that count; NaN when none does."""
        return {metric: mean_of_counted(self.values[:, column]) for column, metric in enumerate(self.metrics)}

    def rows(self) -> list[tuple[str, dict[str, float]]]:
        """The mean and, where asked for, the floors: what a summary shows."""
        return [("mean", self.mean()), *self.floors.items()]

    def to_dict(self, *, per_query: bool = True) -> dict[str, Any]:
        """Plain values, ready for JSON; NaN becomes None."""
        answer: dict[str, Any] = {
            "convention": self.convention,
            "n_queries": len(self),
            "mean": {metric: _or_none(value) for metric, value in self.mean().items()},
            "n_empty": self.n_empty,
        }
        if self.floors:
            answer["floors"] = {
                name: {metric: _or_none(value) for metric, value in row.items()} for name, row in self.floors.items()
            }
        if self.best_features:
            answer["best_features"] = self.best_features
        if self.notes:
            answer["notes"] = self.notes
        if per_query:
            answer["queries"] = [
                {"qid": _plain_id(key), **{m: _or_none(v) for m, v in zip(self.metrics, row.tolist(), strict=True)}}
                for key, row in zip(self.queries.tolist(), self.values, strict=True)
            ]
        return answer

    def to_json(self, *, per_query: bool = True, indent: int | None = 2) -> str:
        """The table as JSON text."""
        plain_values = self.to_dict(per_query=per_query)
        text = json.dumps(plain_values, indent=indent, ensure_ascii=False)
        # ids that were not UTF-8 in their file cannot be encoded again, but can be escaped
        return text if _is_encodable(text) else json.dumps(plain_values, indent=indent)

    def to_csv(self) -> str:
        """The per-query values as CSV: one line per query, the convention in a column of its own."""
        rows = zip(self.queries.tolist(), self.values.tolist(), strict=True)
        return csv_text(["qid", *self.metrics, "convention"], [[key, *row, self.convention] for key, row in rows])

    def to_markdown(self, *, digits: int = 4) -> str:
        """The summary as a Markdown table."""
        return markdown_table([self.convention, *self.metrics], self._rounded_rows(digits))

    def to_latex(self, *, digits: int = 4) -> str:
        """The summary as a LaTeX ``tabular`` with booktabs rules."""
        headings, rows = [self.convention, *self.metrics], self._rounded_rows(digits)
        columns = "l" + "r" * len(self.metrics)
        return latex_table(
            [latex_text(text) for text in headings], [[latex_text(t) for t in row] for row in rows], columns
        )

    def _rounded_rows(self, digits: int) -> list[list[str]]:
        return [[name, *(rounded(row[metric], digits) for metric in self.metrics)] for name, row in self.rows()]

    def to_frame(self):
        """The per-query values as a pandas data frame, indexed by query; ``frame.attrs`` holds the convention."""
        pandas = import_optional("pandas", extra="frames", needed_for="Evaluation.to_frame")
        index = pandas.Index(self.queries, name="qid", tupleize_cols=False)
        frame = pandas.DataFrame(self.values, index=index, columns=self.metrics)
        frame.attrs["convention"] = self.convention
        return frame

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        widths = [max(len(metric), 8) for metric in self.metrics]
        heading = "  ".join(f"{metric:>{w}}" for metric, w in zip(self.metrics, widths, strict=True))
        lines = [f"{'':{width}}  {heading}"]
        for name, row in self.rows():
            cells = (f"{rounded(row[metric], 4):>{w}}" for metric, w in zip(self.metrics, widths, strict=True))
            lines.append(f"{name:<{width}}  {'  '.join(cells)}")
        lines.append(f"{count_of(len(self), 'query', 'queries')}, convention {self.convention}")
        lines.extend(self.notes)
        return "\n".join(lines)

    def __repr__(self) -> str:
        queries = count_of(len(self), "query", "queries")
        return f"Evaluation({queries} × {', '.join(self.metrics)}; convention {self.convention!r})"


def _plain_id(key: object) -> object:
    value = plain(key)
    return value if isinstance(value, (int, float, str, bool)) else str(value)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def rounded(value: float, digits: int = 4) -> str:
    """A number as a table shows it; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV with all digits; NaN becomes an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in [headings, *rows]:
        cells = ["" if cell != cell else cell for cell in row]
        # the csv module leaves a lone carriage return bare when lines end otherwise
        is_odd = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL) if is_odd else writer).writerow(cells)
    return out.getvalue()


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """A Markdown table of finished texts; ``align`` may hold an ``l`` or ``r`` for each column."""
    rules = [{"r": "---:", "l": "---"}[side] for side in align] if align else ["---"] * len(headings)
    lines = [f"| {' | '.join(_in_one_cell(cell) for cell in row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]]) + "\n"


def _in_one_cell(text: str) -> str:
    """``text`` without what would end a Markdown cell, or begin an HTML tag."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def latex_table(headings: Sequence[str], rows: Iterable[Sequence[str]], columns: str) -> str:
    """A ``tabular`` with booktabs rules; the cells are LaTeX already."""
    lines = [" & ".join(row) + r" \\" for row in (headings, *rows)]
    start = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*start, *lines[1:], r"\bottomrule", r"\end{tabular}"]) + "\n"


_TEX = {character: "\\" + character for character in "&%$#_{}"} | {
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


def latex_text(text: str) -> str:
    """``text`` with LaTeX's own characters escaped."""
    return "".join(_TEX.get(character, character) for character in text)
