"""Cost-sensitive ListMLE: a convex bound on 1 − NDCG@k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature, CurvatureProduct
from plackett.validation import check_choice, check_positive_int

_SIGNS = {"ndcg": 1.0, "label": -1.0}  # of the lower document's strength in the weight of a pair
_LARGEST_LABEL = 1000  # 2**1000 does not overflow


class _Weights(NamedTuple):
    """The labels as kernels need them; see ``_native/losses/listwise/cost_levels.hpp``."""

    label_order: np.ndarray
    indptr: np.ndarray
    bounds: np.ndarray
    level_indptr: np.ndarray
    strength: np.ndarray
    norm: np.ndarray
    scale: np.ndarray
    sign: float


class CSListMLE(CompiledCurvature):
    """Cost-sensitive ListMLE (Lu et al. 2010): smooth, convex, and up to a constant a bound on 1 − NDCG@k.

    ``(1 / DCG) Σ_j β_j log2(1 + Σ_{t: y_t < y_j} α_jt exp(f_t − f_j))``. The weight of a pair is about
    the drop in NDCG@k when its documents are swapped: ``w_jt = A_j + A_t``, ``A_j`` being the gain ``2**y_j − 1`` times
    the slope of the discount at the best position of j, 0 beyond position k. ``β_j = Σ_t w_jt``,
    ``α_jt = w_jt / β_j``, and DCG is that of the labels with every document at its best position.

    As in the metrics, labels of 0 and below have gain 0, and gains are relative to the largest of the query, so that
    large labels do not overflow. Documents with ``β_j = 0`` have no term; queries with one label, or without a label
    above 0, have a loss of 0.

    Parameters
    ----------
    k : int or None, default=10
        Cut-off of NDCG. None counts all positions, and so every pair of documents with different labels of which one is
        above 0. Ignored by ``weights="label"``.
    weights : {"ndcg", "label"}, default="ndcg"
        "label" gives the weights in the code of Olinto (2016): ``β_j = y_j / Σ y``, ``α_jt = (y_j − y_t) / y_j``, and
        DCG over all positions. Labels below 0 count as 0. Since DCG grows as ``2**y`` and ``β`` does not, queries with
        high labels count little; labels above 1000 raise an error.

    Examples
    --------
    >>> from plackett.losses import CSListMLE
    >>> import plackett as pk
    >>> value, slope = CSListMLE().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 4), slope.round(4)  # DCG = 1, A = (1/(2 ln 2), 0): log2(2)/(2 ln 2); half of β/ln 2
    (0.7213, array([-0.5203,  0.5203]))
    """

    name = "cs-listmle"

    def __init__(self, k: int | None = 10, weights: str = "ndcg"):
        self.k, self.weights = k, weights

    def check_labels(self, lists: QueryLists) -> None:
        if self.k is not None:
            check_positive_int(self.k, "k")
        check_choice(self.weights, "weights", list(_SIGNS))
        largest = lists.labels.max(initial=0.0) if self.weights == "label" else 0.0
        if largest > _LARGEST_LABEL:
            raise ValueError(
                f'labels go up to {largest:g}, but weights="label" divides by 2**label, which overflows above '
                f'{_LARGEST_LABEL}. Use weights="ndcg", which accepts any labels, or smaller labels.'
            )

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.cost_sensitive(*self._weights(lists))

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        loss, n_levels = self.native(lists), self._weights(lists).norm.size
        state = [np.empty(size) for size in [n_levels] * 3 + [lists.n_docs] * 3]
        _native.losses.keep_cost_sensitive(loss, scores, *state)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply_cost_sensitive(loss, *state, direction, out)
            return out

        return product

    def _weights(self, lists: QueryLists) -> _Weights:
        k = self.k if self.weights == "ndcg" else None
        return lists.keep(("CSListMLE", k, self.weights), lambda: _weights(lists, k, _SIGNS[self.weights]))


def _weights(lists: QueryLists, k: int | None, sign: float) -> _Weights:
    levels = lists.levels
    n_levels = levels.bounds.size - 1
    strength, norm, scale = np.empty(n_levels), np.empty(n_levels), np.empty(lists.n_queries)
    _native.losses.weigh_levels(
        lists.labels, lists.order, lists.indptr, levels.bounds, levels.indptr,
        sign < 0.0, lists.n_docs if k is None else min(k, lists.n_docs), strength, norm, scale,
    )  # fmt: skip
    # levels with a cost come first in a query; those after the first level without cost are merged with it
    is_kept = np.ones(n_levels, dtype=bool)
    is_kept[1:] = norm[:-1] > 0.0
    is_kept[levels.indptr[:-1][np.diff(levels.indptr) > 0]] = True
    return _Weights(
        lists.order,
        lists.indptr,
        np.append(levels.bounds[:-1][is_kept], lists.n_docs),
        np.append(0, np.cumsum(is_kept))[levels.indptr],
        strength[is_kept],
        norm[is_kept],
        scale,
        sign,
    )
