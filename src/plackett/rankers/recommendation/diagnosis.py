"""Computation of personality diagnosis: raters, active users, requests and predicted ratings."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from plackett import _native
from plackett._arrays import bounds, part_of_place
from plackett._threads import map_blocks
from plackett.data.feedback.ratings import RatingTable, places_of
from plackett.validation import count_of

EXPECTED, MOST_PROBABLE = _native.rankers.EXPECTED, _native.rankers.MOST_PROBABLE
MAX_LEVELS = 1000  # different ratings, which are all compared with each other
IMPOSSIBLE = -1e200  # log-probability where a square overflows; finite, so that sums can still be compared
USERS_PER_BLOCK = 8


class Raters:
    """The ratings of the training users, by item and level.

    ``raters[cell_ptr[c]:cell_ptr[c + 1]]`` are the users that rated item ``c // n_levels`` with level ``c % n_levels``.
    """

    def __init__(self, table: RatingTable):
        self.n_raters, self.n_items = table.users.size, table.items.size
        self.levels, level = levels_of(table.rating)
        cell = table.columns * self.levels.size + level
        counts = np.bincount(cell, minlength=self.n_items * self.levels.size)
        self.cell_ptr = bounds(counts)
        row = part_of_place(table.indptr)
        self.raters = row[np.argsort(cell, kind="stable")]
        self.counts = counts.reshape(self.n_items, self.levels.size)

    def typical(self, answer: int) -> np.ndarray:
        """Return the mean or most frequent rating of each item, NaN without ratings; the last one is of all ratings."""
        counts = np.vstack([self.counts, self.counts.sum(axis=0)])
        n = counts.sum(axis=1)
        if answer == MOST_PROBABLE:
            return np.where(n > 0, self.levels[counts.argmax(axis=1)], np.nan)
        return np.divide(counts @ self.levels, n, out=np.full(n.size, np.nan), where=n > 0)


class Active:
    """The users to predict for, and their ratings.

    ``left_out`` has the row of each among the training users, which is skipped for that user; -1 for a new user.
    """

    def __init__(self, table: RatingTable, items: np.ndarray, left_out: np.ndarray):
        self.users, self.indptr, self.rating, self.left_out = table.users, table.indptr, table.rating, left_out
        self.items = table.columns if table.items is items else places_of(table.items, items, "item")[table.columns]

    @classmethod
    def among(cls, raters: RatingTable, table: RatingTable) -> Active:
        """Return the users of ``table`` as active users, with their rows among the training users.

        Users are identified by their ids. A row of a matrix has no id: it is the training user of the same row number
        if the ratings are equal.
        """
        if not table.is_matrix:
            are_alike = {table.users.dtype.kind, raters.users.dtype.kind} != {
                "i",
                "U",
            }  # else no id is known
            known = places_of(table.users, raters.users, "user") if are_alike else np.full(table.users.size, -1)
            return cls(table, raters.items, known)
        known = np.full(table.users.size, -1)
        for user in range(min(table.users.size, raters.users.size)):
            own, rater = (slice(part.indptr[user], part.indptr[user + 1]) for part in (table, raters))
            is_same = np.array_equal(table.columns[own], raters.columns[rater])
            if is_same and np.array_equal(table.rating[own], raters.rating[rater]):
                known[user] = user
        return cls(table, raters.items, known)

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        return levels_of(self.rating)

    def typical(self, answer: int) -> np.ndarray:
        """Return the mean or most frequent rating of each user, NaN without ratings; the last one is NaN."""
        user = part_of_place(self.indptr)
        typical = np.full(self.users.size + 1, np.nan)
        if answer == MOST_PROBABLE:
            levels, level = self.levels
            cells, n = np.unique(user * levels.size + level, return_counts=True)
            order = np.lexsort((-cells, n))  # the most frequent last, of equally frequent ones the smallest
            typical[cells[order] // levels.size] = levels[cells[order] % levels.size]
        else:
            n = np.bincount(user, minlength=self.users.size)
            total = np.bincount(user, weights=self.rating, minlength=self.users.size)
            np.divide(total, n, out=typical[:-1], where=n > 0)
        return typical


class Requests(NamedTuple):
    """Request ``r`` is for active user ``users[r]`` and ``items[starts[r]:stops[r]]``; -1 is an unknown user or item.

    Its ratings are stored from ``targets[r]`` on. ``order`` is the place of each rating in the result, or None if the
    order is the same.
    """

    users: np.ndarray
    items: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    targets: np.ndarray
    order: np.ndarray | None

    @classmethod
    def of_table(cls, users: np.ndarray, items: np.ndarray) -> Requests:
        """Return requests of every item for every user."""
        zeros = np.zeros(users.size, dtype=np.int64)
        return cls(users, items, zeros, zeros + items.size, np.arange(users.size) * items.size, None)

    @classmethod
    def of_pairs(cls, users: np.ndarray, items: np.ndarray) -> Requests:
        """Return requests of one item for one user each, grouped by user."""
        order = np.argsort(users, kind="stable")
        unique, starts = np.unique(users[order], return_index=True)
        return cls(unique, items[order], starts, np.append(starts[1:], users.size)[: unique.size], starts, order)


def diagnose(raters: Raters, active: Active, requests: Requests, sigma: float, answer: int) -> np.ndarray:
    """Return expected (or most probable) ratings, one per requested item, in the order of the caller."""
    levels, (own_levels, own_level) = raters.levels, active.levels
    log_p = log_probabilities(own_levels, levels, sigma) + np.log(levels.size)
    p = np.exp(log_probabilities(levels, levels, sigma))
    n_answers = int((requests.stops - requests.starts).sum())
    out = np.full(n_answers, np.nan)

    def work(first: int, last: int) -> None:
        _native.rankers.diagnose_personality(
            first, last, requests.users, requests.starts, requests.stops, requests.targets, requests.items,
            active.indptr, active.items, own_level, active.left_out, log_p, p, levels, levels @ p,
            raters.cell_ptr, raters.raters, raters.n_raters, answer, out,
        )  # fmt: skip

    n = requests.users.size
    map_blocks(work, [(first, min(first + USERS_PER_BLOCK, n)) for first in range(0, n, USERS_PER_BLOCK)])
    _fill_unknown(out, raters, active, requests, answer)
    if requests.order is not None:
        out[requests.order] = out.copy()
    return out


def _fill_unknown(out: np.ndarray, raters: Raters, active: Active, requests: Requests, answer: int) -> None:
    """Replace NaN by the typical rating of the user, else of the item, else of all ratings."""
    rows = np.flatnonzero(np.isnan(out))
    if not rows.size:
        return
    request = np.searchsorted(requests.targets, rows, side="right") - 1
    item = requests.items[requests.starts[request] + rows - requests.targets[request]]
    of_user, of_item = active.typical(answer), raters.typical(answer)
    found = of_user[requests.users[request]]  # -1, an unknown user, takes the NaN at the end
    found = np.where(np.isnan(found), of_item[item], found)  # -1, an unknown item, takes that of all ratings
    out[rows] = np.where(np.isnan(found), of_item[-1], found)


def log_probabilities(x: np.ndarray, levels: np.ndarray, sigma: float) -> np.ndarray:
    """Return ``log p(x | y)`` in row x and column y: Gaussian noise around y, normalised over all levels."""
    with np.errstate(over="ignore"):
        squares = -0.5 * ((x[:, None] - levels) / sigma) ** 2
        normalisers = logsumexp(-0.5 * ((levels[:, None] - levels) / sigma) ** 2, axis=0)
    return np.maximum(squares - normalisers, IMPOSSIBLE)


def levels_of(rating: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different ratings, ascending, and the index of each rating among them."""
    levels, level = np.unique(rating, return_inverse=True)
    if levels.size > MAX_LEVELS:
        raise ValueError(
            f"there are {count_of(levels.size, 'different rating')}; personality diagnosis supports at most "
            f"{MAX_LEVELS:,}. Round them first."
        )
    return levels, level.reshape(-1)
