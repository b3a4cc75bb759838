"""How many neighbours a query-dependent model takes: chosen on training queries that are held out one at a time."""

from __future__ import annotations

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.boosting.discovery import count_label_pairs
from plackett.rankers.tied_scores import row_keys
from plackett.validation import is_sparse

CANDIDATES = (500, 150, 50, 15)  # more than 500 would make fits of large sets take hours
MOST_HELD_OUT = 200
CHOOSING_TOL = 3e-3  # of the objectives while numbers are compared: more accurate fits rank no better


def queries_to_hold_out(queries: Queries) -> np.ndarray:
    """Return the places of up to 200 queries with documents to order.

    Larger sets are sampled by a hash of the rows, so that the order of the queries has no influence.
    """
    places = np.flatnonzero(count_label_pairs(queries.lists) > 0)
    if places.size <= MOST_HELD_OUT:
        return places
    rows = queries.X.toarray() if is_sparse(queries.X) else np.asarray(queries.X)
    keys = np.add.reduceat(row_keys(rows).view(np.uint64), queries.indptr[:-1])  # sums of integers wrap around
    return np.sort(places[np.argsort(keys[places], kind="stable")[:MOST_HELD_OUT]])


def first_within_one_error(values: np.ndarray) -> int:
    """Return the first row whose mean is within one standard error of the best mean.

    The standard error is that of the difference from the best row, query by query (Breiman et al. 1984).

    Parameters
    ----------
    values : ndarray of shape (n_candidates, n_queries)
        Higher is better. NaN where a query has no value.

    Examples
    --------
    >>> first_within_one_error(np.array([[0.5, 0.6, 0.4], [0.6, 0.5, 0.5], [0.1, 0.2, 0.1]]))
    0
    """
    counted = values[:, ~np.isnan(values).any(axis=0)]
    if counted.shape[1] < 2:
        return 0
    gaps = counted[counted.mean(axis=1).argmax()] - counted
    errors = gaps.std(axis=1, ddof=1) / np.sqrt(counted.shape[1])
    return int(np.argmax(gaps.mean(axis=1) <= errors))
