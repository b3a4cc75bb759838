"""What every loss offers: a value and a slope by the scores, and curvature where it has some.

A loss sees scores and labels, never X. It works on ``QueryLists``: flat arrays with query bounds and the label order.
What it derives from the labels alone it keeps on the lists (``lists.keep``), so that it happens once per fit.
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
    """What a loss sees of queries: labels and bounds, the rows of each query together."""
    lists = queries.grouped.lists if isinstance(queries, Queries) else queries
    if not isinstance(lists, QueryLists):
        raise TypeError(f"queries is a {type(queries).__name__}; a Queries, or its lists, is needed.")
    return lists


class Loss(Parameters, ABC):
    """Base of the losses.

    A new loss is a class with ``query_values``, or a ``CompiledLoss``. It lists its ``name`` here and in
    ``losses/__init__.py``, and then works in every ranker, solver and command.

    Attributes
    ----------
    name : str
        What users write: ``loss="listmle"``.
    ignores_shifts : bool
        Whether adding a constant to all scores of a query changes nothing. If not, linear rankers fit an intercept.
    is_convex, is_smooth : bool
        In the scores; ``is_smooth`` means that the slope is continuous.
    is_random : bool
        Whether two calls with the same scores may differ.
    is_pointwise : bool
        Whether the loss sums over single documents, so that labels matter even where a query has only one.
    is_flat_at_zero : bool
        Whether scores of 0 have slope 0 although they are not the minimum, so that a fit must not start there.
    is_scale_free : bool
        Whether multiplying all scores by a positive number changes nothing. A penalty on the coefficients then has no
        minimum (it only shrinks them), and rankers leave it out.
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
        """The loss of each query; the slope is written into ``slope``.

        The caller has checked everything: ``scores`` and ``slope`` are contiguous float64 with one entry per document,
        ``slope`` may hold anything before.
        """

    def check_labels(self, lists: QueryLists) -> None:
        """Refuse parameters, and labels, that the loss is not defined for; called once before a fit."""

    @property
    def has_native(self) -> bool:
        """Whether ``native`` gives something with these parameters."""
        mro = type(self).__mro__

        def home(name: str) -> int:
            return next(place for place, cls in enumerate(mro) if name in vars(cls))

        # a subclass that overrides query_values alone means that
        return type(self).native is not Loss.native and home("native") <= home("query_values")

    def native(self, lists: QueryLists) -> Any:
        """The loss as a compiled object bound to the labels (``_native/losses/loss.hpp``); None where it has none.

        With it an objective scores, evaluates and pulls back a few queries at a time, in one pass over X.
        """
        return None

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        """The compiled object that takes products at the scores ``scores()`` gives.

        By default it is the loss itself, which needs the scores again for each product. A loss that finds something at
        the scores that makes products cheaper keeps it in an object of its own.
        """
        return self.native(lists)

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        """A function that multiplies the second derivative at ``scores`` with a vector, many times cheaply."""
        raise self._lacks("curvature_product")

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """The diagonal of the second derivative; what ``curvature_diagonal`` gives, without checks."""
        raise self._lacks("curvature_diagonal")

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """What ``curvature_bound`` gives, without checks."""
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
        """The loss summed over all queries, and its slope by each score.

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
        return value, as_given(slope, queries)

    def curvature_diagonal(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """The exact diagonal of the second derivative by the scores, which boosted trees want."""
        return as_given(self.diagonal_at(*self._checked(scores, queries)), queries)

    def curvature_bound(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """Numbers d ≥ 0, one per document, such that diag(d) is at least the second derivative."""
        return as_given(self.bound_at(*self._checked(scores, queries)), queries)

    def curvature_product(self, scores: Any, queries: Queries | QueryLists, direction: Any) -> np.ndarray:
        """The second derivative at ``scores`` times ``direction``, a vector with one entry per document."""
        scores, lists = self._checked(scores, queries)
        direction = _vector(direction, queries, "direction")
        return as_given(self.curvature_at(scores, lists)(direction), queries)

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
    """What ``query_values`` gives, of a compiled object bound to the lists."""
    values = np.empty(lists.n_queries)
    _native.losses.evaluate(compiled, scores, slope, values)
    return values


class CompiledLoss(Loss):
    """A loss that works through its compiled object."""

    @abstractmethod
    def native(self, lists: QueryLists) -> Any: ...

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        return evaluate(self.native(lists), scores, lists, slope)


class CompiledCurvature(CompiledLoss):
    """A compiled loss that has curvature."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        loss, scores = self.native(lists), scores.copy()  # the caller may move on while products are still taken here

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


def as_given(values: np.ndarray, queries: Queries | QueryLists) -> np.ndarray:
    """``values``, one per grouped row, in the order of the rows of ``queries``."""
    return values if isinstance(queries, QueryLists) or queries.is_grouped else queries.in_row_order(values)


def _vector(values: Any, queries: Queries | QueryLists, name: str) -> np.ndarray:
    """One number per row of ``queries``, checked, the rows of each query together."""
    vector = np.require(np.ascontiguousarray(values, dtype=np.float64), requirements=["A"])
    if vector.shape != (queries.n_docs,):
        raise ValueError(f"{name} has shape {vector.shape} but the queries have {queries.n_docs:,} documents.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} has a NaN or an infinite value in row {int(np.argmax(~np.isfinite(vector)))}.")
    return vector if isinstance(queries, QueryLists) else queries.in_groups(vector)
