"""Cohen's kappa, its chance agreement, and intervals that leave out one query at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from plackett.evaluation.significance import Interval
from plackett.validation import check_choice

WEIGHTS = (None, "linear", "quadratic")


class Kappa(NamedTuple):
    """Agreement of two judges beyond chance.

    Attributes
    ----------
    value : float
        1 is perfect, 0 what chance would give, NaN if both judges always give the same single grade.
    low, high : float
        95 % interval by leaving out one query at a time; NaN with fewer than ten queries.
    equal, chance : float
        The (weighted) share of agreement, and what chance would give at the judges' own rates of grades.

    Examples
    --------
    >>> from plackett.evaluation.judges.kappa import kappa
    >>> found = kappa([0, 1, 1, 0], [0, 1, 0, 0], n_grades=2)
    >>> found.value, found.equal, found.chance
    (0.5, 0.75, 0.5)
    """

    value: float
    low: float
    high: float
    equal: float
    chance: float


def kappa(people: Any, model: Any, *, n_grades: int, weights: str | None = None, queries: Any = None) -> Kappa:
    """Return Cohen's kappa of grades of the same pairs.

    Parameters
    ----------
    people, model : array-like of int of shape (n_pairs,)
        Places of the grades in the scale, from 0.
    n_grades : int
    weights : {None, "linear", "quadratic"}, default=None
        How much a difference of grades counts; None counts every difference alike.
    queries : array-like of shape (n_pairs,), default=None
        The query of each pair, for the interval: labels of one query are not independent.

    Examples
    --------
    >>> from plackett.evaluation.judges.kappa import kappa
    >>> kappa([0, 1, 2, 2], [0, 1, 1, 2], n_grades=3, weights="quadratic").value
    0.8
    """
    check_choice(weights, "weights", WEIGHTS)
    first, second = np.asarray(people), np.asarray(model)
    codes = np.zeros(first.size, dtype=np.int64) if queries is None else np.unique(queries, return_inverse=True)[1]
    size = int(codes.max(initial=-1)) + 1
    steps = np.abs(np.subtract.outer(np.arange(n_grades), np.arange(n_grades)))
    cost = (steps > 0).astype(np.float64) if weights is None else steps / (n_grades - 1.0)
    cost = cost**2 if weights == "quadratic" else cost
    observed = np.bincount(codes, cost[first, second], minlength=size)
    n = np.bincount(codes, minlength=size)
    rates = [np.bincount(codes * n_grades + grades, minlength=size * n_grades) for grades in (first, second)]
    rows, columns = (one.reshape(size, n_grades) for one in rates)
    sums = [part.sum(axis=0, keepdims=True) for part in (observed, n, rows, columns)]
    without = _kappa(sums[0] - observed, sums[1] - n, sums[2] - rows, sums[3] - columns, cost)
    value = _kappa(sums[0], sums[1], sums[2], sums[3], cost)
    chance = 1.0 - float(sums[2][0] @ cost @ sums[3][0]) / first.size**2
    low, high = jackknife_interval(float(value[0]), without)
    return Kappa(float(value[0]), low, high, 1.0 - float(sums[0][0]) / first.size, chance)


def _kappa(observed, n, rows, columns, cost: np.ndarray) -> np.ndarray:
    """Return kappa of rows of sums: of the costs, the pairs, and the rates of grades of both judges."""
    expected = np.einsum("qi,ij,qj->q", rows, cost, columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1.0 - observed * n / expected, np.nan)


def jackknife_interval(value: float, without: np.ndarray, level: float = 0.95) -> Interval:
    """Return an interval of a value, from the values that leave out one query each; NaN with fewer than ten."""
    n = without.size
    if n < 10 or not np.isfinite(without).all() or not np.isfinite(value):
        return Interval(float("nan"), float("nan"))
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = float(stdtrit(n - 1, 0.5 + 0.5 * level) * error)
    return Interval(value - half, value + half)
