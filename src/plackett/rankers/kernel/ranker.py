"""Kernel ranker: any loss, minimised over scores that are sums of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, warn
from plackett.objective.objective import Objective
from plackett.rankers.base import as_seed, check_loaded_normalizer
from plackett.rankers.linear.ranker import LinearRanker
from plackett.rankers.parameters import param
from plackett.rankers.preparation import fills_missing
from plackett.scorers.kernel import (
    Kernel,
    KernelScorer,
    PositionScorer,
    Training,
    check_kernel,
    exact_scorer,
    kernel_scores,
    landmark_scorer,
    position_scores,
    settle_gamma,
)
from plackett.scorers.linear import LinearScorer
from plackett.scorers.tied_scores import with_equal_rows_tied
from plackett.storage.models.array_checks import check_matrix, check_vector
from plackett.validation import (
    check_choice,
    check_number,
    check_positive_int,
    count_of,
    feature_number,
    is_sparse,
    plain,
)

MAX_BYTES = 4_000_000_000
LARGEST_RATIO = 1e4  # between the spreads of two columns; a kernel squares it


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRanker(LinearRanker):
    """Ranks by ``Σ_l θ_l K(x, x_l)`` over training documents x_l, with the θ that minimise a loss over judged lists.

    Minimises ``(1 / Σ_q s_q) Σ_q s_q loss_q + (l2 / 2) θᵀKθ`` over all queries, with query weights s_q, and K the
    kernel values between the documents of **all** queries. An intercept, which is not penalised, is fitted for the
    losses that depend on a constant added to all scores.

    For kernels that are not positive semi-definite the penalty is ``(l2 / 2) ‖θ‖²`` instead: for ``"sigmoid"``,
    ``"additive_chi2"``, ``"poly"`` with ``coef0 < 0`` or a fractional degree always, for functions and precomputed
    matrices depending on their values. ``penalty_`` says which was used.

    Parameters
    ----------
    loss : str or Loss, default="listmle"
        As in :class:`LinearRanker`.
    kernel : str or callable, default="rbf"
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"laplacian"``, ``"sigmoid"``, ``"cosine"`` and the other names of
        scikit-learn; a function of two matrices that gives the matrix of kernel values, rows of the first by rows of
        the second; or ``"precomputed"``: X then holds kernel values, in ``fit`` those between all training documents,
        in ``predict`` those of new documents by all training documents, columns in the order of the rows given to
        ``fit``.
    gamma : float, "scale", "median" or None, default=None
        Parameter of ``"rbf"`` (``1 / (2 σ²)``), ``"laplacian"``, ``"poly"``, ``"sigmoid"`` and ``"chi2"``. None is
        ``1 / n_features``, ``"scale"`` is ``1 / (n_features * X.var())``, ``"median"`` is one over the median of the
        squared distances between documents (for ``"laplacian"`` of the distances).
    degree : float, default=3
        Degree of ``"poly"``.
    coef0 : float, default=1
        Constant of ``"poly"`` and ``"sigmoid"``.
    landmarks : int or None, default=None
        Number of training documents that kernel values are computed with (Nyström's method): time and memory then grow
        with ``n_docs * landmarks`` instead of ``n_docs²``. As many landmarks as documents give the exact ranker.
    l2 : float, default=1e-3
        Strength of the penalty.
    solver, max_iter, tol : as in :class:`LinearRanker`
    normalize : str, transformer or None, default=None
        As in :class:`LinearRanker`. Distances are dominated by the columns with the largest scale.
    landmark_selection : "k-means++" or "uniform", default="k-means++"
        How landmarks are sampled: far from each other, or uniformly. Those of a precomputed kernel are sampled
        uniformly.
    scope : "documents" or "position", default="documents"
        ``"position"`` is the model of ``olinto2016`` taken literally, for its reproduction: θ_l belongs to the l-th row
        of every list, and K is computed inside each list, whose rows keep the order given. The penalty is
        ``(l2 / 2) ‖θ‖²``. In a list longer than any in training, documents at later positions get scores but do not
        contribute to others, with a ``DataWarning``.
    max_bytes : int, default=4_000_000_000
        Memory limit for kernel values; a fit that needs more raises an error.
    patience, verbose : as in :class:`LinearRanker`
    random_state : int, RandomState or None, default=None
        For landmarks, ``solver="sgd"`` and random losses.
    warm_start : bool, default=False
        Start from the scoring function of the last fit, projected to the new documents.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_support,)
        θ. ``n_support`` is the rank of K, as documents with linearly dependent kernel values are left out; with
        landmarks it is their number; under ``scope="position"`` the length of the longest list.
    support_ : ndarray of shape (n_support,) or None
        Numbers of the training rows that θ belongs to, in the order given.
    X_fit_ : ndarray or CSR matrix of shape (n_support, n_features), or None
        Those rows, scaled by ``normalize``; None for a precomputed kernel and under ``scope="position"``.
    intercept_ : float
        The constant that is added to all scores; 0 if the loss does not depend on it.
    penalty_ : "rkhs" or "coefficients"
        The penalty: ``θᵀKθ`` or ``‖θ‖²``.
    gamma_ : float
        The value that was used.
    n_iter_, objective_, gradient_norm_, duality_gap_, stop_reason_, solver_, history_ : as in ``LinearRanker``
    best_iteration_, best_score_, n_evaluations_, n_products_, n_queries_ : as in ``LinearRanker``
    normalizer_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import KernelRanker
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> y, qid = X[:, 0] ^ X[:, 1], np.repeat(range(5), 4)  # exclusive or: not linear
    >>> ranker = KernelRanker(kernel="rbf", gamma=1.0, tol=1e-6).fit(X, y, qid=qid)
    >>> scores = ranker.predict(X[:4])
    >>> bool(scores[1:3].min() > scores[[0, 3]].max())
    True
    >>> ranker.penalty_, ranker.dual_coef_.size
    ('rkhs', 4)
    """

    takes_parts = False  # a kernel compares every document with all others

    model_of = None  # scores are no sum over features
    not_portable = "its scores are sums of kernel values, not linear in the features"

    kernel: Any = "rbf"
    gamma: Any = None
    degree: float = param(3, check_number, least=1.0)
    coef0: float = param(1.0, check_number)
    landmarks: int | None = param(None, check_positive_int)
    landmark_selection: str = param("k-means++", check_choice, choices=("k-means++", "uniform"))
    scope: str = param("documents", check_choice, choices=("documents", "position"))
    max_bytes: int = param(MAX_BYTES, check_number, above=0.0)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _explanation(self, needed: Any, base: np.ndarray | None) -> Any:
        raise NotImplementedError(
            "KernelRanker cannot explain its scores by features: a kernel combines the features, so no exact "
            "contributions exist. Explain a LinearRanker instead, which for kernel='linear' gives the same scores."
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel(self.kernel)
        settle_gamma(self.gamma, self.kernel, np.eye(2))
        if self._is_precomputed and self.normalize is not None:
            raise ValueError(
                f"normalize={plain(self.normalize)!r} scales features, but with kernel='precomputed' X holds kernel "
                "values. Scale the features before computing the kernel."
            )
        if self._is_precomputed and fills_missing(self):
            raise ValueError(
                f"missing={plain(self.missing)!r} fills features, but with kernel='precomputed' X holds kernel values. "
                "Fill the features before computing the kernel."
            )
        if self.scope == "position" and (self._is_precomputed or self.landmarks is not None):
            what = "kernel='precomputed'" if self._is_precomputed else f"landmarks={self.landmarks}"
            raise ValueError(f"scope='position' computes the kernel inside each list; {what} is not possible.")

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on its position in the list, or on the list by ``normalize``."""
        return self.scope == "position" or super().depends_on_list

    def _check_queries(self, X: Any, y: Any, qid: Any, **options: Any) -> Queries:
        queries = super()._check_queries(X, y, qid, **options)
        if options.get("reset"):
            # grouping moved the rows of a precomputed kernel, but not its columns, also in a Queries
            is_moved_before = self._is_precomputed and isinstance(X, Queries)
            self._rows_given = X.row_order if is_moved_before else queries.row_order
        return queries

    def _scorer(self, queries: Queries, has_intercept: bool) -> KernelScorer | PositionScorer:
        X, training = queries.X, Training(queries.X, self.__dict__.pop("_rows_given"))
        if self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the kernel values between all training documents, but X has "
                f"{X.shape[0]:,} rows and {X.shape[1]:,} columns."
            )
        if isinstance(self.kernel, str) and not self._is_precomputed:
            _warn_of_scales(queries)
        kernel = Kernel(self.kernel, settle_gamma(self.gamma, self.kernel, X), self.degree, self.coef0)
        shared: dict[str, Any] = {"has_intercept": has_intercept, "max_bytes": self.max_bytes}
        if self.scope == "position":
            return PositionScorer(kernel, X, queries.indptr, **shared)
        if self.landmarks is None:
            return exact_scorer(kernel, training, **shared)
        return landmark_scorer(
            kernel, training, n_landmarks=self.landmarks, selection=self.landmark_selection,
            random_state=as_seed(self.random_state), **shared,
        )  # fmt: skip

    def _validation_scorer(self, validation: Queries, objective: Objective) -> LinearScorer:
        scorer: Any = objective.scorer
        if self.scope == "position":
            _warn_of_long_lists(validation, scorer.n_positions)
        return LinearScorer(scorer.features(validation.X, validation.indptr), has_intercept=scorer.has_intercept)

    def _last_coef(self, objective: Objective) -> np.ndarray:
        scorer: Any = objective.scorer
        weights = scorer.weights_of(self.dual_coef_, self.support_ if self._is_precomputed else self.X_fit_)
        if weights is None:
            raise ValueError(
                f"warm_start: these documents cannot express the {count_of(self.dual_coef_.size, 'coefficient')} of "
                "the last fit. Fit to the same documents, or with warm_start=False."
            )
        return np.append(weights, self.intercept_)[: objective.size]

    def _keep_coef(self, coef: np.ndarray, scorer: Any) -> None:
        weights, self.intercept_ = scorer.split(coef)
        self.dual_coef_ = scorer.dual(weights)
        self.penalty_, self.gamma_ = scorer.penalty, scorer.kernel.gamma
        self.X_fit_ = None if self._is_precomputed else scorer.support
        self.support_ = scorer.numbers

    def _predict_grouped(self, queries: Queries) -> np.ndarray:
        check_is_fitted(self)
        scaled = self._normalized(queries)
        kernel = Kernel(self.kernel, self.gamma_, self.degree, self.coef0)
        if self.scope == "position":
            _warn_of_long_lists(scaled, self.dual_coef_.size)
            scores = position_scores(kernel, scaled.X, scaled.indptr, self.dual_coef_)
        else:
            support = self.support_ if self._is_precomputed else self.X_fit_
            scores = kernel_scores(kernel, scaled.X, support, self.dual_coef_)
            scores = with_equal_rows_tied(scores, scaled.X, scaled.indptr)
        return scores + self.intercept_

    def check_loaded(self) -> None:
        super().check_loaded()
        self.check_parameters()
        check_vector(self, "dual_coef_")
        check_number(self.intercept_, "intercept_")
        check_number(self.gamma_, "gamma_", above=0.0)
        n_columns = check_loaded_normalizer(self, self.n_prepared)
        if self.X_fit_ is not None:
            check_matrix(self, "X_fit_", self.dual_coef_.size, n_columns)
        if (self.scope == "position") != (self.support_ is None):
            raise ValueError(f"support_ does not agree with scope={self.scope!r}.")
        if self.support_ is None:
            return
        check_vector(self, "support_", np.int64)
        if self.support_.size != self.dual_coef_.size or self.support_.min(initial=0) < 0:
            raise ValueError("support_ must number the documents that have a coefficient.")
        if self._is_precomputed and self.support_.max(initial=-1) >= self.n_features_in_:
            raise ValueError(f"support_ must be columns 0 to {self.n_features_in_ - 1}.")
        if self._is_precomputed != (self.X_fit_ is None):
            raise ValueError("X_fit_ must hold the documents that have a coefficient.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _warn_of_scales(queries: Queries) -> None:
    """Warn of columns whose scale is much smaller than that of others: a kernel hardly depends on them."""
    X = queries.X
    spread = np.asarray(abs(X).max(axis=0).todense() if is_sparse(X) else np.ptp(X, axis=0), dtype=np.float64).ravel()
    used = np.flatnonzero(spread > 0)
    if used.size == 0:
        return
    largest, smallest = used[np.argmax(spread[used])], used[np.argmin(spread[used])]
    if spread[largest] <= LARGEST_RATIO * spread[smallest]:
        return
    large, small = (
        feature_number(column, queries.first_index, queries.feature_names) for column in (largest, smallest)
    )
    warn(
        f"{large} spreads over {spread[largest]:.1g} and {small} over {spread[smallest]:.1g}; a kernel hardly "
        'depends on the smaller one. Scale the columns first, as with normalize="query-zscore".',
        DataWarning,
    )


def _warn_of_long_lists(queries: Queries, n_positions: int) -> None:
    lengths = np.diff(queries.indptr)
    n_long = int((lengths > n_positions).sum())
    if n_long:
        warn(
            f"{count_of(n_long, 'list')} of {queries.n_queries:,} {'is' if n_long == 1 else 'are'} longer than any in "
            f"training ({count_of(n_positions, 'document')}); there are no coefficients for the positions beyond.",
            DataWarning,
        )
