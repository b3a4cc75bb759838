"""A plot of the means of a comparison with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._optional import import_optional
from plackett.evaluation.significance import bootstrap_columns

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison

COLOUR, REFERENCE = "#2563a8", "#777777"


def plot_means(comparison: Comparison, metric: str, ax: Any) -> Any:
    """Draw one line for each contestant, the best at the top, and dashed lines for reference scores."""
    pyplot = import_optional("matplotlib.pyplot", extra="report", needed_for="Comparison.plot")
    marks, means = comparison.marks(metric), {name: row[metric] for name, row in comparison.mean().items()}
    sign = 1.0 if comparison.is_higher_better(metric) else -1.0
    order = sorted(means, key=lambda name: sign * np.nan_to_num(means[name], nan=-sign * np.inf))
    if ax is None:
        ax = pyplot.subplots(figsize=(6.4, 1.2 + 0.32 * len(order)), layout="constrained")[1]
    places, values = np.arange(len(order)), np.array([means[name] for name in order])
    if order:
        columns = np.stack([comparison.tables[name][metric] for name in order], axis=1)
        low, high = bootstrap_columns(columns, random_state=int(comparison.settings.get("random_state") or 0))
        ax.hlines(places, low, high, color=COLOUR, linewidth=2)
    ax.plot(values, places, "o", color=COLOUR)
    for name, table in comparison.reference_scores.items():
        ax.axvline(table.mean()[metric], color=REFERENCE, linestyle="--", linewidth=1)
        ax.text(table.mean()[metric], len(order) - 0.4, name, color=REFERENCE, ha="center", va="bottom", fontsize=8)
    ax.set_yticks(places, [f"{name} {marks[name]}".strip() for name in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.set_xlabel(metric)
    return ax
