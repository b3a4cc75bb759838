"""The queries that changed most between the two sides of a comparison: its baseline and its best contestant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import Comparison
from plackett.validation import plain

MOST_CHANGED = 50


class Sides(NamedTuple):
    """Two contestants: A is the baseline, B the best one. With a single contestant, A is a reference score."""

    a: str
    b: str


def sides(comparison: Comparison) -> Sides:
    """Return the baseline and the best contestant, or the runner-up and the best if the baseline is the best.

    A single contestant is compared with the last reference score, the best feature, or with itself if there is none.
    """
    order = comparison.ranked()
    if len(order) == 1:
        return Sides([*order, *comparison.reference_scores][-1], order[0])
    if comparison.baseline != order[0]:
        return Sides(comparison.baseline, order[0])
    return Sides(order[1], order[0])


def most_changed(comparison: Comparison, n: int = MOST_CHANGED) -> list[int]:
    """Return the places of the queries with the largest differences between the two sides, the largest first."""
    a, b = sides(comparison)
    metric, tables = comparison.metrics[0], {**comparison.tables, **comparison.reference_scores}
    gap = np.nan_to_num(np.abs(tables[b][metric] - tables[a][metric]))
    return np.argsort(-gap, kind="stable")[:n].tolist()


def places_of(queries: Queries, wanted: Iterable[Any]) -> list[int]:
    """Return the places of query ids, which may be given as text; raise for an unknown id."""
    known = {str(plain(key)): place for place, key in enumerate(queries.ids.tolist())}
    places: dict[int, None] = {}
    for key in map(plain, wanted):
        if str(key) not in known:
            raise ValueError(f"query {str(key)!r} is not among the test queries, such as {next(iter(known))!r}.")
        places[known[str(key)]] = None
    return list(places)
