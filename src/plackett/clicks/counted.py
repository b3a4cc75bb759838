"""Clicks and impressions of pairs by rank, as a group-by in SQL gives them, as checked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 2**31 - 1  # impressions of a pair at a rank, in compiled code


def counts_of_rows(pair: np.ndarray, n_pairs: int, rank: Any, clicks: Any, impressions: Any) -> tuple[np.ndarray, ...]:
    """Return the bounds of the cells of each pair, their ranks from 0, clicks and skips; rows of a cell add up."""
    columns = {"rank": rank, "clicks": clicks, "impressions": impressions}
    whole: dict[str, np.ndarray] = {}
    for name, given in columns.items():
        values = np.asarray(given)
        if values.shape != pair.shape:
            raise ValueError(f"{name} has shape {values.shape} but query has {pair.size:,} values.")
        least = 1 if name == "rank" else 0
        is_wrong = ~((values >= least) & (values <= MOST) & (values == np.floor(values)))
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            raise ValueError(f"{name} is {values[row]} in row {row}; a whole number of at least {least} is needed.")
        whole[name] = values.astype(np.int64)
    is_wrong = whole["clicks"] > whole["impressions"]
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        many, shown = whole["clicks"][row], whole["impressions"][row]
        raise ValueError(f"row {row} has {many:,} clicks but only {shown:,} impressions.")
    n_ranks = int(whole["rank"].max(initial=0))
    keys, place = np.unique(pair.astype(np.int64) * n_ranks + whole["rank"] - 1, return_inverse=True)
    sums = np.zeros((2, keys.size), dtype=np.int64)
    np.add.at(sums[0], place, whole["clicks"])
    np.add.at(sums[1], place, whole["impressions"])
    if sums.max(initial=0) > MOST:
        raise ValueError(f"a pair was shown {sums.max():,} times at a rank; at most {MOST:,} can be counted.")
    bounds = np.searchsorted(keys, np.arange(n_pairs + 1) * n_ranks)
    cell, counts = (keys % max(1, n_ranks)).astype(np.int32), sums.astype(np.int32)
    return bounds.astype(np.int64), cell, counts[0], counts[1] - counts[0]
