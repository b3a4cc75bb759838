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
    as_list,
    command,
    flag,
    measures_option,
    option,
)

ENGINES = ("elasticsearch", "opensearch", "json")


@command()
@argument("runs", metavar="RUN", nargs=-1, required=True, callback=as_list, help="Run files, at least two.",
          complete=completion.data)  # fmt: skip
@option("--qrels", metavar="FILE", help="Judgements, from which weights are learned.")
@option("--baseline", metavar="NAME", help="The run in production; by default the first.")
@measures_option("The measure to gain.", "ndcg@10")
@option("--method", metavar="NAME", help="A fixed rule: rrf, combsum, combmnz, borda, isr.", panel=METHOD)
@option("--weights", metavar="W,W", help="Fixed weights of the runs, in their order.", panel=METHOD)
@option("--rank-constant", type=float, default=60.0, help="k of rrf.", panel=METHOD)
@option("--normalize", metavar="NAME", help="Of scores: none, min-max, z-score, rank.", panel=METHOD)
@option("--absent", metavar="NAME", default="zero", help="A run without the document: zero, min, worst, skip.",
        panel=METHOD)  # fmt: skip
@option("--window", type=int, help="First documents of each run that count.", panel=METHOD)
@CONVENTION
@SEED
@flag("--learning-curve", help="Gain by the number of judged queries.")
@option("--export", metavar="ENGINE", help="Print the request: elasticsearch, opensearch, json.")
@option("--report", metavar="FILE.html", help="Write an HTML report of the verdict.")
@option("-o", "--output", metavar="FILE", help="Write the fused run.", panel=OUTPUT)
@Show.takes
def fuse(
    runs: list[str],
    qrels: str | None,
    baseline: str | None,
    metrics: Any,
    method: str | None,
    weights: str | None,
    rank_constant: float,
    normalize: str | None,
    absent: str,
    window: int | None,
    convention: str,
    seed: int,
    learning_curve: bool,
    export: str | None,
    report: str | None,
    output: str | None,
    show: Show,
) -> None:
    """Fuse runs into one: by weights learned from judgements, with the gain over each run, or by a fixed rule."""
    from plackett.cli.shared import comparisons, inputs, measures
    from plackett.cli.shared import output as out

    if report is not None and qrels is None:
        raise click.BadParameter("--report shows the verdict, which needs --qrels.")
    if export is not None and export not in ENGINES:
        raise click.BadParameter(f"--export {export} is not known; choose one of {', '.join(ENGINES)}.")
    if learning_curve and export is not None:
        raise click.BadParameter("--learning-curve and --export both write to the output; ask for one.")
    if learning_curve and (qrels is None or method is not None or weights is not None):
        raise click.BadParameter("--learning-curve needs --qrels, and neither --method nor --weights.")
    inputs.check_exists(*runs, *([] if qrels is None else [qrels]))
    comparisons.check_report(report)
    if output is not None:
        out.check_target(output, "run")
    measures.check_convention(convention)
    wanted = measures.parse_measures(metrics)
    if len(wanted) > 1:
        raise click.BadParameter(f"-m takes one measure here; found {', '.join(map(str, wanted))}.")
    from plackett.data.runs import read_judgements, read_run
    from plackett.data.trec.files import write_trec_run
    from plackett.evaluation.fusion.fuse import fuse as run

    found = [read_run(path) for path in runs]
    names = comparisons.names_of(runs, found)
    fused = run(
        dict(zip(names, found, strict=True)),
        None if qrels is None else read_judgements(qrels),
        baseline=_named(baseline, names, runs),
        metric=wanted[0],
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
