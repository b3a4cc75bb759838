"""The parts of a reproduction: rows with a printed number, our number, and a verdict with its reason.

The module of a paper holds the paper's numbers as data, a function from a :class:`Job` to a :class:`Table` for each
table or figure, and a :class:`Paper` that lists them. Tables are yielded as they are finished, so that an interrupted
run keeps the results so far.
"""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from plackett._tables import markdown_table
from plackett.data import datasets
from plackett.data.datasets.published import VARIABLE
from plackett.evaluation.significance import paired_t
from plackett.exceptions import DatasetNotFoundError
from plackett.validation import count_of

LEVEL = 0.05  # significance level of claims


class Verdict(Enum):
    """The outcome for a printed number or claim."""

    CONFIRMED = "confirmed"
    BETTER = "better"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """One printed number or claim, our result, and the verdict.

    Attributes
    ----------
    what : str
        The quantity ("DiffRank, NDCG@10"), or the claim in words.
    printed, ours : float, str or None
        Numbers, or text if the paper has a picture or a claim; None if not available.
    verdict : Verdict
    reason : str
        The reason for the verdict: the tolerance, the p-value of a claim, why the numbers are not comparable.
    error : float or None
        The standard error of our number, if it is a mean over random draws.
    """

    what: str
    printed: float | str | None
    ours: float | str | None
    verdict: Verdict
    reason: str = ""
    error: float | None = None

    @staticmethod
    def of_number(
        what: str, printed: float, ours: float, *, tolerance: float, is_error: bool = False, error: float | None = None
    ) -> Row:
        """Return a row for a printed number: confirmed within ``tolerance``, else better or not confirmed.

        Parameters
        ----------
        what : str
        printed, ours : float
        tolerance : float
            Largest difference of a confirmed number.
        is_error : bool, default=False
            Whether lower is better.
        error : float, default=None
            Standard error of a mean over random draws. The interval of two standard errors to either side must be
            within the tolerance or beyond it; otherwise the number is undecided.
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
class Table:
    """The results for a table or figure of a paper.

    Attributes
    ----------
    title : str
        "Table 1", with the data if it is not the paper's.
    protocol : str
        How it was run, and how that differs from the paper.
    tolerance : str
        The meaning of "confirmed" in this table.
    rows : tuple of Row
    notes : tuple of str
        Remarks on the rows.
    seconds : float
    """

    title: str
    protocol: str
    tolerance: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def counts(self) -> dict[str, int]:
        """Return the number of rows with each verdict."""
        return {str(verdict): sum(row.verdict is verdict for row in self.rows) for verdict in Verdict}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        rows = [{**vars(row), "verdict": str(row.verdict)} for row in self.rows]
        return {**vars(self), "rows": rows, "notes": list(self.notes), "verdicts": self.counts()}

    def to_markdown(self) -> str:
        """Return the table with its title, its protocol and the counts of verdicts."""
        cells = (
            (row.what, as_text(row.printed), as_text(row.ours, row.error), str(row.verdict), row.reason)
            for row in self.rows
        )
        table = markdown_table(("", "printed", "ours", "verdict", "reason"), cells, "lllll")
        head = f"### {self.title}\n\n{self.protocol}\nTolerance: {self.tolerance}\n\n"
        counts = f"\n{counts_of(self.rows) or 'no rows'}; {self.seconds:.0f} s.\n"
        return head + table + counts + "".join(f"\n{note}\n" for note in self.notes) + "\n"


@dataclass(frozen=True)
class Job:
    """The settings of a run.

    Attributes
    ----------
    is_quick : bool
        Whether to run a small part only.
    folder : Path or None
        Folder of the data sets; None takes the default folder.
    progress : callable
        Called with a line of text about the progress.
    rng_seed : int
        The first of the random seeds.
    hours : float or None
        Time limit of replications, for the papers that have a `Paper.prepare`.
    store : Path or None
        Folder of finished replications, from which a later run resumes.
    """

    is_quick: bool = False
    folder: Path | None = None
    progress: Callable[[str], None] = field(default=lambda text: None)
    rng_seed: int = 0
    hours: float | None = None
    store: Path | None = None

    def has(self, name: str) -> bool:
        """Return whether a data set is available; ``"ohsumed/letor2"`` names one of its versions."""
        name, _, version = name.partition("/")
        try:
            datasets.locate(name, self.folder, version=version or None)
        except DatasetNotFoundError:
            return False
        return True


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and the function that runs it.

    Attributes
    ----------
    title : str
    run : callable
        Takes a Job and returns a Table, whose seconds need not be set.
    seconds, quick_seconds : float
        Approximate duration on two cores.
    needs : tuple of str
        Data sets, named as in :meth:`Job.has`, one of which is needed. Without any, the table only reports that.
    """

    title: str
    run: Callable[[Job], Table]
    seconds: float
    quick_seconds: float
    needs: tuple[str, ...] = ()


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

    def seconds(self, *, is_quick: bool) -> float:
        """Return the approximate duration of all items on two cores."""
        return sum(item.quick_seconds if is_quick else item.seconds for item in self.items)

    def run(self, job: Job, items: Sequence[Item] | None = None) -> Iterator[Table]:
        """Yield the tables, each as soon as it is finished."""
        chosen = self.items if items is None else items
        if self.prepare is not None:
            self.prepare(job, chosen)
        for place, item in enumerate(chosen, start=1):
            job.progress(f"{item.title} ({place} of {len(chosen)})")
            if item.needs and not any(job.has(name) for name in item.needs):
                yield _without_data(item)
                continue
            start = time.perf_counter()
            table = item.run(job)
            yield replace(table, seconds=time.perf_counter() - start)


def _without_data(item: Item) -> Table:
    names = " or ".join(item.needs)
    where = f"Give --data FOLDER or set {VARIABLE} to the folder that holds {names}."
    row = Row(item.title, None, None, Verdict.NOT_COMPARABLE, f"the data set is missing: {names}")
    return Table(item.title, where, "none", (row,))


def printed(paper: str) -> dict[str, Any]:
    """Return the numbers that a paper prints, from the package's data file of that name."""
    return tomllib.loads((resources.files(__package__) / "printed" / f"{paper}.toml").read_text("utf-8"))


def gap_and_p(own: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the mean difference and the p-value of a paired t-test over queries with both values; 1 if all are equal.

    If p is below `LEVEL`, the confidence interval of the difference does not contain 0.
    """
    return float(np.nanmean(own - other)), paired_t(own, other)


def summary(tables: Sequence[Table]) -> str:
    """Return one line with the counts of all verdicts."""
    rows = [row for table in tables for row in table.rows]
    return f"{count_of(len(rows), 'row')}: {counts_of(rows) or 'none'}"


def counts_of(rows: Sequence[Row]) -> str:
    """Return how often each verdict occurs, as text."""
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)


def as_text(value: float | str | None, error: float | None = None) -> str:
    """Return a number with four digits and its standard error in brackets, text unchanged, and None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    text = f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
    return text if error is None else f"{text} ({error:.4f})"
