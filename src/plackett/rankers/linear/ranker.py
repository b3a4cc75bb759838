"""Linear ranker: any loss, minimised over linear scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from plackett._lazy import importing
from plackett.data.queries import Queries
from plackett.losses import get_loss
from plackett.metrics.measure import Measure
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.rankers.base import NO_LABELS, TrainingSet, as_seed
from plackett.rankers.linear.l2_path import L2Path, fit_path
from plackett.rankers.linear.solve import choose_solver, minimize
from plackett.rankers.linear_scores import LinearScores
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.linear import LinearScorer
from plackett.solvers import get_solver
from plackett.validation import check_number, check_positive_int

if TYPE_CHECKING:
    from plackett.distributed.objective import PartitionedObjective


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRanker(LinearScores):
    """Ranks by ``X @ coef_``, with the coefficients that minimise a loss over judged lists.

    Minimises ``(1 / Σ_q s_q) Σ_q s_q loss_q + (l2 / 2) ‖coef‖²`` over all queries, with query weights s_q. Losses
    that are not convex start at the minimum of ListMLE. So do losses that weight pairs by the ranks of the scores
    (``"lambdarank"``): they are minimised in rounds, each with the weights held fixed at the current ranks. An
    intercept, which is not penalised, is fitted for losses that depend on a constant added to all scores
    (``"squared"``, ``"rankcosine"``, and φ other than exp); for the others it is 0.

    C-ordered float32 and float64 X, and CSR, are not copied, even if memory-mapped. ``fit`` also takes X in parts: a
    path, folder, pattern or list of paths (LETOR or Parquet); a list of ``Queries``; Dask data frames and arrays; a
    list of Dask's Delayed objects or futures of ``Queries``. All rows of a query must be in one part. With an active
    Dask client, its cluster loads and processes the parts; without one, paths are read one by one in this process. A
    list of ``Queries`` stays in this process in any case. For Dask data frames and Parquet files, ``y``, ``qid`` and
    ``sample_weight`` may be column names; for Dask collections ``sample_weight`` is per row.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        A name of :func:`plackett.losses.loss_names`, such as ``"listmle"``, ``"softmax"`` or ``"lambdarank"``, or an
        object of :mod:`plackett.losses` with its own parameters.
    l2 : float, default=1e-3
        Strength of the penalty. Ignored for ``"rankcosine"``, which is scale-invariant.
    solver : str or Solver, default="auto"
        ``"lbfgs"``, ``"newton"``, ``"sgd"``, ``"newton-diag"``, or an object of :mod:`plackett.solvers`. ``"auto"``
        takes ``"newton"`` for losses with a curvature product and for the hinge, ``"sgd"`` for losses that are
        random or neither convex nor smooth, ``"lbfgs"`` for the rest.
    max_iter : int, default=500
        Maximum number of iterations of the solver, of passes over the queries for ``"sgd"``, and of rounds for losses
        that weight pairs by ranks.
    tol : float, default=1e-4
        The fit ends when the norm of the gradient is at most this, both with respect to the coefficients and relative
        to the curvature; for the hinge, when the duality gap is at most this share of the objective.
    normalize : str, transformer or None, default=None
        How columns are scaled first. Within queries: ``"query-minmax"``, ``"query-zscore"``, ``"query-unit"``,
        ``"query-rank"``. Over all rows: ``"minmax"``, ``"maxabs"``, ``"zscore"``, ``"quantile"``. ``predict`` applies
        the same scaling. Sparse X takes ``"query-unit"``, ``"maxabs"`` and ``"quantile"``, which keep zeros. The
        penalty is on the coefficients of the scaled columns. Needs space for a second X: memory, or disk if X is
        memory-mapped.
    patience : int or None, default=10
        With an ``eval_set``, the fit ends after this many iterations without a better value of its measure; None never
        ends it early. The coefficients of the best iteration are kept either way.
    random_state : int, RandomState or None, default=None
        For ``solver="sgd"`` and random losses.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    missing : {"error", "zero", "mean", "median", "min", "query-median"} or transformer, default="error"
        Replacement of missing values, NaN in X: 0, or the mean, median or minimum of the column over the training rows,
        or its median within the query (that of training if the query has no value). A transformer, such as
        scikit-learn's ``KNNImputer()``, is fitted to the training rows. By default missing values are an error: which
        number to fill in depends on what the feature means.
    missing_indicator : bool, default=False
        Whether each feature with missing values in training gets a further column, 1 where it is missing.
    encoding : {"error", "one-hot", "target"}, default="error"
        Encoding of text and categories: a column for each category, or the mean label of a category, cross-fitted by
        query in training (:class:`~plackett.preprocessing.TargetCategories`). A category that was not in training is
        0 in all columns, or the mean of all labels. Categories are encoded first, then missing values are filled, then
        columns are scaled.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the columns, after encoding and ``normalize``.
    intercept_ : float
        The constant that is added to all scores; 0 if the loss does not depend on it.
    n_iter_ : int
        Iterations that the solver made.
    objective_ : float
        The value that was reached, including the penalty.
    gradient_norm_ : float
        Norm of the gradient at the kept coefficients. For the hinge, which has kinks, see ``duality_gap_`` instead.
    duality_gap_ : float
        For the hinge only: the objective is at most this far above its minimum.
    stop_reason_ : str
        Why the solver stopped, such as ``"gradient below tol"`` or ``"max_iter reached"``.
    solver_ : str
        The solver that was used.
    history_ : dict of lists
        ``"objective"``, ``"gradient_norm"`` and the validation measure, one entry per iteration. For the hinge the
        first two are those of a smoothed objective whose smoothing decreases, so they may rise.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The iteration, from 1, with the best value of the validation measure, and that value.
    n_evaluations_, n_products_ : int
        Number of evaluations of the objective, and of products of its curvature with a vector.
    n_queries_ : int
        Training queries.
    normalizer_ : fitted transformer or None
        The transformer of ``normalize``, which scales the columns.
    feature_names_ : list of str or None
        Column names of the data frame or the ``Queries``.
    first_index_ : int or None
        The number of the first feature in the file that the ``Queries`` was read from; None for arrays.
    categories_ : dict or None
        Names of the categories of training, by column.
    encoder_ : fitted transformer or None
        The transformer of :mod:`plackett.preprocessing` that encodes categories; None without categories.
    imputer_ : fitted transformer or None
        The transformer of :mod:`plackett.preprocessing` that fills missing values; None for ``missing="error"``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Column names of X. Exists only after a fit to a data frame whose column names are all strings, as in
        scikit-learn; ``feature_names_`` always exists.

    Examples
    --------
    >>> from plackett import LinearRanker
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(50, n_features=8, random_state=0)
    >>> ranker = LinearRanker(loss="listmle", normalize="query-zscore").fit(data.X, data.y, qid=data.qid)
    >>> ranker.stop_reason_
    'gradient below tol'
    >>> scores = ranker.predict(data.X, qid=data.qid)
    """

    loss: Any = field(default="listmle", kw_only=False)
    l2: float = param(1e-3, check_number, least=0.0)
    solver: Any = "auto"
    max_iter: int = param(500, check_positive_int)
    tol: float = param(1e-4, check_number, above=0.0)
    normalize: Any = None
    patience: int | None = 10
    random_state: Any = None
    verbose: bool = False
    warm_start: bool = False

    takes_loss_objects = True
    takes_parts: ClassVar[bool] = True

    def _training_set(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> TrainingSet | PartitionedObjective:
        if self.takes_parts and not isinstance(X, (Queries, np.ndarray)):
            with importing:
                from plackett.distributed.inputs import is_in_parts, parts_of
                from plackett.rankers.linear.partitioned import prepare_parts
            if is_in_parts(X):
                return prepare_parts(self, parts_of(X, y, qid, sample_weight))
        return super()._training_set(X, y, qid, sample_weight)

    def _scale(self, training: Any, validation: Queries | None, **details: Any) -> tuple[Any, Queries | None]:
        if isinstance(training, TrainingSet):
            return super()._scale(training, validation)
        return training, None if validation is None else self._normalized(validation)

    def _learn(self, training: TrainingSet | PartitionedObjective, monitor: FitMonitor) -> None:
        objective = self._objective(training)
        self._minimize(objective, monitor, self._start(objective))

    def l2_path(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        l2: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> L2Path:
        """Fit several strengths of the penalty, from strong to weak, each starting from the previous one.

        Parameters
        ----------
        X, y, qid, sample_weight, eval_set, eval_metric : as in ``fit``
            With a validation set, ``best`` of the path is the ranker that is best there.
        l2 : array-like of floats, default=None
            None takes ``plackett.rankers.linear.l2_path.DEFAULT_L2``.

        Returns
        -------
        L2Path
            ``l2``, ``coef``, ``objective``, ``validation`` and ``best``, one entry per strength; ``ranker(l2)`` gives a
            fitted ranker. This ranker itself is not changed.
        """
        return fit_path(self, X, y, qid, l2, sample_weight, eval_set, eval_metric)

    def _check_parameters(self) -> None:
        get_loss(self.loss).check_labels(NO_LABELS)
        if self.solver != "auto":
            get_solver(self.solver)

    def _objective(self, training: TrainingSet | PartitionedObjective) -> Any:
        """Return the objective of the solver; for data in parts it is ``training`` itself."""
        if not isinstance(training, TrainingSet):
            return training
        loss, queries = get_loss(self.loss), training.queries
        loss.check_fit(queries.lists, is_penalised=self.l2 > 0)
        has_intercept = not loss.ignores_shifts
        return Objective(
            loss,
            self._scorer(queries, has_intercept),
            queries.lists,
            L2(0.0 if loss.is_scale_free else self.l2, n_free=int(has_intercept)),
            weights=training.weights,
            random_state=as_seed(self.random_state),
        )

    def _scorer(self, queries: Queries, has_intercept: bool) -> LinearScorer:
        return LinearScorer(queries.X, has_intercept=has_intercept)

    def _validation_scorer(self, validation: Queries, objective: Objective) -> LinearScorer:
        """Return the scorer of the validation queries, by the coefficients of the objective."""
        return LinearScorer(validation.X, has_intercept=objective.scorer.has_intercept)

    def _start(self, objective: Objective) -> np.ndarray:
        if not self.warm_start or not hasattr(self, "n_iter_"):
            return np.zeros(objective.size)
        return self._last_coef(objective)

    def _last_coef(self, objective: Objective) -> np.ndarray:
        """Return the coefficients of the last fit, as this objective takes them."""
        if self.coef_.size != objective.scorer.n_features:
            raise ValueError(
                f"warm_start: the last fit had {self.coef_.size} features, this one has {objective.scorer.n_features}."
            )
        return np.append(self.coef_, self.intercept_)[: objective.size]

    def _keep_coef(self, coef: np.ndarray, scorer: LinearScorer) -> None:
        self.coef_ = coef[: scorer.n_features]
        self.intercept_ = float(coef[-1]) if scorer.has_intercept else 0.0

    def _minimize(self, objective: Objective, monitor: FitMonitor, start: np.ndarray) -> None:
        solver, validation = choose_solver(self.solver, objective.loss), monitor.validation
        result = minimize(
            objective, solver, start, monitor,
            None if validation is None else self._validation_scorer(validation.queries, objective),
            max_iter=self.max_iter, tol=self.tol, random_state=as_seed(self.random_state),
        )  # fmt: skip
        self._keep_coef(result.coef, objective.scorer)
        self.objective_, self.gradient_norm_, self.solver_ = result.value, result.gradient_norm, solver.name
        self.n_evaluations_, self.n_products_ = result.n_evaluations, result.n_products
        self.__dict__.pop("duality_gap_", None)
        if "duality_gap" in result.details:
            self.duality_gap_ = result.details["duality_gap"]
