"""Base class of the rankers: one ``fit`` for all of them, scoring by a measure, saving.

How a ranker fills in the template of ``fit``:

1. ``__init__`` stores each parameter as given. Budgets are named ``max_iter`` (solvers), ``n_rounds`` (boosting, trees)
   or ``n_epochs`` (stochastic methods); ``patience``, ``verbose``, ``random_state`` and ``normalize`` mean the same in
   all rankers. A ranker with the parameter ``normalize`` derives from ``Normalized``, and one
   whose missing values are filled and whose categories are encoded from ``Prepared``.
2. ``_check_parameters()`` raises an error for invalid parameters. ``patience`` is checked here.
3. ``_learn(training, monitor)`` finds the model and sets the learned attributes. ``training`` holds the checked and
   scaled queries and one weight per query. Iterations run inside ``monitor.run(budget, total, names)`` and call
   ``monitor.record(...)``, which measures the validation queries and returns a reason to stop. After the context, the
   ranker keeps ``monitor.best_state`` or the first ``monitor.n_kept`` steps. Ctrl-C ends the context; without
   ``monitor.run`` it leaves the ranker as it was.
4. ``_predict_grouped(queries)`` returns the scores of checked rows.

The template does the rest: it parses ``eval_metric``, checks X, y, qid, ``sample_weight`` and ``eval_set``, encodes
categories and fills missing values (``preparation.py``; ``n_prepared`` columns result), fits the normalizer, restores
the ranker if the fit fails, and sets ``n_queries_``, ``n_iter_``, ``stop_reason_``, ``history_``, ``best_iteration_``
and ``best_score_``. A ranker whose ``fit`` has further arguments declares its own ``fit`` and
passes them to ``_fit`` by name; ``_scale`` and ``_learn`` receive them.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett.data.list_warnings import warn_of_one_list
from plackett.data.preprocessing.blocks import fit_transform, transform
from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer
from plackett.data.queries import Queries, QueryLists
from plackett.data.ranking import Ranking
from plackett.exceptions import DataWarning, warn
from plackett.losses import AbsentLoss, get_loss
from plackett.metrics.judged_lists import JudgedLists
from plackett.metrics.measure import Measure
from plackett.rankers import preparation
from plackett.rankers.inputs import QueryInputs, check_argument_names, check_query_weights
from plackett.rankers.monitor import DEFAULT_METRIC, FitMonitor, ValidationSet
from plackett.rankers.parameters import check_parameters
from plackett.storage import models
from plackett.storage.models.sklearn_estimators import is_sklearn, n_columns_of
from plackett.validation import check_index, check_positive_int, check_scores

if TYPE_CHECKING:
    from plackett.explain.explanation import Explanation
    from plackett.explain.rows import NeededLists
    from plackett.rankers.scoring.scorer import Scorer

NO_LABELS = QueryLists(np.zeros(0), np.zeros(1, dtype=np.int64))  # for checks of the parameters of a loss alone


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; its result so far was kept."""


class TrainingSet(NamedTuple):
    """Training queries, checked and scaled, and the weight of each query; None where all weigh the same.

    ``start`` is the score from which each document starts in boosting; None means 0.
    """

    queries: Queries
    weights: np.ndarray | None = None
    start: np.ndarray | None = None

    def row_weights(self) -> np.ndarray | None:
        """Return the weight of each document."""
        return None if self.weights is None else np.repeat(self.weights, np.diff(self.queries.indptr))


