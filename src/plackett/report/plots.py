"""The plots of a comparison, each of bounded size for any number of contestants, queries and iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.reference_scores import RANDOM_ORDER, random_values
from plackett.evaluation.significance import TIE
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.judged_lists import JudgedLists, mean_of_counted
from plackett.metrics.measure import Measure
from plackett.report.svg import BAD, GOOD, MUTED, SERIES, drawing, inline_svg, name_of, shown_name, thinned
from plackett.validation import count_of

CUTOFFS = range(1, 11)
MOST_PANELS = 12  # contestants with a panel: the best by the first measure
MOST_POINTS = 200  # points of a line
WIDE, PANEL = (400, 280), (300, 190)
MOST_NAMES = 12  # contestants whose names are in a plot: the best by the first measure
LINE_HEIGHT = 13  # pixels
AIMS = ("objective", "loss", "bound", "train", "error")  # names of the training objective in histories
MARKERS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚", "X": "✖", "*": "★"}

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


class Key(NamedTuple):
    """One entry of a legend: a symbol, the CSS class of its colour, and its name."""

    sign: str
    colour: str
    name: str


@dataclass(frozen=True)
class Plot:
    """A figure with its title, legend and caption."""

    svg: str
    title: str
    keys: list[Key] = field(default_factory=list)
    caption: str = ""


def metric_by_k(comparison: Comparison) -> list[Plot]:
    """Plot the first measure at k from 1 to 10, the best contestants in colour; NDCG if it has no cut-off."""
    if comparison.convention not in CONVENTIONS or not comparison.tables:
        return []
    first = comparison.measure(comparison.metrics[0])
    measures = [
        Measure("ndcg", k, convention=None if first is None else first.convention)
        if first is None or first.kind.cutoff == "none"
        else Measure(first, k, convention=first.convention, **first.parameters)
        for k in CUTOFFS
    ]
    curves = {}
    for name in comparison.ranked():
        table = comparison.evaluate(name, measures)
        curves[name] = CUTOFFS, [mean_of_counted(table.values[:, column]) for column in range(len(measures))]
    floors = {}
    if RANDOM_ORDER in comparison.reference_scores:
        lists = JudgedLists.of_queries(comparison.queries)
        values = random_values(measures, lists, CONVENTIONS[comparison.convention])
        floors[RANDOM_ORDER] = [mean_of_counted(values[:, column]) for column in range(len(measures))]
    name = measures[0].name
    with drawing(*WIDE, right=_room(curves)) as (figure, axes):
        _draw_curves(axes, curves)
        keys = [*_draw_floors(axes, CUTOFFS, floors, [y for _, y in curves.values()]), *_name_ends(axes, curves)]
        axes.set_xticks(list(CUTOFFS))
        axes.set_xlabel("k")
        alt = f"{name} at the cut-offs {CUTOFFS[0]} to {CUTOFFS[-1]}: {_ends(curves)}"
        svg = inline_svg(figure, "by-k", alt, list(curves))
    return [Plot(svg, f"{name}@k", keys)]


def _ends(curves: Curves) -> str:
    """Return the first and the last value of the best contestants as text."""
    values = {name: y for name, (_, y) in list(curves.items())[: len(SERIES)]}
    return "; ".join(f"{name} {y[0]:.3f} to {y[-1]:.3f}" for name, y in values.items())


def sizes(comparison: Comparison) -> list[Plot]:
    """Plot the mean of the first measure by training size, the best contestants in colour, with the floor."""
    points = {name: comparison.learning_curves.get(name, []) for name in comparison.ranked()}
    curves = {name: ([one.n_queries for one in own], [one.mean for one in own]) for name, own in points.items() if own}
    if not curves:
        return []
    metric = comparison.metrics[0]
    floors = {name: [table.mean()[metric]] * 2 for name, table in comparison.reference_scores.items()}
    with drawing(*WIDE, right=_room(curves)) as (figure, axes):
        _draw_curves(axes, curves)
        keys = _draw_floors(axes, axes.get_xlim(), floors, [y for _, y in curves.values()])
        keys += _name_ends(axes, curves)
        axes.set_xlabel("training queries of a fold")
        axes.set_ylabel(metric)
        svg = inline_svg(figure, "sizes", f"{metric} by training size: {_ends(curves)}", list(curves))
    return [Plot(svg, f"{metric} by training size", keys)]


def _colour(place: int) -> str:
    return SERIES[place - 1] if place <= len(SERIES) else MUTED


def _room(curves: Curves) -> float:
    """Return the pixels that names take at the right of a plot."""
    return 20.0 + 6.8 * max((len(shown_name(name)) for name in list(curves)[:MOST_NAMES]), default=0)


def _draw_curves(axes: Any, curves: Curves) -> None:
    """Draw a line for each contestant, the best ones in colour and on top."""
    for place, (x, y) in reversed(list(enumerate(curves.values(), start=1))):
        if place <= len(SERIES):
            marker = list(MARKERS)[place - 1]
            axes.plot(x, y, color=_colour(place), marker=marker, markeredgewidth=0, zorder=20 - place)
        else:
            axes.plot(x, y, color=MUTED, alpha=0.35, linewidth=1)


def _draw_floors(
    axes: Any, x: Sequence[float], floors: Mapping[str, Sequence[float]], values: Sequence[Sequence[float]]
) -> list[Key]:
    """Draw reference scores, zoom to the ``values`` of the contestants, and return the legend of the reference scores.

    The plot includes the parts of a reference score that are near the contestants, or all if there is one contestant.
    """
    axes.set_xlim(axes.get_xlim())  # names are placed by the limits
    every = np.array([value for line in values for value in line if math.isfinite(value)])
    if not every.size:
        return []
    low, high = every.min(), every.max()
    span = max(high - low, 0.02 * np.abs(every).max())
    near = 0.15 * span if len(values) > 1 else math.inf
    keys = []
    for name, line in floors.items():
        height = np.array([value for value in line if math.isfinite(value)])
        if not height.size:
            continue
        sign, dashes = ("┄", (3, 2)) if name == RANDOM_ORDER else ("╌", (6, 3))
        axes.plot(x, line, color=MUTED, linewidth=1.2, dashes=dashes)
        shown = height[(height >= every.min() - near) & (height <= every.max() + near)]
        low, high = min([low, *shown]), max([high, *shown])
        text = f"{height[0]:.4f}" if np.ptp(height) == 0 else f"{height[0]:.4f} to {height[-1]:.4f}"
        where = "" if shown.size else ", below the plot" if height[0] < low else ", above the plot"
        keys.append(Key(sign, "muted", f"{name} {text}{where}"))
    margin = 0.07 * max(high - low, span) or 0.02
    axes.set_ylim(low - margin, high + margin)
    return keys


def _name_ends(axes: Any, curves: Curves) -> list[Key]:
    """Write the names of the best contestants at the ends of their lines; return the legend of the others."""
    named = enumerate(list(curves.values())[:MOST_NAMES], start=1)
    ends = {place: (x[-1], y[-1]) for place, (x, y) in named if math.isfinite(y[-1])}
    if ends:
        box, order = axes.get_window_extent(), sorted(ends, key=lambda place: (ends[place][1], -place))
        pixels = axes.transData.transform([ends[place] for place in order])
        # the nearest heights to the ends that are a line apart
        offsets = LINE_HEIGHT * np.arange(len(order))
        heights = isotonic_regression(pixels[:, 1] - offsets).x.clip(box.y0, box.y1 - offsets[-1]) + offsets
        for place, (x, y), height in zip(order, pixels, heights, strict=True):
            colour = _colour(place)
            line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.6, "relpos": (0, 0.5)}
            axes.annotate(
                name_of(place - 1), ends[place], xytext=(box.x1 + 12 - x, height - y), textcoords="offset pixels",
                ha="left", va="center_baseline", color=colour, fontsize=11, annotation_clip=False,
                arrowprops={**line, "shrinkA": 1, "shrinkB": 3},
            )  # fmt: skip
    n_others = len(curves) - MOST_NAMES
    return [Key("─", "muted", count_of(n_others, "other"))] if n_others > 0 else []


def query_differences(comparison: Comparison) -> list[Plot]:
    """Plot the differences of each contestant from the baseline on the queries that differ, the largest first."""
    metric, baseline = comparison.metrics[0], comparison.baseline
    sign = comparison.sign(metric)
    gaps = {}
    for name in [name for name in comparison.ranked() if name != baseline][:MOST_PANELS]:
        gap = comparison.tables[name][metric] - comparison.tables[baseline][metric]
        gaps[name] = np.sort(gap[np.abs(gap) > TIE])[::-1]  # drops NaN
    widest = max((np.abs(gap).max(initial=0.0) for gap in gaps.values()), default=0.0) or 1.0
    pairs = {pair.a: pair for pair in comparison.against_baseline()}
    plots = []
    for number, (name, gap) in enumerate(gaps.items(), start=1):
        pair = pairs[name]
        counts = f"better on {pair.wins}, the same on {pair.ties}, worse on {pair.losses}"
        alt = f"{name} against {baseline}, {metric} query by query: {counts}"
        with drawing(*PANEL, left=40, bottom=24) as (figure, axes):
            shown = gap[list(thinned(gap.size, MOST_POINTS))]
            edges = np.linspace(0, gap.size, shown.size + 1)
            heights = np.append(shown, shown[-1:])
            for colour, part in ((GOOD, np.maximum(sign * heights, 0)), (BAD, np.minimum(sign * heights, 0))):
                if heights.size:
                    axes.fill_between(edges, sign * part, step="post", color=colour, linewidth=0)
            axes.axhline(0, color=MUTED, linewidth=0.8)
            axes.set_xlim(0, max(1, gap.size))
            axes.set_ylim(-1.05 * widest, 1.05 * widest)
            axes.xaxis.get_major_locator().set_params(integer=True, nbins=5)
            svg = inline_svg(figure, f"gap-{number}", alt)
        plots.append(Plot(svg, name, caption=counts))
    return plots


def learning_curves(comparison: Comparison) -> list[Plot]:
    """Plot one line per fold, by iteration, for each contestant with a history."""
    plots = []
    found = {name: own for name in comparison.ranked() if (own := _curves(comparison, name))}
    for number, (name, (quantity, curves)) in enumerate(list(found.items())[:MOST_PANELS], start=1):
        longest = max(len(curve) for curve in curves)
        ends = ", ".join(f"{curve[-1]:.4g}" for curve in curves)
        alt = f"{quantity} of {name} over {count_of(longest, 'iteration')}, ending at {ends}"
        with drawing(*PANEL, left=48, bottom=24) as (figure, axes):
            for curve in curves:
                places = list(thinned(len(curve), MOST_POINTS))
                marker = "o" if len(curve) == 1 else ""
                heights = [curve[place] for place in places]
                axes.plot([p + 1 for p in places], heights, marker=marker, color=SERIES[0], alpha=0.75, linewidth=1.2)
            axes.xaxis.get_major_locator().set_params(integer=True, nbins=5)
            axes.yaxis.get_major_locator().set_params(nbins=5)
            axes.set_xlim(1, max(2, longest))
            svg = inline_svg(figure, f"curve-{number}", alt)
        plots.append(Plot(svg, name, caption=f"{quantity}, {count_of(len(curves), 'fold')}"))
    return plots


def _curves(comparison: Comparison, name: str) -> Any:
    """Return the name of the plotted quantity and its values per fold; None without histories.

    The quantity is the validation measure, else the training objective, else any quantity in the history.
    """
    histories = [_columns(fit.history) for fit in comparison.fits.get(name, [])]
    histories = [history for history in histories if history]
    quantities = [name for name in histories[0] if all(name in own for own in histories)] if histories else []
    if not quantities:
        return None
    measures = [quantity for quantity in quantities if str(comparison.measure(quantity)) == quantity]
    aims = [quantity for quantity in AIMS if quantity in quantities]
    quantity = [*measures, *aims, *quantities][0]
    return quantity, [history[quantity] for history in histories]


def _columns(history: Any) -> dict[str, list[float]]:
    """Return a history, a list of dicts, as lists of finite numbers by name."""
    names = history[0] if history else ()
    columns = {name: [step.get(name) for step in history] for name in names}
    return {
        name: values
        for name, values in columns.items()
        if all(type(value) in (int, float) and math.isfinite(value) for value in values)
    }
