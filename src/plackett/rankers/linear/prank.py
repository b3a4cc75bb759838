"""PRank: the perceptron with ordered thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plackett import _native
from plackett.rankers.base import TrainingSet
from plackett.rankers.linear_scores import LinearScores
from plackett.rankers.monitor import FitMonitor
from plackett.rankers.parameters import param
from plackett.scorers.linear import LinearScorer
from plackett.storage.models.array_checks import check_vector
from plackett.validation import check_positive_int, is_sparse, largest_values

NO_MISTAKES = "an epoch without mistakes"
MAX_LEVELS = 1000  # every step compares all thresholds


@dataclass(eq=False, repr=False, kw_only=True)
class PRank(LinearScores):
    """Ranks by ``X @ coef_`` and cuts the scores into label levels by ordered thresholds.

    The perceptron of Crammer and Singer (2001). Documents are processed one by one, independently of their query. The
    level of a document is the number of thresholds at or below its score. If it is wrong, every threshold that has the
    score on its wrong side moves by 1 towards the score, and the coefficients move by the number of these thresholds
    times the features of the document; ordered thresholds stay ordered. All start at 0. As steps have length 1, columns
    of similar scale help (``normalize=``). Queries matter only for normalisation, weights and the validation measure.

    ``sample_weight``, relative to its largest value, is the probability that a document is processed in a pass: steps
    keep their length, as otherwise the thresholds would lose their order. Documents of weight 0 are left out.

    Parameters
    ----------
    n_epochs : int, default=20
        Passes over the documents, each in a new random order. The fit ends after a pass without mistakes.
    average : bool, default=True
        Keep the mean of coefficients and thresholds over all steps, which varies less; False keeps the last, as in the
        paper.
    patience : int or None, default=5
        With an ``eval_set``, the fit ends after this many passes without a better value of its measure; None never ends
        it early. The best pass is kept either way. The default is half that of ``LinearRanker``, as a pass changes more
        than an iteration.
    random_state : int, RandomState or None, default=None
        For the order of the documents. The result depends on it, and on the order of the rows.
    normalize, verbose, missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the columns, after encoding and ``normalize``.
    intercept_ : float
        Always 0; the thresholds replace it.
    levels_ : ndarray of shape (n_levels,)
        The distinct labels, ascending.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Ascending; the scores of one level lie between two neighbours.
    n_iter_ : int
        Passes made.
    stop_reason_ : str
        Why no further pass was made, such as ``"n_epochs reached"`` or ``"an epoch without mistakes"``.
    history_ : dict of lists
        One entry per pass: ``"mean_error"``, the mean error of the levels when documents were processed, and the
        validation measure.
    best_iteration_, best_score_ : int and float, or None without a validation set
        The pass, from 1, with the best value of the validation measure, whose coefficients are kept, and that value.
    n_queries_, normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import PRank
    >>> ranker = PRank(random_state=0).fit([[-1.0], [0.0], [2.0], [3.0]], [0, 0, 1, 2])
    >>> ranker.predict_level([[-3.0], [9.0]])
    array([0., 2.])
    """

    n_epochs: int = param(20, check_positive_int)
    average: bool = True
    normalize: Any = None
    patience: int | None = 5
    random_state: Any = None
    verbose: bool = False

    @property
    def _is_pointwise(self) -> bool:
        return True

    def _learn(self, training: TrainingSet, monitor: FitMonitor) -> None:
        X, labels, weights = _taking_part(training)
        self.levels_, levels = np.unique(labels, return_inverse=True)
        if self.levels_.size > MAX_LEVELS:
            raise ValueError(
                f"y has {self.levels_.size:,} different labels; PRank learns a threshold between neighbouring ones and "
                f"takes at most {MAX_LEVELS:,}. Round the labels to grades, or fit numbers with "
                'pk.ranker("regression").'
            )
        self.coef_, self.intercept_, self.thresholds_ = np.zeros(X.shape[1]), 0.0, np.zeros(self.levels_.size - 1)
        perceptron = _Perceptron(X, levels, self.levels_.size)
        held: Any = None if monitor.validation is None else LinearScorer(monitor.validation.queries.X)
        draws = check_random_state(self.random_state)
        with monitor.run("n_epochs", self.n_epochs, ("mean_error",)):
            for _ in range(self.n_epochs):
                order = draws.permutation(levels.size)
                if weights is not None:
                    order = order[draws.random_sample(levels.size) < weights[order]]
                missed = perceptron.learn(order)
                self.coef_, self.thresholds_ = perceptron.mean() if self.average else perceptron.last()
                reason = monitor.record(
                    lambda: held.scores(self.coef_),
                    (self.coef_, self.thresholds_),
                    mean_error=missed / order.size,  # never empty: documents of the largest weight are always processed
                )
                if missed == 0 and order.size == levels.size:
                    reason = monitor.stop(NO_MISTAKES)
                if reason is not None:
                    break
        if monitor.best_state is not None:
            self.coef_, self.thresholds_ = monitor.best_state

    def predict_level(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return the level of each row by the thresholds, one of ``levels_``, in the order of the rows given.

        Parameters
        ----------
        X, qid : as in ``predict``
        """
        check_is_fitted(self)
        return self.levels_[np.searchsorted(self.thresholds_, self.predict(X, qid=qid), side="right")]

    def check_loaded(self) -> None:
        """Reject attributes of a file that no fit produces."""
        super().check_loaded()
        for name in ("levels_", "thresholds_"):
            check_vector(self, name)
            vector = getattr(self, name)
            if (vector[1:] < vector[:-1]).any():  # labels may be so large that differences overflow
                raise ValueError(f"{name} must be an ascending vector of finite numbers.")
        if self.levels_.size != self.thresholds_.size + 1:
            raise ValueError(f"there are {self.thresholds_.size} thresholds between {self.levels_.size} levels.")


