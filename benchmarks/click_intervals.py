"""Measure how often intervals of attractiveness contain the true value: python -m benchmarks.click_intervals.

Clicks are simulated by each model itself, with attractiveness drawn from Beta(1, 4), and from two values (0.1 and 0.6),
which no Beta distribution describes. The prior is fitted, as always for intervals.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

from benchmarks.bench_clicks import make_lists, user_of
from plackett._tables import Column, Table
from plackett.clicks import get_click_model

N_SESSIONS, N_QUERIES = 60_000, 3_000
MODELS = ("dctr", "pbm", "cm", "dcm", "ccm", "dbn", "sdbn", "ubm")
BOUNDS = (0, 10, 30, 100, 300, np.inf)
LEVEL = 0.95


def coverage(name: str, is_beta: bool) -> list[float]:
    """Return the share of pairs whose interval contains their attractiveness: all, and by impressions."""
    lists = make_lists(N_SESSIONS, N_QUERIES)
    user: Any = user_of(name, lists)
    rng = np.random.default_rng(2)
    user.attractiveness_ = rng.beta(1, 4, lists.n_pairs) if is_beta else rng.choice([0.1, 0.6], lists.n_pairs)
    user.attractiveness_ = np.clip(user.attractiveness_, 1e-4, 1 - 1e-4)
    if name == "dcm":
        user.continuation_ = np.linspace(0.4, 0.8, user.n_ranks_)
    if name == "dctr":
        user.examination_ = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = get_click_model(name, prior="fitted").fit(user.simulate(lists, random_state=3))
    low, high = model.intervals(LEVEL).T
    shown = model.impressions_
    holds = (low <= user.attractiveness_) & (user.attractiveness_ <= high)
    parts = [(shown > least) & (shown <= most) for least, most in itertools.pairwise(BOUNDS)]
    return [float(holds[part].mean()) if part.any() else float("nan") for part in (shown > 0, *parts)]


def main() -> None:
    """Print a table."""
    headings = [f"to {most:g}" if np.isfinite(most) else f"above {BOUNDS[-2]:g}" for most in BOUNDS[1:]]
    columns = [Column("model", "text"), Column("attractiveness", "text"), Column("all", digits=3)]
    columns += [Column(heading, digits=3) for heading in headings]
    rows = [
        [name, "Beta(1, 4)" if is_beta else "0.1 or 0.6", *coverage(name, is_beta)]
        for is_beta in (True, False)
        for name in MODELS
    ]
    print(Table(columns, rows).to_markdown())


if __name__ == "__main__":
    main()
