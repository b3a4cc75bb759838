"""ApproxNDCG, ApproxMRR and ApproxMAP: metrics of approximate ranks, which are smooth functions of the scores.

The rank of a document is ``r_i = 1 + Σ_{j ≠ i} 1 / (1 + exp(alpha (f_i − f_j)))`` (Qin et al. 2010, key ``qin2010``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.exceptions import NothingToLearnWarning, warn
from plackett.losses.base import CompiledCurvature
from plackett.losses.gains import GainLoss
from plackett.validation import check_number


class _ApproximateRanks(CompiledCurvature):
    """Base class of the losses of approximate ranks; ``curvature_diagonal`` is an estimate that is never negative."""

    is_convex = False
    has_positive_diagonal = True
    relevant_from: float | None = None

    def check_fit(self, lists: QueryLists, *, is_penalised: bool = True) -> None:
        super().check_fit(lists, is_penalised=is_penalised)
        if self.relevant_from is not None and lists.n_docs and lists.labels.max() < self.relevant_from:
            warn(
                f"{self!r} has nothing to learn from: no label reaches relevant_from={self.relevant_from:g}; the "
                f"largest is {lists.labels.max():g}. Lower relevant_from.",
                NothingToLearnWarning,
            )


class ApproxNDCG(GainLoss, _ApproximateRanks):
    """``−Σ_i G_i / log2(1 + r_i)``: minus NDCG, with ranks that are smooth functions of the scores (Qin et al. 2010).

    ``r_i = 1 + Σ_{j ≠ i} 1 / (1 + exp(alpha (f_i − f_j)))``; G are the gains divided by the ideal DCG. The value of a
    query is between −1 and 0, and approaches minus its NDCG for scores that are far apart, or for a large ``alpha``.
    Tied documents share their mean rank. The loss is not convex. For boosted trees it has an estimate of its curvature,
    with which ``alpha`` changes only the scale of their scores. A pass takes time O(n R) for n documents of which R
    have a gain, and memory O(n).

    Parameters
    ----------
    alpha : float, default=10
        Steepness: documents whose scores differ by several times ``1 / alpha`` hardly affect each other's rank. It is
        the inverse of the temperature of rax and TF-Ranking.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        ``2**label - 1``, the label, the gains of the labels 0, 1, 2, …, or a function of the array of labels. A label
        of 0 or less has gain 0.
    normalize : bool, default=True
        Divide the gains by the ideal DCG of the query. With False and ``gain="linear"`` the loss is linear in the
        labels, which may be any real numbers, including negative ones.

    Examples
    --------
    >>> from plackett.losses import ApproxNDCG
    >>> import plackett as pk
    >>> queries = pk.Queries([[1], [2]], y=[1, 0])
    >>> value, slope = ApproxNDCG(alpha=1).value_and_slope([0.0, 0.0], queries)
    >>> round(value, 4), slope.round(4)  # ranks 3/2: −1/log2(5/2); w = 1/4 of ln 2 / (5/2 ln² 5/2)
    (-0.7565, array([-0.0826,  0.0826]))
    """

    name = "approx-ndcg"

    def __init__(self, alpha: float = 10.0, gain: Any = "exponential", normalize: bool = True):
        self.alpha, self.gain, self.normalize = alpha, gain, normalize

    def check_labels(self, lists: QueryLists) -> None:
        check_number(self.alpha, "alpha", above=0.0)
        self.gains(lists)

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.approx_ndcg(lists.indptr, self.gains(lists), float(self.alpha))


class ApproxMRR(_ApproximateRanks):
    """``−1 / r`` of the relevant document with the highest score: minus the reciprocal rank, with smooth ranks.

    Ranks are those of :class:`ApproxNDCG`. Relevant documents that tie for the highest score share the slope. The loss
    is not convex, and not smooth where that document changes. A pass takes time and memory O(n).

    Parameters
    ----------
    alpha : float, default=10
        Steepness of the ranks, as for :class:`ApproxNDCG`.
    relevant_from : float, default=1
        The smallest label that counts as relevant.

    Examples
    --------
    >>> from plackett.losses import ApproxMRR
    >>> import plackett as pk
    >>> queries = pk.Queries([[1], [2]], y=[1, 0])
    >>> value, slope = ApproxMRR(alpha=1).value_and_slope([0.0, 0.0], queries)
    >>> round(value, 4), slope.round(4)  # rank 3/2; w = 1/4 of 1 / (3/2)²
    (-0.6667, array([-0.1111,  0.1111]))
    """

    name = "approx-mrr"
    is_smooth = False

    def __init__(self, alpha: float = 10.0, relevant_from: float = 1.0):
        self.alpha, self.relevant_from = alpha, relevant_from

    def check_labels(self, lists: QueryLists) -> None:
        check_number(self.alpha, "alpha", above=0.0)
        check_number(self.relevant_from, "relevant_from")

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.approx_mrr(lists.indptr, relevance(lists, self.relevant_from), float(self.alpha))


class ApproxMAP(_ApproximateRanks):
    """Minus the average precision, with ranks and comparisons of ranks that are smooth (Qin et al. 2010).

    ``−1/R Σ_i (1 + Σ_{j ≠ i} 1 / (1 + exp(beta (r_j − r_i)))) / r_i``, over the R relevant documents. Ranks are those
    of :class:`ApproxNDCG`. It is not convex. A pass takes time O(n R) and memory O(n).

    Parameters
    ----------
    alpha : float, default=10
        Steepness of the ranks, as for :class:`ApproxNDCG`.
    beta : float, default=10
        Steepness of the comparison of two ranks.
    relevant_from : float, default=1
        The smallest label that counts as relevant.

    Examples
    --------
    >>> from plackett.losses import ApproxMAP
    >>> import plackett as pk
    >>> queries = pk.Queries([[1], [2]], y=[1, 0])
    >>> value, slope = ApproxMAP(alpha=1).value_and_slope([0.0, 0.0], queries)
    >>> round(value, 4), slope.round(4)  # one relevant document: its reciprocal rank
    (-0.6667, array([-0.1111,  0.1111]))
    """

    name = "approx-map"

    def __init__(self, alpha: float = 10.0, beta: float = 10.0, relevant_from: float = 1.0):
        self.alpha, self.beta, self.relevant_from = alpha, beta, relevant_from

    def check_labels(self, lists: QueryLists) -> None:
        check_number(self.alpha, "alpha", above=0.0)
        check_number(self.beta, "beta", above=0.0)
        check_number(self.relevant_from, "relevant_from")

    def _compiled(self, lists: QueryLists) -> Any:
        is_relevant = relevance(lists, self.relevant_from)
        return _native.losses.approx_map(lists.indptr, is_relevant, float(self.alpha), float(self.beta))


def relevance(lists: QueryLists, relevant_from: float | None) -> np.ndarray:
    """Return 1 for each relevant document, else 0."""
    return (lists.labels >= relevant_from).astype(np.float64)
