"""Pointwise losses: sums over single documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.exceptions import DataWarning, warn
from plackett.losses.base import CompiledCurvature
from plackett.validation import check_number


class Squared(CompiledCurvature):
    """``½ Σ (f − y)²``: least-squares regression on the label.

    Every document has the same weight, so that long queries count more than short ones, and queries with a single
    document also count. The slope is the residual ``f − y`` and the second derivative 1.

    Examples
    --------
    >>> from plackett.losses import Squared
    >>> import plackett as pk
    >>> Squared().value_and_slope([1.0, 3.0], pk.Queries([[1], [2]], y=[2, 0]))  # (1² + 3²) / 2
    (5.0, array([-1.,  3.]))
    """

    name = "squared"
    ignores_shifts = False
    is_pointwise = True
    is_linear_in_labels = True  # f y is all that depends on both

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.squared(lists.indptr, lists.labels)


class BinaryCrossEntropy(CompiledCurvature):
    """``Σ [log(1 + exp(f)) − y f]``: logistic regression of single documents.

    For a label between 0 and 1 this is ``−y log σ(f) − (1 − y) log(1 − σ(f))``, the negative log-likelihood of a
    document that is relevant with probability ``σ(f)``. The slope is ``σ(f) − y``. Labels may be any real numbers, and
    the loss is convex for all of them, but bounded below only for labels between 0 and 1: for others use ``l2`` above
    0, or set a threshold.

    Parameters
    ----------
    threshold : float, default=None
        Labels of at least this count as 1, others as 0. None takes the labels as they are.

    Examples
    --------
    >>> from plackett.losses import BinaryCrossEntropy
    >>> import plackett as pk
    >>> value, slope = BinaryCrossEntropy().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[1, 0]))
    >>> round(value, 4), slope  # 2 log 2
    (1.3863, array([-0.5,  0.5]))
    """

    name = "binary-cross-entropy"
    ignores_shifts = False
    is_pointwise = True

    def __init__(self, threshold: float | None = None):
        self.threshold = threshold

    @property
    def is_linear_in_labels(self) -> bool:  # type: ignore[override]
        return self.threshold is None

    def is_bounded_on(self, lists: QueryLists) -> bool:
        labels = self.targets(lists)
        return bool(labels.min(initial=0.0) >= 0.0 and labels.max(initial=1.0) <= 1.0)

    def check_labels(self, lists: QueryLists) -> None:
        if self.threshold is not None:
            check_number(self.threshold, "threshold")

    def check_fit(self, lists: QueryLists, *, is_penalised: bool = True) -> None:
        super().check_fit(lists, is_penalised=is_penalised)
        labels = lists.labels
        if self.threshold is None and labels.max(initial=0.0) > 1.0 and (labels == np.rint(labels)).all():
            warn(
                f"{self!r} takes labels as probabilities, but they are whole numbers up to {labels.max():g}. Labels "
                "above 1 have no best score, so that only the penalty or early stopping keeps scores finite. To count "
                "labels of at least 1 as relevant and others as not, set its threshold to 1.",
                DataWarning,
            )

    def targets(self, lists: QueryLists) -> np.ndarray:
        """Return the labels, or whether they reach the threshold."""
        if self.threshold is None:
            return lists.labels
        return (lists.labels >= self.threshold).astype(np.float64)

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.binary_cross_entropy(lists.indptr, self.targets(lists))
