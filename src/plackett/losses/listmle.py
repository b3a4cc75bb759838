"""ListMLE and p-ListMLE: the likelihood of the true order under Plackett's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature
from plackett.losses.transforms import TransformedLoss, get_transform
from plackett.metrics.discounts import position_weights as weights_of_positions
from plackett.validation import check_choice

TIES = ("breslow", "efron", "random")


class WeightedLevels(NamedTuple):
    """The labels as kernels need them: bounds, order, levels, and the weight of each level, 0 for censored ones."""

    indptr: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    level_indptr: np.ndarray
    weights: np.ndarray


class ListMLE(TransformedLoss):
    """Negative log-likelihood of the true order (Xia et al., 2008).

    ``Σ_i [−f_i + log Σ_{j ≥ i} exp f_j]`` over documents in true order. ``ties`` sets how equal labels are treated.

    Parameters
    ----------
    ties : {"breslow", "efron", "random"}, default="breslow"
        ``"breslow"`` compares every document with its own and all lower levels, ``"efron"`` approximates the mean over
        the orders within a level, both as in Cox regression; both omit the lowest level and do not depend on the order
        of the rows. ``"random"`` draws an order within each level at every pass, as most other packages do; it needs
        ``solver="sgd"``. Without ties all three are equal.
    transform : str or Transform, default="exp"
        φ instead of exp: ``"exp"``, ``"linear"``, ``"sigmoid"`` or ``"probit"``. The loss is convex and has curvature
        only with ``"exp"``.
    random_state : int, default=None
        Seed of ``ties="random"`` if the loss is called directly; rankers use their own.

    Examples
    --------
    >>> from plackett.losses import ListMLE
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = ListMLE().value_and_slope([0.0, 0.0, 0.0], data)
    >>> round(value, 4), slope.round(4)  # log 3 + log 2
    (1.7918, array([-0.6667, -0.1667,  0.8333]))
    """

    name = "listmle"

    def __init__(self, ties: str = "breslow", transform: Any = "exp", random_state: int | None = None):
        self.ties, self.transform, self.random_state = ties, transform, random_state

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        return self.ties == "random"

    @property
    def _is_efron(self) -> bool:
        return self.ties == "efron"

    def check_labels(self, lists: QueryLists) -> None:
        check_choice(self.ties, "ties", TIES)
        get_transform(self.transform)

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.listmle(*self._levels(lists), self._is_efron)

    def _levels(self, lists: QueryLists) -> WeightedLevels:
        if self.is_random:
            return self._random_levels(lists)
        return lists.keep(("listmle",), lambda: _with_weights(lists, _above_lowest(lists)))

    def _random_levels(self, lists: QueryLists) -> WeightedLevels:
        if lists.rng is None:
            lists.rng = np.random.default_rng(self.random_state)
        shuffled = np.empty_like(lists.order)
        _native.losses.shuffle_levels(lists.order, lists.levels.bounds, lists.rng.random(lists.n_docs), shuffled)
        # every position is its own level, except in queries with one label, which have no order to learn
        n_levels = np.diff(lists.levels.indptr)
        weights = np.repeat((n_levels > 1).astype(np.float64), np.diff(lists.indptr))
        return WeightedLevels(lists.indptr, shuffled, np.arange(lists.n_docs + 1), lists.indptr, weights)


class PListMLE(CompiledCurvature):
    """Position-aware ListMLE: the i-th term of ListMLE is weighted by a decreasing ``α(i)`` (Lan et al., 2014).

    Documents with equal labels share the mean weight of their positions; the lowest level is omitted.

    Parameters
    ----------
    position_weights : {"exp2", "exp", "dcg", "linear"} or callable, default="exp2"
        ``"exp2"`` is the paper's ``2^(n−i) − 1``, divided by its value at i = 1 so that long lists neither overflow nor
        dominate; ``"exp"`` the same with ``base``; ``"dcg"`` ``1/log2(1+i)``; ``"linear"`` ``n − i``; a
        callable gets the positions 1..n and n.
    base : float, default=2
        Base of ``"exp"``.

    Examples
    --------
    >>> from plackett.losses import PListMLE
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> round(PListMLE().value_and_slope([0.0, 0.0, 0.0], data)[0], 4)  # log 3 + log 2 / 3
    1.3297
    """

    name = "p-listmle"
    _is_efron = False

    def __init__(
        self,
        position_weights: str | Callable[[np.ndarray, int], np.ndarray] = "exp2",
        base: float = 2.0,
    ):
        self.position_weights, self.base = position_weights, base

    def check_labels(self, lists: QueryLists) -> None:
        weights_of_positions(self.position_weights, 2, base=self.base)

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.listmle(*self._levels(lists), False)

    def _levels(self, lists: QueryLists) -> WeightedLevels:
        key = (self.name, self.position_weights, self.base)
        return lists.keep(key, lambda: _with_weights(lists, self._weigh(lists)))

    def _weigh(self, lists: QueryLists) -> np.ndarray:
        """Return the mean weight of the positions of each level, 0 for the lowest level of each query."""
        lengths, bounds = np.diff(lists.indptr), lists.levels.bounds
        if lists.n_docs == 0:
            return np.zeros(0)
        weights = np.empty(lists.n_docs)
        for n in np.unique(lengths).tolist():
            of_length = weights_of_positions(self.position_weights, n, base=self.base)
            if n and of_length.min() < 0:
                raise ValueError(
                    "position_weights returned a negative weight; weights must decrease and be at least 0."
                )
            weights[lists.indptr[:-1][lengths == n][:, None] + np.arange(n)] = of_length
        return _above_lowest(lists) * np.add.reduceat(weights, bounds[:-1]) / np.diff(bounds)


def _above_lowest(lists: QueryLists) -> np.ndarray:
    """Return 1 for each level above the lowest of its query, else 0."""
    is_above = np.ones(lists.levels.bounds.size - 1)
    ends = lists.levels.indptr[1:][np.diff(lists.levels.indptr) > 0]
    is_above[ends - 1] = 0.0
    return is_above


def _with_weights(lists: QueryLists, weights: np.ndarray) -> WeightedLevels:
    return WeightedLevels(lists.indptr, lists.order, lists.levels.bounds, lists.levels.indptr, weights)
