"""The strongest reasons for the place of each document in one refined list, for web pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.refinement.boosted import BoostedRefiner, stump_texts
from plackett.rankers.refinement.rocchio import RocchioRefiner
from plackett.validation import feature_labels


class Reason(NamedTuple):
    """A property of a document and its contribution to the score, relative to another document or the list's mean."""

    text: str
    amount: float


def strongest_reasons(
    refiner: BoostedRefiner | RocchioRefiner,
    queries: Queries,
    n: int = 5,
    *,
    base_score: np.ndarray,
    against: np.ndarray | None = None,
) -> list[list[Reason]]:
    """Return the ``n`` largest contributions to each document's score, the largest first.

    Unlike in ``refiner.explain``, a stump and its opposite are one contribution, with the text that is true of the
    document: ``bm25 > 3.2`` or ``bm25 ≤ 3.2``. All contributions sum to the score minus that of the document compared
    with, or the list's mean, except for broken ties.

    Parameters
    ----------
    refiner : BoostedRefiner with stumps, or RocchioRefiner
        Fitted on one list.
    queries : Queries
        That list, with a dense X.
    n : int, default=5
    base_score : ndarray of shape (n_docs,)
        As in ``fit``.
    against : ndarray of int of shape (n_docs,), default=None
        The row that each document is compared with; -1 for the list's mean.

    Returns
    -------
    list of lists of Reason, one per document
    """
    if isinstance(refiner, RocchioRefiner):
        return _of_features(refiner, queries, n, base_score, against)
    if refiner.estimators_ is not None or refiner.n_queries_ != 1:
        raise ValueError("strongest_reasons takes refiners of one list with stumps. Use refiner.explain for others.")
    weights: dict[tuple[int, float], float] = {}
    for feature, alpha, limit, is_above in refiner.steps_.tolist():
        # relative to the mean, the opposite stump 1 - f contributes as -f does
        weights[feature, limit] = weights.get((feature, limit), 0.0) + (alpha if is_above else -alpha)
    columns = np.array([feature for feature, _ in weights], dtype=np.int64)
    limits = np.array([limit for _, limit in weights])
    prepared = refiner._check_queries(queries, None, None, needs_labels=False)
    is_above = prepared.X[:, columns].astype(np.float64) > limits
    names = feature_labels(refiner.n_prepared, refiner.feature_labels)
    above, below = (stump_texts([(*stump, side) for stump in weights], names) for side in (True, False))
    amounts = np.array([*weights.values()]) * (is_above - is_above.mean(axis=0))
    return _largest(
        _compared(amounts, against), n, lambda row, part: above[part] if is_above[row, part] else below[part]
    )


def _of_features(
    refiner: RocchioRefiner, queries: Queries, n: int, base_score: np.ndarray, against: np.ndarray | None
) -> list[list[Reason]]:
    found = refiner.explain(queries, base_score=base_score)
    amounts, values, names = found.contributions, found.values, found.feature_names
    of_row = _compared(np.asarray(amounts), against)
    return _largest(of_row, n, lambda row, part: f"{names[part]} = {values[row, part]:.4g}")


def _compared(amounts: np.ndarray, against: np.ndarray | None) -> np.ndarray:
    """Return amounts minus those of the row that each one is compared with."""
    if against is None:
        return amounts
    return amounts - np.where(against[:, None] >= 0, amounts[against], 0.0)


def _largest(amounts: np.ndarray, n: int, text_of: Any) -> list[list[Reason]]:
    """Return the ``n`` largest amounts of every row by absolute value, without zeros."""
    order = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :n]
    taken = np.take_along_axis(amounts, order, axis=1).tolist()
    return [
        [Reason(text_of(row, part), amount) for part, amount in zip(parts, sizes, strict=True) if amount]
        for row, (parts, sizes) in enumerate(zip(order.tolist(), taken, strict=True))
    ]
