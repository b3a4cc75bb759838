"""Where scoring functions live: linear in the columns, or in those of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from plackett._parameters import Parameters
from plackett.scorers.kernel import Kernel, Training, check_bytes, exact_scorer, landmark_scorer, settle_gamma
from plackett.validation import count_of, is_sparse


class FunctionSpace(Parameters):
    """Features of documents whose linear functions are the scoring functions, their length being the penalty.

    Parameters
    ----------
    kernel : str or callable
        ``"linear"`` takes the columns as they are.
    gamma, degree, coef0 : float
        Of the kernel; ``gamma`` may be ``"median"``, one over the median distance between documents (Dai and Wang's
        choice: not its square), ``"scale"`` or None until :meth:`fit` settles it.

    Attributes
    ----------
    gamma_ : float
    support_ : ndarray, CSR matrix or None
        Documents with which kernel values are computed.
    factor_ : ndarray or None
        What takes kernel values to features.
    """

    def __init__(self, kernel: Any = "linear", gamma: Any = "median", degree: float = 3, coef0: float = 1.0):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def settled(self) -> Kernel:
        """The kernel with its parameters, after ``fit``."""
        return Kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def settle(self, X: Any) -> None:
        """Find a number for gamma."""
        self.gamma_ = median_gamma(X) if self.gamma == "median" else settle_gamma(self.gamma, self.kernel, X)
        self.support_ = self.factor_ = None

    def fit(self, X: Any, *, landmarks: int | None, random_state: Any, max_bytes: float) -> np.ndarray:
        """Features of the training documents."""
        self.settle(X)
        if self.is_linear:
            return as_dense(X, max_bytes)
        kernel, training = self.settled, Training(X)
        shared: dict[str, Any] = {"has_intercept": False, "max_bytes": max_bytes}
        if landmarks is None:
            scorer = exact_scorer(kernel, training, **shared)
        else:
            scorer = landmark_scorer(
                kernel, training, n_landmarks=landmarks, selection="k-means++", random_state=random_state, **shared
            )
        self.support_ = scorer.support
        factor = scorer._factor
        if isinstance(factor, str):  # the support's own features are a triangle
            triangle = scorer.X[scorer.places]
            factor = linalg.solve_triangular(triangle, np.eye(triangle.shape[0]), lower=True, check_finite=False).T
        self.factor_ = factor
        return scorer.X

    def features(self, X: Any, max_bytes: float = np.inf) -> np.ndarray:
        """Features of any documents."""
        if self.is_linear:
            return as_dense(X, max_bytes)
        values = self.settled.matrix(X, self.support_)
        return values if self.factor_ is None else values @ self.factor_


def as_dense(X: Any, max_bytes: float) -> np.ndarray:
    """Rows as one block of memory."""
    if not is_sparse(X):
        return np.ascontiguousarray(X)
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    check_bytes(
        n_bytes, max_bytes, f"{count_of(X.shape[0], 'sparse row')} of {X.shape[1]:,} columns, written out,",
        "Query-dependent rankers work on dense rows: reduce the columns first (TruncatedSVD), or raise max_bytes.",
    )  # fmt: skip
    return X.toarray()


def median_gamma(X: Any) -> float:
    """One over the median distance between documents that differ."""
    squared = settle_gamma("median", "rbf", X)  # one over the median of the squares, which is the square of the median
    return float(np.sqrt(squared))
