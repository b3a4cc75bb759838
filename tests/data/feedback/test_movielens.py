"""MovieLens files: every edition's spelling, and the counts that GroupLens publishes."""

from __future__ import annotations

import io

import numpy as np
import pytest

from plackett.data.feedback.ratings import GENRES, Ratings, read_movielens, read_movies
from plackett.exceptions import DataFormatError

SPELLINGS = {
    "100k": b"196\t242\t3\t881250949\n186\t302\t3.5\t891717742\n",
    "1M": b"196::242::3::881250949\n186::302::3.5::891717742\n",
    "csv": b"userId,movieId,rating,timestamp\r\n196,242,3.0,881250949\r\n186,302,3.5,891717742\r\n",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_edition_reads_alike(text):
    ratings = read_movielens(io.BytesIO(text))
    assert ratings.user.tolist() == [196, 186]
    assert ratings.item.tolist() == [242, 302]
    assert ratings.rating.tolist() == [3.0, 3.5]
    assert ratings.timestamp.tolist() == [881250949, 891717742]
    assert (len(ratings), ratings.n_users, ratings.n_items) == (2, 2, 2)


def test_the_matrix_has_a_row_per_user_and_a_column_per_item_in_order_of_their_ids():
    ratings = Ratings([7, 1, 7], [20, 10, 10], [5, 3, 0], [0, 0, 0])
    matrix = ratings.matrix()
    assert (ratings.users.tolist(), ratings.items.tolist()) == ([1, 7], [10, 20])
    assert matrix.toarray().tolist() == [[3, 0], [0, 5]]
    assert matrix.nnz == 3  # a rating of 0 is a rating
    assert matrix.has_canonical_format


def test_an_item_that_was_rated_twice_has_no_place_in_the_matrix():
    with pytest.raises(ValueError, match=r"user 7 rated item 10 twice \(positions 0 and 2\)"):
        Ratings([7, 1, 7], [10, 10, 10], [5, 3, 4], [0, 0, 0]).matrix()


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="vectors of equal length"):
        Ratings([1, 2], [1], [1], [1])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"1\t2\t3\n", 1, '"user item rating timestamp" (4 columns), found 3'),
        (b"1\t2\t3\t4\n1\tx\t3\t4\n", 2, 'expected a whole number as item, found "x"'),
        (b"userId,movieId,rating,timestamp\n1,2,nan,4\n", 2, "expected a finite number as rating"),
        (b"userId,movieId,rating,timestamp\n1,,3,4\n", 2, "found 3"),
    ],
)
def test_a_bad_line_says_where_and_what(text, line, message):
    with pytest.raises(DataFormatError) as caught:
        read_movielens(io.BytesIO(text))
    assert caught.value.line == line
    assert message in str(caught.value)


def test_an_empty_file_has_no_ratings():
    assert len(read_movielens(io.BytesIO(b""))) == 0


def film(number, title, *genres):
    flags = "|".join("1" if name in genres else "0" for name in GENRES)
    return f"{number}|{title}|01-Jan-1995||http://example.org|{flags}\n".encode("latin-1")


def test_films_are_read_with_titles_and_genres():
    movies = read_movies(io.BytesIO(film(1, "Léon (1994)", "Crime", "Drama") + b"\n" + film(9, "unknown", "unknown")))
    assert movies.item.tolist() == [1, 9]
    assert movies.title.tolist() == ["Léon (1994)", "unknown"]
    assert [name for name, flag in zip(movies.genre_names, movies.genres[0], strict=True) if flag] == ["Crime", "Drama"]
    assert repr(movies) == "Movies(2 movies, 19 genres)"


@pytest.mark.parametrize(
    "line", [b"1|x|0|1\n", film(1, "x").replace(b"|0\n", b"|2\n"), film("one", "x")], ids=["short", "2", "word"]
)
def test_a_bad_film_says_where(line):
    with pytest.raises(DataFormatError, match=r"line 2: expected item\|title"):
        read_movies(io.BytesIO(film(1, "x") + line))


