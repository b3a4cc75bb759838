"""Query-dependent ranking: a scoring function for each query, learned from similar queries."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.data.queries import Queries
from plackett.explain.additive import explain_linear
from plackett.explain.query_dependent import NeighborTable, QueryExplanation
from plackett.metrics.measure import Measure
from plackett.rankers.base import TrainingSet
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.query_dependent.local_fits import LOSSES
from plackett.rankers.query_dependent.models import QueryModels
from plackett.rankers.query_dependent.targets import Targets
from plackett.scorers.kernel import check_kernel
from plackett.validation import check_choice, check_number, check_positive_int, feature_labels, plain

SOLVERS = ("auto", "newton", "admm")
NEW_QUERIES = ("neighbors", "uniform", "random")
PRODUCT_KERNELS = ("linear", "rbf", "laplacian")


class QueryDependentRanker(QueryModels):
    """Ranks each query by its own scoring function, learned from training queries weighted by similarity.

    For a target query it minimises, over scoring functions s (Dai and Wang 2019),

        ``(1 / n) Σ_i (2 π_i / (N_i (N_i - 1))) Σ_{j, l} L(s(x_ij) - s(x_il)) + (l2 / 2) ‖s‖²``

    where the inner sum is over the pairs in which document j of the N_i documents of query i is better than l, and π
    are the weights of the n training queries, which sum to n. ``weights="uniform"`` is RankSVM,
    ``LinearRanker(loss=Pairwise("hinge", normalize="all"))``;
    ``"individual"`` fits each query alone; with the others, queries learn from queries with similar features.

    A query is *observed* if its id was in ``fit``: its model is stored. The model of another query is fitted in
    ``predict``, to the nearest training queries. For that the training documents are kept (``training_bytes_``) and
    saved with the ranker.

    It helps if groups of queries need different rankings and query features distinguish them. On MQ2008, whose
    normalisation removed the query features, it ranks like RankSVM, at the cost of a model for each query.

    Parameters
    ----------
    weights : str, default="gaussian"
        ``"uniform"``, ``"individual"``, ``"knn"``, or a function of the distance between query features over the
        bandwidth: ``"gaussian"``, ``"epanechnikov"``, ``"tricube"``, ``"rectangular"``.
    n_neighbors : int, None or "auto", default="auto"
        Number of nearest queries with a weight; None: all. ``"auto"`` chooses from 15, 50, 150 and 500 (at most all
        queries) by the validation measure: on ``eval_set`` if it is given, else on up to 200 training queries, each
        ranked by a model of the others. It takes the most neighbours whose mean is within one standard error of the
        best, since few neighbours overfit. It is 15 for ``solver="admm"``, and for ``function="pair"`` with a kernel.
        ``"uniform"`` and ``"individual"`` ignore it.
    n_neighbors_new : int or None, default=None
        The same for queries that were not in ``fit``; None takes ``n_neighbors``.
    bandwidth : float or "median", default="median"
        The unit of distance. ``"median"`` is the median distance between the target and all training queries.
    query_features : None, "auto", "mean", list of columns, or matrix, default=None
        The features that queries are compared by. A matrix has one row per query of ``fit``, in order of first
        appearance. A list of numbers or names takes columns of X that are constant within queries; ``"auto"`` finds
        them. These columns are then not features of documents. ``"mean"`` takes the mean of a query's documents. None
        takes the matrix given to ``fit``, else the columns found by ``"auto"``, else ``"mean"``.
    scale_query_features : bool, default=False
        Standardise the query features over the training queries.
    query_kernels : dict, default=None
        Kernels of query features that are not numbers, by column: ``"overlap"`` for categories, ``"kendall"`` or
        ``"mallows"`` for rankings, or objects of ``plackett.rankers.query_dependent.kernels``.
    query_depth : int, default=None
        If set, ``"mean"`` is over only this many documents of a query, the first by ``base_column``.
    base_column : int or str, default=None
        Number or name of a column of X, in which higher is better.
    kernel : str or callable, default="linear"
        Kernel of the scoring functions; names as in scikit-learn.
    gamma : float, "median", "scale" or None, default="median"
        Parameter of the kernel; ``"median"`` is one over the median distance between documents.
    degree, coef0 : float
        Parameters of the kernel.
    landmarks : int or None, default=None
        Number of documents of Nyström's approximation of the kernel; None computes it exactly.
    function : {"score", "pair"}, default="score"
        ``"pair"`` learns preferences ``f(x, x')`` between two documents instead. The score of a document is then the
        mean of ``½ (f(x, x') - f(x', x))`` over all documents ``x'`` of its list, the least squares solution.
    loss : {"hinge", "logistic", "psi"}, default="hinge"
        psi, ``min(1, hinge)``, is not convex; its solver starts from the solution of the hinge.
    l2 : float, sequence of floats or "grid", default=1e-3
        Strength of the penalty, as for ``LinearRanker``; few neighbours need a stronger one. From several, ``fit``
        takes the best on ``eval_set``, which may hold other documents of the training queries or other queries.
        ``"grid"`` means 61 values from 1000 to 0.001.
    solver : {"auto", "newton", "admm"}, default="auto"
        ``"admm"`` is the inexact method of the paper, for comparison; it is far slower.
    new_queries : {"neighbors", "uniform", "random"}, default="neighbors"
        The model of a query that was not in ``fit``: one fitted to its neighbours, the uniform model, or a random order
        with a warning. ``weights="individual"`` needs one of the latter two. With these the training documents are not
        kept.
    tol : float, default=1e-4
        Largest distance of an objective from its minimum, relative to the minimum.
    max_iter : int, default=500
        Maximum number of steps of one fit; a hundred times as many rounds of ADMM.
    normalize : str, transformer or None, default=None
        Scaling of the documents' columns; see ``LinearRanker``.
    max_bytes : int, default=2,000,000,000
        Size of the largest matrix of kernel values.
    n_jobs : int or None, default=None
        Workers of joblib; None takes those of ``joblib.parallel_config``, or else one thread per core.
    random_state : int, RandomState or None, default=None
        For landmarks and random orders.
    verbose : bool, default=False
        Whether to show a progress bar over the queries on standard error.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    coef_ : ndarray of shape (n_queries, n_coefs)
        Coefficients of the observed queries; for ``"uniform"`` all rows are the same. With a kernel, they belong to
        the features of its space.
    uniform_coef_ : ndarray of shape (n_coefs,)
        Coefficients of the model in which all queries have the same weight.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the training queries, in the order of the rows of ``coef_``.
    objective_, gap_ : ndarrays of shape (n_queries,)
        The objective of each model, and a bound on its distance from the minimum (NaN for psi).
    l2_ : float
        The strength of the penalty.
    l2_path_ : dict or None
        With several strengths: ``"l2"``, and the validation measure of each by its name.
    n_neighbors_ : int or None
        The number of neighbours; None: all.
    n_neighbors_path_ : dict or None
        With ``n_neighbors="auto"``: ``"n_neighbors"``, and the validation measure of each by its name.
    n_iter_ : int
        Largest number of steps of a model.
    stop_reason_ : str
        ``"all models converged"``, or how many did not.
    query_feature_kind_ : str
        Source of the query features: ``"matrix"``, ``"columns"``, ``"mean"`` or ``"none"``.
    training_bytes_ : int
        Size of the training documents that are kept for new queries.
    has_ids_, source_, space_, query_weights_ : bool and objects
        Whether ``fit`` had query ids, the source of query features, the kernel's space and the weights of queries.
    training_rows_, training_labels_, training_indptr_, training_shares_ : ndarrays or None
        The training documents that are kept for new queries, and the sample weights of their queries.
    best_iteration_, best_score_ : None, and float or None
        The first is always None; the second is the mean of the measure on the validation set, if there is one.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import QueryDependentRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_query_dependent(1, "II", random_state=0)  # two kinds of queries
    >>> ranker = QueryDependentRanker(l2=0.01).fit(data.queries[:30], query_features=data.query_features[:30])
    >>> one = pk.LinearRanker(loss="hinge", l2=0.01).fit(data.queries[:30])
    >>> new = data.queries[30:]
    >>> scores = ranker.predict(new, query_features=data.query_features[30:])
    >>> wrong = pk.metrics.mre(new.y, scores, qid=new.qid).mean()  # share of pairs in the wrong order
    >>> bool(wrong < 0.5 * pk.metrics.mre(new.y, one.predict(new), qid=new.qid).mean())
    True
    """

    not_portable = "it has a model for each query, not one for all"

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        query_features: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
        eval_query_features: Any = None,
    ) -> QueryDependentRanker:
        """Fit the uniform model and the models of all training queries.

        Parameters
        ----------
        X, y, qid, sample_weight : as in ``LinearRanker.fit``
        query_features : array-like or data frame with one row per query, default=None
            In order of first appearance (of a ``Queries``, the order of its ids).
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, by which ``l2`` and ``n_neighbors="auto"`` are chosen. They may be training queries with
            other documents, or other queries.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.
        eval_query_features : array-like, default=None
            Query features of ``eval_set``, one row per query, if ``fit`` has a matrix. Training queries do not need
            them.

        Returns
        -------
        self
        """
        return self._fit(
            X, y, qid=qid, sample_weight=sample_weight, eval_set=eval_set, eval_metric=eval_metric, metric=eval_metric,
            query_features=query_features, eval_query_features=eval_query_features,
            has_ids=qid is not None or isinstance(X, Queries),
        )  # fmt: skip

    def _scale(
        self, training: Any, validation: Queries | None, *, query_features: Any = None, has_ids: bool = True, **_: Any
    ) -> tuple[Any, Queries | None]:
        """Separate documents and query features, and scale the documents; those of validation follow in ``_learn``."""
        n_strengths = self._strengths().size
        if n_strengths > 1 and validation is None:
            raise ValueError(
                f"l2 holds {n_strengths} strengths; choosing one needs a validation set: pass eval_set, or a single l2."
            )
        documents = self._learn_queries(training.queries, query_features, has_ids=has_ids)
        return training._replace(queries=self._fit_normalizer(documents)), validation

    def _learn(
        self,
        training: TrainingSet,
        monitor: FitMonitor,
        *,
        metric: str | Measure | None = None,
        eval_query_features: Any = None,
        **_: Any,
    ) -> None:
        fits = self._learn_space(training.queries, training.weights)
        strengths, numbers, validation = self._strengths(), self._numbers_of_neighbors(), monitor.validation
        held_out = None
        if validation is not None:
            held_out = self._prepare(validation.queries, eval_query_features), validation
        self.l2_, self.l2_path_, self.n_neighbors_path_ = float(strengths[0]), None, None
        self.n_neighbors_ = self.query_weights_.n_neighbors = numbers[0]
        if strengths.size > 1 or len(numbers) > 1:
            choosing = held_out or self._left_out(training.queries, metric)
            if choosing is not None:
                self._choose(fits, strengths, numbers, *choosing)
        self._fit_observed(fits)
        self._keep_training(fits)
        self.best_iteration_ = None
        self.best_score_ = None if held_out is None else held_out[1].mean(self._score(held_out[0], fits))

    def _check_parameters(self) -> None:
        check_choice(self.function, "function", ["score", "pair"])
        check_choice(self.loss, "loss", list(LOSSES))
        check_choice(self.solver, "solver", SOLVERS)
        check_choice(self.new_queries, "new_queries", NEW_QUERIES)
        check_kernel(self.kernel)
        check_number(self.degree, "degree", least=1.0)
        check_number(self.coef0, "coef0")
        check_number(self.tol, "tol", above=0.0)
        check_positive_int(self.max_iter, "max_iter")
        check_number(self.max_bytes, "max_bytes", above=0.0)
        n_jobs = self.n_jobs
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
            raise ValueError(f"n_jobs={plain(n_jobs)!r}; it must be a number of workers, -1 for one per core, or None.")
        self._query_weights(None)._check_parameters()
        self._strengths()
        if self.landmarks is not None:
            check_positive_int(self.landmarks, "landmarks")
        if self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' is not supported: new documents are compared with those of training."
            )
        if self._is_bilinear and self.kernel not in PRODUCT_KERNELS:
            raise ValueError(
                f"function='pair' needs kernel='linear', 'rbf' or 'laplacian', not {plain(self.kernel)!r}: only for "
                "these is the kernel of two pairs a product of kernels of documents."
            )
        if self._is_bilinear and self.new_queries == "uniform" and self.weights != "uniform":
            raise ValueError(
                f"new_queries='uniform' needs a model of all queries, which function='pair' with "
                f"kernel={plain(self.kernel)!r} has for weights='uniform' only. Choose new_queries='neighbors'."
            )

    def predict(self, X: Any, *, qid: Any = None, query_features: Any = None) -> np.ndarray:
        """Return one score per row, higher is better, in the order of the rows given.

        Scores of different queries come from different models and are not comparable.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, default=None
            Queries with the id of a training query use its model. None means that all rows are one list: that of
            training if ``fit`` had no ids either, otherwise a new one.
        query_features : array-like or data frame with one row per query, default=None
            Needed for new queries if ``fit`` had a matrix; in order of first appearance.

        Returns
        -------
        ndarray of shape (n_docs,)
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        has_ids = qid is not None or isinstance(X, Queries)
        return queries.in_row_order(self._predict_grouped(queries, query_features=query_features, has_ids=has_ids))

    def _predict_grouped(self, queries: Queries, *, query_features: Any = None, has_ids: bool = True) -> np.ndarray:
        return self._check_scores(self._score(self._prepare(queries, query_features, has_ids=has_ids)), queries)

    # ---- neighbours and explanations ---------------------------------------------------------------------------------

    def neighbors(self, query: Any = None, *, query_features: Any = None) -> NeighborTable:
        """Return the training queries in the model of a query, and their weights.

        Parameters
        ----------
        query : id of a training query, or Queries with one query, default=None
        query_features : array-like of shape (n_query_features,), default=None
            Those of a query that was not in ``fit``, if ``fit`` had a matrix.

        Returns
        -------
        NeighborTable
            ``.ids``, ``.weights`` and ``.distances``, the nearest first; printed as a table.
        """
        check_is_fitted(self)
        matrix = None if query_features is None else [query_features]
        if isinstance(query, Queries):
            queries = self._check_queries(query, None, None, needs_labels=False)
            return self._neighbor_table(query.ids[0], self._prepare(_only(queries), matrix))
        if query is None and matrix is not None:
            placeholder = np.zeros((1, self.n_prepared))  # the documents of the query are not used
            return self._neighbor_table(None, self._prepare(Queries(placeholder), matrix, has_ids=not self.has_ids_))
        if matrix is not None:
            raise ValueError("pass the id of a training query or the features of another one, not both.")
        return self._neighbor_table(query, self._prepare_observed(query))

    def explain(  # type: ignore[override]
        self,
        X: Any = None,
        *,
        qid: Any = None,
        rows: Any = None,
        docid: Any = None,
        query: Any = None,
        query_features: Any = None,
    ) -> QueryExplanation:
        """Explain how a query's coefficients differ from the uniform ones, and the scores of its documents.

        Parameters
        ----------
        X, qid : as in ``predict``, the documents of one query
            Not needed if ``query`` is given.
        rows : array-like of ints, default=None
            Documents to explain; None explains all.
        docid : array-like, default=None
            Names of the documents, shown instead of row numbers.
        query : id of a training query, default=None
        query_features : array-like of shape (n_query_features,), default=None
            As in :meth:`neighbors`.

        Returns
        -------
        QueryExplanation
            ``.differences()``, ``.neighbors``, and ``.top(row)`` and ``.why(a, b)`` about the documents.

        Examples
        --------
        >>> import plackett as pk
        >>> data = pk.datasets.make_query_dependent(1, "II", random_state=0)
        >>> ranker = QueryDependentRanker(l2=0.01).fit(data.queries, query_features=data.query_features)
        >>> print(ranker.neighbors(1).ids[:3])
        [ 1  2 14]
        """
        check_is_fitted(self)
        if not self.space_.is_linear:
            raise NotImplementedError(
                f"a QueryDependentRanker with kernel={plain(self.kernel)!r} cannot be explained feature by feature: a "
                "kernel mixes the features. neighbors() shows the training queries of its model."
            )
        if X is None:
            targets, documents = self._prepare_observed(query), None
        else:
            if query is not None:
                raise ValueError("pass X, or the id of a training query; not both.")
            has_ids = qid is not None or isinstance(X, Queries)
            docid = X.docid if isinstance(X, Queries) and docid is None else docid
            queries = _only(self._check_queries(X, None, qid, needs_labels=False))
            query = queries.ids[0] if has_ids else None
            matrix = None if query_features is None else [query_features]
            targets = self._prepare(queries, matrix, has_ids=has_ids)
        coef = self._coef_of(targets)[0]
        if X is not None:
            documents = explain_linear(
                coef, targets.rows, [plain(query)] * targets.rows.shape[0], rows=rows, docid=docid,
                feature_names=self._column_names(coef.size),
            )  # fmt: skip
        table = self._neighbor_table(query, targets)
        names = feature_labels(coef.size, self._column_names(coef.size))
        assert self.uniform_coef_ is not None
        return QueryExplanation(query, table, coef, self.uniform_coef_, names, documents)

    def _neighbor_table(self, query: Any, targets: Targets) -> NeighborTable:
        if self.weights != "uniform" and targets.places[0] < 0 and targets.how_new != "neighbors":
            empty = np.zeros(0)
            return NeighborTable(query, self.query_ids_[:0], empty, empty)
        queries, weights, distances = self._neighbors_of(targets, np.arange(1)).of(0)
        return NeighborTable(query, self.query_ids_[queries], weights, distances)

    def _prepare_observed(self, query: Any) -> Targets:
        """Return a training query, without documents."""
        known = {key: place for place, key in enumerate(self.query_ids_.tolist())}
        if plain(query) not in known:
            raise ValueError(
                f"query {plain(query)!r} was not in fit; pass the id of one that was, or the documents of a new one."
            )
        nothing = np.zeros((0, self.coef_.shape[1]))
        place = np.array([known[plain(query)]])
        return Targets(nothing, np.zeros(2, np.int64), place, None, "neighbors", self.weights == "uniform")

    def _column_names(self, n_columns: int) -> list[str] | None:
        """Return the names of the documents' columns; None if a normalizer has changed the columns."""
        names = self.feature_labels
        if names is not None and self.source_.columns is not None:
            names = [name for column, name in enumerate(names) if column not in self.source_.columns]
        return names if names is not None and len(names) == n_columns else None


def _only(queries: Queries) -> Queries:
    if queries.n_queries != 1:
        raise ValueError(f"one query is explained at a time, but {queries.n_queries:,} were given.")
    return queries
