"""Kernel scores ``Σ_l θ_l K(x, x_l)``, as linear scores on features whose inner products are the kernel.

With ``K = Z Zᵀ`` the penalty ``θᵀKθ`` of the scores ``Kθ`` is the squared length of ``w = Zᵀθ``, and the scores are
``Zw``: a kernel scorer is the linear scorer on Z. Once w is known, θ follows from one solve with the rows of Z that
belong to the documents x_l.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.metrics.pairwise import kernel_metrics, manhattan_distances, pairwise_kernels
from sklearn.utils import check_random_state

from plackett._arrays import bounds, dense, ranges
from plackett._lazy import importing
from plackett.exceptions import ParameterError
from plackett.scorers.linear import LinearScorer
from plackett.validation import check_choice, check_csr, check_number, count_of, is_sparse, plain

VALUES_PER_BLOCK = 1 << 21  # of a kernel matrix computed at a time if the whole is not needed
LEAST_PIVOT = 1e-10  # of a factor, relative to the largest diagonal entry of the kernel matrix
LEAST_EIGENVALUE = 1e-10  # of the landmarks' kernel matrix, relative to its largest
INDEFINITE = 1e-7  # error of a factor up to which a matrix counts as positive semi-definite, relative to the same
ROUNDING_OF_FLOAT32 = 1e4  # the three are larger by this factor for a kernel matrix in float32
POOL_PER_LANDMARK = 20  # candidates of k-means++ per landmark
SMALLEST_POOL = 10_000
MOST_DISTANCES = 1_000  # documents whose distances the median is taken of

TINY = 1e-150  # smaller kernel values become 0: denormal products are slow
NEGLIGIBLE = 1e-20  # the same for entries of a matrix that is factorised, relative to its largest: far below rounding
EXPONENTIAL = ("rbf", "laplacian", "chi2")
DEFINITE = ("linear", "rbf", "laplacian", "cosine", "chi2")  # for all parameters


class Kernel:
    """A kernel with all of its parameters.

    Parameters
    ----------
    kernel : str or callable
        A kernel name of scikit-learn, ``"precomputed"``, or a function of two matrices that returns the matrix of
        kernel values, rows of the first by rows of the second.
    gamma, degree, coef0 : float
        Parameters of the named kernels that use them.
    """

    def __init__(self, kernel: Any, gamma: float = 1.0, degree: float = 3, coef0: float = 1.0):
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0

    @property
    def is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def is_definite(self) -> bool | None:
        """Whether every kernel matrix is positive semi-definite; None if each has to be checked."""
        if callable(self.kernel) or self.is_precomputed:
            return None
        if self.kernel in ("poly", "polynomial"):
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.kernel in DEFINITE

    def matrix(self, X: Any, support: Any) -> np.ndarray:
        """Return kernel values of the rows of X by the support: rows, or columns of a precomputed X."""
        if self.is_precomputed:
            return np.ascontiguousarray(dense(X[:, support]), dtype=np.float64)
        X, support = as_float64(X), as_float64(support)
        if callable(self.kernel):
            values = self.kernel(X, support)
            check_csr(values, "what the kernel returned")
            # a copy: the factor overwrites it, and the function may have kept it
            values = np.array(dense(values), dtype=np.float64)
            if values.shape != (X.shape[0], support.shape[0]):
                raise ValueError(
                    f"the kernel of {X.shape[0]} rows and {support.shape[0]} rows returned shape "
                    f"{values.shape}; a matrix of shape {(X.shape[0], support.shape[0])} is needed. For a function of "
                    "two single rows: lambda A, B: pairwise_kernels(A, B, metric=function)."
                )
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # checked below
                values = pairwise_kernels(
                    X, support, metric=self.kernel, filter_params=True,
                    gamma=self.gamma, degree=self.degree, coef0=self.coef0,
                )  # fmt: skip
            if self.kernel in EXPONENTIAL:
                values[values < TINY] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            is_suspect = not np.isfinite(values.sum())
        if is_suspect and not np.isfinite(values).all():
            raise ValueError(
                f"{self.name} gives values that are NaN or infinite. Scale the columns (normalize=), or choose another "
                "kernel or other parameters."
            )
        return np.ascontiguousarray(values)

    @property
    def name(self) -> str:
        return f"kernel={getattr(self.kernel, '__name__', self.kernel)!r}"


def check_kernel(kernel: Any) -> None:
    """Raise unless ``kernel`` is the name of a kernel or a function."""
    if not callable(kernel):
        check_choice(kernel, "kernel", [*kernel_metrics(), "precomputed"])


def settle_gamma(gamma: Any, kernel: Any, X: Any) -> float:
    """Return ``gamma`` as a number, computed from the data for None, ``"scale"`` and ``"median"``."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return 1.0
    if gamma is None:
        return 1.0 / X.shape[1]
    if not isinstance(gamma, str):
        return check_number(gamma, "gamma", above=0.0)
    if gamma not in ("scale", "median"):
        raise ParameterError("gamma", plain(gamma), "it must be a number above 0, None, 'scale' or 'median'.")
    width = _variance(X) * X.shape[1] if gamma == "scale" else _median_distance(X, kernel)
    return 1.0 / width if width > 0 else 1.0 / X.shape[1]


