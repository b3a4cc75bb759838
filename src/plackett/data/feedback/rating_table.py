"""Ratings in any supported form as one table of users, items and values."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from plackett.data.feedback.movielens import Movies, Ratings
from plackett.data.grouping import as_objects, is_missing
from plackett.validation import check_csr, check_not_masked, check_numbers, count_of, is_sparse, plain


class RatingTable(NamedTuple):
    """Ratings by user: user ``u`` owns positions ``indptr[u]:indptr[u + 1]``, with distinct items in ascending order.

    Attributes
    ----------
    users, items : ndarray
        Ids, each once: numbers and text ascending, other ids in order of first appearance. Row and column numbers if
        the ratings were given as a matrix.
    indptr : ndarray of shape (n_users + 1,)
    columns : ndarray of shape (n_ratings,)
        Positions in ``items``.
    rating : ndarray of shape (n_ratings,)
    is_matrix : bool
        Whether the ratings were given as a matrix, whose columns have no ids.
    """

    users: np.ndarray
    items: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    rating: np.ndarray
    is_matrix: bool


def rating_table(ratings: Any) -> RatingTable:
    """Return the table of ``ratings``, which must be finite, with each item at most once per user.

    Parameters
    ----------
    ratings : Ratings, tuple (user, item, rating), ``{user: {item: rating}}``, sparse matrix or array
        In a sparse matrix of users by items every stored value is a rating, including 0; in an array all but NaN.
    """
    check_not_masked(ratings, "ratings")
    if is_sparse(ratings):
        return _of_sparse(ratings)
    if isinstance(ratings, Ratings):
        return _of_columns(ratings.user, ratings.item, ratings.rating)
    if isinstance(ratings, Mapping):
        return _of_mapping(ratings)
    if isinstance(ratings, tuple) and len(ratings) == 3:
        return _of_columns(*ratings)
    if isinstance(ratings, np.ndarray):
        return _of_array(ratings)
    raise ValueError(
        f"ratings is a {type(ratings).__name__}; pass the result of read_movielens, a tuple (user, item, rating) of "
        "columns, {user: {item: rating}}, or a matrix of users by items (sparse, or an array with NaN where a user "
        "rated nothing)."
    )


def item_features(features: Any, table: RatingTable) -> np.ndarray:
    """Return one row of features per item of the table.

    Parameters
    ----------
    features : Movies, tuple (item, X), or array of shape (n_items, n_features)
        Genres, rows with their item ids, or rows in the order of the columns of a matrix of ratings.
    table : RatingTable
    """
    if isinstance(features, Movies):
        features = (features.item, features.genres)
    if not isinstance(features, tuple):
        rows = _dense(features)
        if not table.is_matrix or rows.shape[0] != table.items.size:
            raise ValueError(
                f"features has {rows.shape[0]:,} rows without item ids; pass (item, X), or ratings as a matrix with "
                f"that many columns (here {count_of(table.items.size, 'item')})."
            )
        return rows
    items, rows = as_ids(features[0], "item"), _dense(features[1])
    if rows.shape[0] != items.size:
        raise ValueError(f"features has {items.size:,} item ids but {rows.shape[0]:,} rows.")
    places = places_of(table.items, items, "item")
    if (places < 0).any():
        missing = plain(table.items[int(np.argmax(places < 0))])
        raise ValueError(
            f"features has no row for {count_of(int((places < 0).sum()), 'rated item')}, such as {missing!r}."
        )
    return rows[places]


def _dense(features: Any) -> np.ndarray:
    check_csr(features, "features")
    check_not_masked(features, "features")
    rows = np.asarray(features.toarray() if is_sparse(features) else features, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"features must be a table of items by features, not of shape {rows.shape}.")
    return rows


def _of_columns(user: Any, item: Any, rating: Any) -> RatingTable:
    values = check_numbers(rating, "rating")
    users, rows = distinct(as_ids(user, "user"))
    items, columns = distinct(as_ids(item, "item"))
    if not rows.size == columns.size == values.size:
        raise ValueError(
            f"there are {rows.size:,} users, {columns.size:,} items and {values.size:,} ratings; every rating needs "
            "one of each."
        )
    return _table(users, items, rows, columns, values, is_matrix=False)


def _of_mapping(ratings: Mapping) -> RatingTable:
    for user, own in ratings.items():
        if not isinstance(own, Mapping):
            raise ValueError(f"the ratings of user {user!r} are a {type(own).__name__}; {{item: rating}} is needed.")
    users = distinct(as_ids(list(ratings), "user"))[0]
    rows = np.repeat(places_of(as_ids(list(ratings), "user"), users, "user"), [len(own) for own in ratings.values()])
    items, columns = distinct(as_ids([item for own in ratings.values() for item in own], "item"))
    values = check_numbers([rating for own in ratings.values() for rating in own.values()], "rating")
    return _table(users, items, rows, columns, values, is_matrix=False)


def _of_sparse(ratings: Any) -> RatingTable:
    check_csr(ratings, "ratings")
    matrix = ratings.tocoo()
    if matrix.ndim != 2:
        raise ValueError(f"ratings has shape {matrix.shape}; a matrix of users by items is needed.")
    rows, columns = (np.asarray(part, dtype=np.int64) for part in matrix.coords)
    return _of_cells(rows, columns, matrix.data, matrix.shape)


def _of_array(ratings: np.ndarray) -> RatingTable:
    if ratings.ndim != 2 or ratings.dtype.kind not in "fiu":
        raise ValueError(
            f"ratings has shape {ratings.shape} and values of type {ratings.dtype}; a matrix of numbers, users by "
            "items, is needed."
        )
    is_rated = ~np.isnan(ratings) if ratings.dtype.kind == "f" else np.ones(ratings.shape, dtype=bool)
    rows, columns = np.nonzero(is_rated)
    return _of_cells(rows, columns, ratings[rows, columns], ratings.shape)


def _of_cells(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> RatingTable:
    if values.dtype.kind not in "fiu":
        raise ValueError(f"ratings has values of type {values.dtype}; numbers are needed.")
    values = values.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        place = int(np.argmax(bad))
        what = "a NaN" if np.isnan(values[place]) else "an infinite value"
        raise ValueError(f"ratings has {what} in row {rows[place]}, column {columns[place]}.")
    users, items = (np.arange(length) for length in shape)
    return _table(users, items, rows, columns, values, is_matrix=True)


def _table(users, items, rows, columns, values, *, is_matrix: bool) -> RatingTable:
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    repeats = np.flatnonzero((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1]))
    if repeats.size:
        first = repeats[0]
        user, item = plain(users[rows[first]]), plain(items[columns[first]])
        raise ValueError(
            f"user {user!r} rated item {item!r} twice (positions {order[first]} and {order[first + 1]}). "
            "Keep one of them."
        )
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=users.size))]).astype(np.int64)
    return RatingTable(users, items, indptr, columns.astype(np.int64), values[order], is_matrix)


def as_ids(ids: Any, name: str) -> np.ndarray:
    """Return ids as a vector: whole numbers (int64), text, or any hashable values as objects."""
    if isinstance(ids, (str, bytes, Mapping, Set)):
        kind = f"one text, {ids!r}" if isinstance(ids, (str, bytes)) else f"a {type(ids).__name__}"
        raise ValueError(f"{name} is {kind}; a list of ids is needed.")
    check_not_masked(ids, name)
    if not isinstance(ids, np.ndarray) and hasattr(ids, "__array__"):
        ids = np.asarray(ids)
    if not hasattr(ids, "__iter__"):
        raise ValueError(f"{name} is {plain(ids)!r}; a list of ids is needed.")
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise ValueError(f"{name} has shape {ids.shape}; a vector of ids is needed.")
        if ids.dtype.kind in "iU" or (ids.dtype.kind == "u" and ids.dtype.itemsize < 8):
            return ids.astype(np.int64) if ids.dtype.kind in "iu" else ids
        ids = ids.tolist() if ids.dtype.kind not in "mM" else list(ids)
    values = list(ids)
    kinds = {type(value) for value in values}
    if values and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        numbers = np.array(values)
        if numbers.dtype.kind == "i":
            return numbers.astype(np.int64)
    if values and kinds <= {str, np.str_}:
        return np.array(values)
    for row, value in enumerate(values):
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{name} holds a {type(value).__name__} in row {row} that cannot be an id.") from error
        if is_missing(value):
            raise ValueError(f"{name} is {value!r} in row {row}. Every row needs an id.")
    return as_objects(values) if values else np.zeros(0, dtype=np.int64)


def distinct(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ids, and the position of every id among them."""
    if ids.dtype.kind != "O":
        known, places = np.unique(ids, return_inverse=True)
        return known, places.reshape(-1)
    found: dict = {}
    places = np.fromiter((found.setdefault(key, len(found)) for key in ids), dtype=np.int64, count=ids.size)
    return as_objects(list(found)), places


def places_of(wanted: np.ndarray, known: np.ndarray, name: str) -> np.ndarray:
    """Return the position of each wanted id among the ``known`` ones, -1 if it is not among them."""
    kinds = {wanted.dtype.kind, known.dtype.kind}
    if kinds == {"i", "U"} and wanted.size and known.size:
        one, other = plain(wanted[0]), plain(known[0])
        raise ValueError(f"{name} {one!r} has a different type from the ids in the ratings, such as {other!r}.")
    if len(kinds) == 1 and "O" not in kinds and known.size:
        order = np.argsort(known, kind="stable")
        places = order[np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)]
        return np.where(known[places] == wanted, places, -1)
    table = {key: place for place, key in enumerate(known.tolist())}
    return np.fromiter((table.get(key, -1) for key in wanted.tolist()), dtype=np.int64, count=wanted.size)
