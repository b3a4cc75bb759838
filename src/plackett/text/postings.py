"""The postings of one field of an index, and the sums over them that rankers need."""

from __future__ import annotations

from functools import cached_property

import numpy as np


class Postings:
    """For each term, the documents with it in ascending order, and its count in each.

    Parameters
    ----------
    indptr : ndarray of int64 of shape (n_terms + 1,)
        Term ``t`` owns the postings ``indptr[t]:indptr[t + 1]``.
    docs, tf : ndarray of int32 of shape (n_postings,)
        The document by its position in the collection, and the count of the term in it.
    n_docs : int
        All documents of the collection, including those without text in this field.

    Attributes
    ----------
    lengths, distinct : ndarray of shape (n_docs,)
        Number of terms of each document, and of distinct terms.
    df, cf : ndarray of shape (n_terms,)
        Number of documents with a term, and its count in all of them.

    Examples
    --------
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples", "pears"])
    >>> postings = index.postings()
    >>> index.terms, postings.df.tolist(), postings.lengths.tolist()
    (['apples', 'green', 'pears', 'red'], [2, 1, 1, 1], [2, 2, 1])
    """

    def __init__(self, indptr: np.ndarray, docs: np.ndarray, tf: np.ndarray, n_docs: int):
        self.indptr, self.docs, self.tf, self.n_docs = indptr, docs, tf, n_docs

    @property
    def n_terms(self) -> int:
        return self.indptr.size - 1

    @cached_property
    def df(self) -> np.ndarray:
        return np.diff(self.indptr)

    @cached_property
    def cf(self) -> np.ndarray:
        sums = np.concatenate([[0], np.cumsum(self.tf, dtype=np.int64)])
        return sums[self.indptr[1:]] - sums[self.indptr[:-1]]

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.bincount(self.docs, weights=self.tf, minlength=self.n_docs).astype(np.int64)

    @cached_property
    def distinct(self) -> np.ndarray:
        return np.bincount(self.docs, minlength=self.n_docs)

    @cached_property
    def mean_length(self) -> float:
        return float(self.lengths.mean()) if self.n_docs else 0.0

    @cached_property
    def share(self) -> np.ndarray:
        """``cf / Σcf``, the probability of each term in the collection."""
        return self.cf / max(int(self.cf.sum()), 1)

    def docs_of(self, term: int) -> np.ndarray:
        """Return the documents with a term, in ascending order."""
        return self.docs[self.indptr[term] : self.indptr[term + 1]]
