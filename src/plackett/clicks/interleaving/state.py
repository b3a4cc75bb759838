"""The state of an interleaved test in memory, to be kept as JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any, Protocol

from plackett.clicks.interleaving.betting import STEPS, Tally
from plackett.clicks.interleaving.records import Change, ListRecord, UnitRecord, checked_list, checked_unit

Tallies = dict[tuple[int, int], Tally]
Action = Callable[[ListRecord | None, UnitRecord | None], Change]


class State(Protocol):
    """Where lists, units and values of closed units are kept. All methods are atomic."""

    def settings(self) -> dict[str, Any]:
        """Return the settings of the test, none before they are fixed."""
        ...

    def fix(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Keep the settings of the test if there are none, and return those that are kept."""
        ...

    def add(self, shown: ListRecord) -> None:
        """Keep a list, unless there is one with this id."""
        ...

    def change(self, list_id: str, action: Action) -> Change:
        """Apply an action to a list and its unit, and keep what it changes."""
        ...

    def close(self, unit: str | None, before: float) -> int:
        """Close a unit, or all, whose last credit was before a time. Return the number of units."""
        ...

    def forget(self, before: float) -> int:
        """Delete lists shown before a time that open units do not need. Return their number."""
        ...

    def tallies(self) -> Tallies:
        """Return the values of the closed units, by pairs of rankers."""
        ...

    def counts(self) -> dict[str, int]:
        """Return numbers of lists and units."""
        ...

    def disconnect(self) -> None:
        """Close idle connections."""
        ...


def count_values(tallies: Tallies, credits: Sequence[float]) -> None:
    """Add the credits of a closed unit to the tallies of all pairs."""
    for first, second in combinations(range(len(credits)), 2):
        # rounding must not leave the range
        difference = max(-1.0, min(1.0, credits[first] - credits[second]))
        tallies.setdefault((first, second), Tally()).add([difference])


class MemoryState:
    """State in memory, safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings: dict[str, Any] = {}
        self._lists: dict[str, ListRecord] = {}
        self._units: dict[str, UnitRecord] = {}
        self._tallies: Tallies = {}

    def settings(self) -> dict[str, Any]:
        return self._settings

    def fix(self, settings: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._settings = self._settings or dict(settings)
            return self._settings

    def add(self, shown: ListRecord) -> None:
        self._lists.setdefault(shown.id, shown)

    def change(self, list_id: str, action: Action) -> Change:
        with self._lock:
            shown = self._lists.get(list_id)
            change = action(shown, None if shown is None else self._units.get(shown.unit))
            if change.shown is not None:
                self._lists[list_id] = change.shown
            if change.unit is not None and shown is not None:
                self._units[shown.unit] = change.unit
            if change.closed is not None:
                count_values(self._tallies, change.closed)
            return change

    def close(self, unit: str | None, before: float) -> int:
        with self._lock:
            names = self._units if unit is None else {unit} & self._units.keys()
            due = [name for name in names if not self._units[name].is_closed and self._units[name].time < before]
            for name in due:
                self._units[name] = replace(self._units[name], is_closed=True)
                count_values(self._tallies, self._units[name].mean())
            return len(due)

    def forget(self, before: float) -> int:
        with self._lock:
            needed = {name for name, unit in self._units.items() if not unit.is_closed}
            old = [
                name
                for name, shown in list(self._lists.items())
                if shown.time < before and not (shown.is_counted and shown.unit in needed)
            ]
            for name in old:
                del self._lists[name]
            return len(old)

    def tallies(self) -> Tallies:
        with self._lock:
            return {pair: tally.copy() for pair, tally in self._tallies.items()}

    def counts(self) -> dict[str, int]:
        with self._lock:
            lists, units = list(self._lists.values()), self._units.values()
            return {
                "lists": len(lists),
                "contested": sum(bool(shown.basis) for shown in lists),
                "clicked": sum(bool(shown.clicked) for shown in lists),
                "units": len(units),
                "closed": sum(unit.is_closed for unit in units),
            }

    def disconnect(self) -> None:
        pass

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        with self._lock:
            return {
                "settings": self._settings,
                "lists": [asdict(shown) for shown in list(self._lists.values())],
                "units": {name: asdict(unit) for name, unit in self._units.items()},
                "values": [
                    {"pair": list(pair), "total": tally.total, "counts": sorted(tally.counts.items())}
                    for pair, tally in self._tallies.items()
                ],
            }

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> MemoryState:
        """Return the state in plain values, after checking every type."""
        state = cls()
        state._settings = dict(body["settings"])
        state._lists = {shown.id: shown for shown in map(checked_list, body["lists"])}
        state._units = {str(name): checked_unit(unit) for name, unit in body["units"].items()}
        for entry in body["values"]:
            first, second = map(int, entry["pair"])
            tally = Tally()
            tally.counts.update({int(key): int(count) for key, count in entry["counts"]})
            if not all(abs(key) <= 2 * STEPS and count > 0 for key, count in tally.counts.items()):
                raise ValueError("counted values lie outside of -1 to 1")
            tally.n, tally.total = tally.counts.total(), int(entry["total"])
            state._tallies[first, second] = tally
        return state
