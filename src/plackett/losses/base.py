"""The base class of losses: value and slope with respect to the scores, and curvature if the loss has any.

A loss uses scores and labels, not X. It works on ``QueryLists``: flat arrays with query bounds and the label order.
Values that depend on the labels alone are cached on the lists (``lists.keep``) and computed once per fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from plackett import _native
from plackett._parameters import Parameters
from plackett.data.queries import Queries, QueryLists
from plackett.validation import count_of

CHECKED_QUERIES = 5  # those with the widest range of labels
STEP = 1e-6  # of a score, for differences

NOT_LINEAR = (
    "cannot learn from labels that were estimated from clicks: it is not linear in the labels, so that their noise "
    'would become bias. Use "softmax", "squared", "binary-cross-entropy", or the loss that plackett.losses.linear_form '
    'returns for "hinge", "logistic", "ndcg-loss1", "approx-ndcg", "neural-ndcg" or "pl-rank". To use estimates as '
    "ordinary labels, pass arrays: fit(queries.X, queries.y, qid=queries.qid)."
)

CurvatureProduct = Callable[[np.ndarray], np.ndarray]


def lists_of(queries: Any) -> QueryLists:
    """Return the labels and bounds of queries, grouped by query."""
    lists = queries.grouped.lists if isinstance(queries, Queries) else queries
    if not isinstance(lists, QueryLists):
        raise TypeError(f"queries is a {type(queries).__name__}; a Queries, or its lists, is needed.")
    return lists


class Loss(Parameters, ABC):
    """Base class of the losses.

    Derive your own loss from this class and define ``value_and_slope``, or ``query_values`` if it is vectorised over
    queries. Every ranker with the parameter ``loss`` accepts it; ``plackett.testing.check_loss`` tests it.

    Attributes
    ----------
    name : str
        The name for users, as in ``loss="listmle"``; a loss that is passed as an object needs none.
    ignores_shifts : bool
        Whether the loss is invariant to a constant added to all scores of a query. If not, linear rankers fit an
        intercept.
    is_convex, is_smooth : bool
        Whether the loss is convex or smooth as a function of the scores. Smooth means that the slope is continuous.
    is_random : bool
        Whether two calls with the same scores may differ.
    is_pointwise : bool
        Whether the loss is a sum over single documents, so that queries whose labels are all equal matter.
    is_flat_at_zero : bool
        Whether the slope is 0 at scores of 0 although these are not the minimum, so that a fit must start elsewhere.
    is_scale_free : bool
        Whether the loss is invariant to a positive factor of all scores. A penalty on the coefficients would then only
        shrink them towards 0, so rankers omit it.
    is_linear_in_labels : bool
        Whether the loss is linear in the labels, up to a constant, so that labels may be any real numbers, such as
        relevance that was estimated from clicks without bias.
    has_moving_weights : bool
        Whether pairs are weighted by the ranks of the current scores, as in LambdaRank. The slope, the curvature and
        the other attributes are then those of the loss with these weights held fixed, which ``held_at`` returns.

    Examples
    --------
    >>> import plackett as pk
    >>> class Distance(pk.losses.Loss):
    ...     ignores_shifts, is_pointwise = False, True
    ...
    ...     def value_and_slope(self, scores, queries):
    ...         rest = scores - queries.labels
    ...         return 0.5 * rest @ rest, rest
    >>> pk.LinearRanker(Distance(), l2=0.0).fit([[1.0], [2.0], [3.0]], [0, 1, 2]).coef_.round(3)
    array([1.])
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
    is_linear_in_labels: bool = False
    has_moving_weights: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        defined = vars(cls)
        if "value_and_slope" in defined or ("query_values" in defined and not cls.__module__.startswith("plackett.")):
            # inherited methods compute the function of the base class, not this one
            for name in ("query_values", "curvature_at", "diagonal_at", "bound_at", "smoothed", "has_curvature_product",
                         "has_curvature_bound", "has_positive_diagonal", "has_moving_weights",
                         "held_at"):  # fmt: skip
                if name not in defined:
                    setattr(cls, name, vars(Loss)[name])
        if {
            "value_and_slope",
            "query_values",
            "diagonal_at",
        } & defined.keys() and "values_and_diagonal_at" not in defined:
            cls.values_and_diagonal_at = Loss.values_and_diagonal_at  # type: ignore[method-assign]

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        """Return the loss of each query; write the slope into ``slope``.

        The arguments are checked: ``scores`` and ``slope`` are contiguous float64 with one entry per document, and
        ``slope`` is uninitialised. By default it calls ``value_and_slope`` for one query at a time.
        """
        if type(self).value_and_slope is Loss.value_and_slope and type(self)._of_one_query is Loss._of_one_query:
            raise NotImplementedError(f"{type(self).__name__} has neither value_and_slope nor query_values.")
        values = np.zeros(lists.n_queries)
        parts = lists.keep("queries one by one", lambda: [lists.part(q, q + 1) for q in range(lists.n_queries)])
        for query, alone in enumerate(parts):
            rows = slice(int(lists.indptr[query]), int(lists.indptr[query + 1]))
            if alone.n_docs:
                values[query], slope[rows] = self._own_value_and_slope(scores[rows], alone)
        return values

    def _own_value_and_slope(self, scores: np.ndarray, alone: QueryLists) -> tuple[float, np.ndarray]:
        """Return what ``value_and_slope`` of a user's class returns for one query, checked."""
        answer = self._of_one_query(scores, alone)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise ValueError(f"{self!r}: value_and_slope must return (value, slope), not a {type(answer).__name__}.")
        value, slope = float(answer[0]), np.asarray(answer[1], dtype=np.float64)
        if slope.shape != scores.shape:
            raise ValueError(
                f"{self!r}: value_and_slope returned a slope of shape {slope.shape}, not {scores.shape}, one per score."
            )
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            raise ValueError(
                f"{self!r}: value_and_slope returned {value} and a slope from {slope.min()} to {slope.max()} for "
                f"{count_of(scores.size, 'score')} from {scores.min():g} to {scores.max():g}; both must be finite."
            )
        return value, slope

    def _of_one_query(self, scores: np.ndarray, alone: QueryLists) -> Any:
        return self.value_and_slope(scores, alone)

    def check_labels(self, lists: QueryLists) -> None:
        """Raise for parameters and labels that the loss is not defined for; called once before a fit."""

    def is_convex_on(self, lists: QueryLists) -> bool:
        """Return whether the loss of these labels is convex: negative ones can make a convex loss non-convex."""
        return self.is_convex

    def is_bounded_on(self, lists: QueryLists) -> bool:
        """Return whether the loss of these labels is bounded below.

        If not, only a penalty (``l2`` above 0) or early stopping keeps scores finite.
        """
        return True

    def check_fit(self, lists: QueryLists, *, is_penalised: bool = True) -> None:
        """Raise for invalid parameters and labels, and for a user's class with a wrong slope.

        Without a penalty, labels with which the loss is unbounded below are also an error. So are labels that were
        estimated from clicks if the loss is not linear in them.
        """
        if lists.has_estimated_labels and not self.is_linear_in_labels:
            raise ValueError(f"{self!r} {NOT_LINEAR}")
        self.check_labels(lists)
        if not (is_penalised or self.is_bounded_on(lists)):
            low, high = lists.labels.min(), lists.labels.max()
            raise ValueError(
                f"{self!r} is unbounded below for labels from {low:g} to {high:g}: without a penalty its scores grow "
                "without bound. Set l2 above 0."
            )
        if self.is_own:
            check_slope(self, lists)

    @property
    def is_own(self) -> bool:
        """Whether the class is user-defined, so that ``fit`` tests its slope."""
        return not type(self).__module__.startswith("plackett.")

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

    def values_and_diagonal_at(
        self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what ``query_values`` and ``diagonal_at`` return, for boosted trees; write the slope into ``slope``.

        A loss that computes both in one pass overrides it, with the same results.
        """
        return self.query_values(scores, lists, slope), self.diagonal_at(scores, lists)

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """Return what ``curvature_bound`` returns, without checks."""
        raise self._lacks("curvature_bound")

    def smoothed(self, width: float) -> Loss:
        """Return the loss with its kinks smoothed over ``width``."""
        raise self._lacks("smoothed")

    def held_at(self, scores: np.ndarray, lists: QueryLists) -> Loss:
        """Return the loss with its weights held fixed at the ranks of ``scores``, for these ``lists`` only.

        Its slope is the derivative of its value. A loss without moving weights is returned unchanged.
        """
        if self.has_moving_weights:
            raise NotImplementedError(f"{self!r} has moving weights but no held_at.")
        return self

    @property
    def has_positive_diagonal(self) -> bool:
        """Whether ``curvature_diagonal`` is never negative, so that boosted trees can use it.

        A loss that is not convex sets it if its diagonal is a positive estimate.
        """
        return self.is_convex and type(self).diagonal_at is not Loss.diagonal_at

    @property
    def has_smoothing(self) -> bool:
        """Whether the loss has kinks and ``smoothed``, so that Newton's method can minimise it."""
        return not self.is_smooth and type(self).smoothed is not Loss.smoothed

    @property
    def has_curvature_product(self) -> bool:
        """Whether ``curvature_product`` works with these parameters."""
        return type(self).curvature_at is not Loss.curvature_at

    @property
    def has_curvature_bound(self) -> bool:
        """Whether ``curvature_bound`` works with these parameters."""
        return type(self).bound_at is not Loss.bound_at

    def value_and_slope(self, scores: Any, queries: Queries | QueryLists) -> tuple[float, np.ndarray]:
        """Return the loss summed over all queries, and its derivative with respect to each score.

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
        # a user's value_and_slope may call this one of its base class
        query_values = next(one for cls in type(self).__mro__ if (one := _own_query_values(cls)) is not None)
        value = float(query_values(self, scores, lists, slope).sum())
        return value, in_row_order(slope, queries)

    def curvature_diagonal(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """Return the diagonal of the second derivative with respect to the scores, which boosted trees use.

        It is exact for convex losses. Others may have a positive estimate (``has_positive_diagonal``).

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``
        """
        return in_row_order(self.diagonal_at(*self._checked(scores, queries)), queries)

    def curvature_bound(self, scores: Any, queries: Queries | QueryLists) -> np.ndarray:
        """Return numbers d ≥ 0, one per document, such that diag(d) is an upper bound of the second derivative.

        Parameters
        ----------
        scores : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``
        """
        return in_row_order(self.bound_at(*self._checked(scores, queries)), queries)

    def curvature_product(self, scores: Any, queries: Queries | QueryLists, direction: Any) -> np.ndarray:
        """Return the second derivative at ``scores`` times ``direction``.

        Parameters
        ----------
        scores, direction : array-like of shape (n_docs,)
        queries : Queries, or its ``lists``
        """
        scores, lists = self._checked(scores, queries)
        direction = _vector(direction, queries, "direction")
        return in_row_order(self.curvature_at(scores, lists)(direction), queries)

    def as_lightgbm(self, queries: Queries | QueryLists) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return the loss as ``params["objective"]`` of ``lightgbm.train``.

        ``LGBMRanker(objective=…)`` takes it as well. LightGBM's trees start at a score of 0. A loss that does not
        ignore shifts may need another start: give the Dataset an ``init_score``, and add it to the trees' predictions.

        Parameters
        ----------
        queries : Queries, or its ``lists``
            The rows of the Dataset, in the same order.
        """
        return self.backends["trees"](self, queries)

    def as_xgboost(self, queries: Queries | QueryLists) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
        """Return the loss as ``obj`` of ``xgboost.train``.

        ``XGBRegressor(objective=…)`` takes it as well. By default XGBoost adds 1 to the curvature of a leaf
        (``reg_lambda``) and requires a curvature of at least 1 (``min_child_weight``). This is a lot for losses that
        are means over pairs: lower both.

        Parameters
        ----------
        queries : Queries, or its ``lists``
            The rows of the DMatrix, in the same order.
        """
        return self.backends["trees"](self, queries)

    def as_torch(self) -> Any:
        """Return the loss as a function of PyTorch tensors: ``f(scores, queries)`` can be differentiated."""
        return self.backends["torch"](self)

    def as_sentence_transformers(
        self, model: Any, *, activation_fn: Any = None, mini_batch_size: int | None = None
    ) -> Any:
        """Return the loss as ``loss`` of ``CrossEncoderTrainer`` of sentence-transformers.

        Parameters
        ----------
        model : sentence_transformers.CrossEncoder
            With one output label.
        activation_fn : torch.nn.Module, default=None
            Applied to the scores of the model before the loss; None leaves them as they are.
        mini_batch_size : int, default=None
            Number of pairs of query and document per forward pass of the model: None takes the number of queries of
            the batch, 0 or less all pairs at once.
        """
        return self.backends["cross encoder"](self, model, activation_fn, mini_batch_size)

    def _checked(self, scores: Any, queries: Queries | QueryLists) -> tuple[np.ndarray, QueryLists]:
        lists = lists_of(queries)
        self.check_labels(lists)
        return _vector(scores, queries, "scores"), lists

    def _lacks(self, method: str) -> NotImplementedError:
        reason = "" if self.is_convex else " (it is not convex)"
        return NotImplementedError(f"{self!r} has no {method}{reason}.")


def check_slope(loss: Loss, lists: QueryLists) -> None:
    """Raise a ValueError if the slope of a loss is not the derivative of its value, by differences on a few queries."""
    if loss.is_random:
        return
    spreads = [
        np.ptp(part) if (part := lists.labels[start:stop]).size else -1.0 for start, stop in pairwise(lists.indptr)
    ]
    rng = np.random.default_rng(0)
    for query in np.argsort(spreads, kind="stable")[::-1][:CHECKED_QUERIES].tolist():
        alone = lists.part(query, query + 1)
        if alone.n_docs == 0:
            continue
        scores, slope = rng.normal(size=alone.n_docs), np.empty(alone.n_docs)
        value = float(loss.query_values(scores, alone, slope)[0])
        direction, held = rng.normal(size=alone.n_docs), loss.held_at(scores, alone)
        ends = [
            float(held.query_values(scores + side * STEP * direction, alone, np.empty(alone.n_docs))[0])
            for side in (-1, 1)
        ]
        measured, told = (ends[1] - ends[0]) / (2 * STEP), float(slope @ direction)
        if loss.ignores_shifts and abs(slope.sum()) > 1e-6 * np.abs(slope).sum():
            raise ValueError(
                f"ignores_shifts of {loss!r} is True, but its value changes if a constant is added to all scores of a "
                f"query: its slope sums to {slope.sum():.6g}, not 0. Set ignores_shifts = False in its class."
            )
        noise = 1e-13 * max(abs(value), 1.0) / STEP
        if not abs(measured - told) <= 1e-3 * max(abs(measured), abs(told)) + noise:
            raise ValueError(
                f"the slope of {loss!r} is not the derivative of its value. Along one direction of the scores of a "
                f"query of {count_of(alone.n_docs, 'document')}, the value changes at a rate of {measured:.6g}, but "
                f"according to the slope at {told:.6g}. plackett.testing.check_loss shows the documents."
            )


def _own_query_values(cls: type) -> Any:
    """Return the ``query_values`` that a class defines, unless it only calls ``value_and_slope``."""
    found = vars(cls).get("query_values")
    return None if found is vars(Loss)["query_values"] and cls is not Loss else found


def evaluate(compiled: Any, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
    """Return what ``query_values`` returns, for a compiled object bound to the lists."""
    values = np.empty(lists.n_queries)
    _native.losses.evaluate(compiled, scores, slope, values)
    return values


class CompiledLoss(Loss):
    """A loss that is evaluated by its compiled object, which is made once for its parameters and the labels."""

    @abstractmethod
    def _compiled(self, lists: QueryLists) -> Any:
        """Return a new compiled object."""

    def native(self, lists: QueryLists) -> Any:
        if self.is_random:
            return self._compiled(lists)
        key = (type(self), *map(hashable, self.get_params().values()))
        return lists.keep(key, lambda: self._compiled(lists))

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        return evaluate(self.native(lists), scores, lists, slope)


class CompiledCurvature(CompiledLoss):
    """A compiled loss with curvature where it is convex; others may have a diagonal that is a positive estimate."""

    @property
    def has_curvature_product(self) -> bool:
        return self.is_convex and not self.is_random

    @property
    def has_curvature_bound(self) -> bool:
        return self.has_curvature_product

    @property
    def has_positive_diagonal(self) -> bool:
        return self.has_curvature_product

    def _require(self, has_method: bool, method: str) -> None:
        if not has_method:
            raise self._lacks(method)

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        self._require(self.has_curvature_product, "curvature_product")
        loss, scores = self.native(lists), scores.copy()  # the caller may change its scores before the products

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(loss, scores, direction, out)
            return out

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        self._require(self.has_positive_diagonal, "curvature_diagonal")
        out = np.empty(lists.n_docs)
        _native.losses.diagonal(self.native(lists), scores, out)
        return out

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        self._require(self.has_curvature_bound, "curvature_bound")
        out = np.empty(lists.n_docs)
        _native.losses.bound(self.native(lists), scores, out)
        return out


def hashable(value: Any) -> Any:
    """Return a parameter as part of a key: lists and arrays as tuples."""
    return tuple(np.ravel(value).tolist()) if value.__hash__ is None else value


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
