"""Ratings of items by users: those of MovieLens, and any supported form as one table of users, items and values."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.data.grouping import as_keys, as_objects, is_one_id, keys_of_list
from plackett.data.text_table import UTF8_MARK, as_numbers, quote, read_words
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_csr, check_not_masked, check_numbers, count_of, is_sparse, plain

if TYPE_CHECKING:
    from scipy.sparse import csr_array


GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
CSV_HEADER = b"userId,movieId,rating,timestamp"
MOVIES_HEADER = "movieId,title,genres"
NO_GENRES = "(no genres listed)"
RATING_LINE = "user item rating timestamp"
COLUMNS_BEFORE_GENRES = 5  # item, title, release date, video release date, address


class Ratings:
    """Ratings of items by users, with their times, in the order of the file.

    Parameters
    ----------
    user, item : array-like of int of shape (n_ratings,)
    rating : array-like of shape (n_ratings,)
    timestamp : array-like of int of shape (n_ratings,)
        Seconds since 1970.

    Attributes
    ----------
    users, items : ndarray
        The ids that occur, ascending.

    Examples
    --------
    >>> from plackett.data.feedback.ratings import Ratings
    >>> ratings = Ratings([1, 1, 7], [10, 20, 10], [5, 3, 4], [0, 0, 0])
    >>> ratings
    Ratings(3 ratings of 2 items by 2 users)
    >>> ratings.matrix().toarray()
    array([[5., 3.],
           [4., 0.]])
    """

    def __init__(self, user: object, item: object, rating: object, timestamp: object):
        self.user, self.item = np.asarray(user, dtype=np.int64), np.asarray(item, dtype=np.int64)
        self.rating, self.timestamp = np.asarray(rating, dtype=np.float64), np.asarray(timestamp, dtype=np.int64)
        sizes = {values.shape for values in (self.user, self.item, self.rating, self.timestamp)}
        if len(sizes) > 1 or self.user.ndim != 1:
            raise ValueError(
                f"user, item, rating and timestamp must be vectors of equal length, not of shapes {sorted(sizes)}."
            )

    @cached_property
    def users(self) -> np.ndarray:
        return np.unique(self.user)

    @cached_property
    def items(self) -> np.ndarray:
        return np.unique(self.item)

    @property
    def n_users(self) -> int:
        return self.users.size

    @property
    def n_items(self) -> int:
        return self.items.size

    def matrix(self) -> csr_array:
        """Return the ratings as a CSR array: row ``i`` is user ``users[i]``, column ``j`` is item ``items[j]``.

        A rating of 0 stays a stored value. An item that a user rated twice raises an error.
        """
        with importing:
            from scipy.sparse import csr_array

        table = rating_table(self)
        parts = (table.rating, table.columns.astype(np.int32), table.indptr.astype(np.int32))
        return csr_array(parts, shape=(self.n_users, self.n_items))

    def __len__(self) -> int:
        return self.user.size

    def __repr__(self) -> str:
        items, users = count_of(self.n_items, "item"), count_of(self.n_users, "user")
        return f"Ratings({count_of(len(self), 'rating')} of {items} by {users})"


class Movies:
    """Films with their genres.

    Attributes
    ----------
    item : ndarray of int of shape (n_movies,)
        Number of each film, as in the ratings.
    title : ndarray of str of shape (n_movies,)
        Title of each film.
    genres : ndarray of bool of shape (n_movies, n_genres)
        Whether a film has a genre.
    genre_names : list of str
        Names of the genres, in the order of the columns.

    Examples
    --------
    >>> from plackett import datasets
    >>> import io
    >>> datasets.read_movies(io.StringIO("1::Toy Story (1995)::Animation|Comedy")).genres
    array([[ True,  True]])
    """

    def __init__(self, item: np.ndarray, title: np.ndarray, genres: np.ndarray, genre_names: list[str]):
        self.item, self.title, self.genres, self.genre_names = item, title, genres, genre_names

    def __len__(self) -> int:
        return self.item.size

    def __repr__(self) -> str:
        return f"Movies({len(self):,} movies, {len(self.genre_names)} genres)"


# --- Files of MovieLens -----------------------------------------------------------------------------------------------


@local_files
def read_movielens(source: str | os.PathLike | IO) -> Ratings:
    r"""Read ratings from ``u.data`` (100k, tabs), ``ratings.dat`` (1M, ``::``) or ``ratings.csv`` (later editions).

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).

    Examples
    --------
    >>> from plackett import datasets
    >>> import io
    >>> datasets.read_movielens(io.StringIO("196\t242\t3\t881250949\n186\t302\t3\t891717742\n")).user
    array([196, 186])
    """
    name = name_of(source)
    with open_bytes(source) as file:
        first = file.readline().removeprefix(UTF8_MARK)
        is_csv = first.strip() == CSV_HEADER
        text = (b"\n" if is_csv else first) + file.read()  # an empty line for the header keeps the line numbers right
    if is_csv or b"::" in first:
        text = text.replace(b"," if is_csv else b"::", b"\t")
    lines, words = read_words(io.BytesIO(text), range(4), 4, name=name, expected=RATING_LINE)
    kinds = (np.int64, np.int64, np.float64, np.int64)
    numbers = zip(words, kinds, RATING_LINE.split(), strict=True)
    columns = [as_numbers(column, kind, lines, name=name, what=what) for column, kind, what in numbers]
    bad = ~np.isfinite(columns[2])
    if bad.any():
        raise DataFormatError(name, int(lines[np.argmax(bad)]), "expected a finite number as rating.")
    return Ratings(*columns)


@local_files
def read_movies(source: str | os.PathLike | IO, genre_names: list[str] | None = None) -> Movies:
    r"""Read films from ``u.item`` (100k), ``movies.dat`` (1M, 10M) or ``movies.csv`` (later editions).

    ``u.item`` has ``item|title|release date|video release date|address|`` and a 0 or 1 per genre, the others
    ``item::title::genre|genre`` and ``movieId,title,genres``. Titles are UTF-8, or else latin-1.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).
    genre_names : list of str, default=None
        Names of the genre columns. None means the 19 of ``u.genre`` for ``u.item``, and for the others the genres that
        occur, by name; there, genres other than those given are ignored.

    Examples
    --------
    >>> from plackett import datasets
    >>> import io
    >>> movies = datasets.read_movies(io.StringIO("movieId,title,genres\n1,Toy Story (1995),Animation|Comedy\n"))
    >>> movies.title.tolist(), movies.genre_names
    (['Toy Story (1995)'], ['Animation', 'Comedy'])
    """
    name = name_of(source)
    with open_bytes(source) as file:
        lines = [
            (number, _decoded(line.removeprefix(UTF8_MARK))) for number, line in enumerate(file, 1) if line.strip()
        ]
    first = lines[0][1].strip() if lines else ""
    names = None if genre_names is None else list(genre_names)
    if first == MOVIES_HEADER:
        films = [_film(next(csv.reader([line]), []), number, name, MOVIES_HEADER) for number, line in lines[1:]]
    elif "::" in first:
        films = [_film(line.strip().split("::"), number, name, "item::title::genre|genre") for number, line in lines]
    else:
        names = list(GENRES) if names is None else names
        films = [_film_with_flags(line.rstrip("\r\n").split("|"), number, name, names) for number, line in lines]
    names = sorted({genre for _, _, own in films for genre in own}) if names is None else names
    places = {genre: place for place, genre in enumerate(names)}
    genres = np.zeros((len(films), len(names)), dtype=bool)
    for row, (_, _, own) in enumerate(films):
        genres[row, [places[genre] for genre in own if genre in places]] = True
    item = np.array([item for item, _, _ in films], dtype=np.int64)
    return Movies(item, np.array([title for _, title, _ in films], dtype=str), genres, names)


def _film_with_flags(fields: list[str], number: int, name: str, genre_names: list[str]) -> tuple[int, str, list[str]]:
    """Return the number, title and genres of a film whose genres are columns of 0 and 1."""
    flags, n_columns = fields[COLUMNS_BEFORE_GENRES:], COLUMNS_BEFORE_GENRES + len(genre_names)
    if len(fields) != n_columns or not _is_whole(fields[0]) or not set(flags) <= {"0", "1"}:
        expected = f"item|title|date|date|address and {len(genre_names)} times 0 or 1"
        found = quote("|".join(fields).encode())
        message = f"expected {expected} ({n_columns} columns), found {len(fields)}: {found}."
        raise DataFormatError(name, number, message)
    return int(fields[0]), fields[1], [genre for genre, flag in zip(genre_names, flags, strict=True) if flag == "1"]


def _film(fields: list[str], number: int, name: str, expected: str) -> tuple[int, str, list[str]]:
    if len(fields) != 3 or not _is_whole(fields[0]):
        found = quote(",".join(fields).encode())
        raise DataFormatError(name, number, f"expected {expected} (3 columns), found {len(fields)}: {found}.")
    genres = [] if fields[2].strip() == NO_GENRES else fields[2].strip().split("|")
    return int(fields[0]), fields[1], [genre for genre in genres if genre]


def _is_whole(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:  # 100k and 1M
        return text.decode("latin-1")


# --- Tables of ratings ------------------------------------------------------------------------------------------------


class RatingTable(NamedTuple):
    """Ratings by user: user ``u`` owns positions ``indptr[u]:indptr[u + 1]``, with distinct items in ascending order.

    ``users`` and ``items`` have each id once: numbers and text ascending, others in order of first appearance; row and
    column numbers if the ratings were given as a matrix (``is_matrix``), whose columns have no ids. ``columns`` are
    positions in ``items``.
    """

    users: np.ndarray
    items: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    rating: np.ndarray
    is_matrix: bool


def rating_table(ratings: Any) -> RatingTable:
    """Return the table of ratings, which must be finite, with each item at most once per user.

    They are ``Ratings``, a tuple (user, item, rating), ``{user: {item: rating}}``, or a matrix of users by items. In a
    sparse one every stored value is a rating, including 0; in an array all but NaN.
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

    They are given as ``Movies``, a tuple (item, X), or rows in the order of the columns of a matrix of ratings.
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
    if is_one_id(ids):
        raise ValueError(f"{name} is {plain(ids)!r}; a list of ids is needed.")
    keys = as_keys(ids, name)
    keys = keys_of_list(keys.tolist()) if keys.dtype.kind in "Ou" else keys
    return keys.astype(np.int64) if keys.dtype.kind == "i" else keys


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