@pytest.mark.parametrize(
    "text",
    [
        'movieId,title,genres\r\n1,"American President, The (1995)",Comedy|Drama\r\n\r\n9,Léon,(no genres listed)\r\n',
        "1::American President, The (1995)::Comedy|Drama\n9::Léon::(no genres listed)\n",
    ],
    ids=["csv", "dat"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_later_editions_name_the_genres_of_each_film(text, encoding):
    movies = read_movies(io.BytesIO(text.encode(encoding)))
    assert movies.item.tolist() == [1, 9]
    assert movies.title.tolist() == ["American President, The (1995)", "Léon"]
    assert movies.genre_names == ["Comedy", "Drama"]
    assert movies.genres.tolist() == [[True, True], [False, False]]
    chosen = read_movies(io.BytesIO(text.encode(encoding)), ["Drama", "War"])
    assert (chosen.genre_names, chosen.genres.tolist()) == (["Drama", "War"], [[True, False], [False, False]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"movieId,title,genres\n1,a, b,Drama\n", "line 2: expected movieId,title,genres .3 columns., found 4"),
        (b"1::a::Drama\nx::a::Drama\n", r"line 2: expected item::title::genre\|genre .3 columns., found 3"),
    ],
)
def test_a_bad_film_of_a_later_edition_says_where(text, message):
    with pytest.raises(DataFormatError, match=message):
        read_movies(io.BytesIO(text))


def test_the_films_of_the_small_edition_are_all_that_were_rated(shared_data):
    folder = shared_data / "movielens-small-2018"
    movies = read_movies(folder / "movies.csv.gz")
    assert (len(movies), len(movies.genre_names)) == (9_742, 19)
    assert set(read_movielens(folder / "ratings.csv.gz").items.tolist()) <= set(movies.item.tolist())


def test_100k_has_its_published_counts(shared_data):
    folder = shared_data / "movielens-100k"
    ratings = read_movielens(folder / "u.data.gz")
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_000, 943, 1_682)
    levels, counts = np.unique(ratings.rating, return_counts=True)
    assert levels.tolist() == [1, 2, 3, 4, 5]
    assert counts.tolist() == [6_110, 11_370, 27_145, 34_174, 21_201]
    matrix = ratings.matrix()
    assert (matrix.shape, matrix.nnz, matrix.sum()) == ((943, 1_682), 100_000, ratings.rating.sum())
    user, item = np.searchsorted(ratings.users, 196), np.searchsorted(ratings.items, 242)
    assert matrix[user, item] == 3  # the first line of the file


def test_the_five_test_splits_of_100k_cover_all_ratings_once(shared_data):
    folder = shared_data / "movielens-100k"
    parts = [read_movielens(folder / f"u{number}.test.gz") for number in range(1, 6)]
    pairs = {pair for part in parts for pair in zip(part.user.tolist(), part.item.tolist(), strict=True)}
    assert len(pairs) == sum(map(len, parts)) == 100_000


def test_the_films_of_100k_have_the_genres_of_its_list(shared_data):
    folder = shared_data / "movielens-100k"
    movies = read_movies(folder / "u.item.gz")
    listed = [line.split("|")[0] for line in (folder / "u.genre").read_text(encoding="utf-8").splitlines() if line]
    assert listed == list(GENRES) == movies.genre_names
    assert movies.genres.shape == (1_682, 19)
    assert movies.item.tolist() == list(range(1, 1_683))
    assert movies.title[0] == "Toy Story (1995)"
    assert movies.genres.any(axis=1).all()


def test_small_has_its_published_counts(shared_data):
    ratings = read_movielens(shared_data / "movielens-small-2018" / "ratings.csv.gz")
    assert (len(ratings), ratings.n_users, ratings.n_items) == (100_836, 610, 9_724)
    assert np.unique(ratings.rating).tolist() == [half / 2 for half in range(1, 11)]
