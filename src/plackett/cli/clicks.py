"""``plackett clicks``: describe a click log, grade its documents, compare click models, estimate propensities."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import BadParameter

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    JSON,
    METHOD,
    Numbers,
    Options,
    Show,
    argument,
    command,
    group_of_commands,
    option,
    written,
)

if TYPE_CHECKING:
    from plackett.clicks.log import ClickLog
    from plackett.clicks.models.comparison import ClickComparison
    from plackett.clicks.propensities.propensities import Propensities

COMPARED = "dctr,pbm,dcm,ccm,dbn,sdbn,ubm"
LOG = "The log"


@dataclass(frozen=True)
class Columns(Options):
    """The columns of a log, and the sessions of it that count."""

    session: str | None = option("Column of the session.", metavar="COLUMN", panel=LOG)
    query: str | None = option("Column of the query.", metavar="COLUMN", panel=LOG)
    docid: str | None = option("Column of the document.", metavar="COLUMN", panel=LOG)
    rank: str | None = option("Column of the position.", metavar="COLUMN", panel=LOG)
    click: str | None = option("Column of the clicks.", metavar="COLUMN", panel=LOG)
    ranker: str | None = option("Column (UBI: path) of the ranker.", metavar="COLUMN", panel=LOG)
    client: str | None = option("Column of the client.", metavar="COLUMN", panel=LOG)
    action: tuple[str, ...] = option("UBI: an action that is a click. Repeatable.", metavar="NAME", panel=LOG)
    k: int | None = option("Documents shown per list.", "-k", min=1, panel=LOG)
    max_sessions: int | None = option("Clients with more sessions are bots.", min=1, panel=LOG)

    def read(self, paths: tuple[str, ...], path: str | None = None) -> ClickLog:
        """Return the log in one or two files; write the cleaned log to ``path``, too."""
        from plackett.clicks.reading.read import read_clicks
        from plackett.clicks.reading.ubi import UbiNames

        names = ("session", "query", "docid", "rank", "click", "ranker", "client", "k")
        log = read_clicks(
            *paths,
            **{name: getattr(self, name) for name in names},
            ubi=UbiNames(clicks=self.action) if self.action else UbiNames(),
            max_sessions_per_client=self.max_sessions,
        )
        if path is not None:
            log.save(path)
        return log


def _one_or_two(ctx: Any, param: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    if len(values) > 2:
        raise BadParameter("give one file, or for UBI one of queries and one of events.")
    return values


WORDS = argument(
    "A table, UBI or a saved log.",
    metavar="LOG [EVENTS]",
    required=True,
    reads="file",
    callback=_one_or_two,
    complete=completion.files,
)
CLICK_MODELS = "plackett.clicks.models.registry:CLICK_MODELS"
MODELS = option("A click model, or several.", "-m", "--model", metavar="NAMES", choice=CLICK_MODELS)
PROPENSITY_METHOD = option(
    "Propensity method (harvesting).", panel=METHOD, choice="plackett.clicks.propensities.estimate:METHODS"
)
LEVEL = option("Confidence level of intervals.", metavar="X", default=0.95, panel=METHOD)
CLICK_SEED = option("Random seed.", min=0, default=0, panel=METHOD)


class Prior(Numbers):
    """Numbers, or the word fitted, which is the default."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the numbers, None for fitted."""
        return None if value == "fitted" else super().convert(value, param, ctx)


@group_of_commands()
def clicks() -> None:
    """Learn from a click log."""


@command(clicks)
def info(
    log: tuple[str, ...] = WORDS,
    columns: Columns = Columns(),
    target: str | None = written("log", "Also write the cleaned log."),
    as_json: bool = JSON,
) -> None:
    """Sizes, damage, click rate by rank, and what can be learned."""
    from plackett.cli.shared import output as out

    found = columns.read(log, target)
    description = found.describe()
    if as_json:
        out.write_json(description.to_dict())
        return
    out.write(str(description))
    if found.cleaning is not None:
        out.write(f"\n{found.cleaning}")


