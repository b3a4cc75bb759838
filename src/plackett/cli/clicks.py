"""``plackett clicks``: describe a click log, grade its documents, compare click models, estimate propensities."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import BadParameter, IntRange

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    JSON,
    METHOD,
    Number,
    Numbers,
    Options,
    Show,
    argument,
    as_list,
    flag,
    group_of_commands,
    one,
    option,
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

    session: str | None = one("--session", metavar="COLUMN", help="Column of the session.", panel=LOG)
    query: str | None = one("--query", metavar="COLUMN", help="Column of the query.", panel=LOG)
    docid: str | None = one("--docid", metavar="COLUMN", help="Column of the document.", panel=LOG)
    rank: str | None = one("--rank", metavar="COLUMN", help="Column of the position.", panel=LOG)
    click: str | None = one("--click", metavar="COLUMN", help="Column of the clicks.", panel=LOG)
    ranker: str | None = one("--ranker", metavar="COLUMN", help="Column (UBI: path) of the ranker.", panel=LOG)
    client: str | None = one("--client", metavar="COLUMN", help="Column of the client.", panel=LOG)
    action: tuple[str, ...] = one(
        "--action", default=(), multiple=True, metavar="NAME", panel=LOG,
        help="UBI: an action that is a click. Repeatable.",
    )  # fmt: skip
    k: int | None = one("-k", type=IntRange(min=1), help="Documents shown per list.", panel=LOG)
    max_sessions: int | None = one(
        "--max-sessions", type=IntRange(min=1), help="Clients with more sessions are bots.", panel=LOG
    )

    def read(self, paths: tuple[str, ...], path: str | None = None) -> ClickLog:
        """Return the log in one or two files; write the cleaned log to ``path``, too."""
        from plackett.cli.shared import inputs
        from plackett.clicks.reading.read import read_clicks
        from plackett.clicks.reading.ubi import UbiNames

        inputs.check_exists(*paths)
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


def _known(module: str, constant: str, name: str) -> Callable:
    """Return a check of names with commas between them against those in a module."""

    def check(ctx: Any, param: Any, text: str | None) -> str | None:
        if text is not None and not ctx.resilient_parsing:
            from importlib import import_module

            from plackett.validation import check_choice

            for one_name in map(str.strip, text.split(",")):
                check_choice(one_name, name, tuple(getattr(import_module(module), constant)))
        return text

    return check


WORDS = argument(
    "log", metavar="LOG [EVENTS]", nargs=-1, required=True, callback=_one_or_two, complete=completion.files,
    help="A table, UBI or a saved log.",
)  # fmt: skip
MODELS = option(
    "-m", "--model", "models", metavar="NAMES", help="A click model, or several.",
    callback=_known("plackett.clicks.models.registry", "CLICK_MODELS", "model"),
    complete=completion.names_in("plackett.clicks.models.registry", "CLICK_MODELS"),
)  # fmt: skip
PROPENSITY_METHOD = option(
    "--method", metavar="NAME", help="Propensity method (harvesting).", panel=METHOD,
    callback=_known("plackett.clicks.propensities.estimate", "METHODS", "method"),
    complete=completion.names_in("plackett.clicks.propensities.estimate", "METHODS"),
)  # fmt: skip
LEVEL = option("--level", metavar="X", type=float, default=0.95, help="Confidence level of intervals.", panel=METHOD)
CLICK_SEED = option("--seed", type=IntRange(min=0), default=0, help="Random seed.", panel=METHOD)


def written(text: str, **about: Any) -> Callable:
    """Return ``-o``, checked before the work."""

    def check(ctx: Any, param: Any, path: str | None) -> str | None:
        from plackett.cli.shared import output as out

        if path is not None and not ctx.resilient_parsing:
            out.check_target(path, text)
        return path

    return option("-o", "--output", "target", metavar="FILE", callback=check, **about)


class Prior(Numbers):
    """Numbers, or the word fitted, which is the default."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the numbers, None for fitted."""
        return None if value == "fitted" else super().convert(value, param, ctx)


@group_of_commands()
def clicks() -> None:
    """Learn from a click log."""


@clicks.command()
@WORDS
@Columns.takes
@written("log", help="Also write the cleaned log.")
@JSON
def info(log: tuple[str, ...], columns: Columns, target: str | None, as_json: bool) -> None:
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


@clicks.command()
@WORDS
@Columns.takes
@written("log", required=True, help="The file, NAME.plackett.")
@JSON
def convert(log: tuple[str, ...], columns: Columns, target: str, as_json: bool) -> None:
    """Write the cleaned log to a file that the other commands load quickly."""
    from plackett.cli.shared import output as out

    found = columns.read(log, target)
    out.write_json(found.cleaning and found.cleaning.to_dict()) if as_json else out.write(str(found.cleaning or found))
    out.note(f"{found} written to {target}.")
    out.next_step(f"Grade its documents: plackett clicks judge {shlex.quote(target)}")


