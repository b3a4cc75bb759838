"""What a reproduction consists of: rows with a printed number, ours, and a verdict that gives its reason.

A module for a paper holds the paper's numbers as data, the recipe of each table or figure as a function from a
:class:`Job` to rows, and a :class:`Paper` that lists them. Nothing here prints; tables come one by one as they are
finished, so that hours of work are not lost with the last of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data import datasets
from plackett.data.datasets.published import VARIABLE
from plackett.evaluation.significance import paired_t
from plackett.exceptions import DatasetNotFoundError
from plackett.validation import count_of

LEVEL = 0.05  # of the tests by which claims are confirmed


class Verdict(Enum):
    """What comes of a printed number or claim."""

    CONFIRMED = "confirmed"
    BETTER = "better"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """One printed number, or one claim, and what became of it.

    Attributes
    ----------
    what : str
        What the number is of ("DiffRank, NDCG@10"), or the claim in words.
    printed, ours : float, str or None
        Numbers, or words where the paper has a picture or a claim; None for what it does not give or we cannot.
    verdict : Verdict
    reason : str
        Why: the tolerance that was kept or missed, the p-value of a claim, what makes the two not comparable.
    error : float or None
        The standard error of our number, where it is a mean over random draws.
    """

    what: str
    printed: float | str | None
    ours: float | str | None
    verdict: Verdict
    reason: str = ""
    error: float | None = None


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper, run.

    Attributes
    ----------
    title : str
        "Table 1", with the data it was run on where these are not the paper's.
    protocol : str
        How it was run, in a sentence or two, and where that differs from the paper.
    tolerance : str
        What "confirmed" means here.
    rows : tuple of Row
    notes : tuple of str
        What a reader of the rows should know.
    seconds : float
    """

    title: str
    protocol: str
    tolerance: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def counts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        return {str(verdict): sum(row.verdict is verdict for row in self.rows) for verdict in Verdict}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        rows = [{**vars(row), "verdict": str(row.verdict)} for row in self.rows]
        return {**vars(self), "rows": rows, "notes": list(self.notes), "verdicts": self.counts()}

    def to_markdown(self) -> str:
        """The table with its title, its protocol and a line that counts the verdicts."""
        lines = [f"### {self.title}", "", self.protocol, f"Tolerance: {self.tolerance}", ""]
        lines += ["| | printed | ours | verdict | |", "|---|---|---|---|---|"]
        for row in self.rows:
            cells = (row.what, as_text(row.printed), as_text(row.ours, row.error), str(row.verdict), row.reason)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        found = [f"{n} {verdict}" for verdict, n in self.counts().items() if n]
        lines += ["", f"{', '.join(found) or 'no rows'}; {self.seconds:.0f} s.", *[f"\n{note}" for note in self.notes]]
        return "\n".join(lines) + "\n\n"


@dataclass(frozen=True)
class Job:
    """What a recipe is given: how much to do, where data lie, and whom to tell how far it is.

    ``rng_seed`` is the first of the seeds that a recipe counts up from.
    """

    is_quick: bool = False
    folder: Path | None = None
    tell: Callable[[str], None] = field(default=lambda words: None)
    rng_seed: int = 0

    def has(self, name: str) -> bool:
        """Whether a known data set is at hand; ``"ohsumed/letor2"`` asks for one of its versions."""
        name, _, version = name.partition("/")
        try:
            datasets.locate(name, self.folder, version=version or None)
        except DatasetNotFoundError:
            return False
        return True


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and how it is run.

    ``run`` answers with a table whose seconds need not be set. ``seconds`` and ``quick_seconds`` say about how long it
    takes on two cores. ``needs`` names data sets as :meth:`Job.has` reads them, any one of which will do; without it
    the table says so, and nothing runs.
    """

    title: str
    run: Callable[[Job], Table]
    seconds: float
    quick_seconds: float
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper and its items in order.

    ``reference`` is its key in docs/references.md.
    """

    name: str
    title: str
    reference: str
    items: tuple[Item, ...]

    def seconds(self, *, is_quick: bool) -> float:
        """About how long all items take on two cores."""
        return sum(item.quick_seconds if is_quick else item.seconds for item in self.items)

    def run(self, job: Job, items: Sequence[Item] | None = None) -> Iterator[Table]:
        """The tables, each as soon as it is finished."""
        chosen = self.items if items is None else items
        for place, item in enumerate(chosen, start=1):
            job.tell(f"{item.title} ({place} of {len(chosen)})")
            if item.needs and not any(job.has(name) for name in item.needs):
                yield _without_data(item)
                continue
            start = time.perf_counter()
            table = item.run(job)
            yield replace(table, seconds=time.perf_counter() - start)


