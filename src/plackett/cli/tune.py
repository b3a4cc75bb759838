"""``plackett tune``: choose hyperparameters on held-out queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import plackett as pk
from plackett._names import count_of
from plackett._progress import Progress, is_watched
from plackett.cli.shared import completion, inputs, options, output, parameters, results
from plackett.cli.shared.options import Preparation, Source, command, option

if TYPE_CHECKING:
    from plackett.evaluation.compare.contestants import Contestant


@command()
@options.CONVENTION
@option("grid, random or optuna.", "--method", default="grid", choice="plackett.evaluation.select.search:METHODS")
@option("Trials of random and optuna.", "--trials", "n_trials", min=1, show_default="20")
@options.FOLDER
def tune(
    data: list[str] = options.data_argument(),
    ranker: str = option(
        "As for train -r; lightgbm, xgboost; your own: module:name.",
        "-r",
        default="listmle",
        metavar="NAME",
        complete=completion.rankers,
    ),
    grid: list[str] = option("Values, or a range: KEY=LOW..HIGH[:log].", "-g", metavar="KEY=V,V,…"),
    settings: list[str] = options.SETTINGS_OPTION,
    validation: str | None = option("Validation lists.", metavar="DATA", reads="data"),
    n_splits: int | None = option("Or cross-validate on DATA.", "--folds", "--cv", min=2, show_default="5"),
    metrics: Any = options.measures_option("Measure for selection.", "ndcg@10", is_single=True),
    model: str | None = option("Model file of the best candidate.", "-o", metavar="FILE", written="model"),
    seed: int = options.SEED,
    source: Source = Source(),
    preparation: Preparation = Preparation(),
    as_json: bool = options.JSON,
    quiet: bool = options.QUIET,
    **search: Any,
) -> None:
    """Evaluate candidate hyperparameters on held-out queries, and save the best."""
    from plackett.evaluation.select.search import search_candidates
    from plackett.evaluation.select.selection import BEST, Trial, in_words

    if validation is not None and n_splits is not None:
        raise click.BadParameter("give either --validation or --folds.")
    with output.doing(f"loading {ranker}"), parameters.usage_errors():
        contestant = _contestant(ranker, grid, settings, preparation)
        measure = pk.metrics.Measure.parse(metrics[0])
        how = (search["method"], search["n_trials"], measure, seed)
        n_candidates = len(search_candidates(contestant.estimator, contestant.grid, *how))
    if model is not None and not hasattr(contestant.estimator, "save"):
        raise click.BadParameter(f"--model: plackett cannot save models of {contestant.name}. Leave it out.")
    queries, held_back = inputs.load_sets(data, validation, source, is_quiet=quiet)

    done: list[Trial] = []
    with Progress("tuning", n_candidates, is_shown=is_watched() and not quiet) as bar:

        def advance(n_done: int, n_all: int, trial: Trial) -> None:
            done.append(trial)
            bar.advance(f"{in_words(trial.params)}: {'failed' if trial.error else f'{trial.value:.4f}'}")

        search |= {"metric": metrics[0], "random_state": seed, "cv": n_splits}
        try:
            found = pk.select(contestant, queries, validation=held_back, progress=advance, **search)
        except KeyboardInterrupt:
            kept = "" if search["folder"] is None else f"; finished trials are stored in {search['folder']}"
            tried = f"{len(done)} of {count_of(n_candidates, 'candidate')}"
            output.note(f"stopped after {tried}{kept}; nothing was chosen.")
            raise
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
            results.next_step_of_model(model)


def _contestant(name: str, grid: list[str], settings: list[str], preparation: Preparation) -> Contestant:
    """Return the ranker with its fixed parameters and its grid, or its default grid."""
    from plackett.evaluation.compare.contestants import with_preparation

    fixed = parameters.settings_of(settings)
    chosen = parameters.grid_of(grid) if grid else None
    for param in fixed:
        if chosen is not None and param in chosen:
            raise click.BadParameter(f"--set {param} and --grid {param}: give a parameter in one of them only.")
    found = parameters.contestant(name, "--ranker", fixed, chosen)
    if hasattr(found.estimator, "check_parameters"):
        found.estimator.check_parameters()
    return with_preparation(found, **preparation.rules())
