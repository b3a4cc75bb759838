"""The parts of a reproduction: rows with a printed number, our number, and a verdict with its reason.

The module of a paper holds the paper's numbers as data, a function from a :class:`Job` to a :class:`Table` for each
table or figure, and a :class:`Paper` that lists them. Tables are yielded as they are finished, so that an interrupted
run keeps the results so far. `results` makes plain values of them, from which the page, the docs and ``--json`` come.
"""

from __future__ import annotations

import math
import platform
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from plackett._tables import MISSING, Column, json_value
from plackett._tables import Table as TextTable
from plackett._threads import n_threads
from plackett.data import datasets
from plackett.data.datasets.published import Fold
from plackett.evaluation.significance import paired_t
from plackett.exceptions import DatasetNotFoundError, DataWarning
from plackett.validation import count_of

LEVEL = 0.05  # significance level of claims


class Verdict(Enum):
    """The outcome for a printed number or claim."""

    CONFIRMED = "confirmed"
    BETTER = "better"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"
    MADE_DATA = "made data"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """One printed number or claim, our result, and the verdict."""

    what: str  # the quantity ("DiffRank, NDCG@10"), or the claim in words
    printed: float | str | None  # text if the paper has a picture or a claim; None if not available
    ours: float | str | None
    verdict: Verdict
    reason: str = ""  # the tolerance, the p-value of a claim, why the numbers are not comparable
    error: float | None = None  # the standard error of our number, if it is a mean over random draws
    cell: tuple[str, str, str] | None = None  # the printed table, and the headings of the row and the column

    def at(self, table: str, row: str, column: str) -> Row:
        """Return the row with its place in a printed table."""
        return replace(self, cell=(table, row, column))

    @staticmethod
    def of_number(
        what: str, printed: float, ours: float, *, tolerance: float, is_error: bool = False, error: float | None = None
    ) -> Row:
        """Return a row for a printed number: confirmed within ``tolerance``, else better or not confirmed.

        Lower is better if it ``is_error``. With the standard ``error`` of a mean over random draws, the interval of two
        standard errors to either side must be within the tolerance or beyond it; otherwise the number is undecided.
        """
        gap, width = ours - printed, 2 * (error or 0.0)
        shown = f"{gap:+.3f}" + (f" ± {width:.3f}" if width else "")
        if math.isnan(gap):
            verdict, reason = Verdict.NOT_COMPARABLE, "no value"
        elif abs(gap) + width <= tolerance + 1e-12:  # printed numbers are decimal
            verdict, reason = Verdict.CONFIRMED, f"{shown}, within {tolerance:.3g}"
        elif abs(gap) - width <= tolerance + 1e-12:
            verdict, reason = Verdict.UNDECIDED, f"{shown}, within or beyond {tolerance:.3g}"
        else:
            verdict = Verdict.BETTER if (gap < 0) == is_error else Verdict.NOT_CONFIRMED
            reason = f"{shown}, beyond {tolerance:.3g}"
        return Row(what, printed, ours, verdict, reason, error)

    @staticmethod
    def of_claim(what: str, printed: str, ours: str, holds: bool, reason: str = "") -> Row:
        """Return a row for a claim of the paper, in words or as a picture."""
        return Row(what, printed, ours, Verdict.CONFIRMED if holds else Verdict.NOT_CONFIRMED, reason)

    @staticmethod
    def of_gaps(what: str, printed: str, ours: str, gaps: Sequence[tuple[float, float]], reason: str = "") -> Row:
        """Return a row for the claim that differences are positive, each with its p-value as in `gap_and_p`.

        Confirmed if all are significantly above 0, not confirmed if one is significantly below. Otherwise undecided:
        a confidence interval contains 0, and there is too little data.
        """
        verdict = Verdict.UNDECIDED
        if all(gap > 0 and p < LEVEL for gap, p in gaps):
            verdict = Verdict.CONFIRMED
        elif any(gap < 0 and p < LEVEL for gap, p in gaps):
            verdict = Verdict.NOT_CONFIRMED
        return Row(what, printed, ours, verdict, reason)

    @staticmethod
    def not_comparable(
        what: str, printed: float | str | None, ours: float | str | None, reason: str, error: float | None = None
    ) -> Row:
        """Return a row without a verdict, and the reason."""
        return Row(what, printed, ours, Verdict.NOT_COMPARABLE, reason, error)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, or one of its panels, to be drawn from our numbers.

    ``series`` has the points (x, y) of each name: x is a number, or a text for bars and boxes, and y the values of a
    box.
    """

    title: str  # "Figure 2 (a): OHSUMED"
    kind: Literal["lines", "bars", "boxes"] = "lines"
    x: str = ""  # the names of the axes
    y: str = ""
    series: Mapping[str, Sequence[tuple[Any, Any]]] = field(default_factory=dict)
    marks: Sequence[float] = ()  # positions on the x axis of dashed lines
    missing: str = ""  # why there are no numbers


@dataclass(frozen=True)
class Table:
    """The results for a table or figure of a paper."""

    title: str  # "Table 1", with the data if it is not the paper's
    protocol: str  # how it was run, and how that differs from the paper
    tolerance: str  # the meaning of "confirmed" in this table
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    seconds: float = 0.0
    missing: tuple[str, ...] = ()  # the data sets of the paper that are not available
    item: str = ""  # the title of the `Item`

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        rows = [vars(row) for row in self.rows]
        figures = [{**vars(figure), "series": _short(figure.series)} for figure in self.figures]
        return json_value({**vars(self), "rows": rows, "figures": figures, "verdicts": counts_of(self.rows)})


def _short(value: Any) -> Any:
    """Return plain values with five significant digits, more than a figure shows."""
    value = json_value(value)
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@dataclass(frozen=True)
class Job:
    """The settings of a run, and the data sets that were read.

    ``made`` names those whose number of queries is not the published one, such as small files made for a test.
    """

    is_quick: bool = False  # whether to run a small part only
    folder: Path | None = None  # of the data sets; None takes the default folder
    progress: Callable[[str], None] = field(default=lambda text: None)  # takes a line of text
    rng_seed: int = 0  # the first of the random seeds
    hours: float | None = None  # limit of replications, for the papers that have a `Paper.prepare`
    store: Path | None = None  # folder of finished replications, from which a later run resumes
    data: dict[str, str] = field(default_factory=dict)  # the sizes of the data sets, by name
    made: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Return whether a data set is available; ``"ohsumed/letor2"`` names one of its versions."""
        name, _, version = name.partition("/")
        try:
            datasets.locate(name, self.folder, version=version or None)
        except DatasetNotFoundError:
            return False
        return True

    def load(self, name: str, part: str | None = None) -> Any:
        """Return a data set, or one of its parts, as `datasets.load` does."""
        set_name, _, version = name.partition("/")
        with ignored(DataWarning):  # of the size, which the rows report
            found: Any = datasets.load(set_name, self.folder, part=part, version=version or None)
        sizes = (found.n_users, len(found)) if hasattr(found, "n_users") else (found.n_queries, found.n_docs)
        self._note(name, *sizes, is_part=part is not None)
        return found

    def load_fold(self, name: str, number: int) -> Fold:
        """Return a fold of a data set as `datasets.load_fold` does."""
        fold = datasets.load_fold(name, number, self.folder)
        parts = [part for part in fold if part is not None]
        self._note(name, *(sum(getattr(part, size) for part in parts) for size in ("n_queries", "n_docs")))
        return fold

    def _note(self, name: str, n_queries: int, n_docs: int, *, is_part: bool = False) -> None:
        set_name, _, version = name.partition("/")
        published = datasets.info(set_name, version=version or None).n_queries
        self.data[name] = f"{count_of(n_queries, 'query', 'queries')}, {count_of(n_docs, 'row')}"
        # the sizes of parts are not in the catalogue
        if published is not None and (2 * n_queries < published if is_part else n_queries != published):
            self.made.add(name)
            self.data[name] += f"; made data: the published set has {published:,} queries"


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and the function that runs it; its table need not have the seconds."""

    title: str
    run: Callable[[Job], Table]
    seconds: float  # approximate duration on two cores
    quick_seconds: float
    needs: tuple[str, ...] = ()  # data sets of the paper, named as in `Job.has`
    instead: tuple[str, ...] = ()  # a data set that replaces them if none of them is available
    figures: tuple[str, ...] = ()  # the titles of the panels that stay empty without data
    printed: tuple[Row, ...] = ()  # what the paper prints, shown without data

    def can_run(self, job: Job) -> bool:
        """Return whether the data are available, or what replaces them."""
        return not self.needs or any(map(job.has, (*self.needs, *self.instead)))

    def duration(self, job: Job) -> float:
        """Return the approximate seconds on two cores; 0 if the data are not available."""
        return 0.0 if not self.can_run(job) else self.quick_seconds if job.is_quick else self.seconds


@dataclass(frozen=True)
class Paper:
    """A paper and its items in order.

    ``reference`` is its key in docs/references.md. ``prepare`` runs what several items share, the replications of
    simulations, before the first item.
    """

    name: str
    title: str
    reference: str
    items: tuple[Item, ...]
    prepare: Callable[[Job, Sequence[Item]], None] | None = None

    def run(self, job: Job, items: Sequence[Item] | None = None) -> Iterator[Table]:
        """Yield the tables, each as soon as it is finished."""
        chosen = self.items if items is None else items
        if self.prepare is not None:
            self.prepare(job, chosen)
        for place, item in enumerate(chosen, start=1):
            job.progress(f"{item.title} ({place} of {len(chosen)})")
            missing = tuple(name for name in item.needs if not job.has(name))
            if not item.can_run(job):
                reason = f"not available: {', '.join(missing)}"
                empty = tuple(Figure(title, missing=reason) for title in item.figures)
                yield Table(item.title, "", "", item.printed, figures=empty, missing=missing, item=item.title)
                continue
            start = time.perf_counter()
            job.made.clear()
            table = item.run(job)
            rows = tuple(map(_of_made_data, table.rows)) if job.made else table.rows
            seconds = time.perf_counter() - start
            yield replace(table, rows=rows, seconds=seconds, missing=missing, item=item.title)


def _of_made_data(row: Row) -> Row:
    """Return the row with no verdict on the paper; the reason keeps what it would be."""
    return replace(row, verdict=Verdict.MADE_DATA, reason=f"{row.verdict}; {row.reason}".removesuffix("; "))


def results(paper: Paper, job: Job, tables: Sequence[Table]) -> dict[str, Any]:
    """Return a run as plain values: its settings, data, versions, missing data, counts of verdicts, and tables."""
    missing: dict[str, list[str]] = {}
    for table in tables:
        for name in table.missing:
            missing.setdefault(name, []).append(table.item)
    packages = {name: version(name) for name in ("plackett", "numpy", "scipy", "scikit-learn")}
    return {
        "paper": paper.name,
        "title": paper.title,
        "reference": paper.reference,
        "quick": job.is_quick,
        "seed": job.rng_seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "threads": n_threads(),
        "versions": {"python": platform.python_version(), **packages},
        "data": dict(job.data),
        "missing": missing,
        "verdicts": counts_of([row for table in tables for row in table.rows]),
        "tables": [table.to_dict() for table in tables],
    }


def printed(paper: str) -> dict[str, Any]:
    """Return the numbers that a paper prints, from the package's data file of that name."""
    return tomllib.loads((resources.files(__package__) / "printed" / f"{paper}.toml").read_text("utf-8"))


