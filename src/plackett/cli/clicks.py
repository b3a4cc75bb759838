"""``plackett clicks``: describe a click log, grade its documents, compare click models, estimate propensities."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from click import BadParameter

import plackett as pk
from plackett._names import count_of
from plackett.cli.shared import completion, files, inputs, options, output, results
from plackett.cli.shared.options import METHOD, Numbers, Options, Show, argument, command, option, written
from plackett.exceptions import DataFormatError, warn
from plackett.storage.remote import local_files

LOGGED = "logged"  # the order of the log as a ranking
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

    def read(self, paths: tuple[str, ...], path: str | None = None) -> pk.clicks.ClickLog:
        """Return the log in one or two files; write the cleaned log to ``path``, too."""
        names = ("session", "query", "docid", "rank", "click", "ranker", "client", "k")
        log = pk.clicks.read_clicks(
            *paths,
            **{name: getattr(self, name) for name in names},
            ubi=pk.clicks.UbiNames(clicks=self.action) if self.action else pk.clicks.UbiNames(),
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


@dataclass(frozen=True)
class Estimation(Options):
    """Intervals and draws of estimates."""

    level: float = option("Confidence level of intervals.", metavar="X", default=0.95, panel=METHOD)
    seed: int = option("Random seed.", min=0, default=0, panel=METHOD)

    def compare(self, log: pk.clicks.ClickLog, models: str | None, **how: Any) -> pk.clicks.ClickComparison:
        """Return the click models, by names with commas, on held-out parts of a log."""
        names = [name.strip() for name in (models or COMPARED).split(",")]
        return pk.clicks.compare_click_models(names, log, level=self.level, random_state=self.seed, **how)

    def propensities(self, log: pk.clicks.ClickLog, method: str | None) -> pk.clicks.Propensities:
        """Return the propensities of a log by a method."""
        return pk.clicks.estimate_propensities(log, method or "harvesting", level=self.level, random_state=self.seed)


class Prior(Numbers):
    """Numbers, or the word fitted, which is the default."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the numbers, None for fitted."""
        return None if value == "fitted" else super().convert(value, param, ctx)


@options.group_of_commands()
def clicks() -> None:
    """Learn from a click log."""


@command(clicks)
def info(
    log: tuple[str, ...] = WORDS,
    columns: Columns = Columns(),
    target: str | None = written("log", "Also write the cleaned log."),
    as_json: bool = options.JSON,
) -> None:
    """Sizes, damage, click rate by rank, and what can be learned."""
    found = columns.read(log, target)
    output.show(found.describe(), as_json=as_json)
    if found.cleaning is not None and not as_json:
        output.write(f"\n{found.cleaning}")


@command(clicks)
def convert(
    log: tuple[str, ...] = WORDS,
    columns: Columns = Columns(),
    target: str = written("log", "The file, NAME.plackett.", required=True),
    as_json: bool = options.JSON,
) -> None:
    """Write the cleaned log to a file that the other commands load quickly."""
    found = columns.read(log, target)
    if as_json:
        output.write_json(found.cleaning and found.cleaning.to_dict())
    else:
        output.write(str(found.cleaning or found))
    output.note(f"{found} written to {target}.")
    output.next_step(f"Grade its documents: plackett clicks judge {shlex.quote(target)}")


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
    if grades is not None and cuts is not None:
        raise BadParameter("give either --grades or --cuts.")
    chosen |= {"grades": grades if cuts is None else cuts, "lower": chosen["lower"] or None}
    read = columns.read(log)
    fitted = pk.clicks.get_click_model(model, prior="fitted" if prior is None else tuple(prior)).fit(read)
    found = fitted.judgements(read, **{name: value for name, value in chosen.items() if value is not None})
    if target is not None and target.endswith(".csv"):
        Path(target).write_text(found.to_csv(), encoding="utf-8", errors="surrogateescape", newline="")
    else:
        pk.write_qrels(found.to_qrels(encode=True), target or "-")
    summary = found.to_dict()
    by_grade = ", ".join(f"{grade}: {count:,}" for grade, count in enumerate(summary["pairs_by_grade"]))
    queries = count_of(summary["n_queries"], "query", "queries")
    output.note(
        f"{count_of(len(found), 'pair')} of {queries} graded by {model}, {found.by} (pairs by grade {by_grade})."
    )
    if len(found):
        output.note(f"cut points: {', '.join(f'{cut:.4g}' for cut in found.cuts)}")
    for reason, count in found.left_out.items():
        if count:
            output.note(f"{count_of(count, 'pair')} left out: {reason}.")
    if target is not None and not target.endswith(".csv"):
        output.next_step(f"Evaluate a run by them: plackett evaluate {shlex.quote(target)} RUN")


@command(clicks)
def compare(
    log: tuple[str, ...] = WORDS,
    models: str | None = MODELS,
    cv: int = option("Folds.", min=2, default=5),
    by_query: bool = option("Hold out queries, not sessions."),
    estimation: Estimation = Estimation(),
    columns: Columns = Columns(),
    as_json: bool = options.JSON,
) -> None:
    """Click models on held-out sessions."""
    found = estimation.compare(columns.read(log), models, cv=cv, by="query" if by_query else "session")
    output.show(found, as_json=as_json)
    if found.share_unseen:
        output.note(f"{found.share_unseen:.1%} of the held-out documents are pairs unseen in training.")


