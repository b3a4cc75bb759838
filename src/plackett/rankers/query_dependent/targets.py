"""Queries to be scored, and their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Targets:
    """Queries with their documents, and the sources of their models.

    ``rows`` are documents in the features of the function space; ``places`` those among the training queries, -1 for a
    new query; ``features`` the query features, if new queries need them; ``how_new`` the model of new queries.
    ``is_uniform_only`` says that all queries have the same model, ``is_left_out`` that training queries are scored as
    if they were new: by their neighbours, without their own documents.
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
        """Return which of them have the uniform model."""
        if self.is_uniform_only:
            return np.ones(self.n, dtype=bool)
        return (self.places < 0) & (self.how_new == "uniform")

    @property
    def places_with_neighbors(self) -> np.ndarray:
        """Return the places of those with a model fitted to their neighbours."""
        return np.flatnonzero(~self.is_uniform & ((self.places >= 0) | (self.how_new == "neighbors")))


def score_lists(rows: np.ndarray, indptr: np.ndarray, coef: np.ndarray, *, is_bilinear: bool) -> np.ndarray:
    """Return the scores of the documents of each query by the query's coefficients.

    Bilinear models are preferences ``f(x, x') = x·B x'`` with an antisymmetric B. A document's score is their mean over
    the documents of its list, which is the least squares solution of ``s_j - s_l = f(x_j, x_l)``.
    """
    scores = np.empty(rows.shape[0])
    for query, (start, stop) in enumerate(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)):
        own = rows[start:stop]
        by = coef[query]
        if is_bilinear:
            by = by.reshape(own.shape[1], own.shape[1]) @ own.mean(axis=0)
        scores[start:stop] = own @ by
    return scores
