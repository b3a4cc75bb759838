"""Summary of a fit, as text and as JSON."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import plackett as pk
from plackett._names import count_of
from plackett.cli.shared import output, results

if TYPE_CHECKING:
    from plackett.rankers.linear.l2_path import L2Path

FEATURES_SHOWN = 5
STEPS = {"n_rounds": "round", "n_epochs": "epoch", "cycles": "step"}  # parameter -> unit of a fit
QUERY_FEATURES = {"columns": "columns of the data", "mean": "means of the documents", "matrix": "given"}


@dataclass
class Fit:
    """A ranker, its data and its model file; then the fitted ranker and its measures."""

    name: str
    ranker: Any
    metrics: list[str]
    model: str
    held_back: pk.Queries | None = None
    clicks: pk.clicks.CorrectionDiagnosis | None = None
    path: L2Path | None = None
    sizes: Any = None  # n_queries, n_docs and n_features of the training set
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def step_word(ranker: Any) -> str:
    """Return the unit of its fit: iteration, round, epoch or step."""
    params = ranker.get_params(deep=False)
    return next((word for name, word in STEPS.items() if name in params), "iteration")


# --- Text -------------------------------------------------------------------------------------------------------------


def print_summary(fit: Fit) -> None:
    """Print headings and values, after the path if l2 was chosen."""
    ranker, path = fit.ranker, fit.path
    if path is not None:
        _print_path(path)
    rows = [("ranker", f"{fit.name} ({type(ranker).__name__})")]
    rows += [(name, _shown(value)) for name, value in _telling_params(ranker).items()]
    if hasattr(ranker, "solver_"):
        rows.append(("solver", ranker.solver_))
    rows.append(("training set", _sizes(fit.sizes)))
    if (found := fit.clicks) is not None:
        rows.append(("clicks", f"{found.n_clicks:,} in {found.n_sessions:,} sessions, corrected by {found.method}"))
    if fit.held_back is not None:
        rows.append(("validation set", _sizes(fit.held_back)))
    rows.append((f"{step_word(ranker)}s", _steps(ranker)))
    if (objective := _mean_of(ranker, "objective_")) is not None:
        n_models = getattr(ranker.objective_, "size", 1)
        rows.append(("objective", f"{objective:.6g}" + (f", the mean of {n_models:,} models" if n_models > 1 else "")))
    rows.append(("stopped", ranker.stop_reason_))
    if weights := feature_weights(ranker):
        shown = [f"{name} {weight:.4g}" for name, weight in weights[:FEATURES_SHOWN]]
        shown += [f"and {len(weights) - FEATURES_SHOWN:,} more"] if len(weights) > FEATURES_SHOWN else []
        word = "shares of the gain" if hasattr(ranker, "feature_importances_") else "feature weights"
        rows.append((word, ", ".join(shown)))
    rows += _of_queries(ranker)
    rows += [(f"on {part}", results.means_in_words(means)) for part, means in fit.measured.items()]
    rows.append(("seconds", ", ".join(f"{value:.2f} {part}" for part, value in fit.seconds.items())))
    output.write_pairs([*rows, ("model", fit.model)])
    if path is not None and (end := _end_of(path)):
        output.note(f"the {end} l2 of the path is the best one; --l2-path can extend it")


def _telling_params(ranker: Any) -> dict[str, Any]:
    """Return the loss or measure, the penalty, and all parameters that differ from their defaults."""
    params = ranker.get_params(deep=False)
    defaults = {name: param.default for name, param in inspect.signature(type(ranker)).parameters.items()}
    names = sorted(params, key=lambda name: list(defaults).index(name) if name in defaults else len(defaults))
    return {
        name: params[name]
        for name in names
        if name not in ("solver", "verbose")  # solver_ has its own line
        and (params[name] != defaults.get(name) or (name in ("loss", "metric", "l2") and params[name] is not None))
    }


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sizes(queries: Any) -> str:
    counts = (queries.n_queries, "query", "queries"), (queries.n_docs, "document"), (queries.n_features, "feature")
    return ", ".join(count_of(*count) for count in counts)


def _mean_of(ranker: Any, name: str) -> float | None:
    """Return an attribute of a ranker, the mean of several models; None if it has none."""
    import numpy as np

    return float(np.mean(getattr(ranker, name))) if hasattr(ranker, name) else None


def _steps(ranker: Any) -> str:
    """Format the number of steps and the best one, if later ones were dropped."""
    n_steps, best = ranker.n_iter_, ranker.best_iteration_
    if best is not None:
        return f"{n_steps:,}, best on the validation set: {best:,}"
    n_kept = len(ranker.steps_) if hasattr(ranker, "steps_") else n_steps
    return f"{n_steps:,}, best on the training set: {n_kept:,}" if n_kept < n_steps else f"{n_steps:,}"


def _of_queries(ranker: Any) -> list[tuple[str, str]]:
    """Return further rows of a query-dependent ranker."""
    if not hasattr(ranker, "query_feature_kind_"):
        return []
    rows = [("query features", QUERY_FEATURES.get(ranker.query_feature_kind_, "not needed"))]
    if ranker.l2_path_ is not None:
        rows.append(("chosen l2", f"{ranker.l2_:g}, of {len(ranker.l2_path_['l2'])} on the validation set"))
    if ranker.n_neighbors_path_ is not None:
        rows.append(("chosen n_neighbors", f"{ranker.n_neighbors_:,} of {ranker.n_queries_:,}"))
    kept = ranker.training_bytes_
    return [*rows, ("kept for new queries", f"{kept / 1e6:,.1f} MB of training data" if kept else "nothing")]


def _print_path(path: L2Path) -> None:
    from plackett._tables import Column, Table

    rows = [
        [f"{one['l2']:g}", f"{one['objective']:.6g}", one["n_iter"], one["validation"], "best" * one["is_best"]]
        for one in _path_rows(path)
    ]
    columns = [Column("l2", "text"), Column("objective"), Column("iterations", digits=0), Column(str(path.measure))]
    output.write_table(Table([*columns, Column("")], rows))
    output.write("")


def _end_of(path: L2Path) -> str | None:
    """Return the end of the path with the best l2, if it is better than its neighbour."""
    assert path.validation is not None
    values = path.validation.tolist()
    for end, last, before in (("strongest", 0, 1), ("weakest", -1, -2)):
        if len(path) > 1 and path.best is path.rankers[last] and values[last] != values[before]:
            return end
    return None


# --- As JSON ----------------------------------------------------------------------------------------------------------


def as_dict(fit: Fit) -> dict[str, Any]:
    """Return plain values for JSON, without attributes that the ranker does not have."""
    ranker, plain = fit.ranker, (type(None), bool, int, float, str)
    params = ranker.get_params(deep=False)
    answer: dict[str, Any] = {
        "ranker": fit.name,
        "class": type(ranker).__name__,
        "params": {name: value if isinstance(value, plain) else repr(value) for name, value in params.items()},
        "n_queries": fit.sizes.n_queries,
        "n_docs": fit.sizes.n_docs,
        "n_features": fit.sizes.n_features,
        "n_iter": int(ranker.n_iter_),
        "best_iteration": ranker.best_iteration_,
        "stop_reason": ranker.stop_reason_,
        "solver": getattr(ranker, "solver_", None),
        "objective": _mean_of(ranker, "objective_"),
        "gradient_norm": _mean_of(ranker, "gradient_norm_"),
        "feature_weights": [{"feature": name, "weight": weight} for name, weight in feature_weights(ranker)] or None,
        "clicks": None if fit.clicks is None else fit.clicks.to_dict(),
        **fit.measured,
        "seconds": fit.seconds,
        "model": fit.model,
        "l2_path": None if fit.path is None else _path_rows(fit.path),
    }
    return {name: value for name, value in answer.items() if value is not None or name == "best_iteration"}


def _path_rows(path: L2Path) -> list[dict[str, Any]]:
    assert path.validation is not None
    return [
        {
            "l2": float(one.l2),
            "objective": float(one.objective_),
            "n_iter": int(one.n_iter_),
            "validation": float(mean),
            "is_best": one is path.best,
        }
        for one, mean in zip(path.rankers, path.validation, strict=True)
    ]


def feature_weights(ranker: Any) -> list[tuple[str, float]]:
    """Return the weights of single features, largest first; empty for rankers without them.

    The weights of a feature's steps are summed; those of RankBoost's thresholds by absolute value.
    Trees give the share of each feature in the gain of their splits.
    """
    import numpy as np

    from plackett.validation import feature_labels

    weights = getattr(ranker, "feature_importances_", getattr(ranker, "feature_weights_", None))
    if weights is None:
        return []
    is_same = weights.size == ranker.n_prepared  # a normalizer may make other columns
    names = feature_labels(weights.size, ranker.feature_labels if is_same else None)
    order = np.argsort(-np.abs(weights), kind="stable")
    return [(names[column], float(weights[column])) for column in order.tolist() if weights[column] != 0.0]
