"""``plackett judge``: labels by language models, with people as the measure."""

from __future__ import annotations

import os
from pathlib import Path

from click import BadParameter

import plackett as pk
from plackett.cli.shared import completion, options, output, results
from plackett.cli.shared.options import METHOD, Numbers, Show, argument, command, option
from plackett.data.runs import is_run

QRELS = argument("Judgements by people.", metavar="QRELS", reads="file", complete=completion.data)
MODELS = argument("Labels by models.", metavar="MODEL", required=True, reads="file", complete=completion.files)
METRIC = options.measures_option("The measure.", "ndcg@10", is_single=True)
RUNS = option("Runs; more may follow.", metavar="RUN", reads="file")


@options.group_of_commands()
def judge() -> None:
    """Labels by language models, with people as the measure."""


@command(judge)
def agreement(
    qrels: str = QRELS,
    models: list[str] = MODELS,
    runs: list[str] = RUNS,
    metrics: list[str] = METRIC,
    scale: list[float] | None = option("The grades; by default those of people.", type=Numbers(), metavar="A,B,…"),
    show: Show = Show(),
) -> None:
    """Agreement with people: kappa against chance, by grade, by rank, by system; drift."""
    models, named = _sorted(models, runs)
    found = pk.evaluation.judge_agreement(qrels, models, runs=named or None, metric=metrics[0], scale=scale)
    results.show_findings(found, show.form)


@command(judge)
def plan(
    qrels: str = QRELS,
    models: list[str] = MODELS,
    runs: list[str] = RUNS,
    metrics: list[str] = METRIC,
    human: int = option("Queries that people are to judge.", min=1, default=40),
    more: int = option("More queries, that only the model is to judge.", min=1, default=400),
    show: Show = Show(),
) -> None:
    """What a model is worth in queries judged by people."""
    models, named = _sorted(models, runs)
    if not named:
        raise BadParameter("runs are missing: give systems like those to be compared, after --runs.")
    for model in models:
        found = pk.evaluation.judge_plan(qrels, model, named, metric=metrics[0], n_model=more, n_human=human)
        results.show_findings(found, show.form)


@command(judge, "next")
def next_queries(
    runs: list[str] = argument("The two runs.", metavar="RUN", required=True, reads="file", complete=completion.files),
    qrels: str | None = option("Judgements by people so far.", metavar="FILE", reads="file"),
    order: str | None = option(
        "File of the order of the queries; created if missing.", metavar="FILE", written="order"
    ),
    by: str = option("A new order: random, or hopes of a model.", metavar="NAME", default="random"),
    model_qrels: str | None = option("Labels by a model, for --by hopes.", metavar="FILE", reads="file"),
    metrics: list[str] = METRIC,
    level: float = option("Level of the verdict.", min=0.0, max=1.0, default=0.95, panel=METHOD),
    seed: int = options.SEED,
    show: Show = Show(),
) -> None:
    """Queries to judge until a difference is decided."""
    stored = order if order is not None and os.path.exists(order) else None
    found = pk.evaluation.judge_next(
        results.named_runs(runs), qrels, order=stored, by=by, model_labels=model_qrels, metric=metrics[0], level=level,
        random_state=seed,
    )  # fmt: skip
    if order is not None and stored is None:
        Path(order).write_text(found.order.to_text(), encoding="utf-8")
    results.show_findings(found, show.form)
    if order is None:
        output.note("the order is not kept: a verdict needs one that is drawn once. Give a file with --order.")


def _sorted(models: list[str], runs: list[str]) -> tuple[list[str], dict[str, pk.Run]]:
    """Return the files of labels, and the runs by name: ``--runs *.run`` leaves runs among the other words."""
    paths = runs + [path for path in models if is_run(path)]
    models = [path for path in models if path not in paths]
    if not models:
        raise BadParameter("labels by a model are missing: give them after the judgements by people.")
    return models, results.named_runs(paths)
