"""``plackett train``: fit a ranker to judged lists and save it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion, own_parts, parameters
from plackett.cli.shared.clusters import Cluster
from plackett.cli.shared.options import (
    JSON,
    QUIET,
    SETTINGS_OPTION,
    Numbers,
    Source,
    command,
    data_argument,
    measures_option,
    option,
)
from plackett.cli.shared.rankers import DEFAULT, RankerCommand
from plackett.cli.training.clicks import Clicks, take_linear_loss
from plackett.cli.training.summary import Fit, as_dict, print_summary, step_word

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.rankers.linear.l2_path import L2Path

CHOOSE_L2_IN_FIT = ("qsvm", "knn-svm", "indv-svm", "query-dependent")  # rankers whose l2 may hold several strengths


def _list_rankers(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from plackett._tables import aligned
        from plackett.rankers.registry import ENTRIES

        click.echo(aligned([(name, entry.description) for name, entry in ENTRIES.items()], "ll"))
        ctx.exit()


@command(cls=RankerCommand)
@option("Describe each ranker.", "--rankers", is_eager=True, expose_value=False, callback=_list_rankers, is_flag=True)
def train(
    params: dict[str, Any],
    data: list[str] = data_argument(required=False),
    model: str = option("Model file.", "-o", metavar="FILE", required=True, written="model"),
    ranker: str | None = option(
        f"Ranker ({DEFAULT}); -r NAME --help: its options.", "-r", metavar="NAME", complete=completion.rankers
    ),
    settings: list[str] = SETTINGS_OPTION,
    validation: str | None = option("Lists for early stopping, or for l2.", metavar="DATA", reads="data"),
    metrics: Any = measures_option("Measures; the first decides.", "ndcg@10,map"),
    tune_l2: bool = option("Choose l2 by validation."),
    l2_path: list[float] | None = option("Values of l2 to choose from.", type=Numbers(), metavar="L2,L2,…"),
    clicks: Clicks = Clicks(),
    source: Source = Source(),
    cluster: Cluster = Cluster(),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Fit a ranker to judged lists, or to clicks, and save it as a model file."""
    params = _with_settings(params, settings)
    is_tuned, has_clicks = tune_l2 or l2_path is not None, clicks.log is not None
    if is_tuned and validation is None:
        raise click.BadParameter("--tune-l2 and --l2-path need a --validation set.")
    if is_tuned and ("l2" in params or "patience" in params):
        raise click.BadParameter("--l2 and --patience cannot be combined with --tune-l2 and --l2-path.")
    if params.get("patience") is not None and validation is None:
        raise click.BadParameter("--patience needs a --validation set.")
    clicks.check(data)
    cluster.check(data, cache=source.cache)
    if has_clicks and cluster.option:
        raise click.BadParameter("--clicks cannot be combined with a cluster.")

    from plackett.cli.shared import clusters, inputs, models, output

    name = ranker or ("linear" if "loss" in params or has_clicks else DEFAULT)
    has_own_path = name in CHOOSE_L2_IN_FIT
    if is_tuned and has_own_path:
        params["l2"] = "grid" if l2_path is None else l2_path
    with output.doing(f"loading {name}"):
        estimator = _build(name, params, is_tuned=is_tuned)
    note_of_loss = take_linear_loss(estimator, name, has_loss="loss" in params) if has_clicks else None
    if cluster.option and not getattr(estimator, "takes_parts", False):
        raise click.BadParameter(f"a cluster supports only linear rankers and trees, not {name!r}.")

    start = time.perf_counter()
    queries: Any = None
    labels = held_back = note = None
    with cluster.connection() as client:
        if client is not None:
            queries = clusters.parts_of(data, client, source)
            held_back = None if validation is None else inputs.load_queries([validation], source)
        elif data:
            queries, held_back, note = inputs.load_sets(data, validation, source, needs_labels=not has_clicks)
        elif validation is not None:
            held_back = inputs.load_queries([validation], source)
        if note is not None and not quiet:
            output.note(note)
        if has_clicks:
            labels = clicks.labels(queries, params.get("random_state") or 0)
            queries = labels.queries
            if not quiet:
                output.note("\n".join(filter(None, [f"{labels.diagnosis}\n", note_of_loss])))
        fit = Fit(name, estimator, queries, held_back, metrics, model, labels, client)
        fit.seconds["reading"] = time.perf_counter() - start
        _train(fit, l2_path, is_path=is_tuned and not has_own_path, is_quiet=quiet)
    if as_json:
        output.write_json(as_dict(fit))
    elif not quiet:
        print_summary(fit)
        models.next_step(model)