@command(clicks)
def propensities(
    log: tuple[str, ...] = WORDS,
    method: str | None = PROPENSITY_METHOD,
    estimation: Estimation = Estimation(),
    target: str | None = written("propensities", "A file for train --propensities."),
    columns: Columns = Columns(),
    as_json: bool = options.JSON,
) -> None:
    """How often each rank is examined, relative to rank 1."""
    estimate = estimation.propensities(columns.read(log), method)
    if target is not None:
        estimate.save(target)
    output.show(estimate, as_json=as_json)
    if target is not None:
        output.next_step(f"Use them: plackett train DATA --clicks LOG --propensities {shlex.quote(target)} -o MODEL")


@command(clicks)
def report(
    log: tuple[str, ...] = WORDS,
    models: str | None = MODELS,
    method: str | None = PROPENSITY_METHOD,
    estimation: Estimation = Estimation(),
    target: str = written("page", "The page.", default="clicks.html"),
    is_forced: bool = option("Replace the report of another log.", "--force"),
    columns: Columns = Columns(),
) -> None:
    """Everything, as one HTML page."""
    title = f"Clicks in {' and '.join(log)}"
    page = Path(target)
    if page.is_file() and not is_forced and escape(title) not in page.read_text(encoding="utf-8", errors="replace"):
        raise BadParameter(f"{target} is not a report of this log. Give another file with -o, or --force.")
    read, found = columns.read(log), []
    for name in map(str.strip, (method or "harvesting").split(",")):
        try:
            found.append(estimation.propensities(read, name))
        except ValueError as error:  # the rest of the page is still useful, unless the user chose the method
            if method is not None:
                raise
            output.note(f"no propensities: {error}")
    comparison = None
    if len(read) > 1:
        comparison = estimation.compare(read, models, cv=min(5, len(read)), by="session")
    path = pk.write_click_report(read, target, propensities=found, comparison=comparison, title=title)
    output.note(f"written to {path}.")
    output.next_step(f"Open {path} in a browser.")


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
    from plackett._warnings import recorded
    from plackett.clicks.counterfactual.slates import BY_LOGGING
    from plackett.clicks.propensities.estimate import METHODS

    if "," in metric.partition("(")[0]:
        raise BadParameter("give one measure, such as -m dcg@5 or -m clicks.")
    files.check_exists(*(word for word in rankings if word != LOGGED and not files.is_known_name(word)))
    read, features, data = columns.read((log,)), None, rankings[0]
    if _is_data(data):
        features, rankings = inputs.load_queries([data]), rankings[1:]
        if not rankings:
            raise BadParameter("rankings are missing: give runs, models, files of scores, or the word logged.")
    given = {name: value for name, value in settings.items() if value is not None}
    if given.get("estimator") in BY_LOGGING:
        given["logging"] = "shuffled"
    if propensities is not None:
        # regression-em scores the features
        is_method = propensities in METHODS and (features is None or propensities != "regression-em")
        given["propensities"] = propensities if is_method else propensities_of(propensities, read, features, 0)
    names = results.names_of(rankings, rankings)
    named = {name: _ranking(word, features, data, read) for name, word in zip(names, rankings, strict=True)}
    with recorded() as caught:
        found: Any = pk.clicks.evaluate_from_clicks(read, named, metric=metric, **given)
    notes = dict.fromkeys(note for one in found.results.values() for note in one.notes)
    for one in caught:
        if str(one.message) not in notes:  # others are shown as notes
            warn(str(one.message), one.category)
    if show.form == "json":
        output.write_json(found.to_dict())
        return
    results.write_tables([found.to_table(), *([found.to_differences()] if found.differences else [])], show.form)
    first = next(iter(found.results.values()))
    output.note(f"{first.n_sessions:,} sessions with {first.n_clicks:,} clicks, estimator {first.estimator}")
    output.notes(notes)


# --- Parts ------------------------------------------------------------------------------------------------------------


def propensities_of(
    given: str, log: pk.clicks.ClickLog, features: pk.Queries | None, seed: int
) -> pk.clicks.Propensities:
    """Return propensities: estimated by the method of that name, given as numbers, or loaded from a file."""
    from plackett.clicks.propensities.estimate import METHODS

    if given in METHODS:
        if given == "regression-em" and features is not None:
            log = log.with_features(features)
        return pk.clicks.estimate_propensities(log, given, random_state=seed)
    try:
        return pk.clicks.Propensities([float(part) for part in given.split(",")])
    except ValueError:
        pass
    try:
        return pk.clicks.Propensities.load(given)
    except FileNotFoundError:
        raise BadParameter(
            f"--propensities {given}: there is no such file; give a file of Propensities.save, numbers such as "
            f"1,0.6,0.4, or a method: {', '.join(METHODS)}."
        ) from None


@local_files
def _is_data(word: str) -> bool:
    """Whether an argument names rows with features rather than a ranking."""
    if word == LOGGED or files.is_known_name(word):
        return word != LOGGED
    try:
        return not inputs.is_model(word) and inputs.is_letor(word)
    except DataFormatError:  # neither LETOR rows nor qrels, such as a run
        return False


@local_files
def _ranking(word: str, features: pk.Queries | None, data: str, log: pk.clicks.ClickLog) -> Any:
    """Return the ranking that an argument names: LOGGED, a run, or a ranker."""
    from plackett.data.runs import as_run, is_run

    if word == LOGGED:
        return LOGGED
    if features is not None and not is_run(word):
        return pk.Run.from_scores(features, inputs.scores_of(word, features, data))
    if not inputs.is_model(word):
        return as_run(word)
    if log.features is None:
        raise ValueError(
            f"{word} is a model, which needs features: give a LETOR file with the documents of the log, as in "
            f"plackett clicks evaluate LOG features.txt {word}."
        )
    return inputs.load_ranker(word)
