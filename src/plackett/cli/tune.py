"""``plackett tune``: choose hyperparameters on held-out queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    CONVENTION,
    JSON,
    QUIET,
    SEED,
    SETTINGS_OPTION,
    Preparation,
    Source,
    as_list,
    command,
    data_argument,
    measures_option,
    option,
)

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.evaluation.compare.contestants import Contestant
    from plackett.evaluation.select.selection import Selection, Trial

METHODS = ("grid", "random", "optuna")  # those of select, whose module is slow to import


@command()
@data_argument()
@option(
    "-r", "--ranker", metavar="NAME", default="listmle", complete=completion.rankers,
    help="As for train -r; lightgbm, xgboost; your own: module:name.",
)  # fmt: skip
@option(
    "-g", "--grid", metavar="KEY=V,V,…", multiple=True, callback=as_list,
    help="Values, or a range: KEY=LOW..HIGH[:log].",
)  # fmt: skip
@SETTINGS_OPTION
@option("--validation", metavar="DATA", help="Validation lists.")
@option("--folds", "--cv", "n_splits", type=click.IntRange(min=2), help="Or cross-validate on DATA.", show_default="5")
@measures_option("Measure for selection.", "ndcg@10")
@CONVENTION
@option(
    "--method", metavar="NAME", default="grid", complete=completion.of_names(METHODS),
    help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.",
)  # fmt: skip
@option("--trials", "n_trials", type=click.IntRange(min=1), help="Trials of random and optuna.", show_default="20")
@option("-o", "--model", metavar="FILE", help="Model file of the best candidate.")
@option("--folder", metavar="DIR", help="Store fits, so that a run can resume.")
@SEED
@Source.takes
@Preparation.takes
@JSON
@QUIET
def tune(
    data: list[str],
    ranker: str,
    grid: list[str],
    settings: list[str],
    validation: str | None,
    n_splits: int | None,
    metrics: Any,
    model: str | None,
    seed: int,
    source: Source,
    preparation: Preparation,
    as_json: bool,
    quiet: bool,
    **search: Any,
) -> None:
    """Evaluate candidate hyperparameters on held-out queries, and save the best."""
    if validation is not None and n_splits is not None:
        raise click.BadParameter("give either --validation or --folds.")
    if data.count("-") + (validation == "-") > 1:
        raise click.BadParameter("standard input (-) can be used for one file only.")

    from plackett.cli.shared import inputs, models, output
    from plackett.evaluation.select.selection import BEST
    from plackett.validation import check_seed

    check_seed(seed, "seed")  # before the data are read
    if model is not None:
        models.check_target(model)
    if search["folder"] is not None:
        output.check_folder(search["folder"], "fits")
    inputs.check_data(data)
    if validation is not None:
        inputs.check_data([validation])
    contestant = _contestant(ranker, grid, settings, preparation)
    search["metric"] = metrics if isinstance(metrics, str) else ",".join(metrics)
    n_candidates = _check_search(contestant, seed, **search)
    if model is not None and not hasattr(contestant.estimator, "save"):
        raise click.BadParameter(f"--model: plackett cannot save models of {contestant.name}. Leave it out.")

    queries, held_back, note = inputs.load_sets(data, validation, source)
    if note is not None and not quiet:
        output.note(note)

    search |= {"random_state": seed, "cv": n_splits}
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


def _contestant(name: str, grid: list[str], settings: list[str], preparation: Preparation) -> Contestant:
    """Return the ranker with its fixed parameters and its grid, or its default grid."""
    from plackett.cli.shared import own_parts, parameters
    from plackett.evaluation.compare.contestants import Contestant, contestant_of
    from plackett.evaluation.select.grids import check_names, with_params

    fixed = parameters.settings_of(settings)
    chosen = parameters.grid_of(grid) if grid else None
    for param in fixed:
        if chosen is not None and param in chosen:
            raise click.BadParameter(f"--set {param} and --grid {param}: give a parameter in one of them only.")
    with parameters.usage_errors():
        named = preparation.of(contestant_of(own_parts.ranker(name, "--ranker")))
        check_names(named.estimator, [*fixed, *(chosen or ())], f"the ranker {named.name!r}")
        estimator = with_params(named.estimator, fixed)
        if hasattr(estimator, "check_parameters"):
            parameters.check_values(estimator)
    if chosen is None:
        default: Any = named.grid
        chosen = {param: values for param, values in default.items() if param not in fixed}
    return Contestant(named.name, estimator, chosen)


def _check_search(
    contestant: Contestant, seed: int, metric: str, convention: str, method: str, n_trials: int | None, folder: Any
) -> int:
    """Return the largest number of candidates; raise for wrong options before any data are read."""
    from plackett.cli.shared import measures, parameters
    from plackett.evaluation.select.search import search_candidates
    from plackett.metrics.measure import Measure

    if len(measures.parse_measures(metric)) > 1:
        raise click.BadParameter(f"--metrics {metric}: give one measure.")
    measures.check_convention(convention)
    with parameters.usage_errors():
        return len(
            search_candidates(contestant.estimator, contestant.grid, method, n_trials, Measure.parse(metric), seed)
        )


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
