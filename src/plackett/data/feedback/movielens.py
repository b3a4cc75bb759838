"""Reading the ratings and films of MovieLens."""

from __future__ import annotations

import csv
import io
import os
from functools import cached_property
from typing import IO, TYPE_CHECKING

import numpy as np

from plackett._lazy import importing
from plackett.data.text_table import UTF8_MARK, as_numbers, collect, quote, read_words
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import count_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
CSV_HEADER = b"userId,movieId,rating,timestamp"
MOVIES_HEADER = b"movieId,title,genres"
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
    >>> from plackett.data.feedback.movielens import Ratings
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

        rows = np.searchsorted(self.users, self.user)
        columns = np.searchsorted(self.items, self.item)
        order = np.lexsort((columns, rows))
        repeats = np.flatnonzero((np.diff(rows[order]) == 0) & (np.diff(columns[order]) == 0))
        if repeats.size:
            row = order[repeats[0] + 1]
            raise ValueError(
                f"user {self.user[row]} rated item {self.item[row]} twice (rows {order[repeats[0]]} and {row})."
            )
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.n_users))])
        parts = (self.rating[order], columns[order].astype(np.int32), indptr.astype(np.int32))
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


@local_files
def read_movielens(source: str | os.PathLike | IO) -> Ratings:
    r"""Read ratings from ``u.data`` (100k, tabs), ``ratings.dat`` (1M, ``::``) or ``ratings.csv`` (later editions).

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).

    Returns
    -------
    Ratings
        In the order of the file.

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
    lines, words = collect(read_words(io.BytesIO(text), 4, name=name, expected=RATING_LINE), range(4))
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

    Returns
    -------
    Movies
        In the order of the file.

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
        lines = [(number, line) for number, line in enumerate(file, 1) if line.strip()]
    first = lines[0][1].removeprefix(UTF8_MARK).strip() if lines else b""
    if first == MOVIES_HEADER:
        return _with_genres(_csv_films(lines[1:], name), genre_names)
    if b"::" in first:
        return _with_genres(_dat_films(lines, name), genre_names)
    return _with_flags(lines, name, list(GENRES if genre_names is None else genre_names))


def _with_flags(lines: list[tuple[int, bytes]], name: str, genre_names: list[str]) -> Movies:
    """Return films whose genres are columns of 0 and 1."""
    n_columns = COLUMNS_BEFORE_GENRES + len(genre_names)
    item, title, genres = [], [], []
    for number, line in lines:
        fields = line.rstrip(b"\r\n").split(b"|")
        flags = fields[COLUMNS_BEFORE_GENRES:]
        if len(fields) != n_columns or not fields[0].isdigit() or not set(flags) <= {b"0", b"1"}:
            expected = f"item|title|date|date|address and {len(genre_names)} times 0 or 1"
            message = f"expected {expected} ({n_columns} columns), found {len(fields)}: {quote(line.strip())}."
            raise DataFormatError(name, number, message)
        item.append(int(fields[0]))
        title.append(_decoded(fields[1]))
        genres.append([flag == b"1" for flag in flags])
    flags_of_all = np.array(genres, dtype=bool).reshape(len(item), len(genre_names))
    return Movies(np.array(item, dtype=np.int64), np.array(title, dtype=str), flags_of_all, genre_names)


def _with_genres(films: list[tuple[int, str, list[str]]], genre_names: list[str] | None) -> Movies:
    """Return films whose genres are lists of names."""
    names = sorted({genre for _, _, own in films for genre in own}) if genre_names is None else list(genre_names)
    places = {genre: place for place, genre in enumerate(names)}
    genres = np.zeros((len(films), len(names)), dtype=bool)
    for row, (_, _, own) in enumerate(films):
        genres[row, [places[genre] for genre in own if genre in places]] = True
    item = np.array([item for item, _, _ in films], dtype=np.int64)
    return Movies(item, np.array([title for _, title, _ in films], dtype=str), genres, names)


def _csv_films(lines: list[tuple[int, bytes]], name: str) -> list[tuple[int, str, list[str]]]:
    rows = ((number, next(csv.reader([_decoded(line)]), [])) for number, line in lines)
    return [_film(fields, number, name, "movieId,title,genres") for number, fields in rows]


def _dat_films(lines: list[tuple[int, bytes]], name: str) -> list[tuple[int, str, list[str]]]:
    rows = ((number, _decoded(line.removeprefix(UTF8_MARK)).strip().split("::")) for number, line in lines)
    return [_film(fields, number, name, "item::title::genre|genre") for number, fields in rows]


def _film(fields: list[str], number: int, name: str, expected: str) -> tuple[int, str, list[str]]:
    if len(fields) != 3 or not (fields[0].isascii() and fields[0].isdigit()):
        found = quote(",".join(fields).encode())
        raise DataFormatError(name, number, f"expected {expected} (3 columns), found {len(fields)}: {found}.")
    genres = [] if fields[2].strip() == NO_GENRES else fields[2].strip().split("|")
    return int(fields[0]), fields[1], [genre for genre in genres if genre]


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:  # 100k and 1M
        return text.decode("latin-1")