class Ranker(QueryInputs, ABC):
    """Base class of the rankers: scikit-learn estimators whose rows belong to queries.

    Pipelines and searches pass ``qid`` on once metadata routing is enabled
    (``sklearn.set_config(enable_metadata_routing=True)``).
    """

    is_frozen: ClassVar[bool] = False  # whether the ranker was trained elsewhere and is never fitted
    not_portable: ClassVar[str | None] = None  # why it cannot be exported
    ignores_further_columns_: bool = False  # whether X may have more columns than the model

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    model_of: ClassVar[Any] = None  # makes and checks the model that scores prepared rows

    patience: int | None
    history_: Any
    _scoring_methods: ClassVar[tuple[str, ...]] = ("predict", "_predict_grouped")

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

        The columns of a data frame may be named by their roles, as in ``from_frame``:
        ``fit(frame, qid="query", label="grade", docid="sku", drop=["seen"])``. A ranker that knows the names of its
        columns takes any frame that has them, in any order and among others.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        y : array-like of shape (n_docs,), or name of a column of X
            Labels, larger is better; ``label`` is another name. Omit if X is a Queries.
        qid : iterable of hashable ids, one per row, one id for all rows, or name of a column of X; default=None
            In any row order; None means that all rows are one list.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query).
        eval_set : Queries, tuple (X, y, qid), or data frame with the named columns; default=None
            Validation queries, measured after every iteration; the best iteration is kept. If the measure has no value
            in any iteration, a warning says so and the last iteration is kept.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.
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
            raise Interrupted("the fit was interrupted; its result so far was kept.")

    def check_parameters(self) -> None:
        """Raise a ``ValueError`` for invalid parameters, as ``fit`` does before it reads the data."""
        if getattr(self, "patience", None) is not None:
            check_positive_int(self.patience, "patience")
        if getattr(self, "normalize", None) is not None:
            get_normalizer(self.normalize)
        preparation.check_parameters(self)
        check_parameters(self)
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Check what the fields do not declare."""

    def _check_patience(self, eval_set: Any) -> None:
        patience = getattr(self, "patience", None)
        if patience is not None and eval_set is None and patience != _default_patience(type(self)):
            raise ValueError(
                f"patience={patience} needs an eval_set, but fit got none. Pass eval_set, or leave patience out."
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
            None if validation is None or measure is None else self._watched(validation, measure),
            getattr(self, "patience", None),
            is_shown=bool(getattr(self, "verbose", False)),
        )
        return training, monitor

    def _watched(self, validation: Any, measure: Measure) -> ValidationSet:
        """Return what measures the validation queries."""
        return ValidationSet(validation, measure)

    def _training_set(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
        """Check and prepare the training data."""
        queries = self._check_queries(X, y, qid, reset=True)
        self.n_queries_ = queries.n_queries
        return TrainingSet(queries, check_query_weights(sample_weight, queries))

    def _scale(self, training: Any, validation: Queries | None, **details: Any) -> tuple[Any, Queries | None]:
        """Transform training and validation queries."""
        return training, validation

    def _learn(self, *args: Any, **details: Any) -> None:
        """Find the model and set the learned attributes, from ``training`` and ``monitor``."""
        raise NotImplementedError(f"{type(self).__name__} has no _learn.")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the ranker if the fit fails; an interrupted fit keeps its result so far."""
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
        """Return the mean of a measure over the queries, for ``GridSearchCV``; higher is better.

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
            The negative mean for measures for which lower is better.
        """
        check_is_fitted(self)
        queries = self._check_queries(X, y, qid)
        if qid is None and not isinstance(X, Queries) and getattr(self, "n_queries_", 1) > 1:
            warn(
                f"score was called without qid and treats all rows as one list, but the ranker was fitted on "
                f"{self.n_queries_:,} queries. Pass one id per row, or qid=0 if they are one list. In searches, enable "
                "metadata routing: sklearn.set_config(enable_metadata_routing=True).",
                DataWarning,
            )
        weights = check_query_weights(sample_weight, queries)
        measure = Measure.parse(metric)
        scores = check_scores(self._predict_grouped(queries, **predict_params), queries.n_docs)
        values = measure.values(JudgedLists.of_queries(queries, scores))
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
            Of a frame, the columns of ``fit`` are taken by name.
        qid : iterable of hashable ids, one per row, one id for all rows, or name of a column of X; default=None
            Needed if the score of a document depends on its list (``depends_on_list``), as with
            ``normalize="query-zscore"``. For a single list: ``predict(X, qid=0)``.
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        return queries.in_row_order(self._predict_grouped(queries))

    def rank(
        self, X: Any, *, qid: Any = None, docid: Any = None, k: int | None = None, **predict_params: Any
    ) -> Ranking:
        """Return the documents of each query, the best first, with their scores.

        Equal scores are ordered by document id as text, descending, as in trec_eval, so the order does not depend
        on the order of the rows. Without document ids they keep the order of the rows.

        Parameters
        ----------
        X, qid : as in ``predict``
        docid : array-like of shape (n_docs,), default=None
            Document ids; None takes those of a ``Queries``, or else the row numbers, from 0.
        k : int, default=None
            Documents per query; None returns all.
        **predict_params
            Further arguments of ``predict``.

        Returns
        -------
        Ranking
            ``for qid, documents in ranking`` gives (docid, score) pairs; ``.to_frame()``, ``.to_run()``.

        Examples
        --------
        >>> import plackett as pk
        >>> data = pk.Queries([[1.0], [3.0], [2.0], [5.0]], [0, 1, 0, 1], [7, 7, 8, 8], docid=["a", "b", "c", "d"])
        >>> ranking = pk.ranker("regression").fit(data).rank(data, k=1)
        >>> [(qid, documents[0][0]) for qid, documents in ranking]
        [(7, 'b'), (8, 'd')]
        """
        check_index(docid, "docid", X)
        scores = self.predict(X, qid=qid, **predict_params)
        if isinstance(X, Queries):
            qid, docid = X.qid, X.docid if docid is None else docid
        elif qid is None:
            warn_of_one_list(len(scores), "rank")
        return Ranking(qid, scores, docid, k)

    def explain(
        self, X: Any, *, qid: Any = None, rows: Any = None, docid: Any = None, **predict_params: Any
    ) -> Explanation:
        """Return what each feature adds to each document's score, relative to the mean of its list.

        The contributions of a document sum to its score minus its list's mean score: those of a linear ranker, the
        Shapley values of trees (by LightGBM, which must be installed), the moves in rank by FeatureRank, the stumps of
        a refiner, and the integrated gradients of a net, from the mean of the training rows. Base scores that are not
        a column of X are one more feature, ``"base score"``.

        Parameters
        ----------
        X, qid : as in ``predict``
        rows : array-like of ints, default=None
            Rows to explain; None explains all. X must hold their whole lists.
        docid : array-like, default=None
            Names of the documents, to show instead of row numbers.
        **predict_params
            Further arguments of ``predict``.

        Returns
        -------
        Explanation
            ``.top(row)`` explains one document, ``.why(a, b)`` the difference between two, as tables.
        """
        with importing:
            from plackett.explain.rows import needed_lists

        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        base = self._given_base(X, qid, queries, **predict_params)
        docid = X.docid if isinstance(X, Queries) and docid is None else docid
        needed = needed_lists(queries, rows, docid)
        return self._explanation(needed, None if base is None else base[needed.places])

    def _given_base(self, X: Any, qid: Any, queries: Queries) -> np.ndarray | None:
        """Return base scores of grouped rows that were given to ``explain``, in rankers that take some."""
        return None

    def _explanation(self, needed: NeededLists, base: np.ndarray | None) -> Explanation:
        """Return the explanation of complete lists, whose given base scores are ``base``."""
        with importing:
            from plackett.explain.additive import explain_additive

        parts, values, about = self._explained(needed.queries, base)
        return explain_additive(parts, values, **about, **needed.named())

    def _explained(self, queries: Queries, base: np.ndarray | None) -> tuple[Any, Any, dict[str, Any]]:
        """Return what each feature adds to each score, the values of the features, and their names and the scores."""
        raise NotImplementedError(f"{type(self).__name__} cannot explain its scores feature by feature.")

    def _names_of_columns(self, n_columns: int) -> list[str] | None:
        """Return the names of the columns of the model; None if a normalizer has changed the columns."""
        return self.feature_labels if n_columns == self.n_prepared else None

    def scorer(self) -> Scorer:
        """Return a small object that computes the scores of ``predict`` from arrays, for processes that only score.

        It is immutable, thread-safe and picklable, and needs no scikit-learn; ``plackett.load_scorer`` makes one from a
        model file.

        Returns
        -------
        Scorer
            ``scorer.score(X)`` scores one list, ``scorer.score(X, indptr)`` several.

        Raises
        ------
        ValueError
            If the ranker has no scorer (``KernelRanker``, ``QueryDependentRanker``, refiners), or a part of it has
            none; the message says why.
        """
        with importing:
            from plackett.rankers import registry
            from plackett.rankers.scoring.build import build_scorer

        check_is_fitted(self)
        registry.fill()
        known = [cls for cls in type(self).__mro__ if issubclass(cls, Ranker) and models.name_of(cls) is not None]
        return build_scorer(models.part_of(self, next((cls for cls in known if self.predicts_as(cls)), None)))

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
        with importing:
            from plackett.rankers import registry  # registers the classes that a file may name

        check_is_fitted(self)
        registry.fill()
        models.save(_without_own_loss(self), path)

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes of a file that no fit produces."""
        n_features = getattr(self, "n_features_in_", None)
        if type(n_features) is not int or n_features < 0:
            raise ValueError("n_features_in_ must be the number of features.")
        first_index = self.first_index_
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
            if not all(isinstance(name, str) for name in names):
                raise ValueError(f"{name} must hold strings.")
        preparation.check_loaded_preparation(self)
        if self.model_of is not None:
            self.model_of(self, self._n_scored())

    def _n_scored(self) -> int:
        """Return the number of columns that the model scores."""
        return self.n_prepared

    def predicts_as(self, cls: type[Ranker]) -> bool:
        """Return whether scores are computed as in ``cls``, without overridden methods."""
        return all(getattr(type(self), name) is getattr(cls, name) for name in cls._scoring_methods)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.takes_missing or preparation.fills_missing(self)
        return tags


check_argument_names(Ranker)


@dataclass(eq=False, repr=False, kw_only=True)
class Encoded(Ranker):
    """A ranker with the parameter ``encoding``: the template encodes categories."""

    encoding: str = "error"


@dataclass(eq=False, repr=False, kw_only=True)
class Prepared(Encoded):
    """A ranker with the parameters ``missing`` and ``missing_indicator`` as well: the template fills missing values."""

    missing: Any = "error"
    missing_indicator: bool = False


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
        with importing:
            from sklearn.base import clone

        self.normalizer_ = clone(get_normalizer(self.normalize))
        in_place = [name for name in self.normalizer_.get_params() if name.rpartition("__")[2] == "copy"]
        self.normalizer_.set_params(**dict.fromkeys(in_place, True))  # X belongs to the caller
        return _with_rows(queries, fit_transform(self.normalizer_, queries))

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on the other documents of its list, so ``predict`` needs qid."""
        check_is_fitted(self)
        return isinstance(self.normalizer_, QueryNormalizer) or super().depends_on_list

    def _n_scored(self) -> int:
        return check_loaded_normalizer(self, self.n_prepared)

    def _normalized(self, queries: Queries) -> Queries:
        """Return the queries with scaled columns, memory-mapped if X is."""
        return queries if self.normalizer_ is None else _with_rows(queries, transform(self.normalizer_, queries))


@functools.cache
def _default_patience(cls: type) -> int | None:
    return inspect.signature(cls).parameters["patience"].default


def _without_own_loss(ranker: Ranker) -> Ranker:
    """Return the ranker, or a copy with only the name of its loss if a file cannot hold the class of the loss."""
    loss = getattr(ranker, "loss", None)
    if not hasattr(loss, "value_and_slope") or models.name_of(type(loss)) is not None:
        return ranker
    saved = copy.copy(ranker)
    saved.loss = AbsentLoss(repr(get_loss(loss)))
    return saved


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


def _with_rows(queries: Queries, X: Any) -> Queries:
    names = queries.feature_names if X.shape[1] == queries.n_features else None  # names of other columns
    return queries.replace(X=X, feature_names=names)


def as_seed(random_state: Any) -> int | None:
    """Return a whole number from any random state of scikit-learn; None stays None."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    with importing:
        from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