@command(clicks)
def convert(
    log: tuple[str, ...] = WORDS,
    columns: Columns = Columns(),
    target: str = written("log", "The file, NAME.plackett.", required=True),
    as_json: bool = JSON,
) -> None:
    """Write the cleaned log to a file that the other commands load quickly."""
    from plackett.cli.shared import output as out

    found = columns.read(log, target)
    out.write_json(found.cleaning and found.cleaning.to_dict()) if as_json else out.write(str(found.cleaning or found))
    out.note(f"{found} written to {target}.")
    out.next_step(f"Grade its documents: plackett clicks judge {shlex.quote(target)}")


@command(clicks)
@option("attractiveness or satisfaction.", "--by", choice="plackett.clicks.judgements:BY")
@option("Minimum impressions (10).", "--min-impressions", min=0)
@option("Minimum evidence, in examinations (1).", "--min-evidence", min=0.0)
@option("Grade the interval's lower end.", "--lower", is_flag=True)
@option("Confidence level of intervals.", "--level", metavar="X", default=0.95, panel=METHOD)
def judge(
    log: tuple[str, ...] = WORDS,
    model: str = option("A click model.", "-m", default="ubm", choice=CLICK_MODELS),
    grades: int | None = option("Number of grades (5).", min=2),
    cuts: list[float] | None = option("Cut points, as in 0.1,0.3,0.5.", type=Numbers(), metavar="A,B,…"),
    prior: list[float] | None = option("fitted (default), or a,b.", type=Prior(), metavar="A,B"),
    target: str | None = written("judgements", "Qrels, or a table NAME.csv."),
    columns: Columns = Columns(),
    **chosen: Any,
) -> None:
    """Grades of documents by a click model, as qrels or CSV."""
    from plackett.cli.shared import output as out
    from plackett.clicks.models.registry import get_click_model
    from plackett.data.trec.files import write_qrels
    from plackett.validation import count_of

    if grades is not None and cuts is not None:
        raise BadParameter("give either --grades or --cuts.")
    chosen |= {"grades": grades if cuts is None else cuts, "lower": chosen["lower"] or None}
    read = columns.read(log)
    fitted = get_click_model(model, prior="fitted" if prior is None else tuple(prior)).fit(read)
    found = fitted.judgements(read, **{name: value for name, value in chosen.items() if value is not None})
    if target is not None and target.endswith(".csv"):
        Path(target).write_text(found.to_csv(), encoding="utf-8", errors="surrogateescape", newline="")
    else:
        write_qrels(found.to_qrels(encode=True), target or "-")
    summary = found.to_dict()
    by_grade = ", ".join(f"{grade}: {count:,}" for grade, count in enumerate(summary["pairs_by_grade"]))
    queries = count_of(summary["n_queries"], "query", "queries")
    out.note(f"{count_of(len(found), 'pair')} of {queries} graded by {model}, {found.by} (pairs by grade {by_grade}).")
    if len(found):
        out.note(f"cut points: {', '.join(f'{cut:.4g}' for cut in found.cuts)}")
    for reason, count in found.left_out.items():
        if count:
            out.note(f"{count_of(count, 'pair')} left out: {reason}.")
    if target is not None and not target.endswith(".csv"):
        out.next_step(f"Evaluate a run by them: plackett evaluate {shlex.quote(target)} RUN")


@command(clicks)
def compare(
    log: tuple[str, ...] = WORDS,
    models: str | None = MODELS,
    cv: int = option("Folds.", min=2, default=5),
    by_query: bool = option("Hold out queries, not sessions."),
    level: float = LEVEL,
    seed: int = CLICK_SEED,
    columns: Columns = Columns(),
    as_json: bool = JSON,
) -> None:
    """Click models on held-out sessions."""
    from plackett.cli.shared import output as out

    found = _compared(columns.read(log), models, cv, "query" if by_query else "session", level, seed)
    out.write_json(found.to_dict()) if as_json else out.write(str(found))
    if found.share_unseen:
        out.note(f"{found.share_unseen:.1%} of the held-out documents are pairs unseen in training.")


