"""``plackett refine``: improve an existing ranking with feedback."""

from __future__ import annotations

from typing import Any

import click

from plackett.cli.refining.methods import Methods
from plackett.cli.shared.options import (
    JSON,
    TAG,
    Source,
    command,
    data_argument,
    group_of_commands,
    measures_option,
    option,
    written,
)

BASE = option("Base ranking: feature, run, scores, model.", "-b", "--base", metavar="WHAT", required=True)
PIN_JUDGED = option("Pin judged documents first or last.", "--pin-judged", is_flag=True)


@group_of_commands()
def refine() -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""


@command(refine, "")
def by_feedback(
    data: list[str] = data_argument("LETOR or Parquet files, '-', or a known set."),
    base: str = BASE,
    feedback: list[str] = option("Judgements, pairs, clicks: qrels, CSV, JSONL.", "-f", metavar="FILE", reads="file"),
    judgements: list[str] = option("-j", hidden=True),
    strategy: str | None = option("Click strategy (clicked-above-skipped).", metavar="NAME"),
    pin_judged: bool = PIN_JUDGED,
    methods: Methods = Methods(),
    target: str = written("scores"),
    tag: str | None = TAG,
    source: Source = Source(),
    as_json: bool = JSON,
) -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""
    from plackett.cli.refining.lists import refine_lists

    feedback += judgements  # an alias
    if not feedback:
        raise click.BadParameter("--feedback (-f) is missing.")
    if len(methods.names) > 1:
        raise click.BadParameter("--feedback takes one --method; plackett refine trial compares several.")
    refine_lists(data, base, methods, feedback, strategy, target, tag, source, pin_judged=pin_judged, as_json=as_json)


@command(refine)
def trial(
    data: list[str] = data_argument("LETOR or Parquet files, '-', or a known set."),
    base: str = BASE,
    n: int = option("Labels of DATA judge the first N.", "-n", min=1, default=10),
    pin_judged: bool = PIN_JUDGED,
    methods: Methods = Methods(),
    metrics: Any = measures_option("Measures.", "p@1,p@5,p@10,map"),
    source: Source = Source(),
    as_json: bool = JSON,
) -> None:
    """Judge the first documents of each list by the labels of DATA, and measure the ranking before and after."""
    from plackett.cli.refining.base import echo_base, read_base
    from plackett.cli.shared import output
    from plackett.evaluation.simulated_feedback import relevance_feedback
    from plackett.validation import count_of

    queries, ranks_now = read_base(base, data, source)
    result = relevance_feedback(
        queries,
        ranks_now,
        methods.refiners(),
        n_judged=n,
        relevant_from=methods.relevant_from,
        metrics=metrics,
        pin_judged=pin_judged,
    )
    echo_base(ranks_now, queries)
    if as_json:
        output.write_json(result.to_dict())
        return
    output.write_table(result.to_table())
    judged = count_of(int(result.judged.sum()), "document")
    output.note(f"{count_of(queries.n_queries, 'query', 'queries')}, {judged} judged; p-values: paired t-test")
    for text in result.notes:
        output.note(text)
