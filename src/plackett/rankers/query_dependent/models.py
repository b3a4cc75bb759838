"""Models of queries: fitted to the training queries, and to the neighbours of new queries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett._progress import Progress
from plackett.data.queries import Queries
from plackett.exceptions import ConvergenceWarning, DataWarning, warn
from plackett.metrics.measure import Measure
from plackett.rankers.base import Normalized, Prepared, as_seed, check_loaded_normalizer
from plackett.rankers.monitor import ValidationSet
from plackett.rankers.query_dependent.features import QueryFeatureSource
from plackett.rankers.query_dependent.function_space import FunctionSpace
from plackett.rankers.query_dependent.local_fits import LocalFits, Solutions
from plackett.rankers.query_dependent.neighbors import Neighbors, mixed
from plackett.rankers.query_dependent.parameter_choice import (
    CANDIDATES,
    CHOOSING_TOL,
    L2_GRID,
    choose,
    queries_to_hold_out,
)
from plackett.rankers.query_dependent.targets import Targets, score_lists
from plackett.rankers.query_dependent.weights import QueryWeights
from plackett.storage.models.array_checks import check_bounds, check_matrix, check_vector
from plackett.validation import check_choice, check_number, check_numbers, count_of, largest_values

MOST_MODELS_KEPT = 10_000  # of queries that were not in fit
TARGETS_AT_ONCE = 1024
BYTES_OF_PATH = 1 << 28  # of coefficients along a path that are in memory at a time
ALL_CONVERGED = "all models converged"
MAX_BYTES = 2_000_000_000


@dataclass(eq=False, repr=False, kw_only=True)
class QueryModels(Normalized, Prepared):
    """The steps of ``QueryDependentRanker`` from data to models and from models to scores."""

    weights: str = field(default="gaussian", kw_only=False)
    n_neighbors: int | str | None = "auto"
    n_neighbors_new: int | None = None
    bandwidth: float | str = "median"
    query_features: Any = None
    scale_query_features: bool = False
    query_kernels: Mapping[int | str, Any] | None = None
    query_depth: int | None = None
    base_column: int | str | None = None
    kernel: Any = "linear"
    gamma: Any = "median"
    degree: float = 3
    coef0: float = 1.0
    landmarks: int | None = None
    function: str = "score"
    loss: str = "hinge"
    l2: Any = 1e-3
    solver: str = "auto"
    new_queries: str = "neighbors"
    tol: float = 1e-4
    max_iter: int = 500
    normalize: Any = None
    max_bytes: int = MAX_BYTES
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    _id_for_one_list = "'new'"  # 0 may be a query of fit, which has its own model

    @property
    def _is_bilinear(self) -> bool:
        """Return whether models are preferences between two documents that are not differences of scores."""
        return self.function == "pair" and not FunctionSpace(self.kernel).is_linear

    @property
    def depends_on_list(self) -> bool:
        """Return whether the score of a document depends on its query or list."""
        return self.weights != "uniform" or self.function == "pair" or super().depends_on_list

    def _strengths(self) -> np.ndarray:
        """Return the strengths of the penalty, decreasing."""
        if isinstance(self.l2, str):
            check_choice(self.l2, "l2", ["grid"])
            return np.array(L2_GRID)
        if np.ndim(self.l2) == 0:
            return np.array([check_number(self.l2, "l2", above=0.0)])
        strengths = np.sort(check_numbers(self.l2, "l2"))[::-1]
        if strengths.size == 0 or not strengths[-1] > 0:
            raise ValueError(f"l2={self.l2!r} must hold at least one number, and only positive ones.")
        return strengths.copy()

    def _query_weights(self, kernels: Mapping | None) -> QueryWeights:
        """Return the weights, with the smallest of several numbers of neighbours."""
        if isinstance(self.n_neighbors, str):
            check_choice(self.n_neighbors, "n_neighbors", ["auto"])
        n_neighbors = CANDIDATES[-1] if isinstance(self.n_neighbors, str) else self.n_neighbors
        return QueryWeights(
            self.weights, n_neighbors=n_neighbors, n_neighbors_new=self.n_neighbors_new,
            bandwidth=self.bandwidth, kernels=kernels,
        )  # fmt: skip

    # ---- from data to models -----------------------------------------------------------------------------------------

    def _learn_queries(self, queries: Queries, matrix: Any, *, has_ids: bool) -> Queries:
        """Set ids, features and weights of the training queries; return the documents without query features."""
        self.n_queries_, self.query_ids_, self.has_ids_ = queries.n_queries, queries.ids, has_ids
        self.source_ = QueryFeatureSource()
        setting = self.query_features
        if self.weights in ("uniform", "individual"):
            setting, matrix = "none", None  # queries are not compared, and all columns stay with the documents
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
        """Set the space of functions; return the object that fits models to the documents."""
        with np.errstate(over="ignore"):
            squares = documents.n_docs * (largest_values(documents.X) ** 2).sum()
        if not np.isfinite(squares):
            raise ValueError("the squares of the features overflow. Scale the columns (normalize=).")
        self.space_ = FunctionSpace(self.kernel, self.gamma, self.degree, self.coef0)
        lists = documents.lists
        rows = self.space_.fit(
            documents.X[lists.order], landmarks=self.landmarks, random_state=as_seed(self.random_state),
            max_bytes=self.max_bytes,
        )  # fmt: skip
        shares = None if weights is None else weights / weights.sum()
        return self._fits(rows, lists.labels[lists.order], documents.indptr, shares)

    def _fits(self, rows: np.ndarray, labels: np.ndarray, indptr: np.ndarray, shares: np.ndarray | None) -> LocalFits:
        data, is_pair = (rows, labels, indptr, shares), self.function == "pair"
        if self.solver == "admm":
            with importing:
                from plackett.rankers.query_dependent.admm_fits import AdmmFits

            return AdmmFits(*data, is_pair=is_pair, is_bilinear=self._is_bilinear, max_bytes=self.max_bytes)
        if self._is_bilinear:
            with importing:
                from plackett.rankers.query_dependent.pair_fits import PairFits

            return PairFits(*data, max_bytes=self.max_bytes)
        return LocalFits(*data, is_pair=is_pair)

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
        self.stop_reason_ = self._warn_unconverged(found)

    def _warn_unconverged(self, found: Solutions) -> str:
        """Warn if some models did not converge; return the stop reason."""
        n_unfinished = int((~found.is_converged).sum())
        if n_unfinished == 0:
            return ALL_CONVERGED
        reason = f"{n_unfinished} of {count_of(found.is_converged.size, 'model')} did not converge"
        gap = found.worst_gap()
        warn(
            f"{reason} within max_iter={self.max_iter} steps"
            + (f" (duality gap up to {gap:.0e} of the objective, above tol={self.tol:g})" if np.isfinite(gap) else "")
            + ". Raise max_iter, tol or l2, or scale the columns (normalize=).",
            ConvergenceWarning,
        )
        return reason

    def _keep_training(self, fits: LocalFits) -> None:
        """Keep the training documents, to which models of new queries are fitted, in arrays that can be saved."""
        nothing: Any = None
        self._fits_kept = self.training_rows_ = self.training_labels_ = nothing
        self.training_indptr_ = self.training_shares_ = nothing
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

    # ---- the strength of the penalty and the number of neighbours ----------------------------------------------------

    def _numbers_of_neighbors(self) -> list[int | None]:
        """Return the numbers of neighbours to choose from, decreasing."""
        if not isinstance(self.n_neighbors, str):
            return [self.n_neighbors]
        if not self.query_weights_.needs_features:
            return [None]
        most = CANDIDATES[-1:] if self._is_bilinear or self.solver == "admm" else CANDIDATES  # these grow with pairs²
        return [*sorted({min(k, self.n_queries_) for k in most}, reverse=True)]

    def _left_out(self, documents: Queries, metric: str | Measure | None) -> tuple[Targets, ValidationSet] | None:
        """Return some training queries, to be ranked by models of the others; None if fewer than two have pairs."""
        places = queries_to_hold_out(documents)
        if places.size < 2:
            return None
        held_out = documents[places]
        rows = self.space_.features(held_out.X, self.max_bytes)
        targets = Targets(rows, held_out.indptr, places, None, "neighbors", is_uniform_only=False, is_left_out=True)
        return targets, ValidationSet(held_out, metric)

    def _choose(
        self,
        fits: LocalFits,
        strengths: np.ndarray,
        numbers: list[int | None],
        targets: Targets,
        validation: ValidationSet,
    ) -> None:
        """Choose the strength of the penalty and the number of neighbours on held-out queries."""
        tol = max(self.tol, CHOOSING_TOL) if len(numbers) > 1 else self.tol

        def scores(number: int | None) -> Iterator[np.ndarray]:
            self.query_weights_.n_neighbors = number
            for coef in self._path(fits, strengths, targets, tol):
                yield score_lists(targets.rows, targets.indptr, coef, is_bilinear=self._is_bilinear)

        choice = choose(strengths, numbers, scores, validation, is_shown=bool(self.verbose))
        self.l2_, self.n_neighbors_, self.l2_path_, self.n_neighbors_path_ = choice
        self.query_weights_.n_neighbors = choice.n_neighbors

    def _path(self, fits: LocalFits, strengths: np.ndarray, targets: Targets, tol: float) -> Iterator[np.ndarray]:
        """Yield the coefficients of the targets for each strength; each fit starts where the previous one ended."""
        places = targets.places_with_neighbors
        neighbors = self._neighbors_of(targets, places) if places.size else None
        shared: Solutions | None = None
        found: Solutions | None = None
        options = {**self._options(), "tol": tol}
        at_once = max(1, BYTES_OF_PATH // max(1, 8 * fits.size * targets.n))
        for first in range(0, strengths.size, at_once):
            some = strengths[first : first + at_once]
            if targets.is_uniform.any():
                last = None if shared is None else shared.coef[-1, 0]
                shared = fits.solve_uniform(self.loss, some, start=last, **options)
            if neighbors is not None:
                last = None if found is None else found.coef[-1]
                found = fits.solve(neighbors, self.loss, some, start=last, **options)
            for place in range(some.size):
                coef = np.zeros((targets.n, fits.size))
                if shared is not None:
                    coef[targets.is_uniform] = shared.coef[place, 0]
                if found is not None:
                    coef[places] = found.coef[place]
                yield coef

    # ---- from models to scores ---------------------------------------------------------------------------------------

    def _prepare(self, queries: Queries, matrix: Any, *, has_ids: bool = True) -> Targets:
        """Return queries to be scored: their places in training, the features of the new ones, and the documents."""
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
                self.query_weights_.of_new(None, n_queries=1)  # raises
        if how_new == "neighbors" and (places < 0).any():
            documents, features = self.source_.transform(queries, matrix)
        else:
            documents = self.source_.documents(queries)
        rows = self.space_.features(self._normalized(documents).X, self.max_bytes)
        return Targets(rows, queries.indptr, places, features, how_new, is_uniform_only=self.weights == "uniform")

    def _neighbors_of(self, targets: Targets, chosen: np.ndarray) -> Neighbors:
        """Return the neighbours of some targets, observed and new."""
        observed = chosen[targets.places[chosen] >= 0]
        new = chosen[targets.places[chosen] < 0]
        parts = [self.query_weights_.of_observed(targets.places[observed], is_left_out=targets.is_left_out)]
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
        """Return one row for each target; zeros if it has no model."""
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
        """Return the coefficients of new queries, cached by query features."""
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
                self._warn_unconverged(found)
                for place, coef in zip(missing[some].tolist(), found.coef[0], strict=True):
                    self._models[_key(targets.features[place])] = coef
        coefs = np.array([self._models[key] for key in keys])
        while len(self._models) > MOST_MODELS_KEPT:
            self._models.popitem(last=False)
        return coefs

    @property
    def _models(self) -> OrderedDict[bytes, np.ndarray]:
        """Return the cache of models of new queries, by their features."""
        return self.__dict__.setdefault("_new_models", OrderedDict())

    def _shuffle(self, scores: np.ndarray, targets: Targets) -> None:
        new = np.flatnonzero((targets.places < 0) & ~targets.is_uniform)
        if not new.size:
            return
        warn(
            f"{count_of(new.size, 'query', 'queries')} of {targets.n:,} were not in fit and are ranked at random "
            "(new_queries='random').",
            DataWarning,
        )
        draws = np.random.default_rng(as_seed(self.random_state))
        for query in new.tolist():
            own = slice(targets.indptr[query], targets.indptr[query + 1])
            scores[own] = draws.random(own.stop - own.start)

    # ---- from a file -------------------------------------------------------------------------------------------------

    def check_loaded(self) -> None:
        """Raise a ValueError if loaded attributes are not those of a fitted ranker."""
        super().check_loaded()
        self._check_parameters()  # models of new queries depend on them
        for name, kind in (
            ("source_", QueryFeatureSource),
            ("query_weights_", QueryWeights),
            ("space_", FunctionSpace),
        ):
            if not isinstance(getattr(self, name, None), kind):
                raise ValueError(f"{name} must be a {kind.__name__}.")
        check_matrix(self, "coef_")
        n_queries, size = self.coef_.shape
        if not isinstance(self.query_ids_, np.ndarray) or self.query_ids_.shape != (n_queries,):
            raise ValueError(f"there are {n_queries} models, but not as many queries.")
        self.query_weights_.check_loaded_for(n_queries)
        n_columns = check_loaded_normalizer(self, self.source_.check_loaded_for(self.n_prepared))
        width = self.space_.check_loaded_for(n_columns)
        if size != (width**2 if self._is_bilinear else width):
            raise ValueError(f"coef_ must have {width} columns, or their square.")
        check_number(self.l2_, "l2_", above=0.0)
        if type(self.has_ids_) is not bool:
            raise ValueError("has_ids_ must be true or false.")
        if self.uniform_coef_ is not None:
            check_vector(self, "uniform_coef_", size=size)
        if self.training_rows_ is not None:
            self._check_loaded_training(n_queries, width)

    def _check_loaded_training(self, n_queries: int, n_columns: int) -> None:
        """Raise a ValueError if bounds or labels do not fit the training documents: compiled code relies on them."""
        check_matrix(self, "training_rows_")
        check_vector(self, "training_labels_")
        check_bounds(self, "training_indptr_", n_queries)
        indptr, labels = self.training_indptr_, self.training_labels_
        if indptr[-1] != labels.size:
            raise ValueError("training_indptr_ must end with the number of labels.")
        if self.training_rows_.shape != (labels.size, n_columns):
            raise ValueError(f"training_rows_ must have {labels.size} rows of {n_columns} numbers.")
        rises = np.diff(labels) > 0
        rises[indptr[1:-1] - 1] = False
        if rises.any():
            raise ValueError("training_labels_ must be descending within each query.")
        if self.training_shares_ is not None:
            check_vector(self, "training_shares_", size=n_queries)
            if (self.training_shares_ < 0).any():
                raise ValueError("training_shares_ must hold numbers of at least 0.")


def _some_at_a_time(n: int) -> list[np.ndarray]:
    """Split places 0 to n into parts: without ``n_neighbors`` each target has all queries as neighbours."""
    return [np.arange(first, min(first + TARGETS_AT_ONCE, n)) for first in range(0, n, TARGETS_AT_ONCE)]


def _key(features: np.ndarray) -> bytes:
    """Return query features as a cache key."""
    return features.tobytes() if features.dtype != object else repr(features.tolist()).encode()
