"""Printing a comparison of rankers or runs, and writing its report."""

from __future__ import annotations

import csv
import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plackett._tables import Table
    from plackett.evaluation.compare.comparison import Comparison


def check_per_query(form: str, per_query: bool) -> None:
    """Raise for ``--per-query`` with a format that has no rows for single queries."""
    if per_query and form not in ("json", "csv"):
        raise click.BadParameter("--per-query requires --json or --csv.")


def check_report(path: str | None) -> None:
    """Raise if a report cannot be written, before the work."""
    if path is None:
        return
    from plackett._optional import import_optional
    from plackett.cli.shared import output

    output.check_target(path, "report")
    for module in ("jinja2", "matplotlib"):
        import_optional(module, extra="report", needed_for="--report")


def write_report(result: Comparison, path: str | None, *, quiet: bool = False, **options: Any) -> None:
    """Write the report, after the table, so that a failing report does not lose it, and say what to open."""
    if path is None:
        return
    from plackett.cli.shared import output
    from plackett.report import html

    output.flush()
    html.write_report(result, path, **options)
    if not quiet:
        output.next_step(f"Open {path} in a browser.")


def command() -> str:
    """Return the command as the user typed it."""
    return shlex.join(["plackett", *sys.argv[1:]])


def names_of(paths: list[str], rankings: list[Any]) -> list[str]:
    """Name each ranking: by the tags of runs, by the names of the files, or by their paths, whichever differ."""
    tags = [getattr(ranking, "tag", "") for ranking in rankings]
    for names in (tags, [Path(path).name for path in paths]):
        if all(names) and len(set(names)) == len(names):
            return names
    if len(set(paths)) < len(paths):
        raise click.BadParameter(f"{next(path for path in paths if paths.count(path) > 1)} is given twice.")
    return paths


def read_groups(path: str | None) -> dict[str, str] | None:
    """Return the group of each query from a CSV file with the columns ``qid`` and ``group``."""
    if path is None:
        return None
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = [str(name).strip() for name in reader.fieldnames or ()]
        if not {"qid", "group"} <= set(names):
            found = f"found {', '.join(names)}" if names else "the file is empty"
            raise ValueError(f"{path}: expected a first line with the columns qid and group; {found}.")
        reader.fieldnames = names
        groups: dict[str, str] = {}
        for row in reader:
            key, group = ((row[name] or "").strip() for name in ("qid", "group"))
            if not key or not group:
                raise ValueError(f"{path}, line {reader.line_num}: expected a query id and a group.")
            if groups.setdefault(key, group) != group:
                before = groups[key]
                raise ValueError(f"{path}, line {reader.line_num}: query {key} has the groups {before} and {group}.")
    if not groups:
        raise ValueError(f"{path}: expected a line for each query with a group; there are none below the first line.")
    return groups


def check_groups(path: str | None, groups: dict[str, str] | None, data: Any, cv: Any) -> None:
    """Raise if no test query has a group, before the fits."""
    if groups is None:
        return
    from plackett.data.queries import Queries
    from plackett.evaluation.slicing import group_of
    from plackett.evaluation.splits import as_folds

    # a number of folds makes each query a test query once; published folds are in files, which are read for this
    tests = [data] if isinstance(data, Queries) else [fold.test for fold in as_folds(cv, data)]
    try:
        group_of([key for test in tests for key in test.ids.tolist()], groups)
    except ValueError as error:
        raise click.BadParameter(f"--groups {path}: {error}") from error


def _summary_table(result: Comparison) -> Table:
    """The summary with a p-value beside every mean, and the contestants that failed."""
    from plackett._tables import Column, Marked, Table

    columns = [Column(result.convention, "text")]
    for metric in result.metrics:
        columns += [Column(metric, "marked"), Column("p", "p", digits=3)]
    rows = []
    for row in result.summary():
        cells: list[Any] = [row.name]
        for metric in result.metrics:
            p = row.p_values.get(metric, math.nan)
            cells += [Marked(row.means[metric], row.marks.get(metric, "")), "" if math.isnan(p) else p]
        rows.append([*cells, "" if row.is_reference else row.seconds])
    rows += [[name, *["failed", ""] * len(result.metrics), ""] for name in result.failures]
    if not (result.has_fits or result.failures):
        return Table(columns, [row[:-1] for row in rows])
    return Table([*columns, Column("seconds", digits=1)], rows)


def _csv(result: Comparison, *, per_query: bool) -> str:
    if not per_query:
        from plackett.report.tables import summary_table

        return summary_table(result).to_csv()
    from plackett._tables import csv_text

    with_fold = bool(result.fits)
    rows = [
        [name, *[int(fold)] * with_fold, key, *values]
        for name, table in {**result.tables, **result.reference_scores}.items()
        for fold, key, values in zip(result.fold_of, table.queries.tolist(), table.values.tolist(), strict=True)
    ]
    return csv_text([result.kind, *["fold"] * with_fold, "qid", *result.metrics], rows)


def show(result: Comparison, form: str, *, per_query: bool, quiet: bool) -> None:
    """Print the result in a format, and its remarks if the format cannot contain them."""
    from plackett.cli.shared import output

    if form == "json":
        output.write_json(result.to_dict(per_query=per_query))
        return
    if form == "csv":
        output.write(_csv(result, per_query=per_query))
    elif form == "table":
        best = result.best() if result.tables else None
        for sentence in result.headline():
            is_first = best is not None and sentence.startswith(best)
            shown = output.wrapped(sentence)
            output.write(output.styled(shown, "bold") if is_first else shown)
        output.write_table(_summary_table(result), winner=best)
    else:
        from plackett.report.tables import summary_table

        table = summary_table(result)
        output.write(table.to_markdown() if form == "markdown" else table.to_latex())
    _print_remarks(result, form, quiet=quiet)


def _print_remarks(result: Comparison, form: str, *, quiet: bool) -> None:
    """Print remarks on standard error, with the headline if the table does not show it."""
    from plackett.cli.shared import output

    remarks = [*(() if form == "table" else result.headline()), *result.remarks()]
    for text in remarks if not quiet else [text for text in remarks if text.startswith("failed:")]:
        output.note(text)
    if quiet:
        return
    for table in result.reference_scores.values():
        for metric, features in table.best_features.items():
            output.note(f"best feature by {metric}, chosen on training queries: {features}")
