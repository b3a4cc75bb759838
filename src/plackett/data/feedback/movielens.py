"""Reading the ratings and films of MovieLens."""

from __future__ import annotations

import csv
import io
import os
from typing import IO

import numpy as np

from plackett.data.feedback.ratings import Movies, Ratings
from plackett.data.text_table import UTF8_MARK, as_numbers, quote, read_words
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files

GENRES = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
CSV_HEADER = b"userId,movieId,rating,timestamp"
MOVIES_HEADER = "movieId,title,genres"
NO_GENRES = "(no genres listed)"
RATING_LINE = "user item rating timestamp"
COLUMNS_BEFORE_GENRES = 5  # item, title, release date, video release date, address


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
    lines = [(number, line.removeprefix("\ufeff")) for number, line in lines]
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
