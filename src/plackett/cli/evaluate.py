"""``plackett evaluate``: measures of a ranking, under one convention or all, or a comparison of several rankings."""

from __future__ import annotations

import math
import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import CONVENTION, METHOD, Show, Source, argument, command, measures_option, option
from plackett.storage.remote import local_files

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries
    from plackett.evaluation.evaluate import Evaluation


@command()
def evaluate(
    data: str = argument("LETOR file, table, known set, or qrels.", metavar="DATA_OR_QRELS", complete=completion.data),
    scores: list[str] = argument(
        "Scores, a column, a model or a run; or several.", metavar="SCORES_OR_RUN", required=True
    ),
    metrics: Any = measures_option("Measures, comma-separated.", "ndcg@10,map,mrr"),
    convention: str = CONVENTION,
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
    from plackett.cli.shared import comparisons, files, findings, inputs, measures

    form = show.form
    if sampled == "weights":  # the file is the word that follows
        sampled = next((path for path in scores if _has_chances(path)), sampled)
        scores = [path for path in scores if path != sampled]
    is_comparison = len(scores) > 1
    if is_comparison:
        if every_convention or reference_scores:
            raise click.BadParameter("--every-convention and --reference-scores require a single run.")
        comparisons.check_report(report)
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
    with_subtopics = measures.need_subtopics(metrics)
    if cluster.option:
        _show(_measured_on(cluster, data, scores[0], source, metrics, convention), form, per_query=per_query)
        return
    if is_table:
        if source.cache:
            raise click.BadParameter("--cache applies only to LETOR and Parquet files, without named columns.")
        labels, rankings = _load_table(data, scores, source, with_features=reference_scores)
    else:
        if columns := source.columns():
            raise click.BadParameter(f"--{next(iter(columns))} names a column, but {data} is not a table.")
        labels, rankings = _load(data, scores, source, is_name=is_name, subtopics=with_subtopics)
    from plackett.data.trec.qrels import Qrels

    corrections: dict[str, Any] = {}
    if model_qrels is not None:
        if not isinstance(labels, Qrels) or every_convention or reference_scores or per_query:
            raise click.BadParameter("--model-qrels needs qrels and runs, and no other table.")
        estimand = "this set of queries" if this_set else "queries like these"
        corrections = {"model_labels": model_qrels, "sampled": sampled, "estimand": estimand}
    elif sampled is not None or this_set:
        raise click.BadParameter("--sampled and --this-set are about --model-qrels, which is missing.")
    if complete is not None and not isinstance(labels, Qrels):
        raise click.BadParameter("--complete and --answered require qrels and a run.")
    if is_comparison:
        from plackett.evaluation.compare.runs import compare_runs

        runs = dict(zip(comparisons.names_of(scores, rankings), rankings, strict=True))
        compared = compare_runs(
            labels, runs, metrics=metrics, convention=convention, complete=complete is not False, baseline=baseline,
            **corrections,
        )  # fmt: skip
        if corrections and form != "json":
            findings.write(compared.corrected, form)
            comparisons.write_report(compared, report)
            return
        comparisons.show(compared, form, per_query=per_query, quiet=False)
        comparisons.write_report(compared, report)
        return
    values = rankings[0]
    if every_convention:
        _print_every(labels, values, metrics, complete, form)
        return
    from plackett.evaluation.evaluate import evaluate as run

    result = run(
        labels, values, metrics=metrics, convention=convention, complete=complete, reference_scores=reference_scores,
        **corrections,
    )  # fmt: skip
    if corrections and form != "json":
        findings.write(result.corrected, form)
        return
    _show(result, form, per_query=per_query)


def _measured_on(
    cluster: Cluster, data: str, model: str, source: Source, metrics: list[str], convention: str
) -> Evaluation:
    """Return the measures of a model, computed by the workers that read the data."""
    from plackett.cli.shared import clusters, inputs, models
    from plackett.evaluation.evaluate import evaluate as run

    if not inputs.is_model(model):
        raise click.BadParameter(f"{cluster.option} needs a model, but {model} is not one.")
    ranker = models.load_ranker(model)
    with cluster.connection() as client:
        parts = clusters.parts_of([data], client, source, features=ranker.feature_names_)
        return run(parts, ranker=ranker, metrics=metrics, convention=convention)


def _show(result: Evaluation, form: str, *, per_query: bool) -> None:
    from plackett.cli.shared import output

    if form == "json":
        output.write_json(result.to_dict(per_query=per_query))
        return
    if form == "table":
        output.write_table(result.to_table(per_query=per_query))
    else:
        output.write(getattr(result, f"to_{form}")())
    _print_notes(result)


@local_files
def _load(data: str, scores: list[str], how: Source, *, is_name: bool, subtopics: bool) -> tuple[Any, list[Any]]:
    from plackett.cli.shared import inputs
    from plackett.storage.opening import rereadable

    source = rereadable(data)
    if is_name or inputs.is_letor(source):
        queries = inputs.load_queries([source], how)
        found = [_scores(name, queries, data) for name in scores]
        for name, values in zip(scores, found, strict=True):
            if values.size != queries.n_docs:
                raise ValueError(f"{name} has {values.size:,} scores but {data} has {queries.n_docs:,} rows.")
        return queries, found
    from plackett.data.runs import as_qrels, as_run

    return as_qrels(source, subtopics=subtopics), [as_run(name) for name in scores]


@local_files
def _is_table(data: str, scores: list[str], named: Source) -> bool:
    """Return whether columns of a CSV, TSV, Arrow or Parquet file are needed."""
    from plackett.data.runs import is_run
    from plackett.data.tables.files import is_file_of_columns
    from plackett.storage import file_names

    if file_names.is_table(data):
        return bool(named.columns()) or not (all(map(is_run, scores)) or is_run(data))
    return bool(named.columns() or not all(map(os.path.exists, scores))) and is_file_of_columns(data)


@local_files
def _load_table(
    data: str, scores: list[str], named: Source, *, with_features: bool
) -> tuple[Queries, list[np.ndarray]]:
    """Return the queries of a table and the scores: columns of it, models, or files."""
    from plackett.cli.shared import inputs, models
    from plackett.data.tables.column_roles import columns_in_words
    from plackett.data.tables.files import read_columns
    from plackett.data.tables.frames import from_frame

    given = named.columns()
    table = read_columns(data, qid=named.qid, docid=named.docid, sql=given.pop("sql", None))
    for name in scores:
        if name not in table.column_names and not os.path.exists(name):
            hint = columns_in_words(name, table.column_names)
            raise click.BadParameter(f"{name} is neither a column of {data} nor a file. {hint}")
    dropped = dict.fromkeys([*given.pop("drop", ()), *(name for name in scores if name in table.column_names)])
    labels = given.get("label", "label")
    features: dict[str, Any] = {"drop": [name for name in dropped if name != labels]}
    queries = from_frame(table, **given, **(features if with_features else {"features": []}))
    rankings = []
    for name in scores:
        if name in table.column_names:
            rankings.append(from_frame(table, qid=given.get("qid", "qid"), label=name, docid=None, features=[]).labels)
        elif inputs.is_model(name):
            ranker = models.load_ranker(name)
            known = ranker.feature_names_
            rows = from_frame(table, **given, **(features if known is None else {"features": known}))
            rankings.append(ranker.predict(models.for_model(rows, ranker, data, name)))
        else:
            rankings.append(_scores(name, queries, data))
    return queries, rankings


def _has_chances(path: str) -> bool:
    """Return whether a file is a table with probabilities."""
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return "probability" in file.readline().casefold()


def _scores(name: str, queries: Queries, data: str) -> np.ndarray:
    """Return the scores in a file, or those of a model."""
    from plackett.cli.shared import inputs, models
    from plackett.cli.shared import scores as score_files
    from plackett.storage.opening import rereadable

    source = rereadable(name)
    if not inputs.is_model(source):
        return score_files.read(source, queries)
    ranker = models.load_ranker(source)
    return ranker.predict(models.for_model(queries, ranker, data, name))


def _print_notes(result: Evaluation) -> None:
    from plackett.cli.shared import output
    from plackett.validation import count_of

    for text in (count_of(len(result), "query", "queries"), *result.notes):
        output.note(text)
    for metric, feature in result.best_features.items():
        output.note(f"best feature by {metric}: {feature}")


def _print_every(labels, values, metrics: list[str], complete: bool | None, form: str) -> None:
    from plackett._tables import Column, Table
    from plackett.cli.shared import output
    from plackett.evaluation.evaluate import evaluate_every_convention

    results = evaluate_every_convention(labels, values, metrics=metrics, complete=complete)
    if form == "json":
        plain = {n: r.to_dict(per_query=False) if not isinstance(r, str) else {"error": r} for n, r in results.items()}
        output.write_json(plain)
        return
    rows: list[list[Any]] = []
    problems = []
    for name, result in results.items():
        if isinstance(result, str):
            problems.append(f"{name}: {result}")
            rows.append([name, *(math.nan for _ in metrics), ""])
        else:
            n_counted = int((result.values == result.values).any(axis=1).sum())
            rows.append([name, *result.mean().values(), n_counted])
    table = Table([Column("convention", "text"), *map(Column, metrics), Column("queries", digits=0)], rows)
    output.write(table.to_csv() if form == "csv" else table.to_text())
    for problem in problems:
        output.note(problem)
