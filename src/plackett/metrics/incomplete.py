"""Measures for incomplete judgements: bpref and infAP, which distinguish "not relevant" from "not judged".

A document is not judged if its label is NaN or negative (it is in the pool, of which a sample was judged), or if a run
retrieved it but the qrels lack it (it is not in the pool).
"""

from __future__ import annotations

import numpy as np

from plackett import _native
from plackett.metrics.judged_lists import JudgedLists, fill_empty, judge
from plackett.metrics.registry import measure_kind


def _codes(lists: JudgedLists, relevant_from: float) -> np.ndarray:
    native = _native.metrics
    codes = np.where(lists.labels >= relevant_from, native.RELEVANT, native.NOT_RELEVANT)
    codes[lists.labels < 0.0] = native.NOT_JUDGED
    if lists.is_pooled is not None:
        codes[~lists.is_pooled] = native.NOT_POOLED
    return codes


def _from_codes(kernel, lists: JudgedLists, relevant_from: float, ties: str) -> np.ndarray:
    if not relevant_from > 0.0:
        raise ValueError(
            f"relevant_from={relevant_from:g}; it must be above 0, since a negative label means not judged."
        )
    codes = _codes(lists, float(relevant_from))
    return lists.run(kernel, codes, *lists.ranked_values(codes, ties), lists.indptr, lists.n_ranked)


@measure_kind("bpref", cutoff="none", takes_unjudged=True)
def bpref(labels, scores, *, qid=None, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the binary preference of each query, which ignores documents that are not judged.

    The mean of ``1 − min(m, R) / min(M, R)`` over the R relevant documents, where m of the M documents that were judged
    not relevant are ranked above it.

    Parameters
    ----------
    labels : array-like of shape (n_docs,)
        NaN or a negative label means that the document was not judged.
    scores, qid, relevant_from, ties, empty, docid
        As in :func:`precision`.

    Examples
    --------
    >>> from plackett.metrics import bpref
    >>> bpref([1, 0, float("nan"), 2, 0], [5, 4, 3, 2, 1], qid=[7] * 5)  # (1 + (1 − 1/2)) / 2
    array([0.75])
    """
    lists = judge(labels, scores, qid, docid, has_nan=True)
    return fill_empty(_from_codes(_native.metrics.bpref, lists, relevant_from, ties), empty)


@measure_kind("infap", "inf-ap", cutoff="none", takes_unjudged=True)
def infap(labels, scores, *, qid=None, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the inferred average precision of each query, if only a random sample of the pool was judged.

    At position i of a relevant document the precision is estimated as ``(1 + p (r + ε) / (j + 2 ε)) / i``: above it are
    p documents of the pool, j of them judged and r relevant, and ``ε = 0.00001`` is the smoothing of trec_eval. If all
    documents are judged, it is the average precision up to that smoothing. Under ``ties="average"`` a group of d tied
    documents, t of them judged, costs O(d · t).

    Parameters
    ----------
    labels : array-like of shape (n_docs,)
        NaN or a negative label means that the document is in the pool, but was not judged.
    scores, qid, relevant_from, ties, empty, docid
        As in :func:`precision`.

    Examples
    --------
    >>> from plackett.metrics import infap
    >>> infap([0, float("nan"), 1, 0], [4, 3, 2, 1], qid=[7] * 4).round(3)  # 1/3 + 2/3 · (2/2) · (0/1)
    array([0.333])
    """
    lists = judge(labels, scores, qid, docid, has_nan=True)
    return fill_empty(_from_codes(_native.metrics.infap, lists, relevant_from, ties), empty)
