"""``plackett compare``: several rankers on the same folds, with significance tests."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    CONVENTION,
    FOLDER,
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
    measures_option,
    option,
    several,
)

if TYPE_CHECKING:
    from plackett.evaluation.compare.contestants import Contestant

LETOR = "letor"


@dataclass(frozen=True)
class Report(Options):
    """The HTML page of a comparison."""

    path: str | None = option("Also write an HTML report.", "--report", metavar="FILE.html", written="report")
    title: str | None = option("Heading of the report.", metavar="TEXT", panel="Report")
    groups: str | None = option("Groups of queries for the report: qid,group.", metavar="FILE.csv", panel="Report")
    queries: tuple[str, ...] = option(
        "Queries whose lists the report must show.", callback=several, metavar="IDS", panel="Report"
    )
    learning_curve: bool = option("Also fit to subsets of the training queries.", panel="Report")

    def check(self) -> None:
        """Raise if the page cannot be written, or if an option needs it."""
        from plackett.cli.shared.comparisons import check_report

        check_report(self.path)
        for name in ("title", "groups", "queries"):
            if self.path is None and getattr(self, name):
                raise click.BadParameter(f"--{name} requires --report.")


@command()
@CONVENTION
@option("Measure for selection.", "--select-by", metavar="MEASURE", show_default="the first", panel=METHOD,
        complete=completion.measures)  # fmt: skip
@option("Ranker to test against, or best.", "--baseline", metavar="NAME", show_default="the first")
@FOLDER
@option("Fits in parallel.", "-j", "--jobs", "n_jobs", type=int, panel=METHOD)
def compare(
    data: list[str] = data_argument("A known set, a folder of folds, LETOR files, tables."),
    rankers: tuple[str, ...] = option(
        "As 'listmle,trees(num_leaves=15)'; your own: module:name.",
        "-r",
        metavar="NAMES",
        required=True,
        complete=completion.rankers,
    ),
    n_splits: str | None = option("Folds, or the published ones.", "-f", "--folds", "--cv", metavar="N|letor"),
    metrics: Any = measures_option("Measures, comma-separated.", "ndcg@10,map"),
    normalize: str | None = option("Scale columns as in train.", panel=METHOD, choice=NORMALIZERS),
    report: Report = Report(),
    model: str | None = option(
        "Refit the best ranker, and save it.", "-o", "--output", metavar="MODEL", written="model"
    ),
    seed: int = SEED,
    source: Source = Source(),
    preparation: Preparation = Preparation(),
    per_query: bool = option("Also every query.", panel=OUTPUT),
    show: Show = Show(),
    quiet: bool = QUIET,
    **how: Any,
) -> None:
    """Compare rankers: hyperparameters chosen on validation queries, measures on test queries, p-values."""
    from plackett.cli.shared import comparisons, measures, models, output
    from plackett.validation import check_seed

    if n_splits is not None and n_splits != LETOR and not (n_splits.isdecimal() and int(n_splits) >= 2):
        raise click.BadParameter(f"--folds {n_splits}: give a number of at least 2, or letor.")
    if how["n_jobs"] == 0:
        raise click.BadParameter("--jobs 0: give a number of at least 1, or -1 for all cores.")
    check_seed(seed, "seed")  # before the data are read
    if how["select_by"] is not None and len(measures.parse_measures(how["select_by"], "--select-by")) > 1:
        raise click.BadParameter("--select-by takes one measure.")
    with output.doing(f"loading {', '.join(rankers)}"):
        contestants = _contestants(rankers, normalize, preparation)
    if model is not None and (unsaved := [each.name for each in contestants if not hasattr(each.estimator, "save")]):
        raise click.BadParameter(f"--output: plackett cannot save models of {', '.join(unsaved)}; leave them out.")
    report.check()  # fail before the fits
    group_of = comparisons.read_groups(report.groups)
    loaded, cv = _load(data, n_splits, source)
    comparisons.check_groups(report.groups, group_of, loaded, cv)

    from plackett._progress import is_watched
    from plackett.evaluation.compare.compare import compare as run

    try:
        result = run(
            contestants,
            loaded,
            cv=cv,
            metrics=metrics,
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


def _contestants(rankers: tuple[str, ...], normalize: str | None, preparation: Preparation) -> list[Contestant]:
    from plackett.cli.shared import parameters
    from plackett.evaluation.compare.contestants import as_contestants
    from plackett.metrics.measure import split_measures

    names = [name for text in rankers for name in split_measures(text)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"--rankers: {twice[0]} is named twice.")
    with parameters.usage_errors():
        contestants = as_contestants([parameters.contestant(name, "--rankers") for name in names])
        contestants = list(map(preparation.of, contestants))
    for contestant in contestants if normalize is not None else ():
        can_scale = "normalize" in contestant.estimator.get_params(deep=False)
        if can_scale and not any("normalize" in setting for setting in contestant.candidates()):
            contestant.estimator.set_params(normalize=normalize)
    return contestants


def _load(data: list[str], folds: str | None, source: Source) -> tuple[Any, Any]:
    """Return the data and the folds: the published ones unless a number is given."""
    from plackett.cli.shared import files, inputs
    from plackett.storage.file_names import has_parquet

    is_name = len(data) == 1 and files.is_known_name(data[0])
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
