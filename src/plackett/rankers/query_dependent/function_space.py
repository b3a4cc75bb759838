"""The space of scoring functions: linear in the columns, or in the features of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plackett._parameters import Parameters
from plackett.scorers.kernel import (
    Kernel,
    Training,
    check_bytes,
    check_kernel,
    exact_scorer,
    landmark_scorer,
    settle_gamma,
)
from plackett.storage.models.array_checks import check_matrix
from plackett.validation import check_number, count_of, is_sparse


@dataclass(eq=False, repr=False)
class FunctionSpace(Parameters):
    """Features of documents; scoring functions are linear in them, with the squared length as the penalty.

    ``kernel="linear"`` takes the columns unchanged. ``gamma`` may be ``"median"``, one over the median distance between
    documents (Dai and Wang's choice: not its square), ``"scale"`` or None; ``gamma_`` is the number. ``support_`` are
    the documents with which kernel values are computed, and ``factor_`` maps these to features; None if they are the
    features.
    """

    kernel: Any = "linear"
    gamma: Any = "median"
    degree: float = 3
    coef0: float = 1.0

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def settled(self) -> Kernel:
        """Return the kernel with its parameters, after ``fit``."""
        return Kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def settle(self, X: Any) -> None:
        """Set ``gamma_``, computed from the data unless ``gamma`` is a number."""
        self.gamma_ = median_gamma(X) if self.gamma == "median" else settle_gamma(self.gamma, self.kernel, X)
        self.support_: Any = None
        self.factor_: np.ndarray | None = None

    def fit(self, X: Any, *, landmarks: int | None, random_state: Any, max_bytes: float) -> np.ndarray:
        """Return the features of the training documents."""
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
        self.support_, self.factor_ = scorer.support, scorer.feature_map()
        return scorer.X

    def features(self, X: Any, max_bytes: float = np.inf) -> np.ndarray:
        """Return the features of any documents."""
        if self.is_linear:
            return as_dense(X, max_bytes)
        values = self.settled.matrix(X, self.support_)
        return values if self.factor_ is None else values @ self.factor_

    def check_loaded_for(self, n_columns: int) -> int:
        """Raise a ValueError if a loaded space does not take ``n_columns`` columns; return its number of features."""
        check_kernel(self.kernel)
        check_number(self.gamma_, "gamma_", above=0.0)
        check_number(self.degree, "degree", least=1.0)
        check_number(self.coef0, "coef0")
        if self.is_linear:
            return n_columns
        check_matrix(self, "support_", n_columns=n_columns)
        if self.factor_ is None:
            return self.support_.shape[0]
        check_matrix(self, "factor_", self.support_.shape[0])
        return self.factor_.shape[1]


def as_dense(X: Any, max_bytes: float) -> np.ndarray:
    """Return rows as one dense block of memory."""
    if not is_sparse(X):
        return np.ascontiguousarray(X)
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    check_bytes(
        n_bytes, max_bytes, f"{count_of(X.shape[0], 'sparse row')} of {X.shape[1]:,} columns, in dense form,",
        "Query-dependent rankers work on dense rows: reduce the columns first (TruncatedSVD), or raise max_bytes.",
    )  # fmt: skip
    return X.toarray()


def median_gamma(X: Any) -> float:
    """Return one over the median distance between different documents."""
    squared = settle_gamma("median", "rbf", X)  # one over the median of the squares, which is the square of the median
    return float(np.sqrt(squared))
