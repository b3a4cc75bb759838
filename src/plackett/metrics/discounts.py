"""The discounts of DCG, and the position weights of p-ListMLE and ``wpd``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.validation import check_choice

DISCOUNTS = ("log2", "jarvelin")
POSITION_WEIGHTS = ("exp2", "exp", "dcg", "linear")


def discounts(name: str, n: int) -> np.ndarray:
    """Return discounts of positions 1 to n: ``"log2"`` 1/log2(i + 1), or ``"jarvelin"`` 1, 1, 1/log2 i (base 2)."""
    check_choice(name, "discount", DISCOUNTS)
    positions = np.arange(1, n + 1, dtype=np.float64)
    if name == "log2":
        return 1.0 / np.log2(positions + 1.0)
    return 1.0 / np.log2(np.maximum(positions, 2.0))


def position_weights(rule: str | Callable[[np.ndarray, int], np.ndarray], n: int, *, base: float = 2.0) -> np.ndarray:
    """Return decreasing weights α of positions 1 to n, with α(1) at most 1 for the named rules except ``"linear"``.

    ``"exp2"`` is (2^(n−i) − 1)/(2^(n−1) − 1), ``"exp"`` the same with ``base``, ``"dcg"`` 1/log2(i + 1), ``"linear"``
    n − i; a callable gets the positions and n. No power above 1 is ever formed.
    """
    positions = np.arange(1, n + 1, dtype=np.float64)
    if callable(rule):
        weights = np.asarray(rule(positions, n), dtype=np.float64)
        if weights.shape != (n,) or not np.isfinite(weights).all():
            raise ValueError(f"the position weights of {n} positions must be {n} finite numbers.")
        return weights
    check_choice(rule, "position_weights", POSITION_WEIGHTS)
    if rule == "dcg":
        return discounts("log2", n)
    if rule == "linear":
        return n - positions
    base = 2.0 if rule == "exp2" else float(base)
    if not base > 1.0:
        raise ValueError(f"base={base:g}; it must be above 1 for the weights to decrease.")
    if n < 2:
        return np.zeros(n)
    smallest = base ** -(n - 1.0)
    return np.maximum(base ** (1.0 - positions) - smallest, 0.0) / (1.0 - smallest)  # rounding may go below 0
