"""``plackett compare``: several rankers on the same folds, with significance tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.columns import (
    Categorical,
    Columns,
    Docid,
    Drop,
    Encoding,
    Label,
    Missing,
    MissingIndicator,
    Qid,
    Sql,
    columns_of,
)
from plackett.cli.shared.options import (
    METHOD,
    NORMALIZERS,
    OUTPUT,
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Cache,
    Convention,
    Quiet,
    Seed,
    ZeroBased,
    flag,
)

if TYPE_CHECKING:
    from plackett.evaluation.compare.contestants import Contestant

LETOR = "letor"
_REPORT: dict[str, Any] = {"rich_help_panel": "Report"}


def compare(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="A known set, a folder of folds, LETOR files, tables.",
            autocompletion=completion.data,
        ),
    ],
    rankers: Annotated[
        list[str],
        typer.Option(
            "--rankers",
            "-r",
            metavar="NAMES",
            help="As for train -r; lightgbm, xgboost, catboost; your own: module:name.",
            autocompletion=completion.rankers,
        ),
    ],
    folds: Annotated[
        str | None,
        typer.Option("--folds", "--cv", "-f", metavar="N|letor", help="Folds, or the published ones."),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metrics",
            "-m",
            metavar="NAMES",
            help="Measures, comma-separated.",
            show_default="ndcg@10,map",
            autocompletion=completion.measures,
        ),
    ] = None,
    convention: Convention = "standard",
    normalize: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Scale columns as in train.",
            rich_help_panel=METHOD,
            autocompletion=completion.of_names(NORMALIZERS),
        ),
    ] = None,
    select_by: Annotated[
        str | None,
        typer.Option(
            "--select-by",
            metavar="MEASURE",
            help="Measure for selection.",
            show_default="the first",
            rich_help_panel=METHOD,
            autocompletion=completion.measures,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="Ranker to test against, or best.", show_default="the first"),
    ] = None,
    folder: Annotated[
        str | None, typer.Option("--folder", metavar="DIR", help="Store fits, so that a run can resume.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE.html", help="Also write an HTML report.")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Heading of the report.", **_REPORT)
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="FILE.csv", help="Groups of queries for the report: qid,group.", **_REPORT),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option("--queries", metavar="IDS", help="Queries whose lists the report must show.", **_REPORT),
    ] = None,
    learning_curve: Annotated[
        bool, typer.Option("--learning-curve", help="Also fit to subsets of the training queries.", **_REPORT)
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Refit the best ranker, and save it."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Fits in parallel.", rich_help_panel=METHOD)] = None,
    seed: Seed = 0,
    qid: Qid = None,
    label: Label = None,
    docid: Docid = None,
    drop: Drop = None,
    categorical: Categorical = None,
    sql: Sql = None,
    missing: Missing = None,
    missing_indicator: MissingIndicator = False,
    encoding: Encoding = None,
    zero_based: ZeroBased = False,
    cache: Cache = False,
    per_query: Annotated[bool, flag("--per-query", "With --json or --csv: every query.", OUTPUT)] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_markdown: AsMarkdown = False,
    as_latex: AsLatex = False,
    quiet: Quiet = False,
) -> None:
    """Compare rankers: hyperparameters chosen on validation queries, measures on test queries, p-values."""
    from plackett.cli.shared import comparisons, inputs, models, output, parameters

    form = output.chosen_format(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    comparisons.check_per_query(form, per_query)
    if folds is not None and folds != LETOR and not (folds.isdecimal() and int(folds) >= 2):
        raise typer.BadParameter(f"--folds {folds}: give a number of at least 2, or letor.")
    if jobs == 0:
        raise typer.BadParameter("--jobs 0: give a number of at least 1, or -1 for all cores.")
    parameters.check_seed(seed)
    _check_no_ranker(data)
    inputs.check_data(data)
    wanted = _parse(metrics or ["ndcg@10,map"], convention, select_by)
    preparation = (missing, missing_indicator or None, encoding)
    contestants = _contestants(",".join(rankers), baseline, normalize, preparation)
    comparisons.check_report(report)  # fail before the fits
    for name, value in (("--title", title), ("--groups", groups), ("--queries", queries)):
        if report is None and value is not None:
            raise typer.BadParameter(f"{name} requires --report.")
    group_of = comparisons.read_groups(groups)
    named = [key for key in (part.strip() for text in queries or () for part in text.split(",")) if key]
    if model is not None:
        models.check_target(model)
    if folder is not None:
        output.check_folder(folder, "fits")
    source, cv = _source(
        data, folds, columns_of(qid, label, docid, drop, categorical, sql), zero_based=zero_based, cache=cache
    )
    comparisons.check_groups(groups, group_of, source, cv)

    from plackett._progress import is_watched
    from plackett.evaluation.compare.compare import compare as run

    try:
        result = run(
            contestants,
            source,
            cv=cv,
            metrics=wanted,
            convention=convention,
            select_by=select_by,
            baseline=baseline,
            folder=folder,
            random_state=seed,
            n_jobs=jobs,
            progress=False if quiet else None if is_watched() else output.note,
            refit=model is not None,
            explain=False if report is None else named or True,
            learning_curve=learning_curve,
        )
    except KeyboardInterrupt:
        if folder is None:
            output.note("finished fits were discarded; with --folder they are kept, and the command can be resumed.")
        else:
            output.note(f"finished fits are stored in {folder}; run the same command again to resume.")
        raise
    result.settings |= {"data": " ".join(data), "command": comparisons.command()}
    comparisons.show(result, form, per_query=per_query, quiet=quiet)
    comparisons.write_report(result, report, quiet=quiet, title=title, queries=named, groups=group_of)
    if not result.tables:
        raise typer.Exit(1)
    if model is not None:
        result.best_.save(model)
        if not quiet:
            models.next_step(model)


# --- Options ----------------------------------------------------------------------------------------------------------


def _parse(metrics: list[str], convention: str, select_by: str | None) -> list[str]:
    from plackett.cli.shared.measures import check_convention, parse_measures

    check_convention(convention)
    if select_by is not None and len(parse_measures(select_by, "--select-by")) > 1:
        raise typer.BadParameter("--select-by takes one measure.")
    return parse_measures(metrics)


def _contestants(
    rankers: str, baseline: str | None, normalize: str | None, preparation: tuple[str | None, bool | None, str | None]
) -> list[Contestant]:
    from plackett.cli.shared import own_parts
    from plackett.cli.shared.parameters import usage_errors
    from plackett.data.preprocessing.scaling import get_normalizer
    from plackett.evaluation.compare.comparison import BEST
    from plackett.evaluation.compare.contestants import as_contestants, with_preparation

    names = [name for name in (part.strip() for part in rankers.split(",")) if name]
    if twice := [name for name in names if names.count(name) > 1]:
        raise typer.BadParameter(f"--rankers: {twice[0]} is named twice.")
    with usage_errors():
        contestants = as_contestants([own_parts.ranker(name, "--rankers") for name in names])
        contestants = [with_preparation(one, *preparation) for one in contestants]
        if normalize is not None:
            get_normalizer(normalize)
    names = [contestant.name for contestant in contestants]
    if baseline not in (None, BEST) and baseline not in names:
        raise typer.BadParameter(f"--baseline {baseline} is not one of the rankers {', '.join(names)}.")
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
            raise typer.BadParameter(f"{name} is a ranker, not DATA. Separate rankers by commas: -r listmle,{name}.")


def _source(data: list[str], folds: str | None, columns: Columns, *, zero_based: bool, cache: bool) -> tuple[Any, Any]:
    """Return the data and the folds: the published ones unless a number is given."""
    from plackett.cli.shared import inputs
    from plackett.storage.file_names import has_parquet

    is_name = len(data) == 1 and inputs.is_known_name(data[0])
    is_folder = len(data) == 1 and os.path.isdir(data[0]) and not has_parquet(data[0])
    if is_name or is_folder:
        if zero_based:
            raise typer.BadParameter("--zero-based requires files.")
        if cache:
            raise typer.BadParameter("--cache requires files.")
        if columns.given():
            raise typer.BadParameter(f"--{next(iter(columns.given()))} requires a table.")
        if folds is None:
            has_folds = is_folder or _has_folds(data[0])
            folds = LETOR if has_folds else "5"
        return data[0], LETOR if folds == LETOR else int(folds)
    if folds == LETOR:
        raise typer.BadParameter("--folds letor needs a known set's name, or a folder with S1..S5 or Fold1.., as DATA.")
    return inputs.load_queries(data, zero_based=zero_based, cache=cache, columns=columns), int(folds or 5)


def _has_folds(name: str) -> bool:
    from plackett.data import datasets

    return bool(datasets.info(name).n_folds)
