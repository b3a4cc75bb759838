"""``plackett tune``: choose hyperparameters on held-out queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.columns import (
    Categorical,
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
from plackett.cli.shared.options import AsJson, Cache, Convention, Data, Quiet, Seed, ZeroBased

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.evaluation.compare.contestants import Contestant
    from plackett.evaluation.select.selection import Selection, Trial

DEFAULT_RANKER = "listmle"
METHODS = ("grid", "random", "optuna")  # those of select, whose module is slow to import


def tune(
    data: Data,
    ranker: Annotated[
        str,
        typer.Option(
            "--ranker",
            "-r",
            metavar="NAME",
            help="As for train -r; lightgbm, xgboost; your own: module:name.",
            autocompletion=completion.rankers,
        ),
    ] = DEFAULT_RANKER,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", metavar="KEY=V,V,…", help="Values, or a range: KEY=LOW..HIGH[:log]."),
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A fixed parameter.")] = None,
    validation: Annotated[str | None, typer.Option(metavar="DATA", help="Validation lists.")] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", "--cv", help="Or cross-validate on DATA.", show_default="5")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Measure for selection.",
            show_default="ndcg@10",
            autocompletion=completion.measures,
        ),
    ] = None,
    convention: Convention = "standard",
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.",
            autocompletion=completion.of_names(METHODS),
        ),
    ] = "grid",
    trials: Annotated[int | None, typer.Option(help="Trials of random and optuna.", show_default="20")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-o", metavar="FILE", help="Model file of the best candidate.")
    ] = None,
    folder: Annotated[
        str | None, typer.Option("--folder", metavar="DIR", help="Store fits, so that a run can resume.")
    ] = None,
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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate candidate hyperparameters on held-out queries, and save the best."""
    if validation is not None and folds is not None:
        raise typer.BadParameter("give either --validation or --folds.")
    if folds is not None and folds < 2:
        raise typer.BadParameter(f"--folds {folds}: it must be at least 2.")
    if trials is not None and trials < 1:
        raise typer.BadParameter(f"--trials {trials}: it must be at least 1.")
    if data.count("-") + (validation == "-") > 1:
        raise typer.BadParameter("standard input (-) can be used for one file only.")

    from plackett.cli.shared import inputs, models, output, parameters
    from plackett.evaluation.select.selection import BEST

    parameters.check_seed(seed)
    if model is not None:
        models.check_target(model)
    if folder is not None:
        output.check_folder(folder, "fits")
    inputs.check_data(data)
    if validation is not None:
        inputs.check_data([validation])
    contestant = _contestant(ranker, grid, settings or [], (missing, missing_indicator or None, encoding))
    metric = ",".join(metrics or ["ndcg@10"])
    n_candidates = _check_search(contestant, metric, convention, method, trials, seed)
    if model is not None:
        _check_can_be_saved(contestant)

    queries, held_back, note = inputs.load_sets(
        data,
        validation,
        zero_based=zero_based,
        cache=cache,
        columns=columns_of(qid, label, docid, drop, categorical, sql),
    )
    if note is not None and not quiet:
        output.note(note)

    search = {
        "metric": metric, "convention": convention, "method": method, "n_trials": trials, "random_state": seed,
        "folder": folder, "cv": folds,
    }  # fmt: skip
    found = _search(contestant, queries, held_back, search, n_candidates, is_quiet=quiet)
    if model is not None:
        found.best_.save(model)
    if as_json:
        output.write_json({**found.to_dict(), "model": model})
        return
    output.write_table(found.to_table(), winner=BEST)
    output.write("\n".join(found.remarks()))
    if model is not None:
        output.write(f"model: {model}")
        if not quiet:
            models.next_step(model)


# --- Options ----------------------------------------------------------------------------------------------------------


