"""The objective over partitions: what a solver sees of data that are in many places."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from plackett.distributed import partition
from plackett.distributed.partition import Form
from plackett.losses.base import Loss
from plackett.losses.transforms import NotPositiveError
from plackett.objective.objective import GapParts, OfLoss, gap_of
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer


class Holder(Protocol):
    """Whoever holds the partitions: this process, or a cluster."""

    def total(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Σ of ``work(partition, *arguments)`` over all partitions, the same whoever holds which."""

    def each(self, work: Callable[..., Any], *arguments: Any) -> list:
        """``work(partition, *arguments)`` of each partition, in their order."""


class PartitionedObjective(OfLoss):
    """Mean loss of a linear scorer over all partitions plus penalty, as a function of the coefficients.

    ``Σ_p share_p value_p(coef) + penalty(coef)``, share_p being the weight of the queries of partition p by that of all
    queries. Every evaluation asks all partitions once and adds up their answers in an order that depends on the
    partitioning alone, so that the result is the same for any number of workers.

    Parameters
    ----------
    loss : Loss
    holder : Holder
    penalty : L2
    n_features, n_queries : int
    has_intercept : bool
    """

    def __init__(
        self, loss: Loss, holder: Holder, penalty: L2, *, n_features: int, n_queries: int, has_intercept: bool
    ):
        self.loss, self.penalty, self._holder = loss, penalty, holder
        self.scorer = LinearScorer(np.zeros((0, n_features)), has_intercept=has_intercept)  # its shape is what counts
        self.size, self.n_terms = self.scorer.size, n_queries
        self._form = Form()
        self._is_entered = False  # whether the loss was defined at some coefficients

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective at ``coef`` and its gradient, in one pass over all partitions."""
        coef = self._checked(coef)
        answer = self._holder.total(partition.value_and_gradient, self._form, coef)
        value, gradient = float(answer[0]), answer[1:]
        if value == np.inf and not self._is_entered:
            self._say_why_undefined(coef)
        if value == np.inf:
            return value, np.zeros(self.size)
        self._is_entered = True
        return value + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    def _say_why_undefined(self, coef: np.ndarray) -> None:
        """At the start the user must know; later a solver takes a shorter step."""
        for reason in self._holder.each(partition.why_undefined, self._form, coef):
            if reason is not None:
                raise NotPositiveError(reason)

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies the second derivative at ``coef`` with a vector."""
        coef = self._checked(coef).copy()
        held = self.penalty.curvature_diagonal(self.size)

        def multiply(direction: np.ndarray) -> np.ndarray:
            direction = self._checked(direction)
            product = self._holder.total(partition.curvature_product, self._form, coef, direction)
            return product + held * direction

        return multiply

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """The diagonal of an upper bound of the second derivative."""
        bound = self._holder.total(partition.curvature_bound_diagonal, self._form, self._checked(coef))
        return bound + self.penalty.curvature_diagonal(self.size)

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """A rough second derivative: a matrix from a sample of each partition, or the diagonal."""
        estimate = self._holder.total(partition.curvature_estimate, self._form, self._checked(coef))
        held = self.penalty.curvature_diagonal(self.size)
        return estimate + (np.diag(held) if estimate.ndim == 2 else held)

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]:
        """Refused: one query at a time would be one journey to a worker for each of them."""
        raise ValueError(SGD_REFUSED)

    def smoothed(self, width: float) -> PartitionedObjective:
        """The same objective with the kinks of its loss rounded off over ``width``."""
        other = copy.copy(self)
        other.loss, other._form = self.loss.smoothed(width), self._form._replace(width=width)  # type: ignore[attr-defined]
        return other

    def with_loss(self, loss: Loss) -> PartitionedObjective:
        """The same objective with another loss."""
        other = copy.copy(self)
        other.loss, other._form = loss, Form(loss)
        return other

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """The value at ``coef`` less the dual value of the pair weights that ``smoothed(width)`` gives there."""
        coef = self._checked(coef)
        answer = self._holder.total(partition.gap_parts, self._form, coef, width)
        return gap_of(GapParts(float(answer[0]), float(answer[1]), answer[2:]), coef, self.penalty)

    def _checked(self, coef: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(coef, dtype=np.float64)


SGD_REFUSED = (
    'solver="sgd" looks at one query at a time and does not work over partitions, which are asked all at once. '
    'Choose a loss that solver="newton" or solver="lbfgs" can minimise, or read the data into one Queries.'
)
