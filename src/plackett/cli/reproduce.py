"""``plackett reproduce``: recompute a paper's tables and figures beside the printed numbers."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plackett._progress import Progress, is_watched
from plackett.cli.shared import completion, options, output, parameters
from plackett.cli.shared.options import argument, command, option
from plackett.cli.shared.results import check_report
from plackett.exceptions import DatasetNotFoundError
from plackett.reproductions import PAPERS

if TYPE_CHECKING:
    from plackett.reproductions.base import Item, Job, Paper


@command()
def reproduce(
    paper: str = argument(f"{', '.join(PAPERS)}.", metavar="PAPER", complete=completion.of_names(PAPERS)),
    quick: bool = option("Fewer draws and settings: about a minute."),
    data: str | None = option(
        "Folder of the data sets.", metavar="FOLDER", reads="file", show_default="$PLACKETT_DATA"
    ),
    only: list[str] = option("Only items whose title contains this. Repeatable.", metavar="TEXT"),
    hours: float | None = option("Start no simulation after this time.", metavar="H"),
    folder: str | None = option("Store simulations, so that a run can resume.", metavar="DIR", written="simulations"),
    seed: int = options.SEED,
    report: str | None = option("Write a page with all tables and figures.", metavar="FILE", written="page"),
    show: bool = option("List the items without running them.", "--list"),
    as_json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Run a paper's experiments: printed numbers, ours, and a verdict for each."""
    from plackett import reproductions
    from plackett._tables import Column, Table
    from plackett.reproductions.base import Job, results, rows_table, summary

    with parameters.usage_errors():
        found = reproductions.paper(paper)
    if data is not None and not Path(data).is_dir():
        raise click.BadParameter(f"--data {data}: it must be a folder.")
    if hours is not None and not 0 < hours < float("inf"):
        raise click.BadParameter(f"--hours {hours:g}: it must be above 0.")
    if (hours is not None or folder is not None) and found.prepare is None:
        raise click.BadParameter(f"--hours and --folder are for simulations; {paper} has none.")
    check_report(report)
    items = _chosen(found, only)
    if show:
        columns = [Column("item", "text"), Column("quick"), Column("full"), Column("data", "text")]
        rows = [[item.title, _duration(item.quick_seconds), _duration(item.seconds), _data_of(item)] for item in items]
        output.write_table(Table(columns, rows))
        return

    def note(text: str) -> None:
        if not quiet:
            output.note(text)

    job = Job(
        is_quick=quick,
        folder=None if data is None else Path(data),
        progress=note,
        rng_seed=seed,
        hours=hours,
        store=None if folder is None else Path(folder),
    )
    _check_data(items, job)
    ends = list(accumulate(item.duration(job) for item in items))
    about = f", about {_duration(ends[-1])} on two cores" if found.prepare is None else ""  # else extrapolated later
    note(f"{found.title}: {sum(item.can_run(job) for item in items)} to run{about}")
    tables = []
    if not as_json:
        output.write(output.styled(f"{found.title}{' (quick)' if quick else ''}", "bold"))
    with Progress(paper, float(ends[-1]), is_shown=is_watched() and not quiet) as bar:
        bar.show(items[0].title)
        following = [*(item.title for item in items[1:]), ""]
        for end, title, table in zip(ends, following, found.run(job, items), strict=True):
            tables.append(table)
            if not as_json and table.rows:
                output.write("\n" + output.styled(table.title, "bold"))
                for text in filter(None, (table.protocol, f"Tolerance: {table.tolerance}" if table.tolerance else "")):
                    output.write(output.wrapped(text))
                rows = table.to_dict()["rows"]
                output.write(summary(Counter(row["verdict"] for row in rows)))
                output.write_verdicts(rows_table(rows))
                for text in table.notes:
                    output.write(output.wrapped(text))
                sys.stdout.flush()  # a reader of a pipe sees the table before the next one is computed
            bar.advance_to(end, title)
    answer = results(found, job, tables)
    if report is not None:
        from plackett.reproductions.page import write_paper

        note(f"the page is in {write_paper(answer, report)}")
    if as_json:
        output.write_json(answer)
        return
    output.write("\n" + summary(answer["verdicts"]))
    if answer["missing"]:
        output.write("\nNot available; give --data FOLDER or set PLACKETT_DATA to the folder that holds them:")
        output.write_pairs((name, ", ".join(titles)) for name, titles in answer["missing"].items())


def _check_data(items: list[Item], job: Job) -> None:
    """Raise if all items need data and none of the data sets is available."""
    if any(item.can_run(job) for item in items):
        return
    names = dict.fromkeys(name for item in items for name in (*item.needs, *item.instead))
    error = DatasetNotFoundError(f"{'this needs one of' if len(names) > 1 else 'this needs'} {', '.join(names)}.")
    error.add_note("give --data FOLDER or set PLACKETT_DATA to the folder of the data sets.")
    raise error


def _chosen(paper: Paper, only: list[str] | None) -> list[Item]:
    if not only:
        return list(paper.items)
    for text in only:
        if not any(text.lower() in item.title.lower() for item in paper.items):
            titles = "; ".join(item.title for item in paper.items)
            raise click.BadParameter(f"--only {text!r}: no title contains it. The titles are {titles}.")
    return [item for item in paper.items if any(text.lower() in item.title.lower() for text in only)]


def _data_of(item: Item) -> str:
    needs = ", ".join(item.needs) or "none"
    return f"{needs}; or {', '.join(item.instead)}" if item.instead else needs


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
