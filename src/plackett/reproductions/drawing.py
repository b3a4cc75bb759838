"""Figures of papers as inline SVG, by kind: lines, grouped bars, and grouped box plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plackett.report.plots import MARKERS, MOST_POINTS, WIDE, Key, Plot
from plackett.report.svg import LONGEST_ALT, MUTED, SERIES, drawing, inline_svg, thinned

FEW = 12  # points with markers
GROUP = 0.8  # width of the bars or boxes at one place
Points = Sequence[Sequence[Any]]


def drawn(figure: Mapping[str, Any], key: str) -> Plot:
    """Return a figure of `Table.to_dict`; without series, its caption says why. ``key`` is unique in the page."""
    series: Mapping[str, Points] = figure["series"]
    if not series:
        return Plot("", figure["title"], caption=figure["missing"])
    places = {x: place for place, x in enumerate(dict.fromkeys(x for points in series.values() for x, _ in points))}
    keys = []
    with drawing(*WIDE, left=58) as (canvas, axes):
        looks = list(zip(SERIES, MARKERS, strict=True))[: len(series)]
        for n, ((name, points), (colour, marker)) in enumerate(zip(series.items(), looks, strict=True)):
            if figure["kind"] == "lines":
                shown = [points[place] for place in thinned(len(points), MOST_POINTS)]
                axes.plot(*zip(*shown, strict=True), color=colour, marker=marker if len(points) <= FEW else "")
            else:
                width = GROUP / len(series)
                at = [places[x] - GROUP / 2 + width * (n + 0.5) for x, _ in points]
                _draw_beside[figure["kind"]](axes, at, [y for _, y in points], 0.9 * width, colour)
            is_marked = figure["kind"] == "lines" and len(points) <= FEW
            keys.append(Key(MARKERS[marker] if is_marked else "■", f"s{n + 1}", name))
        for x in figure["marks"]:
            axes.axvline(x, color=MUTED, linewidth=1, dashes=(3, 2))
        if figure["kind"] != "lines":
            axes.set_xticks(list(places.values()), [x if isinstance(x, str) else f"{x:g}" for x in places])
            axes.grid(visible=False, axis="x")
        axes.set_xlabel(figure["x"])
        axes.set_ylabel(figure["y"])
        svg = inline_svg(canvas, key, _in_words(figure))
    return Plot(svg, figure["title"], keys)


def _draw_bars(axes: Any, at: list[float], values: list[float], width: float, colour: str) -> None:
    axes.bar(at, values, width, color=colour)


def _draw_boxes(axes: Any, at: list[float], values: list[list[float]], width: float, colour: str) -> None:
    line = {"color": colour, "linewidth": 1.3}
    axes.boxplot(
        values, positions=at, widths=width, manage_ticks=False, patch_artist=True,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.45},
        medianprops=line, whiskerprops=line, capprops=line,
        flierprops={"marker": ".", "markerfacecolor": colour, "markeredgecolor": colour, "markersize": 4},
    )  # fmt: skip


_draw_beside: dict[str, Callable[..., None]] = {"bars": _draw_bars, "boxes": _draw_boxes}


def _in_words(figure: Mapping[str, Any]) -> str:
    """Return the text alternative: the first and the last point of each series."""
    ends = []
    for name, points in figure["series"].items():
        values = [y if not isinstance(y, list) else sorted(y)[len(y) // 2] for _, y in (points[0], points[-1])]
        ends.append(f"{name} {values[0]:.4g} at {points[0][0]}, {values[1]:.4g} at {points[-1][0]}")
    return f"{figure['title']}. {figure['y']} by {figure['x']}: {'; '.join(ends)}"[:LONGEST_ALT]
