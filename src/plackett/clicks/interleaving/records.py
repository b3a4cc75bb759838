"""Shown lists and units as they are kept, and what a credit changes in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plackett.clicks.interleaving.method import Basis, Method

Status = Literal["counted", "added", "repeated", "late", "uncontested", "no clicks", "unknown"]


@dataclass(frozen=True)
class ListRecord:
    """A shown list: its documents, the numbers that credit needs, and the places clicked so far."""

    id: str
    unit: str
    documents: list[str]
    basis: Basis  # empty if the rankers agree
    time: float
    clicked: list[int] = field(default_factory=list)
    is_counted: bool = False


@dataclass(frozen=True)
class UnitRecord:
    """A unit, such as a user: the sum of the credits of its lists. Its mean is final once it is closed."""

    n_lists: int
    credits: list[float]
    time: float
    is_closed: bool = False

    def mean(self) -> list[float]:
        """Return the mean credit of each ranker."""
        return [credit / self.n_lists for credit in self.credits]


@dataclass(frozen=True)
class Change:
    """What a credit does; ``closed`` has the final credits of a unit that was closed by it."""

    status: Status
    shown: ListRecord | None = None
    unit: UnitRecord | None = None
    closed: list[float] | None = None
    not_shown: tuple[str, ...] = ()


def credited(
    shown: ListRecord | None,
    unit: UnitRecord | None,
    clicks: list[str],
    *,
    method: Method,
    n_rankers: int,
    lists_per_unit: int | None,
    now: float,
) -> Change:
    """Return what clicks on a list change. Clicks of a list are united, and clicks on other documents ignored."""
    if shown is None:
        return Change("unknown")
    place_of = {document: place for place, document in enumerate(shown.documents)}
    missing = tuple(dict.fromkeys(click for click in clicks if click not in place_of))
    places = sorted({place_of[click] for click in clicks if click in place_of} | {*shown.clicked})
    if not shown.basis:
        return Change("uncontested", not_shown=missing)
    if len(places) == len(shown.clicked):
        return Change("repeated" if places and len(missing) < len(clicks) else "no clicks", not_shown=missing)
    if unit is not None and unit.is_closed:
        return Change("late", replace(shown, clicked=places), not_shown=missing)
    credits = method.credit(shown.basis, places, n_rankers)
    n_lists, total = (0, [0.0] * n_rankers) if unit is None else (unit.n_lists, unit.credits)
    if shown.is_counted:
        before = method.credit(shown.basis, shown.clicked, n_rankers)
        total = [one - other for one, other in zip(total, before, strict=True)]
    else:
        n_lists += 1
    total = [one + other for one, other in zip(total, credits, strict=True)]
    is_closed = n_lists == lists_per_unit
    changed = UnitRecord(n_lists, total, now, is_closed)
    return Change(
        "added" if shown.is_counted else "counted",
        replace(shown, clicked=places, is_counted=True),
        changed,
        changed.mean() if is_closed else None,
        missing,
    )


def checked_list(body: Any) -> ListRecord:
    """Return a list from plain values, as in JSON, after checking every type."""
    documents = [_text(one) for one in _list(body["documents"])]
    basis = [_numbers(row) for row in _list(body["basis"])]
    clicked = [int(place) for place in _numbers(body["clicked"])]
    if len(basis) not in (0, len(documents)) or not all(0 <= place < len(documents) for place in clicked):
        raise ValueError(f"the parts of the list {body['id']!r} do not fit together")
    return ListRecord(
        _text(body["id"]),
        _text(body["unit"]),
        documents,
        basis,
        float(body["time"]),
        clicked,
        is_counted=body["is_counted"] is True,
    )


def checked_unit(body: Any) -> UnitRecord:
    """Return a unit from plain values, as in JSON, after checking every type."""
    n_lists = int(body["n_lists"])
    if n_lists < 1:
        raise ValueError(f"a unit has {n_lists} lists")
    return UnitRecord(n_lists, _numbers(body["credits"]), float(body["time"]), body["is_closed"] is True)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _list(value: Any) -> list:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def _numbers(value: Any) -> list[float]:
    return [float(one) for one in _list(value)]
