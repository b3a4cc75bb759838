"""The objective over partitions, as a solver sees it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from plackett.distributed import partition
from plackett.distributed.partition import Form
from plackett.losses.base import Loss
from plackett.objective.objective import GapParts, LossTraits, gap_of
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer


class Partitions(Protocol):
    """Partitions in this process or on a cluster."""

    def sum(self, work: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Return the sum of ``work(partition, *arguments)``, bit-identical for any number of workers."""

    def map(self, work: Callable[..., Any], *arguments: Any) -> list:
        """Return ``work(partition, *arguments)`` of each partition, in their order."""


class PartitionedObjective(LossTraits):
    """Mean loss of a linear scorer over all partitions plus penalty, as a function of the coefficients.

    ``Σ_p share_p value_p(coef) + penalty(coef)``, share_p being the weight of the queries of partition p over that of
    all queries. An evaluation visits all partitions once and adds up the results in an order that depends only on
    the partitioning, so the result is the same for any number of workers.
    """

    def __init__(
        self, loss: Loss, partitions: Partitions, penalty: L2, *, n_features: int, n_queries: int, has_intercept: bool
    ):
        self.loss, self.penalty, self._partitions = loss, penalty, partitions
        self.scorer = LinearScorer(np.zeros((0, n_features)), has_intercept=has_intercept)  # for its shape
        self.size, self.n_terms = self.scorer.size, n_queries
        self._form = Form()
        self._was_defined = False  # whether the loss was defined at some coefficients

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective at ``coef`` and its gradient, in one pass over all partitions."""
        answer = self._sum("loss_value_and_gradient", coef)
        value, gradient = float(answer[0]), answer[1:]
        if value == np.inf and not self._was_defined:  # at the start of a fit; later a solver takes a shorter step
            self._partitions.map(partition.check_defined, self._form, coef)
        if value == np.inf:
            return value, np.zeros(self.size)
        self._was_defined = True
        return value + self.penalty.value(coef), gradient + self.penalty.gradient(coef)

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that multiplies the second derivative at ``coef`` by a vector."""
        coef, held = np.array(coef), self.penalty.curvature_diagonal(self.size)
        return lambda direction: self._sum("curvature_product", coef, direction) + held * direction

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """Return the diagonal of an upper bound of the second derivative."""
        return self._sum("curvature_bound_diagonal", coef) + self.penalty.curvature_diagonal(self.size)

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """Return an estimate of the second derivative from a sample of each partition: a matrix, or its diagonal."""
        estimate = self._sum("curvature_estimate", coef)
        held = self.penalty.curvature_diagonal(self.size)
        return estimate + (np.diag(held) if estimate.ndim == 2 else held)

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]:
        """Raise: one query at a time would take a round trip to a worker for each query."""
        raise ValueError(SGD_REFUSED)

    def smoothed(self, width: float) -> PartitionedObjective:
        """Return the objective with its loss smoothed over ``width``."""
        other = copy.copy(self)
        other.loss, other._form = self.loss.smoothed(width), self._form._replace(width=width)
        return other

    def held_at(self, coef: np.ndarray) -> PartitionedObjective:
        """Return the objective with the weights of its loss held at the ranks by ``coef``."""
        other = copy.copy(self)
        other._form = self._form._replace(held=np.asarray(coef, dtype=np.float64).tobytes())
        return other

    def with_loss(self, loss: Loss) -> PartitionedObjective:
        """Return the objective with another loss."""
        other = copy.copy(self)
        other.loss, other._form = loss, Form(loss)
        return other

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """Return the value at ``coef`` minus the dual value of the pair weights of ``smoothed(width)``."""
        answer = self._sum("gap_parts", coef, width)
        return gap_of(GapParts(float(answer[0]), float(answer[1]), answer[2:]), coef, self.penalty)

    def _sum(self, method: str, *at: Any) -> np.ndarray:
        """Return the sum over all partitions of what a method of their objectives returns, without the penalty."""
        given = [np.ascontiguousarray(one, dtype=np.float64) if np.ndim(one) else one for one in at]
        return self._partitions.sum(partition.evaluated, self._form, method, *given)


SGD_REFUSED = (
    'solver="sgd" visits one query at a time and does not work over partitions. '
    'Choose a loss that solver="newton" or solver="lbfgs" can minimise, or read the data into one Queries.'
)
