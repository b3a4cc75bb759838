"""Simulated users: the probability that a shown document is examined and clicked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.validation import check_choice, check_number

USERS = ("pbm", "cascade", "ubm", "trust")
INDEPENDENT, CASCADE, BROWSING = 0, 1, 2  # as in _native/clicks/log/simulate.hpp
LOOKED_AT = (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06)  # joachims2005, as in ULTRA
# probability of examining a rank (rows) by the distance to the last click above (last column: no click), as in ULTRA
BROWSED = (
    (1.0,),
    (0.98, 1.0),
    (1.0, 0.62, 0.95),
    (1.0, 0.77, 0.42, 0.82),
    (1.0, 0.92, 0.55, 0.31, 0.69),
    (1.0, 0.96, 0.63, 0.4, 0.22, 0.54),
    (1.0, 0.99, 0.73, 0.46, 0.29, 0.17, 0.47),
    (1.0, 1.0, 0.89, 0.52, 0.35, 0.24, 0.14, 0.43),
    (1.0, 1.0, 0.95, 0.68, 0.4, 0.29, 0.19, 0.12, 0.41),
    (1.0, 1.0, 1.0, 0.96, 0.52, 0.36, 0.27, 0.18, 0.12, 0.43),
)


class User(NamedTuple):
    """A user: P(click) of an examined document of relevance x at rank r is ``slope[r] * x + offset[r]``.

    With the kind CASCADE nothing is examined after a click; with BROWSING rank r is examined with probability
    ``browse[r, last]``, where ``last`` is the rank of the last click above, 0 for none. Ranks of arrays begin at 0.
    """

    kind: int
    slope: np.ndarray
    offset: np.ndarray
    browse: np.ndarray
    relevance: np.ndarray


def get_user(name: str, labels: np.ndarray, k: int, *, eta: float, epsilon: float, max_label: float | None) -> User:
    """Return a simulated user who sees ``k`` ranks, and the relevance of documents with these labels."""
    check_choice(name, "user", USERS)
    eta, epsilon = check_number(eta, "eta", least=0), check_number(epsilon, "epsilon", least=0)
    if epsilon > 1:
        raise ValueError(f"epsilon={epsilon:g}; it is a probability and must be at most 1.")
    judged = np.nan_to_num(labels, nan=0.0)
    largest = float(judged.max(initial=0.0)) if max_label is None else check_number(max_label, "max_label", above=0)
    if largest <= 0 or judged.min(initial=0.0) < 0 or judged.max(initial=0.0) > largest:
        raise ValueError(f"the labels must lie between 0 and max_label ({largest:g}), and one must be above 0.")
    one = np.ones(k)
    rank = np.arange(1, k + 1)
    if name == "trust":
        looked_at = 0.35 / rank + 0.65 / (1 + 0.05 * (rank - 1))
        trusted, doubted = 1 / (1 + 0.005 * (rank - 1)), 0.65 / rank
        slope, offset = looked_at * (trusted - doubted), looked_at * doubted
        return User(INDEPENDENT, slope, offset, np.ones((1, 1)), judged / largest)
    relevance = epsilon + (1 - epsilon) * (2.0**judged - 1) / (2.0**largest - 1)
    if name == "pbm":
        looked_at = np.array([LOOKED_AT[min(i, len(LOOKED_AT) - 1)] for i in range(k)]) ** eta
        return User(INDEPENDENT, looked_at, 0 * one, np.ones((1, 1)), relevance)
    if name == "cascade":
        return User(CASCADE, one, 0 * one, np.ones((1, 1)), relevance)
    browse = np.zeros((k, k + 1))
    for place in range(k):
        for last in range(place + 1):  # 0: no click above
            browse[place, last] = _browsed(place, last) ** eta
    return User(BROWSING, one, 0 * one, browse, relevance)


def _browsed(place: int, last: int) -> float:
    table = BROWSED[min(place, len(BROWSED) - 1)]
    if last == 0:
        return table[-1]
    return table[min(place + 1 - last, len(table) - 1) - 1]
