"""Settings: the values that a grid gives to parameters, and one fit with one of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from plackett.data.queries import Queries
from plackett.evaluation.select import estimators
from plackett.losses import get_loss
from plackett.metrics.measure import Measure

Grid = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def settings_of(estimator: Any, grid: Grid | None) -> list[dict[str, Any]]:
    """All settings of a grid, in its own order: the first parameter changes last, values come as they are listed.

    Parameters
    ----------
    estimator : ranker or estimator
        Its parameters are those that a grid may name; those of its loss too (``k`` or ``loss__k``), and those of the
        steps of a pipeline (``ridge__alpha``).
    grid : dict of lists, list of such dicts, or None
        None and ``{}`` hold one setting, ``{}``: the estimator as it is.

    Examples
    --------
    >>> import plackett as pk
    >>> settings_of(pk.ranker("ranksvm"), {"normalize": [None, "query-zscore"], "l2": [1, 0.1]})[:2]
    [{'normalize': None, 'l2': 1}, {'normalize': None, 'l2': 0.1}]
    """
    settings = []
    for part in parts_of(grid):
        for name, values in part.items():
            if not is_list(values):
                given = "a distribution" if hasattr(values, "rvs") else repr(values)
                raise ValueError(
                    f"grid: {name} must be a list of values, not {given}. "
                    'Distributions go with method="random" and method="optuna".'
                )
        check_names(estimator, part)
        settings += [dict(zip(part, values, strict=True)) for values in itertools.product(*part.values())]
    return settings


def parts_of(grid: Grid | None) -> list[Mapping[str, Any]]:
    """A grid as a list of dicts."""
    parts = [grid or {}] if grid is None or isinstance(grid, Mapping) else list(grid)
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise ValueError(f'grid must be a dict such as {{"l2": [1, 0.1]}}, or a list of such dicts; it is {grid!r}.')
    for part in parts:
        for name, values in part.items():
            if is_list(values) and len(values) == 0:
                raise ValueError(f"grid: {name} has no values.")
    return parts


def is_list(values: Any) -> bool:
    """Whether values can be listed one by one, as those of lists, tuples, ranges and arrays can."""
    return hasattr(values, "__len__") and hasattr(values, "__getitem__") and not isinstance(values, (str, Mapping))


def check_names(estimator: Any, names: Any) -> None:
    """Refuse parameters that the estimator does not have, before anything is fitted."""
    own = estimator.get_params(deep=True)
    of_class = estimators.parameters_of(type(estimator))  # some list only those that were given
    takes_any = estimators.takes_any(of_class.values())
    for name in names:
        full = full_name(estimator, name)
        if full in own or full in of_class or (takes_any and "__" not in full) or _is_of_loss(estimator, full):
            continue
        inside = [other for other in own if other.endswith(f"__{name}")]
        hint = f" Did you mean {' or '.join(inside)}?" if inside else ""
        own_names = ", ".join(other for other in own if "__" not in other)
        raise ValueError(f"{type(estimator).__name__} has no parameter {name!r}; it has {own_names}.{hint}")


def full_name(estimator: Any, name: str) -> str:
    """``loss__k`` for ``k``, where the loss has such a parameter and the ranker itself has none."""
    if name not in estimator.get_params(deep=False) and "__" not in name and _is_of_loss(estimator, f"loss__{name}"):
        return f"loss__{name}"
    return name


def _is_of_loss(estimator: Any, name: str) -> bool:
    """Whether ``name`` is ``loss__`` and a parameter of the loss, which may be there by its name only."""
    if not name.startswith("loss__") or not getattr(estimator, "takes_loss_objects", False):
        return False
    return name.removeprefix("loss__") in get_loss(estimator.loss).get_params()


def with_setting(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A copy of the estimator, not fitted, with other parameters; those of its loss reach the loss."""
    changed = clone(estimator)
    params = {name: clone(value, safe=False) for name, value in params.items()}  # settings may share a step or a loss
    if "loss" in params:
        changed.set_params(loss=params["loss"])
    names = {full_name(changed, name): value for name, value in params.items() if name != "loss"}
    if any(name.startswith("loss__") for name in names) and isinstance(changed.loss, str):
        changed.set_params(loss=get_loss(changed.loss))
    return changed.set_params(**names)


def seeded(estimator: Any, random_state: int) -> Any:
    """The estimator itself, with a seed where it would draw without one: otherwise no run could be repeated."""
    parts = [estimator] if estimators.takes_queries(estimator) else estimators.parts_of(estimator)
    for part in parts:
        if part.get_params(deep=False).get("random_state", 0) is None:
            part.set_params(random_state=random_state)
    return estimator


def fit_setting(
    estimator: Any,
    params: Mapping[str, Any],
    train: Queries,
    validation: Queries | None = None,
    metric: str | Measure | None = None,
) -> Any:
    """The estimator with one setting, fitted; the one that was given is left as it is.

    Where there are validation queries and its ``fit`` takes them, they end iterations and rounds as the ranker's own
    parameters (``patience``) say. The result depends on the arguments alone, and not on what was fitted before.
    """
    return estimators.fit(with_setting(estimator, params), train, validation, metric)


def in_one_line(error: Exception) -> str:
    """Why a setting could not be fitted: ``ValueError: what was wrong``."""
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
