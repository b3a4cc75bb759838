"""Recommendations for a user: a list by personality diagnosis, refined by the ratings of the user."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from plackett.data.feedback.ratings import as_ids, item_features, places_of, rating_table
from plackett.data.queries import Queries
from plackett.rankers.recommendation.personality import PersonalityDiagnosis
from plackett.rankers.refinement.boosted import MultiplicativeRefiner
from plackett.rankers.refinement.judgements import as_relevance
from plackett.validation import check_positive_int, count_of


class Recommendations(NamedTuple):
    """Items that a user has not rated, the best first.

    Attributes
    ----------
    item : ndarray
        Ids.
    score : ndarray
        Refined scores; only their order has a meaning.
    base_score : ndarray
        Expected ratings by personality diagnosis.
    base_rank : ndarray of int
        Places in the list of personality diagnosis alone, from 1.

    Examples
    --------
    >>> from plackett import recommend
    >>> ratings = {"ann": {"alien": 5, "brazil": 1, "solaris": 5}, "eve": {"alien": 4, "brazil": 2}}
    >>> found = recommend(ratings, (["alien", "brazil", "solaris"], [[1], [0], [1]]), "eve", min_ratings=1)
    >>> found.item.tolist(), found.base_rank.tolist()
    (['solaris'], [1])
    """

    item: np.ndarray
    score: np.ndarray
    base_score: np.ndarray
    base_rank: np.ndarray


def recommend(
    ratings: Any,
    features: Any,
    user: Any,
    refiner: Any = None,
    *,
    n: int = 10,
    min_ratings: int = 20,
    relevant_from: float | None = None,
    sigma: float = 2.5,
) -> Recommendations:
    """Return the best items for a user, of those that this user has not rated.

    ``PersonalityDiagnosis`` learns from all other users and ranks the items. A refiner learns from the features of the
    items, with the base score as the last column, and the ratings of this user.
    ``plackett.evaluation.recommendation`` measures how much the refiner improves the ranking.

    Parameters
    ----------
    ratings : Ratings, tuple (user, item, rating), ``{user: {item: rating}}``, sparse matrix or array
        As for ``PersonalityDiagnosis.fit``.
    features : Movies, tuple (item, X), or array of shape (n_items, n_features)
        Features of every item, as for ``plackett.evaluation.recommendation``.
    user : id
        A user with ratings.
    refiner : refiner, default=None
        It is cloned before the fit. None means ``MultiplicativeRefiner()``.
    n : int, default=10
        Maximum number of items.
    min_ratings : int, default=20
        Smallest number of ratings of an item; the expected ratings of items with few ratings are unreliable.
    relevant_from : float, default=None
        Ratings of this user of at least this value become 1 and others 0; None does not change them.
    sigma : float, default=2.5
        Parameter of ``PersonalityDiagnosis``.

    Examples
    --------
    >>> from plackett import recommend
    >>> ratings = {
    ...     "ann": {"alien": 5, "brazil": 1, "solaris": 5, "clue": 2},
    ...     "bob": {"alien": 1, "brazil": 5, "solaris": 2, "clue": 5},
    ...     "eve": {"alien": 4, "brazil": 2},
    ... }
    >>> is_space = (["alien", "brazil", "clue", "solaris"], [[1], [0], [0], [1]])
    >>> recommend(ratings, is_space, "eve", min_ratings=1).item.tolist()
    ['solaris', 'clue']
    """
    check_positive_int(n, "n")
    check_positive_int(min_ratings, "min_ratings")
    table = rating_table(ratings)
    X = item_features(features, table)
    place = int(places_of(as_ids([user], "user"), table.users, "user")[0])
    if place < 0:
        raise ValueError(f"user {user!r} is not among the {count_of(table.users.size, 'user')} who rated something.")
    own = slice(table.indptr[place], table.indptr[place + 1])
    own_ratings = np.full(table.items.size, np.nan)
    own_ratings[table.columns[own]] = table.rating[own]
    is_new = np.isnan(own_ratings) & (np.bincount(table.columns, minlength=table.items.size) >= min_ratings)
    if not is_new.any():
        raise ValueError(
            f"no item that user {user!r} has not rated has at least {min_ratings:,} ratings. Lower min_ratings."
        )
    own_ratings = as_relevance(own_ratings, relevant_from)
    base = PersonalityDiagnosis(sigma=sigma).fit(ratings).predict([user])[0]
    is_listed = is_new | ~np.isnan(own_ratings)
    queries = Queries(np.column_stack([X, base])[is_listed], qid=np.zeros(int(is_listed.sum()), dtype=np.int64))
    refiner = MultiplicativeRefiner() if refiner is None else clone(refiner)
    scores = refiner.fit(queries, own_ratings[is_listed], base_score=X.shape[1]).scores_[is_new[is_listed]]
    base, items = base[is_new], table.items[is_new]
    base_rank = np.empty(base.size, dtype=np.int64)
    base_rank[np.argsort(-base, kind="stable")] = np.arange(1, base.size + 1)
    best = np.argsort(-scores, kind="stable")[:n]
    return Recommendations(items[best], scores[best], base[best], base_rank[best])
