"""PRank: the perceptron with ordered thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plackett.rankers import _prank
from plackett.rankers.base import Normalized
from plackett.rankers.linear import LinearRanker
from plackett.validation import check_positive_int, is_sparse

NO_MISTAKES = "an epoch without mistakes"
ALL_EPOCHS = "n_epochs reached"


class PRank(Normalized):
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
    random_state : int, RandomState or None, default=None
        For the order of the documents. The result depends on it, and on the order of the rows.

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
        ``"mean_error"``, one entry per pass: by how many levels documents were missed when their turn came, on average.
    normalizer_, feature_names_, n_features_in_, feature_names_in_ : as in ``LinearRanker``

    Examples
    --------
    >>> ranker = PRank(random_state=0).fit([[-1.0], [0.0], [2.0], [3.0]], [0, 0, 1, 2])
    >>> ranker.predict_level([[-3.0], [9.0]])
    array([0., 2.])
    """

    # the scores are linear, and so are these
    explain = LinearRanker.explain
    _predict_grouped = LinearRanker._predict_grouped

    def __init__(self, n_epochs: int = 20, average: bool = True, normalize: Any = None, random_state: Any = None):
        self.n_epochs = n_epochs
        self.average = average
        self.normalize = normalize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> PRank:
        """Find coefficients and thresholds.

        Parameters
        ----------
        X, y, qid : as in ``LinearRanker.fit``
            Queries matter to the normalising only.

        Returns
        -------
        self
        """
        check_positive_int(self.n_epochs, "n_epochs")
        with self._all_or_nothing():
            queries = self._check_queries(X, y, qid, reset=True)
            self.n_queries_ = queries.n_queries
            self._learn(self._fit_normalizer(queries).X, queries.labels)
            return self

    def _learn(self, X: Any, labels: np.ndarray) -> None:
        self.levels_, levels = np.unique(labels, return_inverse=True)
        draws = check_random_state(self.random_state)
        n_docs, n_features = X.shape
        coef, moved_coef = np.zeros(n_features), np.zeros(n_features)
        thresholds, moved = np.zeros(self.levels_.size - 1), np.zeros(self.levels_.size - 1)
        run: Any = _prank.pass_sparse if is_sparse(X) else _prank.pass_dense
        parts = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
        errors: list[float] = []
        self.stop_reason_ = ALL_EPOCHS
        for epoch in range(self.n_epochs):
            order = draws.permutation(n_docs)
            missed = run(*parts, levels, order, float(epoch * n_docs), coef, moved_coef, thresholds, moved)
            errors.append(missed / n_docs)
            if missed == 0:
                self.stop_reason_ = NO_MISTAKES
                break
        self.n_iter_, self.history_ = len(errors), {"mean_error": errors}
        if self.average:  # a change made in step t of T is in T - t of the T states
            n_steps = self.n_iter_ * n_docs
            coef -= moved_coef / n_steps
            thresholds -= moved / n_steps
        if not np.isfinite(coef).all():
            raise ValueError("the coefficients grew beyond all numbers; scale the columns (normalize=).")
        self.coef_, self.intercept_ = coef, 0.0
        self.thresholds_ = np.maximum.accumulate(thresholds)  # in order but for the rounding of the mean

    def predict_level(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """The label that each row most likely has: one of ``levels_``, in the order of the rows given.

        Parameters
        ----------
        X, qid : as in ``predict``
        """
        check_is_fitted(self)
        return self.levels_[np.searchsorted(self.thresholds_, self.predict(X, qid=qid), side="right")]

    def _check_loaded(self) -> None:
        """Refuse what a file may say but no fit leaves behind."""
        LinearRanker._check_loaded(self)
        for name in ("levels_", "thresholds_"):
            values = getattr(self, name, None)
            if (
                not isinstance(values, np.ndarray)
                or values.dtype != np.float64
                or values.ndim != 1
                or not np.isfinite(values).all()
                or (np.diff(values) < 0).any()
            ):
                raise ValueError(f"{name} must be a rising vector of finite numbers.")
        if self.levels_.size != self.thresholds_.size + 1:
            raise ValueError(f"there are {self.thresholds_.size} thresholds between {self.levels_.size} levels.")
