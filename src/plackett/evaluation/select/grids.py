"""Hyperparameter grids: the defaults, the candidates of a grid, and estimators with the parameters of a candidate."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from plackett._names import did_you_mean, similar_names
from plackett.evaluation import estimators
from plackett.exceptions import UnknownNameError
from plackett.losses import get_loss
from plackett.rankers.linear.l2_path import DEFAULT_L2
from plackett.rankers.registry import known_name, scorer_of

Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]

# The grids of linear rankers, boosting and SVM-map are those of examples/letor_folds.py, fixed before any test fold was
# evaluated; those of query-dependent rankers lie between those of examples/query_dependent_letor.py. They are small:
# five folds of MQ2008 take seconds per ranker, and less than a minute for rankers with neighbours. Numbers of rounds,
# steps and epochs are not listed: the fit chooses them by early stopping.

# Penalties from strong to weak: of equally good ones the strongest wins. Early stopping would be a second choice on the
# same queries.
_LINEAR: dict[str, list[Any]] = {"l2": list(DEFAULT_L2), "patience": [None]}
_KERNEL: dict[str, list[Any]] = {
    "l2": [1e-1, 1e-2, 1e-3],
    "normalize": ["query-zscore"],  # distances need columns of the same scale
    "gamma": ["median"],
    "landmarks": [200],  # n_docs² kernel values are slow and may not fit in memory
    "patience": [None],
    "random_state": [0],
}
_STEPS: dict[str, list[Any]] = {"n_intervals": [4, 8, 16], "cycles": [10]}
_NEIGHBORS: dict[str, list[Any]] = {
    "l2": [1e-1, 1e-2, 1e-3],
    "n_neighbors": [100],  # fewer leave too few documents per model; with more, fits take minutes
    "scale_query_features": [True],
    "tol": [3e-3],  # smaller tolerances take longer and rank no better
}
# Small and large trees, large and small steps; early stopping chooses the number of rounds.
_TREES: dict[str, list[Any]] = {"learning_rate": [0.1, 0.03]}
_LIGHTGBM: dict[str, list[Any]] = {"num_leaves": [7, 31], **_TREES}
_XGBOOST: dict[str, list[Any]] = {"max_depth": [3, 6], **_TREES}

_LINEAR_NAMES = (
    "listmle", "p-listmle", "listnet", "cs-listmle", "ranksvm", "ranknet", "lambdarank", "regression", "linear",
)  # fmt: skip

DEFAULT_GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(_LINEAR_NAMES, _LINEAR),
    "rankcosine": {"patience": [None]},  # which is scale-invariant: l2 has no effect
    "kernel-cs-listmle": _KERNEL,
    "kernel": _KERNEL,
    "featurerank": _STEPS,
    "bl-featurerank": _STEPS,
    "diffrank": _STEPS,
    "adarank": {},
    "rankboost": {},
    "prank": {"random_state": [0]},
    "svm-map": {"C": [1, 10, 100, 1000]},
    "qsvm": _NEIGHBORS,
    "knn-svm": _NEIGHBORS,
    "query-dependent": _NEIGHBORS,
    "neural": {"l2": [1e-2, 1e-3], "learning_rate": [5e-3, 1e-3], "random_state": [0]},
    # a new query has no model; the model of all queries ranks it
    "indv-svm": {"l2": [1.0, 1e-1, 1e-2, 1e-3], "new_queries": ["uniform"], "tol": [3e-3]},
    **dict.fromkeys(("trees", "lightgbm"), _LIGHTGBM),
    "xgboost": _XGBOOST,
    "catboost": dict(_TREES),  # it is slow
}


def default_grid(name: str) -> dict[str, list[Any]]:
    """Return a copy of the grid that ``select`` and ``compare`` search for a ranker given by its name.

    Parameters
    ----------
    name : str
        A name of ``pk.ranker_names()``, ``"catboost"``, or a ranker with any loss and its loss, such as
        ``"trees:lambdarank"``.

    Examples
    --------
    >>> from plackett.evaluation import default_grid
    >>> default_grid("listmle")
    {'l2': [1.0, 0.1, 0.01, 0.001, 0.0001], 'patience': [None]}
    """
    return copy.deepcopy(DEFAULT_GRIDS.get(scorer_of(known_name(name)), {}))  # packages add rankers without a grid


def candidates_of(estimator: Any, grid: Grid | None) -> list[dict[str, Any]]:
    """Return all candidates of a grid; the last parameter changes fastest, values stay in the order of their lists.

    A grid may name parameters of the estimator, of its loss (``k`` or ``loss__k``), and of the steps of a pipeline
    (``ridge__alpha``). None and ``{}`` have one candidate, ``{}``: the estimator as it is.
    """
    candidates = []
    for part in parts_of(grid):
        for name, values in part.items():
            if not is_list(values):
                given = "a distribution" if hasattr(values, "rvs") else repr(values)
                raise ValueError(
                    f"grid: {name} must be a list of values, not {given}. "
                    "Distributions need the method random or optuna."
                )
        check_names(estimator, part)
        candidates += [dict(zip(part, values, strict=True)) for values in itertools.product(*part.values())]
    return candidates


def parts_of(grid: Grid | None) -> list[Mapping[str, Any]]:
    """Return a grid as a list of dicts."""
    parts = [grid or {}] if grid is None or isinstance(grid, Mapping) else list(grid)
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise ValueError(f'grid must be a dict such as {{"l2": [1, 0.1]}}, or a list of such dicts; it is {grid!r}.')
    for part in parts:
        for name, values in part.items():
            if is_list(values) and len(values) == 0:
                raise ValueError(f"grid: {name} has no values.")
    return parts


def is_list(values: Any) -> bool:
    """Whether the values are a list, tuple, range or array."""
    return hasattr(values, "__len__") and hasattr(values, "__getitem__") and not isinstance(values, (str, Mapping))


def check_names(estimator: Any, names: Any, shown: str | None = None) -> None:
    """Raise if the estimator, in messages called ``shown``, does not have one of these parameters."""
    own = estimator.get_params(deep=True)
    of_class = estimators.parameters_of(type(estimator))  # some get_params list only what was passed to __init__
    takes_any = estimators.takes_any(of_class.values())
    for name in names:
        full = full_name(estimator, name)
        if full in own or full in of_class or (takes_any and "__" not in full) or _is_loss_parameter(estimator, full):
            continue
        known = [other for other in own if "__" not in other]
        similar = [other for other in own if other.endswith(f"__{name}")] or similar_names(name, known)
        loss = own.get("loss", "")
        reason = f"{shown or type(estimator).__name__} has no parameter {name!r}"
        if full.startswith("loss__") and not (isinstance(loss, str) or hasattr(loss, "get_params")):
            advice = "A loss whose parameters are in a grid must derive from plackett.losses.Loss."
            raise ValueError(f"{reason}; it has {', '.join(known)}. {advice}")
        raise UnknownNameError(reason, f"; it has {', '.join(known)}.{did_you_mean(similar)}", known, similar)


def full_name(estimator: Any, name: str) -> str:
    """Return ``loss__k`` for ``k`` if the loss has a parameter ``k`` and the ranker does not."""
    if (
        name not in estimator.get_params(deep=False)
        and "__" not in name
        and _is_loss_parameter(estimator, f"loss__{name}")
    ):
        return f"loss__{name}"
    return name


def _is_loss_parameter(estimator: Any, name: str) -> bool:
    """Whether ``name`` is ``loss__`` and a parameter of the loss, which may be given by its name."""
    if not name.startswith("loss__") or not getattr(estimator, "takes_loss_objects", False):
        return False
    return name.removeprefix("loss__") in get_loss(estimator.loss).get_params()


def with_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return an unfitted copy of the estimator with these parameters; those of its loss are set on the loss."""
    changed = clone(estimator)
    params = {name: clone(value, safe=False) for name, value in params.items()}  # candidates may share a step or a loss
    if "loss" in params:
        changed.set_params(loss=params["loss"])
    names = {full_name(changed, name): value for name, value in params.items() if name != "loss"}
    if any(name.startswith("loss__") for name in names) and isinstance(changed.loss, str):
        changed.set_params(loss=get_loss(changed.loss))
    return changed.set_params(**names)


def seeded(estimator: Any, random_state: int) -> Any:
    """Return the estimator itself, with ``random_state`` set where it is None, so that runs are repeatable."""
    parts = [estimator] if estimators.takes_queries(estimator) else estimators.parts_of(estimator)
    for part in parts:
        if part.get_params(deep=False).get("random_state", 0) is None:
            part.set_params(random_state=random_state)
    return estimator


def error_line(error: Exception) -> str:
    """Return the type and the first line of an error: ``ValueError: what was wrong``."""
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
