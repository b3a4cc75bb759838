"""A click log as one self-contained HTML page: ranks, propensities, click models and damage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from plackett._tables import Column, Table, for_display
from plackett.clicks.description import ClickDescription
from plackett.clicks.log import ClickLog
from plackett.clicks.models.comparison import ClickComparison
from plackett.clicks.propensities.propensities import Propensities
from plackett.report.html import as_sizes, check_extra, rendered, write_page
from plackett.report.plots import MARKERS, WIDE, Key, Plot
from plackett.report.svg import SERIES, drawing, inline_svg
from plackett.report.tables import of_pairs
from plackett.validation import count_of


def write_click_report(
    log: ClickLog,
    path: str | os.PathLike,
    *,
    propensities: Propensities | Sequence[Propensities] = (),
    comparison: ClickComparison | None = None,
    title: str | None = None,
) -> Path:
    """Write a click log as one self-contained HTML file.

    It shows the findings of ``log.describe()``, the click rate at each rank, propensities and click models with their
    intervals, and the damage in the log. The same log gives the same bytes. Needs ``pip install 'plackett[report]'``.

    Parameters
    ----------
    log : ClickLog
    path : str or path
        The file to write; an existing file is replaced.
    propensities : Propensities or sequence of Propensities, default=()
        Returned by ``estimate_propensities``; several methods are plotted side by side.
    comparison : ClickComparison, default=None
        Returned by ``compare_click_models``.
    title : str, default=None
        The heading; None uses the number of sessions.

    Examples
    --------
    >>> from plackett import write_click_report
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 2_000, k=3, random_share=0.5)
    >>> found = pk.clicks.estimate_propensities(log, "randomised")
    >>> write_click_report(log, "clicks.html", propensities=found).name
    'clicks.html'
    """
    check_extra("write_click_report")
    estimates = [propensities] if isinstance(propensities, Propensities) else list(propensities)
    about = log.describe()
    tables = [
        of_pairs("log", "The log", about.rows()),
        replace(about.by_rank(), name="ranks", title="Ranks"),
        *(
            replace(one.to_table(), name=f"propensities-{number}", title=f"Propensities, {one.method}")
            for number, one in enumerate(estimates, start=1)
        ),
    ]
    if comparison is not None:
        tables += [
            replace(comparison.to_table(), name="models", title="Click models on held-out sessions"),
            replace(comparison.to_differences(), name="differences", title="Differences between models"),
            replace(comparison.by_rank(), name="perplexity", title="Perplexity by rank"),
        ]
    if log.cleaning is not None and log.cleaning.counts:
        columns = [Column("damage", "text"), Column("count", digits=0), Column("rule", "text")]
        rows = [[name, log.cleaning[name], rule] for name, rule in log.cleaning.rules.items()]
        tables.append(Table(columns, rows, name="cleaning", title="Damage"))
    page = rendered(
        "clicks.html",
        tables,
        title=for_display(title, 300) if title else f"A click log of {count_of(len(log), 'session')}",
        sizes=as_sizes(
            (about.n_sessions, "session", "sessions"),
            (about.n_queries, "query", "queries"),
            (about.n_pairs, "pair", "pairs"),
            (about.n_clicks, "click", "clicks"),
        ),
        summary=summary_of(about, estimates, comparison),
        findings=[for_display(one, 600) for one in about.findings],
        rates=click_rates(about),
        n_propensities=len(estimates),
        propensities=propensities_by_rank(estimates) if estimates else None,
        notes=[f"{one.method}: {note}" for one in estimates for note in one.notes],
        perplexities=None if comparison is None else perplexity_by_rank(comparison),
        comparison=comparison,
    )
    return write_page(page, path)


def summary_of(about: ClickDescription, estimates: Sequence[Propensities], comparison: ClickComparison | None) -> str:
    """Return one sentence: how fast examination falls, whether the log is connected, and which model fits best."""
    parts = []
    if estimates:
        values = estimates[0].values
        known = np.flatnonzero(np.isfinite(values) & (values > 0))
        if known.size > 1 and known[0] == 0:
            times, last = values[0] / values[known[-1]], known[-1] + 1
            how = f"{times:.2g} times less than" if times >= 1.1 else "as often as"
            parts.append(f"rank {last} is examined {how} rank 1")
    parts.append("the log is connected" if about.is_connected else "the ranks of the log are not connected")
    if comparison is not None:
        parts.append(f"{comparison.best} fits best")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def click_rates(about: ClickDescription) -> Plot:
    """Plot the click rate at each rank."""
    rates = about.click_rate_by_rank
    ranks = np.arange(1, len(rates) + 1)
    alt = "Click rate by rank: " + ", ".join(f"{rank}: {rate:.3f}" for rank, rate in zip(ranks, rates, strict=True))
    with drawing(*WIDE) as (figure, axes):
        axes.bar(ranks, rates, color=SERIES[0], width=0.7)
        _label(axes, "click rate")
        caption = "Combines the effects of position and documents."
        return Plot(inline_svg(figure, "rates", alt), "Click rate by rank", caption=caption)


def propensities_by_rank(estimates: Sequence[Propensities]) -> Plot:
    """Plot propensities with their intervals, each method in its own colour."""
    keys, described = [], []
    with drawing(*WIDE) as (figure, axes):
        for place, (one, colour, marker) in enumerate(zip(estimates, SERIES, MARKERS, strict=False), start=1):
            ranks = np.arange(1, len(one) + 1) + 0.12 * (place - 1)  # so that intervals do not hide each other
            axes.plot(ranks, one.values, color=colour, marker=marker, markeredgewidth=0, linewidth=1.2)
            if one.intervals is not None:
                axes.vlines(ranks, *one.intervals.T, color=colour, linewidth=2, alpha=0.6)
            keys.append(Key(MARKERS[marker], f"s{place}", one.method))
            described.append(f"{one.method}: {', '.join(f'{value:.3f}' for value in one.values)}")
        _label(axes, "propensity, relative to rank 1")
        svg = inline_svg(figure, "propensities", f"Propensity of each rank. {'; '.join(described)}")
    levels = {f"{one.level:.0%}" for one in estimates if one.level is not None}
    caption = f"Vertical lines are {' and '.join(sorted(levels))} intervals." if levels else ""
    return Plot(svg, "Propensities", keys, caption)


def perplexity_by_rank(comparison: ClickComparison) -> Plot:
    """Plot the perplexity of each model at each rank, the best models in colour."""
    order = sorted(comparison.models, key=comparison.log_likelihood.__getitem__, reverse=True)
    keys = []
    with drawing(*WIDE) as (figure, axes):
        for place, (name, colour, marker) in enumerate(zip(order, SERIES, MARKERS, strict=False), start=1):
            values = comparison.perplexity_by_rank[name]
            ranks = np.arange(1, values.size + 1)
            axes.plot(ranks, values, color=colour, marker=marker, markeredgewidth=0, linewidth=1.2)
            keys.append(Key(MARKERS[marker], f"s{place}", name))
        _label(axes, "perplexity", bottom=None)
        described = ", ".join(f"{name} {comparison.perplexity[name]:.4f}" for name in order)
        svg = inline_svg(figure, "perplexity", f"Perplexity by rank. Means over ranks: {described}")
    return Plot(svg, "Perplexity by rank", keys, "Lower is better; 1 is perfect.")


def _label(axes, height: str, bottom: float | None = 0.0) -> None:
    axes.set_xlabel("rank")
    axes.set_ylabel(height)
    axes.set_ylim(bottom=bottom)
    axes.xaxis.get_major_locator().set_params(integer=True)
