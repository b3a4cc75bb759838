"""Printing a comparison of rankers or runs, and writing its report."""

from __future__ import annotations

import csv
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plackett._tables import Table
    from plackett.evaluation.compare.comparison import Comparison


def check_report(path: str | None) -> None:
    """Raise if what draws a report is not installed."""
    if path is None:
        return
    from plackett._optional import import_optional

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


def _per_query(result: Comparison) -> Table:
    """The measures of each query, for each contestant."""
    from plackett._tables import Column, Table

    with_fold = bool(result.fits)
    rows = [
        [name, *[int(fold)] * with_fold, key, *values]
        for name, table in result.all_tables.items()
        for fold, key, values in zip(result.fold_of, table.queries.tolist(), table.values.tolist(), strict=True)
    ]
    fold = [Column("fold", digits=0)] if with_fold else []
    return Table([Column(result.kind, "text"), *fold, Column("qid", "text"), *map(Column, result.metrics)], rows)


def show(result: Comparison, form: str, *, per_query: bool, quiet: bool) -> None:
    """Print the result in a format, and its remarks if the format cannot contain them."""
    from plackett.cli.shared import output

    if form == "json":
        output.write_json(result.to_dict(per_query=per_query))
        return
    if form == "table":
        best = result.best() if result.tables else None
        for sentence in result.headline():
            is_first = best is not None and sentence.startswith(best)
            shown = output.wrapped(sentence)
            output.write(output.styled(shown, "bold") if is_first else shown)
        output.write_table(result.to_table(p_values=True), winner=best)
        if per_query:
            output.write("")
            output.write_table(_per_query(result))
    else:
        from plackett.report.tables import summary_table

        table = _per_query(result) if per_query else summary_table(result)
        output.write(getattr(table, f"to_{form}")())
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
