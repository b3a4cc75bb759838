"""What a user would like: a list by personality diagnosis, refined by what this user has rated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from plackett.data.feedback.rating_table import as_ids, item_features, places_of, rating_table
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
        Refined scores, which say nothing but the order.
    base_score : ndarray
        Expected ratings by personality diagnosis.
    base_rank : ndarray of int
        Places in the list of personality diagnosis alone, from 1.
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
    """The items that a user would like best, of those that this user has not rated.

    ``PersonalityDiagnosis`` learns from all other users and ranks the items; a refiner sees the features of items, with
    the base score behind them, and is told this user's ratings. ``recommendation`` measures what that is worth.

    Parameters
    ----------
    ratings : Ratings, tuple (user, item, rating), ``{user: {item: rating}}``, sparse matrix or array
        As for ``PersonalityDiagnosis.fit``.
    features : Movies, tuple (item, X), or array of shape (n_items, n_features)
        What is known of every item, as for ``recommendation``.
    user : id
        Who has ratings among these.
    refiner : refiner, default=None
        It is copied, not fitted itself. None means ``MultiplicativeRefiner()``.
    n : int, default=10
        Items at most.
    min_ratings : int, default=20
        Only items that so many users rated: of one that a few liked nothing is known but that.
    relevant_from : float, default=None
        This user's ratings from this on count 1 and others 0; None leaves them as they are.
    sigma : float, default=2.5
        Of ``PersonalityDiagnosis``.

    Returns
    -------
    Recommendations

    Examples
    --------
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
    rows = item_features(features, table)
    place = int(places_of(as_ids([user], "user"), table.users, "user")[0])
    if place < 0:
        raise ValueError(f"user {user!r} is not among the {count_of(table.users.size, 'user')} who rated something.")
    own = slice(table.indptr[place], table.indptr[place + 1])
    told = np.full(table.items.size, np.nan)
    told[table.columns[own]] = table.rating[own]
    is_new = np.isnan(told) & (np.bincount(table.columns, minlength=table.items.size) >= min_ratings)
    if not is_new.any():
        raise ValueError(
            f"no item that user {user!r} has not rated has at least {min_ratings:,} ratings. Lower min_ratings."
        )
    told = as_relevance(told, relevant_from)
    base = PersonalityDiagnosis(sigma=sigma).fit(ratings).predict([user])[0]
    listed = is_new | ~np.isnan(told)
    queries = Queries(np.column_stack([rows, base])[listed], qid=np.zeros(int(listed.sum()), dtype=np.int64))
    refiner = MultiplicativeRefiner() if refiner is None else clone(refiner)
    scores = refiner.fit(queries, told[listed], base_score=rows.shape[1]).scores_[is_new[listed]]
    base, items = base[is_new], table.items[is_new]
    base_rank = np.empty(base.size, dtype=np.int64)
    base_rank[np.argsort(-base, kind="stable")] = np.arange(1, base.size + 1)
    best = np.argsort(-scores, kind="stable")[:n]
    return Recommendations(items[best], scores[best], base[best], base_rank[best])
