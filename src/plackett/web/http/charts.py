"""Charts as the coordinates of SVG elements; templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from plackett.web.schemas.interleaving import PreferencePoint

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 26, 314, 8, 130  # of the area of values


class PreferenceChart(NamedTuple):
    """A running preference: the interval as a polygon, the mean as a line, and the last mean as a dot.

    ``ticks`` are (value, y), with the largest value first, and ``last`` is the (x, y) of the dot.
    """

    band: str
    line: str
    last: tuple[float, float]
    ticks: list[tuple[str, float]]
    right: float = RIGHT
    left: float = LEFT


def preference_chart(history: Sequence[PreferencePoint]) -> PreferenceChart:
    """Return the chart of a history with at least one point.

    Examples
    --------
    >>> preference_chart([PreferencePoint(n_users=1, mean=0, low=-1, high=1)]).line
    '26.0,69.0 314.0,69.0'
    """
    n_users = history[-1].n_users

    def x(n: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * n / n_users, 1)

    def y(value: float) -> float:
        return round(TOP + (BOTTOM - TOP) * (1 - value) / 2, 1)

    def joined(points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{across},{down}" for across, down in points)

    # before the first user the interval is everything; the line begins at the first mean
    upper = [(x(0), y(1)), *((x(one.n_users), y(one.high)) for one in history)]
    lower = [(x(0), y(-1)), *((x(one.n_users), y(one.low)) for one in history)]
    means = [(x(one.n_users), y(one.mean)) for one in history]
    if len(means) == 1:
        means.insert(0, (x(0), means[0][1]))
    ticks = [(text, y(value)) for text, value in (("+1", 1), ("0", 0), ("−1", -1))]
    return PreferenceChart(joined([*upper, *reversed(lower)]), joined(means), means[-1], ticks)
