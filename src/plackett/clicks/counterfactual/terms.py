"""What each session adds to an estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import map_blocks
from plackett.clicks.log import ClickLog
from plackett.clicks.models.collapse import session_blocks


class Ratio(NamedTuple):
    """A sum over sessions divided by another one; without ``weights``, by the number of sessions."""

    values: np.ndarray
    weights: np.ndarray | None = None


@dataclass
class Terms:
    """The sessions' parts of an estimate.

    ``weight`` and ``square`` are the sums over the clicks of a session of their weights in the estimate and of the
    squares. ``covered`` is the share of the new ranking that the log can say something about (by position) or the mean
    weight, whose expectation is 1 (by logging probabilities). ``clipping`` is what clipping takes away, by an estimate
    that is not clipped; ``unknown`` bounds the bias.
    """

    ratio: Ratio
    weight: np.ndarray
    square: np.ndarray
    covered: np.ndarray
    clipping: np.ndarray | None = None
    unknown: np.ndarray | None = None

    def columns(self) -> list[np.ndarray]:
        """Return all arrays with one value for each session."""
        rest = [self.weight, self.square, self.covered, self.clipping, self.unknown]
        return [part for part in (*self.ratio, *rest) if part is not None]

    def value(self) -> float:
        """Return the estimate."""
        values, weights = self.ratio
        return float(values.mean() if weights is None else values.sum() / weights.sum())

    def effective_clicks(self) -> float:
        """Return the number of equally weighted clicks with the same variance."""
        squares = float(self.square.sum())
        return float(self.weight.sum()) ** 2 / squares if squares > 0 else 0.0

    def linear(self) -> np.ndarray:
        """Return values whose mean is the estimate, and whose variance gives its error: the ratio, linearised."""
        values, weights = self.ratio
        if weights is None:
            return values
        value = self.value()
        return value + (values - value * weights) / weights.mean()

    def taken(self, order: np.ndarray) -> Terms:
        """Return the terms of the sessions in another order."""

        def taken(values: Any) -> Any:
            return None if values is None else values[order]

        rest = {one.name: taken(getattr(self, one.name)) for one in fields(self) if one.name != "ratio"}
        return Terms(Ratio(*map(taken, self.ratio)), **rest)


def by_session(log: ClickLog, work: Callable[[ClickLog, slice, slice], list[np.ndarray]]) -> list[np.ndarray]:
    """Return columns of values of sessions; ``work`` gets a part of the log, with its sessions and rows."""
    blocks = [(log[first:last], slice(first, last), rows) for first, last, rows in session_blocks(log)]
    return [np.concatenate(column) for column in zip(*map_blocks(work, blocks), strict=True)]


def session_sums(log: ClickLog, values: np.ndarray) -> np.ndarray:
    """Return sums of values of rows over each session."""
    return np.add.reduceat(values, log.indptr[:-1])


def prefix_products(part: ClickLog, values: np.ndarray) -> np.ndarray:
    """Return the products of the values of each row and the rows above it in its list."""
    products, lengths = values.copy(), np.diff(part.indptr)
    for rank in range(1, part.longest):
        rows = part.indptr[:-1][lengths > rank] + rank
        products[rows] *= products[rows - 1]
    return products
