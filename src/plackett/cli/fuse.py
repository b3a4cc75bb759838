"""``plackett fuse``: runs fused into one, by weights learned from judgements, with the verdict whether it pays."""

from __future__ import annotations

from typing import Any

import click

import plackett as pk
from plackett.cli.shared import completion, options, output, results
from plackett.cli.shared.options import METHOD, Numbers, Show, argument, command, option, written

ENGINES = ("elasticsearch", "opensearch", "json")


@command()
def fuse(
    runs: list[str] = argument(
        "Run files, at least two.", metavar="RUN", required=True, reads="file", complete=completion.data
    ),
    qrels: str | None = option("Judgements, from which weights are learned.", metavar="FILE", reads="file"),
    baseline: str | None = option("The run in production; by default the first.", metavar="NAME"),
    metrics: Any = options.measures_option("The measure to gain.", "ndcg@10", is_single=True),
    method: str | None = option("A fixed rule: rrf, combsum, combmnz, borda, isr.", metavar="NAME", panel=METHOD),
    weights: list[float] | None = option(
        "Fixed weights of the runs, in their order.", type=Numbers(), metavar="W,W", panel=METHOD
    ),
    rank_constant: float = option("k of rrf.", default=60.0, panel=METHOD),
    normalize: str | None = option("Of scores: none, min-max, z-score, rank.", metavar="NAME", panel=METHOD),
    absent: str = option(
        "A run without the document: zero, min, worst, skip.", metavar="NAME", default="zero", panel=METHOD
    ),
    window: int | None = option("First documents of each run that count.", panel=METHOD),
    convention: str = options.CONVENTION,
    seed: int = options.SEED,
    learning_curve: bool = option("Gain by the number of judged queries."),
    export: str | None = option(
        "Print the request: elasticsearch, opensearch, json.", metavar="ENGINE", choice=ENGINES
    ),
    report: str | None = option("Write an HTML report of the verdict.", metavar="FILE.html", written="report"),
    target: str | None = written("run", "Write the fused run.", panel=options.OUTPUT),
    show: Show = Show(),
) -> None:
    """Fuse runs into one: by weights learned from judgements, with the gain over each run, or by a fixed rule."""
    if report is not None and qrels is None:
        raise click.BadParameter("--report shows the verdict, which needs --qrels.")
    if learning_curve and export is not None:
        raise click.BadParameter("--learning-curve and --export both write to the output; ask for one.")
    if learning_curve and (qrels is None or method is not None or weights is not None):
        raise click.BadParameter("--learning-curve needs --qrels, and neither --method nor --weights.")
    results.check_report(report)
    named = results.named_runs(runs)
    if baseline in runs:
        baseline = list(named)[runs.index(baseline)]
    fused = pk.fuse(
        named,
        qrels,
        baseline=baseline,
        metric=metrics[0],
        method=method,
        weights=weights,
        k=rank_constant,
        normalize=normalize,
        absent=absent,
        window=window,
        convention=convention,
        random_state=seed,
    )
    tables = [*([fused.to_table()] if fused.gains else []), *([fused.learning_curve()] if learning_curve else [])]
    if target is not None:
        results.write_run(fused.run, target)
    if export is not None:
        output.write(fused.export(export))
        output.note(str(fused))
    elif show.form == "json":
        output.write_json(fused.to_dict() | ({"learning_curve": tables[-1].to_dict()} if learning_curve else {}))
    elif show.form != "table" and tables:
        output.write("".join(getattr(table, f"to_{show.form}")() for table in tables))
    else:
        output.write(fused.headline())
        if fused.gains:
            output.write_table(tables[0])
        for line in fused.remarks():
            output.write(output.wrapped(line))
        if learning_curve:
            output.write_table(tables[-1])
    if fused.comparison is not None:
        results.write_report(fused.comparison, report)
    elif report is not None:
        output.note(f"{report} was not written: there is no verdict.")
