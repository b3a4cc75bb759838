"""Why each document of one refined list stands where it stands, in few words and little time: for pages, not tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.rankers.refinement.boosted import BoostedRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from plackett.validation import feature_labels


class Reason(NamedTuple):
    """Something that is true of a document, and what it added to its score, counted from the mean of its list."""

    text: str
    amount: float


def strongest_reasons(
    refiner: BoostedRefiner | RocchioRefiner, queries: Queries, n: int = 5, *, base_score: np.ndarray
) -> list[list[Reason]]:
    """For each document what moved it most, the largest first: the ``n`` largest parts of ``refiner.explain``.

    A stump and its opposite are one thing here, spelled as it is true of the document: ``bm25 > 3.2`` where it is,
    ``bm25 ≤ 3.2`` where it is not, with all that stumps of this feature and threshold add. All such things together sum
    to the score less the list's mean, but for ties settled by the base ranker.

    Parameters
    ----------
    refiner : fitted on one list; with stumps, not with other weak classifiers
    queries : Queries
        That list, with a dense X.
    n : int, default=5
    base_score : ndarray of shape (n_docs,)
        That of ``fit``.
    """
    if isinstance(refiner, RocchioRefiner):
        return _of_features(refiner, queries, n, base_score)
    if refiner.estimators_ is not None or refiner.n_queries_ != 1:
        raise ValueError("reasons are given for one list and for stumps; see refiner.explain for others.")
    weights: dict[tuple[int, float], float] = {}
    for feature, alpha, limit, is_above in refiner.steps_.tolist():
        # 1 - f of the opposite moves a document from the mean as -f does
        weights[feature, limit] = weights.get((feature, limit), 0.0) + (alpha if is_above else -alpha)
    columns = np.array([feature for feature, _ in weights], dtype=np.int64)
    limits = np.array([limit for _, limit in weights])
    is_above = queries.X[:, columns].astype(np.float64) > limits
    names = _names(refiner)
    above, below = _spelled(list(weights), ">", names), _spelled(list(weights), "≤", names)
    amounts = np.array([*weights.values()]) * (is_above - is_above.mean(axis=0))
    return _largest(amounts, n, lambda row, part: above[part] if is_above[row, part] else below[part])


def _spelled(stumps: list[tuple[int, float]], sign: str, names: list[str]) -> list[str]:
    """Such as ``bm25 > 3.25``; with all digits where four do not tell two of them apart."""
    short = [f"{names[feature]} {sign} {limit:.4g}" for feature, limit in stumps]
    return [
        text if short.count(text) == 1 else f"{names[feature]} {sign} {limit!r}"
        for text, (feature, limit) in zip(short, stumps, strict=True)
    ]


def _of_features(refiner: RocchioRefiner, queries: Queries, n: int, base_score: np.ndarray) -> list[list[Reason]]:
    found = refiner.explain(queries, base_score=base_score)
    amounts, values, names = found.contributions, found.values, [*_names(refiner), "base score"]
    return _largest(np.asarray(amounts), n, lambda row, part: f"{names[part]} = {values[row, part]:.4g}")


def _names(refiner: Any) -> list[str]:
    return feature_labels(refiner.n_features_in_, refiner.feature_labels)


def _largest(amounts: np.ndarray, n: int, spelled: Any) -> list[list[Reason]]:
    """The ``n`` largest amounts of every row that are not 0, whatever their sign."""
    order = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :n]
    taken = np.take_along_axis(amounts, order, axis=1).tolist()
    return [
        [Reason(spelled(row, part), amount) for part, amount in zip(parts, sizes, strict=True) if amount]
        for row, (parts, sizes) in enumerate(zip(order.tolist(), taken, strict=True))
    ]
