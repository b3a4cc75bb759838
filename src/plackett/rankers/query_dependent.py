"""Query-dependent ranking: a scoring function for each query, learned from the queries that are like it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning
from plackett.metrics.measure import Measure
from plackett.rankers.base import Normalized, check_loaded_normalizer
from plackett.rankers.explain import explain_linear
from plackett.rankers.fitting import DEFAULT_METRIC, HeldBack
from plackett.rankers.function_space import FunctionSpace
from plackett.rankers.linear import _seed
from plackett.rankers.linear_scores import check_vector
from plackett.rankers.local_fits import LOSSES, LocalFits, Solutions
from plackett.rankers.progress import Progress
from plackett.rankers.query_checks import check_matrix, check_training
from plackett.rankers.query_explanation import NeighborTable, QueryExplanation
from plackett.rankers.query_features import QueryFeatureSource
from plackett.rankers.query_neighbors import Neighbors, mixed
from plackett.rankers.query_targets import Targets, score_lists
from plackett.rankers.query_weights import QueryWeights
from plackett.scorers.kernel import check_kernel
from plackett.validation import check_choice, check_number, check_numbers, check_positive_int, count_of, plain

L2_GRID = tuple(10.0 ** ((31 - step) / 10) for step in range(1, 62))  # Dai and Wang's, from strong to weak
SOLVERS = ("auto", "newton", "admm")
NEW_QUERIES = ("neighbors", "uniform", "random")
MOST_MODELS_KEPT = 10_000  # of queries that were not in fit
TARGETS_AT_ONCE = 1024
BYTES_OF_PATH = 1 << 28  # of coefficients along a path that are held at a time
MAX_BYTES = 2_000_000_000
ALL_CONVERGED = "all models converged"
PRODUCT_KERNELS = ("linear", "rbf", "laplacian")


class QueryDependentRanker(Normalized):
    """Ranks each query by a function of its own, learned from training queries by how much they are like it.

    For a target query it minimises, over its scoring functions s, (Dai and Wang 2019)

        (1/n) Σ_i π_i 2 / (N_i (N_i - 1)) Σ L(s(x_ij) - s(x_il)) + (l2 / 2) ‖s‖²

    the inner sum being over the pairs of query i in which document j is better than l, and π the weights of the n
    training queries, which sum to n. ``weights="uniform"`` is RankSVM, ``LinearRanker(loss=PairwiseHinge("all"))``;
    ``"individual"`` fits each query alone; the others let queries with similar features share what they know.

    A query is *observed* if its id was in ``fit``: its model is stored. Other queries get a model when they are
    predicted, from the training queries nearest to them; for that the training documents are kept (``training_bytes_``)
    and saved with the ranker.

    Parameters
    ----------
    weights : str, default="gaussian"
        ``"uniform"``, ``"individual"``, ``"knn"``, or a function of the distance between query features over the
        bandwidth: ``"gaussian"``, ``"epanechnikov"``, ``"tricube"``, ``"rectangular"``.
    n_neighbors : int or None, default=15
        Only so many of the nearest queries count; None: all. ``"uniform"`` and ``"individual"`` ignore it.
    n_neighbors_new : int or None, default=None
        The same for queries that were not in ``fit``; None takes ``n_neighbors``.
    bandwidth : float or "median", default="median"
        The distance that is 1. ``"median"``: of the distances between the target and all training queries.
    query_features : None, "auto", "mean", list of columns, or matrix, default=None
        What queries are compared by. A matrix has one row per query of ``fit``, in order of first appearance. A list of
        numbers or names takes columns of X that are constant within queries; ``"auto"`` finds them. They are then no
        features of documents. ``"mean"`` takes the mean of a query's documents. None takes the matrix given to ``fit``,
        else what ``"auto"`` finds, else ``"mean"``.
    scale_query_features : bool, default=False
        Standardise the query features over the training queries.
    query_kernels : dict, default=None
        Kernels of query features that are no numbers, by column: ``"overlap"`` for categories, ``"kendall"`` or
        ``"mallows"`` for rankings, or objects of ``plackett.rankers.query_kernels``.
    query_depth : int, default=None
        ``"mean"`` is over the first documents of a query by ``base_column`` only.
    base_column : int or str, default=None
    kernel : str or callable, default="linear"
        Of the scoring functions; names as in scikit-learn.
    gamma : float, "median", "scale" or None, default="median"
        Of the kernel; ``"median"`` is one over the median distance between documents.
    degree, coef0 : float
        Of the kernel.
    landmarks : int or None, default=None
        Nyström's approximation of the kernel with so many documents.
    function : {"score", "pair"}, default="score"
        ``"pair"`` learns preferences f(x, x') between two documents instead. The score of a document is then the mean
        of ½ (f(x, x') - f(x', x)) over all documents x' of its list, the least squares answer.
    loss : {"hinge", "logistic", "psi"}, default="hinge"
        psi, ``min(1, hinge)``, is not convex; it is solved from the hinge's solution on.
    l2 : float, sequence of floats or "grid", default=0.1
        Strength of the penalty. Of several, ``fit`` takes the best on its validation set, which may hold other
        documents of the training queries or other queries. ``"grid"`` stands for 61 values from 1000 to 0.001.
    solver : {"auto", "newton", "admm"}, default="auto"
        ``"admm"`` is the inexact method of the paper, for comparison: far slower.
    new_queries : {"neighbors", "uniform", "random"}, default="neighbors"
        What ranks a query that was not in ``fit``: a model from its neighbours; the uniform model; or nothing, that is
        a random order, with a warning. ``"individual"`` needs one of the latter two. With these the training documents
        are not kept.
    tol : float, default=1e-4
        How far above its minimum, relatively, an objective may end.
    max_iter : int, default=500
        Steps of one fit; of ADMM a hundred times as many.
    normalize : str, transformer or None, default=None
        How the documents' columns are scaled first; see ``LinearRanker``.
    max_bytes : int, default=2,000,000,000
        Largest matrix that is made of kernel values.
    n_jobs : int or None, default=None
        Workers of joblib; None: those of ``joblib.parallel_config``, or else one thread per core.
    random_state : int, RandomState or None, default=None
        For landmarks and random orders.
    verbose : bool, default=False
        A progress bar over the queries on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_queries, n_coefs)
        Of the observed queries; for ``"uniform"`` all rows are the same. Of kernels, in the features of their space.
    uniform_coef_ : ndarray of shape (n_coefs,)
        Of the model that all queries share.
    query_ids_ : ndarray of shape (n_queries,)
    objective_, gap_ : ndarrays of shape (n_queries,)
        The objective of each model, and how far it is above the minimum at most (NaN for psi).
    l2_ : float
        The strength that was used.
    l2_path_ : dict or None
        With several strengths: ``"l2"`` and the validation measure of each.
    n_iter_ : int
        Most steps that one of the models took.
    stop_reason_ : str
    query_feature_kind_ : str
        Where query features came from: ``"matrix"``, ``"columns"``, ``"mean"`` or ``"none"``.
    training_bytes_ : int
        Size of the training documents that are kept for new queries.
    normalizer_, feature_names_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
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

    query_ids_: np.ndarray
    coef_: np.ndarray
    uniform_coef_: np.ndarray | None
    l2_path_: dict[str, Any] | None
    training_rows_: Any
    training_labels_: Any
    training_indptr_: Any
    training_shares_: Any
    _fits_kept: Any

    def __init__(
        self,
        weights: str = "gaussian",
        n_neighbors: int | None = 15,
        n_neighbors_new: int | None = None,
        bandwidth: float | str = "median",
        query_features: Any = None,
        scale_query_features: bool = False,
        query_kernels: Mapping[int | str, Any] | None = None,
        query_depth: int | None = None,
        base_column: int | str | None = None,
        kernel: Any = "linear",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1.0,
        landmarks: int | None = None,
        function: str = "score",
        loss: str = "hinge",
        l2: Any = 0.1,
        solver: str = "auto",
        new_queries: str = "neighbors",
        tol: float = 1e-4,
        max_iter: int = 500,
        normalize: Any = None,
        max_bytes: int = MAX_BYTES,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.n_neighbors_new = n_neighbors_new
        self.bandwidth = bandwidth
        self.query_features = query_features
        self.scale_query_features = scale_query_features
        self.query_kernels = query_kernels
        self.query_depth = query_depth
        self.base_column = base_column
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.function = function
        self.loss = loss
        self.l2 = l2
        self.solver = solver
        self.new_queries = new_queries
        self.tol = tol
        self.max_iter = max_iter
        self.normalize = normalize
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        """Fit the uniform model and those of all training queries.

        Parameters
        ----------
        X, y, qid, sample_weight : as in ``LinearRanker.fit``
        query_features : array-like or data frame with one row per query, default=None
            In order of first appearance (of a ``Queries``, the order of its ids).
        eval_set : Queries or tuple (X, y, qid), default=None
            Decides between several ``l2``. Its queries may be those of training, with other documents, or others.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.
        eval_query_features : array-like, default=None
            Query features of ``eval_set``, one row per query, where those of training came as a matrix. Queries of
            training do without.

        Returns
        -------
        self
        """
        self._check_parameters()
        strengths = self._strengths()
        with self._all_or_nothing():
            measure = Measure.parse(DEFAULT_METRIC if eval_metric is None else eval_metric)
            if strengths.size > 1 and eval_set is None:
                raise ValueError(
                    f"l2 holds {strengths.size} strengths, of which a validation set decides: give eval_set, or one l2."
                )
            queries = self._check_queries(X, y, qid, reset=True)
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            documents = self._learn_queries(queries, query_features, has_ids=qid is not None or isinstance(X, Queries))
            fits = self._learn_space(self._fit_normalizer(documents), weights)
            held = None
            if held_back is not None:
                held = self._prepare(held_back, eval_query_features), HeldBack(held_back, measure)
            self.l2_, self.l2_path_ = float(strengths[0]), None
            if held is not None and strengths.size > 1:
                self._choose_strength(fits, strengths, *held)
            self._fit_observed(fits)
            self._keep_training(fits)
            self.best_iteration_ = self.best_score_ = None
            if held is not None:
                self.best_score_ = held[1].mean(self._score(held[0], fits))
            return self

    # ---- what is asked for -------------------------------------------------------------------------------------------

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
        self._query_weights(None)._check_parameters()
        self._strengths()
        if self.landmarks is not None:
            check_positive_int(self.landmarks, "landmarks")
        if self.kernel == "precomputed":
            raise ValueError("kernel='precomputed' is not possible: new documents are compared with those of training.")
        if self._is_bilinear and self.kernel not in PRODUCT_KERNELS:
            raise ValueError(
                f"function='pair' goes with kernel='linear', 'rbf' or 'laplacian', not with {plain(self.kernel)!r}: of "
                "these alone the kernel of two pairs is a product of kernels of documents."
            )
        if self._is_bilinear and self.new_queries == "uniform" and self.weights != "uniform":
            raise ValueError(
                f"new_queries='uniform' needs a model of all queries, which function='pair' with "
                f"kernel={plain(self.kernel)!r} makes for weights='uniform' only: it compares all pairs with all pairs."
            )

    @property
    def _is_bilinear(self) -> bool:
        """Whether models are preferences between two documents that are no differences of scores."""
        return self.function == "pair" and not FunctionSpace(self.kernel).is_linear

    def _strengths(self) -> np.ndarray:
        """The strengths of the penalty, falling."""
        if isinstance(self.l2, str):
            check_choice(self.l2, "l2", ["grid"])
            return np.array(L2_GRID)
        if np.ndim(self.l2) == 0:
            return np.array([check_number(self.l2, "l2", above=0.0)])
        strengths = np.sort(check_numbers(self.l2, "l2"))[::-1]
        if strengths.size == 0 or not strengths[-1] > 0:
            raise ValueError(f"l2={self.l2!r} must hold at least one number, and all above 0.")
        return strengths.copy()

    def _query_weights(self, kernels: Mapping | None) -> QueryWeights:
        return QueryWeights(
            self.weights, n_neighbors=self.n_neighbors, n_neighbors_new=self.n_neighbors_new,
            bandwidth=self.bandwidth, kernels=kernels,
        )  # fmt: skip

    # ---- from data to models -----------------------------------------------------------------------------------------

    def _learn_queries(self, queries: Queries, matrix: Any, *, has_ids: bool) -> Queries:
        """Take in the training queries: their ids, their features and their weights. The answer is the documents."""
        self.n_queries_, self.query_ids_, self.has_ids_ = queries.n_queries, queries.ids, has_ids
        self.source_ = QueryFeatureSource()
        setting = self.query_features
        if self.weights in ("uniform", "individual"):
            setting, matrix = "none", None  # nothing is compared, and no column is lost
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
        """Take in the documents; the answer is the machine that fits models to them."""
        self.space_ = FunctionSpace(self.kernel, self.gamma, self.degree, self.coef0)
        lists = documents.lists
        rows = self.space_.fit(
            documents.X[lists.order], landmarks=self.landmarks, random_state=_seed(self.random_state),
            max_bytes=self.max_bytes,
        )  # fmt: skip
        shares = None if weights is None else weights / weights.sum()
        return self._fits(rows, lists.labels[lists.order], documents.indptr, shares)

    def _fits(self, rows: np.ndarray, labels: np.ndarray, indptr: np.ndarray, shares: np.ndarray | None) -> LocalFits:
        if self._is_bilinear:
            from plackett.rankers.pair_fits import PairFits

            return PairFits(rows, labels, indptr, shares, is_admm=self.solver == "admm", max_bytes=self.max_bytes)
        if self.solver == "admm":
            from plackett.rankers.admm_fits import AdmmFits

            return AdmmFits(rows, labels, indptr, shares, is_pair=self.function == "pair", max_bytes=self.max_bytes)
        return LocalFits(rows, labels, indptr, shares, is_pair=self.function == "pair")

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
        self.stop_reason_ = self._look_back(found)

    def _look_back(self, found: Solutions) -> str:
        n_unfinished = int((~found.is_converged).sum())
        if n_unfinished == 0:
            return ALL_CONVERGED
        reason = f"{n_unfinished} of {count_of(found.is_converged.size, 'model')} did not converge"
        gap = found.worst_gap()
        warnings.warn(
            f"{reason} within max_iter={self.max_iter} steps"
            + (f" (duality gap up to {gap:.0e} of the objective, above tol={self.tol:g})" if np.isfinite(gap) else "")
            + ". Raise max_iter, tol or l2, or scale the columns (normalize=).",
            ConvergenceWarning,
            stacklevel=4,
        )
        return reason

    def _keep_training(self, fits: LocalFits) -> None:
        """Keep what models of new queries are fitted to, in arrays that can be saved."""
        self._fits_kept = None
        self.training_rows_ = self.training_labels_ = self.training_indptr_ = self.training_shares_ = None
        self.training_bytes_ = 0
        if self.weights not in ("uniform", "individual") and self.new_queries == "neighbors":
            self._fits_kept = fits
            self.training_rows_, self.training_labels_ = fits.X, fits.lists.labels
            self.training_indptr_, self.training_shares_ = fits.indptr, fits.shares
            kept = fits.X, fits.lists.labels, fits.indptr, self.query_weights_.numeric_
            self.training_bytes_ = sum(array.nbytes for array in kept if array is not None)

    def _fits_for_new(self) -> LocalFits:
        if self.__dict__.get("_fits_kept") is None:  # loaded from a file
            self._fits_kept = self._fits(
                self.training_rows_, self.training_labels_, self.training_indptr_, self.training_shares_
            )
        return self._fits_kept

    # ---- the strength of the penalty ---------------------------------------------------------------------------------

    def _choose_strength(self, fits: LocalFits, strengths: np.ndarray, targets: Targets, held: HeldBack) -> None:
        means: list[float] = []
        with Progress("choosing l2", strengths.size, is_shown=bool(self.verbose)) as progress:
            for coef in self._path(fits, strengths, targets):
                means.append(held.mean(score_lists(targets.rows, targets.indptr, coef, is_bilinear=self._is_bilinear)))
                progress.advance(f"{held.measure} {means[-1]:.4f}")
        values = np.array(means)
        signed = values if held.measure.higher_is_better else -values
        if np.isnan(signed).all():
            raise ValueError(f"{held.measure} is NaN for every l2: no query of eval_set has a value.")
        self.l2_ = float(strengths[np.nanargmax(signed)])  # of equals the strongest
        self.l2_path_ = {"l2": strengths.tolist(), str(held.measure): means}

    def _path(self, fits: LocalFits, strengths: np.ndarray, targets: Targets) -> Iterator[np.ndarray]:
        """Coefficients of the targets, strength by strength; each fit starts where the one before ended."""
        places = targets.places_with_neighbors
        neighbors = self._neighbors_of(targets, places) if places.size else None
        shared: Solutions | None = None
        found: Solutions | None = None
        at_once = max(1, BYTES_OF_PATH // max(1, 8 * fits.size * targets.n))
        for first in range(0, strengths.size, at_once):
            some = strengths[first : first + at_once]
            if targets.is_uniform.any():
                last = None if shared is None else shared.coef[-1, 0]
                shared = fits.solve_uniform(self.loss, some, start=last, **self._options())
            if neighbors is not None:
                last = None if found is None else found.coef[-1]
                found = fits.solve(neighbors, self.loss, some, start=last, **self._options())
            for place in range(some.size):
                coef = np.zeros((targets.n, fits.size))
                if shared is not None:
                    coef[targets.is_uniform] = shared.coef[place, 0]
                if found is not None:
                    coef[places] = found.coef[place]
                yield coef

    # ---- from models to scores ---------------------------------------------------------------------------------------

    def predict(self, X: Any, *, qid: Any = None, query_features: Any = None) -> np.ndarray:
        """One score per row, higher is better, in the order of the rows given.

        Scores of different queries come from different models and cannot be compared.

        Parameters
        ----------
        X : array, data frame, CSR matrix of shape (n_docs, n_features), or Queries
        qid : iterable of hashable ids, one per row, default=None
            Queries with the id of a training query get its model. None means that all rows are one list: that of
            training if ``fit`` had no ids either, else a new one.
        query_features : array-like or data frame with one row per query, default=None
            Needed for new queries where those of training came as a matrix; in order of first appearance.
        """
        check_is_fitted(self)
        queries = self._check_queries(X, None, qid, needs_labels=False)
        has_ids = qid is not None or isinstance(X, Queries)
        return queries.in_row_order(self._predict_grouped(queries, query_features=query_features, has_ids=has_ids))

    def _predict_grouped(self, queries: Queries, *, query_features: Any = None, has_ids: bool = True) -> np.ndarray:
        return self._score(self._prepare(queries, query_features, has_ids=has_ids))

    def _prepare(self, queries: Queries, matrix: Any, *, has_ids: bool = True) -> Targets:
        """Queries to be scored: which of them were in training, the features of the others, and their documents."""
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
                self.query_weights_.of_new(None, n_queries=1)  # says why not
        if how_new == "neighbors" and (places < 0).any():
            documents, features = self.source_.transform(queries, matrix)
        else:
            documents = self.source_.documents(queries)
        rows = self.space_.features(self._normalized(documents).X, self.max_bytes)
        return Targets(rows, queries.indptr, places, features, how_new, is_uniform_only=self.weights == "uniform")

    def _neighbors_of(self, targets: Targets, chosen: np.ndarray) -> Neighbors:
        """Neighbours of some targets, observed and new."""
        observed = chosen[targets.places[chosen] >= 0]
        new = chosen[targets.places[chosen] < 0]
        parts = [self.query_weights_.of_observed(targets.places[observed])]
        if new.size:
            assert targets.features is not None
            parts.append(self.query_weights_.of_new(targets.features[new]))
        return mixed(parts, np.argsort(np.concatenate([observed, new]), kind="stable"))

    def _score(self, targets: Targets, fits: LocalFits | None = None) -> np.ndarray:
        coef = self._coef_of(targets, fits)
        scores = score_lists(targets.rows, targets.indptr, coef, is_bilinear=self._is_bilinear)
        if targets.how_new == "random":
            self._shuffle(scores, targets)
        return scores

    def _coef_of(self, targets: Targets, fits: LocalFits | None = None) -> np.ndarray:
        """One row for each target; zeros where nothing is known of it."""
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
        """Coefficients of new queries: those of queries with the same features are remembered."""
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
                self._look_back(found)
                for place, coef in zip(missing[some].tolist(), found.coef[0], strict=True):
                    self._models[_key(targets.features[place])] = coef
        answer = np.array([self._models[key] for key in keys])
        while len(self._models) > MOST_MODELS_KEPT:
            self._models.popitem(last=False)
        return answer

    @property
    def _models(self) -> OrderedDict[bytes, np.ndarray]:
        """Models of queries that were not in ``fit``, by their features."""
        return self.__dict__.setdefault("_new_models", OrderedDict())

    def _shuffle(self, scores: np.ndarray, targets: Targets) -> None:
        new = np.flatnonzero((targets.places < 0) & ~targets.is_uniform)
        if not new.size:
            return
        warnings.warn(
            f"{count_of(new.size, 'query', 'queries')} of {targets.n:,} were not in fit and are ranked at random "
            "(new_queries='random').",
            DataWarning,
            stacklevel=4,
        )
        draws = np.random.default_rng(_seed(self.random_state))
        for query in new.tolist():
            own = slice(targets.indptr[query], targets.indptr[query + 1])
            scores[own] = draws.random(own.stop - own.start)

    # ---- what is particular about a query ----------------------------------------------------------------------------

    def neighbors(self, query: Any = None, *, query_features: Any = None) -> NeighborTable:
        """Which training queries count in the model of a query, and how much.

        Parameters
        ----------
        query : id of a training query, or Queries with one query, default=None
        query_features : array-like of shape (n_query_features,), default=None
            Of a query that was not in ``fit``, where those of training came as a matrix.

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
            nobody = np.zeros((1, self.n_features_in_))  # a matrix says all about queries, whatever their documents
            return self._neighbor_table(None, self._prepare(Queries(nobody), matrix, has_ids=not self.has_ids_))
        if matrix is not None:
            raise ValueError("give the id of a training query or the features of another one, not both.")
        return self._neighbor_table(query, self._prepare_observed(query))

    def explain(
        self,
        X: Any = None,
        *,
        qid: Any = None,
        rows: Any = None,
        docid: Any = None,
        query: Any = None,
        query_features: Any = None,
    ) -> QueryExplanation:
        """How a query's coefficients differ from those that all queries share; and what they make of its documents.

        Parameters
        ----------
        X, qid : as in ``predict``, the documents of one query
            Left out where ``query`` is given.
        rows : array-like of ints, default=None
            Documents to explain; None explains all.
        docid : array-like, default=None
            Names of the documents, to show instead of row numbers.
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
                "kernel mixes the features. neighbors() shows what a query was learned from."
            )
        if X is None:
            targets, documents = self._prepare_observed(query), None
        else:
            if query is not None:
                raise ValueError("give X, or the id of a training query; not both.")
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
        names = self._column_names(coef.size) or [f"column {column}" for column in range(coef.size)]
        assert self.uniform_coef_ is not None
        return QueryExplanation(query, table, coef, self.uniform_coef_, names, documents)

    def _neighbor_table(self, query: Any, targets: Targets) -> NeighborTable:
        if self.weights != "uniform" and targets.places[0] < 0 and targets.how_new != "neighbors":
            nobody = np.zeros(0)
            return NeighborTable(query, self.query_ids_[:0], nobody, nobody)
        queries, weights, distances = self._neighbors_of(targets, np.arange(1)).of(0)
        return NeighborTable(query, self.query_ids_[queries], weights, distances)

    def _prepare_observed(self, query: Any) -> Targets:
        """A training query, without documents."""
        known = {key: place for place, key in enumerate(self.query_ids_.tolist())}
        if plain(query) not in known:
            raise ValueError(
                f"query {plain(query)!r} was not in fit; give the id of one that was, or the documents of a new one."
            )
        nothing = np.zeros((0, self.coef_.shape[1]))
        place = np.array([known[plain(query)]])
        return Targets(nothing, np.zeros(2, np.int64), place, None, "neighbors", self.weights == "uniform")

    def _column_names(self, n_columns: int) -> list[str] | None:
        """Names of the documents' columns; a normalizer may have made others of them."""
        names = self.feature_names_
        if names is not None and self.source_.columns is not None:
            names = [name for column, name in enumerate(names) if column not in self.source_.columns]
        return names if names is not None and len(names) == n_columns else None

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super()._check_loaded()
        check_loaded_normalizer(self)
        for name, kind in (
            ("source_", QueryFeatureSource),
            ("query_weights_", QueryWeights),
            ("space_", FunctionSpace),
        ):
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} must be a {kind.__name__}.")
        check_matrix(self, "coef_")
        n_queries, size = self.coef_.shape
        if np.shape(self.query_ids_) != (n_queries,) or self.query_weights_.n_queries_ != n_queries:
            raise ValueError(f"there are {n_queries} models, but not as many queries.")
        if self.uniform_coef_ is not None:
            check_vector(self, "uniform_coef_")
            if self.uniform_coef_.size != size:
                raise ValueError(f"uniform_coef_ has {self.uniform_coef_.size} coefficients and coef_ {size}.")
        if self.training_rows_ is not None:
            check_training(self, n_queries, round(size**0.5) if self._is_bilinear else size)


def _only(queries: Queries) -> Queries:
    if queries.n_queries != 1:
        raise ValueError(f"one query is explained at a time, but {queries.n_queries:,} were given.")
    return queries


def _some_at_a_time(n: int) -> list[np.ndarray]:
    """Places 0 to n in parts: without ``n_neighbors`` all queries count for each target, which takes memory."""
    return [np.arange(first, min(first + TARGETS_AT_ONCE, n)) for first in range(0, n, TARGETS_AT_ONCE)]


def _key(features: np.ndarray) -> bytes:
    """Query features as the key of a model."""
    return features.tobytes() if features.dtype != object else repr(features.tolist()).encode()
