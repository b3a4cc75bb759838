"""``plackett fuse``: runs fused into one, by weights learned from judgements, with the verdict whether it pays."""

from __future__ import annotations

from typing import Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    CONVENTION,
    METHOD,
    OUTPUT,
    SEED,
    Show,
    argument,
    command,
    measures_option,
    option,
)

ENGINES = ("elasticsearch", "opensearch", "json")


@command()
def fuse(
    runs: list[str] = argument(
        "Run files, at least two.", metavar="RUN", required=True, reads="file", complete=completion.data
    ),
    qrels: str | None = option("Judgements, from which weights are learned.", metavar="FILE", reads="file"),
    baseline: str | None = option("The run in production; by default the first.", metavar="NAME"),
    metrics: Any = measures_option("The measure to gain.", "ndcg@10", is_single=True),
    method: str | None = option("A fixed rule: rrf, combsum, combmnz, borda, isr.", metavar="NAME", panel=METHOD),
    weights: str | None = option("Fixed weights of the runs, in their order.", metavar="W,W", panel=METHOD),
    rank_constant: float = option("k of rrf.", default=60.0, panel=METHOD),
    normalize: str | None = option("Of scores: none, min-max, z-score, rank.", metavar="NAME", panel=METHOD),
    absent: str = option(
        "A run without the document: zero, min, worst, skip.", metavar="NAME", default="zero", panel=METHOD
    ),
    window: int | None = option("First documents of each run that count.", panel=METHOD),
    convention: str = CONVENTION,
    seed: int = SEED,
    learning_curve: bool = option("Gain by the number of judged queries."),
    export: str | None = option("Print the request: elasticsearch, opensearch, json.", metavar="ENGINE"),
    report: str | None = option("Write an HTML report of the verdict.", metavar="FILE.html", written="report"),
    output: str | None = option("Write the fused run.", "-o", metavar="FILE", written="run", panel=OUTPUT),
    show: Show = Show(),
) -> None:
    """Fuse runs into one: by weights learned from judgements, with the gain over each run, or by a fixed rule."""
    from plackett.cli.shared import comparisons
    from plackett.cli.shared import output as out

    if report is not None and qrels is None:
        raise click.BadParameter("--report shows the verdict, which needs --qrels.")
    if export is not None and export not in ENGINES:
        raise click.BadParameter(f"--export {export} is not known; choose one of {', '.join(ENGINES)}.")
    if learning_curve and export is not None:
        raise click.BadParameter("--learning-curve and --export both write to the output; ask for one.")
    if learning_curve and (qrels is None or method is not None or weights is not None):
        raise click.BadParameter("--learning-curve needs --qrels, and neither --method nor --weights.")
    comparisons.check_report(report)
    from plackett.data.runs import as_qrels, as_run
    from plackett.data.trec.files import write_trec_run
    from plackett.evaluation.fusion.fuse import fuse as run

    found = [as_run(path) for path in runs]
    names = comparisons.names_of(runs, found)
    fused = run(
        dict(zip(names, found, strict=True)),
        None if qrels is None else as_qrels(qrels),
        baseline=_named(baseline, names, runs),
        metric=metrics[0],
        method=method,
        weights=None if weights is None else _numbers(weights),
        k=rank_constant,
        normalize=normalize,
        absent=absent,
        window=window,
        convention=convention,
        random_state=seed,
    )
    curve = fused.learning_curve() if learning_curve else None
    if output is not None:
        write_trec_run(fused.run, output)
    if export is not None:
        out.write(fused.export(export))
        out.note(str(fused))
    elif show.form == "json":
        out.write_json(fused.to_dict() | ({} if curve is None else {"learning_curve": curve.to_dict()}))
    elif show.form != "table" and fused.gains:
        for table in [fused.to_table()] if curve is None else [fused.to_table(), curve]:
            out.write(getattr(table, f"to_{show.form}")())
    else:
        out.write(fused.headline())
        if fused.gains:
            out.write_table(fused.to_table())
        for line in fused.remarks():
            out.write(out.wrapped(line))
        if curve is not None:
            out.write_table(curve)
    if fused.comparison is not None:
        comparisons.write_report(fused.comparison, report)
    elif report is not None:
        out.note(f"{report} was not written: there is no verdict.")


def _named(baseline: str | None, names: list[str], paths: list[str]) -> str | None:
    """Return the name of the run that ``--baseline`` gives by name or path."""
    if baseline is None or baseline in names:
        return baseline
    if baseline in paths:
        return names[paths.index(baseline)]
    raise click.BadParameter(f"--baseline {baseline} is not one of the runs {', '.join(names)}.")


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise click.BadParameter(f'--weights {text}: expected numbers with commas, as in "0.7,0.3".') from None
