"""``plackett evaluate``: measures of a ranking, under one convention or all, or a comparison of several rankings."""

from __future__ import annotations

import math
import os
import shlex
from typing import Any

import click

import plackett as pk
from plackett.cli.shared import clusters, completion, files, inputs, options, output, results
from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import METHOD, Show, Source, argument, command, option
from plackett.storage.opening import rereadable
from plackett.storage.remote import local_files


@command()
def evaluate(
    data: str = argument("LETOR file, table, known set, or qrels.", metavar="DATA_OR_QRELS", complete=completion.data),
    scores: list[str] = argument(
        "Scores, a column, a model or a run; or several.", metavar="SCORES_OR_RUN", required=True
    ),
    metrics: Any = options.measures_option("Measures, comma-separated.", "ndcg@10,map,mrr"),
    convention: str = options.CONVENTION,
    every_convention: bool = option("All conventions side by side.", panel=METHOD),
    complete: bool | None = option(
        "Queries missing from the run: include, skip.", "--complete/--answered", default=None, panel=METHOD
    ),
    reference_scores: bool = option("Random order, best single feature.", panel=METHOD),
    baseline: str | None = option("The run to test against.", metavar="NAME"),
    report: str | None = option("Several runs: write an HTML report.", metavar="FILE.html", written="report"),
    model_qrels: str | None = option("Labels by a model, corrected by the qrels.", metavar="FILE", reads="file"),
    sampled: str | None = option(
        "People's queries: random, all, head, or a CSV file of probabilities.", metavar="HOW", panel=METHOD
    ),
    this_set: bool = option("With --model-qrels: the mean of this set of queries.", panel=METHOD),
    per_query: bool = option("One line per query.", "-q"),
    source: Source = Source(),
    cluster: Cluster = Cluster(),
    show: Show = Show(),
) -> None:
    """Measure a ranking: a LETOR file and scores, a table and a column, or qrels and a run. Several are compared."""
    form, is_comparison = show.form, len(scores) > 1
    if sampled == "weights":  # the file is the word that follows
        sampled = next((path for path in scores if _has_chances(path)), sampled)
        scores = [path for path in scores if path != sampled]
        is_comparison = len(scores) > 1
    if is_comparison:
        if every_convention or reference_scores:
            raise click.BadParameter("--every-convention and --reference-scores require a single run.")
        results.check_report(report)
    elif baseline is not None or report is not None:
        raise click.BadParameter("--baseline and --report need at least two runs.")
    if every_convention and (form in ("markdown", "latex") or reference_scores or per_query):
        raise click.BadParameter("--every-convention can only be combined with --json and --csv.")
    if form == "csv" and reference_scores and not every_convention:
        raise click.BadParameter(
            "--csv writes the table per query, without reference scores; try --json --reference-scores."
        )
    if per_query and form in ("markdown", "latex"):
        raise click.BadParameter("--markdown and --latex show the summary; for all queries use --csv or --json.")
    cluster.check([data], cache=source.cache)
    if cluster.option and (is_comparison or every_convention or reference_scores or complete is not None):
        raise click.BadParameter(f"{cluster.option} measures a single model, under one convention.")
    is_name = files.is_known_name(data)
    is_table = not (is_name or cluster.option) and _is_table(data, scores, source)
    files.check_exists(*([data] if is_table else scores if is_name else [data, *scores]))
    if not is_name and data != "-" and len(scores) == 1 and inputs.is_model(data):
        line = shlex.join(["plackett", "evaluate", scores[0], data])
        raise click.BadParameter(f"{data} is a model, not data. The data come first: {line}")
    how: dict[str, Any] = {"metrics": metrics, "convention": convention}
    if cluster.option:
        if not inputs.is_model(scores[0]):
            raise click.BadParameter(f"{cluster.option} needs a model, but {scores[0]} is not one.")
        ranker = inputs.load_ranker(scores[0])
        with cluster.connection() as client:
            parts = clusters.parts_of([data], client, source, features=ranker.feature_names_)
            measured = pk.evaluate(parts, ranker=ranker, **how)
        results.show_measures(measured, form, per_query=per_query)
        return
    load = _load_table if is_table else _load
    labels, rankings = load(data, scores, source, metrics, with_features=reference_scores)
    if model_qrels is not None:
        if not isinstance(labels, pk.Qrels) or every_convention or reference_scores or per_query:
            raise click.BadParameter("--model-qrels needs qrels and runs, and no other table.")
        how["estimand"] = "this set of queries" if this_set else "queries like these"
        how |= {"model_labels": model_qrels, "sampled": sampled}
    elif sampled is not None or this_set:
        raise click.BadParameter("--sampled and --this-set are about --model-qrels, which is missing.")
    if complete is not None and not isinstance(labels, pk.Qrels):
        raise click.BadParameter("--complete and --answered require qrels and a run.")
    if every_convention:
        _show_every(labels, rankings[0], metrics, complete, form)
        return
    found: Any
    if is_comparison:
        runs = dict(zip(results.names_of(scores, rankings), rankings, strict=True))
        found = pk.compare_runs(labels, runs, complete=complete is not False, baseline=baseline, **how)
    else:
        found = pk.evaluate(labels, rankings[0], complete=complete, reference_scores=reference_scores, **how)
    if found.corrected is not None and form != "json":
        results.show_findings(found.corrected, form)
    else:
        print_result = results.show_comparison if is_comparison else results.show_measures
        print_result(found, form, per_query=per_query)
    if is_comparison:
        results.write_report(found, report)