def _without_data(item: Item) -> Table:
    names = " or ".join(item.needs)
    where = f"Give --data FOLDER or set {VARIABLE} to the folder that holds {names}."
    row = Row(item.title, None, None, Verdict.NOT_COMPARABLE, f"the data are not at hand: {names}")
    return Table(item.title, where, "none", (row,))


def of_number(
    what: str,
    printed: float,
    ours: float,
    *,
    tolerance: float,
    is_error: bool = False,
    error: float | None = None,
) -> Row:
    """A row for a printed number: confirmed within ``tolerance``, else better or not confirmed.

    ``is_error`` says that less is better. Of random draws with the standard error ``error`` the whole interval, two
    standard errors to either side, must be within the tolerance or beyond it; otherwise the number is undecided.
    """
    gap, width = ours - printed, 2 * (error or 0.0)
    if math.isnan(gap):
        return Row(what, printed, ours, Verdict.NOT_COMPARABLE, "no value", error)
    shown = f"{gap:+.3f}" + (f" ± {width:.3f}" if width else "")
    if abs(gap) + width <= tolerance + 1e-12:  # printed numbers are decimal
        return Row(what, printed, ours, Verdict.CONFIRMED, f"{shown}, within {tolerance:.3g}", error)
    if abs(gap) - width <= tolerance + 1e-12:
        return Row(what, printed, ours, Verdict.UNDECIDED, f"{shown}, within or beyond {tolerance:.3g}", error)
    is_better = (gap < 0) == is_error
    verdict = Verdict.BETTER if is_better else Verdict.NOT_CONFIRMED
    return Row(what, printed, ours, verdict, f"{shown}, beyond {tolerance:.3g}", error)


def gap_and_p(own: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Mean difference, and p of a paired t-test over the queries that count for both; 1 where none differs.

    Where p is below `LEVEL`, the interval of the difference does not hold 0.
    """
    return float(np.nanmean(own - other)), paired_t(own, other)


def of_claim(what: str, printed: str, ours: str, holds: bool, reason: str = "") -> Row:
    """A row for what a paper says in words or shows in a picture."""
    return Row(what, printed, ours, Verdict.CONFIRMED if holds else Verdict.NOT_CONFIRMED, reason)


def of_gaps(what: str, printed: str, ours: str, gaps: Sequence[tuple[float, float]], reason: str = "") -> Row:
    """A row for the claim that differences are above 0, each with its p-value as `gap_and_p` gives them.

    Confirmed if all are significantly above 0, not confirmed if one is significantly below. Otherwise undecided: an
    interval holds 0, so that it holds the claim and its opposite, and the data are too few to tell.
    """
    verdict = Verdict.UNDECIDED
    if all(gap > 0 and p < LEVEL for gap, p in gaps):
        verdict = Verdict.CONFIRMED
    elif any(gap < 0 and p < LEVEL for gap, p in gaps):
        verdict = Verdict.NOT_CONFIRMED
    return Row(what, printed, ours, verdict, reason)


def not_comparable(what: str, printed: float | str | None, ours: float | str | None, reason: str) -> Row:
    """A row of which no verdict can be given, and why."""
    return Row(what, printed, ours, Verdict.NOT_COMPARABLE, reason)


def summary(tables: Sequence[Table]) -> str:
    """One line on all verdicts."""
    rows = [row for table in tables for row in table.rows]
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    found = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    return f"{count_of(len(rows), 'row')}: {found or 'none'}"


def as_text(value: float | str | None, error: float | None = None) -> str:
    """A number with four digits, its standard error in brackets; words as they are; nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    text = f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
    return text if error is None else f"{text} ({error:.4f})"
