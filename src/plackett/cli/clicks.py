"""``plackett clicks``: describe a click log, grade its documents, compare click models, estimate propensities."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.options import METHOD, AsJson

if TYPE_CHECKING:
    from plackett.clicks.log import ClickLog
    from plackett.clicks.models.comparison import ClickComparison
    from plackett.clicks.propensities.propensities import Propensities

INFO, CONVERT, JUDGE, COMPARE = "info", "convert", "judge", "compare"
PROPENSITIES, REPORT = "propensities", "report"
TASKS = (INFO, CONVERT, JUDGE, COMPARE, PROPENSITIES, REPORT)
USAGE = f"expected: plackett clicks TASK LOG [EVENTS], where TASK is {', '.join(TASKS[:-1])} or {TASKS[-1]}."
WRITTEN = {INFO: "log", CONVERT: "log", JUDGE: "judgements", PROPENSITIES: "propensities", REPORT: "page"}
COMPARED = "dctr,pbm,dcm,ccm,dbn,sdbn,ubm"
# options of one task, by the name of their parameter
ONLY = {
    JUDGE: ("by", "grades", "cuts", "min_impressions", "min_evidence", "lower", "prior"),
    COMPARE: ("cv", "queries"),
}
LOG, JUDGING, COMPARING = "The log", "Judgements (judge)", "Comparison (compare)"


def _column(text: str, metavar: str = "COLUMN") -> Any:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=LOG)


def clicks(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="TASK LOG [EVENTS]",
            help="A task, and a log: a table, UBI or a saved log.",
            autocompletion=completion.task_and(TASKS, completion.files),
        ),
    ],
    session: Annotated[str | None, _column("Column of the session.")] = None,
    query: Annotated[str | None, _column("Column of the query.")] = None,
    docid: Annotated[str | None, _column("Column of the document.")] = None,
    rank: Annotated[str | None, _column("Column of the position.")] = None,
    click: Annotated[str | None, _column("Column of the clicks.")] = None,
    ranker: Annotated[str | None, _column("Column (UBI: path) of the ranker.")] = None,
    client: Annotated[str | None, _column("Column of the client.")] = None,
    action: Annotated[list[str] | None, _column("UBI: an action that is a click. Repeatable.", "NAME")] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Documents shown per list.", rich_help_panel=LOG)] = None,
    max_sessions: Annotated[
        int | None, typer.Option(min=1, help="Clients with more sessions are bots.", rich_help_panel=LOG)
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--model",
            metavar="NAMES",
            help="A click model (ubm), or several.",
            autocompletion=completion.names_in("plackett.clicks.models.registry", "CLICK_MODELS"),
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="attractiveness or satisfaction.", rich_help_panel=JUDGING),
    ] = None,
    grades: Annotated[int | None, typer.Option(min=2, help="Number of grades (5).", rich_help_panel=JUDGING)] = None,
    cuts: Annotated[str | None, typer.Option(help="Cut points, as in 0.1,0.3,0.5.", rich_help_panel=JUDGING)] = None,
    min_impressions: Annotated[
        int | None, typer.Option(min=0, help="Minimum impressions (10).", rich_help_panel=JUDGING)
    ] = None,
    min_evidence: Annotated[
        float | None, typer.Option(min=0, help="Minimum evidence, in examinations (1).", rich_help_panel=JUDGING)
    ] = None,
    lower: Annotated[
        bool | None, typer.Option("--lower", help="Grade the interval's lower end.", rich_help_panel=JUDGING)
    ] = None,
    prior: Annotated[str | None, typer.Option(help="fitted (default), or a,b.", rich_help_panel=JUDGING)] = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Folds (5).", rich_help_panel=COMPARING)] = None,
    queries: Annotated[
        bool | None, typer.Option("--by-query", help="Hold out queries, not sessions.", rich_help_panel=COMPARING)
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.", rich_help_panel=METHOD)] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Propensity method (harvesting).",
            rich_help_panel=METHOD,
            autocompletion=completion.names_in("plackett.clicks.propensities.estimate", "METHODS"),
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of intervals.", rich_help_panel=METHOD)] = 0.95,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output: cleaned log, qrels, propensities or page.",
        ),
    ] = None,
    judgements: Annotated[
        str | None, typer.Option(metavar="FILE", help="Same as judge -o FILE.", rich_help_panel=JUDGING)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn from a click log. The tasks:

    info          sizes, damage, click rate by rank, and what can be learned
    convert       write the cleaned log to a file that the other tasks load quickly
    judge         grades of documents by a click model, as qrels or CSV
    compare       click models on held-out sessions
    propensities  how often each rank is examined, relative to rank 1
    report        everything, as one HTML page
    """
    from plackett._names import unknown_name
    from plackett._progress import is_watched
    from plackett.cli.shared import output as out
    from plackett.clicks.reading.read import read_clicks
    from plackett.clicks.reading.ubi import CLICKS

    if judgements is not None:  # plackett clicks LOG --judgements FILE
        words, output = [JUDGE, *(words[1:] if words[0] == JUDGE else words)], judgements
    task = words[0]
    if not 2 <= len(words) <= 3:
        raise typer.BadParameter(USAGE)
    if task not in TASKS:
        raise unknown_name(f"there is no task {task!r}", f". {USAGE}", task, TASKS)
    _check_options(task, locals())
    if output is not None:
        out.check_target(output, WRITTEN[task])
    log = read_clicks(
        *words[1:],
        session=session,
        query=query,
        docid=docid,
        rank=rank,
        click=click,
        ranker=ranker,
        client=client,
        clicks=tuple(action) if action else CLICKS,
        k=k,
        max_sessions_per_client=max_sessions,
        verbose=is_watched(),
    )
    if task in (INFO, CONVERT) and output is not None:
        log.save(output)
    if task == JUDGE:
        chosen = {"by": by, "grades": _numbers(cuts, "--cuts") if cuts else grades, "lower": lower, "level": level}
        chosen |= {"min_impressions": min_impressions, "min_evidence": min_evidence}
        _judge(
            log, models or "ubm", prior, {name: value for name, value in chosen.items() if value is not None}, output
        )
    elif task == COMPARE:
        found = _compared(log, models, cv, "query" if queries else "session", level, seed)
        out.write_json(found.to_dict()) if as_json else out.write(str(found))
        if found.share_unseen:
            out.note(f"{found.share_unseen:.1%} of the held-out documents are pairs unseen in training.")
    elif task == PROPENSITIES:
        estimate = _propensities(log, method, level, seed)
        if output is not None:
            estimate.save(output)
        out.write_json(estimate.to_dict()) if as_json else out.write(str(estimate))
        if output is not None:
            out.next_step(f"Use them: plackett train DATA --clicks LOG --propensities {shlex.quote(output)} -o MODEL")
    elif task == REPORT:
        _report(log, output or "clicks.html", models, method, level, seed)
    elif task == CONVERT:
        out.write_json(log.cleaning and log.cleaning.to_dict()) if as_json else out.write(str(log.cleaning or log))
        out.note(f"{log} written to {output}.")
        out.next_step(f"Grade its documents: plackett clicks judge {shlex.quote(str(output))}")
    else:
        _describe(log, as_json)


