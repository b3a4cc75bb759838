"""``plackett compare``: several rankers on the same folds, with significance tests."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    CONVENTION,
    METHOD,
    NORMALIZERS,
    OUTPUT,
    QUIET,
    SEED,
    Options,
    Preparation,
    Show,
    Source,
    command,
    data_argument,
    flag,
    measures_option,
    one,
    option,
    several,
)

if TYPE_CHECKING:
    from plackett.evaluation.compare.contestants import Contestant

LETOR = "letor"


@dataclass(frozen=True)
class Report(Options):
    """The HTML page of a comparison."""

    path: str | None = one("--report", metavar="FILE.html", help="Also write an HTML report.")
    title: str | None = one("--title", metavar="TEXT", help="Heading of the report.", panel="Report")
    groups: str | None = one(
        "--groups", metavar="FILE.csv", help="Groups of queries for the report: qid,group.", panel="Report"
    )
    queries: tuple[str, ...] = one(
        "--queries", default=(), multiple=True, callback=several, metavar="IDS", panel="Report",
        help="Queries whose lists the report must show.",
    )  # fmt: skip
    learning_curve: bool = one(
        "--learning-curve", default=False, is_flag=True, panel="Report",
        help="Also fit to subsets of the training queries.",
    )  # fmt: skip

    def check(self) -> None:
        """Raise if the page cannot be written, or if an option needs it."""
        from plackett.cli.shared.comparisons import check_report

        check_report(self.path)
        for name in ("title", "groups", "queries"):
            if self.path is None and getattr(self, name):
                raise click.BadParameter(f"--{name} requires --report.")


@command()
@data_argument("A known set, a folder of folds, LETOR files, tables.")
@option(
    "-r", "--rankers", metavar="NAMES", multiple=True, required=True, complete=completion.rankers,
    help="As 'listmle,trees(num_leaves=15)'; your own: module:name.",
)  # fmt: skip
@option("-f", "--folds", "--cv", "n_splits", metavar="N|letor", help="Folds, or the published ones.")
@measures_option("Measures, comma-separated.", "ndcg@10,map")
@CONVENTION
@option(
    "--normalize", metavar="HOW", help="Scale columns as in train.", panel=METHOD,
    complete=completion.of_names(NORMALIZERS),
)  # fmt: skip
@option(
    "--select-by", metavar="MEASURE", help="Measure for selection.", show_default="the first", panel=METHOD,
    complete=completion.measures,
)  # fmt: skip
@option("--baseline", metavar="NAME", help="Ranker to test against, or best.", show_default="the first")
@option("--folder", metavar="DIR", help="Store fits, so that a run can resume.")
@Report.takes
@option("-o", "--output", "model", metavar="MODEL", help="Refit the best ranker, and save it.")
@option("-j", "--jobs", "n_jobs", type=int, help="Fits in parallel.", panel=METHOD)
@SEED
@Source.takes
@Preparation.takes
@flag("--per-query", help="With --json or --csv: every query.", panel=OUTPUT)
@Show.takes
@QUIET
def compare(
    data: list[str],
    rankers: tuple[str, ...],
    n_splits: str | None,
    metrics: Any,
    normalize: str | None,
    report: Report,
    model: str | None,
    seed: int,
    source: Source,
    preparation: Preparation,
    per_query: bool,
    show: Show,
    quiet: bool,
    **how: Any,
) -> None:
    """Compare rankers: hyperparameters chosen on validation queries, measures on test queries, p-values."""
    from plackett.cli.shared import comparisons, inputs, models, output
    from plackett.validation import check_seed

    comparisons.check_per_query(show.form, per_query)
    if n_splits is not None and n_splits != LETOR and not (n_splits.isdecimal() and int(n_splits) >= 2):
        raise click.BadParameter(f"--folds {n_splits}: give a number of at least 2, or letor.")
    if how["n_jobs"] == 0:
        raise click.BadParameter("--jobs 0: give a number of at least 1, or -1 for all cores.")
    check_seed(seed, "seed")  # before the data are read
    _check_no_ranker(data)
    inputs.check_data(data)
    wanted = _parse(metrics, how["convention"], how["select_by"])
    contestants = _contestants(rankers, normalize, preparation)
    report.check()  # fail before the fits
    group_of = comparisons.read_groups(report.groups)
    if model is not None:
        models.check_target(model)
    if how["folder"] is not None:
        output.check_folder(how["folder"], "fits")
    loaded, cv = _load(data, n_splits, source)
    comparisons.check_groups(report.groups, group_of, loaded, cv)

    from plackett._progress import is_watched
    from plackett.evaluation.compare.compare import compare as run

    try:
        result = run(
            contestants,
            loaded,
            cv=cv,
            metrics=wanted,
            random_state=seed,
            progress=False if quiet else None if is_watched() else output.note,
            refit=model is not None,
            explain=False if report.path is None else list(report.queries) or True,
            learning_curve=report.learning_curve,
            **how,
        )
    except KeyboardInterrupt:
        if how["folder"] is None:
            output.note("finished fits were discarded; with --folder they are kept, and the command can be resumed.")
        else:
            output.note(f"finished fits are stored in {how['folder']}; run the same command again to resume.")
        raise
    result.settings |= {"data": " ".join(data), "command": comparisons.command()}
    comparisons.show(result, show.form, per_query=per_query, quiet=quiet)
    page = {"title": report.title, "queries": list(report.queries), "groups": group_of}
    comparisons.write_report(result, report.path, quiet=quiet, **page)
    if not result.tables:
        raise click.exceptions.Exit(1)
    if model is not None:
        result.best_.save(model)
        if not quiet:
            models.next_step(model)


# --- Options ----------------------------------------------------------------------------------------------------------


def _parse(metrics: Any, convention: str, select_by: str | None) -> list[str]:
    from plackett.cli.shared.measures import check_convention, parse_measures

    check_convention(convention)
    if select_by is not None and len(parse_measures(select_by, "--select-by")) > 1:
        raise click.BadParameter("--select-by takes one measure.")
    return parse_measures(metrics)


def _contestants(rankers: tuple[str, ...], normalize: str | None, preparation: Preparation) -> list[Contestant]:
    from plackett.cli.shared import parameters
    from plackett.data.preprocessing.scaling import get_normalizer
    from plackett.evaluation.compare.contestants import as_contestants
    from plackett.metrics.measure import split_measures

    names = [name for text in rankers for name in split_measures(text)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"--rankers: {twice[0]} is named twice.")
    with parameters.usage_errors():
        contestants = as_contestants([parameters.contestant(name, "--rankers") for name in names])
        contestants = list(map(preparation.of, contestants))
        if normalize is not None:
            get_normalizer(normalize)
    for contestant in contestants if normalize is not None else ():
        can_scale = "normalize" in contestant.estimator.get_params(deep=False)
        if can_scale and not any("normalize" in setting for setting in contestant.candidates()):
            contestant.estimator.set_params(normalize=normalize)
    return contestants


def _check_no_ranker(data: list[str]) -> None:
    """Raise for a ranker among the data: ``-r listmle ranksvm`` instead of ``-r listmle,ranksvm``."""
    from plackett.rankers.registry import is_known

    for name in data[1:]:
        if not os.path.exists(name) and is_known(name):
            raise click.BadParameter(f"{name} is a ranker, not DATA. Separate rankers by commas: -r listmle,{name}.")


def _load(data: list[str], folds: str | None, source: Source) -> tuple[Any, Any]:
    """Return the data and the folds: the published ones unless a number is given."""
    from plackett.cli.shared import inputs
    from plackett.storage.file_names import has_parquet

    is_name = len(data) == 1 and inputs.is_known_name(data[0])
    is_folder = len(data) == 1 and os.path.isdir(data[0]) and not has_parquet(data[0])
    if is_name or is_folder:
        if source.zero_based:
            raise click.BadParameter("--zero-based requires files.")
        if source.cache:
            raise click.BadParameter("--cache requires files.")
        if columns := source.columns():
            raise click.BadParameter(f"--{next(iter(columns))} requires a table.")
        if folds is None:
            has_folds = is_folder or _has_folds(data[0])
            folds = LETOR if has_folds else "5"
        return data[0], LETOR if folds == LETOR else int(folds)
    if folds == LETOR:
        raise click.BadParameter("--folds letor needs a known set's name, or a folder with S1..S5 or Fold1.., as DATA.")
    return inputs.load_queries(data, source), int(folds or 5)


def _has_folds(name: str) -> bool:
    from plackett.data import datasets

    return bool(datasets.info(name).n_folds)