def _variance(X: Any) -> float:
    if is_sparse(X):
        mean = X.sum(dtype=np.float64) / (X.shape[0] * X.shape[1])
        return float(X.multiply(X).sum(dtype=np.float64) / (X.shape[0] * X.shape[1]) - mean**2)
    return float(X.var(dtype=np.float64))


def _median_distance(X: Any, kernel: Any) -> float:
    """Return the median distance between distinct documents, squared except for the Laplacian kernel."""
    rows = arrangement(X)
    chosen = rows[np.linspace(0, rows.size - 1, min(rows.size, MOST_DISTANCES)).round().astype(np.int64)]
    some = as_float64(X[chosen])
    if kernel == "laplacian":
        distances = manhattan_distances(some)
    else:
        squares = some.multiply(some).sum(axis=1) if is_sparse(some) else (some**2).sum(axis=1)
        squares = np.asarray(squares, dtype=np.float64).ravel()
        inner = dense(some @ some.T)
        distances = squares[:, None] + squares - 2.0 * inner
        distances[distances < 1e-12 * max(squares.max(), 1e-300)] = 0.0  # equal rows, up to rounding
    apart = distances[np.triu_indices(chosen.size, 1)]
    apart = apart[apart > 0]
    return float(np.median(apart)) if apart.size else 0.0


def as_float64(X: Any) -> Any:
    """Return rows in float64, which the factors below need."""
    return X if X.dtype == np.float64 else X.astype(np.float64)


def arrangement(X: Any) -> np.ndarray:
    """Return an order of the rows that depends only on their values: by a fixed random projection."""
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    shadow = np.empty(X.shape[0])
    for start, stop in _row_blocks(*X.shape):
        shadow[start:stop] = as_float64(X[start:stop]) @ direction
    return np.argsort(shadow, kind="stable")