def _show_every(labels: Any, scores: Any, metrics: list[str], complete: bool | None, form: str) -> None:
    """Print the measures under every convention; the notes say where one does not apply."""
    from plackett._tables import Column, Table

    found = pk.evaluation.evaluate_every_convention(labels, scores, metrics=metrics, complete=complete)
    if form == "json":
        plain = {n: r.to_dict(per_query=False) if not isinstance(r, str) else {"error": r} for n, r in found.items()}
        output.write_json(plain)
        return
    rows: list[list[Any]] = []
    for name, result in found.items():
        if isinstance(result, str):
            rows.append([name, *(math.nan for _ in metrics), ""])
        else:
            n_counted = int((result.values == result.values).any(axis=1).sum())
            rows.append([name, *result.mean().values(), n_counted])
    columns = [Column("convention", "text"), *map(Column, metrics), Column("queries", digits=0)]
    results.write_tables([Table(columns, rows)], form)
    output.notes(f"{name}: {result}" for name, result in found.items() if isinstance(result, str))


# --- Input ------------------------------------------------------------------------------------------------------------


@local_files
def _load(
    data: str, scores: list[str], source: Source, metrics: list[str], *, with_features: bool
) -> tuple[Any, list[Any]]:
    """Return judged lists and scores of their rows, or qrels and runs."""
    if columns := source.columns():
        raise click.BadParameter(f"--{next(iter(columns))} names a column, but {data} is not a table.")
    path = rereadable(data)
    if files.is_known_name(data) or inputs.is_letor(path):
        queries = inputs.load_queries([path], source)
        return queries, [inputs.scores_of(name, queries, data) for name in scores]
    from plackett.data.runs import as_qrels, as_run
    from plackett.metrics.measure import Measure

    subtopics = any(Measure.parse(name).kind.needs_subtopics for name in metrics)
    return as_qrels(path, subtopics=subtopics), [as_run(name) for name in scores]


@local_files
def _is_table(data: str, scores: list[str], source: Source) -> bool:
    """Return whether columns of a CSV, TSV, Arrow or Parquet file are needed."""
    from plackett.data.runs import is_run
    from plackett.data.tables.files import is_file_of_columns
    from plackett.storage.file_names import is_table

    if is_table(data):
        return bool(source.columns()) or not (all(map(is_run, scores)) or is_run(data))
    return bool(source.columns() or not all(map(os.path.exists, scores))) and is_file_of_columns(data)


@local_files
def _load_table(
    data: str, scores: list[str], source: Source, metrics: list[str], *, with_features: bool
) -> tuple[pk.Queries, list[Any]]:
    """Return the queries of a table and the scores: columns of it, models, or files."""
    from plackett.data.tables.column_roles import columns_in_words
    from plackett.data.tables.files import read_columns

    if source.cache:
        raise click.BadParameter("--cache applies only to LETOR and Parquet files, without named columns.")
    given = source.columns()
    table = read_columns(data, qid=source.qid, docid=source.docid, sql=given.pop("sql", None))
    for name in scores:
        if name not in table.column_names and not os.path.exists(name):
            hint = columns_in_words(name, table.column_names)
            raise click.BadParameter(f"{name} is neither a column of {data} nor a file. {hint}")
    dropped = dict.fromkeys([*given.pop("drop", ()), *(name for name in scores if name in table.column_names)])
    dropped.pop(given.get("label", "label"), None)
    features: dict[str, Any] = {"drop": list(dropped)}
    queries = pk.from_frame(table, **given, **(features if with_features else {"features": []}))
    rankings = []
    for name in scores:
        rows = queries
        if name in table.column_names:
            qid = given.get("qid", "qid")
            rankings.append(pk.from_frame(table, qid=qid, label=name, docid=None, features=[]).labels)
            continue
        if inputs.is_model(name):
            known = inputs.load_ranker(name).feature_names_
            rows = pk.from_frame(table, **given, **(features if known is None else {"features": known}))
        rankings.append(inputs.scores_of(name, rows, data))
    return queries, rankings


def _has_chances(path: str) -> bool:
    """Return whether a file is a table with probabilities."""
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return "probability" in file.readline().casefold()
