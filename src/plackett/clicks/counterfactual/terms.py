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
    """The sessions' parts of an estimate, which is a sum of ratios.

    ``weight`` and ``square`` are the sums over the clicks of a session of their weights in the estimate and of the
    squares. ``low`` and ``high`` bound what a session can add. ``covered`` is the share of the new ranking that the
    log can say something about (by position) or the mean weight, whose expectation is 1 (by logging probabilities).
    ``clipping`` is what clipping takes away, by an estimate that is not clipped; ``unknown`` bounds the bias.
    """

    ratios: list[Ratio]
    weight: np.ndarray
    square: np.ndarray
    covered: np.ndarray
    low: np.ndarray
    high: np.ndarray
    clipping: np.ndarray | None = None
    unknown: np.ndarray | None = None

    def columns(self) -> list[np.ndarray]:
        """Return all arrays with one value for each session."""
        ratios = [part for ratio in self.ratios for part in ratio if part is not None]
        rest = [self.weight, self.square, self.covered, self.low, self.high, self.clipping, self.unknown]
        return ratios + [part for part in rest if part is not None]

    def value(self) -> float:
        """Return the estimate."""
        return sum(float(_quotient(ratio)) for ratio in self.ratios)

    def linear(self) -> np.ndarray:
        """Return values whose mean is the estimate, and whose variance gives its error: the ratios, linearised."""
        total = np.zeros(self.weight.size)
        for ratio in self.ratios:
            if ratio.weights is None:
                total += ratio.values
            else:
                quotient = _quotient(ratio)
                total += quotient + (ratio.values - quotient * ratio.weights) / ratio.weights.mean()
        return total

    def taken(self, order: np.ndarray) -> Terms:
        """Return the terms of the sessions in another order."""

        def taken(values: Any) -> Any:
            return None if values is None else values[order]

        ratios = [Ratio(taken(ratio.values), taken(ratio.weights)) for ratio in self.ratios]
        rest = {one.name: taken(getattr(self, one.name)) for one in fields(self) if one.name != "ratios"}
        return Terms(ratios, **rest)


def _quotient(ratio: Ratio) -> np.floating:
    return ratio.values.mean() if ratio.weights is None else ratio.values.sum() / ratio.weights.sum()


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


def sums_below(part: ClickLog, values: np.ndarray) -> np.ndarray:
    """Return the sums of the values of each row and the rows below it in its list."""
    sums, lengths = values.copy(), np.diff(part.indptr)
    for rank in range(part.longest - 2, -1, -1):
        rows = part.indptr[:-1][lengths > rank + 1] + rank
        sums[rows] += sums[rows + 1]
    return sums
