"""What every ranker shares: the door for outside arrays, scoring by a measure, saving."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from plackett._warnings import without
from plackett.data.column_roles import warn_of_frame
from plackett.data.grouping import check_is_no_column
from plackett.data.list_checks import ONE_LIST, naming_columns, warn_of_lists, warn_of_one_list
from plackett.data.preprocessing.blocks import fit_transform, transform
from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, warn
from plackett.losses import get_loss
from plackett.metrics.judged import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.arguments import advise
from plackett.rankers.unread import refuse_unread
from plackett.storage import models
from plackett.storage.models.sklearn_estimators import is_sklearn, n_columns_of
from plackett.validation import (
    as_csr,
    check_finite,
    check_labels,
    check_not_masked,
    check_numbers,
    check_scores,
    count_of,
    feature_labels,
    feature_number,
    is_sparse,
)

NAMES_DIFFER = "X (does not have valid|has) feature names"  # as scikit-learn warns


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit, after the coefficients found so far were kept."""


class Ranker(BaseEstimator, ABC):
    """Base of the rankers: scikit-learn estimators whose rows belong to queries.

    ``qid`` goes by itself through pipelines and searches once metadata routing is enabled
    (``sklearn.set_config(enable_metadata_routing=True)``).
    """

    takes_loss_objects: ClassVar[bool] = (
        False  # whether the parameter ``loss`` may be an object with its own parameters
    )

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    loss: Any
    _id_for_one_list: ClassVar[str] = repr(ONE_LIST)  # as an error suggests it

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        advise(cls)

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        metric: str | Measure = "ndcg@10",
        **predict_params: Any,
    ) -> float:
        """Mean of a measure over the queries, by which searches such as ``GridSearchCV`` compare; higher is better.

        Measures that are better when lower count negative. ``sample_weight`` weighs the queries as in ``fit``; what
        else ``predict`` needs is passed on.
        """
        check_is_fitted(self)
        queries = self._check_queries(X, y, qid)
        if qid is None and not isinstance(X, Queries) and getattr(self, "n_queries_", 1) > 1:
            warn(
                f"score was called without qid and takes all rows as one list, but the ranker was fitted on "
                f"{self.n_queries_:,} queries. Give one id per row, or qid=0 if they are one list. In searches, enable "
                "metadata routing: sklearn.set_config(enable_metadata_routing=True).",
                DataWarning,
            )
        weights = self._check_query_weights(sample_weight, queries)
        measure = Measure.parse(metric)
        scores = check_scores(self._predict_grouped(queries, **predict_params), queries.n_docs)
        values = measure.values(JudgedLists.of_queries(queries, scores, with_docid=measure.rules.needs_docid(measure)))
        is_counted = ~np.isnan(values)
        if not is_counted.any() or (weights is not None and not weights[is_counted].any()):
            raise ValueError(
                f"no query has a value of {measure}: all {queries.n_queries:,} are empty or have weight 0."
            )
        mean = float(np.average(values[is_counted], weights=None if weights is None else weights[is_counted]))
        return mean if measure.higher_is_better else -mean

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """One score per row, higher is better, in the order of the rows given.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            Needed where the score of a document depends on its list (``depends_on_list``), as after
            ``normalize="query-zscore"``. One list at a time: ``predict(X, qid=0)``.
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        return queries.in_row_order(self._predict_grouped(queries))

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on the other documents of its list, so that ``predict`` needs qid."""
        return False

    @abstractmethod
    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        """Scores of checked rows, in their grouped order."""

    def _check_scores(self, scores: np.ndarray, queries: Queries) -> np.ndarray:
        """The scores; an error where one overflowed."""
        is_finite = np.isfinite(scores)
        if is_finite.all():
            return scores
        place = int(np.argmin(is_finite))
        row = place if queries.row_order is None else int(queries.row_order[place])
        raise ValueError(
            f"the score of row {row} overflowed: its features are too large, or far from those of fit. "
            f"{self._overflow_advice}"
        )

    @property
    def _overflow_advice(self) -> str:
        return "Scale the columns (normalize=), or clip them."

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write the fitted ranker to a file that ``plackett.load`` reads; the file holds numbers and words, no code."""
        from plackett.rankers import registry  # its classes are those that a file may name

        check_is_fitted(self)
        registry.fill()
        models.save(self, path)

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind: here, columns without or with too many names."""
        n_features = getattr(self, "n_features_in_", None)
        if type(n_features) is not int or n_features < 0:
            raise ValueError("n_features_in_ must be the number of features.")
        first_index = getattr(self, "first_index_", None)
        if first_index is not None and (type(first_index) is not int or first_index not in (0, 1)):
            raise ValueError("first_index_ must be 0, 1 or None.")
        if not hasattr(self, "feature_names_"):
            raise ValueError("feature_names_ must be a list or None.")
        for name in ("feature_names_", "feature_names_in_"):
            names = getattr(self, name, None)
            if names is None:
                continue
            if not isinstance(names, (list, np.ndarray)) or np.shape(names) != (n_features,):
                raise ValueError(f"{name} must hold one name for each of the {n_features} features.")
            if not all(isinstance(one, str) for one in names):
                raise ValueError(f"{name} must hold texts.")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the ranker as it was before; one that was interrupted leaves what it has found."""
        before = self.__dict__.copy()
        try:
            yield
        except Interrupted:
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_queries(self, X: Any, y: Any, qid: Any, *, needs_labels: bool = True, reset: bool = False) -> Queries:
        """The one door for outside arrays: checked, grouped by query, labels finite.

        ``row_order`` of the answer leads back to the order of the rows as they were given.
        """
        given = X if isinstance(X, Queries) else None
        if given is not None:
            if y is not None or qid is not None:
                raise ValueError("X is a Queries, which has its labels and qid; give neither y nor qid.")
            X, y = given.grouped.X, given.grouped.y
            if needs_labels and y is None:
                raise ValueError(
                    f"X is a Queries without labels, which {type(self).__name__} needs: Queries(X, y, qid)."
                )
        else:
            refuse_unread(X, type(self).__name__, is_fit=reset)
            check_not_masked(X, "X")
            check_is_no_column(qid, X)
            if qid is None and not reset:
                self._refuse_missing_qid()
        if needs_labels and y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        new_names = given.feature_names if given is not None else _columns_of(X)
        if reset and given is None and hasattr(X, "columns"):
            warn_of_frame(X)
        is_compared = new_names is not None and getattr(self, "feature_names_", None) is not None  # below
        with without(NAMES_DIFFER) if is_compared else contextlib.nullcontext(), naming_columns(X):
            rows = validate_data(
                self,
                as_csr(X) if is_sparse(X) else X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,  # looked at below, with a message that says where
            )
        names, first_index = self._names_of(given), None if given is None else given.first_index
        if reset:
            self.feature_names_, self.first_index_ = names, first_index
        elif new_names is not None:
            self._check_names(new_names)
        numbers = None if given is None or given.is_grouped else given.row_order
        check_finite(rows, names, first_index=first_index, row_numbers=numbers)
        labels = check_labels(y, rows.shape[0], row_numbers=numbers) if needs_labels else None
        if given is not None:
            rows_of = given.grouped
            named = {
                "docid": rows_of.document_ids,
                "comments": rows_of.comments,
            }  # for measures that break ties by them
            queries = Queries.from_groups(
                rows,
                labels,
                given.ids,
                rows_of.indptr,
                feature_names=names,
                first_index=first_index,
                row_order=numbers,
                **named,
            )
        else:
            queries = Queries(rows, labels, qid, feature_names=names).grouped
        if reset and needs_labels:
            warn_of_lists(queries.lists, has_qid=given is not None or qid is not None, is_pointwise=self._is_pointwise)
        return queries

    @property
    def _is_pointwise(self) -> bool:
        """Whether documents are learned one by one, so that labels need not differ within a query."""
        return self.takes_loss_objects and get_loss(self.loss).is_pointwise

    def _refuse_missing_qid(self) -> None:
        """Raise where rows without qid would be taken as one list, and their scores depend on what their list is."""
        n_queries = getattr(self, "n_queries_", 1)
        if n_queries > 1 and self.depends_on_list:
            raise ValueError(
                f"qid is missing. This {type(self).__name__} was fitted on {n_queries:,} queries and scores a document "
                f"by its list. Give one id per row, in score and explain as in predict(X, qid=qid). Are all rows one "
                f"list? predict(X, qid={self._id_for_one_list}). Pipelines hand qid on: pipeline.predict(X, qid=qid); "
                "so do searches: search.best_estimator_.predict(X, qid=qid)."
            )

    def _check_names(self, names: list[str]) -> None:
        """Compare the column names of a ``Queries`` with those of ``fit``, as scikit-learn does for data frames."""
        known = self.feature_names_
        if known is not None and names != known:
            place = next(place for place, (one, other) in enumerate(zip(names, known, strict=True)) if one != other)
            number = feature_number(place, getattr(self, "first_index_", None))
            raise ValueError(
                f"The feature names should match those that were passed during fit: {number} is "
                f"{names[place]!r} but was {known[place]!r}."
            )

    @property
    def _feature_labels(self) -> list[str] | None:
        """What users call the columns of ``fit``, by name or by number in the file; None for arrays, as elsewhere."""
        first_index = getattr(self, "first_index_", None)  # models of earlier versions have none
        if self.feature_names_ is None and first_index is None:
            return None
        return feature_labels(self.n_features_in_, self.feature_names_, first_index)

    def _names_of(self, given: Queries | None) -> list[str] | None:
        if given is not None and given.feature_names is not None:
            return given.feature_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _check_eval_set(self, eval_set: Any) -> Queries | None:
        """Validation queries through the same door; None where there are none."""
        if eval_set is None:
            return None
        if isinstance(eval_set, Queries):
            return self._check_queries(eval_set, None, None)
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 3:
            raise ValueError("eval_set must be a Queries or a tuple (X, y, qid).")
        X, y, qid = eval_set
        queries = self._check_queries(X, y, ONE_LIST if qid is None else qid)
        if qid is None:
            warn_of_one_list(queries.n_docs, "eval_set")
        return queries

    def _check_query_weights(self, sample_weight: Any, queries: Queries) -> np.ndarray | None:
        """One weight per query, from one per query or one per row; None where all are alike."""
        if sample_weight is None:
            return None
        weights = check_numbers(sample_weight, "sample_weight")
        if weights.size == queries.n_docs:
            rows = weights if queries.row_order is None else weights[queries.row_order]
            weights = rows[queries.indptr[:-1]]
            if (rows != np.repeat(weights, np.diff(queries.indptr))).any():
                raise ValueError("sample_weight differs within a query; a query is weighted as a whole.")
        elif weights.size != queries.n_queries:
            raise ValueError(
                f"sample_weight has {count_of(weights.size, 'value')}; one per query ({queries.n_queries:,}) or one "
                f"per row ({queries.n_docs:,}) is needed."
            )
        if weights.min() < 0 or weights.max() <= 0:
            raise ValueError("sample_weight must not be negative, and not all weights may be zero.")
        return weights / weights.max()  # their sum must not overflow

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


advise(Ranker)


class Normalized(Ranker):
    """A ranker with a parameter ``normalize``: columns are scaled before anything else, and the scaling is kept."""

    normalize: Any
    normalizer_: Any

    def _fit_normalizer(self, queries: Queries) -> Queries:
        if self.normalize is None:
            self.normalizer_ = None
            return queries
        from sklearn.base import clone

        self.normalizer_ = clone(get_normalizer(self.normalize))
        in_place = [name for name in self.normalizer_.get_params() if name.rpartition("__")[2] == "copy"]
        self.normalizer_.set_params(**dict.fromkeys(in_place, True))  # X is the caller's
        return _with_rows(queries, fit_transform(self.normalizer_, queries))

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on the other documents of its list, so that ``predict`` needs qid."""
        check_is_fitted(self)
        return isinstance(self.normalizer_, QueryNormalizer)

    def _normalized(self, queries: Queries) -> Queries:
        """The queries with their columns scaled; where X is mapped from a file, so are the scaled ones."""
        return queries if self.normalizer_ is None else _with_rows(queries, transform(self.normalizer_, queries))


def _columns_of(X: Any) -> list[str] | None:
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def check_loaded_normalizer(ranker: Normalized, n_given: int) -> int:
    """The number of columns after scaling; an error if ``normalizer_`` does not take ``n_given``."""
    normalizer = getattr(ranker, "normalizer_", "missing")
    if normalizer is None:
        return n_given
    if not hasattr(normalizer, "transform"):
        raise ValueError("normalizer_ must be a transformer or None.")
    if getattr(normalizer, "n_features_in_", None) != n_given:
        raise ValueError(f"normalizer_ must be fitted to {n_given} columns.")
    return n_columns_of(normalizer) if is_sklearn(normalizer) else n_given


def check_loaded_columns(ranker: Normalized, n_columns: int) -> None:
    """Refuse a ranker from a file that was fitted to another number of columns than its features become."""
    found = check_loaded_normalizer(ranker, ranker.n_features_in_)
    if found != n_columns:
        raise ValueError(f"features must become {n_columns} columns, as in fit, but there are {found}.")


def _with_rows(queries: Queries, X: Any) -> Queries:
    names = queries.feature_names if X.shape[1] == queries.n_features else None  # of other columns
    return queries.replace(X=X, feature_names=names)
