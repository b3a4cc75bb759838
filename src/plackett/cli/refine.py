"""``plackett refine``: improve an existing ranking with feedback."""

from __future__ import annotations

from typing import Any

import click

from plackett.cli.refining.methods import Methods
from plackett.cli.shared.options import (
    JSON,
    Source,
    as_list,
    data_argument,
    flag,
    group_of_commands,
    measures_option,
    option,
)

BASE = option("-b", "--base", metavar="WHAT", required=True, help="Base ranking: feature, run, scores, model.")
PIN_JUDGED = flag("--pin-judged", help="Pin judged documents first or last.")


@group_of_commands()
def refine() -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""


@refine.command("")
@data_argument("LETOR or Parquet files, '-', or a known set.")
@BASE
@option(
    "-f", "--feedback", metavar="FILE", multiple=True, callback=as_list,
    help="Judgements, pairs, clicks: qrels, CSV, JSONL.",
)  # fmt: skip
@option("-j", "--judgements", multiple=True, callback=as_list, hidden=True)
@option("--strategy", metavar="NAME", help="Click strategy (clicked-above-skipped).")
@PIN_JUDGED
@Methods.takes
@option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    default="-",
    show_default=False,
    help="Output file; - is standard output.",
)
@option("--run", "tag", metavar="TAG", help="Write a TREC run of this name.")
@Source.takes
@JSON
def by_feedback(
    data: list[str],
    base: str,
    feedback: list[str],
    judgements: list[str],
    strategy: str | None,
    pin_judged: bool,
    methods: Methods,
    target: str,
    tag: str | None,
    source: Source,
    as_json: bool,
) -> None:
    """Refine a ranking with judgements or clicks; plackett refine trial --help: what that is worth."""
    from plackett.cli.refining.lists import refine_lists

    feedback += judgements  # an alias
    if not feedback:
        raise click.BadParameter("--feedback (-f) is missing.")
    if len(methods.names) > 1:
        raise click.BadParameter("--feedback takes one --method; plackett refine trial compares several.")
    refine_lists(data, base, methods, feedback, strategy, target, tag, source, pin_judged=pin_judged, as_json=as_json)


@refine.command()
@data_argument("LETOR or Parquet files, '-', or a known set.")
@BASE
@option("-n", "n_judged", type=click.IntRange(min=1), default=10, help="Labels of DATA judge the first N.")
@PIN_JUDGED
@Methods.takes
@measures_option("Measures.", "p@1,p@5,p@10,map")
@Source.takes
@JSON
def trial(
    data: list[str],
    base: str,
    n_judged: int,
    pin_judged: bool,
    methods: Methods,
    metrics: Any,
    source: Source,
    as_json: bool,
) -> None:
    """Judge the first documents of each list by the labels of DATA, and measure the ranking before and after."""
    from plackett.cli.refining.base import echo_base, read_base
    from plackett.cli.shared import inputs, measures, output
    from plackett.evaluation.simulated_feedback import relevance_feedback
    from plackett.validation import count_of

    wanted = measures.parse_measures(metrics)
    inputs.check_data(data)
    queries, ranks_now = read_base(base, data, source)
    result = relevance_feedback(
        queries, ranks_now, methods.refiners(), n_judged=n_judged, relevant_from=methods.relevant_from,
        metrics=wanted, pin_judged=pin_judged,
    )  # fmt: skip
    echo_base(ranks_now, queries)
    if as_json:
        output.write_json(result.to_dict())
        return
    output.write_table(result.to_table())
    judged = count_of(int(result.judged.sum()), "document")
    output.note(f"{count_of(queries.n_queries, 'query', 'queries')}, {judged} judged; p-values: paired t-test")
    for text in result.notes:
        output.note(text)
