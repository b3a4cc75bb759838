"""PRank: the perceptron with ordered thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plackett import _native
from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.base import Interrupted
from plackett.rankers.fitting import Validation, Watch
from plackett.rankers.linear_scores import LinearScores, check_vector
from plackett.rankers.progress import Progress
from plackett.solvers.base import INTERRUPTED
from plackett.validation import check_positive_int, is_sparse, largest_values

NO_MISTAKES = "an epoch without mistakes"
ALL_EPOCHS = "n_epochs reached"
MAX_LEVELS = 1000  # every step looks at all thresholds


class PRank(LinearScores):
    """Ranks by ``X @ coef_`` and cuts the scores into label levels by ordered thresholds.

    The perceptron of Crammer and Singer (2001). Documents come one by one, whatever their query. The level of a
    document is the number of thresholds at or below its score. Where it is wrong, every threshold on whose wrong side
    the score lies moves by 1 towards the score, and the coefficients move by as many times the features of the document
    as thresholds moved; thresholds that were in order stay in order. All start at 0. As steps have length 1, columns of
    similar scale help (``normalize=``).

    Parameters
    ----------
    n_epochs : int, default=20
        Passes over the documents, each in a new random order. The fit ends early after a pass without mistakes, which
        leaves nothing to change.
    average : bool, default=True
        Keep the mean of coefficients and thresholds over all steps, which is steadier; False keeps the last, as the
        paper does.
    normalize : str, transformer or None, default=None
        How columns are scaled first; see ``LinearRanker``.
    patience : int or None, default=5
        With a validation set, the fit ends after so many passes without a better value of its measure, and the best
        pass is kept. Half of what ``LinearRanker`` waits, as a pass changes more than an iteration and there are few.
        None records the measure and changes nothing.
    random_state : int, RandomState or None, default=None
        For the order of the documents. The result depends on it, and on the order of the rows.
    verbose : bool, default=False
        A progress bar on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        Always 0: the thresholds do its work.
    levels_ : ndarray of shape (n_levels,)
        The distinct labels, rising.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Rising; between two neighbours lie the scores of one level.
    n_iter_ : int
        Passes made.
    stop_reason_ : str
    history_ : dict of lists
        One entry per pass: ``"mean_error"``, by how many levels documents were missed when their turn came, on average;
        and the validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
    >>> ranker = PRank(random_state=0).fit([[-1.0], [0.0], [2.0], [3.0]], [0, 0, 1, 2])
    >>> ranker.predict_level([[-3.0], [9.0]])
    array([0., 2.])
    """

    def __init__(
        self,
        n_epochs: int = 20,
        average: bool = True,
        normalize: Any = None,
        patience: int | None = 5,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_epochs = n_epochs
        self.average = average
        self.normalize = normalize
        self.patience = patience
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: str | Measure | None = None,
    ) -> PRank:
        """Find coefficients and thresholds.

        Parameters
        ----------
        X, y, qid : as in ``LinearRanker.fit``
            Queries matter to the normalising, to the weights and to the measure.
        sample_weight : array-like, default=None
            One weight per query (in order of first appearance) or per row (constant within a query). Relative to the
            largest it is the probability that a document has its turn in a pass: steps keep their length, without
            which the thresholds would lose their order. Documents of weight 0 are left out.
        eval_set : Queries or tuple (X, y, qid), default=None
            Validation queries, measured after every pass by the coefficients that would be kept then.
        eval_metric : str or Measure, default=None
            Any measure of this library; None takes ``"ndcg@10"``.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._all_or_nothing():
            if eval_metric is not None:
                Measure.parse(eval_metric)
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            weights = self._check_query_weights(sample_weight, queries)
            held_back = self._check_eval_set(eval_set)
            queries = self._fit_normalizer(queries)
            validation = None
            if held_back is not None:
                validation = Validation(self._normalized(held_back), eval_metric, has_intercept=False)
            progress = Progress("fitting", self.n_epochs, is_shown=bool(self.verbose))
            self._learn(*_taking_part(queries, weights), Watch(validation, self.patience, progress, ("mean_error",)))
            return self

    @property
    def _is_pointwise(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        check_positive_int(self.n_epochs, "n_epochs")
        if self.patience is not None:
            check_positive_int(self.patience, "patience")

    def _learn(self, X: Any, labels: np.ndarray, weights: np.ndarray | None, watch: Watch) -> None:
        self.levels_, levels = np.unique(labels, return_inverse=True)
        if self.levels_.size > MAX_LEVELS:
            raise ValueError(
                f"y has {self.levels_.size:,} different labels; PRank keeps a threshold between any two, of which "
                f"{MAX_LEVELS:,} labels are the most. Round the labels to grades, or fit numbers with "
                'pk.ranker("regression").'
            )
        self.coef_, self.intercept_, self.thresholds_ = np.zeros(X.shape[1]), 0.0, np.zeros(self.levels_.size - 1)
        self.n_iter_, self.stop_reason_ = 0, ALL_EPOCHS
        perceptron = _Perceptron(X, levels, self.levels_.size)
        draws, best = check_random_state(self.random_state), None
        try:
            with watch.progress:
                while self.n_iter_ < self.n_epochs:
                    order = draws.permutation(levels.size)
                    if weights is not None:
                        order = order[draws.random_sample(levels.size) < weights[order]]
                    missed = perceptron.learn(order)
                    self.coef_, self.thresholds_ = perceptron.mean() if self.average else perceptron.last()
                    self.n_iter_ += 1
                    error = missed / order.size  # documents of the largest weight always have their turn
                    reason = watch.note(self.n_iter_, self.coef_, f"mean error {error:.4f}", mean_error=error)
                    if watch.best_iteration == self.n_iter_:
                        best = self.coef_, self.thresholds_
                    if missed == 0 and order.size == levels.size:
                        reason = NO_MISTAKES
                    if reason is not None:
                        self.stop_reason_ = reason
                        break
        except KeyboardInterrupt:
            self.stop_reason_ = INTERRUPTED
        if watch.keeps_best and best is not None:
            self.coef_, self.thresholds_ = best
        self.history_ = watch.history
        self.best_iteration_, self.best_score_ = watch.best_iteration, watch.best_score
        if self.stop_reason_ == INTERRUPTED:
            raise Interrupted("the fit was interrupted; the passes so far were kept.")

    def predict_level(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """The label that each row most likely has: one of ``levels_``, in the order of the rows given.

        Parameters
        ----------
        X, qid : as in ``predict``
        """
        check_is_fitted(self)
        return self.levels_[np.searchsorted(self.thresholds_, self.predict(X, qid=qid), side="right")]

    def check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        super().check_loaded()
        for name in ("levels_", "thresholds_"):
            check_vector(self, name)
            vector = getattr(self, name)
            if (vector[1:] < vector[:-1]).any():  # labels may be so large that differences overflow
                raise ValueError(f"{name} must be a rising vector of finite numbers.")
        if self.levels_.size != self.thresholds_.size + 1:
            raise ValueError(f"there are {self.thresholds_.size} thresholds between {self.levels_.size} levels.")


class _Perceptron:
    """Coefficients and thresholds while they are learned, and their mean over all steps so far."""

    def __init__(self, X: Any, levels: np.ndarray, n_levels: int):
        kernels = _native.rankers
        self._pass = kernels.prank_pass_sparse if is_sparse(X) else kernels.prank_pass_dense
        self._rows = (X.data, X.indices, X.indptr) if is_sparse(X) else (np.ascontiguousarray(X),)
        self._levels, self._n_steps = levels, 0
        self._largest = largest_values(X)
        self._coef, self._moved_coef = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self._thresholds, self._moved = np.zeros(n_levels - 1), np.zeros(n_levels - 1)

    def learn(self, order: np.ndarray) -> int:
        """One pass; by how many levels documents were missed when their turn came."""
        missed = self._pass(
            *self._rows, self._levels, order, float(self._n_steps),
            self._coef, self._moved_coef, self._thresholds, self._moved,
        )  # fmt: skip
        self._n_steps += order.size
        with np.errstate(over="ignore", invalid="ignore"):
            largest_score = np.abs(self._coef) @ self._largest
        if not (np.isfinite(largest_score) and np.isfinite(self._moved_coef).all()):
            raise ValueError("coefficients or scores overflow. Scale the columns (normalize=).")
        return missed

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        return self._coef.copy(), self._thresholds.copy()

    def mean(self) -> tuple[np.ndarray, np.ndarray]:
        """A change made in step t of T is in T - t of the T states."""
        coef = self._coef - self._moved_coef / self._n_steps
        thresholds = self._thresholds - self._moved / self._n_steps
        return coef, np.maximum.accumulate(thresholds)  # in order but for the rounding of the mean


def _taking_part(queries: Queries, weights: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Rows, labels and weights of the documents whose weight is not 0; None where all weights are alike."""
    if weights is None:
        return queries.X, queries.labels, None
    queries, weights = queries[weights > 0], weights[weights > 0]
    of_docs = np.repeat(weights, np.diff(queries.indptr))
    return queries.X, queries.labels, None if (of_docs == 1.0).all() else of_docs
