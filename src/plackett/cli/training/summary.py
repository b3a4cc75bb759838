"""Summary of a fit, as text and as JSON."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plackett.cli.training.clicks import ClickLabels
    from plackett.data.queries import Queries
    from plackett.rankers.linear.l2_path import L2Path

FEATURES_SHOWN = 5
STEPS = {"n_rounds": "round", "n_epochs": "epoch", "cycles": "step"}  # parameter -> unit of a fit


@dataclass
class Fit:
    """A ranker, its data and its model file; then the fitted ranker and its measures."""

    name: str
    estimator: Any
    queries: Any  # Queries; on a cluster, the parts that its workers read
    held_back: Queries | None
    metrics: list[str]
    model: str
    labels: ClickLabels | None = None
    client: Any = None  # None fits in this process
    path: L2Path | None = None
    fitted: Any = None
    sizes: Any = None  # of the training set on a cluster
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def weights(self) -> Any:
        """Weights of the queries, as ``fit`` takes them."""
        return None if self.labels is None else self.labels.weights


def step_word(ranker: Any) -> str:
    """Return the unit of its fit: iteration, round, epoch or step."""
    params = ranker.get_params(deep=False)
    return next((word for name, word in STEPS.items() if name in params), "iteration")


# --- Text -------------------------------------------------------------------------------------------------------------


def print_summary(fit: Fit) -> None:
    """Print headings and values, after the path if l2 was chosen."""
    from plackett.cli.shared import measures, output

    fitted, path = fit.fitted, fit.path
    if path is not None:
        _print_path(path)
    rows = [("ranker", f"{fit.name} ({type(fitted).__name__})")]
    rows += [(name, _shown(value)) for name, value in _telling_params(fitted).items()]
    if hasattr(fitted, "solver_"):
        rows.append(("solver", fitted.solver_))
    rows.append(("training set", _sizes(fit.sizes or fit.queries)))
    if fit.labels is not None:
        found = fit.labels.diagnosis
        rows.append(("clicks", f"{found.n_clicks:,} in {found.n_sessions:,} sessions, corrected by {found.method}"))
    if fit.held_back is not None:
        rows.append(("validation set", _sizes(fit.held_back)))
    rows.append((f"{step_word(fitted)}s", _steps(fitted)))
    if hasattr(fitted, "objective_"):
        rows.append(("objective", _objective(fitted)))
    rows.append(("stopped", fitted.stop_reason_))
    if strongest := feature_weights(fitted):
        word = "shares of the gain" if hasattr(fitted, "feature_importances_") else "feature weights"
        rows.append((word, _in_words(strongest)))
    rows += _of_queries(fitted)
    for part, means in fit.measured.items():
        rows.append((f"on {part}", measures.in_words(means)))
    rows.append(("seconds", ", ".join(f"{value:.2f} {part}" for part, value in fit.seconds.items())))
    rows.append(("model", fit.model))
    output.write_pairs(rows)
    if path is not None and (end := _end_of(path)):
        output.note(f"the {end} l2 of the path is the best one; --l2-path can extend it")


def _objective(fitted: Any) -> str:
    """Format the objective; the mean of several models."""
    import numpy as np

    mean = f"{np.mean(fitted.objective_):.6g}"
    return mean if np.ndim(fitted.objective_) == 0 else f"{mean}, the mean of {np.size(fitted.objective_):,} models"


def _telling_params(fitted: Any) -> dict[str, Any]:
    """Return the loss or measure, the penalty, and all parameters that differ from their defaults."""
    params = fitted.get_params(deep=False)
    defaults = {name: param.default for name, param in inspect.signature(type(fitted)).parameters.items()}
    names = sorted(params, key=lambda name: list(defaults).index(name) if name in defaults else len(defaults))
    return {
        name: params[name]
        for name in names
        if name not in ("solver", "verbose")  # solver_ has its own line
        and (params[name] != defaults.get(name) or (name in ("loss", "metric", "l2") and params[name] is not None))
    }


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sizes(queries: Queries) -> str:
    from plackett.validation import count_of

    counts = (queries.n_queries, "query", "queries"), (queries.n_docs, "document"), (queries.n_features, "feature")
    return ", ".join(count_of(*count) for count in counts)


def _steps(fitted: Any) -> str:
    """Format the number of steps and the best one, if later ones were dropped."""
    n_steps, best = fitted.n_iter_, fitted.best_iteration_
    if best is not None:
        return f"{n_steps:,}, best on the validation set: {best:,}"
    n_kept = len(fitted.steps_) if hasattr(fitted, "steps_") else n_steps
    return f"{n_steps:,}, best on the training set: {n_kept:,}" if n_kept < n_steps else f"{n_steps:,}"


def _of_queries(fitted: Any) -> list[tuple[str, str]]:
    """Return further rows of a query-dependent ranker."""
    if not hasattr(fitted, "query_feature_kind_"):
        return []
    sources = {
        "columns": "columns of the data",
        "mean": "means of the documents",
        "matrix": "given",
        "none": "not needed",
    }
    rows = [("query features", sources[fitted.query_feature_kind_])]
    if fitted.l2_path_ is not None:
        rows.append(("chosen l2", f"{fitted.l2_:g}, of {len(fitted.l2_path_['l2'])} on the validation set"))
    if fitted.n_neighbors_path_ is not None:
        rows.append(("chosen n_neighbors", f"{fitted.n_neighbors_:,} of {fitted.n_queries_:,}"))
    kept = fitted.training_bytes_
    rows.append(("kept for new queries", f"{kept / 1e6:,.1f} MB of training data" if kept else "nothing"))
    return rows


def _in_words(weights: list[tuple[str, float]]) -> str:
    """Format weights like ``column 3 1.203, column 0 -0.4, and 2 more``."""
    words = [f"{name} {weight:.4g}" for name, weight in weights[:FEATURES_SHOWN]]
    n_others = len(weights) - len(words)
    return ", ".join([*words, f"and {n_others:,} more"] if n_others else words)


def _print_path(path: L2Path) -> None:
    from plackett._tables import Column, Table
    from plackett.cli.shared import output

    rows = []
    for one in _path_rows(path):
        shown = f"{one['l2']:g}", f"{one['objective']:.6g}", one["n_iter"], one["validation"]
        rows.append([*shown, "best" if one["is_best"] else ""])
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
    import numpy as np

    fitted = fit.fitted
    answer: dict[str, Any] = {
        "ranker": fit.name,
        "class": type(fitted).__name__,
        "params": {key: value if _is_plain(value) else repr(value) for key, value in fitted.get_params(False).items()},
        "n_queries": (fit.sizes or fit.queries).n_queries,
        "n_docs": (fit.sizes or fit.queries).n_docs,
        "n_features": (fit.sizes or fit.queries).n_features,
        "n_iter": int(fitted.n_iter_),
        "best_iteration": fitted.best_iteration_,
        "stop_reason": fitted.stop_reason_,
    }
    if hasattr(fitted, "solver_"):
        answer["solver"] = fitted.solver_
    for name in ("objective", "gradient_norm"):
        if hasattr(fitted, f"{name}_"):
            answer[name] = float(np.mean(getattr(fitted, f"{name}_")))  # the mean of several models
    if weights := feature_weights(fitted):
        answer["feature_weights"] = [{"feature": name, "weight": weight} for name, weight in weights]
    if fit.labels is not None:
        answer["clicks"] = fit.labels.diagnosis.to_dict()
    answer.update(fit.measured, seconds=fit.seconds, model=fit.model)
    return answer if fit.path is None else {**answer, "l2_path": _path_rows(fit.path)}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


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


# --- Features ---------------------------------------------------------------------------------------------------------


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
