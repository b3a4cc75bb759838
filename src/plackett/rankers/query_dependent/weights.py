"""Weights of the training queries in the model of a target query, by the distance between query features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett._parameters import Parameters
from plackett._threads import map_blocks, one_blas_thread
from plackett.exceptions import DataWarning, warn
from plackett.rankers.query_dependent.kernels import Overlap, get_kernel
from plackett.rankers.query_dependent.neighbors import Neighbors, first_places, nearest
from plackett.rankers.query_dependent.query_table import QueryTable, check_loaded_columns
from plackett.storage.models.array_checks import check_matrix
from plackett.validation import check_choice, check_number, check_positive_int, count_of

WEIGHTS = ("uniform", "individual", "knn", "gaussian", "epanechnikov", "tricube", "rectangular")

PAIRS_PER_BLOCK = 1 << 20  # distances in memory at a time


@dataclass(eq=False, repr=False)
class QueryWeights(Parameters):
    """Weights ``π(q_i, q_0)`` of training queries ``q_i`` for a target query ``q_0``, scaled to ``Σ_i π_i = n``.

    ==================  ======================================================================
    ``"uniform"``       equal weights
    ``"individual"``    the query itself only
    ``"knn"``           equal weights of the nearest ``n_neighbors``
    ``"gaussian"``      exp(-u² / 2), with u the distance between the features over the bandwidth
    ``"epanechnikov"``  1 - u² where u < 1
    ``"tricube"``       (1 - u³)³ where u < 1
    ``"rectangular"``   1 where u ≤ 1
    ==================  ======================================================================

    Only the nearest ``n_neighbors`` count (None: all), the target itself first if it was in ``fit``, equal distances by
    order of appearance; ``n_neighbors_new`` is that of other targets. ``"median"`` is the median of the distances
    between the target and all training queries (itself included); if that is 0, the queries at distance 0 have equal
    weights. If all weights of a target are 0, only the nearest query counts, with a ``DataWarning``.

    With ``kernels`` of columns that are not numbers, by the number of the column, the weight is the product of their
    values and of the weight by the numeric columns. The nearest queries are those with the largest product, then with
    the smallest numeric distance. ``"knn"`` takes only queries with a positive product, with equal weights.
    ``"uniform"`` and ``"individual"`` ignore neighbours and kernels.

    After ``fit`` the numeric features are ``numeric_``; for each kernel of ``kernels_`` its column is in
    ``kernel_columns_``, ``coded_`` has the features as numbers and ``levels_`` the categories that they encode.

    Examples
    --------
    >>> weights = QueryWeights("knn", n_neighbors=2).fit([[0.0], [1.0], [5.0]])
    >>> weights.of_new([[4.0]]).of(0)
    (array([2, 1]), array([1.5, 1.5]), array([1., 3.]))
    """

    weights: str
    _: KW_ONLY
    n_neighbors: int | None = None
    n_neighbors_new: int | None = None
    bandwidth: float | str = "median"
    kernels: Mapping[int, Any] | None = None

    @property
    def needs_features(self) -> bool:
        """Return whether the weights depend on the features of the queries."""
        return self.weights not in ("uniform", "individual")

    def fit(self, features: Any, *, n_queries: int | None = None) -> QueryWeights:
        """Keep the features of the training queries, one row each.

        ``"uniform"`` and ``"individual"`` do not need them: ``features`` may be None if ``n_queries`` is given.
        """
        self._check_parameters()
        self.n_columns_ = 0
        self.numeric_: np.ndarray | None = None
        self.kernels_: list[Any] = []
        self.kernel_columns_: list[int] = []
        self.coded_: list[np.ndarray] = []
        self.levels_: list[np.ndarray | None] = []
        if features is None:
            self.n_queries_ = int(n_queries or 0)
            return self
        table = QueryTable(features)
        self.n_queries_, self.n_columns_ = table.n_queries, table.n_columns
        for place, kernel in (self.kernels or {}).items():
            kernel = get_kernel(kernel)
            where = f"{table.called(place)} of the query features"
            self.kernels_.append(kernel)
            self.kernel_columns_.append(place)
            self.levels_.append(kernel.levels(table.cells(place), where))
            self.coded_.append(kernel.code(table.cells(place), self.levels_[-1], where))
        numeric = [place for place in range(table.n_columns) if place not in self.kernel_columns_]
        self.numeric_ = table.numbers(numeric) if numeric else None
        return self

    def _check_parameters(self) -> None:
        check_choice(self.weights, "weights", WEIGHTS)
        if self.n_neighbors is not None:
            check_positive_int(self.n_neighbors, "n_neighbors")
        if self.n_neighbors_new is not None:
            check_positive_int(self.n_neighbors_new, "n_neighbors_new")
        if self.weights == "knn" and self.n_neighbors is None:
            raise ValueError('weights="knn" needs n_neighbors, the number of nearest queries that count.')
        if isinstance(self.bandwidth, str):
            check_choice(self.bandwidth, "bandwidth", ["median"])
        else:
            check_number(self.bandwidth, "bandwidth", above=0.0)
        if self.kernels is not None and not isinstance(self.kernels, Mapping):
            raise ValueError(
                f"kernels={self.kernels!r}; it must be a dict from columns of the query features to kernels, "
                'as {2: "overlap"}.'
            )

    def of_observed(self, places: Any, *, is_left_out: bool = False) -> Neighbors:
        """Return the weights for targets that are training queries, given by their places in ``fit``.

        With ``is_left_out`` a target is not its own neighbour, as if it had not been in ``fit``.

        If ``n_neighbors`` is None, each target has all queries as neighbours: pass few targets at a time.
        """
        own = np.asarray(places, dtype=np.int64).reshape(-1)
        if own.size and not (own.min() >= 0 and own.max() < self.n_queries_):
            raise ValueError(f"query {own[(own < 0) | (own >= self.n_queries_)][0]} is not one of {self.n_queries_:,}.")
        if self.weights == "individual":
            distances = np.full(own.size, np.nan if self.numeric_ is None else 0.0)
            return Neighbors(np.arange(own.size + 1), own, np.full(own.size, float(self.n_queries_)), distances)
        numeric = None if self.numeric_ is None else self.numeric_[own]
        return self._neighbors(own.size, numeric, [column[own] for column in self.coded_], own, is_left_out)

    def of_new(self, features: Any, *, n_queries: int | None = None) -> Neighbors:
        """Return the weights for targets that were not in ``fit``, by their features: columns as in ``fit``.

        ``"uniform"`` does not need them: ``features`` may be None if ``n_queries`` is given.
        """
        if self.weights == "individual":
            raise ValueError(
                'weights="individual" has no model for a query that was not in fit. Choose weights that use '
                'other queries, such as "gaussian", or new_queries="random".'
            )
        if features is None:
            return self._neighbors(int(n_queries or 0), None, [])
        table = QueryTable(features)
        if table.n_columns != self.n_columns_:
            raise ValueError(
                f"the query features have {count_of(table.n_columns, 'column')}, but had {self.n_columns_} in fit."
            )
        numeric = [place for place in range(self.n_columns_) if place not in self.kernel_columns_]
        coded = []
        for kernel, place, levels, training in zip(
            self.kernels_, self.kernel_columns_, self.levels_, self.coded_, strict=True
        ):
            where = f"{table.called(place)} of the query features"
            coded.append(kernel.code(table.cells(place), levels, where) if table.n_queries else training[:0])
            if coded[-1].shape[1:] != training.shape[1:]:
                raise ValueError(
                    f"{where} ranks {count_of(coded[-1].shape[1], 'item')}, but ranked {training.shape[1]} in fit."
                )
        return self._neighbors(table.n_queries, table.numbers(numeric) if numeric else None, coded)

    def _neighbors(
        self,
        n: int,
        numeric: np.ndarray | None,
        coded: list[np.ndarray],
        own: np.ndarray | None = None,
        is_left_out: bool = False,
    ) -> Neighbors:
        """Return the weights for n targets, by their numeric and coded features.

        ``own`` are their places if they are training queries, and ``is_left_out`` says that these are not their own
        neighbours.
        """
        k = self.n_queries_
        if self.needs_features:
            k_new = self.n_neighbors if own is not None or self.n_neighbors_new is None else self.n_neighbors_new
            k = min(k_new or k, k - is_left_out)
        if numeric is not None and n:
            self._check_reach(numeric)

        def compare(rows: slice) -> tuple[Neighbors, int]:
            parts = None if numeric is None else numeric[rows], [column[rows] for column in coded]
            return self._compare(len(range(n)[rows]), *parts, None if own is None else own[rows], is_left_out, k)

        step = max(1, PAIRS_PER_BLOCK // self.n_queries_) if n else 1
        with one_blas_thread():
            chosen = map_blocks(compare, [(slice(start, start + step),) for start in range(0, n, step)])
        n_vanished = sum(n_without for _, n_without in chosen)
        if n_vanished:
            warn(
                f"all weights are 0 for {count_of(n_vanished, 'query', 'queries')} of {n:,}; only the nearest "
                'training query counts. Choose a larger bandwidth or weights with a wider range, such as "gaussian".',
                DataWarning,
            )
        return Neighbors.join([part for part, _ in chosen])

    def _check_reach(self, numeric: np.ndarray) -> None:
        known: Any = self.numeric_
        with np.errstate(over="ignore"):
            reach = abs(numeric).max(axis=0) + abs(known).max(axis=0)
            if not np.isfinite(np.square(reach).sum()):
                raise ValueError("distances between the query features overflow. Scale the features first.")

    def _compare(
        self, n: int, numeric: np.ndarray | None, coded: list[np.ndarray], own: np.ndarray | None, is_left_out: bool,
        k: int,
    ) -> tuple[Neighbors, int]:  # fmt: skip
        """Return the k nearest of all training queries for some targets, and how many have only weights of 0.

        Of these the nearest query counts. With kernels, those with the largest weights are chosen, and the nearest of
        equal ones.
        """
        distances = np.zeros((n, self.n_queries_))
        if numeric is not None:
            with importing:
                from scipy.spatial.distance import cdist  # exact, unlike products of matrices: ties stay ties

            distances = cdist(numeric, self.numeric_)
        bandwidth, products = self._bandwidth(distances), None
        itself = None if own is None else (np.arange(n), own)
        if self.kernels_ and self.needs_features:
            similarity = np.ones(distances.shape)
            for kernel, column, training in zip(self.kernels_, coded, self.coded_, strict=True):
                similarity *= kernel.similarity(column, training)
            if is_left_out:
                similarity[itself] = 0.0
            products = self._products(similarity, distances, bandwidth)
        if itself is not None:  # before others at distance 0, or after all
            distances[itself] = np.inf if is_left_out else -1.0
        row, column = nearest(distances if products is None else -products, distances, k)
        near, first = np.maximum(distances[row, column], 0.0), first_places(row, n)
        if products is not None:
            weights = products[row, column]
        elif self.weights in ("uniform", "knn"):
            weights = np.ones(row.size)
        else:
            u = relative(near, bandwidth[row])
            weights = smooth(self.weights, u, u[first][row])
        alone = first[np.bincount(row, weights > 0, n) == 0]
        weights[alone] = 1.0
        kept = np.flatnonzero(weights > 0)
        if self.weights == "knn":
            weights[:] = 1.0
        if numeric is None:
            near[:] = np.nan
        places = row[kept], column[kept], weights[kept], near[kept]
        return Neighbors.of_places(*places, n, float(self.n_queries_)), alone.size

    def _products(self, similarity: np.ndarray, distances: np.ndarray, bandwidth: np.ndarray) -> np.ndarray:
        """Return the products of similarities and of the weights by distance."""
        if self.weights == "knn":
            return similarity
        u = relative(distances, bandwidth[:, None])
        u[similarity == 0] = np.inf  # queries of similarity 0 must not determine the scale of the others
        return similarity * smooth(self.weights, u, u.min(axis=1, keepdims=True))

    def _bandwidth(self, distances: np.ndarray) -> np.ndarray:
        """Return one bandwidth per row of distances to all training queries."""
        if self.weights in ("uniform", "knn") or not isinstance(self.bandwidth, str):
            return np.full(distances.shape[0], 1.0 if isinstance(self.bandwidth, str) else float(self.bandwidth))
        return np.median(distances, axis=1)

    def check_loaded_for(self, n_queries: int) -> None:
        """Raise a ValueError if loaded weights do not have the features of ``n_queries`` training queries."""
        self._check_parameters()
        if self.n_queries_ != n_queries or not type(self.n_queries_) is type(self.n_columns_) is int:
            raise ValueError(f"there are {n_queries} models, but not as many queries.")
        if self.numeric_ is not None:
            check_matrix(self, "numeric_", n_queries)
        parts = (self.kernels_, self.kernel_columns_, self.coded_, self.levels_)
        if any(type(part) is not list or len(part) != len(self.kernels_) for part in parts):
            raise ValueError("query weights must have a column, codes and levels for each kernel.")
        check_loaded_columns(self.kernel_columns_, self.n_columns_, "kernel_columns_")
        n_numeric = 0 if self.numeric_ is None else self.numeric_.shape[1]
        if n_numeric + len(self.kernels_) != self.n_columns_ or (self.needs_features and not self.n_columns_):
            raise ValueError("query weights must have the columns of the query features.")
        for kernel, codes, levels in zip(self.kernels_, self.coded_, self.levels_, strict=True):
            is_of_categories = isinstance(get_kernel(kernel), Overlap)
            dtype, n_axes = (np.int64, 1) if is_of_categories else (np.float64, 2)
            if not isinstance(codes, np.ndarray) or codes.dtype != dtype or codes.ndim != n_axes:
                raise ValueError("coded_ must hold categories or rankings as numbers.")
            if codes.shape[0] != n_queries or (levels is None) == is_of_categories:
                raise ValueError(f"coded_ must have {n_queries} rows, and levels_ the categories.")


def relative(distances: np.ndarray, bandwidth: np.ndarray) -> np.ndarray:
    """Return u, the distances over the bandwidth; 0 or infinite for a bandwidth of 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = distances / bandwidth
    u[distances == 0] = 0.0
    return u


def smooth(weights: str, u: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Return W(u) up to a factor per target; ``nearest`` is the smallest u of the target, and any u may be infinite."""
    if weights == "gaussian":
        # relative to the nearest: far from all queries every exp(-u² / 2) would underflow
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.where(np.isinf(u), 0.0, np.exp(-0.5 * (u - nearest) * (u + nearest)))
    if weights == "rectangular":
        return (u <= 1).astype(np.float64)
    inside = np.minimum(u, 1.0)
    return 1.0 - inside**2 if weights == "epanechnikov" else (1.0 - inside**3) ** 3
