"""The values of an interleaved test: a fold over its clicks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from plackett.clicks.interleaving.method import Basis, Method
from plackett.evaluation.betting import Tally


class _OpenUnit:
    """A unit that may get further clicks: its clicked lists with their clicked places, and the last click."""

    def __init__(self) -> None:
        self.lists: dict[str, tuple[Basis, set[int]]] = {}
        self.time = -math.inf


class Fold:
    """Credits of clicks by unit, and the values of closed units by pair of rankers.

    Values that were inspected must not change, so a closed unit ignores later clicks. A unit is closed by its first
    click on the last of ``lists_per_unit`` lists, and by ``idle`` seconds without a click.
    """

    def __init__(self, method: Method, n_rankers: int, lists_per_unit: int | None, idle: float | None = None):
        self._method, self._n_rankers = method, n_rankers
        self._lists_per_unit, self._idle = lists_per_unit, idle
        self._open: dict[str, _OpenUnit] = {}
        self._closed: set[str] = set()
        self._tallies = {pair: Tally() for pair in combinations(range(n_rankers), 2)}

    def click(self, unit: str, list_id: str, basis: Basis, places: Iterable[int], time: float = 0.0) -> None:
        """Count clicks on places of a list; calls must be in the order of time."""
        if not basis or unit in self._closed:
            return
        found = self._open.setdefault(unit, _OpenUnit())
        if self._idle and time - found.time > self._idle and found.lists:
            self._close(unit)
            return
        found.time = time
        found.lists.setdefault(list_id, (basis, set()))[1].update(places)
        if len(found.lists) == self._lists_per_unit:
            self._close(unit)

    def close(self, before: float = math.inf) -> None:
        """Close the units whose last click was before a time."""
        for unit in [name for name, found in self._open.items() if found.time < before]:
            self._close(unit)

    def _close(self, unit: str) -> None:
        lists = self._open.pop(unit).lists.values()
        self._closed.add(unit)
        credits = [self._method.credit(basis, sorted(places), self._n_rankers) for basis, places in lists]
        means = [sum(own) / len(lists) for own in zip(*credits, strict=True)]
        for (first, second), tally in self._tallies.items():
            tally.add([max(-1.0, min(1.0, means[first] - means[second]))])  # rounding must not leave the range

    def state(self) -> dict[str, Any]:
        """Return the open units, the names of the closed ones, and the counted values, as values of JSON."""
        opened = {
            unit: [found.time, {name: [basis, sorted(places)] for name, (basis, places) in found.lists.items()}]
            for unit, found in self._open.items()
        }
        tallies = [[list(tally.counts.items()), tally.n, tally.total] for tally in self._tallies.values()]
        return {"open": opened, "closed": list(self._closed), "tallies": tallies}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self._closed = set(state["closed"])
        for unit, (time, lists) in state["open"].items():
            found = self._open[unit] = _OpenUnit()
            found.time, found.lists = time, {name: (basis, set(places)) for name, (basis, places) in lists.items()}
        for tally, (counts, n, total) in zip(self._tallies.values(), state["tallies"], strict=True):
            tally.counts, tally.n, tally.total = Counter(dict(counts)), n, total

    def tally(self, first: int, second: int) -> Tally:
        """Return the values of the preference for a ranker over another one."""
        tally = self._tallies[min(first, second), max(first, second)]
        return tally if first < second else tally.reversed()
