"""Losses of a single margin: what one pair costs when its margin is ``m``.

Each gives, for an array of margins, its values, its slopes and, where it is smooth, its bends (second derivatives). A
convex one is the largest ``value of y - y m`` over pulls y from 0 to 1, which is how pulls bound it from below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.special import entr, expit


class MarginLoss(ABC):
    """A function of a margin that falls from the left to the right."""

    name: ClassVar[str]
    is_convex: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = True

    @abstractmethod
    def values(self, margins: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def slopes(self, margins: np.ndarray) -> np.ndarray:
        """First derivatives; at a kink, the one from the right."""

    def bends(self, margins: np.ndarray) -> np.ndarray:
        """Second derivatives, of smooth losses."""
        raise NotImplementedError(f"the loss {self.name} has kinks, and no second derivative there.")

    def dual_values(self, pulls: np.ndarray) -> np.ndarray:
        """The values of pulls, of convex losses."""
        raise NotImplementedError(f"the loss {self.name} is not bounded by pulls.")


class Hinge(MarginLoss):
    """``max(0, 1 - m)``."""

    name = "hinge"
    is_smooth = False

    def values(self, margins: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - margins, 0.0)

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        return np.where(margins < 1.0, -1.0, 0.0)

    def dual_values(self, pulls: np.ndarray) -> np.ndarray:
        return pulls


class SmoothedHinge(MarginLoss):
    """The hinge with a parabola in place of its kink; nowhere above the hinge.

    The hinge is the largest ``y (1 - m)`` for a pull y from 0 to 1. Here what y is away from a centre costs
    ``(width / 2) (y - centre)²``. With the centre at 0 the parabola lies between ``1 - width`` and 1. With the centre
    at the pulls of a minimum, the minimum is that of the hinge itself, whatever the width.

    Parameters
    ----------
    width : float
    centre : float or ndarray of one number for each margin, default=0.0
        From 0 to 1.
    """

    name = "smoothed hinge"

    def __init__(self, width: float, centre: float | np.ndarray = 0.0):
        self.width, self.centre = width, centre

    def values(self, margins: np.ndarray) -> np.ndarray:
        pulls = self.pulls(margins)
        return pulls * (1.0 - margins) - self.costs(pulls)

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        return -self.pulls(margins)

    def bends(self, margins: np.ndarray) -> np.ndarray:
        pulls = self._pulls_unbounded(margins)
        return np.where((pulls > 0.0) & (pulls <= 1.0), 1.0 / self.width, 0.0)

    def pulls(self, margins: np.ndarray) -> np.ndarray:
        """The best y."""
        return np.clip(self._pulls_unbounded(margins), 0.0, 1.0)

    def costs(self, pulls: np.ndarray) -> np.ndarray:
        """What their distance from the centre takes away."""
        return 0.5 * self.width * (pulls - self.centre) ** 2

    def _pulls_unbounded(self, margins: np.ndarray) -> np.ndarray:
        return self.centre + (1.0 - margins) / self.width


class Logistic(MarginLoss):
    """``log(1 + e^-m)``."""

    name = "logistic"

    def values(self, margins: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -margins)

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        return -expit(-margins)

    def bends(self, margins: np.ndarray) -> np.ndarray:
        return expit(margins) * expit(-margins)

    def dual_values(self, pulls: np.ndarray) -> np.ndarray:
        return entr(pulls) + entr(1.0 - pulls)


class Psi(MarginLoss):
    """``min(1, max(0, 1 - m))``: the hinge, but no pair costs more than 1."""

    name = "psi"
    is_convex = False
    is_smooth = False

    def values(self, margins: np.ndarray) -> np.ndarray:
        return np.clip(1.0 - margins, 0.0, 1.0)

    def slopes(self, margins: np.ndarray) -> np.ndarray:
        return np.where((margins >= 0.0) & (margins < 1.0), -1.0, 0.0)


_BY_NAME = {loss.name: loss for loss in (Hinge, Logistic, Psi)}


def get_margin_loss(loss: Any) -> MarginLoss:
    """The loss that a name stands for; a loss is given back as it is."""
    if isinstance(loss, MarginLoss):
        return loss
    if isinstance(loss, str) and loss in _BY_NAME:
        return _BY_NAME[loss]()
    raise ValueError(f"loss={loss!r} is not a loss of margins; choose one of {', '.join(_BY_NAME)}.")
