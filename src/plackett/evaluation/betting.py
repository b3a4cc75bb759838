"""Means of bounded values by betting: intervals and tests that hold whenever they are inspected (waudby2023)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from plackett._lazy import importing

FRACTIONS = np.append(0.95, 0.5 ** np.arange(1, 10))  # of the largest bet that cannot lose everything
STEPS = 10_000  # values are counted in this many steps from 0 to 1
EXACT = 1 << 48  # the sum is kept in whole multiples of 1 / EXACT, so that the order of values does not matter
BISECTIONS = 40


class Tally:
    """Counted values between -1 and 1, from which the mean, its interval and its test follow.

    A value between two steps counts as the lower one where a low value is the cautious choice, and as the upper one
    otherwise. So a tally of any number of values has at most ``4 * STEPS + 1`` entries, an update takes constant time,
    and the result does not depend on the order of the values.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add([1.0, 1.0, 0.5, -1.0, 1.0, 1.0])
    >>> tally.n, round(tally.mean, 3)
    (6, 0.583)
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()  # by twice the lower step, plus 1 for values between two steps
        self.n, self.total = 0, 0

    def add(self, values: Iterable[float]) -> None:
        """Count some values."""
        for value in values:
            place = value * STEPS
            step = math.floor(place)
            self.counts[2 * step + (place != step)] += 1
            self.n += 1
            self.total += round(value * EXACT)

    @property
    def mean(self) -> float:
        """The mean of the values, NaN if there are none."""
        return self.total / EXACT / self.n if self.n else math.nan

    def reversed(self) -> Tally:
        """Return the tally of the negative values."""
        other = Tally()
        other.counts = Counter({-key: count for key, count in self.counts.items()})
        other.n, other.total = self.n, -self.total
        return other

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lower and the upper bounds of the counted values, and the counts."""
        keys = np.array(sorted(self.counts), dtype=np.int64)
        counts = np.array([self.counts[int(key)] for key in keys], dtype=np.float64)
        return keys // 2 / STEPS, np.minimum((keys + 1) // 2, STEPS) / STEPS, counts

    def interval(self, level: float) -> tuple[float, float]:
        """Return an interval for the mean that holds at all times together with probability ``level``."""
        low, high, counts = self.bounds()
        return _lower_end(low, counts, level), -_lower_end(-high, counts, level)


def log_capital(values: np.ndarray, counts: np.ndarray, mean: float) -> float:
    """Return the logarithm of the capital of a gambler who bets that the mean is above ``mean``.

    The capital is divided equally between bets on all values, each a fixed fraction of the largest one, so it is a
    mean of products of ``1 + fraction * (value - mean) / (1 + mean)`` and falls in ``mean``.
    """
    if mean <= -1:
        return math.inf if (values[counts > 0] > -1).any() else 0.0
    factors = 1 - FRACTIONS + FRACTIONS * (1 + values[:, None]) / (1 + mean)
    by_fraction = counts @ np.log(factors)
    largest = by_fraction.max()
    return float(largest + np.log(np.exp(by_fraction - largest).mean()))


def _lower_end(values: np.ndarray, counts: np.ndarray, level: float) -> float:
    """Return the largest mean that is ruled out from below."""
    bar = math.log(2 / (1 - level))
    ruled_out, open_ = -1.0, 1.0
    if not counts.size or log_capital(values, counts, ruled_out) < bar:
        return -1.0
    for _ in range(BISECTIONS):
        middle = (ruled_out + open_) / 2
        if log_capital(values, counts, middle) >= bar:
            ruled_out = middle
        else:
            open_ = middle
    return ruled_out


def values_needed(values: np.ndarray, shares: np.ndarray, *, level: float, power: float, anytime: bool = True) -> float:
    """Return the number of such values after which 0 is excluded with probability ``power``; infinite for mean 0.

    ``values`` and ``shares`` are the distribution of a value. They are inspected after every value, or, unless
    ``anytime``, once, by the normal approximation.
    """
    with importing:
        from scipy.special import ndtri

    mean = float(shares @ values)
    if mean == 0:
        return math.inf
    if not anytime:
        deviation = math.sqrt(max(float(shares @ values**2) - mean**2, 0.0))
        return math.ceil(max(1.0, ((ndtri((1 + level) / 2) + ndtri(power)) * deviation / mean) ** 2))
    # the logarithm of the capital of each bet is a random walk; in a bad run all of them are low together
    logs = np.log1p(math.copysign(1, mean) * FRACTIONS * values[:, None])
    drift = shares @ logs
    spread = np.sqrt(np.maximum(shares @ logs**2 - drift**2, 0.0))
    bar, quantile = math.log(2 * FRACTIONS.size / (1 - level)), float(ndtri(power))

    def is_enough(n: float) -> bool:
        return bool(np.logaddexp.reduce(n * drift - quantile * math.sqrt(n) * spread) >= bar)

    if not (drift > 0).any():
        return math.inf
    few, many = 0, 1
    while not is_enough(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_enough(middle) else (middle, many)
    return float(many)
