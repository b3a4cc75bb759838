"""Axes and bars of the methods ``plot`` of results, in one style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plackett._optional import import_optional

COLOURS = ["#2563a8", "#c2571a", "#2f855a", "#6b46c1", "#777777"]
REFERENCE = "#777777"


def axes_of(ax: Any, *, needed_for: str, height: float = 3.6) -> Any:
    """Return the given axes, or those of a new figure."""
    pyplot = import_optional("matplotlib.pyplot", extra="report", needed_for=needed_for)
    if ax is None:
        ax = pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]
        ax.set_prop_cycle(color=COLOURS)
        ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_references(ax: Any, values: Mapping[str, float]) -> None:
    """Draw a dashed line for each value, with its name at the right edge."""
    for name, value in values.items():
        ax.axhline(value, color=REFERENCE, linestyle="--", linewidth=1)
        ax.annotate(f" {name} {value:.3f}", (1, value), xycoords=("axes fraction", "data"), color=REFERENCE, fontsize=8)


def draw_bars(ax: Any, values: Mapping[str, float], label: str, *, needed_for: str) -> Any:
    """Draw a horizontal bar for each name, the first at the top, negative ones in the second colour."""
    ax = axes_of(ax, needed_for=needed_for, height=0.9 + 0.28 * max(3, len(values)))
    places = range(len(values) - 1, -1, -1)
    ax.barh(places, list(values.values()), color=[COLOURS[value < 0] for value in values.values()], height=0.7)
    ax.set_yticks(places, list(values))
    ax.axvline(0, color=REFERENCE, linewidth=0.8)
    ax.set_xlabel(label)
    return ax
