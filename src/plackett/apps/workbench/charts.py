"""Charts as the coordinates of SVG elements; templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 26, 314, 8, 130  # edges of the plot area


SPARK_WIDTH, SPARK_HEIGHT = 56, 16


def sparkline(values: Sequence[float | None]) -> str:
    """Return the points of a small line from the oldest value to the newest; "" for fewer than two values.

    It starts at 0 and ends at 1, or at the largest value above 1, so that the lines of a column can be compared.

    Examples
    --------
    >>> sparkline([0.0, None, 1.0])
    '1.0,15.0 55.0,1.0'
    """
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(0.0, *(value for _, value in known)), max(1.0, *(value for _, value in known))
    return " ".join(
        f"{1 + (SPARK_WIDTH - 2) * place / (len(values) - 1):.1f},"
        f"{1 + (SPARK_HEIGHT - 2) * (high - value) / (high - low):.1f}"
        for place, value in known
    )


class HistoryChart(NamedTuple):
    """Means over time: one line and one list of dots per ranker, and ``ticks`` as (value, y)."""

    lines: list[str]
    dots: list[list[tuple[float, float]]]
    ticks: list[tuple[str, float]]
    right: float = RIGHT
    left: float = LEFT + 14


def history_chart(means: Sequence[Sequence[float | None]]) -> HistoryChart:
    """Return the chart of at least two points in time, each with one mean per ranker.

    Examples
    --------
    >>> history_chart([[0.0], [1.0]]).lines
    ['40.0,130.0 314.0,8.0']
    """
    known = [value for point in means for value in point if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = 0.1 * (high - low) or 0.1
    low, high = (low, high) if (low, high) == (0.0, 1.0) else (low - margin, high + margin)
    left = LEFT + 14

    def place(number: int, value: float) -> tuple[float, float]:
        across = left + (RIGHT - left) * number / (len(means) - 1)
        return round(across, 1), round(TOP + (BOTTOM - TOP) * (high - value) / (high - low), 1)

    of_rankers = zip(*means, strict=True)
    dots = [[place(number, value) for number, value in enumerate(of) if value is not None] for of in of_rankers]
    lines = [" ".join(f"{across},{down}" for across, down in of) for of in dots]
    middle = (low + high) / 2
    return HistoryChart(lines, dots, [(f"{value:.2f}", place(0, value)[1]) for value in (high, middle, low)])
