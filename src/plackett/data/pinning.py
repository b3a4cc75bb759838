"""Scores with judged documents pinned to the ends of their lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from plackett.data.queries import Queries


def pinned(queries: Queries, scores: np.ndarray, labels: np.ndarray, relevant_from: float) -> np.ndarray:
    """Return scores with relevant documents above all others of their query, and other judged ones below."""
    answer = scores.astype(np.float64)
    for place in range(queries.n_queries):
        own = queries.rows_of(place)
        lowest, highest = answer[own].min(), answer[own].max()
        for is_moved, edge, sign in (
            (labels[own] >= relevant_from, highest, 1.0),  # a NaN is neither
            (labels[own] < relevant_from, lowest, -1.0),
        ):
            moved = own[is_moved]
            places = _places(sign * labels[moved], sign * answer[moved])
            answer[moved] = edge + sign * max(1.0, 1e-9 * abs(edge)) * (1.0 + places)
    return answer


def _places(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return places from 0 by label, then by score; equal in both have the same place."""
    _, places = np.unique(np.column_stack([labels, scores]), axis=0, return_inverse=True)
    return places.reshape(-1).astype(np.float64)
