"""Functions of one partition and the coefficients that return vectors to be summed over partitions.

They are module-level functions, so that they are pickled by name. Each result is multiplied by the partition's share of
the total weight. A partition that is recomputed on another machine gives the same result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import one_blas_thread
from plackett.data.preprocessing.blocks import transform
from plackett.data.queries import Queries
from plackett.distributed.loading import LoadedPart, n_bytes
from plackett.losses.base import Loss
from plackett.losses.transforms import NotPositiveError
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer


class Plan(NamedTuple):
    """What all partitions of a fit share."""

    loss: Loss
    has_intercept: bool
    n_features: int  # as loaded
    normalizer: Any  # fitted to all rows, or None
    total_weight: float
    is_penalised: bool = True


class Partition:
    """Whole queries, what was derived from their labels, and their share of the total weight.

    The curvature at the last coefficients is cached for further products.
    """

    def __init__(self, queries: Queries, weights: np.ndarray | None, share: float, plan: Plan):
        self.queries, self.weights, self.share, self.plan = queries, weights, share, plan
        self._objective: Objective | None = None
        self._products: tuple[Any, Callable[[np.ndarray], np.ndarray]] | None = None
        self._held: tuple[Form, Objective] | None = None

    def __sizeof__(self) -> int:
        return n_bytes(self.queries)

    def __getstate__(self) -> tuple:
        return self.queries, self.weights, self.share, self.plan

    def __setstate__(self, state: tuple) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def objective(self, form: Form) -> Objective:
        """Return the mean loss over these queries, without penalty."""
        if self._objective is None:
            scorer = LinearScorer(self.queries.X, has_intercept=self.plan.has_intercept)
            self._objective = Objective(
                self.plan.loss, scorer, self.queries.lists, L2(0.0, n_free=int(scorer.has_intercept)),
                weights=self.weights,
            )  # fmt: skip
        whole = self._objective if form.loss is None else self._objective.with_loss(form.loss)
        if form.held is not None:
            if self._held is None or self._held[0] != form:
                self._held = form, whole.held_at(np.frombuffer(form.held))
            return self._held[1]
        return whole if form.width is None else whole.smoothed(form.width)

    def curvature_at(self, form: Form, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the product with the curvature at ``coef``; the last one is cached."""
        point = (form, coef.tobytes())
        kept = self._products
        if kept is None or kept[0] != point:
            kept = self._products = (point, self.objective(form).curvature_at(coef))
        return kept[1]


class Form(NamedTuple):
    """The loss of an evaluation: that of the plan, another one, one smoothed over a width, or with held weights."""

    loss: Loss | None = None
    width: float | None = None
    held: bytes | None = None  # the coefficients by whose ranks weights are held; bytes compare at once


def partition_of(part: LoadedPart, plan: Plan) -> Partition:
    """Return the partition of a part: padded, scaled, with labels checked by the loss."""
    queries, weights = part.queries, part.weights
    scaled = Queries.from_groups(
        part.rows(plan.n_features), queries.y, queries.ids, queries.indptr, feature_names=queries.feature_names,
        has_estimated_labels=queries.has_estimated_labels,
    )  # fmt: skip
    if plan.normalizer is not None:
        scaled.X = transform(plan.normalizer, scaled)
    try:
        plan.loss.check_fit(scaled.lists, is_penalised=plan.is_penalised)
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from error
    if part.weight == 0.0:  # its share is 0; equal weights avoid a division by 0
        weights = None
    return Partition(scaled, weights, part.weight / plan.total_weight, plan)


# --- Functions of a partition -----------------------------------------------------------------------------------------


def evaluated(partition: Partition, form: Form, method: str, coef: np.ndarray, *others: Any) -> np.ndarray:
    """Return the numbers that a method of the objective returns, or a product with its curvature.

    The loss is infinity, and its gradient 0, where it is undefined.
    """
    try:
        if method == "curvature_product":
            found = partition.curvature_at(form, coef)(*others)
        else:
            with one_blas_thread() if method == "curvature_estimate" else contextlib.nullcontext():
                found = getattr(partition.objective(form), method)(coef, *others)
    except NotPositiveError:
        if method != "loss_value_and_gradient":
            raise
        return np.append(np.inf, np.zeros(coef.size))
    return partition.share * (np.hstack(found) if isinstance(found, tuple) else found)


def check_defined(partition: Partition, form: Form, coef: np.ndarray) -> None:
    """Raise if the loss is undefined at ``coef``."""
    partition.objective(form).loss_value_and_gradient(coef)
