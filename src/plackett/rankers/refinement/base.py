"""Base class of the refiners: base scores, feedback, known queries, and ties broken by the base ranker."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._arrays import column_of, dense
from plackett._threads import map_blocks, one_blas_thread, query_blocks
from plackett.data.queries import Queries
from plackett.rankers.base import Prepared
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.refinement.base_score import (
    column_number,
    grouped_base_score,
    is_column,
    predictions,
)
from plackett.rankers.refinement.judgements import Judgements, check_pairs
from plackett.scorers.tied_scores import break_ties, places_of, row_keys
from plackett.storage.models.array_checks import check_bounds, check_vector, column_or_none
from plackett.validation import check_labels, feature_labels, plain

DOCS_PER_BLOCK = 2048


class RefinementSet(NamedTuple):
    """Training data of a refiner: grouped queries, their base scores, and the feedback on them."""

    queries: Queries
    base: np.ndarray
    feedback: Judgements


class Refiner(Prepared):
    """Base class of the refiners: each query is refined separately, from its base scores and the feedback on it."""

    __metadata_request__fit: ClassVar = {"qid": True, "base_score": True, "pairs": True}
    __metadata_request__predict: ClassVar = {"qid": True, "base_score": True}

    query_ids_: np.ndarray
    indptr_: np.ndarray
    row_keys_: np.ndarray
    base_scores_: np.ndarray
    base_column_: int | None
    has_ids_: bool
    scores_: np.ndarray

    not_portable = "it only refines the lists that it was fitted to"

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, base_score: Any, qid: Any = None, pairs: Any = None
    ) -> Self:
        """Refine the ranking of each query.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
            All documents to rank, judged or not.
        y : array-like of shape (n_docs,), default=None
            Labels of the judged documents, larger is better; NaN for documents that were not judged. None takes the
            labels of a ``Queries``, if it has some; otherwise there is no feedback.
        base_score : int, str, array-like, ranker, model, Run or dict
            The ranking to refine: a column of X by number (from 0) or name, one score per row, a fitted ranker, any
            model with a method ``predict``, or a run.
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            In any row order; None means that all rows are one list.
        pairs : array-like of shape (n_pairs, 2), or tuple of two lists, default=None
            Row numbers (better, worse), instead of labels. Pairs may contradict each other; a repeated pair counts
            once.
        """
        return self._fit(X, y, qid=qid, base_score=base_score, pairs=pairs)

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for invalid parameters."""
        super().check_parameters()
        if self.get_params(deep=False).get("encoding") == "target":
            raise ValueError(
                'encoding="target" learns from the labels of many queries, but a refiner learns each query from its '
                'own judgements. Choose encoding="one-hot".'
            )

    def _prepare_fit(
        self,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: Any,
        eval_set: Any,
        eval_metric: Any,
        *,
        base_score: Any = None,
        pairs: Any = None,
        **details: Any,
    ) -> tuple[RefinementSet, FitMonitor]:
        queries = self._check_queries(X, None, qid, needs_labels=False, reset=True)
        self.has_ids_ = qid is not None or isinstance(X, Queries)
        base = self._base_of(X, queries, base_score, self.has_ids_)
        self.base_column_ = column_number(base_score, queries) if is_column(base_score) else None
        return RefinementSet(queries, base, self._feedback(X, y, pairs, queries)), FitMonitor()

    def _learn(self, training: RefinementSet, monitor: FitMonitor, **details: Any) -> None:
        queries, base = training.queries, training.base
        self.query_ids_, self.indptr_, self.n_queries_ = queries.ids, queries.indptr, queries.n_queries
        self.base_scores_ = base
        self.row_keys_ = np.concatenate(map_queries(queries, lambda _, rows: row_keys(rows)))
        self.scores_ = queries.in_row_order(break_ties(self._refine(*training), base, queries.indptr))

    @property
    def depends_on_list(self) -> bool:
        """Always True: each query is refined separately."""
        return True

    def _refuse_missing_qid(self) -> None:
        if self.has_ids_:
            raise ValueError(
                "fit had qid, but these rows have none, and a refiner needs the query of each document. Pass one id "
                "per row to predict, score and explain: predict(X, qid=qid); a single id applies to all rows."
            )

    @abstractmethod
    def _refine(self, queries: Queries, base: np.ndarray, feedback: Judgements) -> np.ndarray:
        """Learn from the feedback; return the scores of all grouped rows, before ties are broken."""

    @abstractmethod
    def _score_query(self, place: int, rows: np.ndarray, base: np.ndarray | None) -> np.ndarray:
        """Return scores of documents of the ``place``-th query of ``fit``, before ties are broken."""

    def _feedback(self, X: Any, y: Any, pairs: Any, queries: Queries) -> Judgements:
        if pairs is not None:
            if y is not None:
                raise ValueError("pass y or pairs, not both.")
            return Judgements(queries, pairs=check_pairs(pairs, queries))
        if y is None and isinstance(X, Queries):
            y = X.y
        if y is None:
            return Judgements(queries)
        labels = check_labels(y, queries.n_docs, allow_nan=True)
        return Judgements(queries, labels if queries.row_order is None else labels[queries.row_order])

    def _base_of(self, X: Any, queries: Queries, base: Any, has_ids: bool) -> np.ndarray:
        """Return base scores of grouped rows; a vector ``base`` is in the order of the rows of X."""
        if base is None:
            raise ValueError("base_score is None; pass a column, one score per row, a ranker or a run.")
        return grouped_base_score(base, X, queries, has_ids=has_ids)

    def predict(self, X: Any, *, qid: Any = None, base_score: Any = None) -> np.ndarray:
        """Return one score per row, higher is better, in the order of the rows of X.

        Ties are broken by the base scores, which changes scores by less than 1e-6, if ``base_score`` is given, if it
        was a column in ``fit``, or if all documents of a query were in ``fit``. Otherwise they stay.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
            Documents of the queries of ``fit``, the same or others.
        qid : iterable of hashable ids, one per row, default=None
            A query that was not in ``fit`` is an error.
        base_score : as in ``fit``, default=None
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        has_ids = qid is not None or isinstance(X, Queries)
        base = None if base_score is None else self._base_of(X, queries, base_score, has_ids)
        return queries.in_row_order(self._scores_of(queries, base, has_ids))

    def score(self, X: Any, y: Any = None, *, qid: Any = None, base_score: Any = None, **options: Any) -> float:
        """Return the mean of a measure over the queries, as in ``LinearRanker.score``.

        Parameters
        ----------
        X, y, qid : as in ``fit``
        base_score : as in ``fit``, default=None
        **options
            ``sample_weight`` and ``metric``, as in ``LinearRanker.score``.
        """
        if hasattr(base_score, "predict"):  # of the rows as given, not as this refiner prepares them
            base_score = predictions(base_score, X, None if isinstance(X, Queries) else qid)
        given = {} if base_score is None else {"base_score": base_score}
        return super().score(X, y, qid=qid, **given, **options)

    def _predict_grouped(self, queries: Queries, *, base_score: Any = None) -> np.ndarray:
        base = None if base_score is None else self._base_of(queries, queries, base_score, self.has_ids_)
        return self._scores_of(queries, base, self.has_ids_)

    def _scores_of(self, queries: Queries, base: np.ndarray | None, has_ids: bool) -> np.ndarray:
        places = self._places_of(queries, has_ids)
        if base is None and self.base_column_ is not None:
            base = column_of(queries.X, self.base_column_)

        def score(query: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            first, last = queries.indptr[query], queries.indptr[query + 1]
            known = self._known_base(places[query], rows) if base is None else base[first:last]
            scores = self._score_query(places[query], rows, known)
            return scores, np.zeros(scores.size) if known is None else known

        parts = map_queries(queries, score)
        scores = np.concatenate([part[0] for part in parts])
        return break_ties(scores, np.concatenate([part[1] for part in parts]), queries.indptr)

    def _given_base(self, X: Any, qid: Any, queries: Queries, base_score: Any = None) -> np.ndarray | None:
        has_ids = qid is not None or isinstance(X, Queries)
        self._places_of(queries, has_ids)
        return None if base_score is None else self._base_of(X, queries, base_score, has_ids)

    def _own_base(self, queries: Queries, places: list[int]) -> np.ndarray:
        """Return base scores of rows that ``predict`` scored: from a column, or ``fit``."""
        if self.base_column_ is not None:
            return column_of(queries.X, self.base_column_)
        known = [self._known_base(place, dense_rows(queries, query)) for query, place in enumerate(places)]
        return np.concatenate([part for part in known if part is not None])

    def _known_base(self, place: int, rows: np.ndarray) -> np.ndarray | None:
        """Return base scores of documents of ``fit``; None if one of them was not in it."""
        own = slice(self.indptr_[place], self.indptr_[place + 1])
        found = places_of(row_keys(rows), self.row_keys_[own])
        return None if found is None else self.base_scores_[own][found]

    def _places_of(self, queries: Queries, has_ids: bool = True) -> list[int]:
        """Return the places of queries in ``fit``."""
        if has_ids and not self.has_ids_:
            raise ValueError("fit had no qid: its rows were one list. Leave qid out here, too.")
        known = {key: place for place, key in enumerate(self.query_ids_.tolist())}
        unknown = [key for key in queries.ids.tolist() if key not in known]
        if unknown:
            raise ValueError(
                f"query {plain(unknown[0])!r} was not in fit ({len(unknown):,} of {queries.n_queries:,} were not). "
                "A refiner learns each query separately; rank new queries by the base ranker."
            )
        return [known[key] for key in queries.ids.tolist()]

    def _names(self) -> list[str]:
        return feature_labels(self.n_prepared, self.feature_labels)

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets."""
        super().check_loaded()
        check_bounds(self, "indptr_")
        indptr = self.indptr_
        if np.shape(self.query_ids_) != (indptr.size - 1,) or type(self.has_ids_) is not bool:
            raise ValueError(f"query_ids_ must hold {indptr.size - 1} ids.")
        for name, kind in (("base_scores_", np.float64), ("scores_", np.float64), ("row_keys_", np.int64)):
            check_vector(self, name, kind, int(indptr[-1]))
        column_or_none(self, "base_column_", self.n_features_in_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def dense_rows(queries: Queries, query: int) -> np.ndarray:
    """Return the rows of one query as a dense array."""
    return dense(queries.X[queries.indptr[query] : queries.indptr[query + 1]])


def map_queries(queries: Queries, work: Any) -> list:
    """Return ``work(query, rows)`` of every query, in order; queries run on all threads."""

    def map_block(first: int, last: int) -> list:
        return [work(query, dense_rows(queries, query)) for query in range(first, last)]

    with one_blas_thread():
        parts = map_blocks(map_block, query_blocks(queries.indptr, DOCS_PER_BLOCK))
    return [answer for part in parts for answer in part]
