"""``plackett judge``: labels by language models, with people as the measure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from click import BadParameter

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    METHOD,
    SEED,
    Numbers,
    Show,
    argument,
    command,
    group_of_commands,
    measures_option,
    option,
)

QRELS = argument("Judgements by people.", metavar="QRELS", reads="file", complete=completion.data)
MODELS = argument("Labels by models.", metavar="MODEL", required=True, reads="file", complete=completion.files)
METRIC = measures_option("The measure.", "ndcg@10", is_single=True)
RUNS = option("Runs; more may follow.", metavar="RUN", reads="file")


@group_of_commands()
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
    from plackett.cli.shared import findings
    from plackett.evaluation.judges.agreement import judge_agreement

    models, found = _sorted(models, runs)
    findings.write(judge_agreement(qrels, models, runs=found or None, metric=metrics[0], scale=scale), show.form)


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
    from plackett.cli.shared import findings
    from plackett.evaluation.judges.plan import judge_plan

    models, found = _sorted(models, runs)
    if not found:
        raise BadParameter("runs are missing: give systems like those to be compared, after --runs.")
    for model in models:
        planned = judge_plan(qrels, model, found, metric=metrics[0], n_model=more, n_human=human)
        findings.write(planned, show.form)


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
    seed: int = SEED,
    show: Show = Show(),
) -> None:
    """Queries to judge until a difference is decided."""
    from plackett.cli.shared import comparisons, findings
    from plackett.cli.shared import output as out
    from plackett.data.runs import as_run
    from plackett.evaluation.judges.next_queries import judge_next

    found = [as_run(path) for path in runs]
    stored = order if order is not None and os.path.exists(order) else None
    answer = judge_next(
        dict(zip(comparisons.names_of(runs, found), found, strict=True)), qrels, order=stored, by=by,
        model_labels=model_qrels, metric=metrics[0], level=level, random_state=seed,
    )  # fmt: skip
    if order is not None and stored is None:
        Path(order).write_text(answer.order.to_text(), encoding="utf-8")
    findings.write(answer, show.form)
    if order is None:
        out.note("the order is not kept: a verdict needs one that is drawn once. Give a file with --order.")


def _sorted(models: list[str], runs: list[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the files of labels, and the runs by name: ``--runs *.run`` leaves runs among the other words."""
    from plackett.cli.shared import comparisons
    from plackett.data.runs import as_run, is_run

    paths = runs + [path for path in models if is_run(path)]
    models = [path for path in models if path not in paths]
    if not models:
        raise BadParameter("labels by a model are missing: give them after the judgements by people.")
    found = [as_run(path) for path in paths]
    return models, dict(zip(comparisons.names_of(paths, found), found, strict=True))
