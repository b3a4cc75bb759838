"""Draw the pictures of docs/clicks.md, docs/images/clicks-*.svg: python tools/click_pictures.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import plackett as pk
from plackett.clicks.users import LOOKED_AT

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
INK, RULE, COLOURS = "#444444", "#dddddd", ["#1769aa", "#c4501b", "#2f855a", "#6b46c1"]
STYLE = {
    "svg.hashsalt": "plackett",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "grid.color": RULE,
    "axes.axisbelow": True,
}


def main() -> None:
    """Simulate the log of the page, and draw it."""
    data = pk.datasets.make_web_like(300, 30, random_state=0)
    train = data[:200]
    rankers = {"old": train.X[:, 5], "new": train.X[:, 80]}
    log = pk.clicks.simulate_clicks(train, rankers, 50_000, random_share=0.05)
    with mpl.rc_context(STYLE):
        save(propensities(log), "clicks-propensities")
        save(models(log), "clicks-models")


def propensities(log: pk.clicks.ClickLog) -> Figure:
    """Plot the click rate relative to rank 1, the chance of a look, and three estimates of it with intervals."""
    figure, axes = panel()
    rates = np.array(log.describe().click_rate_by_rank)
    ranks = np.arange(1, rates.size + 1)
    axes.bar(ranks, rates / rates[0], color=RULE, width=0.8, label="click rate, relative to rank 1")
    looked_at = np.array(LOOKED_AT) / LOOKED_AT[0]
    axes.plot(ranks, looked_at, color="black", linewidth=1, dashes=(4, 2), label="simulated users")
    for place, method in enumerate(("randomised", "harvesting", "em")):
        found = pk.clicks.estimate_propensities(log, method)
        assert found.intervals is not None
        at = ranks + 0.2 * (place - 1)
        axes.plot(at, found.values, "o", color=COLOURS[place], markersize=4, label=method)
        axes.vlines(at, *found.intervals.T, color=COLOURS[place], linewidth=1.6)
    axes.set_ylabel("relative to rank 1")
    return finished(figure, axes)


def models(log: pk.clicks.ClickLog) -> Figure:
    """Plot the perplexity of some models at each rank, less that of the click rate of each rank."""
    figure, axes = panel()
    names = ("dctr", "dbn", "ubm", "pbm")
    fitted = {name: pk.clicks.get_click_model(name, prior="fitted") for name in names}
    found = pk.clicks.compare_click_models({"rctr": "rctr", **fitted}, log, cv=5)
    for name, colour in zip(names, COLOURS[::-1], strict=True):
        gain = found.perplexity_by_rank["rctr"] - found.perplexity_by_rank[name]
        axes.plot(np.arange(1, gain.size + 1), gain, "o-", color=colour, markersize=4, linewidth=1.2, label=name)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_ylabel("gain in perplexity over rctr")
    return finished(figure, axes)


def panel() -> tuple[Figure, mpl.axes.Axes]:
    """Return a figure with one panel."""
    figure = Figure(figsize=(6.8, 3.4), layout="constrained")
    return figure, figure.subplots()


def finished(figure: Figure, axes: mpl.axes.Axes) -> Figure:
    """Return the figure with ranks on the axis, and a legend."""
    axes.set_xticks(range(1, 11))
    axes.set_xlabel("rank")
    axes.legend(frameon=False, fontsize=10)
    return figure


def save(figure: Figure, name: str) -> None:
    """Write a figure with the same bytes each time."""
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