def _check_options(task: str, given: dict[str, Any]) -> None:
    from plackett.clicks.judgements import BY
    from plackett.clicks.models.registry import CLICK_MODELS
    from plackett.clicks.propensities.estimate import METHODS
    from plackett.validation import check_choice

    for other, names in ONLY.items():
        for name in names:
            if other != task and given[name] is not None:
                option = "by-query" if name == "queries" else name.replace("_", "-")
                raise typer.BadParameter(f"--{option} applies only to plackett clicks {other}.")
    if task == CONVERT and given["output"] is None:
        raise typer.BadParameter(f"plackett clicks {CONVERT} writes a file: add -o NAME.plackett.")
    if task in (INFO, CONVERT, PROPENSITIES) and given["models"] is not None:
        raise typer.BadParameter(f"--model applies only to plackett clicks {JUDGE}, {COMPARE} and {REPORT}.")
    if task not in (PROPENSITIES, REPORT) and given["method"] is not None:
        raise typer.BadParameter(f"--method applies only to plackett clicks {PROPENSITIES} and {REPORT}.")
    if task in (INFO, CONVERT, JUDGE) and given["seed"] is not None:
        raise typer.BadParameter(f"--seed applies only to plackett clicks {COMPARE}, {PROPENSITIES} and {REPORT}.")
    if task == COMPARE and given["output"] is not None:
        raise typer.BadParameter("plackett clicks compare writes to standard output; it has no --output.")
    if task == REPORT and given["as_json"]:
        raise typer.BadParameter("plackett clicks report writes a page; it has no --json.")
    if task == JUDGE and given["as_json"]:
        raise typer.BadParameter("plackett clicks judge writes qrels, or a table with -o NAME.csv; it has no --json.")
    if given["grades"] is not None and given["cuts"] is not None:
        raise typer.BadParameter("give either --grades or --cuts.")
    for option, text, known in (
        ("model", given["models"], CLICK_MODELS),
        ("method", given["method"], METHODS),
        ("by", given["by"], BY),
    ):
        for name in () if text is None else map(str.strip, text.split(",")):
            check_choice(name, option, tuple(known))


