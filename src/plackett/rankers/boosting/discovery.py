"""Rankings by a single feature: by the nearest centre of relevance (quasi-KNN), or by its values.

Quasi-KNN splits every training list, by ascending relevance, into K parts. The centre of a part is the mean of the
feature over that part of all lists. A value belongs to the part of the nearest centre. Higher parts rank higher, and
within a part values ascend or descend as the centres do from the part below. So the best values of a feature may be in
the middle of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import bounds
from plackett._threads import map_blocks, query_blocks
from plackett.data.query_lists import QueryLists
from plackett.scorers.ranks import DOCS_PER_BLOCK, LARGEST_CENTRE, Discovery, LevelBounds, dense_rows
from plackett.validation import feature_label

CENTRES = ("mean", "prior", "middle", "posterior")
DISCOVERIES = ("quasi-knn", "linear")
ROUNDING = 8 * np.finfo(np.float64).eps  # of a centre, relative to the mean absolute value of its part


def find_centres(
    X: Any,
    lists: QueryLists,
    n_intervals: int,
    *,
    centre: str = "mean",
    weights: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> np.ndarray:
    """Return the centres of the parts of every feature, the least relevant part first; NaN for empty parts.

    In a list of n documents, place p = 0, 1, … (by ascending label) is in part ⌊p K / n⌋ of ``n_intervals`` = K.
    Documents with equal labels share their places. Centres that differ only by rounding errors are made equal.

    ``"mean"`` counts all places of a part; ``"prior"``, ``"middle"`` and ``"posterior"`` the most, the middle or the
    least relevant third of them (``⌈size / 3⌉`` places, the middle ones closer to the less relevant end if there is a
    choice; all of a part smaller than 3).
    """
    code = CENTRES.index(centre)
    weights = np.ones(lists.n_queries) if weights is None else weights
    start = LevelBounds.of(lists).start

    def work(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        totals, errors, sizes = (np.zeros((n_intervals, X.shape[1] + 1)) for _ in range(3))
        rows = dense_rows(X, lists.indptr, first, last)
        _native.rankers.add_to_centres(
            rows, lists.order, start, lists.indptr, weights, code, first, last, totals, errors, sizes
        )
        return totals, errors, sizes

    answers = map_blocks(work, query_blocks(lists.indptr, DOCS_PER_BLOCK))
    # long doubles where the platform has them: the last digit must not depend on the order of the queries
    total = sum(part.astype(np.longdouble) + error for part, error, _ in answers)
    count = total[:, -1:]
    with np.errstate(invalid="ignore"):
        centres = np.ascontiguousarray((total[:, :-1] / count).astype(np.float64).T)
        sizes = np.nan_to_num(sum(size for _, _, size in answers)[:, :-1] / count.astype(np.float64)).T
    is_lost = ~(np.abs(centres) <= LARGEST_CENTRE) & (count.T > 0)
    if is_lost.any():
        column = int(np.flatnonzero(is_lost.any(axis=1))[0])
        raise ValueError(f"{feature_label(column, names)} of X has values that are too large to be averaged. Scale it.")
    for own, size in zip(centres, sizes, strict=True):
        is_known = ~np.isnan(own)
        own[is_known] = _merge_close(own[is_known], ROUNDING * size[is_known])
    return centres


def _merge_close(centres: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Make centres equal if they differ by no more than their rounding errors, which must not determine a sign."""
    order = np.argsort(centres, kind="stable")
    gaps = np.diff(centres[order], prepend=-np.inf)
    is_new = gaps > errors[order] + np.concatenate([[0.0], errors[order[:-1]]])
    level = np.empty_like(centres)
    level[order] = centres[order][is_new][np.cumsum(is_new) - 1]
    return level


def find_signs(X: Any, lists: QueryLists, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the direction of each feature: the sign of its mean E = (right − wrong) / pairs; +1 if that is 0."""
    ranks = Discovery.linear(np.ones(X.shape[1], np.int64)).twice_ranks(X, lists.indptr, lists, is_counted=True)
    pairs = count_label_pairs(lists)
    weights = (pairs > 0).astype(np.float64) if weights is None else weights * (pairs > 0)
    means = weights @ ((ranks.right - ranks.wrong) / np.maximum(pairs, 1)[:, None]) / max(weights.sum(), 1.0)
    return np.where(means < -1e-12, -1, 1)


def count_label_pairs(lists: QueryLists, top: int | None = None) -> np.ndarray:
    """Count pairs of different labels per list; with ``top``, only if fewer than ``top`` documents beat the better."""
    levels = LevelBounds.of(lists)
    lengths = np.repeat(np.diff(lists.indptr), np.diff(lists.indptr))
    worse = lengths - levels.end
    if top is not None:
        worse = np.where(levels.start < top, worse, 0)
    return np.diff(bounds(worse)[lists.indptr])
