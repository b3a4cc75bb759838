"""What personality diagnosis works on: the raters, the active users, and what is asked about whom."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from plackett import _native
from plackett._threads import map_blocks
from plackett.data.feedback.rating_table import RatingTable, places_of
from plackett.validation import count_of

EXPECTED, MOST_PROBABLE = _native.rankers.EXPECTED, _native.rankers.MOST_PROBABLE
MAX_LEVELS = 1000  # of different ratings: all of them are compared with each other
IMPOSSIBLE = -1e200  # log-probability where a square overflows: finite, so that sums still tell more from less
USERS_PER_BLOCK = 8


class Raters:
    """The training users' ratings by cell, an item and a level.

    ``raters[cell_ptr[c]:cell_ptr[c + 1]]`` are the users who gave item ``c // n_levels`` the level ``c % n_levels``.
    """

    def __init__(self, table: RatingTable):
        self.n_raters, self.n_items = table.users.size, table.items.size
        self.levels, level = levels_of(table.rating)
        cell = table.columns * self.levels.size + level
        counts = np.bincount(cell, minlength=self.n_items * self.levels.size)
        self.cell_ptr = np.concatenate([[0], np.cumsum(counts)])
        row = np.repeat(np.arange(self.n_raters), np.diff(table.indptr))
        self.raters = row[np.argsort(cell, kind="stable")]
        self.counts = counts.reshape(self.n_items, self.levels.size)

    def typical(self, answer: int) -> np.ndarray:
        """The mean or most frequent rating of each item, NaN where it has none, and behind them that of all ratings."""
        counts = np.vstack([self.counts, self.counts.sum(axis=0)])
        n = counts.sum(axis=1)
        if answer == MOST_PROBABLE:
            return np.where(n > 0, self.levels[counts.argmax(axis=1)], np.nan)
        return np.divide(counts @ self.levels, n, out=np.full(n.size, np.nan), where=n > 0)


class Active:
    """The users to predict for, and their ratings of items that may or may not be known to the raters.

    Parameters
    ----------
    table : RatingTable
    items : ndarray
        The ids of the raters' items.
    left_out : ndarray of shape (n_users,)
        The row of each active user among the raters, which is skipped for that user; -1 for a user without one.
    """

    def __init__(self, table: RatingTable, items: np.ndarray, left_out: np.ndarray):
        self.users, self.indptr, self.rating, self.left_out = table.users, table.indptr, table.rating, left_out
        self.items = table.columns if table.items is items else places_of(table.items, items, "item")[table.columns]

    @classmethod
    def among(cls, raters: RatingTable, table: RatingTable) -> Active:
        """Active users of ``table``, those who are raters recognised as such.

        They are recognised by their ids. Rows of a matrix have none: they are the raters of the same row numbers where
        these have the same ratings.
        """
        if not table.is_matrix:
            are_alike = {table.users.dtype.kind, raters.users.dtype.kind} != {"i", "U"}  # else none has a known id
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
        """The mean or most frequent rating of each user, NaN where it has none, and NaN behind them."""
        user = np.repeat(np.arange(self.users.size), np.diff(self.indptr))
        typical = np.full(self.users.size + 1, np.nan)
        if answer == MOST_PROBABLE:
            levels, level = self.levels
            cells, n = np.unique(user * levels.size + level, return_counts=True)
            order = np.lexsort((-cells, n))  # the most frequent last, and of these the smallest rating
            typical[cells[order] // levels.size] = levels[cells[order] % levels.size]
        else:
            n = np.bincount(user, minlength=self.users.size)
            total = np.bincount(user, weights=self.rating, minlength=self.users.size)
            np.divide(total, n, out=typical[:-1], where=n > 0)
        return typical


class Requests(NamedTuple):
    """Request ``r`` asks for items ``wanted[starts[r]:stops[r]]`` and active user ``who[r]``; -1 is somebody unknown.

    Its answers stand from ``targets[r]`` on. ``order`` is the place of each answer in what the caller asked for, or
    None where the order is the same.
    """

    who: np.ndarray
    wanted: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    targets: np.ndarray
    order: np.ndarray | None

    @classmethod
    def of_table(cls, who: np.ndarray, wanted: np.ndarray) -> Requests:
        """Every item for every user."""
        zeros = np.zeros(who.size, dtype=np.int64)
        return cls(who, wanted, zeros, zeros + wanted.size, np.arange(who.size) * wanted.size, None)

    @classmethod
    def of_pairs(cls, who: np.ndarray, wanted: np.ndarray) -> Requests:
        """One item for one user, over and over; the likelihoods of a user are computed once for all its pairs."""
        order = np.argsort(who, kind="stable")
        users, starts = np.unique(who[order], return_index=True)
        return cls(users, wanted[order], starts, np.append(starts[1:], who.size)[: users.size], starts, order)


def diagnose(raters: Raters, active: Active, requests: Requests, sigma: float, answer: int) -> np.ndarray:
    """Expected (or most probable) ratings, one per wanted item and request, in the caller's order."""
    levels, (own_levels, own_level) = raters.levels, active.levels
    log_p = log_probabilities(own_levels, levels, sigma) + np.log(levels.size)
    p = np.exp(log_probabilities(levels, levels, sigma))
    n_answers = int((requests.stops - requests.starts).sum())
    out = np.full(n_answers, np.nan)

    def work(first: int, last: int) -> None:
        _native.rankers.diagnose_personality(
            first, last, requests.who, requests.starts, requests.stops, requests.targets, requests.wanted,
            active.indptr, active.items, own_level, active.left_out, log_p, p, levels, levels @ p,
            raters.cell_ptr, raters.raters, raters.n_raters, answer, out,
        )  # fmt: skip

    n = requests.who.size
    map_blocks(work, [(first, min(first + USERS_PER_BLOCK, n)) for first in range(0, n, USERS_PER_BLOCK)])
    _fill_unknown(out, raters, active, requests, answer)
    if requests.order is not None:
        out[requests.order] = out.copy()
    return out


