"""User-defined losses: any object with ``value_and_slope``, and its placeholder in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses.base import Loss

TRAITS = (
    "ignores_shifts", "is_convex", "is_smooth", "is_random", "is_pointwise", "is_flat_at_zero", "is_scale_free",
    "is_linear_in_labels",
)  # fmt: skip


class OwnLoss(Loss):
    """A loss from any object with ``value_and_slope(scores, queries)``.

    Attributes such as ``ignores_shifts`` are those of the object. If it does not have them, the loss counts as one that
    is smooth, not convex, and changes when all scores of a query are shifted, which is right for every smooth loss.
    """

    is_own = True

    def __init__(self, loss: Any):
        self.loss = loss
        for name in TRAITS:
            default = False if name in ("ignores_shifts", "is_convex") else getattr(Loss, name)
            setattr(self, name, bool(getattr(loss, name, default)))

    def _of_one_query(self, scores: np.ndarray, alone: QueryLists) -> Any:
        return self.loss.value_and_slope(scores, alone)

    def __repr__(self) -> str:
        if type(self.loss).__repr__ is object.__repr__:  # an address in memory
            return f"{type(self.loss).__name__}()"
        return repr(self.loss)


class AbsentLoss(Loss):
    """Placeholder for a user-defined loss in a model file: the ranker predicts, but cannot be fitted without the loss.

    Parameters
    ----------
    description : str
        The loss, as its ``repr`` shows it.
    """

    def __init__(self, description: str):
        self.description = description

    def check_fit(self, lists: QueryLists, *, is_penalised: bool = True) -> None:
        raise ValueError(
            f"this ranker was fitted with the loss {self.description}, which a model file does not contain. To fit "
            "again, import its class and call ranker.set_params(loss=...)."
        )
