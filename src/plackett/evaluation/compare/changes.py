"""The queries that changed most between the baseline of a comparison and its best contestant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.significance import TIE
from plackett.validation import plain

MOST_CHANGED = 50


class Sides(NamedTuple):
    """Two contestants: A is the baseline, B the best one."""

    a: str
    b: str


def sides(comparison: Comparison) -> Sides:
    """Return the baseline and the best contestant, or the runner-up and the best if the baseline is the best."""
    order = comparison.ranked()
    if comparison.baseline != order[0]:
        return Sides(comparison.baseline, order[0])
    return Sides(order[min(1, len(order) - 1)], order[0])


def most_changed(comparison: Comparison, n: int = MOST_CHANGED) -> list[int]:
    """Return the places of the queries with the largest differences between the two sides, the largest first."""
    a, b = sides(comparison)
    metric = comparison.metrics[0]
    gap = np.nan_to_num(np.abs(comparison.tables[b][metric] - comparison.tables[a][metric]))
    return [int(place) for place in np.argsort(-gap, kind="stable")[:n] if gap[place] > TIE]


def places_of(queries: Queries, wanted: Iterable[Any]) -> list[int]:
    """Return the places of query ids, which may be given as text; raise for an unknown id."""
    known = {str(plain(key)): place for place, key in enumerate(queries.ids.tolist())}
    places: dict[int, None] = {}
    for key in map(plain, wanted):
        if str(key) not in known:
            raise ValueError(f"query {str(key)!r} is not among the test queries, such as {next(iter(known))!r}.")
        places[known[str(key)]] = None
    return list(places)
