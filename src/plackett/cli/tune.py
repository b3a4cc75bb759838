"""``plackett tune``: choose hyperparameters on held-out queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import (
    CONVENTION,
    FOLDER,
    JSON,
    QUIET,
    SEED,
    SETTINGS_OPTION,
    Preparation,
    Source,
    command,
    data_argument,
    measures_option,
    option,
)

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.evaluation.compare.contestants import Contestant
    from plackett.evaluation.select.selection import Selection, Trial


@command()
@CONVENTION
@option("grid, random or optuna.", "--method", default="grid", choice="plackett.evaluation.select.search:METHODS")
@option("Trials of random and optuna.", "--trials", "n_trials", min=1, show_default="20")
@FOLDER
def tune(
    data: list[str] = data_argument(),
    ranker: str = option(
        "As for train -r; lightgbm, xgboost; your own: module:name.",
        "-r",
        default="listmle",
        metavar="NAME",
        complete=completion.rankers,
    ),
    grid: list[str] = option("Values, or a range: KEY=LOW..HIGH[:log].", "-g", metavar="KEY=V,V,…"),
    settings: list[str] = SETTINGS_OPTION,
    validation: str | None = option("Validation lists.", metavar="DATA", reads="data"),
    n_splits: int | None = option("Or cross-validate on DATA.", "--folds", "--cv", min=2, show_default="5"),
    metrics: Any = measures_option("Measure for selection.", "ndcg@10", is_single=True),
    model: str | None = option("Model file of the best candidate.", "-o", metavar="FILE", written="model"),
    seed: int = SEED,
    source: Source = Source(),
    preparation: Preparation = Preparation(),
    as_json: bool = JSON,
    quiet: bool = QUIET,
    **search: Any,
) -> None:
    """Evaluate candidate hyperparameters on held-out queries, and save the best."""
    if validation is not None and n_splits is not None:
        raise click.BadParameter("give either --validation or --folds.")

    from plackett.cli.shared import inputs, models, output
    from plackett.evaluation.select.selection import BEST
    from plackett.validation import check_seed

    check_seed(seed, "seed")  # before the data are read
    with output.doing(f"loading {ranker}"):
        contestant = _contestant(ranker, grid, settings, preparation)
    search["metric"] = metrics[0]
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
    from plackett.cli.shared import parameters
    from plackett.evaluation.select.search import search_candidates
    from plackett.metrics.measure import Measure

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