def _row_blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    step = max(1, VALUES_PER_BLOCK // max(1, n_columns))
    return ((start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def check_bytes(n_bytes: int, max_bytes: float, what: str, hint: str) -> None:
    """Raise an error with the size of what does not fit into ``max_bytes``."""
    if n_bytes > max_bytes:
        raise ValueError(f"{what} would take {n_bytes:,} bytes, above max_bytes={int(max_bytes):,}. {hint}")


# --- Scorers ---------------------------------------------------------------------------------------------------------


class KernelScorer(LinearScorer):
    """Scores from kernel values with some training documents, the support, which are the rows ``places``.

    Z are features of the training documents. ``factor`` maps coefficients to θ, and kernel values to features;
    ``"triangle"`` is the transposed inverse of the support's features; None means that the kernel values are the
    features. ``support`` is an argument of ``Kernel.matrix``, ``numbers`` its rows in the order of the user's.
    """

    def __init__(
        self, Z: np.ndarray, kernel: Kernel, training: Training, places: np.ndarray, factor: Any, has_intercept: bool
    ):
        super().__init__(Z, has_intercept=has_intercept)
        self.kernel, self.places, self._factor = kernel, places, factor
        self.support, self.numbers = training.support(kernel, places), training.numbers(places)

    @property
    def penalty(self) -> str:
        """The meaning of the squared norm of the coefficients: ``"rkhs"``, θᵀKθ, or ``"coefficients"``, ‖θ‖²."""
        return "coefficients" if self._factor is None else "rkhs"

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """Return θ, one entry per document of the support."""
        if self._factor is None:
            return weights.copy()
        if isinstance(self._factor, str):
            return linalg.solve_triangular(self.X[self.places], weights, lower=True, trans="T", check_finite=False)
        return self._factor @ weights

    def feature_map(self) -> np.ndarray | None:
        """Return the matrix that takes kernel values to features; None if they are the features."""
        if not isinstance(self._factor, str):
            return self._factor
        triangle = self.X[self.places]
        return linalg.solve_triangular(triangle, np.eye(triangle.shape[0]), lower=True, check_finite=False).T

    def weights_of(self, dual: np.ndarray, support: Any) -> np.ndarray | None:
        """Return the coefficients closest to scoring by ``dual`` on ``support``; None without such coefficients."""
        if self.penalty == "coefficients":
            return dual.copy() if dual.size == self.n_features else None
        if support is self.support or (self.kernel.is_precomputed and np.array_equal(support, self.support)):
            return dual @ self.X[self.places]
        return None if self.kernel.is_precomputed else dual @ self.features(support)

    def features(self, X: Any, indptr: np.ndarray | None = None) -> np.ndarray:
        """Return features of any rows, whose linear scores are the kernel scores; ``indptr`` is ignored."""
        features = np.empty((X.shape[0], self.n_features), dtype=self.X.dtype)
        self.fill(features, X)
        return features

    def fill(self, features: np.ndarray, X: Any) -> None:
        """Write the features of X into ``features``, a block of rows at a time."""
        support = self.support if self.kernel.is_precomputed else as_float64(self.support)
        factor = self.X[self.places] if isinstance(self._factor, str) else self._factor
        for start, stop in _row_blocks(X.shape[0], self.places.size):
            values = self.kernel.matrix(X[start:stop], support)
            if isinstance(self._factor, str):
                values = linalg.solve_triangular(factor, values.T, lower=True, check_finite=False).T
            elif factor is not None:
                values = values @ factor
            features[start:stop] = values


def kernel_scores(kernel: Kernel, X: Any, support: Any, dual: np.ndarray) -> np.ndarray:
    """Return ``Σ_l θ_l K(x, x_l)`` for the rows of X, a block of kernel values at a time."""
    scores = np.empty(X.shape[0])
    support = support if kernel.is_precomputed else as_float64(support)
    for start, stop in _row_blocks(X.shape[0], dual.size):
        scores[start:stop] = kernel.matrix(X[start:stop], support) @ dual
    return scores


class Training(NamedTuple):
    """Rows of the training documents, and their positions before grouping (None: unchanged)."""

    X: Any
    row_order: np.ndarray | None = None

    def numbers(self, places: np.ndarray) -> np.ndarray:
        return places if self.row_order is None else self.row_order[places]

    def support(self, kernel: Kernel, places: np.ndarray) -> Any:
        """Return the support of ``Kernel.matrix`` for these rows; columns of precomputed values are not reordered."""
        return self.numbers(places) if kernel.is_precomputed else self.X[places]


def exact_scorer(kernel: Kernel, training: Training, *, has_intercept: bool, max_bytes: float) -> KernelScorer:
    """Return the scorer on a factor of the whole kernel matrix; on the matrix itself if it cannot be factorised."""
    X = training.X
    n_docs = X.shape[0]
    check_bytes(
        16 * n_docs**2, max_bytes, f"the kernel matrix of {count_of(n_docs, 'document')} and its factor",
        "Choose landmarks=500, for example, which needs memory for that many columns only, or raise max_bytes.",
    )  # fmt: skip
    # the factor uses its own order of documents, so that the support does not depend on the order of the rows
    order = arrangement(X) if kernel.is_definite else np.arange(n_docs)
    rough = ROUNDING_OF_FLOAT32 if kernel.is_precomputed and X.dtype == np.float32 else 1.0
    K = kernel.matrix(X[order], training.support(kernel, order)) if kernel.is_definite is not False else None
    if K is not None and (kernel.is_definite or _is_symmetric(K, INDEFINITE * rough)):
        found = factorize(K, LEAST_PIVOT * rough, np.inf if kernel.is_definite else INDEFINITE * rough)
        del K  # the factor was written over it
        if found is not None:
            Z, places = np.empty_like(found[0]), order[found[1]]
            Z[order] = found[0]
            factor: Any = "triangle"
            if places.size == 0:  # all kernel values are 0: keep one column of zeros
                Z, places, factor = np.zeros((n_docs, 1)), order[:1], np.ones((1, 1))
            return KernelScorer(Z, kernel, training, places, factor, has_intercept)
    every = np.arange(n_docs)
    K = kernel.matrix(X, training.support(kernel, every))
    return KernelScorer(K, kernel, training, every, None, has_intercept)


def _is_symmetric(K: np.ndarray, tolerance: float) -> bool:
    allowed = tolerance * float(np.abs(K).max(initial=0.0))
    blocks = _row_blocks(*K.shape)
    return all(float(np.abs(K[start:stop] - K[:, start:stop].T).max()) <= allowed for start, stop in blocks)


def factor(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Z, with as many columns as the rank of K, and pivots: ``K = Z Zᵀ``, with a lower triangle at the pivots.

    Nothing is added to the diagonal: values below rounding are left out. K, symmetric and positive semi-definite, is
    not changed.
    """
    if len(K) == 0:
        return np.empty((0, 0)), np.empty(0, dtype=np.int64)
    found = factorize(np.array(K, dtype=np.float64, order="C"), LEAST_PIVOT, INDEFINITE)
    if found is None:
        raise ValueError("the kernel matrix is not positive semi-definite; choose another kernel or other parameters.")
    return found


def factorize(K: np.ndarray, least_pivot: float, most_missed: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return Z and pivots with ``K = Z Zᵀ``; the rows of Z at the pivots are a lower triangle. K is overwritten.

    The Cholesky factor of a symmetric, C-ordered K, with the largest remaining diagonal entry taken first, ended when
    that is below ``least_pivot``. Where ``K − Z Zᵀ`` is larger than ``most_missed``, K is not positive semi-definite
    and the result is None. Both are relative to the largest diagonal entry.
    """
    n_rows, diagonal = K.shape[0], K.diagonal().copy()
    scale = float(diagonal.max())
    if scale <= 0:
        is_zero = np.isinf(most_missed) or not K.any()
        return (np.empty((n_rows, 0)), np.empty(0, dtype=np.int64)) if is_zero else None
    for start, stop in _row_blocks(n_rows, n_rows):
        K[start:stop][np.abs(K[start:stop]) < NEGLIGIBLE * scale] = 0.0
    # by columns this is the upper triangle, so that rows of the factor are contiguous
    columns, pivots, rank, _ = linalg.lapack.dpstrf(K.T, tol=least_pivot * scale, lower=0, overwrite_a=1)
    pivots = pivots.astype(np.int64) - 1
    Z = np.empty((n_rows, rank))
    for start, stop in _row_blocks(n_rows, max(1, rank)):
        Z[pivots[start:stop]] = np.tril(columns.T[start:stop, :rank], start)
    if rank < n_rows and np.isfinite(most_missed):
        probes = np.where(np.random.default_rng(0).random((n_rows, 4)) < 0.5, -1.0, 1.0)
        # the other triangle still holds K, without its diagonal
        products = linalg.blas.dsymm(1.0, columns, probes, lower=1)
        products += (diagonal - columns.diagonal())[:, None] * probes
        if float(np.abs(products - Z @ (Z.T @ probes)).max()) > most_missed * scale:
            return None
    return Z, pivots[:rank]


def landmark_scorer(
    kernel: Kernel,
    training: Training,
    *,
    n_landmarks: int,
    selection: str,
    random_state: Any,
    has_intercept: bool,
    max_bytes: float,
) -> KernelScorer:
    """Return the scorer on Nyström's features ``K_nm K_mm^(−1/2)``, m being some of the documents."""
    X = training.X
    n_docs = X.shape[0]
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    n_landmarks = min(n_landmarks, n_docs)
    check_bytes(
        n_docs * n_landmarks * np.dtype(dtype).itemsize + 16 * n_landmarks**2, max_bytes,
        f"the features of {count_of(n_docs, 'document')} by {count_of(n_landmarks, 'landmark')}",
        "Choose fewer landmarks, or raise max_bytes.",
    )  # fmt: skip
    places = choose_landmarks(X, n_landmarks, "uniform" if kernel.is_precomputed else selection, random_state)
    rough = ROUNDING_OF_FLOAT32 if kernel.is_precomputed and dtype == np.float32 else 1.0
    factor = None
    if kernel.is_definite is not False:
        factor = _inverse_root(
            kernel.matrix(X[places], training.support(kernel, places)), rough, is_sure=bool(kernel.is_definite)
        )
    width = places.size if factor is None else factor.shape[1]
    scorer = KernelScorer(np.empty((n_docs, width), dtype), kernel, training, places, factor, has_intercept)
    scorer.fill(scorer.X, X)
    return scorer


def _inverse_root(K: np.ndarray, rough: float, *, is_sure: bool) -> np.ndarray | None:
    """Return ``U λ^(−1/2)`` of the eigenvalues λ of K that are large enough; None if K is not semi-definite."""
    if not is_sure and not _is_symmetric(K, INDEFINITE * rough):
        return None
    eigenvalues, vectors = linalg.eigh(K, check_finite=False)
    largest = float(np.abs(eigenvalues).max())
    if not is_sure and eigenvalues[0] < -INDEFINITE * rough * largest:
        return None
    if largest == 0:
        return np.ones((K.shape[0], 1))  # all kernel values are 0
    is_large = eigenvalues > LEAST_EIGENVALUE * rough * largest
    return np.ascontiguousarray(vectors[:, is_large] / np.sqrt(eigenvalues[is_large]))


def choose_landmarks(X: Any, n_landmarks: int, selection: str, random_state: Any) -> np.ndarray:
    """Return the rows of the landmarks, in ascending order.

    k-means++ draws each landmark with a probability proportional to its squared distance from those drawn before, from
    a sample of ``POOL_PER_LANDMARK`` documents per landmark. Neither draw depends on the order of the rows.
    """
    n_docs = X.shape[0]
    if n_landmarks >= n_docs:
        return np.arange(n_docs)
    random = check_random_state(random_state)
    order = arrangement(X)
    if selection == "uniform":
        return np.sort(order[random.choice(n_docs, n_landmarks, replace=False)])
    with importing:
        from sklearn.cluster import kmeans_plusplus

    n_pool = min(n_docs, max(SMALLEST_POOL, POOL_PER_LANDMARK * n_landmarks))
    pool = order if n_pool == n_docs else order[np.sort(random.choice(n_docs, n_pool, replace=False))]
    _, chosen = kmeans_plusplus(X[pool], n_landmarks, random_state=random)
    return np.unique(pool[chosen])


# --- One coefficient per position ------------------------------------------------------------------------------------


class PositionScorer(LinearScorer):
    """Scores ``Σ_l θ_l K(x, x_l)`` over the documents l of the same list, θ_l belonging to the l-th row of any list."""

    penalty = "coefficients"
    support = None
    numbers = None

    def __init__(self, kernel: Kernel, X: Any, indptr: np.ndarray, *, has_intercept: bool, max_bytes: float):
        lengths = np.diff(indptr)
        self.kernel, self.n_positions = kernel, int(lengths.max())
        check_bytes(
            12 * int((lengths.astype(np.int64) ** 2).sum()), max_bytes, "the kernel matrices of all lists",
            "Shorten the lists, or raise max_bytes.",
        )  # fmt: skip
        super().__init__(self.features(X, indptr), has_intercept=has_intercept)

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """Return θ, one entry per position."""
        return weights.copy()

    def weights_of(self, dual: np.ndarray, support: Any) -> np.ndarray | None:
        """As in ``KernelScorer``."""
        return dual.copy() if dual.size == self.n_positions else None

    def features(self, X: Any, indptr: np.ndarray) -> Any:
        """Return the kernel values of each document with the documents of its list, in order."""
        lengths = np.diff(indptr)
        widths = np.repeat(np.minimum(lengths, self.n_positions), lengths)
        ends = bounds(widths)
        data = np.empty(int(ends[-1]))
        for rows, values in _list_kernels(self.kernel, X, indptr, self.n_positions):
            data[ends[rows.start] : ends[rows.stop]] = values.ravel()
        indices = ranges(np.zeros_like(widths), widths)
        return sparse.csr_matrix((data, indices.astype(np.int32), ends), shape=(X.shape[0], self.n_positions))


def position_scores(kernel: Kernel, X: Any, indptr: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """Return scores of lists by one coefficient per position; later positions do not count."""
    scores = np.zeros(X.shape[0])
    for rows, values in _list_kernels(kernel, X, indptr, dual.size):
        scores[rows] = values @ dual[: values.shape[1]]
    return scores


def _list_kernels(kernel: Kernel, X: Any, indptr: np.ndarray, n_positions: int) -> Iterator[tuple[slice, np.ndarray]]:
    for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        rows = X[start:stop]
        yield slice(start, stop), kernel.matrix(rows, rows)[:, :n_positions]
