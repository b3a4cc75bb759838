"""``plackett train``: fit a ranker to judged lists and save it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from plackett.cli.shared import completion, own_parts, parameters
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
from plackett.cli.shared.options import CLICKS, NORMALIZERS, AsJson, Cache, Quiet, ZeroBased
from plackett.rankers.registry import ENTRIES

if TYPE_CHECKING:
    from plackett.cli.training.clicks import ClickLabels
    from plackett.data.queries import Queries
    from plackett.rankers.linear.l2_path import L2Path

_LEARNING: dict[str, Any] = {"rich_help_panel": "Learning"}
_CLICKS: dict[str, Any] = {"rich_help_panel": CLICKS}
_CLUSTERS: dict[str, Any] = {"rich_help_panel": "Clusters"}
DEFAULT_RANKER = "listmle"
FLAGS = {  # parameters of rankers with their own options
    "loss": "--loss",
    "l2": "--l2",
    "solver": "--solver",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "normalize": "--normalize",
    "missing": "--missing",
    "missing_indicator": "--missing-indicator",
    "encoding": "--encoding",
    "patience": "--patience",
    "random_state": "--seed",
    "verbose": "--quiet",
}
CHOOSE_L2_IN_FIT = ("qsvm", "knn-svm", "indv-svm", "query-dependent")  # rankers whose l2 may hold several strengths


def _list_rankers(is_asked: bool) -> None:
    if is_asked:
        from plackett._tables import aligned

        typer.echo(aligned([(name, entry.description) for name, entry in ENTRIES.items()], "ll"))
        raise typer.Exit


def _option(metavar: str | None, text: str, *names: str, **others: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, **others)


def train(
    model: Annotated[str, _option("FILE", "Model file.", "--model", "-o")],
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA", help="LETOR files or tables, '-', or a known set.", autocompletion=completion.data
        ),
    ] = None,
    ranker: Annotated[
        str | None,
        _option(
            "NAME",
            f"Ranker ({DEFAULT_RANKER}); --rankers lists them.",
            "--ranker",
            "-r",
            autocompletion=completion.rankers,
        ),
    ] = None,
    loss: Annotated[str | None, _option("NAME", "Loss; your own: module:name.", "--loss", **_LEARNING)] = None,
    l2: Annotated[float | None, _option("X", "Strength of the penalty.", "--l2", min=0.0)] = None,
    solver: Annotated[
        str | None, _option("NAME", "auto, lbfgs, newton, sgd, newton-diag.", "--solver", **_LEARNING)
    ] = None,
    max_iter: Annotated[int | None, _option("N", "Maximum iterations.", "--max-iter", min=1, **_LEARNING)] = None,
    tol: Annotated[float | None, _option("X", "Gradient norm to stop at.", "--tol", min=0.0, **_LEARNING)] = None,
    normalize: Annotated[
        str | None,
        _option(
            "NAME",
            f"Scale columns: {', '.join(NORMALIZERS)}.",
            "--normalize",
            autocompletion=completion.of_names(NORMALIZERS),
            **_LEARNING,
        ),
    ] = None,
    settings: Annotated[list[str] | None, _option("KEY=VALUE", "Any parameter; repeatable.", "--set")] = None,
    validation: Annotated[str | None, _option("DATA", "Lists for early stopping, or for l2.", "--validation")] = None,
    metrics: Annotated[
        list[str] | None,
        _option(
            "NAMES",
            "Measures; the first decides (ndcg@10,map).",
            "--metrics",
            "--metric",
            "-m",
            autocompletion=completion.measures,
        ),
    ] = None,
    patience: Annotated[
        int | None, _option("N", "Steps without improvement before stopping.", "--patience", min=1, **_LEARNING)
    ] = None,
    tune_l2: Annotated[bool, _option(None, "Choose l2 by validation.", "--tune-l2")] = False,
    l2_path: Annotated[str | None, _option("L2,L2,…", "Values of l2 to choose from.", "--l2-path", **_LEARNING)] = None,
    seed: Annotated[int | None, _option("N", "Random seed.", "--seed", min=0, **_LEARNING)] = None,
    clicks: Annotated[
        str | None, _option("LOG", "Learn from clicks; DATA holds the features.", "--clicks", **_CLICKS)
    ] = None,
    correct: Annotated[
        str | None, _option("METHOD", "naive, ips, affine, policy-aware, dr.", "--correct", **_CLICKS)
    ] = None,
    propensities: Annotated[
        str | None, _option("FILE", "A file, numbers, harvesting, em, trust, …", "--propensities", **_CLICKS)
    ] = None,
    clip: Annotated[float | None, _option("X", "Smallest propensity.", "--clip", min=0.0, max=1.0, **_CLICKS)] = None,
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
    cluster: Annotated[
        str | None, _option("tcp://HOST:PORT", "Fit on a Dask cluster; workers read DATA.", "--cluster", **_CLUSTERS)
    ] = None,
    local_cluster: Annotated[
        int | None, _option("N", "Fit on N local processes.", "--local-cluster", min=1, **_CLUSTERS)
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    rankers: Annotated[
        bool, _option(None, "Describe each ranker.", "--rankers", is_eager=True, callback=_list_rankers)
    ] = False,
) -> None:
    """Fit a ranker to judged lists, or to clicks, and save it as a model file."""
    given = {
        "loss": loss,
        "l2": l2,
        "solver": solver,
        "max_iter": max_iter,
        "tol": tol,
        "normalize": normalize,
        "missing": missing,
        "missing_indicator": missing_indicator or None,
        "encoding": encoding,
        "patience": patience,
        "random_state": seed,
    }
    params: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if loss is not None:
        params["loss"] = own_parts.loss(loss, "--loss")
    params.update(_settings(settings or [], params))
    is_tuned = tune_l2 or l2_path is not None
    if validation is None and is_tuned:
        raise typer.BadParameter("--tune-l2 and --l2-path need a --validation set.")
    if is_tuned and ("l2" in params or "patience" in params):
        raise typer.BadParameter("--l2 and --patience cannot be combined with --tune-l2 and --l2-path.")
    from plackett.cli.training import clicks as click_training

    data = data or []
    learned = click_training.options_of(clicks, correct, propensities, clip, data)
    if [*data, validation, clicks].count("-") > 1:
        raise typer.BadParameter("standard input (-) can be used for one file only.")
    strengths = None if l2_path is None else _numbers(l2_path)

    from plackett.cli.shared import inputs, measures, models, output
    from plackett.cli.training import clusters

    clusters.check_options(cluster, local_cluster, data, cache=cache)
    if learned is not None and (cluster or local_cluster):
        raise typer.BadParameter("--clicks cannot be combined with a cluster.")
    models.check_target(model)
    if data:
        inputs.check_data(data)
    if learned is not None:
        inputs.check_exists(learned.log)
    if validation is not None:
        inputs.check_data([validation])
    name = ranker or ("linear" if "loss" in params or learned is not None else DEFAULT_RANKER)
    wanted = measures.parse_measures(metrics or "ndcg@10,map", "--metric")
    if own_parts.is_own_ranker(name):
        raise typer.BadParameter(
            f"--ranker {name}: plackett cannot save user-defined rankers. Use it in compare or tune."
        )
    _check_options(name, params, is_tuned=is_tuned)
    has_own_path = name in CHOOSE_L2_IN_FIT
    if is_tuned and has_own_path:
        params["l2"] = "grid" if strengths is None else strengths
    estimator = _build(name, params)
    note_of_loss = None
    if learned is not None:
        note_of_loss = click_training.take_linear_loss(estimator, name, has_loss="loss" in params)
    if not hasattr(estimator, "save"):
        raise typer.BadParameter(f"--ranker {name}: plackett cannot save this model. Use it in compare or tune.")
    if params.get("patience") is not None and validation is None:
        raise typer.BadParameter("--patience needs a --validation set.")
    if (cluster or local_cluster) and not getattr(estimator, "takes_parts", False):
        raise typer.BadParameter(f"a cluster supports only linear rankers, not {name!r}.")

    start = time.perf_counter()
    queries: Any
    labels = None
    with clusters.connection(cluster, local_cluster) as client:
        columns = columns_of(qid, label, docid, drop, categorical, sql)
        options: dict[str, Any] = {"zero_based": zero_based, "cache": cache, "columns": columns}
        if learned is not None and not data:
            queries, note = None, None
            held_back = None if validation is None else inputs.load_queries([validation], **options)
        elif client is None:
            queries, held_back, note = inputs.load_sets(data, validation, needs_labels=learned is None, **options)
        else:
            queries, held_back, note = clusters.load_sets(data, validation, client, zero_based=zero_based)
        if note is not None and not quiet:
            output.note(note)
        if learned is not None:
            labels = click_training.label_by_clicks(learned, queries, seed or 0)
            queries = labels.queries
            if not quiet:
                output.note("\n".join(filter(None, [f"{labels.diagnosis}\n", note_of_loss])))
        job = _Job(name, estimator, queries, held_back, wanted, model, client, labels)
        _train(job, strengths, start, is_path=is_tuned and not has_own_path, as_json=as_json, quiet=quiet)


class _Job(NamedTuple):
    """A ranker, its data, and the model file to write."""

    name: str
    estimator: Any
    queries: Any  # Queries; on a cluster, the parts that its workers read
    held_back: Queries | None
    metrics: list[str]
    model: str
    client: Any  # None fits in this process
    labels: ClickLabels | None = None

    @property
    def weights(self) -> Any:
        """Weights of the queries, as ``fit`` takes them."""
        return None if self.labels is None else self.labels.weights


def _train(
    job: _Job, strengths: list[float] | None, start: float, *, is_path: bool, as_json: bool, quiet: bool
) -> None:
    """Fit, save, evaluate and print a summary."""
    from plackett._progress import is_watched
    from plackett.cli.shared import models, output
    from plackett.cli.training import summary

    fitting = time.perf_counter()
    job.estimator.set_params(verbose=is_watched() and not quiet)
    path = _fit_path(job, strengths) if is_path else None
    fitted = _fit(job) if path is None else path.best
    fit_seconds = time.perf_counter() - fitting
    fitted.set_params(verbose=False)  # not stored in the model
    fitted.save(job.model)
    sizes, measured = _measured(fitted, job)

    seconds = {"reading": fitting - start, "fitting": fit_seconds}
    diagnosis = None if job.labels is None else job.labels.diagnosis
    outcome = summary.Outcome(job.name, fitted, sizes, job.held_back, path, measured, seconds, job.model, diagnosis)
    if as_json:
        output.write_json(summary.as_dict(outcome))
    elif not quiet:
        summary.print_summary(outcome)
        models.next_step(job.model)


# --- Options ----------------------------------------------------------------------------------------------------------


def _settings(words: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters given as ``key=value``; raise for those also ``given`` by their own option."""
    answer = parameters.settings_of(words)
    for name in answer:
        if name == "verbose":
            raise typer.BadParameter(f"--set {name}: {name} has its own option, {FLAGS[name]}.")
        if name in given:
            raise typer.BadParameter(f"--set {name} and {FLAGS[name]} are the same parameter; give one of them.")
    return answer


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 <= number < float("inf") for number in numbers):
        raise typer.BadParameter(f"--l2-path {text}: write numbers of at least 0, such as 1,0.1,0.01.")
    return numbers


