"""Base of the boosted rankers: the steps of a model, and helpers for weak rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plackett.rankers.base import Ranker
from plackett.scorers.models import STEP

LARGEST_EDGE = 1.0 - 1e-6  # a perfect weak ranker would get an infinite weight; with this edge it gets 7.25
SAME = 1e-12  # values that differ by less are equal: sums over rows in another order differ by that


class Boosted(Ranker):
    """A ranker that adds up weak rankers, each found by one step of ``fit``.

    ``steps_`` is a structured array, one record per step in order; ``STEP_FIELDS`` has its fields.
    """

    STEP_FIELDS: ClassVar = STEP

    steps_: np.ndarray

    @property
    def feature_weights_(self) -> np.ndarray:
        """The sum of the weights of the steps of each feature.

        If ``normalize`` changes the columns, one value per new column.
        """
        check_is_fitted(self)
        return np.bincount(self.steps_["feature"], self.steps_["weight"], self._n_columns)

    @property
    def _n_columns(self) -> int:
        """The number of columns that steps take."""
        return self.n_prepared

    def _keep_steps(self, steps: Sequence[tuple]) -> None:
        n_fields = len(self.STEP_FIELDS)
        self.steps_ = np.array([tuple(step[:n_fields]) for step in steps], dtype=self.STEP_FIELDS)


def weight_of_edge(edge: float) -> float:
    """Return the weight of a weak ranker, ½ ln((1 + edge) / (1 - edge)), which stays finite."""
    return float(np.arctanh(np.clip(edge, -LARGEST_EDGE, LARGEST_EDGE)))
