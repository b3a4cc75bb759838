"""Recommendations to a user in ``plackett refine``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plackett.cli.refining.methods import Methods
    from plackett.data.feedback.movielens import Movies, Ratings

RELEVANT_FROM = 4.0  # of ratings from 1 to 5, as in the literature


def recommend_to(
    user: int, ratings: str, items: str, methods: Methods, n: int, min_ratings: int, *, as_json: bool
) -> None:
    """Print the best items for a user."""
    from plackett._tables import Column, Table
    from plackett.cli.shared import output
    from plackett.rankers.recommendation.recommend import recommend
    from plackett.validation import count_of

    rated, movies = read_rated(ratings, items)
    name, refiner = next(iter(methods.refiners().items()))
    relevant_from = RELEVANT_FROM if methods.relevant_from is None and not methods.is_boosted else methods.relevant_from
    found = recommend(rated, movies, user, refiner, n=n, min_ratings=min_ratings, relevant_from=relevant_from)
    n_own = int((rated.user == user).sum())
    titles = dict(zip(movies.item.tolist(), movies.title.tolist(), strict=True))
    lines = [
        {"item": item, "title": titles[item], "score": score, "expected_rating": expected, "base_rank": place}
        for item, score, expected, place in zip(*(column.tolist() for column in found), strict=True)
    ]
    if as_json:
        output.write_json({"user": user, "n_rated": n_own, "method": name, "recommended": lines})
        return
    columns = [Column(f"for user {user}", "text"), Column("item", digits=0)]
    columns += [Column("expected rating", digits=2), Column("base rank", digits=0)]
    rows = [[line["title"], str(line["item"]), line["expected_rating"], line["base_rank"]] for line in lines]
    output.write_table(Table(columns, rows))
    users = count_of(rated.n_users - 1, "other user")
    output.note(
        f"base: personality diagnosis of {users}; refined ({name}) by {count_of(n_own, 'rating')} of user {user}"
    )


def read_rated(ratings: str, items: str) -> tuple[Ratings, Movies]:
    """Read MovieLens files or others in their formats."""
    from plackett.cli.shared import inputs
    from plackett.data.feedback.movielens import read_movielens, read_movies

    inputs.check_exists(ratings, items)
    return read_movielens(ratings), read_movies(items)