def _contestant(
    name: str,
    grid: list[str] | None,
    settings: list[str],
    preparation: tuple[str | None, bool | None, str | None],
) -> Contestant:
    """Return the ranker with its fixed parameters and its grid, or its default grid."""
    from plackett.cli.shared import own_parts, parameters
    from plackett.evaluation.compare.contestants import Contestant, contestant_of, with_preparation
    from plackett.evaluation.select.grids import check_names, with_params

    fixed = parameters.settings_of(settings)
    chosen = None if grid is None else parameters.grid_of(grid)
    for param in fixed:
        if chosen is not None and param in chosen:
            raise typer.BadParameter(f"--set {param} and --grid {param}: give a parameter in one of them only.")
    with parameters.usage_errors():
        named = with_preparation(contestant_of(own_parts.ranker(name, "--ranker")), *preparation)
        check_names(named.estimator, [*fixed, *(chosen or ())], f"the ranker {named.name!r}")
        estimator = with_params(named.estimator, fixed)
        if hasattr(estimator, "check_parameters"):
            parameters.check_values(estimator)
    if chosen is None:
        default: Any = named.grid
        chosen = {param: values for param, values in default.items() if param not in fixed}
    return Contestant(named.name, estimator, chosen)


def _check_search(
    contestant: Contestant, metric: str, convention: str, method: str, trials: int | None, seed: int
) -> int:
    """Return the largest number of candidates; raise for wrong options before any data are read."""
    from plackett.cli.shared import measures, parameters
    from plackett.evaluation.select.search import FixedCandidates, search_candidates
    from plackett.metrics.conventions import get_convention
    from plackett.metrics.measure import Measure

    if len(measures.parse_measures(metric, "--metric")) > 1:
        raise typer.BadParameter(f"--metric {metric}: give one measure.")
    with parameters.usage_errors():
        get_convention(convention)
        measure = Measure.parse(metric)
        found = search_candidates(contestant.estimator, contestant.grid, method, trials, measure, seed)
    if isinstance(found, FixedCandidates):
        _check_candidates(contestant.estimator, found)
    return len(found)


def _check_candidates(estimator: Any, candidates: Iterable[dict[str, Any]]) -> None:
    """Raise if no candidate has valid values. A single invalid one is shown as failed beside the others."""
    from plackett.cli.shared.parameters import check_values, usage_errors
    from plackett.evaluation.select.grids import with_params

    if not hasattr(estimator, "check_parameters"):
        return
    first: Exception | None = None
    for candidate in candidates:
        try:
            check_values(with_params(estimator, candidate))
        except (TypeError, ValueError) as error:
            first = first or error
        else:
            return
    with usage_errors():
        if first is not None:
            raise first


def _check_can_be_saved(contestant: Contestant) -> None:
    if not hasattr(contestant.estimator, "save"):
        raise typer.BadParameter(f"--model: plackett cannot save models of {contestant.name}. Leave it out.")


# --- The search -------------------------------------------------------------------------------------------------------


def _search(
    contestant: Contestant,
    queries: Queries,
    held_back: Queries | None,
    search: dict[str, Any],
    n_candidates: int,
    *,
    is_quiet: bool,
) -> Selection:
    """Return the selection. Shows progress on a terminal, and where it stopped after Ctrl-C."""
    from plackett._progress import Progress, is_watched
    from plackett.cli.shared import output
    from plackett.evaluation.select.select import select
    from plackett.evaluation.select.selection import in_words
    from plackett.validation import count_of

    done: list[Trial] = []
    with Progress("tuning", n_candidates, is_shown=is_watched() and not is_quiet) as bar:

        def advance(n_done: int, n_all: int, trial: Trial) -> None:
            done.append(trial)
            bar.advance(f"{in_words(trial.params)}: {'failed' if trial.error else f'{trial.value:.4f}'}")

        try:
            return select(contestant, queries, validation=held_back, progress=advance, **search)
        except KeyboardInterrupt:
            kept = "" if search["folder"] is None else f"; finished trials are stored in {search['folder']}"
            output.note(
                f"stopped after {len(done)} of {count_of(n_candidates, 'candidate')}{kept}; nothing was chosen."
            )
            raise
