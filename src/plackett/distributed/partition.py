"""What is asked of one partition: functions of it and the coefficients, whose answers are vectors to be added up.

They are named functions of this module, so that they travel by name, and each answer is multiplied by the partition's
share of the whole. A partition that is made anew on another machine answers the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import one_blas_thread
from plackett.data.preprocessing.blocks import transform
from plackett.data.queries import Queries
from plackett.distributed.piece import Piece, n_bytes
from plackett.losses.base import Loss
from plackett.losses.transforms import NotPositiveError
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer


class Plan(NamedTuple):
    """How pieces become partitions, the same for all of them."""

    loss: Loss
    has_intercept: bool
    n_features: int  # as loaded
    normalizer: Any  # fitted to all rows, or None
    total_weight: float


class Partition:
    """Whole queries with all that was derived from their labels, and their share of the whole.

    What a product with the curvature derives from the coefficients is kept for the last ones that were asked for.
    """

    def __init__(self, queries: Queries, weights: np.ndarray | None, share: float, plan: Plan):
        self.queries, self.weights, self.share, self.plan = queries, weights, share, plan
        self._objective: Objective | None = None
        self._products: tuple[Any, Callable[[np.ndarray], np.ndarray]] | None = None

    def __sizeof__(self) -> int:
        return n_bytes(self.queries)

    def __getstate__(self) -> tuple:
        return self.queries, self.weights, self.share, self.plan

    def __setstate__(self, state: tuple) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def objective(self, form: Form) -> Objective:
        """The mean loss over these queries, without penalty."""
        if self._objective is None:
            scorer = LinearScorer(self.queries.X, has_intercept=self.plan.has_intercept)
            self._objective = Objective(
                self.plan.loss, scorer, self.queries.lists, L2(0.0, n_free=int(scorer.has_intercept)),
                weights=self.weights,
            )  # fmt: skip
        whole = self._objective if form.loss is None else self._objective.with_loss(form.loss)
        return whole if form.width is None else whole.smoothed(form.width)

    def curvature_at(self, form: Form, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The product with the curvature at ``coef``, kept until another is asked for."""
        point = (form, coef.tobytes())
        kept = self._products
        if kept is None or kept[0] != point:
            kept = self._products = (point, self.objective(form).curvature_at(coef))
        return kept[1]


class Form(NamedTuple):
    """Which loss: another than that of the plan, or the same with its kinks rounded off over a width."""

    loss: Loss | None = None
    width: float | None = None


def partition_of(piece: Piece, plan: Plan) -> Partition:
    """The partition that a piece becomes: columns added that it left out, scaled, its labels accepted by the loss."""
    queries, weights = piece.queries, piece.weights
    scaled = Queries.from_groups(
        piece.rows(plan.n_features), queries.y, queries.ids, queries.indptr, feature_names=queries.feature_names
    )
    if plan.normalizer is not None:
        scaled.X = transform(plan.normalizer, scaled)
    try:
        plan.loss.check_labels(scaled.lists)
    except ValueError as error:
        raise ValueError(f"{piece.name}: {error}") from error
    if piece.weight == 0.0:  # none of its queries counts: even weights, times a share of nothing
        weights = None
    return Partition(scaled, weights, piece.weight / plan.total_weight, plan)


# --- What is asked ----------------------------------------------------------------------------------------------------


def value_and_gradient(partition: Partition, form: Form, coef: np.ndarray) -> np.ndarray:
    """The loss, followed by its gradient; infinite and zeros where it is not defined."""
    try:
        value, gradient = partition.objective(form).loss_value_and_gradient(coef)
    except NotPositiveError:
        return np.append(np.inf, np.zeros(coef.size))
    return partition.share * np.append(value, gradient)


def curvature_product(partition: Partition, form: Form, coef: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The second derivative at ``coef`` times a vector."""
    return partition.share * partition.curvature_at(form, coef)(direction)


def curvature_bound_diagonal(partition: Partition, form: Form, coef: np.ndarray) -> np.ndarray:
    """The diagonal of a bound of the second derivative."""
    return partition.share * partition.objective(form).curvature_bound_diagonal(coef)


def curvature_estimate(partition: Partition, form: Form, coef: np.ndarray) -> np.ndarray:
    """A rough second derivative: a matrix, or the diagonal where that is too large."""
    with one_blas_thread():
        estimate = partition.objective(form).curvature_estimate(coef)
    assert estimate is not None, "partitions have rows"
    return partition.share * estimate


def gap_parts(partition: Partition, form: Form, coef: np.ndarray, width: float) -> np.ndarray:
    """What a duality gap is made of: the loss, the dual variables, and their pull."""
    parts = partition.objective(form).gap_parts(coef, width)
    return partition.share * np.concatenate([[parts.loss, parts.dual], parts.pull])


def why_undefined(partition: Partition, form: Form, coef: np.ndarray) -> str | None:
    """The reason why the loss is not defined at ``coef``, or None where it is."""
    try:
        partition.objective(form).loss_value_and_gradient(coef)
    except NotPositiveError as error:
        return str(error)
    return None
