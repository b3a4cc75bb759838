"""Base class of the rankers: one ``fit`` for all of them, checked inputs, scoring by a measure, saving.

How a ranker fills in the template of ``fit``:

1. ``__init__`` stores each parameter as given. Budgets are named ``max_iter`` (solvers), ``n_rounds`` (boosting, trees)
   or ``n_epochs`` (stochastic methods); ``patience``, ``verbose``, ``random_state`` and ``normalize`` mean the same in
   all rankers. A ranker with the parameter ``normalize`` derives from ``Normalized``.
2. ``_check_parameters()`` raises an error for parameters without a meaning. ``patience`` is checked here.
3. ``_learn(training, monitor)`` finds the model and sets the learned attributes. ``training`` holds the checked and
   scaled queries and one weight per query. Iterations run inside ``monitor.run(budget, total, names)`` and call
   ``monitor.record(...)``, which measures the validation queries and returns a reason to stop. After the context, the
   ranker keeps ``monitor.best_state`` or the first ``monitor.n_kept`` steps. Ctrl-C ends the context; without
   ``monitor.run`` it leaves the ranker as it was.
4. ``_predict_grouped(queries)`` returns the scores of checked rows.

The template does the rest: it parses ``eval_metric``, checks X, y, qid, ``sample_weight`` and ``eval_set``, fits the
normalizer, restores the ranker if the fit fails, and sets ``n_queries_``, ``n_iter_``, ``stop_reason_``, ``history_``,
``best_iteration_`` and ``best_score_``. A ranker whose ``fit`` has further arguments declares its own ``fit`` and
passes them to ``_fit`` by name; ``_scale`` and ``_learn`` receive them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from plackett._warnings import without
from plackett.data.column_roles import warn_of_frame
from plackett.data.grouping import check_is_no_column
from plackett.data.list_warnings import ONE_LIST, naming_columns, warn_of_lists, warn_of_one_list
from plackett.data.preprocessing.blocks import fit_transform, transform
from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer
from plackett.data.queries import Queries, QueryLists
from plackett.exceptions import DataWarning, warn
from plackett.losses import get_loss
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers.arguments import check_argument_names, check_is_loaded
from plackett.rankers.monitor import DEFAULT_METRIC, FitMonitor, ValidationSet
from plackett.storage import models
from plackett.storage.models.sklearn_estimators import is_sklearn, n_columns_of
from plackett.validation import (
    as_csr,
    check_finite,
    check_labels,
    check_not_masked,
    check_numbers,
    check_positive_int,
    check_scores,
    count_of,
    feature_labels,
    feature_number,
    is_sparse,
)

NO_LABELS = QueryLists(np.zeros(0), np.zeros(1, dtype=np.int64))  # for checks of the parameters of a loss alone
NAMES_DIFFER = "X (does not have valid|has) feature names"  # as scikit-learn warns


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit, after what it had found so far was kept."""


class TrainingSet(NamedTuple):
    """Training queries, checked and scaled, and the weight of each query; None where all weigh the same."""

    queries: Queries
    weights: np.ndarray | None = None

    def row_weights(self) -> np.ndarray | None:
        """Return the weight of each document."""
        return None if self.weights is None else np.repeat(self.weights, np.diff(self.queries.indptr))


