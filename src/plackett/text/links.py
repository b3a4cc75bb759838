"""Links between documents, and PageRank."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.exceptions import ConvergenceWarning
from plackett.validation import check_csr, check_number, check_positive_int, is_sparse, plain


def as_links(links: Any, n_docs: int) -> np.ndarray:
    """Return links as sorted rows of (from, to, weight); the weights of duplicates are added up."""
    with importing:
        from scipy.sparse import coo_matrix

    if is_sparse(links):
        check_csr(links, "links")
        table = links.tocoo()
        if table.shape != (n_docs, n_docs):
            raise ValueError(
                f"links has shape {table.shape}; one row and one column per document, {n_docs}, is needed."
            )
        source, target, weights = table.row, table.col, table.data
    else:
        rows = np.asarray(links)
        if rows.size == 0:
            rows = rows.reshape(0, 2)
        if rows.dtype.kind not in "iuf":
            raise ValueError(f"links holds {plain(rows.flat[0])!r}; documents are given by position, numbers from 0.")
        if rows.ndim != 2 or rows.shape[1] not in (2, 3):
            raise ValueError(f"links has shape {rows.shape}; rows of (from, to) or (from, to, weight) are needed.")
        source, target = rows[:, 0], rows[:, 1]
        weights = rows[:, 2] if rows.shape[1] == 3 else np.ones(len(rows))
    for ends in (source, target):
        wrong = (ends < 0) | (ends >= n_docs) | (ends != np.floor(ends))
        if wrong.any():
            place = ends[np.argmax(wrong)]
            raise ValueError(f"links names the document {place:g}, but there are {n_docs}, numbered from 0.")
    weights = np.asarray(weights, dtype=np.float64)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("links has a weight that is negative or not finite.")
    merged = coo_matrix((weights, (source.astype(np.int64), target.astype(np.int64))), shape=(n_docs, n_docs)).tocsr()
    merged.eliminate_zeros()
    table = merged.tocoo()
    return np.column_stack([table.row.astype(np.float64), table.col.astype(np.float64), table.data])


def link_degrees(links: np.ndarray, n_docs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of links to each document, and from it."""
    source, target = links[:, 0].astype(np.int64), links[:, 1].astype(np.int64)
    return np.bincount(target, minlength=n_docs), np.bincount(source, minlength=n_docs)


def pagerank(links: Any, n_docs: int, *, damping: float = 0.85, tol: float = 1e-12, max_iter: int = 1000) -> np.ndarray:
    """Return the PageRank of each document.

    It is the stationary distribution of a reader who follows a link, chosen by its weight, with probability ``damping``
    and jumps to a random document otherwise, or always from a document without links.

    Parameters
    ----------
    links : array of shape (n_links, 2) or (n_links, 3), or scipy sparse matrix of shape (n_docs, n_docs)
        Rows of (from, to) or (from, to, weight), documents by position.
    n_docs : int
    damping : float, default=0.85
        Probability of following a link, from 0 to below 1.
    tol : float, default=1e-12
        Iterations end when the sum of all changes is smaller.
    max_iter : int, default=1000

    Returns
    -------
    ndarray of shape (n_docs,)
        Sums to 1.

    Examples
    --------
    >>> from plackett.text import pagerank
    >>> pagerank([[0, 2], [1, 2]], 3).round(3)
    array([0.213, 0.213, 0.574])
    """
    with importing:
        from scipy.sparse import csr_matrix

    n_docs, max_iter = check_positive_int(n_docs, "n_docs"), check_positive_int(max_iter, "max_iter")
    if not 0.0 <= check_number(damping, "damping") < 1.0:
        raise ValueError(f"damping={damping!r}; it must be at least 0 and below 1.")
    check_number(tol, "tol", above=0.0)
    rows = as_links(links, n_docs)
    source, target, weights = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2]
    outgoing = np.bincount(source, weights=weights, minlength=n_docs)
    steps = csr_matrix((weights / outgoing[source], (target, source)), shape=(n_docs, n_docs))
    is_dead_end = outgoing == 0
    ranks = np.full(n_docs, 1.0 / n_docs)
    for _ in range(max_iter):
        jumps = (1.0 - damping + damping * ranks[is_dead_end].sum()) / n_docs
        after = damping * (steps @ ranks) + jumps
        change = np.abs(after - ranks).sum()
        ranks = after
        if change < tol:
            break
    else:
        message = f"pagerank stopped after {max_iter} iterations at a change of {change:.0e}, above tol={tol:g}."
        warnings.warn(f"{message} Raise max_iter.", ConvergenceWarning, stacklevel=2)
    return ranks / ranks.sum()
