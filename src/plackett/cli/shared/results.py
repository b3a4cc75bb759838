"""Printing results in the formats of ``Show``, and writing files of scores and reports."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import plackett as pk
from plackett._names import count_of
from plackett.cli.shared import output
from plackett.cli.shared.inputs import ids_of_rows
from plackett.storage.opening import write_bytes

if TYPE_CHECKING:
    from plackett._tables import Table
    from plackett.evaluation.judges.findings import Findings


def write_tables(tables: Iterable[Table], form: str) -> None:
    """Print tables one below the other; as text, each below its title and above its notes."""
    for number, table in enumerate(tables):
        if number:
            output.write("")
        if form != "table":
            output.write(getattr(table, f"to_{form}")())
            continue
        if table.title:
            output.write(output.wrapped(table.title))
        output.write_table(table)
        for note in table.notes:
            output.write(output.wrapped(note))


def show_findings(found: Findings, form: str) -> None:
    """Print tables, each below its sentence, and notes."""
    if form == "json":
        output.write_json(found.to_dict())
        return
    write_tables(found.tables(), form)
    output.notes(found.notes)


def show_measures(result: pk.evaluation.Evaluation, form: str, *, per_query: bool = False) -> None:
    """Print the measures of a ranking, as a note where scores go to standard output, and remarks on the queries."""
    if form == "json":
        output.write_json(result.to_dict(per_query=per_query))
        return
    if form == "table":
        output.write_table(result.to_table(per_query=per_query))
    elif form == "note":
        output.note(means_in_words(result.mean()))
    else:
        output.write(getattr(result, f"to_{form}")())
    output.notes([count_of(len(result), "query", "queries"), *result.notes])
    output.notes(f"best feature by {metric}: {feature}" for metric, feature in result.best_features.items())


def means_in_words(means: dict[str, float]) -> str:
    """Return means like ``ndcg@10 0.5123, map 0.4310``."""
    from plackett._tables import rounded

    return ", ".join(f"{name} {rounded(value)}" for name, value in means.items())


# --- Comparisons ------------------------------------------------------------------------------------------------------


def show_comparison(
    result: pk.evaluation.Comparison, form: str, *, per_query: bool = False, quiet: bool = False
) -> None:
    """Print a comparison, and its remarks if the format cannot contain them."""
    if form == "json":
        output.write_json(result.to_dict(per_query=per_query))
        return
    headline, remarks = result.headline(), result.remarks()
    if form == "table":
        best = result.best() if result.tables else None
        for sentence in headline:
            is_first = best is not None and sentence.startswith(best)
            shown = output.wrapped(sentence)
            output.write(output.styled(shown, "bold") if is_first else shown)
        output.write_table(result.to_table(p_values=True), winner=best)
        if per_query:
            output.write("")
            output.write_table(_per_query(result))
    else:
        from plackett.report.tables import summary_table

        write_tables([_per_query(result) if per_query else summary_table(result)], form)
        remarks = [*headline, *remarks]
    output.notes(text for text in remarks if not quiet or text.startswith("failed:"))
    for table in () if quiet else result.reference_scores.values():
        output.notes(
            f"best feature by {metric}, chosen on training queries: {features}"
            for metric, features in table.best_features.items()
        )


def _per_query(result: pk.evaluation.Comparison) -> Table:
    """Return the measures of each query, for each contestant."""
    from plackett._tables import Column, Table

    with_fold = bool(result.fits)
    rows = [
        [name, *[int(fold)] * with_fold, key, *values]
        for name, table in result.all_tables.items()
        for fold, key, values in zip(result.fold_of, table.queries.tolist(), table.values.tolist(), strict=True)
    ]
    fold = [Column("fold", digits=0)] if with_fold else []
    return Table([Column(result.kind, "text"), *fold, Column("qid", "text"), *map(Column, result.metrics)], rows)


def check_report(path: str | None) -> None:
    """Raise if what draws a report is not installed."""
    if path is not None:
        from plackett.report.html import check_extra

        check_extra("--report")


def write_report(result: pk.evaluation.Comparison, path: str | None, *, quiet: bool = False, **options: Any) -> None:
    """Write the report, after the table, so that a failing report does not lose it, and say what to open."""
    if path is None:
        return
    sys.stdout.flush()
    pk.write_report(result, path, **options)
    if not quiet:
        output.next_step(f"Open {path} in a browser.")


def names_of(paths: list[str], rankings: list[Any]) -> list[str]:
    """Name each ranking: by the tags of runs, by the names of the files, or by their paths, whichever differ."""
    tags = [getattr(ranking, "tag", "") for ranking in rankings]
    for names in (tags, [Path(path).name for path in paths]):
        if all(names) and len(set(names)) == len(names):
            return names
    if len(set(paths)) < len(paths):
        raise click.BadParameter(f"{next(path for path in paths if paths.count(path) > 1)} is given twice.")
    return paths


def named_runs(paths: list[str]) -> dict[str, pk.Run]:
    """Return the runs in files, by name."""
    from plackett.data.runs import as_run

    runs = [as_run(path) for path in paths]
    return dict(zip(names_of(paths, runs), runs, strict=True))


# --- Files ------------------------------------------------------------------------------------------------------------


def write_scores(queries: pk.Queries, scores: Any, target: str, tag: str | None) -> None:
    """Write scores, one per row of the data, or a run if ``tag`` is given."""
    if tag is not None:
        pk.write_trec_run(pk.Run.from_scores(_all_named(queries), scores), target, tag=tag)
        return
    with write_bytes(target) as file:
        file.write("".join(f"{score!r}\n" for score in scores.tolist()).encode("ascii"))


def write_csv(queries: pk.Queries, scores: Any, target: str, names: tuple[str, str]) -> None:
    """Write query, document and score in columns, ``names`` for the first two: each query's best document first."""
    from plackett.data.grouping import ranked_rows

    order = ranked_rows(queries.query_of_row, scores, queries.docid)
    columns = [[values[row] for row in order.tolist()] for values in (*ids_of_rows(queries), scores.tolist())]
    _write_table([*names, "score"], columns, target)


