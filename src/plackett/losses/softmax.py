"""Softmax cross-entropies of the scores of a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import part_of_place
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature
from plackett.losses.gains import gains_of
from plackett.validation import check_number


class Softmax(CompiledCurvature):
    """``−Σ_i y_i log softmax(f)_i``: cross-entropy with the labels as they are (Bruch et al. 2019).

    :class:`ListNet` differs in that it turns the labels into probabilities first. Here a query counts in proportion to
    the sum of its labels, and one whose labels are all 0 has a loss of 0. The slope is ``Y softmax(f) − y`` with
    ``Y = Σ y``.

    Labels may be any real numbers, as the loss is linear in them. It is convex if ``Y ≥ 0`` in every query. A negative
    label makes it unbounded below: rankers then need a penalty (``l2`` above 0), and trees get a positive curvature,
    ``Σ |y| p (1 − p)`` with ``p = softmax(f)``. The cost is O(n).

    Examples
    --------
    >>> from plackett.losses import Softmax
    >>> import plackett as pk
    >>> value, slope = Softmax().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[3, 1]))
    >>> round(value, 4), slope  # 4 log 2; 4 / 2 − y
    (2.7726, array([-1.,  1.]))
    """

    name = "softmax"
    is_linear_in_labels = True

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.cross_entropy(lists.indptr, lists.labels)

    def is_convex_on(self, lists: QueryLists) -> bool:
        return bool((sums_for_rows(lists.labels, lists) >= 0.0).all())

    def is_bounded_on(self, lists: QueryLists) -> bool:
        is_alone = np.repeat(np.diff(lists.indptr) == 1, np.diff(lists.indptr))
        return bool(np.where(is_alone, 0.0, lists.labels).min(initial=0.0) >= 0.0)


class UniqueSoftmax(CompiledCurvature):
    """``−Σ_i G_i log(e^{f_i} / (e^{f_i} + Σ_{j: y_j < y_i} e^{f_j}))``: each document against less relevant ones.

    Documents with equal labels do not compete (Zhu and Klabjan 2020). The loss is convex, and 0 for queries with one
    label. The cost is O(n), after the labels have been sorted once.

    Parameters
    ----------
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        G: ``2**label - 1``, the label, the gains of the labels 0, 1, 2, …, or a function of the array of labels. Labels
        below 0 have the gain 0 under both names.
    normalize : bool, default=False
        Whether gains are divided by the ideal DCG of the query.

    Examples
    --------
    >>> from plackett.losses import UniqueSoftmax
    >>> import plackett as pk
    >>> value, slope = UniqueSoftmax().value_and_slope([0.0, 0.0, 0.0], pk.Queries([[1], [2], [3]], y=[2, 1, 0]))
    >>> round(value, 4), slope  # 3 log 3 + log 2
    (3.989, array([-2. ,  0.5,  1.5]))
    """

    name = "unique-softmax"

    def __init__(self, gain: Any = "exponential", normalize: bool = False):
        self.gain, self.normalize = gain, normalize

    def check_labels(self, lists: QueryLists) -> None:
        gains = self.gains(lists)
        if gains.min(initial=0.0) < 0.0:
            row = int(np.argmin(gains))
            raise ValueError(
                f"the gain of the label {lists.labels[row]:g} in row {row} is {gains[row]:g}, but UniqueSoftmax needs "
                "gains of at least 0. Losses that are linear in the labels, such as Softmax, accept negative ones."
            )

    def gains(self, lists: QueryLists) -> np.ndarray:
        gains = gains_of(self.gain, lists, normalize=self.normalize)
        return np.maximum(gains, 0.0) if isinstance(self.gain, str) else gains

    def level_gains(self, lists: QueryLists) -> np.ndarray:
        """Return the gain of each level of labels."""
        return self.gains(lists)[lists.order[lists.levels.bounds[:-1]]]

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.unique_softmax(lists.indptr, lists.order, *lists.levels, self.level_gains(lists))


class Poly1Softmax(CompiledCurvature):
    """Softmax cross-entropy plus ``ε (1 − p)``, where ``p = Σ_i y_i softmax(f)_i / Σ_i y_i`` (Leng et al. 2022).

    The second term, the first one of the Taylor series of the cross-entropy in ``1 − p``, gets its own weight. Labels
    below 0 count as 0. In a query without a label above 0 all count as equal in p, so that the loss is a constant. Not
    convex. The cost is O(n).

    Parameters
    ----------
    epsilon : float, default=1.0
        At least 0; 0 gives :class:`Softmax`.

    Examples
    --------
    >>> from plackett.losses import Poly1Softmax
    >>> import plackett as pk
    >>> value, slope = Poly1Softmax().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 4), slope  # log 2 + 1/2; −1/2 − 1/4
    (1.1931, array([-0.75,  0.75]))
    """

    name = "poly1-softmax"
    is_convex = False
    has_positive_diagonal = True

    def __init__(self, epsilon: float = 1.0):
        self.epsilon = epsilon

    def check_labels(self, lists: QueryLists) -> None:
        check_number(self.epsilon, "epsilon", least=0.0)

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.poly_one(lists.indptr, np.maximum(lists.labels, 0.0), float(self.epsilon))


class XENDCG(CompiledCurvature):
    """Cross-entropy between ``φ ∝ 2^y − γ`` and the softmax of the scores, a convex bound on NDCG (Bruch 2021).

    γ is uniform between 0 and 1 for each document. The loss is linear in φ, so that its mean over γ is the
    cross-entropy with the mean of φ, which is exact here: ``a (2^y − 1) + (1 − a G) / n``, where G is the sum of the
    gains ``2^y − 1`` of the query and ``a`` the mean of ``1 / (G + n − Σ γ)``. No numbers are drawn, and documents with
    equal labels have equal targets. (LightGBM's ``rank_xendcg`` draws γ anew for each tree, and its gradient also has
    terms of second and third order.) Labels below 0 count as 0. A query with equal labels pulls its scores together.
    The cost is O(n).

    Examples
    --------
    >>> from plackett.losses import XENDCG
    >>> import plackett as pk
    >>> value, slope = XENDCG().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 4), slope.round(4)  # log 2; 1/2 − φ
    (0.6931, array([-0.2616,  0.2616]))
    """

    name = "xe-ndcg"

    def target(self, lists: QueryLists) -> np.ndarray:
        """Return the mean of φ for each document."""
        return lists.keep("XE-NDCG", lambda: _mean_targets(lists))

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.cross_entropy(lists.indptr, self.target(lists))


def _mean_targets(lists: QueryLists) -> np.ndarray:
    """Return the mean of (2^y − γ) / Σ (2^y − γ) over γ, with gains relative to the largest of the query."""
    sizes, queries = np.diff(lists.indptr), part_of_place(lists.indptr)
    gains, best, means = gains_of("exponential", lists, k=1), np.zeros(lists.n_queries), np.zeros(lists.n_queries)
    np.maximum.at(best, queries, lists.labels)
    totals = np.bincount(queries, gains, lists.n_queries)
    is_open = (best > 0.0) & (sizes > 1)
    with np.errstate(over="ignore"):
        means[is_open] = _mean_inverse(sizes[is_open], totals[is_open], 1.0 / np.expm1(best[is_open] * np.log(2.0)))
    return means[queries] * gains + (1.0 - means[queries] * totals[queries]) / sizes[queries]


def _mean_inverse(n: np.ndarray, total: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return E[1 / (total + U)], U the sum of n uniform numbers from 0 to ``width``.

    It is ∫ e^{−total t} ((1 − e^{−width t}) / (width t))^n dt over t > 0, by double exponential quadrature.
    """
    out = np.empty(total.size)
    nodes = 0.05 * np.arange(-90, 91)
    x = np.exp(0.5 * np.pi * np.sinh(nodes))
    weights = 0.05 * 0.5 * np.pi * np.cosh(nodes) * x
    for first in range(0, out.size, 4096):
        some = slice(first, first + 4096)
        scale = 1.0 / (total[some] + 0.5 * n[some] * width[some])
        t = x * scale[:, None]
        reach = t * width[some, None]
        with np.errstate(under="ignore"):
            shrunk = np.where(reach > 1e-300, -np.expm1(-reach) / np.maximum(reach, 1e-300), 1.0)
            out[some] = np.exp(n[some, None] * np.log(shrunk) - total[some, None] * t) @ weights * scale
    return out


def sums_for_rows(values: np.ndarray, lists: QueryLists) -> np.ndarray:
    """Return the sum over its query for each row."""
    queries = part_of_place(lists.indptr)
    return np.bincount(queries, weights=values, minlength=lists.n_queries)[queries]


def shares_of_labels(lists: QueryLists) -> np.ndarray:
    """Return labels, those below 0 as 0, over their sum; equal shares where all are 0."""
    labels = np.maximum(lists.labels, 0.0)
    totals = sums_for_rows(labels, lists)
    sizes = sums_for_rows(np.ones_like(labels), lists)
    return np.where(totals > 0.0, labels, 1.0) / np.where(totals > 0.0, totals, sizes)
