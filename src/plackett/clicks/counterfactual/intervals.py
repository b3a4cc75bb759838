"""Bootstrap intervals of means over sessions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.pairs import code_names
from plackett.evaluation.significance import Interval, studentised_columns
from plackett.validation import count_of

LEAST_UNITS = 10  # samples of fewer repeat themselves
MOST_UNITS = 4_000  # more are drawn as random groups
DRAWS = 2_000  # bootstrap samples


def unit_codes(log: ClickLog, unit: Any) -> np.ndarray | None:
    """Return the unit of each session, or None if every session is its own unit."""
    if isinstance(unit, str):
        if unit == "session":
            return None
        if unit == "query":
            return np.unique(log.session_query, return_inverse=True)[1]
        raise ValueError(f'unit={unit!r}; it must be "session", "query", or an id for each session, such as its user.')
    codes = code_names(unit, "unit")[1]
    if codes.shape != (len(log),):
        raise ValueError(f"unit has {count_of(codes.size, 'value')} but the log has {count_of(len(log), 'session')}.")
    return codes


def unit_values(columns: np.ndarray, units: np.ndarray | None, seed: int) -> np.ndarray:
    """Return values of units, of shape (n_units, n_columns), whose means are those of the sessions.

    A unit with several sessions is a part of a ratio: its sum over the mean size of a unit, linearised.
    """
    n_units = columns.shape[0] if units is None else int(units.max(initial=-1)) + 1
    if n_units > MOST_UNITS:
        place = np.random.default_rng(seed).permutation(n_units) % MOST_UNITS
        units, n_units = (place if units is None else place[units]), MOST_UNITS
    if units is None:
        return columns
    sizes = np.bincount(units, minlength=n_units)
    sums = np.stack([np.bincount(units, column, n_units) for column in columns.T], axis=1)
    means = sums.sum(axis=0) / columns.shape[0]
    return means + (sums - means * sizes[:, None]) / sizes.mean()


def bootstrap_intervals(values: np.ndarray, level: float, seed: int) -> list[Interval]:
    """Return the bootstrap-t interval of the mean of each column; all columns share their samples.

    NaN for fewer than 10 values: the spread of small samples is often 0.
    """
    if values.shape[0] < LEAST_UNITS:
        return [Interval(math.nan, math.nan)] * values.shape[1]
    lows, highs = studentised_columns(values, level, DRAWS, seed)
    return [Interval(float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