def write_run(run: pk.Run, target: str) -> None:
    """Write a run: as a table if the name of the file ends in .csv or .tsv, and for TREC otherwise."""
    if target.lower().endswith((".csv", ".tsv")):
        columns = [run.qid.tolist(), run.docid.tolist(), run.scores.tolist()]
        _write_table(["query", "docid", "score"], columns, target)
        return
    try:
        pk.write_trec_run(run, target)
    except ValueError as error:
        raise ValueError(f"{error} Or write a table: --output FILE.csv.") from None


def _write_table(names: list[str], columns: list[list], target: str) -> None:
    text = io.StringIO()
    rows = csv.writer(text, delimiter="\t" if target.lower().endswith(".tsv") else ",", lineterminator="\n")
    rows.writerow(names)
    rows.writerows(zip(*columns, strict=True))
    with write_bytes(target) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def _all_named(queries: pk.Queries) -> pk.Queries:
    """Name documents without a name by their row in the data."""
    import numpy as np

    names: Any = np.full(queries.n_docs, "") if queries.docid is None else queries.docid
    is_unnamed = names == ""
    n_unnamed = int(is_unnamed.sum())
    if n_unnamed == 0:
        return queries
    if n_unnamed == queries.n_docs:
        output.note("the data have no document names; the run uses row numbers, from 0")
    elif n_unnamed == 1:
        output.note("1 document has no name; the run uses its row number, from 0")
    else:
        output.note(f"{n_unnamed:,} documents have no name; the run uses their row numbers, from 0")
    return queries.replace(docid=np.where(is_unnamed, np.arange(queries.n_docs).astype(str), names), comments=None)


def next_step_of_scores(target: str, *, is_run: bool) -> None:
    """Say what to do with scores or a run that were written to a file."""
    if target != "-":
        words = "it: plackett evaluate QRELS" if is_run else "them: plackett evaluate DATA"
        output.next_step(f"Evaluate {words} {shlex.quote(target)}")


def next_step_of_model(path: str) -> None:
    """Say what to do with a model that was written."""
    output.next_step(f"Evaluate it: plackett evaluate DATA {shlex.quote(path)}")