def _check_options(name: str, params: dict[str, Any], *, is_tuned: bool) -> None:
    """Raise for unknown rankers and for parameters that the ranker does not have; name those it has."""
    from plackett.rankers.registry import parameters as parameters_of

    with parameters.usage_errors():
        own = parameters_of(name)
    options = {FLAGS[param]: param for param in params if param in FLAGS}
    if is_tuned:
        options["--tune-l2 and --l2-path"] = "l2"
    for option, param in options.items():
        if param not in own:
            flags = [FLAGS[other] for other in own if other in FLAGS and other != "verbose"]
            others = [
                f"--set {other}={parameters.as_text(default)}" for other, default in own.items() if other not in FLAGS
            ]
            raise typer.BadParameter(
                f"{option}: the ranker {name!r} has no {param}. It takes {', '.join(flags + others)} (the defaults)."
            )


def _build(name: str, params: dict[str, Any]) -> Any:
    """Return the unfitted ranker; raise for unknown parameters and invalid values."""
    from plackett.rankers.registry import ranker

    with parameters.usage_errors():
        estimator = ranker(name, **params)
        parameters.check_values(estimator)
        return estimator


# --- The fit ----------------------------------------------------------------------------------------------------------


def _fit(job: _Job) -> Any:
    """Return the fitted ranker. After Ctrl-C, save the best model found so far."""
    arguments = {} if job.held_back is None else {"eval_set": job.held_back, "eval_metric": job.metrics[0]}
    if job.weights is not None:
        arguments["sample_weight"] = job.weights
    try:
        return job.estimator.fit(job.queries, **arguments)
    except KeyboardInterrupt:
        _save_interrupted(job)
        raise