def _train(fit: Fit, strengths: list[float] | None, *, is_path: bool, is_quiet: bool) -> None:
    """Fit, save and evaluate."""
    from plackett._progress import is_watched

    start = time.perf_counter()
    fit.estimator.set_params(verbose=is_watched() and not is_quiet)
    fit.path = _fit_path(fit, strengths) if is_path else None
    fit.fitted = _fitted(fit) if fit.path is None else fit.path.best
    fit.seconds["fitting"] = time.perf_counter() - start
    fit.fitted.set_params(verbose=False)  # not stored in the model
    fit.fitted.save(fit.model)
    _measure(fit)


# --- Options ----------------------------------------------------------------------------------------------------------


def _with_settings(params: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """Return all parameters, those given as ``key=value`` too; raise for those that are given twice."""
    answer = {name: own_parts.loss(value, "--loss") if name == "loss" else value for name, value in params.items()}
    answer = {name: parameters.as_features(name, value) for name, value in answer.items()}
    for name, value in parameters.settings_of(words).items():
        if name == "verbose":
            raise click.BadParameter("--set verbose: verbose has its own option, --quiet.")
        if name in params:
            option = "seed" if name == "random_state" else name.replace("_", "-")
            raise click.BadParameter(f"--set {name} and --{option} are the same parameter; give one of them.")
        answer[name] = value
    return answer


def _build(name: str, params: dict[str, Any], *, is_tuned: bool) -> Any:
    """Return the unfitted ranker; raise for unknown parameters and invalid values."""
    from plackett.rankers.registry import ranker

    if own_parts.is_own_ranker(name):
        raise click.BadParameter(
            f"--ranker {name}: plackett cannot save user-defined rankers. Use it in compare or tune."
        )
    with parameters.usage_errors():
        estimator = ranker(name, **params)
        parameters.check_values(estimator)
    if not hasattr(estimator, "save"):
        raise click.BadParameter(f"--ranker {name}: plackett cannot save this model. Use it in compare or tune.")
    if is_tuned and "l2" not in estimator.get_params(deep=False):
        raise click.BadParameter(f"--tune-l2 and --l2-path: the ranker {name!r} has no l2.")
    return estimator


# --- The fit ----------------------------------------------------------------------------------------------------------


def _fitted(fit: Fit) -> Any:
    """Return the fitted ranker. After Ctrl-C, save the best model found so far."""
    arguments = {} if fit.held_back is None else {"eval_set": fit.held_back, "eval_metric": fit.metrics[0]}
    if fit.weights is not None:
        arguments["sample_weight"] = fit.weights
    try:
        return fit.estimator.fit(fit.queries, **arguments)
    except KeyboardInterrupt:
        _save_interrupted(fit)
        raise


def _save_interrupted(fit: Fit) -> None:
    from plackett.cli.shared import output
    from plackett.solvers.base import INTERRUPTED
    from plackett.validation import count_of

    n_steps, word = getattr(fit.estimator, "n_iter_", 0), step_word(fit.estimator)
    is_empty = getattr(fit.estimator, "n_rounds_", n_steps) == 0  # rounds kept by a boosted ranker
    if getattr(fit.estimator, "stop_reason_", None) != INTERRUPTED or is_empty:
        output.note("the fit had not started; no model was written.")
        return
    fit.estimator.set_params(verbose=False)
    fit.estimator.save(fit.model)
    found = "best coefficients" if word == "iteration" else f"best {word}s" if fit.held_back is not None else f"{word}s"
    output.note(f"stopped after {count_of(n_steps, word)}; the {found} so far are in {fit.model}.")


def _fit_path(fit: Fit, strengths: list[float] | None) -> L2Path:
    from plackett.cli.shared import output

    try:
        return fit.estimator.l2_path(
            fit.queries, l2=strengths, sample_weight=fit.weights, eval_set=fit.held_back, eval_metric=fit.metrics[0]
        )
    except KeyboardInterrupt:
        output.note("stopped before l2 was chosen; no model was written.")
        raise


# --- Evaluation -------------------------------------------------------------------------------------------------------


def _measure(fit: Fit) -> None:
    """Measure the fitted ranker on each set. The model is already saved and survives a Ctrl-C here."""
    from plackett.cli.shared import clusters, output
    from plackett.evaluation.evaluate import evaluate

    def means_on(queries: Queries) -> dict[str, float]:
        return evaluate(queries, fit.fitted.predict(queries), metrics=fit.metrics).mean()

    try:
        if fit.client is not None:
            fit.sizes, fit.measured["training"] = clusters.measure(fit.queries, fit.fitted, fit.metrics)
        elif fit.labels is None:  # measures expect judgements, not estimates
            fit.measured["training"] = means_on(fit.queries)
        if fit.held_back is not None:
            fit.measured["validation"] = means_on(fit.held_back)
    except KeyboardInterrupt:
        output.note(f"stopped during the evaluation; the fitted model is in {fit.model}.")
        raise
