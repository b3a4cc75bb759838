"""How documents with equal scores are ordered: the rules of ``ties=`` in every measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plackett._arrays import part_of_place

if TYPE_CHECKING:
    from plackett.metrics.judged_lists import JudgedLists

# "average" takes the expectation over all orders: the kernels compute it exactly from groups of equal scores
TIES = ("stable", "average", "worst", "best", "trec")


def tie_keys(lists: JudgedLists, ties: str) -> np.ndarray:
    """Return the keys by which documents with equal scores are sorted, ascending; empty for the order of the rows."""
    if ties == "worst":
        return lists.labels
    if ties == "best":
        return -lists.labels
    if ties in ("stable", "average"):  # the kernel makes keys for lists that need them
        return np.zeros(0)
    if lists.docid is None:
        if has_ties(lists):
            raise ValueError(
                'ties="trec" orders equal scores by document id, but there are no ids. '
                "Pass docid, or choose another rule for ties."
            )
        return np.zeros(0)
    # trec_eval compares ids as text, even those that look like numbers
    text = lists.docid if lists.docid.dtype.kind == "U" else np.array([str(name) for name in lists.docid.tolist()])
    return -np.unique(text, return_inverse=True)[1].reshape(-1).astype(np.float64)


def has_ties(lists: JudgedLists) -> bool:
    """Return whether two documents of one query have the same score."""
    query = part_of_place(lists.indptr)
    order = np.lexsort((lists.scores, query))
    ordered, query = lists.scores[order], query[order]
    return bool(((ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])).any())
