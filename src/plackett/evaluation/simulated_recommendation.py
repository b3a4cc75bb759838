"""Evaluation of refinement in recommendation: items that users rated, ranked before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from plackett.data.feedback.ratings import RatingTable, item_features, rating_table
from plackett.data.queries import Queries
from plackett.evaluation.simulated_feedback import (
    DEFAULT_METRICS,
    RESIDUAL,
    FeedbackResult,
    Metrics,
    measure_refinements,
)
from plackett.metrics.conventions import Convention
from plackett.rankers.recommendation.personality import PersonalityDiagnosis
from plackett.rankers.refinement.judgements import as_relevance
from plackett.validation import check_positive_int, count_of


def recommendation(
    ratings: Any,
    features: Any,
    refiner: Any,
    *,
    n_train_users: int = 20,
    n_given: int = 10,
    relevant_from: float | None = 4.0,
    base_feature: bool = True,
    sigma: float = 2.5,
    metrics: Metrics = DEFAULT_METRICS,
    convention: str | Convention = "standard",
    random_state: Any = 0,
) -> FeedbackResult:
    """Recommend by personality diagnosis, refine by ratings of the user, and evaluate both on the user's other items.

    ``PersonalityDiagnosis`` is fitted to some users, drawn at random. Each of the others is a list of the items that
    the user rated: ``n_given`` of them, drawn at random, are passed to the base ranker and to the refiner, and the rest
    (the residual list) is ranked. Users with no more than ``n_given`` ratings are skipped. The result has residual
    lists only, with the users as query ids and the items as document ids.

    Parameters
    ----------
    ratings : Ratings, tuple (user, item, rating), ``{user: {item: rating}}``, sparse matrix or array
        As for ``PersonalityDiagnosis.fit``.
    features : Movies, tuple (item, X), or array of shape (n_items, n_features)
        Features of every item: genres from ``read_movies``, rows with their item ids, or rows in the order of the
        columns of a matrix of ratings.
    refiner : refiner, or dict of str to refiner
    n_train_users : int, default=20
    n_given : int, default=10
    relevant_from : float, default=4.0
        Ratings of at least this become 1 and others 0, for judgements and measures; None keeps the ratings.
    base_feature : bool, default=True
        Whether refiners see the base score as an additional feature. Without it, as in Jin, Valizadegan and Li (2008),
        they keep the base ranking only as far as item features express it, which degrades a good base ranking.
    sigma : float, default=2.5
        Parameter of ``PersonalityDiagnosis``.
    metrics, convention : as in ``evaluate``
    random_state : int, RandomState or None, default=0
        Seed for the draws of users and items.

    Examples
    --------
    >>> from plackett.evaluation import recommendation
    >>> import numpy as np
    >>> from plackett import MultiplicativeRefiner
    >>> ratings = np.array([[5, 5, 1, 1], [1, 1, 5, 5], [5, 4, 1, 2], [2, 1, 4, 5]])  # users × items
    >>> genre = np.array([[1], [1], [0], [0]])
    >>> print(recommendation(ratings, genre, MultiplicativeRefiner(), n_train_users=2, n_given=1, metrics="map"))
    list: ranking         map
    residual: base     1.0000
    residual: refined  1.0000
      p-value          1.0000
    """
    check_positive_int(n_train_users, "n_train_users")
    check_positive_int(n_given, "n_given")
    table = rating_table(ratings)
    if n_train_users >= table.users.size:
        raise ValueError(
            f"n_train_users={n_train_users:,} of {count_of(table.users.size, 'user')} leaves no user to test on."
        )
    draws = check_random_state(random_state)
    shuffled = draws.permutation(table.users.size)
    n_rated = np.diff(table.indptr)
    tested = np.sort(shuffled[n_train_users:])
    n_short = int((n_rated[tested] <= n_given).sum())
    tested = tested[n_rated[tested] > n_given]
    if not tested.size:
        raise ValueError(f"no user outside the training users has more than n_given={n_given:,} ratings.")
    given = np.concatenate([np.isin(np.arange(n), draws.permutation(n)[:n_given]) for n in n_rated[tested].tolist()])
    train, places = (_places_of_users(table, users) for users in (np.sort(shuffled[:n_train_users]), tested))
    columns, indptr = table.columns[places], np.concatenate([[0], np.cumsum(n_rated[tested])])
    X, labels = item_features(features, table)[columns], as_relevance(table.rating[places], relevant_from)
    lists = Queries.from_groups(X, labels, table.users[tested], indptr, docid=table.items[columns])
    model = PersonalityDiagnosis(sigma=sigma).fit(_columns(table, train))
    base = model.predict(lists.qid, lists.docid, ratings=_columns(table, places[given]))
    column = lists.n_features
    if base_feature:
        lists = lists.replace(X=np.column_stack([lists.X, base]))
    judgements = np.where(given, lists.labels, np.nan)
    notes = []
    if n_short:
        short = count_of(n_short, "user has", "users have")
        notes.append(f"{short} no more than {n_given:,} ratings and {'is' if n_short == 1 else 'are'} skipped")
    known = column if base_feature else base
    return measure_refinements(lists, known, judgements, given, refiner, {RESIDUAL: ~given}, metrics, convention, notes)


def _places_of_users(table: RatingTable, users: np.ndarray) -> np.ndarray:
    """Return the places of all ratings by some users."""
    return np.concatenate([np.arange(*table.indptr[user : user + 2]) for user in users])


def _columns(table: RatingTable, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    user_of = np.repeat(np.arange(table.users.size), np.diff(table.indptr))
    return table.users[user_of[places]], table.items[table.columns[places]], table.rating[places]