def _compared(
    log: ClickLog, models: str | None, cv: int | None, by: str, level: float, seed: int | None
) -> ClickComparison:
    from plackett.clicks.models.comparison import compare_click_models

    names = [name.strip() for name in (models or COMPARED).split(",")]
    return compare_click_models(names, log, cv=cv or 5, by=by, level=level, random_state=seed or 0)


def _propensities(log: ClickLog, method: str | None, level: float, seed: int | None) -> Propensities:
    from plackett.clicks.propensities.estimate import estimate_propensities

    return estimate_propensities(log, method or "harvesting", level=level, random_state=seed or 0)


def _report(log: ClickLog, path: str, models: str | None, method: str | None, level: float, seed: int | None) -> None:
    from plackett.cli.shared import output as out
    from plackett.report.clicks import write_click_report

    found = []
    for name in map(str.strip, (method or "harvesting").split(",")):
        try:
            found.append(_propensities(log, name, level, seed))
        except ValueError as error:  # the rest of the page is still useful, unless the user chose the method
            if method is not None:
                raise
            out.note(f"no propensities: {error}")
    comparison = None
    if len(log) > 1:
        comparison = _compared(log, models, min(5, len(log)), "session", level, seed)
    written = write_click_report(log, path, propensities=found, comparison=comparison)
    out.next_step(f"Open {written} in a browser.")


def _describe(log: ClickLog, as_json: bool) -> None:
    from plackett.cli.shared import output as out

    description = log.describe()
    if as_json:
        out.write_json(description.to_dict())
        return
    out.write(str(description))
    if log.cleaning is not None:
        out.write(f"\n{log.cleaning}")


def _judge(log: ClickLog, model: str, prior: str | None, options: dict[str, Any], output: str | None) -> None:
    from pathlib import Path

    from plackett.cli.shared import output as out
    from plackett.clicks.models.registry import get_click_model
    from plackett.data.trec.files import write_qrels
    from plackett.validation import count_of

    given = "fitted" if prior in (None, "fitted") else tuple(_numbers(str(prior), "--prior"))
    found = get_click_model(model, prior=given).fit(log).judgements(log, **options)
    if output is not None and output.endswith(".csv"):
        Path(output).write_text(found.to_csv(), encoding="utf-8", errors="surrogateescape", newline="")
    else:
        write_qrels(found.to_qrels(encode=True), output or "-")
    summary = found.to_dict()
    by_grade = ", ".join(f"{grade}: {count:,}" for grade, count in enumerate(summary["pairs_by_grade"]))
    queries = count_of(summary["n_queries"], "query", "queries")
    out.note(f"{count_of(len(found), 'pair')} of {queries} graded by {model}, {found.by} (pairs by grade {by_grade}).")
    if len(found):
        out.note(f"cut points: {', '.join(f'{cut:.4g}' for cut in found.cuts)}")
    for reason, count in found.left_out.items():
        if count:
            out.note(f"{count_of(count, 'pair')} left out: {reason}.")
    if output is not None and not output.endswith(".csv"):
        out.next_step(f"Evaluate a run by them: plackett evaluate {shlex.quote(output)} RUN")


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{option} {text}: expected numbers separated by commas.") from None
