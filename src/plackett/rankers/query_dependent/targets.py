"""Queries that are to be scored by models of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Targets:
    """Queries with their documents, and where their models come from.

    Attributes
    ----------
    rows : ndarray of shape (n_docs, n_features)
        Documents, in the features of the function space.
    indptr : ndarray of shape (n + 1,)
    places : ndarray of shape (n,)
        Place among the training queries; -1 for a query that is not among them.
    features : ndarray of shape (n, n_query_features) or None
        Query features, where new queries need them.
    how_new : {"neighbors", "uniform", "random"}
        What ranks those that are new.
    is_uniform_only : bool
        Whether one model serves all.
    is_left_out : bool, default=False
        Whether training queries are scored as if they were new: by their neighbours, without their own documents.
    """

    rows: np.ndarray
    indptr: np.ndarray
    places: np.ndarray
    features: np.ndarray | None
    how_new: str
    is_uniform_only: bool
    is_left_out: bool = False

    @property
    def n(self) -> int:
        return self.indptr.size - 1

    @property
    def is_uniform(self) -> np.ndarray:
        """Which of them the uniform model serves."""
        if self.is_uniform_only:
            return np.ones(self.n, dtype=bool)
        return (self.places < 0) & (self.how_new == "uniform")

    @property
    def places_with_neighbors(self) -> np.ndarray:
        """Which of them have a model fitted to their neighbours."""
        return np.flatnonzero(~self.is_uniform & ((self.places >= 0) | (self.how_new == "neighbors")))


def score_lists(rows: np.ndarray, indptr: np.ndarray, coef: np.ndarray, *, is_bilinear: bool) -> np.ndarray:
    """Scores of the documents of each query by its own coefficients.

    Bilinear ones are preferences ``f(x, x') = x·B x'`` with an antisymmetric B; a document's score is their mean over
    the documents of its list, which is the least squares answer to ``s_j - s_l = f(x_j, x_l)``.
    """
    scores = np.empty(rows.shape[0])
    for query, (start, stop) in enumerate(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)):
        own = rows[start:stop]
        by = coef[query]
        if is_bilinear:
            by = by.reshape(own.shape[1], own.shape[1]) @ own.mean(axis=0)
        scores[start:stop] = own @ by
    return scores
