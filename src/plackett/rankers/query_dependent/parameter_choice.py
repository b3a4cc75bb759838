"""Choice of the penalty's strength and of the number of neighbours, on held-out queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from plackett._arrays import dense
from plackett._progress import Progress
from plackett.data.queries import Queries
from plackett.rankers.boosting.discovery import count_label_pairs
from plackett.rankers.monitor import ValidationSet
from plackett.scorers.tied_scores import row_keys

L2_GRID = tuple(10.0 ** ((31 - step) / 10) for step in range(1, 62))  # Dai and Wang's, from strong to weak
CANDIDATES = (500, 150, 50, 15)  # more than 500 would make fits of large sets take hours
MOST_HELD_OUT = 200
CHOOSING_TOL = 3e-3  # of the objectives while numbers are compared: more accurate fits rank no better


class Choice(NamedTuple):
    """The chosen values, and the mean validation measure of all candidates where there are several."""

    l2: float
    n_neighbors: int | None
    l2_path: dict[str, Any] | None = None
    n_neighbors_path: dict[str, Any] | None = None


def choose(
    strengths: np.ndarray,
    numbers: list[int | None],
    scores: Callable[[int | None], Iterable[np.ndarray]],
    validation: ValidationSet,
    *,
    is_shown: bool,
) -> Choice:
    """Return the best strength for each number of neighbours, and the first number close enough to the best.

    Both decrease, so that ties go to the strongest. ``scores`` takes a number of neighbours and returns the scores of
    the validation queries for each strength.
    """
    measure = validation.measure
    sign = 1.0 if measure.higher_is_better else -1.0
    found = []  # for each number: place of the best strength, values of the queries with it, means of all strengths
    with Progress("choosing", len(numbers) * strengths.size, is_shown=is_shown) as progress:
        for number in numbers:
            means: list[float] = []
            values = []
            for one in scores(number):
                means.append(validation.mean(one))
                values.append(sign * validation.values(one))
                progress.advance(f"{measure} {means[-1]:.4f}")
            if np.isnan(means).all():
                raise ValueError(f"{measure} is NaN for every l2: no query of eval_set has a value.")
            best = int(np.nanargmax(sign * np.array(means)))
            found.append((best, values[best], means))
    chosen = first_within_one_error(np.array([values for _, values, _ in found]))
    best, _, means = found[chosen]
    reached = [path[place] for place, _, path in found]
    return Choice(
        float(strengths[best]),
        numbers[chosen],
        {"l2": strengths.tolist(), str(measure): means} if strengths.size > 1 else None,
        {"n_neighbors": numbers, str(measure): reached} if len(numbers) > 1 else None,
    )


def queries_to_hold_out(queries: Queries) -> np.ndarray:
    """Return the places of up to 200 queries with documents to order.

    Larger sets are sampled by a hash of the rows, so the order of the queries has no influence.
    """
    places = np.flatnonzero(count_label_pairs(queries.lists) > 0)
    if places.size <= MOST_HELD_OUT:
        return places
    keys = row_keys(dense(queries.X)).view(np.uint64)
    keys = np.add.reduceat(keys, queries.indptr[:-1])  # sums of integers wrap around
    return np.sort(places[np.argsort(keys[places], kind="stable")[:MOST_HELD_OUT]])


def first_within_one_error(values: np.ndarray) -> int:
    """Return the first row whose mean is within one standard error of the best mean; NaN where a query has no value.

    The standard error is that of the difference from the best row, query by query (Breiman et al. 1984).
    """
    counted = values[:, ~np.isnan(values).any(axis=0)]
    if counted.shape[1] < 2:
        return 0
    gaps = counted[counted.mean(axis=1).argmax()] - counted
    errors = gaps.std(axis=1, ddof=1) / np.sqrt(counted.shape[1])
    return int(np.argmax(gaps.mean(axis=1) <= errors))
