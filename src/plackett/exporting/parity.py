"""Check that an exported model gives the scores of its ranker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._arrays import dense
from plackett.validation import count_of

TOLERANCE = 1e-5
ROWS_PER_BLOCK = 1 << 14


@dataclass(frozen=True)
class Parity:
    """The largest difference of scores of an exported model from those of its ranker, and the spread of these."""

    n_rows: int
    difference: float
    spread: float

    @property
    def relative(self) -> float:
        """The difference as a share of the spread."""
        return self.difference / self.spread

    def __str__(self) -> str:
        rows = count_of(self.n_rows, "row")
        return f"checked on {rows}: scores differ by at most {self.relative:.1e} of their spread"


def check_parity(score: Callable[[np.ndarray], np.ndarray], ranker: Any, X: Any, target: str) -> Parity:
    """Compare the scores of an exported model with those of the ranker; raise if they differ by 1e-5 of their spread.

    The ranker scores the rows in float64 even if X is float32, so all rounding is the target's.
    """
    queries = ranker.check(X)
    rows = queries.X.astype(np.float64)
    doubled = queries.replace(X=rows)
    ours = ranker.predict(doubled)  # in the order of the groups
    parts = (rows[first : first + ROWS_PER_BLOCK] for first in range(0, ours.size, ROWS_PER_BLOCK))
    theirs = np.concatenate([score(dense(part)) for part in parts]).astype(np.float64)
    spread = float(np.ptp(ours)) or float(np.abs(ours).max()) or 1.0
    differences = np.abs(ours - theirs)
    row = int(np.argmax(np.where(np.isnan(differences), np.inf, differences)))
    found = Parity(ours.size, float(differences[row]), spread)
    if not found.relative <= TOLERANCE:
        place = row if queries.row_order is None else int(queries.row_order[row])
        raise ValueError(
            f"{target} would score row {place} as {theirs[row]:.9g} instead of {ours[row]:.9g}; the difference is "
            f"{found.relative:.1e} of the scores' spread, above {TOLERANCE:g}. Where it reads values as float32, train "
            "and check with float32 rows, or scale the columns. Nothing was written."
        )
    return found
