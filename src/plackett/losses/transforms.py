"""Transforms φ, increasing functions from scores to the weights of documents, and the losses of ``log φ``.

The losses use ``log φ(f)`` and its derivatives, not φ itself, which underflows for scores of −1000. The exception is
RankCosine with a linear φ, which may be negative.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from plackett._lazy import importing
from plackett._parameters import Parameters
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature, evaluate
from plackett.validation import plain

_FAR = 100.0  # beyond it the series of 1 / Φ is exact, while the formula loses half of its digits
_LIMIT = 1e150  # its square does not overflow


class NotPositiveError(ValueError):
    """Raised for scores at which a loss is undefined because φ is not positive; solvers then take shorter steps."""


class Transform(Parameters, ABC):
    """Base class of the transforms φ, which are given by ``log φ`` and its first two derivatives."""

    name: ClassVar[str]

    def check(self) -> None:
        """Raise for parameters for which φ does not increase."""

    def log_and_slope(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``log φ`` of each score, and its derivative."""
        log, slope, _ = self.log_and_derivatives(scores)
        return log, slope

    @abstractmethod
    def log_and_derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``log φ`` of each score, and its first and second derivative."""


class Exponential(Transform):
    """``φ(f) = exp(f)``: the only φ for which losses ignore a constant added to all scores."""

    name = "exp"

    def log_and_derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return scores.copy(), np.ones_like(scores), np.zeros_like(scores)


class Linear(Transform):
    """``φ(f) = a f + b``, for losses that divide by φ only where it is positive.

    Parameters
    ----------
    a : float, default=1
        Greater than 0.
    b : float, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.losses import Linear
    >>> Linear(2, 1).value(np.array([0.0, 3.0]))
    array([1., 7.])
    """

    name = "linear"

    def __init__(self, a: float = 1.0, b: float = 0.0):
        self.a, self.b = a, b

    def check(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if not isinstance(value, (int, float, np.integer, np.floating)) or not np.isfinite(value):
                raise ValueError(f"Linear has {name}={plain(value)!r}; it must be a finite number.")
        if self.a <= 0:
            raise ValueError(f"Linear has a={plain(self.a)!r}; it must be greater than 0, or higher scores rank lower.")

    def value(self, scores: np.ndarray) -> np.ndarray:
        """Return ``a f + b``, which may be negative."""
        return self.a * scores + self.b

    def log_and_derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        value = self.value(scores)
        if value.size and not value.min() > 0.0:
            row, b = int(np.argmin(value)), np.ceil(1.0 - self.a * scores.min())
            raise NotPositiveError(
                f"{self!r} is {value[row]:g} for the score {scores[row]:g} in row {row}, but the loss divides by it: "
                f"it must be positive. Use a larger b, as in Linear({self.a:g}, {b:g}), or "
                'transform="exp", which is positive everywhere.'
            )
        slope = self.a / value
        return np.log(value), slope, -slope * slope


class Sigmoid(Transform):
    """``φ(f) = 1 / (1 + exp(−f))``."""

    name = "sigmoid"

    def log_and_derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        small = np.exp(-np.abs(scores))
        log = np.minimum(scores, 0.0) - np.log1p(small)
        slope = np.where(scores < 0.0, 1.0, small) / (1.0 + small)  # 1 − φ, without the difference
        return log, slope, -small / (1.0 + small) ** 2


class Probit(Transform):
    """``φ(f) = Φ(f)``, the distribution function of the standard normal."""

    name = "probit"

    def log_and_derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with importing:
            from scipy.special import erfcx, log_ndtr

        scores = np.maximum(scores, -_LIMIT)
        slope = np.sqrt(2.0 / np.pi) / erfcx(scores * -np.sqrt(0.5))
        above = 1.0 / np.maximum(-scores, _FAR)
        square = above * above
        rest = above * (1.0 - square * (2.0 - square * (10.0 - 74.0 * square)))
        rest = np.where(scores < -_FAR, rest, slope + scores)
        return log_ndtr(scores), slope, -slope * rest


_CLASSES: list[type[Transform]] = [Exponential, Linear, Sigmoid, Probit]
_BY_NAME = {transform.name: transform for transform in _CLASSES}


def get_transform(transform: Any) -> Transform:
    """Return the transform with this name, or the given Transform after a check.

    Examples
    --------
    >>> get_transform("sigmoid"), get_transform(Linear(1, 2))
    (Sigmoid(), Linear(b=2))
    """
    if isinstance(transform, Transform):
        transform.check()
        return transform
    if isinstance(transform, str) and transform in _BY_NAME:
        return _BY_NAME[transform]()
    known = ", ".join(repr(name) for name in _BY_NAME)
    raise ValueError(f"transform={plain(transform)!r} is not known; choose one of {known}, or pass Linear(a, b).")


class TransformedLoss(CompiledCurvature):
    """Base class of the losses that depend on the scores only through ``log φ``.

    With φ = exp they are convex, ignore shifts of the scores and have curvature products, unless ties are broken at
    random. None of this holds for another φ.
    """

    transform: Any

    @property
    def _is_exp(self) -> bool:
        is_named = isinstance(self.transform, str) and self.transform == "exp"  # checked in inner loops
        return is_named or isinstance(get_transform(self.transform), Exponential)

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return self._is_exp

    @property
    def ignores_shifts(self) -> bool:  # type: ignore[override]
        return self._is_exp

    @property
    def has_native(self) -> bool:
        return self.has_curvature_product and super().has_native

    def native(self, lists: QueryLists) -> Any:
        return super().native(lists) if self.has_curvature_product else None

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        compiled = super().native(lists)  # the loss of log φ of the scores, which are the scores themselves if φ is exp
        if self._is_exp:
            return evaluate(compiled, scores, lists, slope)
        logs, inner = get_transform(self.transform).log_and_slope(scores)
        values = evaluate(compiled, logs, lists, slope)
        slope *= inner
        return values
