"""``plackett train``: from judged lists to a model file."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from plackett.rankers.registry import ENTRIES

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.rankers.paths import L2Path

DEFAULT_RANKER = "listmle"
FLAGS = {  # parameters of rankers that have an option of their own
    "loss": "--loss",
    "l2": "--l2",
    "solver": "--solver",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "normalize": "--normalize",
    "patience": "--patience",
    "random_state": "--seed",
    "verbose": "--quiet",
}
RANKERS = "Rankers:\n\n" + "\n\n".join(f"{name}: {entry.description}." for name, entry in ENTRIES.items())


def train(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="LETOR files, '-', or a known set's name.")],
    model: Annotated[str, typer.Option("--model", "-o", metavar="FILE", help="Where the model goes.")],
    ranker: Annotated[
        str | None, typer.Option("--ranker", "-r", help="One of the names below.", show_default=DEFAULT_RANKER)
    ] = None,
    loss: Annotated[str | None, typer.Option(help="What a linear or kernel ranker minimises.")] = None,
    l2: Annotated[float | None, typer.Option(min=0.0, help="Strength of the penalty.")] = None,
    solver: Annotated[str | None, typer.Option(help="How: auto, lbfgs, newton, sgd or newton-diag.")] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="Iterations at most.")] = None,
    tol: Annotated[float | None, typer.Option(min=0.0, help="The fit ends at this norm of the gradient.")] = None,
    normalize: Annotated[
        str | None,
        typer.Option(
            help="Scale columns: query-minmax, query-zscore, query-unit, query-rank, minmax, zscore, quantile."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other parameter of the ranker or its loss; repeatable."),
    ] = None,
    validation: Annotated[
        str | None, typer.Option(metavar="DATA", help="Judged lists to stop early by, or to choose l2 by.")
    ] = None,
    metrics: Annotated[
        str,
        typer.Option(
            "--metric", "--metrics", "-m", help="Measures to report; the first decides on the validation set."
        ),
    ] = "ndcg@10,map",
    patience: Annotated[
        int | None, typer.Option(min=1, help="Iterations without a better value before the fit ends.")
    ] = None,
    tune_l2: Annotated[bool, typer.Option("--tune-l2", help="Choose l2 on the validation set.")] = False,
    l2_path: Annotated[
        str | None, typer.Option(metavar="L2,L2,…", help="The strengths to choose from; implies --tune-l2.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For all that is random.")] = None,
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Feature numbers start at 0.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Keep a fast copy of DATA for the next time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress bar, no notes.")] = False,
) -> None:
    """Fit a ranker to judged lists and save it as a model file."""
    given = {
        "loss": loss,
        "l2": l2,
        "solver": solver,
        "max_iter": max_iter,
        "tol": tol,
        "normalize": normalize,
        "patience": patience,
        "random_state": seed,
    }
    params = {name: value for name, value in given.items() if value is not None}
    is_tuned = tune_l2 or l2_path is not None
    if validation is None and (is_tuned or patience is not None):
        raise typer.BadParameter("--tune-l2, --l2-path and --patience need a --validation set.")
    if is_tuned and (l2 is not None or patience is not None):
        raise typer.BadParameter("--l2 and --patience have no place beside --tune-l2 and --l2-path.")
    if data.count("-") + (validation == "-") > 1:
        raise typer.BadParameter("standard input (-) can stand for one file only.")
    strengths = None if l2_path is None else _numbers(l2_path)
    params.update(_settings(settings or []))

    from plackett.cli import inputs, measures, models, output

    models.check_target(model)
    inputs.check_data(data)
    if validation is not None:
        inputs.check_data([validation])
    if not quiet:
        output.tell_when_compiling()
    name = ranker or ("linear" if loss is not None else DEFAULT_RANKER)
    wanted = measures.parse_measures(metrics, "--metric")
    estimator = _build(name, params)

    start = time.perf_counter()
    queries = inputs.load_queries(data, zero_based=zero_based, cache=cache)
    models.check_features(queries, models.name_of_data(data))
    held_back, note = None, None
    if validation is not None:
        held_back = inputs.load_queries([validation], zero_based=zero_based, cache=cache)
        models.check_features(held_back, models.name_of_data([validation]))
        queries, held_back, note = _same_features(queries, held_back, validation)
    if note is not None and not quiet:
        output.note(note)
    job = _Job(estimator, queries, held_back, wanted, model)

    fitting = time.perf_counter()
    estimator.set_params(verbose=sys.stderr.isatty() and not quiet)
    path = _fit_path(job, strengths) if is_tuned else None
    fitted = _fit(job) if path is None else path.best
    fitting_ended = time.perf_counter()
    fitted.set_params(verbose=False)  # how it was trained is not how it will be used
    fitted.save(model)
    measured = _measured(fitted, job)

    seconds = {"reading": fitting - start, "fitting": fitting_ended - fitting}
    if as_json:
        output.write_json(_as_dict(name, fitted, job, path, measured, seconds))
    elif not quiet:
        _print_summary(name, fitted, job, path, measured, seconds)


class _Job(NamedTuple):
    """What is fitted to what, and where it goes."""

    estimator: Any
    queries: Queries
    held_back: Queries | None
    metrics: list[str]
    model: str


# --- What the user asked for ------------------------------------------------------------------------------------------


def _settings(settings: list[str]) -> dict[str, Any]:
    """Parameters given as ``key=value``; those with an option of their own are wrong usage."""
    answer: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"--set {setting}: write it like --set key=value.")
        if name in FLAGS:
            raise typer.BadParameter(f"--set {setting}: {name} has an option of its own, {FLAGS[name]}.")
        if name in answer:
            raise typer.BadParameter(f"--set {setting}: {name} is given twice.")
        answer[name] = _value(text.strip())
    return answer


def _value(text: str) -> Any:
    """A number, true, false, None, or a list of these, where it reads as one; otherwise the text itself."""
    plain = {"None": None, "True": True, "False": False}
    if text in plain:
        return plain[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 <= number < float("inf") for number in numbers):
        raise typer.BadParameter(f"--l2-path {text}: write numbers of at least 0, such as 1,0.1,0.01.")
    return numbers


def _build(name: str, params: dict[str, Any]) -> Any:
    """The ranker, not fitted yet; a name that does not exist, or a value that fits no data, is wrong usage."""
    import numpy as np

    from plackett.data.normalize import get_normalizer
    from plackett.data.queries import QueryLists
    from plackett.losses import get_loss
    from plackett.rankers.registry import ranker
    from plackett.solvers import get_solver

    try:
        estimator = ranker(name, **params)
        chosen = estimator.get_params(deep=False)
        if chosen["solver"] != "auto":
            get_solver(chosen["solver"])
        if chosen["normalize"] is not None:
            get_normalizer(chosen["normalize"])
        estimator._check_parameters()
        nothing = QueryLists(np.zeros(0), np.zeros(1, dtype=np.int64))  # no labels, so that only parameters are checked
        get_loss(chosen["loss"]).check_labels(nothing)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    return estimator


def _same_features(queries: Queries, held_back: Queries, name: str) -> tuple[Queries, Queries, str | None]:
    """Training and validation set with the same number of columns: the shorter one ends in zeros."""
    from plackett.cli import models

    if held_back.n_features > queries.n_features:
        queries, note = models.fit_columns(queries, held_back.n_features, "the training set", name)
    else:
        held_back, note = models.fit_columns(held_back, queries.n_features, name, "the training set")
    return queries, held_back, note


# --- The fit ----------------------------------------------------------------------------------------------------------


def _fit(job: _Job) -> Any:
    """The fitted ranker; when Ctrl-C ends the fit, its best coefficients so far are saved."""
    arguments = {} if job.held_back is None else {"eval_set": job.held_back, "eval_metric": job.metrics[0]}
    try:
        return job.estimator.fit(job.queries, **arguments)
    except KeyboardInterrupt:
        _save_what_there_is(job)
        raise


def _save_what_there_is(job: _Job) -> None:
    from plackett.cli import output
    from plackett.solvers.stopping import INTERRUPTED
    from plackett.validation import count_of

    n_iter = getattr(job.estimator, "n_iter_", 0)
    if getattr(job.estimator, "stop_reason_", None) != INTERRUPTED or not n_iter:
        output.note("the fit had not begun; no model was written.")
        return
    job.estimator.save(job.model)
    output.note(f"stopped after {count_of(n_iter, 'iteration')}; the best coefficients so far are in {job.model}.")


def _fit_path(job: _Job, strengths: list[float] | None) -> L2Path:
    from plackett.cli import output

    try:
        return job.estimator.l2_path(job.queries, l2=strengths, eval_set=job.held_back, eval_metric=job.metrics[0])
    except KeyboardInterrupt:
        output.note("stopped before l2 was chosen; no model was written.")
        raise


# --- What came out ----------------------------------------------------------------------------------------------------


def _measured(fitted: Any, job: _Job) -> dict[str, dict[str, float]]:
    """Means of the measures on each set, by its name; the model is saved already, and Ctrl-C does not take it away."""
    from plackett.cli import output
    from plackett.evaluation.evaluate import evaluate

    sets = {"training": job.queries, "validation": job.held_back}
    try:
        return {
            name: evaluate(queries, fitted.predict(queries), metrics=job.metrics).mean()
            for name, queries in sets.items()
            if queries is not None
        }
    except KeyboardInterrupt:
        output.note(f"stopped while the fitted model was measured; it is in {job.model}.")
        raise


def _print_summary(
    name: str, fitted: Any, job: _Job, path: L2Path | None, measured: dict[str, dict[str, float]], seconds: dict
) -> None:
    from plackett.cli import measures, output

    if path is not None:
        _print_path(path)
    chosen = fitted.get_params(deep=False)
    rows = [("ranker", f"{name} ({type(fitted).__name__})")]
    rows += [(key, _shown(chosen[key])) for key in ("loss", "l2", "normalize") if chosen.get(key) is not None]
    rows.append(("solver", fitted.solver_))
    rows.append(("training set", _sizes(job.queries)))
    if job.held_back is not None:
        rows.append(("validation set", _sizes(job.held_back)))
    rows.append(("iterations", _iterations(fitted)))
    rows.append(("objective", f"{fitted.objective_:.6g}"))
    rows.append(("stopped", fitted.stop_reason_))
    for part, means in measured.items():
        rows.append((f"on {part}", measures.in_words(means)))
    rows.append(("seconds", ", ".join(f"{value:.2f} {part}" for part, value in seconds.items())))
    rows.append(("model", job.model))
    output.write_pairs(rows)
    if path is not None and (end := _end_of(path)):
        output.note(f"the {end} l2 of the path is the best one; --l2-path can go beyond it")


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sizes(queries: Queries) -> str:
    from plackett.validation import count_of

    counts = (queries.n_queries, "query", "queries"), (queries.n_docs, "document"), (queries.n_features, "feature")
    return ", ".join(count_of(*count) for count in counts)


def _iterations(fitted: Any) -> str:
    best = getattr(fitted, "best_iteration_", None)
    if best is None or fitted.patience is None:
        return f"{fitted.n_iter_:,}"
    return f"{fitted.n_iter_:,}, best on the validation set: {best:,}"


def _print_path(path: L2Path) -> None:
    from plackett.cli import output

    rows = []
    for one in _path_rows(path):
        shown = f"{one['l2']:g}", f"{one['objective']:.6g}", f"{one['n_iter']:,}", f"{one['validation']:.4f}"
        rows.append([*shown, "best" if one["is_best"] else ""])
    output.write_table(["l2", "objective", "iterations", str(path.measure), ""], rows)
    output.write("")


def _end_of(path: L2Path) -> str | None:
    """The end of the path where the best strength stands, if it is better there than one step before the end."""
    assert path.validation is not None
    values = path.validation.tolist()
    for end, last, before in (("strongest", 0, 1), ("weakest", -1, -2)):
        if len(path) > 1 and path.best is path.rankers[last] and values[last] != values[before]:
            return end
    return None


def _path_rows(path: L2Path) -> list[dict[str, Any]]:
    best = path.best
    assert path.validation is not None
    return [
        {
            "l2": float(one.l2),
            "objective": float(one.objective_),
            "n_iter": int(one.n_iter_),
            "validation": float(mean),
            "is_best": one is best,
        }
        for one, mean in zip(path.rankers, path.validation, strict=True)
    ]


def _as_dict(
    name: str, fitted: Any, job: _Job, path: L2Path | None, measured: dict[str, dict[str, float]], seconds: dict
) -> dict[str, Any]:
    params = fitted.get_params(deep=False).items()
    answer = {
        "ranker": name,
        "class": type(fitted).__name__,
        "params": {key: value if _is_plain(value) else repr(value) for key, value in params},
        "solver": fitted.solver_,
        "n_queries": job.queries.n_queries,
        "n_docs": job.queries.n_docs,
        "n_features": job.queries.n_features,
        "n_iter": int(fitted.n_iter_),
        "best_iteration": getattr(fitted, "best_iteration_", None),
        "objective": float(fitted.objective_),
        "gradient_norm": float(fitted.gradient_norm_),
        "stop_reason": fitted.stop_reason_,
        **measured,
        "seconds": seconds,
        "model": job.model,
    }
    return answer if path is None else {**answer, "l2_path": _path_rows(path)}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
