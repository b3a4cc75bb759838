"""The base class of losses: value and slope by the scores, and curvature if the loss has any.

A loss uses scores and labels, not X. It works on ``QueryLists``: flat arrays with query bounds and the label order.
What depends on the labels alone is cached on the lists (``lists.keep``) and computed once per fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from plackett import _native
from plackett._parameters import Parameters
from plackett.data.queries import Queries, QueryLists

CurvatureProduct = Callable[[np.ndarray], np.ndarray]


def lists_of(queries: Any) -> QueryLists:
    """Return the labels and bounds of queries, grouped by query."""
    lists = queries.grouped.lists if isinstance(queries, Queries) else queries
    if not isinstance(lists, QueryLists):
        raise TypeError(f"queries is a {type(queries).__name__}; a Queries, or its lists, is needed.")
    return lists


class Loss(Parameters, ABC):
    """Base of the losses.

    A new loss is a class with a ``name`` and ``query_values``, or a ``CompiledLoss``. Listed in ``losses/__init__.py``
    it works in every ranker, solver and command.

    Attributes
    ----------
    name : str
        The name for users, as in ``loss="listmle"``.
    ignores_shifts : bool
        Whether the loss is invariant to a constant added to all scores of a query. If not, linear rankers fit an
        intercept.
    is_convex, is_smooth : bool
        As a function of the scores; ``is_smooth`` means that the slope is continuous.
    is_random : bool
        Whether two calls with the same scores may differ.
    is_pointwise : bool
        Whether the loss is a sum over single documents, so that queries whose labels are all equal matter.
    is_flat_at_zero : bool
        Whether the slope is 0 at scores of 0 although these are not the minimum, so that a fit must start elsewhere.
    is_scale_free : bool
        Whether the loss is invariant to a positive factor of all scores. A penalty on the coefficients would then only
        shrink them towards 0, so rankers omit it.
    """

    name: ClassVar[str]
    backends: ClassVar[dict[str, Callable[..., Any]]] = {}  # other forms of every loss; losses/__init__.py fills it
    ignores_shifts: bool = True
    is_convex: bool = True
    is_smooth: bool = True
    is_random: bool = False
    is_pointwise: bool = False
    is_flat_at_zero: bool = False
    is_scale_free: bool = False

    @abstractmethod
    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        """Return the loss of each query; write the slope into ``slope``.

        The arguments are checked: ``scores`` and ``slope`` are contiguous float64 with one entry per document, and
        ``slope`` is uninitialised.
        """

    def check_labels(self, lists: QueryLists) -> None:
        """Raise for parameters and labels that the loss is not defined for; called once before a fit."""

    @property
    def has_native(self) -> bool:
        """Whether ``native`` returns a compiled object with these parameters."""
        mro = type(self).__mro__

        def home(name: str) -> int:
            return next(place for place, cls in enumerate(mro) if name in vars(cls))

        # query_values of a subclass takes precedence over an inherited compiled object
        return type(self).native is not Loss.native and home("native") <= home("query_values")

    def native(self, lists: QueryLists) -> Any:
        """Return the loss as a compiled object bound to the labels (``_native/losses/loss.hpp``), or None.

        With it an objective scores, evaluates and pulls back a few queries at a time, in one pass over X.
        """
        return None

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        """Return the compiled object that computes curvature products at the scores ``scores()``.

        By default it is the loss itself, which needs the scores for each product. A loss that can precompute something
        from the scores returns another object.
        """
        return self.native(lists)

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        """Return a function that multiplies the second derivative at ``scores`` by a vector; it may be called often."""
        raise self._lacks("curvature_product")

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """Return the diagonal of the second derivative, without checks."""
        raise self._lacks("curvature_diagonal")

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """Return what ``curvature_bound`` returns, without checks."""
        raise self._lacks("curvature_bound")

    @property
    def has_curvature_product(self) -> bool:
        """Whether ``curvature_product`` works with these parameters."""
        return type(self).curvature_at is not Loss.curvature_at

    @property
    def has_curvature_bound(self) -> bool:
        """Whether ``curvature_bound`` works with these parameters."""
        return type(self).bound_at is not Loss.bound_at

    def value_and_slope(self, scores: Any, queries: Queries | QueryLists) -> tuple[float, np.ndarray]:
        """Return the loss summed over all queries, and its slope by each score.

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``

        Returns
        -------
        value : float
        slope : ndarray of shape (n_docs,)
        """
        scores, lists = self._checked(scores, queries)
        slope = np.empty(lists.n_docs)
        value = float(self.query_values(scores, lists, slope).sum())
        return value, in_row_order(slope, queries)

    def curvature_diagonal(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """Return the exact diagonal of the second derivative by the scores, which boosted trees use.

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``

        Returns
        -------
        ndarray of shape (n_docs,)
        """
        return in_row_order(self.diagonal_at(*self._checked(scores, queries)), queries)

    def curvature_bound(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """Return numbers d ≥ 0, one per document, such that diag(d) is an upper bound of the second derivative.

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``

        Returns
        -------
        ndarray of shape (n_docs,)
        """
        return in_row_order(self.bound_at(*self._checked(scores, queries)), queries)

    def curvature_product(self, scores: Any, queries: Queries | QueryLists, direction: Any) -> np.ndarray:
        """Return the second derivative at ``scores`` times ``direction``.

        Parameters
        ----------
        scores, direction : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``

        Returns
        -------
        ndarray of shape (n_docs,)
        """
        scores, lists = self._checked(scores, queries)
        direction = _vector(direction, queries, "direction")
        return in_row_order(self.curvature_at(scores, lists)(direction), queries)

    def as_lightgbm(self, queries: Queries | QueryLists) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return the loss as ``params["objective"]`` of ``lightgbm.train``.

        ``LGBMRanker(objective=…)`` takes it as well. LightGBM's trees start at a score of 0. A loss that does not
        ignore shifts may need another start: give the Dataset an ``init_score``, and add it to what the trees predict.

        Parameters
        ----------
        queries : Queries, or its ``lists``
            The rows of the Dataset, in the same order.

        Returns
        -------
        TreeObjective
        """
        return self.backends["trees"](self, queries)

    def as_xgboost(self, queries: Queries | QueryLists) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return the loss as ``obj`` of ``xgboost.train``.

        ``XGBRegressor(objective=…)`` takes it as well. XGBoost adds 1 to the curvature of a leaf (``reg_lambda``) and
        requires at least 1 of it (``min_child_weight``), which is much for losses that are means over pairs: lower
        both.

        Parameters
        ----------
        queries : Queries, or its ``lists``
            The rows of the DMatrix, in the same order.

        Returns
        -------
        TreeObjective
        """
        return self.backends["trees"](self, queries)

    def as_torch(self) -> Any:
        """Return the loss as a function of PyTorch: ``f(scores, queries)`` is a tensor that can be differentiated.

        Returns
        -------
        TorchLoss
        """
        return self.backends["torch"](self)

    def _checked(self, scores: Any, queries: Queries | QueryLists) -> tuple[np.ndarray, QueryLists]:
        lists = lists_of(queries)
        self.check_labels(lists)
        return _vector(scores, queries, "scores"), lists

    def _lacks(self, method: str) -> NotImplementedError:
        reason = "" if self.is_convex else " (it is not convex)"
        return NotImplementedError(f"{self!r} has no {method}{reason}.")


def evaluate(compiled: Any, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
    """Return what ``query_values`` returns, for a compiled object bound to the lists."""
    values = np.empty(lists.n_queries)
    _native.losses.evaluate(compiled, scores, slope, values)
    return values


class CompiledLoss(Loss):
    """A loss that is evaluated by its compiled object."""

    @abstractmethod
    def native(self, lists: QueryLists) -> Any: ...

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        return evaluate(self.native(lists), scores, lists, slope)


class CompiledCurvature(CompiledLoss):
    """A compiled loss with curvature."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        loss, scores = self.native(lists), scores.copy()  # the caller may change its scores before the products

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(loss, scores, direction, out)
            return out

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        out = np.empty(lists.n_docs)
        _native.losses.diagonal(self.native(lists), scores, out)
        return out

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        out = np.empty(lists.n_docs)
        _native.losses.bound(self.native(lists), scores, out)
        return out


def in_row_order(values: np.ndarray, queries: Queries | QueryLists) -> np.ndarray:
    """Return ``values``, one per grouped row, in the order of the rows of ``queries``."""
    return values if isinstance(queries, QueryLists) or queries.is_grouped else queries.in_row_order(values)


def _vector(values: Any, queries: Queries | QueryLists, name: str) -> np.ndarray:
    """Return one checked number per row of ``queries``, grouped by query."""
    vector = np.require(np.ascontiguousarray(values, dtype=np.float64), requirements=["A"])
    if vector.shape != (queries.n_docs,):
        raise ValueError(f"{name} has shape {vector.shape} but the queries have {queries.n_docs:,} documents.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} has a NaN or an infinite value in row {int(np.argmax(~np.isfinite(vector)))}.")
    return vector if isinstance(queries, QueryLists) else queries.in_groups(vector)
