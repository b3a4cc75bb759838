"""Measures of all queries together: how much of the catalogue is shown, and how unequally.

They have one value for all queries, which is not a mean over queries, and do not depend on labels. They are therefore
functions, not measures of ``evaluate`` and ``compare``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.metrics.discounts import discounts
from plackett.metrics.judged_lists import JudgedLists, judge
from plackett.validation import check_positive_int


def _judge(docid: object, scores: object, qid: object) -> JudgedLists:
    names = np.asarray(docid)
    return judge(np.zeros(names.shape), scores, qid, names)


def _shares(lists: JudgedLists, ties: str, weights: np.ndarray) -> np.ndarray:
    """Return the weight of the position of every row; tied rows share theirs."""
    rows = lists.ranked_values(np.arange(lists.labels.size, dtype=np.float64), ties)
    return lists.run(_native.metrics.shares, *rows, lists.indptr, lists.n_ranked, weights, by_row=True)


def _documents(lists: JudgedLists, catalogue: object) -> tuple[np.ndarray, int]:
    """Return the number of the document of every row, and the number of documents in the catalogue."""
    names: Any = lists.docid
    names = names if names.dtype.kind != "O" else np.array([str(name) for name in names.tolist()])
    found, numbers = np.unique(names, return_inverse=True)
    if catalogue is None:
        return numbers.reshape(-1), found.size
    size = check_positive_int(catalogue, "catalogue")
    if size < found.size:
        raise ValueError(f"catalogue={size:,}, but the lists have {found.size:,} different documents.")
    return numbers.reshape(-1), size


def coverage(docid, scores, *, qid=None, k, catalogue=None, ties="average") -> float:
    """Return the share of the catalogue that is among the first k documents of at least one query.

    Under ``ties="average"`` it is the expectation if ties are broken at random in every query.

    Parameters
    ----------
    docid : array-like of shape (n_docs,)
        The document of each row.
    scores : array-like of shape (n_docs,)
        Higher is better.
    qid : array-like of shape (n_docs,), default=None
        The query of each row, in any order; None means one list.
    k : int
        Cut-off; required.
    catalogue : int, default=None
        Number of documents that could be shown; None counts those of all lists.
    ties : {"average", "stable", "worst", "best", "trec"}, default="average"
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import coverage
    >>> coverage(["a", "b", "c", "a", "c"], [3, 2, 1, 2, 1], qid=[7, 7, 7, 8, 8], k=1)  # a, of a, b and c
    0.3333333333333333
    """
    lists = _judge(docid, scores, qid)
    numbers, size = _documents(lists, catalogue)
    if size == 0:
        return float("nan")
    shown = _shares(lists, ties, np.ones(min(lists.limit(k), lists.limit(None))))
    with np.errstate(divide="ignore"):
        hidden = np.bincount(numbers, weights=np.log1p(-np.minimum(shown, 1.0)), minlength=size)
    return float((1.0 - np.exp(hidden)).sum() / size)


def exposure_gini(docid, scores, *, qid=None, k=None, catalogue=None, discount="log2", ties="average") -> float:
    """Return the Gini coefficient of the exposure of documents: 0 if all are shown equally, near 1 if only a few are.

    The exposure of a document is the sum over all queries of the discount of its position. Under ``ties="average"`` it
    is the expected exposure: documents with equal scores share that of their positions.

    Parameters
    ----------
    discount : {"log2", "jarvelin"}, default="log2"
        ``1 / log2(i + 1)`` for position i, or 1, 1, ``1 / log2(i)``.
    catalogue : int, default=None
        Number of documents that could be shown; None counts those of all lists. Those that are never shown have no
        exposure.
    k : int, default=None
        Positions counted; None counts all.
    docid, scores, qid, ties
        As in :func:`coverage`.

    Examples
    --------
    >>> from plackett.metrics import exposure_gini
    >>> exposure_gini(["a", "b", "a", "b"], [2, 1, 1, 2], qid=[7, 7, 8, 8])
    0.0
    >>> exposure_gini(["a", "b", "a", "b"], [2, 1, 2, 1], qid=[7, 7, 8, 8], k=1)
    0.5
    """
    lists = _judge(docid, scores, qid)
    numbers, size = _documents(lists, catalogue)
    weights = discounts(discount, min(lists.limit(k), lists.limit(None)))
    exposure = np.sort(np.bincount(numbers, weights=_shares(lists, ties, weights), minlength=size))
    if not exposure.sum() > 0.0:
        return float("nan")
    ranks = 2.0 * np.arange(1, size + 1) - size - 1.0
    return max(0.0, float((ranks * exposure).sum() / (size * exposure.sum())))