def _fill_unknown(out: np.ndarray, raters: Raters, active: Active, requests: Requests, answer: int) -> None:
    """Put what is typical of the user, else of the item, else of all ratings, where there was nothing to diagnose."""
    rows = np.flatnonzero(np.isnan(out))
    if not rows.size:
        return
    request = np.searchsorted(requests.targets, rows, side="right") - 1
    item = requests.wanted[requests.starts[request] + rows - requests.targets[request]]
    of_user, of_item = active.typical(answer), raters.typical(answer)
    found = of_user[requests.who[request]]  # -1, somebody unknown, is the NaN at the end
    found = np.where(np.isnan(found), of_item[item], found)  # -1, an item unknown, is the mean at the end
    out[rows] = np.where(np.isnan(found), of_item[-1], found)


def log_probabilities(x: np.ndarray, levels: np.ndarray, sigma: float) -> np.ndarray:
    """``log p(x | y)`` in row x and column y: Gaussian noise around y, normalised over all levels."""
    with np.errstate(over="ignore"):
        squares = -0.5 * ((x[:, None] - levels) / sigma) ** 2
        normalisers = logsumexp(-0.5 * ((levels[:, None] - levels) / sigma) ** 2, axis=0)
    return np.maximum(squares - normalisers, IMPOSSIBLE)


def levels_of(rating: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different ratings, ascending, and the place of each rating among them."""
    levels, level = np.unique(rating, return_inverse=True)
    if levels.size > MAX_LEVELS:
        raise ValueError(
            f"there are {count_of(levels.size, 'different rating')}; personality diagnosis is for a scale of at most "
            f"{MAX_LEVELS:,}. Round them first."
        )
    return levels, level.reshape(-1)
