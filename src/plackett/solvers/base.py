"""What every solver does: minimise an objective from a start, and say why it stopped.

A solver knows no queries and no measures. It sees an objective: a value and a gradient by the coefficients, and
curvature where there is some.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from plackett._parameters import Parameters


class Minimizable(Protocol):
    """An objective as a solver sees it: ``Objective``, or a sum over a cluster."""

    size: int  # number of coefficients
    n_terms: int  # the objective is the weighted mean of so many terms (one per query); the penalty is in each of them

    @property
    def name(self) -> str:
        """The loss, for messages."""

    @property
    def is_convex(self) -> bool: ...

    @property
    def is_smooth(self) -> bool: ...

    @property
    def is_random(self) -> bool: ...

    @property
    def has_curvature_product(self) -> bool: ...

    @property
    def has_curvature_bound(self) -> bool: ...

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]: ...

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies the second derivative at ``coef`` with a vector."""

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """A rough positive definite second derivative: a matrix, or only its diagonal, or None where there is none."""

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """The diagonal of an upper bound of the second derivative."""

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]: ...

    def smoothed(self, width: float) -> Minimizable:
        """The same objective with the kinks of its loss rounded off over ``width``; for losses with kinks."""

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """How far the value at ``coef`` can be above the minimum, by the dual point that ``smoothed(width)`` gives."""


@dataclass
class Step:
    """Where a solver stands after an iteration: what a callback sees."""

    iteration: int
    coef: np.ndarray
    value: float
    gradient_norm: float


# A callback may end the work by returning a reason; None lets it go on.
Callback = Callable[[Step], str | None]


@dataclass
class Result:
    """Where a solver ended, and why."""

    coef: np.ndarray
    value: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    stop_reason: str
    is_converged: bool
    n_products: int = 0
    is_interrupted: bool = False  # by Ctrl-C; coef is the best so far
    details: dict[str, Any] = field(default_factory=dict)  # such as {"duality_gap": 1e-5}


class Solver(Parameters, ABC):
    """Base of the solvers.

    Attributes
    ----------
    name : str
        What users write: ``solver="lbfgs"``.
    is_exact : bool
        Whether it reaches the minimum of a convex objective.
    """

    name: ClassVar[str]
    is_exact: ClassVar[bool] = True

    def check(self, objective: Minimizable) -> None:
        """Say at once, by name, when loss and solver do not fit."""

    @abstractmethod
    def minimize(
        self,
        objective: Minimizable,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        random_state: Any = None,
    ) -> Result:
        """Minimise from ``start``; converged when the gradient's norm is at most ``tol``."""

    def _refuse(self, needs: str, objective: Minimizable, reason: str, hint: str) -> ValueError:
        return ValueError(f'solver="{self.name}" needs {needs}; {objective.name} {reason}. Try {hint}.')