class _Perceptron:
    """Coefficients and thresholds during a fit, and their mean over all steps so far."""

    def __init__(self, X: Any, levels: np.ndarray, n_levels: int):
        kernels = _native.rankers
        self._pass = kernels.prank_pass_sparse if is_sparse(X) else kernels.prank_pass_dense
        self._rows = (X.data, X.indices, X.indptr) if is_sparse(X) else (np.ascontiguousarray(X),)
        self._levels, self._n_steps = levels, 0
        self._largest = largest_values(X)
        self._coef, self._moved_coef = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self._thresholds, self._moved = np.zeros(n_levels - 1), np.zeros(n_levels - 1)

    def learn(self, order: np.ndarray) -> int:
        """Make one pass over the documents in this order; return the sum of the errors in levels."""
        missed = self._pass(
            *self._rows, self._levels, order, float(self._n_steps),
            self._coef, self._moved_coef, self._thresholds, self._moved,
        )  # fmt: skip
        self._n_steps += order.size
        with np.errstate(over="ignore", invalid="ignore"):
            largest_score = np.abs(self._coef) @ self._largest
        if not (np.isfinite(largest_score) and np.isfinite(self._moved_coef).all()):
            raise ValueError("coefficients or scores overflowed. Scale the columns (normalize=).")
        return missed

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        return self._coef.copy(), self._thresholds.copy()

    def mean(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the means over all steps: a change in step t of T is in T - t of the T states."""
        coef = self._coef - self._moved_coef / self._n_steps
        thresholds = self._thresholds - self._moved / self._n_steps
        return coef, np.maximum.accumulate(thresholds)  # ordered except for rounding


def _taking_part(training: TrainingSet) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return rows, labels and weights of the documents whose weight is not 0; no weights where all are equal."""
    queries, weights = training.queries, training.weights
    if weights is None:
        return queries.X, queries.labels, None
    queries, weights = queries[weights > 0], weights[weights > 0]
    of_docs = np.repeat(weights, np.diff(queries.indptr))
    return queries.X, queries.labels, None if (of_docs == 1.0).all() else of_docs
