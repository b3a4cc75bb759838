"""Personality diagnosis: expected ratings from the ratings of other users.

It does not use the fit template of ``rankers/base.py``: it learns from ratings of items by users, and has no rows of
features, no queries, no iterations and no validation set.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.feedback.ratings import RatingTable, as_ids, places_of, rating_table
from plackett.rankers.recommendation.diagnosis import EXPECTED, MOST_PROBABLE, Active, Raters, Requests, diagnose
from plackett.storage import models
from plackett.validation import check_number


class PersonalityDiagnosis(BaseEstimator):
    r"""Predicts ratings from users with similar ratings, as base scores for recommendation (``pennock2000``).

    Every user of ``fit`` is a personality, and a rating is what a personality would give plus Gaussian noise: with σ =
    ``sigma`` and the ratings x' that occur in ``fit``,

        ``p(x | y) = exp(-(x - y)² / 2σ²) / Σ_x' exp(-(x' - y)² / 2σ²)``,
        ``p(x | missing) = 1 / #ratings``.

    An active user a, who gave the ratings ``R_ak``, gives item j the rating h with probability

        ``P(R_aj = h) ∝ Σ_{i rated j} p(h | R_ij) Π_{k rated by a} p(R_ak | R_ik)``,

    computed in logarithms, which do not underflow for users with thousands of ratings. A user of ``fit`` is compared
    with all other users, not with itself. Ratings that do not occur in ``fit`` have the same noise.

    The prediction for an item that no (other) user of ``fit`` rated is the active user's mean rating; for a user
    without ratings it is the item's mean rating; if both are unknown it is the mean of all ratings. ``predict_rating``
    takes the most frequent rating instead of the mean.

    Parameters
    ----------
    sigma : float, default=2.5
        Standard deviation of the noise, in units of the ratings; 2.5 is for ratings from 1 to 5.

    Attributes
    ----------
    users_, items_ : ndarray
        The ids of ``fit``: numbers and text ascending, others by first appearance; row and column numbers of a matrix.
    levels_ : ndarray of shape (n_levels,)
        The ratings that occur, ascending.
    matrix_ : csr_array of shape (n_users, n_items)
        The ratings; a stored 0 is a rating.

    Examples
    --------
    >>> from plackett import PersonalityDiagnosis
    >>> user = ["ann", "ann", "ann", "bob", "bob", "bob"]
    >>> item = ["alien", "brazil", "clue", "alien", "brazil", "clue"]
    >>> model = PersonalityDiagnosis(sigma=1.0).fit((user, item, [5, 1, 5, 1, 5, 2]))

    A new user, whose ratings are similar to Ann's:

    >>> model.predict(["eve"], ["clue"], ratings={"eve": {"alien": 4, "brazil": 1}}).round(2)
    array([4.97])
    >>> model.predict_rating(["eve"], ["clue"], ratings={"eve": {"alien": 4, "brazil": 1}})
    array([5.])

    All items for all users of ``fit``:

    >>> model.predict().shape
    (2, 3)
    """

    not_portable = "it scores the items of a user by the ratings of others, not by features"

    def __init__(self, sigma: float = 2.5):
        self.sigma = sigma

    def fit(self, ratings: Any, y: None = None) -> PersonalityDiagnosis:
        """Store the ratings of the training users.

        Parameters
        ----------
        ratings : Ratings, tuple (user, item, rating), ``{user: {item: rating}}``, sparse matrix or array
            ``Ratings`` is what ``plackett.datasets.read_movielens`` returns; the tuple holds three columns, with any
            hashable ids. Of a sparse matrix, users by items, every stored value is a rating, zeros too; of an array,
            every value but NaN. An item that a user rated twice is an error.
        y : ignored
        """
        check_number(self.sigma, "sigma", above=0)
        table = rating_table(ratings)
        if not table.rating.size:
            raise ValueError("there are no ratings.")
        raters = Raters(table)
        self.users_, self.items_, self.levels_ = table.users, table.items, raters.levels
        shape = (table.users.size, table.items.size)
        self.matrix_ = csr_array((table.rating, table.columns, table.indptr), shape=shape)
        self._raters = raters
        return self

    def predict(self, user: Any = None, item: Any = None, *, ratings: Any = None) -> np.ndarray:
        """Return expected ratings, higher is better.

        Parameters
        ----------
        user, item : list of ids, or one id, default=None
            With both, one rating per pair; a single id is repeated for all ids of the other. With one or none of them,
            a table: None means all active users, or all items of ``fit``. Unknown ids are users and items without
            ratings.
        ratings : as in ``fit``, default=None
            Ratings of the active users, who need not be in ``fit``. None takes the users of ``fit``. A user with the id
            of a user of ``fit`` is that user, and is compared only with the others. A matrix must have the columns of
            ``fit``, and its row numbers are the user ids; a row is the user of ``fit`` with the same number if the
            ratings are equal, and a new user otherwise.

        Returns
        -------
        ndarray of shape (n_pairs,), or (n_users, n_items) for a table
            The rows of a table are the users in the order of ``user``, or all in the order of ``users_`` or, by the
            same rule, of ``ratings``. Its columns are the items in the order of ``item``, or ``items_``.
        """
        return self._ratings(user, item, ratings, EXPECTED)

    def predict_rating(self, user: Any = None, item: Any = None, *, ratings: Any = None) -> np.ndarray:
        """Return the most probable ratings; ties go to the smallest.

        Parameters
        ----------
        user, item, ratings : as in ``predict``
        """
        return self._ratings(user, item, ratings, MOST_PROBABLE)

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write the fitted model to a file that ``plackett.load`` reads; the file holds no code."""
        with importing:
            from plackett.rankers import registry  # its classes are those that a file may name

        check_is_fitted(self)
        registry.fill()
        models.save(self, path)

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets."""
        check_number(self.sigma, "sigma", above=0)
        shape = (np.size(self.users_), np.size(self.items_))
        if not isinstance(self.matrix_, csr_array) or self.matrix_.shape != shape or not self.matrix_.nnz:
            raise ValueError("matrix_ must hold the ratings, one row per user and one column per item.")
        rating_table(self.matrix_)  # finite, and no item twice
        raters = Raters(self._fitted_table())
        if not np.array_equal(raters.levels, self.levels_):
            raise ValueError("levels_ must be the ratings that occur.")
        for name in ("users_", "items_"):
            ids = as_ids(getattr(self, name), name)
            if len(set(ids.tolist())) < ids.size:
                raise ValueError(f"{name} must hold each id once.")
        self._raters = raters

    def _fitted_table(self) -> RatingTable:
        matrix = self.matrix_
        indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        return RatingTable(
            self.users_, self.items_, indptr, columns, matrix.data.astype(np.float64, copy=False), is_matrix=False
        )

    def _ratings(self, user: Any, item: Any, ratings: Any, answer: int) -> np.ndarray:
        check_is_fitted(self)
        sigma = check_number(self.sigma, "sigma", above=0)
        active = self._active(ratings)
        users = None if user is None else _ids(user, "user")
        items = None if item is None else _ids(item, "item")
        columns = np.arange(self.items_.size) if items is None else places_of(items, self.items_, "item")
        rows = np.arange(active.users.size) if users is None else places_of(users, active.users, "user")
        if users is None or items is None:
            ratings = diagnose(self._raters, active, Requests.of_table(rows, columns), sigma, answer)
            return ratings.reshape(rows.size, columns.size)
        rows, columns = _pairs(user, rows, item, columns)
        return diagnose(self._raters, active, Requests.of_pairs(rows, columns), sigma, answer)

    def _active(self, ratings: Any) -> Active:
        fitted = self._fitted_table()
        if ratings is None:
            return Active(fitted, fitted.items, np.arange(fitted.users.size))
        table = rating_table(ratings)
        if table.is_matrix:
            if table.items.size != self.items_.size:
                raise ValueError(
                    f"ratings has {table.items.size:,} columns, but fit had {self.items_.size:,} items. "
                    "For other items, pass the ratings with their ids: (user, item, rating)."
                )
            table = table._replace(items=self.items_)
        return Active.among(fitted, table)


def _is_one(ids: Any) -> bool:
    return isinstance(ids, (str, bytes)) or not hasattr(ids, "__iter__") or getattr(ids, "ndim", 1) == 0


def _ids(ids: Any, name: str) -> np.ndarray:
    return as_ids([ids] if _is_one(ids) else ids, name)


def _pairs(user: Any, rows: np.ndarray, item: Any, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of rows and columns; a single id is repeated for all ids of the other."""
    if _is_one(user):
        rows = np.repeat(rows, columns.size)
    elif _is_one(item):
        columns = np.repeat(columns, rows.size)
    if rows.size != columns.size:
        raise ValueError(
            f"user has {rows.size:,} ids but item has {columns.size:,}; a pair needs one of each. For a table of all "
            "items for some users, leave item out."
        )
    return rows, columns
