"""``plackett compare``: several rankers on the same folds, with significance tests."""

from __future__ import annotations

import csv
import os
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

import plackett as pk
from plackett._progress import is_watched
from plackett.cli.shared import completion, files, inputs, options, output, parameters, results
from plackett.cli.shared.options import METHOD, NORMALIZERS, Options, Preparation, Show, Source, command, option
from plackett.storage.file_names import has_parquet

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
        "Queries whose lists the report must show.", callback=options.several, metavar="IDS", panel="Report"
    )
    learning_curve: bool = option("Also fit to subsets of the training queries.", panel="Report")

    def check(self) -> None:
        """Raise if the page cannot be written, or if an option needs it."""
        results.check_report(self.path)
        for name in ("title", "groups", "queries"):
            if self.path is None and getattr(self, name):
                raise click.BadParameter(f"--{name} requires --report.")

    def read_groups(self) -> dict[str, str] | None:
        """Return the group of each query from a CSV file with the columns ``qid`` and ``group``."""
        if self.groups is None:
            return None
        found: dict[str, str] = {}
        with open(self.groups, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            reader.fieldnames = [str(name).strip() for name in reader.fieldnames or ()]
            if not {"qid", "group"} <= set(reader.fieldnames):
                came = f"found {', '.join(reader.fieldnames)}" if reader.fieldnames else "the file is empty"
                raise ValueError(f"{self.groups}: expected a first line with the columns qid and group; {came}.")
            for row in reader:
                where = f"{self.groups}, line {reader.line_num}"
                key, group = ((row[name] or "").strip() for name in ("qid", "group"))
                if not key or not group:
                    raise ValueError(f"{where}: expected a query id and a group.")
                if found.setdefault(key, group) != group:
                    raise ValueError(f"{where}: query {key} has the groups {found[key]} and {group}.")
        if not found:
            raise ValueError(
                f"{self.groups}: expected a line for each query with a group; there are none below the first line."
            )
        return found

    def check_groups(self, groups: dict[str, str] | None, data: Any, cv: Any) -> None:
        """Raise if no test query has a group, before the fits."""
        if groups is None:
            return
        from plackett.evaluation.slicing import group_of
        from plackett.evaluation.splits import as_folds

        # a number of folds makes each query a test query once; published folds are in files, which are read for this
        tests = [data] if isinstance(data, pk.Queries) else [fold.test for fold in as_folds(cv, data)]
        with parameters.usage_errors(f"--groups {self.groups}: "):
            group_of([key for test in tests for key in test.ids.tolist()], groups)


@command()
@options.CONVENTION
@option("Measure for selection.", "--select-by", metavar="MEASURE", show_default="the first", panel=METHOD,
        complete=completion.measures)  # fmt: skip
@option("Ranker to test against, or best.", "--baseline", metavar="NAME", show_default="the first")
@options.FOLDER
@option("Fits in parallel.", "-j", "--jobs", "n_jobs", type=int, panel=METHOD)
def compare(
    data: list[str] = options.data_argument("A known set, a folder of folds, LETOR files, tables."),
    rankers: tuple[str, ...] = option(
        "As 'listmle,trees(num_leaves=15)'; your own: module:name.",
        "-r",
        metavar="NAMES",
        required=True,
        complete=completion.rankers,
    ),
    n_splits: str | None = option("Folds, or the published ones.", "-f", "--folds", "--cv", metavar="N|letor"),
    metrics: Any = options.measures_option("Measures, comma-separated.", "ndcg@10,map"),
    normalize: str | None = option("Scale columns as in train.", panel=METHOD, choice=NORMALIZERS),
    report: Report = Report(),
    model: str | None = option(
        "Refit the best ranker, and save it.", "-o", "--output", metavar="MODEL", written="model"
    ),
    seed: int = options.SEED,
    source: Source = Source(),
    preparation: Preparation = Preparation(),
    per_query: bool = option("Also every query.", panel=options.OUTPUT),
    show: Show = Show(),
    quiet: bool = options.QUIET,
    **how: Any,
) -> None:
    """Compare rankers: hyperparameters chosen on validation queries, measures on test queries, p-values."""
    form = show.form
    if n_splits is not None and n_splits != LETOR and not (n_splits.isdecimal() and int(n_splits) >= 2):
        raise click.BadParameter(f"--folds {n_splits}: give a number of at least 2, or letor.")
    if how["n_jobs"] == 0:
        raise click.BadParameter("--jobs 0: give a number of at least 1, or -1 for all cores.")
    if how["select_by"] is not None and len(parameters.parse_measures(how["select_by"], "--select-by")) > 1:
        raise click.BadParameter("--select-by takes one measure.")
    with output.doing(f"loading {', '.join(rankers)}"), parameters.usage_errors():
        contestants = _contestants(rankers, normalize, preparation)
    if model is not None and (unsaved := [each.name for each in contestants if not hasattr(each.estimator, "save")]):
        raise click.BadParameter(f"--output: plackett cannot save models of {', '.join(unsaved)}; leave them out.")
    report.check()  # fail before the fits
    groups = report.read_groups()
    loaded, cv = _load(data, n_splits, source)
    report.check_groups(groups, loaded, cv)
    try:
        result = pk.compare(
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
    result.settings |= {"data": " ".join(data), "command": shlex.join(["plackett", *sys.argv[1:]])}
    results.show_comparison(result, form, per_query=per_query, quiet=quiet)
    page = {"title": report.title, "queries": list(report.queries), "groups": groups}
    results.write_report(result, report.path, quiet=quiet, **page)
    if not result.tables:
        raise click.exceptions.Exit(1)
    if model is not None:
        result.best_.save(model)
        if not quiet:
            results.next_step_of_model(model)


def _contestants(rankers: tuple[str, ...], normalize: str | None, preparation: Preparation) -> list[Contestant]:
    from plackett.evaluation.compare.contestants import as_contestants, with_preparation
    from plackett.metrics.measure import split_measures

    names = [name for text in rankers for name in split_measures(text)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.BadParameter(f"--rankers: {twice[0]} is named twice.")
    contestants = as_contestants([parameters.parse_contestant(name, "--rankers") for name in names])
    contestants = [with_preparation(contestant, **preparation.rules()) for contestant in contestants]
    for contestant in contestants if normalize is not None else ():
        can_scale = "normalize" in contestant.estimator.get_params(deep=False)
        if can_scale and not any("normalize" in setting for setting in contestant.candidates()):
            contestant.estimator.set_params(normalize=normalize)
    return contestants


def _load(data: list[str], folds: str | None, source: Source) -> tuple[Any, Any]:
    """Return the data and the folds: the published ones unless a number is given."""
    is_name = len(data) == 1 and files.is_known_name(data[0])
    if is_name or (len(data) == 1 and os.path.isdir(data[0]) and not has_parquet(data[0])):
        for name in ("zero_based", "cache"):
            if getattr(source, name):
                raise click.BadParameter(f"--{name.replace('_', '-')} requires files.")
        if columns := source.columns():
            raise click.BadParameter(f"--{next(iter(columns))} requires a table.")
        if folds is None and is_name and not pk.datasets.info(data[0]).n_folds:
            folds = "5"
        return data[0], LETOR if folds in (None, LETOR) else int(folds or 5)
    if folds == LETOR:
        raise click.BadParameter("--folds letor needs a known set's name, or a folder with S1..S5 or Fold1.., as DATA.")
    return inputs.load_queries(data, source), int(folds or 5)
