"""Cost-sensitive ListMLE: a convex bound on 1 − NDCG@k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses import _cost_sensitive
from plackett.losses.base import CurvatureProduct, Loss
from plackett.validation import check_choice, check_positive_int

_KINDS = {"ndcg": _cost_sensitive.NDCG, "label": _cost_sensitive.LABEL}
_LARGEST_LABEL = 1000  # 2**1000 is a number


class _Weights(NamedTuple):
    """What the kernels take between the scores and the outputs."""

    label_order: np.ndarray
    indptr: np.ndarray
    bounds: np.ndarray
    level_indptr: np.ndarray
    strength: np.ndarray
    norm: np.ndarray
    scale: np.ndarray
    sign: int

    def of_docs(self, of_levels: np.ndarray) -> np.ndarray:
        """Values of levels for each of their documents, in label order."""
        return np.repeat(of_levels, np.diff(self.bounds))

    def to_rows(self, ranked: np.ndarray) -> np.ndarray:
        """Values in label order, times each query's scale, in row order."""
        rows = np.empty_like(ranked)
        rows[self.label_order] = ranked * np.repeat(self.scale, np.diff(self.indptr))
        return rows


class _State(NamedTuple):
    """What derivatives at given scores are made of; see the kernels for the names."""

    mean: np.ndarray
    change: np.ndarray
    pull: np.ndarray
    weight: np.ndarray
    rivalry: np.ndarray
    stay: np.ndarray


class CSListMLE(Loss):
    """Cost-sensitive ListMLE (Lu et al. 2010): smooth, convex, and with a constant added at least 1 − NDCG@k.

    ``(1 / DCG) Σ_j β_j log2(1 + Σ_{t: y_t < y_j} α_jt exp(f_t − f_j))``. A pair weighs about what NDCG@k loses when its
    documents change places: ``w_jt = A_j + A_t``, ``A_j`` being the gain ``2**y_j − 1`` times the steepness of the
    discount at the best place that j can have, 0 behind place k. ``β_j = Σ_t w_jt``, ``α_jt = w_jt / β_j``, and DCG is
    that of the labels, every document standing at its best place.

    As in the metrics, labels of 0 and below have gain 0, and gains are taken relative to the query's largest, so that
    labels may be in the thousands. A document without weight (``β_j = 0``) adds nothing as a winner; queries with one
    label, or without a label above 0, contribute nothing.

    Parameters
    ----------
    k : int or None, default=10
        Places that count; 10 is where NDCG is read most often. None counts all of them, and so every pair of documents
        with different labels of which one is above 0. Ignored by ``weights="label"``.
    weights : {"ndcg", "label"}, default="ndcg"
        "label" gives the weights in the code of Olinto (2016): ``β_j = y_j / Σ y``, ``α_jt = (y_j − y_t) / y_j``, and
        DCG over all places. Labels below 0 count as 0 there. Since DCG grows as ``2**y`` and ``β`` does not, queries
        with high labels count little; labels above 1000 are refused.

    Examples
    --------
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
        check_choice(self.weights, "weights", list(_KINDS))
        largest = lists.labels.max(initial=0.0) if self.weights == "label" else 0.0
        if largest > _LARGEST_LABEL:
            raise ValueError(
                f'labels go up to {largest:g}, but weights="label" divides by 2**label: above {_LARGEST_LABEL} nothing '
                'would be left. Use weights="ndcg", which takes any labels, or smaller labels.'
            )

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        weights, losses = self._weights(lists), np.empty(lists.n_queries)
        n_left = _cost_sensitive.value_and_slope(scores, *weights, losses, slope)
        if n_left > 0:  # scores that lie very far apart: rare, and compiled only then
            _cost_sensitive.wide_value_and_slope(scores, *weights, *_state(scores, weights), losses, slope)
        return losses

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        weights = self._weights(lists)
        state = _state(scores, weights)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _cost_sensitive.product(direction, *weights, *state[1:], out)
            return out

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        weights = self._weights(lists)
        state = _state(scores, weights)
        squares = np.empty_like(weights.norm)
        _cost_sensitive.square_pulls(
            weights.bounds, weights.level_indptr, weights.strength, weights.norm, weights.sign,
            state.change, state.rivalry, squares,
        )  # fmt: skip
        spread = weights.of_docs(weights.norm * state.mean) * state.stay * state.rivalry
        as_rival = state.weight * (weights.of_docs(state.pull) - state.weight * weights.of_docs(squares))
        return weights.to_rows(spread + np.maximum(as_rival, 0.0))

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        weights = self._weights(lists)
        state = _state(scores, weights)  # each term bends as diag(π) − π πᵀ, π its choice probabilities
        return weights.to_rows(weights.of_docs(weights.norm) * state.stay + weights.of_docs(state.pull) * state.weight)

    def _weights(self, lists: QueryLists) -> _Weights:
        k = self.k if self.weights == "ndcg" else None
        return lists.keep(("CSListMLE", k, self.weights), lambda: _weights(lists, k, _KINDS[self.weights]))


def _state(scores: np.ndarray, weights: _Weights) -> _State:
    n_levels, n_docs = weights.norm.size, scores.size
    state = _State(*(np.empty(size) for size in [n_levels] * 3 + [n_docs] * 3))
    _cost_sensitive.prepare(scores, *weights, *state)
    return state


def _weights(lists: QueryLists, k: int | None, kind: int) -> _Weights:
    levels = lists.levels
    n_levels = levels.bounds.size - 1
    strength, norm, scale = np.empty(n_levels), np.empty(n_levels), np.empty(lists.n_queries)
    _cost_sensitive.weigh_levels(
        lists.labels, lists.order, lists.indptr, levels.bounds, levels.indptr,
        kind, lists.n_docs if k is None else k, strength, norm, scale,
    )  # fmt: skip
    # levels that cost something come first in a query; those after the first that does not are taken together with it
    is_kept = np.ones(n_levels, dtype=bool)
    is_kept[1:] = norm[:-1] > 0.0
    is_kept[levels.indptr[:-1][np.diff(levels.indptr) > 0]] = True
    return _Weights(
        lists.order.view(np.uint64),  # spares the kernels a look whether a row is negative
        lists.indptr,
        np.append(levels.bounds[:-1][is_kept], lists.n_docs),
        np.append(0, np.cumsum(is_kept))[levels.indptr],
        strength[is_kept],
        norm[is_kept],
        scale,
        kind,
    )