class Ranker(BaseEstimator, ABC):
    """Base class of the rankers: scikit-learn estimators whose rows belong to queries.

    Pipelines and searches pass ``qid`` on once metadata routing is enabled
    (``sklearn.set_config(enable_metadata_routing=True)``).
    """

    takes_loss_objects: ClassVar[bool] = False  # whether ``loss`` may be an object with its own parameters

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    loss: Any
    patience: int | None
    history_: Any
    _scoring_methods: ClassVar[tuple[str, ...]] = ("predict", "_predict_grouped")
    _id_for_one_list: ClassVar[str] = repr(ONE_LIST)  # as an error suggests it

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_argument_names(cls)

    # --- Fit ----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> Self:
        """Fit the ranker to judged lists.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,)
            Labels, larger is better. Left out where X is a Queries.
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query).
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every iteration; the best iteration is kept.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        return self._fit(X, y, qid=qid, sample_weight=sample_weight, eval_set=eval_set, eval_metric=eval_metric)

    def _fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
        **details: Any,
    ) -> Self:
        """Run the template of ``fit``; ``details`` are further arguments of ``_scale`` and ``_learn``."""
        self.check_parameters()
        self._check_patience(eval_set)
        with self._all_or_nothing():
            training, monitor = self._prepare_fit(X, y, qid, sample_weight, eval_set, eval_metric, **details)
            self._learn(training, monitor, **details)
            self._keep_record(monitor)
        return self

    def _keep_record(self, monitor: FitMonitor) -> None:
        """Set the attributes that describe how the fit went, if it ran in iterations; pass an interruption on."""
        if monitor.stop_reason:
            self.n_iter_, self.stop_reason_, self.history_ = monitor.n_iter, monitor.stop_reason, monitor.history
            self.best_iteration_, self.best_score_ = monitor.best_iteration, monitor.best_score
        if monitor.is_interrupted:
            raise Interrupted("the fit was interrupted; what it had found so far was kept.")

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for parameters without a meaning, as ``fit`` does before it looks at data."""
        if getattr(self, "patience", None) is not None:
            check_positive_int(self.patience, "patience")
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Check the parameters of a family of rankers."""

    def _check_patience(self, eval_set: Any) -> None:
        patience = getattr(self, "patience", None)
        if patience is not None and eval_set is None and patience != _default_patience(type(self)):
            raise ValueError(
                f"patience={patience} is about the eval_set, but fit was given none. Give eval_set, or leave patience "
                "out."
            )

    def _prepare_fit(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any, eval_metric: Any, **details: Any
    ) -> tuple[Any, FitMonitor]:
        """Check the data and scale it; return what ``_learn`` needs."""
        is_watched = eval_set is not None or eval_metric is not None
        measure = Measure.parse(DEFAULT_METRIC if eval_metric is None else eval_metric) if is_watched else None
        training = self._training_set(X, y, qid, sample_weight)
        training, validation = self._scale(training, self._check_eval_set(eval_set), **details)
        monitor = FitMonitor(
            None if validation is None or measure is None else ValidationSet(validation, measure),
            getattr(self, "patience", None),
            is_shown=bool(getattr(self, "verbose", False)),
        )
        return training, monitor

    def _training_set(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
        """Check the training data; rules for missing values belong here too."""
        queries = self._check_queries(X, y, qid, reset=True)
        self.n_queries_ = queries.n_queries
        return TrainingSet(queries, self._check_query_weights(sample_weight, queries))

    def _scale(self, training: Any, validation: Queries | None, **details: Any) -> tuple[Any, Queries | None]:
        """Transform training and validation queries."""
        return training, validation

    def _learn(self, *args: Any, **details: Any) -> None:
        """Find the model and set the learned attributes, from ``training`` and ``monitor``."""
        raise NotImplementedError(f"{type(self).__name__} has no _learn.")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the ranker if the fit fails; an interrupted fit keeps what it has found."""
        before = self.__dict__.copy()
        try:
            yield
        except Interrupted:
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    # --- Scores -------------------------------------------------------------------------------------------------------

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
        """Return the mean of a measure over the queries, by which ``GridSearchCV`` compares; higher is better.

        Parameters
        ----------
        X, y, qid : as in ``fit``
        sample_weight : array-like, default=None
            Weights of the queries, as in ``fit``.
        metric : str or Measure, default="ndcg@10"
        **predict_params
            Further arguments of ``predict``.

        Returns
        -------
        float
            The negative mean for measures of which lower is better.
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
        """Return one score per row, higher is better, in the order of the rows given.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, or one id for all rows; default=None
            Needed where the score of a document depends on its list (``depends_on_list``), as after
            ``normalize="query-zscore"``. One list at a time: ``predict(X, qid=0)``.

        Returns
        -------
        ndarray of shape (n_docs,)
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
        """Return the scores of checked rows, in their grouped order."""

    def _check_scores(self, scores: np.ndarray, queries: Queries) -> np.ndarray:
        """Return the scores; raise an error if one overflowed."""
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
        """Write the fitted ranker to a file that ``plackett.load`` reads; the file holds no code.

        Parameters
        ----------
        path : str, path or binary file object
        """
        from plackett.rankers import registry  # registers the classes that a file may name

        check_is_fitted(self)
        registry.fill()
        models.save(self, path)

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes of a file that no fit produces."""
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

    # --- Inputs -------------------------------------------------------------------------------------------------------

    def check(self, X: Any, y: Any = None, *, qid: Any = None, needs_labels: bool = False) -> Queries:
        """Return rows as this ranker takes them: checked against those of ``fit`` and grouped by query.

        Parameters
        ----------
        X, y, qid : as in ``score``
        needs_labels : bool, default=False
            Whether missing labels are an error; without it labels are ignored.

        Returns
        -------
        Queries
            Its ``in_row_order`` puts values back into the order of the rows given.
        """
        check_is_fitted(self)
        return self._check_queries(X, y, qid, needs_labels=needs_labels)

    def _check_explained(self, X: Any, qid: Any, docid: Any) -> tuple[Queries, Any]:
        """Return the checked rows of ``explain``, and the names of the documents, by default those of a ``Queries``."""
        queries = self.check(X, qid=qid)
        return queries, X.docid if isinstance(X, Queries) and docid is None else docid

    def predicts_as(self, cls: type[Ranker]) -> bool:
        """Return whether scores are computed as in ``cls``, and not by a method that overrides one of its."""
        return all(getattr(type(self), name) is getattr(cls, name) for name in cls._scoring_methods)

    def _check_queries(self, X: Any, y: Any, qid: Any, *, needs_labels: bool = True, reset: bool = False) -> Queries:
        """Check outside arrays and group them by query; ``reset`` in ``fit``, which learns the columns.

        ``row_order`` of the result restores to the order of the rows as they were given.
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
            check_is_loaded(X, type(self).__name__, is_fit=reset)
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
        naming = naming_columns(X) if given is None else contextlib.nullcontext()
        with without(NAMES_DIFFER) if is_compared else contextlib.nullcontext(), naming:
            rows = validate_data(
                self,
                as_csr(X) if is_sparse(X) else X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                ensure_all_finite=False,  # checked below, with the position in the message
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
            }  # measures may break ties by them
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
        """Whether documents are learned one by one, so that labels may be equal within queries."""
        return self.takes_loss_objects and get_loss(self.loss).is_pointwise

    def _refuse_missing_qid(self) -> None:
        """Raise an error for rows without qid if scores depend on the list."""
        n_queries = getattr(self, "n_queries_", 1)
        if n_queries > 1 and self.depends_on_list:
            raise ValueError(
                f"qid is missing. This {type(self).__name__} was fitted on {n_queries:,} queries and scores a document "
                f"by its list. Give one id per row, in score and explain as in predict(X, qid=qid). Are all rows one "
                f"list? predict(X, qid={self._id_for_one_list}). Pipelines pass qid on: pipeline.predict(X, qid=qid); "
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
    def feature_labels(self) -> list[str] | None:
        """Names of the columns of ``fit``, or their numbers in the file; None for arrays."""
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
        """Return checked validation queries; None without an ``eval_set``."""
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
        """Return one weight per query, from one per query or one per row; None if all are equal."""
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


check_argument_names(Ranker)


class Normalized(Ranker):
    """A ranker with the parameter ``normalize``: columns are scaled by a transformer that is fitted and kept."""

    normalize: Any
    normalizer_: Any

    def _scale(self, training: Any, validation: Queries | None, **details: Any) -> tuple[Any, Queries | None]:
        training = training._replace(queries=self._fit_normalizer(training.queries))
        return training, None if validation is None else self._normalized(validation)

    def _fit_normalizer(self, queries: Queries) -> Queries:
        if self.normalize is None:
            self.normalizer_ = None
            return queries
        from sklearn.base import clone

        self.normalizer_ = clone(get_normalizer(self.normalize))
        in_place = [name for name in self.normalizer_.get_params() if name.rpartition("__")[2] == "copy"]
        self.normalizer_.set_params(**dict.fromkeys(in_place, True))  # X belongs to the caller
        return _with_rows(queries, fit_transform(self.normalizer_, queries))

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on the other documents of its list, so that ``predict`` needs qid."""
        check_is_fitted(self)
        return isinstance(self.normalizer_, QueryNormalizer)

    def _normalized(self, queries: Queries) -> Queries:
        """Return the queries with scaled columns, memory-mapped if X is."""
        return queries if self.normalizer_ is None else _with_rows(queries, transform(self.normalizer_, queries))


@functools.cache
def _default_patience(cls: type) -> int | None:
    return inspect.signature(cls).parameters["patience"].default


def _columns_of(X: Any) -> list[str] | None:
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def check_loaded_normalizer(ranker: Normalized, n_given: int) -> int:
    """Return the number of columns after scaling; raise an error if ``normalizer_`` does not take ``n_given``."""
    normalizer = getattr(ranker, "normalizer_", "missing")
    if normalizer is None:
        return n_given
    if not hasattr(normalizer, "transform"):
        raise ValueError("normalizer_ must be a transformer or None.")
    if getattr(normalizer, "n_features_in_", None) != n_given:
        raise ValueError(f"normalizer_ must be fitted to {n_given} columns.")
    return n_columns_of(normalizer) if is_sklearn(normalizer) else n_given


def check_loaded_columns(ranker: Normalized, n_columns: int) -> None:
    """Raise an error if the features of a loaded ranker do not become ``n_columns`` columns."""
    found = check_loaded_normalizer(ranker, ranker.n_features_in_)
    if found != n_columns:
        raise ValueError(f"features must become {n_columns} columns, as in fit, but there are {found}.")


def _with_rows(queries: Queries, X: Any) -> Queries:
    names = queries.feature_names if X.shape[1] == queries.n_features else None  # names of other columns
    return queries.replace(X=X, feature_names=names)


def as_seed(random_state: Any) -> int | None:
    """Return a whole number from any random state of scikit-learn; None stays None."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