def _save_interrupted(job: _Job) -> None:
    from plackett.cli.shared import output
    from plackett.cli.training.summary import step_word
    from plackett.solvers.base import INTERRUPTED
    from plackett.validation import count_of

    n_steps, word = getattr(job.estimator, "n_iter_", 0), step_word(job.estimator)
    is_empty = getattr(job.estimator, "n_rounds_", n_steps) == 0  # rounds kept by a boosted ranker
    if getattr(job.estimator, "stop_reason_", None) != INTERRUPTED or is_empty:
        output.note("the fit had not started; no model was written.")
        return
    job.estimator.set_params(verbose=False)
    job.estimator.save(job.model)
    found = "best coefficients" if word == "iteration" else f"best {word}s" if job.held_back is not None else f"{word}s"
    output.note(f"stopped after {count_of(n_steps, word)}; the {found} so far are in {job.model}.")


def _fit_path(job: _Job, strengths: list[float] | None) -> L2Path:
    from plackett.cli.shared import output

    try:
        return job.estimator.l2_path(
            job.queries, l2=strengths, sample_weight=job.weights, eval_set=job.held_back, eval_metric=job.metrics[0]
        )
    except KeyboardInterrupt:
        output.note("stopped before l2 was chosen; no model was written.")
        raise


# --- Evaluation -------------------------------------------------------------------------------------------------------


def _measured(fitted: Any, job: _Job) -> tuple[Any, dict[str, dict[str, float]]]:
    """Return the sizes of the training set and the means of the measures on each set.

    The model is already saved and survives a Ctrl-C here.
    """
    from plackett.cli.shared import output
    from plackett.cli.training import clusters
    from plackett.evaluation.evaluate import evaluate

    def means_on(queries: Queries) -> dict[str, float]:
        return evaluate(queries, fitted.predict(queries), metrics=job.metrics).mean()

    try:
        sizes, measured = job.queries, {}
        if job.client is not None:
            sizes, measured["training"] = clusters.measure(job.client, job.queries, fitted, job.metrics)
        elif job.labels is None:  # measures expect judgements, not estimates
            measured["training"] = means_on(job.queries)
        if job.held_back is not None:
            measured["validation"] = means_on(job.held_back)
    except KeyboardInterrupt:
        output.note(f"stopped during the evaluation; the fitted model is in {job.model}.")
        raise
    return sizes, measured
