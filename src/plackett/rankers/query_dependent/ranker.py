"""Query-dependent ranking: a scoring function for each query, learned from similar queries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett._lazy import importing
from plackett._progress import Progress
from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning, warn
from plackett.explain.additive import explain_linear
from plackett.explain.query_dependent import NeighborTable, QueryExplanation
from plackett.metrics.measure import Measure
from plackett.rankers.base import Normalized, Prepared, TrainingSet, as_seed, check_loaded_normalizer
from plackett.rankers.monitor import FitMonitor, ValidationSet
from plackett.rankers.parameters import param
from plackett.rankers.query_dependent.features import QueryFeatureSource
from plackett.rankers.query_dependent.function_space import FunctionSpace
from plackett.rankers.query_dependent.local_fits import LOSSES, LocalFits, Solutions
from plackett.rankers.query_dependent.neighbors import Neighbors
from plackett.rankers.query_dependent.parameter_choice import (
    CANDIDATES,
    CHOOSING_TOL,
    L2_GRID,
    Choice,
    choose,
    queries_to_hold_out,
)
from plackett.rankers.query_dependent.targets import Targets, score_lists
from plackett.rankers.query_dependent.weights import QueryWeights
from plackett.scorers.kernel import check_kernel
from plackett.storage.models.array_checks import check_bounds, check_matrix, check_vector
from plackett.validation import (
    check_choice,
    check_number,
    check_numbers,
    check_positive_int,
    count_of,
    feature_labels,
    largest_values,
    plain,
)

PRODUCT_KERNELS = ("linear", "rbf", "laplacian")
MOST_MODELS_KEPT = 10_000  # of queries that were not in fit
TARGETS_AT_ONCE = 1024
BYTES_OF_PATH = 1 << 28  # of coefficients along a path that are in memory at a time
ALL_CONVERGED = "all models converged"
MAX_BYTES = 2_000_000_000


@dataclass(eq=False, repr=False, kw_only=True)
class QueryDependentRanker(Normalized, Prepared):
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
    degree : float, default=3
        Parameter of the kernel.
    coef0 : float, default=1
        Parameter of the kernel.
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
    max_bytes : int, default=2_000_000_000
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
    >>> from plackett.reproductions.qsvm.draws import make_query_dependent
    >>> data = make_query_dependent(1, "II", random_state=0)  # two kinds of queries
    >>> ranker = QueryDependentRanker(l2=0.01).fit(data.queries[:30], query_features=data.query_features[:30])
    >>> one = pk.LinearRanker(loss="hinge", l2=0.01).fit(data.queries[:30])
    >>> new = data.queries[30:]
    >>> scores = ranker.predict(new, query_features=data.query_features[30:])
    >>> wrong = pk.metrics.mre(new.y, scores, qid=new.qid).mean()  # share of pairs in the wrong order
    >>> bool(wrong < 0.5 * pk.metrics.mre(new.y, one.predict(new), qid=new.qid).mean())
    True
    """

    weights: str = field(default="gaussian", kw_only=False)
    n_neighbors: int | str | None = "auto"
    n_neighbors_new: int | None = None
    bandwidth: float | str = "median"
    query_features: Any = None
    scale_query_features: bool = False
    query_kernels: Mapping[int | str, Any] | None = None
    query_depth: int | None = None
    base_column: int | str | None = None
    kernel: Any = "linear"
    gamma: Any = "median"
    degree: float = param(3, check_number, least=1.0)
    coef0: float = param(1.0, check_number)
    landmarks: int | None = param(None, check_positive_int)
    function: str = param("score", check_choice, choices=("score", "pair"))
    loss: str = param("hinge", check_choice, choices=LOSSES)
    l2: Any = 1e-3
    solver: str = param("auto", check_choice, choices=("auto", "newton", "admm"))
    new_queries: str = param("neighbors", check_choice, choices=("neighbors", "uniform", "random"))
    tol: float = param(1e-4, check_number, above=0.0)
    max_iter: int = param(500, check_positive_int)
    normalize: Any = None
    max_bytes: int = param(MAX_BYTES, check_number, above=0.0)
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    not_portable = "it has a model for each query, not one for all"
    _id_for_one_list = "'new'"  # 0 may be a query of fit, which has its own model

    @property
    def _is_bilinear(self) -> bool:
        """Return whether models are preferences between two documents that are not differences of scores."""
        return self.function == "pair" and not FunctionSpace(self.kernel).is_linear

    @property
    def depends_on_list(self) -> bool:
        """Return whether the score of a document depends on its query or list."""
        return self.weights != "uniform" or self.function == "pair" or super().depends_on_list

    def _check_parameters(self) -> None:
        check_kernel(self.kernel)
        n_jobs = self.n_jobs
        if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
            raise ValueError(f"n_jobs={plain(n_jobs)!r}; it must be a number of workers, -1 for one per core, or None.")
        self._query_weights(None)._check_parameters()
        self._strengths()
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

    def _strengths(self) -> np.ndarray:
        """Return the strengths of the penalty, decreasing."""
        if isinstance(self.l2, str):
            check_choice(self.l2, "l2", ["grid"])
            return np.array(L2_GRID)
        if np.ndim(self.l2) == 0:
            return np.array([check_number(self.l2, "l2", above=0.0)])
        strengths = np.sort(check_numbers(self.l2, "l2"))[::-1]
        if strengths.size == 0 or not strengths[-1] > 0:
            raise ValueError(f"l2={self.l2!r} must hold at least one number, and only positive ones.")
        return strengths.copy()

    def _query_weights(self, kernels: Mapping | None) -> QueryWeights:
        """Return the weights, with the smallest of several numbers of neighbours."""
        if isinstance(self.n_neighbors, str):
            check_choice(self.n_neighbors, "n_neighbors", ["auto"])
        n_neighbors = CANDIDATES[-1] if isinstance(self.n_neighbors, str) else self.n_neighbors
        return QueryWeights(
            self.weights, n_neighbors=n_neighbors, n_neighbors_new=self.n_neighbors_new,
            bandwidth=self.bandwidth, kernels=kernels,
        )  # fmt: skip

    # ---- from data to models -----------------------------------------------------------------------------------------

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
        choice = Choice(float(strengths[0]), numbers[0])
        if strengths.size > 1 or len(numbers) > 1:
            choosing = held_out or self._left_out(training.queries, metric)
            if choosing is not None:
                choice = self._choose(fits, strengths, numbers, *choosing)
        self.l2_, self.n_neighbors_, self.l2_path_, self.n_neighbors_path_ = choice
        self.query_weights_.n_neighbors = choice.n_neighbors
        self._fit_observed(fits)
        self._keep_training(fits)
        self.best_iteration_ = None
        self.best_score_ = None if held_out is None else held_out[1].mean(self._score(held_out[0], fits))

    def _learn_queries(self, queries: Queries, matrix: Any, *, has_ids: bool) -> Queries:
        """Set ids, features and weights of the training queries; return the documents without query features."""
        self.n_queries_, self.query_ids_, self.has_ids_ = queries.n_queries, queries.ids, has_ids
        self.source_ = QueryFeatureSource()
        setting = self.query_features
        if self.weights in ("uniform", "individual"):
            setting, matrix = "none", None  # queries are not compared, and all columns stay with the documents
        documents, features = self.source_.fit(
            queries, setting, matrix, depth=self.query_depth, base_column=self.base_column,
            scale=self.scale_query_features, kernels=self.query_kernels,
        )  # fmt: skip
        self.query_feature_kind_ = self.source_.kind
        kernels = None if features is None else self.source_.kernels_of(self.query_kernels)
        self.query_weights_ = self._query_weights(kernels).fit(features, n_queries=queries.n_queries)
        self._new_models: OrderedDict[bytes, np.ndarray] = OrderedDict()
        return documents

    def _learn_space(self, documents: Queries, weights: np.ndarray | None) -> LocalFits:
        """Set the space of functions; return the object that fits models to the documents."""
        with np.errstate(over="ignore"):
            squares = documents.n_docs * (largest_values(documents.X) ** 2).sum()
        if not np.isfinite(squares):
            raise ValueError("the squares of the features overflow. Scale the columns (normalize=).")
        self.space_ = FunctionSpace(self.kernel, self.gamma, self.degree, self.coef0)
        lists = documents.lists
        rows = self.space_.fit(
            documents.X[lists.order], landmarks=self.landmarks, random_state=as_seed(self.random_state),
            max_bytes=self.max_bytes,
        )  # fmt: skip
        shares = None if weights is None else weights / weights.sum()
        return self._fits(rows, lists.labels[lists.order], documents.indptr, shares)

    def _fits(self, rows: np.ndarray, labels: np.ndarray, indptr: np.ndarray, shares: np.ndarray | None) -> LocalFits:
        data, is_pair = (rows, labels, indptr, shares), self.function == "pair"
        if self.solver == "admm":
            with importing:
                from plackett.rankers.query_dependent.admm_fits import AdmmFits

            return AdmmFits(*data, is_pair=is_pair, is_bilinear=self._is_bilinear, max_bytes=self.max_bytes)
        if self._is_bilinear:
            with importing:
                from plackett.rankers.query_dependent.pair_fits import PairFits

            return PairFits(*data, max_bytes=self.max_bytes)
        return LocalFits(*data, is_pair=is_pair)

    def _options(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter, "n_jobs": self.n_jobs}

    def _fit_observed(self, fits: LocalFits) -> None:
        strengths = np.array([self.l2_])
        is_uniform = self.weights == "uniform"
        self.uniform_coef_ = None
        with Progress("fitting", 1 if is_uniform else self.n_queries_, is_shown=bool(self.verbose)) as progress:
            if is_uniform or not self._is_bilinear:
                found = fits.solve_uniform(self.loss, strengths, **self._options())
                self.uniform_coef_ = found.coef[0, 0]
            if is_uniform:
                progress.advance()
            else:
                found = Solutions.join(
                    [
                        fits.solve(
                            self.query_weights_.of_observed(places), self.loss, strengths, start=self.uniform_coef_,
                            on_done=progress.advance, **self._options(),
                        )
                        for places in _some_at_a_time(self.n_queries_)
                    ]
                )  # fmt: skip
        self.coef_ = np.ascontiguousarray(np.broadcast_to(found.coef[0], (self.n_queries_, found.coef.shape[2])))
        self.objective_, self.gap_ = (
            np.broadcast_to(values[0], self.n_queries_).copy() for values in (found.objective, found.gap)
        )
        self.n_iter_ = int(found.n_steps.max(initial=0))
        self.stop_reason_ = self._warn_unconverged(found)

    def _warn_unconverged(self, found: Solutions) -> str:
        """Warn if some models did not converge; return the stop reason."""
        n_unfinished = int((~found.is_converged).sum())
        if n_unfinished == 0:
            return ALL_CONVERGED
        reason = f"{n_unfinished} of {count_of(found.is_converged.size, 'model')} did not converge"
        gap = found.worst_gap()
        warn(
            f"{reason} within max_iter={self.max_iter} steps"
            + (f" (duality gap up to {gap:.0e} of the objective, above tol={self.tol:g})" if np.isfinite(gap) else "")
            + ". Raise max_iter, tol or l2, or scale the columns (normalize=).",
            ConvergenceWarning,
        )
        return reason

    def _keep_training(self, fits: LocalFits) -> None:
        """Keep the training documents, to which models of new queries are fitted, in arrays that can be saved."""
        is_kept = self.weights not in ("uniform", "individual") and self.new_queries == "neighbors"
        kept: Any = (fits.X, fits.lists.labels, fits.indptr, fits.shares) if is_kept else (None,) * 4
        self._fits_kept: Any = fits if is_kept else None
        self.training_rows_, self.training_labels_, self.training_indptr_, self.training_shares_ = kept
        counted = (*kept[:3], self.query_weights_.numeric_) if is_kept else ()
        self.training_bytes_ = sum(array.nbytes for array in counted if array is not None)

    def _fits_for_new(self) -> LocalFits:
        if self.__dict__.get("_fits_kept") is None:  # loaded from a file
            self._fits_kept = self._fits(
                self.training_rows_, self.training_labels_, self.training_indptr_, self.training_shares_
            )
        return self._fits_kept

    # ---- the strength of the penalty and the number of neighbours ----------------------------------------------------

    def _numbers_of_neighbors(self) -> list[int | None]:
        """Return the numbers of neighbours to choose from, decreasing."""
        if not isinstance(self.n_neighbors, str):
            return [self.n_neighbors]
        if not self.query_weights_.needs_features:
            return [None]
        most = CANDIDATES[-1:] if self._is_bilinear or self.solver == "admm" else CANDIDATES  # these grow with pairs²
        return [*sorted({min(k, self.n_queries_) for k in most}, reverse=True)]

    def _left_out(self, documents: Queries, metric: str | Measure | None) -> tuple[Targets, ValidationSet] | None:
        """Return some training queries, to be ranked by models of the others; None if fewer than two have pairs."""
        places = queries_to_hold_out(documents)
        if places.size < 2:
            return None
        held_out = documents[places]
        rows = self.space_.features(held_out.X, self.max_bytes)
        targets = Targets(rows, held_out.indptr, places, None, "neighbors", is_uniform_only=False, is_left_out=True)
        return targets, ValidationSet(held_out, metric)

    def _choose(
        self,
        fits: LocalFits,
        strengths: np.ndarray,
        numbers: list[int | None],
        targets: Targets,
        validation: ValidationSet,
    ) -> Choice:
        """Choose the strength of the penalty and the number of neighbours on held-out queries."""
        tol = max(self.tol, CHOOSING_TOL) if len(numbers) > 1 else self.tol

        def scores(number: int | None) -> Iterator[np.ndarray]:
            self.query_weights_.n_neighbors = number
            for coef in self._path(fits, strengths, targets, tol):
                yield score_lists(targets.rows, targets.indptr, coef, is_bilinear=self._is_bilinear)

        return choose(strengths, numbers, scores, validation, is_shown=bool(self.verbose))

    def _path(self, fits: LocalFits, strengths: np.ndarray, targets: Targets, tol: float) -> Iterator[np.ndarray]:
        """Yield the coefficients of the targets for each strength; each fit starts where the previous one ended."""
        places = targets.places_with_neighbors
        neighbors = self._neighbors_of(targets, places) if places.size else None
        shared: Solutions | None = None
        found: Solutions | None = None
        options = {**self._options(), "tol": tol}
        at_once = max(1, BYTES_OF_PATH // max(1, 8 * fits.size * targets.n))
        for first in range(0, strengths.size, at_once):
            some = strengths[first : first + at_once]
            if targets.is_uniform.any():
                last = None if shared is None else shared.coef[-1, 0]
                shared = fits.solve_uniform(self.loss, some, start=last, **options)
            if neighbors is not None:
                last = None if found is None else found.coef[-1]
                found = fits.solve(neighbors, self.loss, some, start=last, **options)
            for place in range(some.size):
                coef = np.zeros((targets.n, fits.size))
                if shared is not None:
                    coef[targets.is_uniform] = shared.coef[place, 0]
                if found is not None:
                    coef[places] = found.coef[place]
                yield coef

    # ---- from models to scores ---------------------------------------------------------------------------------------

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
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        has_ids = qid is not None or isinstance(X, Queries)
        return queries.in_row_order(self._predict_grouped(queries, query_features=query_features, has_ids=has_ids))

    def _predict_grouped(self, queries: Queries, *, query_features: Any = None, has_ids: bool = True) -> np.ndarray:
        return self._check_scores(self._score(self._prepare(queries, query_features, has_ids=has_ids)), queries)

    def _prepare(self, queries: Queries, matrix: Any, *, has_ids: bool = True) -> Targets:
        """Return queries to be scored: their places in training, the features of the new ones, and the documents."""
        places = np.full(queries.n_queries, -1)
        if has_ids == self.has_ids_:
            known = {key: place for place, key in enumerate(self.query_ids_.tolist())}
            places = np.array([known.get(key, -1) for key in queries.ids.tolist()], dtype=np.int64)
        features = None
        if self.weights == "uniform":
            how_new = "uniform"
        else:
            how_new = self.new_queries
            if self.weights == "individual" and how_new == "neighbors" and (places < 0).any():
                self.query_weights_.of_new(None, n_queries=1)  # raises
        if how_new == "neighbors" and (places < 0).any():
            documents, features = self.source_.transform(queries, matrix)
        else:
            documents = self.source_.documents(queries)
        rows = self.space_.features(self._normalized(documents).X, self.max_bytes)
        return Targets(rows, queries.indptr, places, features, how_new, is_uniform_only=self.weights == "uniform")

    def _neighbors_of(self, targets: Targets, chosen: np.ndarray) -> Neighbors:
        """Return the neighbours of some targets, observed and new."""
        observed = chosen[targets.places[chosen] >= 0]
        new = chosen[targets.places[chosen] < 0]
        parts = [self.query_weights_.of_observed(targets.places[observed], is_left_out=targets.is_left_out)]
        if new.size:
            features = None if targets.features is None else targets.features[new]
            parts.append(self.query_weights_.of_new(features, n_queries=new.size))
        return Neighbors.join(parts, np.argsort(np.concatenate([observed, new]), kind="stable"))

    def _score(self, targets: Targets, fits: LocalFits | None = None) -> np.ndarray:
        coef = self._coef_of(targets, fits)
        scores = score_lists(targets.rows, targets.indptr, coef, is_bilinear=self._is_bilinear)
        if targets.how_new == "random":
            self._shuffle(scores, targets)
        return scores

    def _coef_of(self, targets: Targets, fits: LocalFits | None = None) -> np.ndarray:
        """Return one row for each target; zeros if it has no model."""
        coef = np.zeros((targets.n, self.coef_.shape[1]))
        is_observed = targets.places >= 0
        coef[is_observed] = self.coef_[targets.places[is_observed]]
        if targets.is_uniform.any():
            coef[targets.is_uniform] = self.uniform_coef_
        new = np.flatnonzero(~is_observed & ~targets.is_uniform)
        if new.size and targets.how_new == "neighbors":
            coef[new] = self._new_coef(targets, new, self._fits_for_new() if fits is None else fits)
        return coef

    def _new_coef(self, targets: Targets, new: np.ndarray, fits: LocalFits) -> np.ndarray:
        """Return the coefficients of new queries, cached by query features."""
        assert targets.features is not None
        keys = [_key(row) for row in targets.features[new]]
        places = {key: place for place, key in zip(new.tolist(), keys, strict=True) if key not in self._models}
        missing = np.array(sorted(places.values()), dtype=np.int64)
        with Progress(
            "fitting new queries", missing.size, is_shown=bool(self.verbose) and missing.size > 1
        ) as progress:
            for some in _some_at_a_time(missing.size):
                found = fits.solve(
                    self._neighbors_of(targets, missing[some]), self.loss, np.array([self.l2_]),
                    start=self.uniform_coef_, on_done=progress.advance, **self._options(),
                )  # fmt: skip
                self._warn_unconverged(found)
                for place, coef in zip(missing[some].tolist(), found.coef[0], strict=True):
                    self._models[_key(targets.features[place])] = coef
        coefs = np.array([self._models[key] for key in keys])
        while len(self._models) > MOST_MODELS_KEPT:
            self._models.popitem(last=False)
        return coefs

    @property
    def _models(self) -> OrderedDict[bytes, np.ndarray]:
        """Return the cache of models of new queries, by their features."""
        return self.__dict__.setdefault("_new_models", OrderedDict())

    def _shuffle(self, scores: np.ndarray, targets: Targets) -> None:
        new = np.flatnonzero((targets.places < 0) & ~targets.is_uniform)
        if not new.size:
            return
        warn(
            f"{count_of(new.size, 'query', 'queries')} of {targets.n:,} were not in fit and are ranked at random "
            "(new_queries='random').",
            DataWarning,
        )
        draws = np.random.default_rng(as_seed(self.random_state))
        for query in new.tolist():
            own = slice(targets.indptr[query], targets.indptr[query + 1])
            scores[own] = draws.random(own.stop - own.start)

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
        >>> from plackett.reproductions.qsvm.draws import make_query_dependent
        >>> data = make_query_dependent(1, "II", random_state=0)
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

    # ---- from a file -------------------------------------------------------------------------------------------------

    def check_loaded(self) -> None:
        """Raise a ValueError if loaded attributes are not those of a fitted ranker."""
        super().check_loaded()
        self.check_parameters()  # models of new queries depend on them
        for name, kind in (
            ("source_", QueryFeatureSource),
            ("query_weights_", QueryWeights),
            ("space_", FunctionSpace),
        ):
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} must be a {kind.__name__}.")
        check_matrix(self, "coef_")
        n_queries, size = self.coef_.shape
        if not isinstance(self.query_ids_, np.ndarray) or self.query_ids_.shape != (n_queries,):
            raise ValueError(f"there are {n_queries} models, but not as many queries.")
        self.query_weights_.check_loaded_for(n_queries)
        n_columns = check_loaded_normalizer(self, self.source_.check_loaded_for(self.n_prepared))
        width = self.space_.check_loaded_for(n_columns)
        if size != (width**2 if self._is_bilinear else width):
            raise ValueError(f"coef_ must have {width} columns, or their square.")
        check_number(self.l2_, "l2_", above=0.0)
        if type(self.has_ids_) is not bool:
            raise ValueError("has_ids_ must be true or false.")
        if self.uniform_coef_ is not None:
            check_vector(self, "uniform_coef_", size=size)
        if self.training_rows_ is not None:
            self._check_loaded_training(n_queries, width)

    def _check_loaded_training(self, n_queries: int, n_columns: int) -> None:
        """Raise a ValueError if bounds or labels do not fit the training documents: compiled code relies on them."""
        check_vector(self, "training_labels_")
        check_matrix(self, "training_rows_", self.training_labels_.size, n_columns)
        check_bounds(self, "training_indptr_", n_queries)
        indptr, labels = self.training_indptr_, self.training_labels_
        if indptr[-1] != labels.size:
            raise ValueError("training_indptr_ must end with the number of labels.")
        rises = np.diff(labels) > 0
        rises[indptr[1:-1] - 1] = False
        if rises.any():
            raise ValueError("training_labels_ must be descending within each query.")
        if self.training_shares_ is not None:
            check_vector(self, "training_shares_", size=n_queries)
            if (self.training_shares_ < 0).any():
                raise ValueError("training_shares_ must hold numbers of at least 0.")


def _only(queries: Queries) -> Queries:
    if queries.n_queries != 1:
        raise ValueError(f"one query is explained at a time, but {queries.n_queries:,} were given.")
    return queries


def _some_at_a_time(n: int) -> list[np.ndarray]:
    """Split places 0 to n into parts: without ``n_neighbors`` each target has all queries as neighbours."""
    return [np.arange(first, min(first + TARGETS_AT_ONCE, n)) for first in range(0, n, TARGETS_AT_ONCE)]


def _key(features: np.ndarray) -> bytes:
    """Return query features as a cache key."""
    return features.tobytes() if features.dtype != object else repr(features.tolist()).encode()