@command(clicks)
def propensities(
    log: tuple[str, ...] = WORDS,
    method: str | None = PROPENSITY_METHOD,
    level: float = LEVEL,
    seed: int = CLICK_SEED,
    target: str | None = written("propensities", "A file for train --propensities."),
    columns: Columns = Columns(),
    as_json: bool = JSON,
) -> None:
    """How often each rank is examined, relative to rank 1."""
    from plackett.cli.shared import output as out

    estimate = _propensities(columns.read(log), method, level, seed)
    if target is not None:
        estimate.save(target)
    out.write_json(estimate.to_dict()) if as_json else out.write(str(estimate))
    if target is not None:
        out.next_step(f"Use them: plackett train DATA --clicks LOG --propensities {shlex.quote(target)} -o MODEL")


@command(clicks)
def report(
    log: tuple[str, ...] = WORDS,
    models: str | None = MODELS,
    method: str | None = PROPENSITY_METHOD,
    level: float = LEVEL,
    seed: int = CLICK_SEED,
    target: str = written("page", "The page.", default="clicks.html"),
    is_forced: bool = option("Replace the report of another log.", "--force"),
    columns: Columns = Columns(),
) -> None:
    """Everything, as one HTML page."""
    from plackett.cli.shared import output as out
    from plackett.report.clicks import write_click_report

    title = f"Clicks in {' and '.join(log)}"
    page = Path(target)
    if page.is_file() and not is_forced and escape(title) not in page.read_text(encoding="utf-8", errors="replace"):
        raise BadParameter(f"{target} is not a report of this log. Give another file with -o, or --force.")
    read, found = columns.read(log), []
    for name in map(str.strip, (method or "harvesting").split(",")):
        try:
            found.append(_propensities(read, name, level, seed))
        except ValueError as error:  # the rest of the page is still useful, unless the user chose the method
            if method is not None:
                raise
            out.note(f"no propensities: {error}")
    comparison = None
    if len(read) > 1:
        comparison = _compared(read, models, min(5, len(read)), "session", level, seed)
    path = write_click_report(read, target, propensities=found, comparison=comparison, title=title)
    out.note(f"written to {path}.")
    out.next_step(f"Open {path} in a browser.")


@command(clicks)
@option("ips, snips, clipped, dr; shuffled lists: rips, …", "--estimator", metavar="NAME")
@option("Candidates: session (lists), query.", "--candidates", metavar="NAME")
@option("Smallest propensity.", "--clip", metavar="X", min=0.0)
@option("Confidence level (0.95).", "--level", metavar="X", type=float)
@option("Unit: session, query.", "--unit", metavar="NAME")
def evaluate(
    log: str = argument("A table, UBI or a saved log.", metavar="LOG", reads="file", complete=completion.files),
    rankings: list[str] = argument(
        'Runs, models, or "logged", the order of the log; first their features.',
        metavar="RANKING",
        required=True,
        complete=completion.files,
    ),
    metric: str = option("A measure, or clicks.", "-m", "--metrics", metavar="NAME", default="dcg@10"),
    propensities: str | None = option("A file, numbers, harvesting, em, trust, …", metavar="FILE"),
    columns: Columns = Columns(),
    show: Show = Show(),
    **settings: Any,
) -> None:
    """The value of rankings, estimated from clicks on others."""
    from plackett.cli.evaluating.clicks import evaluate_clicks

    given = {name: value for name, value in settings.items() if value is not None}
    evaluate_clicks(log, rankings, metric, propensities, given, columns, show.form)


# --- Parts ------------------------------------------------------------------------------------------------------------


def _compared(log: ClickLog, models: str | None, cv: int, by: str, level: float, seed: int) -> ClickComparison:
    from plackett.clicks.models.comparison import compare_click_models

    names = [name.strip() for name in (models or COMPARED).split(",")]
    return compare_click_models(names, log, cv=cv, by=by, level=level, random_state=seed)


def _propensities(log: ClickLog, method: str | None, level: float, seed: int) -> Propensities:
    from plackett.clicks.propensities.estimate import estimate_propensities

    return estimate_propensities(log, method or "harvesting", level=level, random_state=seed)