@contextmanager
def ignored(*kinds: type[Warning]) -> Iterator[None]:
    """Ignore some warnings."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield


def gap_and_p(own: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the mean difference and the p-value of a paired t-test over queries with both values; 1 if all are equal.

    If p is below `LEVEL`, the confidence interval of the difference does not contain 0.
    """
    return float(np.nanmean(own - other)), paired_t(own, other)


def counts_of(rows: Sequence[Row]) -> dict[str, int]:
    """Return the number of rows with each verdict, without those of made data."""
    shown = (verdict for verdict in Verdict if verdict is not Verdict.MADE_DATA)
    return {str(verdict): sum(row.verdict is verdict for row in rows) for verdict in shown}


def summary(counts: Mapping[str, int]) -> str:
    """Return counts of verdicts as text."""
    shown = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    return f"{count_of(sum(counts.values()), 'row')}: {shown or 'none'}"


def rows_table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return rows of `Table.to_dict` as a table for a terminal or a page."""
    cells = [
        [row["what"], printed_text, as_text(row["ours"], row["error"]), row["verdict"], row["reason"]]
        for row, printed_text in zip(rows, in_print(rows), strict=True)
    ]
    names = ("number or claim", "printed", "ours", "verdict", "reason")
    return TextTable([Column(name, "text") for name in names], cells)


def in_print(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the printed numbers as text; those of one printed table with equally many decimals, up to four digits."""
    texts, decimals = [], Counter[str]()
    for row in rows:
        value = row["printed"]
        texts.append(f"{value:.4g}" if isinstance(value, float) else as_text(value))
        if row["cell"] and isinstance(value, float):
            decimals[row["cell"][0]] = max(decimals[row["cell"][0]], len(texts[-1].partition(".")[2]))
    for place, row in enumerate(rows):
        if row["cell"] and isinstance(row["printed"], float):
            texts[place] = f"{row['printed']:.{decimals[row['cell'][0]]}f}"
    return texts


def as_text(value: float | str | None, error: float | None = None) -> str:
    """Return a number with four digits and its standard error in brackets, text unchanged, and None as a dash."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    text = f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
    return text if error is None else f"{text} ({error:.4f})"
