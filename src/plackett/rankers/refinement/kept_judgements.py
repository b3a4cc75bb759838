"""What was judged keeps the place that its judgement gives it, whatever a refiner makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.validation import check_labels, check_number, check_scores


def pin_judged(scores: Any, labels: Any, *, qid: Any = None, relevant_from: float = 1.0) -> np.ndarray:
    """The scores, but documents judged relevant above all others of their query, and those judged otherwise below.

    A refiner learns from judgements for the sake of the documents that nobody judged; stumps over features need not
    bring every judged one to its place. Where users shall find again what they have marked, this does. Documents that
    were not judged keep their scores. Judged ones are ordered by their labels, those of equal labels by their scores.

    Parameters
    ----------
    scores : array-like of shape (n_docs,)
        Of a refiner (``scores_``), or of any ranker.
    labels : array-like of shape (n_docs,)
        What the refiner was told: NaN where a document was not judged.
    qid : iterable of hashable ids, one per row, default=None
        None means that all rows are one list.
    relevant_from : float, default=1.0
        The smallest label that is relevant.

    Returns
    -------
    ndarray of shape (n_docs,)

    Examples
    --------
    >>> pin_judged([0.7, 0.9, 0.2, 0.4], [np.nan, 0, 1, np.nan])
    array([ 0.7, -0.8,  1.9,  0.4])
    """
    relevant_from = check_number(relevant_from, "relevant_from")
    told = check_labels(labels, name="labels", allow_nan=True)
    answer = check_scores(scores, told.size).astype(np.float64)
    if not answer.size:
        return answer
    queries = Queries(np.zeros((answer.size, 0)), qid=qid)
    for place in range(queries.n_queries):
        own = queries.rows_of(place)
        lowest, highest = answer[own].min(), answer[own].max()
        for is_moved, edge, sign in (
            (told[own] >= relevant_from, highest, 1.0),  # a NaN is neither
            (told[own] < relevant_from, lowest, -1.0),
        ):
            moved = own[is_moved]
            places = _places(sign * told[moved], sign * answer[moved])
            answer[moved] = edge + sign * max(1.0, 1e-9 * abs(edge)) * (1.0 + places)
    return answer


def _places(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """From 0 upwards by label, then by score; equal in both is equal."""
    _, places = np.unique(np.column_stack([labels, scores]), axis=0, return_inverse=True)
    return places.reshape(-1).astype(np.float64)
