"""Rocchio's relevance feedback, the baseline of ranking refinement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._arrays import dense
from plackett.data.queries import Queries
from plackett.rankers.parameters import param
from plackett.rankers.refinement.base import Refiner, map_queries
from plackett.rankers.refinement.judgements import Judgements
from plackett.storage.models.array_checks import check_matrix
from plackett.validation import check_number

SHORTEST = 1e-300  # of a column whose inverse length is finite


@dataclass(eq=False, repr=False, kw_only=True)
class RocchioRefiner(Refiner):
    """Ranks the documents of a query by their similarity to relevant ones minus that to others (Rocchio 1971).

    ``Q = alpha · mean of the relevant - beta · mean of the not relevant``, and the score of a document is ``x · Q``.
    Columns are scaled to unit length within the query, and the base score is a further column, unless it is a column
    already. If all judged documents are relevant, or none is, Q is that mean alone. Without judgements the order of the
    base ranker is kept.

    Parameters
    ----------
    alpha : float, default=2.0
    beta : float, default=1.0
        At least 0. Jin, Valizadegan and Li (2008) try 1 to 10. On OHSUMED, MQ2008 and MSLR, documents that were not
        judged rank worse with ``alpha = beta``; more than ``alpha = 2 beta`` changes little.
    relevant_from : float, default=1.0
        Smallest relevant label.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    scores_ : ndarray of shape (n_docs,)
        Refined scores of the rows of ``fit``; ties are broken by the base ranker.
    coef_ : ndarray of shape (n_queries, n_features) or (n_queries, n_features + 1)
        Q of each query for unscaled columns; the base score is last if it is not a column of X.
    query_ids_, base_scores_, base_column_, indptr_, row_keys_, has_ids_ : as in ``MultiplicativeRefiner``
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import RocchioRefiner
    >>> import numpy as np
    >>> X = np.array([[9.0, 0.0], [8.0, 1.0], [7.0, 0.0], [6.0, 1.0], [5.0, 0.0]])
    >>> refiner = RocchioRefiner().fit(X, [0, 1, np.nan, np.nan, np.nan], base_score=0)
    >>> np.argsort(-refiner.scores_)
    array([1, 3, 0, 2, 4])
    """

    alpha: float = param(2.0, check_number, least=0.0)
    beta: float = param(1.0, check_number, least=0.0)
    relevant_from: float = param(1.0, check_number)

    def _feedback(self, X: Any, y: Any, pairs: Any, queries: Queries) -> Judgements:
        if pairs is not None:
            raise ValueError("RocchioRefiner needs labels: pass y, not pairs.")
        return super()._feedback(X, y, pairs, queries)

    def _refine(self, queries: Queries, base: np.ndarray, feedback: Judgements) -> np.ndarray:
        def learn(query: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            own = slice(queries.indptr[query], queries.indptr[query + 1])
            table = self._table(rows, base[own])
            coef = self._query_vector(table, feedback.labels[own])
            return coef, table @ coef

        answers = map_queries(queries, learn)
        self.coef_ = np.array([coef for coef, _ in answers])
        return np.concatenate([scores for _, scores in answers])

    def _column_names(self) -> list[str]:
        return self._names() if self.base_column_ is not None else [*self._names(), "base score"]

    def _table(self, rows: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Return the features, with the base score unless it is one of them."""
        rows = rows.astype(np.float64)
        return rows if self.base_column_ is not None else np.column_stack([rows, base])

    def _query_vector(self, table: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return Q for unscaled columns: divided by their lengths twice, for the judged and the scored documents."""
        sizes = np.abs(table).max(axis=0)
        sizes[sizes == 0.0] = 1.0
        with np.errstate(over="ignore"):
            lengths = sizes * np.sqrt(((table / sizes) ** 2).sum(axis=0))
        lengths[lengths == 0.0] = 1.0
        extreme = np.flatnonzero((lengths < SHORTEST) | ~np.isfinite(lengths))
        if extreme.size:
            column = int(extreme[0])
            raise ValueError(
                f"{self._column_names()[column]} has values up to {sizes[column]:.3g}, which cannot be scaled to unit "
                "length. Multiply it by a constant; the scores stay the same."
            )
        scaled = table / lengths
        answer = np.zeros(table.shape[1])
        is_relevant = labels >= self.relevant_from  # NaN is neither
        is_other = labels < self.relevant_from
        if is_relevant.any():
            answer += self.alpha * scaled[is_relevant].mean(axis=0)
        if is_other.any():
            answer -= self.beta * scaled[is_other].mean(axis=0)
        return answer / lengths

    def _score_query(self, place: int, rows: np.ndarray, base: np.ndarray | None) -> np.ndarray:
        if base is None:
            raise ValueError(
                f"some documents of query {self.query_ids_.tolist()[place]!r} were not in fit. Pass base_score, which "
                "is one of the features of RocchioRefiner."
            )
        return self._table(rows, base) @ self.coef_[place]

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        places, scores = self._places_of(queries, self.has_ids_), self._scores_of(queries, base, self.has_ids_)
        base = self._own_base(queries, places) if base is None else base
        table = self._table(dense(queries.X), base)
        parts = table * np.repeat(self.coef_[places], np.diff(queries.indptr), axis=0)
        return parts, table, {"scores": scores, "feature_names": self._column_names()}

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets."""
        super().check_loaded()
        check_matrix(self, "coef_", self.indptr_.size - 1, self.n_prepared + (self.base_column_ is None))