@clicks.command()
@WORDS
@option(
    "-m", "--model", metavar="NAME", default="ubm", help="A click model.",
    callback=_known("plackett.clicks.models.registry", "CLICK_MODELS", "model"),
    complete=completion.names_in("plackett.clicks.models.registry", "CLICK_MODELS"),
)  # fmt: skip
@option(
    "--by", metavar="NAME", help="attractiveness or satisfaction.",
    callback=_known("plackett.clicks.judgements", "BY", "by"),
)  # fmt: skip
@option("--grades", type=IntRange(min=2), help="Number of grades (5).")
@option("--cuts", type=Numbers(), metavar="A,B,…", help="Cut points, as in 0.1,0.3,0.5.")
@option("--min-impressions", type=IntRange(min=0), help="Minimum impressions (10).")
@option("--min-evidence", type=Number(min=0), help="Minimum evidence, in examinations (1).")
@flag("--lower", help="Grade the interval's lower end.")
@option("--prior", type=Prior(), metavar="A,B", help="fitted (default), or a,b.")
@LEVEL
@written("judgements", help="Qrels, or a table NAME.csv.")
@Columns.takes
def judge(
    log: tuple[str, ...],
    model: str,
    grades: int | None,
    cuts: list[float] | None,
    prior: list[float] | None,
    target: str | None,
    columns: Columns,
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


@clicks.command()
@WORDS
@MODELS
@option("--cv", type=IntRange(min=2), default=5, help="Folds.")
@flag("--by-query", help="Hold out queries, not sessions.")
@LEVEL
@CLICK_SEED
@Columns.takes
@JSON
def compare(
    log: tuple[str, ...],
    models: str | None,
    cv: int,
    by_query: bool,
    level: float,
    seed: int,
    columns: Columns,
    as_json: bool,
) -> None:
    """Click models on held-out sessions."""
    from plackett.cli.shared import output as out

    found = _compared(columns.read(log), models, cv, "query" if by_query else "session", level, seed)
    out.write_json(found.to_dict()) if as_json else out.write(str(found))
    if found.share_unseen:
        out.note(f"{found.share_unseen:.1%} of the held-out documents are pairs unseen in training.")


@clicks.command()
@WORDS
@PROPENSITY_METHOD
@LEVEL
@CLICK_SEED
@written("propensities", help="A file for train --propensities.")
@Columns.takes
@JSON
def propensities(
    log: tuple[str, ...],
    method: str | None,
    level: float,
    seed: int,
    target: str | None,
    columns: Columns,
    as_json: bool,
) -> None:
    """How often each rank is examined, relative to rank 1."""
    from plackett.cli.shared import output as out

    estimate = _propensities(columns.read(log), method, level, seed)
    if target is not None:
        estimate.save(target)
    out.write_json(estimate.to_dict()) if as_json else out.write(str(estimate))
    if target is not None:
        out.next_step(f"Use them: plackett train DATA --clicks LOG --propensities {shlex.quote(target)} -o MODEL")


@clicks.command()
@WORDS
@MODELS
@PROPENSITY_METHOD
@LEVEL
@CLICK_SEED
@written("page", default="clicks.html", help="The page.")
@flag("--force", "is_forced", help="Replace the report of another log.")
@Columns.takes
def report(
    log: tuple[str, ...],
    models: str | None,
    method: str | None,
    level: float,
    seed: int,
    target: str,
    is_forced: bool,
    columns: Columns,
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


@clicks.command()
@argument("log", metavar="LOG", help="A table, UBI or a saved log.", complete=completion.files)
@argument(
    "rankings", metavar="RANKING", nargs=-1, required=True, callback=as_list, complete=completion.files,
    help='Runs, models, or "logged", the order of the log; first their features.',
)  # fmt: skip
@option("-m", "--metrics", "metric", metavar="NAME", default="dcg@10", help="A measure, or clicks.")
@option("--propensities", metavar="FILE", help="A file, numbers, harvesting, em, trust, …")
@option("--estimator", metavar="NAME", help="ips, snips, clipped, dr; shuffled lists: rips, …")
@option("--candidates", metavar="NAME", help="Candidates: session (lists), query.")
@option("--clip", metavar="X", type=Number(min=0.0), help="Smallest propensity.")
@option("--level", metavar="X", type=float, help="Confidence level (0.95).")
@option("--unit", metavar="NAME", help="Unit: session, query.")
@Columns.takes
@Show.takes
def evaluate(
    log: str, rankings: list[str], metric: str, propensities: str | None, columns: Columns, show: Show, **settings: Any
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
