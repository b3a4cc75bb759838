"""A plot of the means of a comparison with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._drawing import COLOURS, REFERENCE, axes_of, draw_references
from plackett.evaluation.significance import bootstrap_columns

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison


def plot_learning_curves(comparison: Comparison, ax: Any) -> Any:
    """Draw the mean of the first measure by the number of training queries, a line for each contestant."""
    ax = axes_of(ax, needed_for="Comparison.plot_learning_curves")
    for name in comparison.ranked():
        if points := comparison.learning_curves.get(name):
            ax.plot([point.n_queries for point in points], [point.mean for point in points], "o-", label=name)
    draw_references(ax, {name: row.mean()[comparison.metrics[0]] for name, row in comparison.reference_scores.items()})
    ax.set_xlabel("training queries of a fold")
    ax.set_ylabel(comparison.metrics[0])
    ax.legend(frameon=False)
    return ax


def plot_means(comparison: Comparison, metric: str, ax: Any) -> Any:
    """Draw one line for each contestant, the best at the top, and dashed lines for reference scores."""
    marks, means = comparison.marks(metric), {name: row[metric] for name, row in comparison.mean().items()}
    sign = 1.0 if comparison.is_higher_better(metric) else -1.0
    order = sorted(means, key=lambda name: sign * np.nan_to_num(means[name], nan=-sign * np.inf))
    ax = axes_of(ax, needed_for="Comparison.plot", height=1.2 + 0.32 * len(order))
    places, values = np.arange(len(order)), np.array([means[name] for name in order])
    if order:
        columns = np.stack([comparison.tables[name][metric] for name in order], axis=1)
        low, high = bootstrap_columns(columns, random_state=int(comparison.settings.get("random_state") or 0))
        ax.hlines(places, low, high, color=COLOURS[0], linewidth=2)
    ax.plot(values, places, "o", color=COLOURS[0])
    for name, table in comparison.reference_scores.items():
        ax.axvline(table.mean()[metric], color=REFERENCE, linestyle="--", linewidth=1)
        ax.text(table.mean()[metric], len(order) - 0.4, name, color=REFERENCE, ha="center", va="bottom", fontsize=8)
    ax.set_yticks(places, [f"{name} {marks[name]}".strip() for name in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.set_xlabel(metric)
    return ax
