"""``plackett evaluate``: measures of a ranking, under one convention or all of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plackett.evaluation.table import Evaluation


def evaluate(
    data: Annotated[str, typer.Argument(metavar="DATA|QRELS", help="A LETOR file with labels, or qrels.")],
    scores: Annotated[str, typer.Argument(metavar="SCORES|RUN", help="One score per row of DATA, or a TREC run.")],
    metrics: Annotated[str, typer.Option("--metrics", "-m", help="Measures, separated by commas.")] = "ndcg@10,map,mrr",
    convention: Annotated[
        str,
        typer.Option(
            "--convention",
            "-c",
            help="Whose rules: standard, letor3, letor4, trec, sklearn, lightgbm, xgboost, gdeval or ranx.",
        ),
    ] = "standard",
    every_convention: Annotated[
        bool, typer.Option("--every-convention", help="The same result under all of them, side by side.")
    ] = False,
    complete: Annotated[
        bool | None,
        typer.Option(
            "--complete/--answered", help="Qrels and run: count queries that the run does not answer, or not."
        ),
    ] = None,
    floors: Annotated[
        bool, typer.Option("--floors", help="Add what a random order, and the best single feature, would reach.")
    ] = False,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="One line per query as well.")] = False,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers of DATA start at 0.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy of DATA for the next time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV: per query, or by convention.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
) -> None:
    """Measure a ranking: a LETOR file and scores, or qrels and a TREC run."""
    from plackett.cli import inputs, output

    if as_json + as_csv + as_markdown + as_latex > 1:
        raise typer.BadParameter("choose one of --json, --csv, --markdown and --latex.")
    if every_convention and (as_markdown or as_latex or floors or per_query):
        raise typer.BadParameter("--every-convention goes with --json and --csv only.")
    inputs.check_exists(data, scores)
    output.tell_when_compiling()
    labels, values = _load(data, scores, zero_based=zero_based, cache=cache)
    wanted = _split(metrics)
    if every_convention:
        _print_every(labels, values, wanted, complete, as_json=as_json, as_csv=as_csv)
        return
    from plackett.evaluation.evaluate import evaluate as run

    result = run(labels, values, metrics=wanted, convention=convention, complete=complete, floors=floors)
    if as_json:
        output.write(result.to_json(per_query=per_query))
    elif as_csv:
        output.write(result.to_csv())
    elif as_markdown:
        output.write(result.to_markdown())
    elif as_latex:
        output.write(result.to_latex())
    else:
        _print_table(result, per_query=per_query)


def _split(metrics: str) -> list[str]:
    """Measures at the commas that do not stand between brackets."""
    parts, depth = [""], 0
    for character in metrics:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _load(data: str, scores: str, *, zero_based: bool, cache: bool) -> tuple[Any, Any]:
    from plackett.cli import inputs

    if inputs.is_letor(data):
        from plackett.data.score_file import read_scores

        queries = inputs.load_queries([data], zero_based=zero_based, cache=cache)
        values = read_scores(scores)
        if values.size != queries.n_docs:
            raise ValueError(f"{scores} has {values.size:,} scores but {data} has {queries.n_docs:,} rows.")
        # a file whose queries are torn apart is grouped on reading; its scores follow
        return queries, values if queries.row_order is None else values[queries.row_order]
    from plackett.data.trec import read_qrels, read_trec_run

    return read_qrels(data), read_trec_run(scores)


def _print_table(result: Evaluation, *, per_query: bool) -> None:
    from plackett.cli import output

    rows = []
    if per_query:
        for key, values in zip(result.queries.tolist(), result.values.tolist(), strict=True):
            rows.append([str(key), *map(_number, values)])
    for name, means in result.rows():
        rows.append([name, *(_number(means[metric]) for metric in result.metrics)])
    output.write_table([result.convention, *result.metrics], rows)
    counted = f"{len(result):,} queries"
    output.note("; ".join([counted, *result.notes]))
    for metric, feature in result.best_features.items():
        output.note(f"best feature by {metric}: {feature}")


def _print_every(labels, values, metrics: list[str], complete: bool | None, *, as_json: bool, as_csv: bool) -> None:
    from plackett.cli import output
    from plackett.evaluation.evaluate import evaluate_every_convention

    results = evaluate_every_convention(labels, values, metrics=metrics, complete=complete)
    if as_json:
        plain = {n: r.to_dict(per_query=False) if not isinstance(r, str) else {"error": r} for n, r in results.items()}
        output.write_json(plain)
        return
    rows, problems = [], []
    for name, result in results.items():
        if isinstance(result, str):
            problems.append(f"{name}: {result}")
            rows.append([name, *("–" for _ in metrics), "–"])
        else:
            means = result.mean()
            rows.append([name, *(_number(means[metric]) for metric in metrics), f"{len(result):,}"])
    headings = ["convention", *metrics, "queries"]
    if as_csv:
        output.write("\n".join(",".join(row) for row in [headings, *rows]).replace("–", ""))
    else:
        output.write_table(headings, rows)
    for problem in problems:
        output.note(problem)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"
