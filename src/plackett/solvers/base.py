"""The interface of solvers, and the parts that they share: objective, search, result and stop reasons.

A solver does not depend on queries or measures. It minimises an objective: a value and a gradient with respect to the
coefficients, and curvature if the objective has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from plackett._parameters import Parameters

# stop reasons, as users read them
CONVERGED = "gradient below tol"
MAX_ITER = "max_iter reached"
STALLED = "no further progress at working precision"
INTERRUPTED = "interrupted"


class Minimizable(Protocol):
    """An objective as solvers see it: ``Objective``, or a sum over the partitions of a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.solvers import LBFGS
    >>> class Parabola:  # with the members that L-BFGS uses
    ...     size, name = 1, "parabola"
    ...     is_smooth, is_random = True, False
    ...
    ...     def value_and_gradient(self, coef):
    ...         return float((coef[0] - 3.0) ** 2), 2.0 * (coef - 3.0)
    ...
    ...     def curvature_estimate(self, coef):
    ...         return None
    >>> result = LBFGS().minimize(Parabola(), np.zeros(1), max_iter=20, tol=1e-6)
    >>> result.coef.round(4), result.stop_reason, result.is_converged
    (array([3.]), 'gradient below tol', True)
    """

    size: int  # number of coefficients
    n_terms: int  # the objective is the weighted mean of this many terms, one per query; each includes the penalty

    @property
    def name(self) -> str:
        """Return the name of the loss, for messages."""

    @property
    def is_convex(self) -> bool: ...

    @property
    def is_smooth(self) -> bool: ...

    @property
    def has_smoothing(self) -> bool:
        """Return whether ``smoothed`` and ``duality_gap`` work."""

    @property
    def is_random(self) -> bool: ...

    @property
    def has_curvature_product(self) -> bool: ...

    @property
    def has_curvature_bound(self) -> bool: ...

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]: ...

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that multiplies the second derivative at ``coef`` by a vector."""

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """Return a rough positive definite second derivative: a matrix, its diagonal, or None if unavailable."""

    def curvature_bound_diagonal(self, coef: np.ndarray) -> np.ndarray:
        """Return the diagonal of an upper bound of the second derivative."""

    def term_value_and_gradient(self, coef: np.ndarray, term: int) -> tuple[float, np.ndarray]: ...

    def held_at(self, coef: np.ndarray) -> Minimizable:
        """Return the objective with its pair weights held at the ranks by ``coef``; for losses with moving weights."""

    def smoothed(self, width: float) -> Minimizable:
        """Return the objective with the kinks of its loss rounded off over ``width``; for losses with kinks."""

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """Bound the distance of the value at ``coef`` from the minimum, by the dual point of ``smoothed(width)``."""


@dataclass
class Step:
    """The state after an iteration, as passed to a callback.

    Attributes
    ----------
    iteration : int
        Number of the iteration, from 1.
    coef : ndarray of shape (size,)
        The coefficients after the iteration.
    value : float
        The objective at ``coef``.
    gradient_norm : float
        Norm of the gradient at ``coef``.

    Examples
    --------
    >>> from plackett.solvers import Step
    >>> import numpy as np
    >>> def callback(step):
    ...     return "value below 0.1" if step.value < 0.1 else None
    >>> callback(Step(iteration=3, coef=np.zeros(2), value=0.05, gradient_norm=0.2))
    'value below 0.1'
    """

    iteration: int
    coef: np.ndarray
    value: float
    gradient_norm: float


# A callback stops the solver by returning a reason; None continues.
Callback = Callable[[Step], str | None]


@dataclass
class Result:
    """The coefficients that a solver found, and why it stopped.

    Attributes
    ----------
    coef : ndarray of shape (size,)
        The coefficients that were found.
    value : float
        The objective at ``coef``.
    gradient_norm : float
        Norm of the gradient at the end; for the hinge, that of the smoothed objective.
    n_iter : int
        Number of iterations.
    n_evaluations : int
        Number of evaluations of the objective.
    stop_reason : str
        Why the solver stopped, such as ``"gradient below tol"`` or ``"max_iter reached"``.
    is_converged : bool
        Whether it stopped because the tolerance was reached.
    n_products : int
        Number of products of the curvature with a vector.
    is_interrupted : bool
        Whether Ctrl-C stopped the solver; ``coef`` is then the best so far.
    details : dict
        Values of one particular solver, such as ``{"duality_gap": 1e-5}``.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.solvers import Result
    >>> counts = {"n_iter": 3, "n_evaluations": 4}
    >>> result = Result(np.zeros(1), 0.5, 1e-7, **counts, stop_reason="gradient below tol", is_converged=True)
    >>> result.is_converged, result.n_products
    (True, 0)
    """

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
    """Base class of the solvers.

    Attributes
    ----------
    name : str
        The string that selects the solver: ``solver="lbfgs"``.
    is_exact : bool
        Whether it reaches the minimum of a convex objective.

    Examples
    --------
    >>> from plackett.solvers import Solver, get_solver
    >>> solver = get_solver("lbfgs")
    >>> isinstance(solver, Solver), solver.name, solver.is_exact
    (True, 'lbfgs', True)
    """

    name: ClassVar[str]
    is_exact: ClassVar[bool] = True

    def check(self, objective: Minimizable) -> None:
        """Raise a ValueError if the solver cannot minimise the objective."""

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
        """Minimise an objective.

        Parameters
        ----------
        objective : Minimizable
        start : ndarray of shape (size,)
        max_iter : int
            Maximum number of iterations.
        tol : float
            Largest norm of the gradient at which the solver counts as converged, unless its class says otherwise.
        callback : callable, default=None
            Called with a ``Step`` after each iteration; a returned reason stops the solver.
        random_state : int, RandomState, Generator or None, default=None
        """
        self.check(objective)
        return self._search(objective, start, tol, random_state).run(max_iter, callback)

    @abstractmethod
    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        """Return the search at its start."""

    def _mismatch(self, needs: str, objective: Minimizable, reason: str, hint: str) -> ValueError:
        return ValueError(f'solver="{self.name}" needs {needs}; {objective.name} {reason}. Try {hint}.')

    def _check_deterministic(self, objective: Minimizable) -> None:
        if objective.is_random:
            raise self._mismatch("a deterministic loss", objective, "draws at random", 'solver="sgd"')


class Search:
    """A minimisation in progress: the current point, the counts of its ``Result``, and the loop over steps.

    Subclasses implement ``step``, and ``check`` or ``stall`` if they can converge.
    """

    n_iter = n_products = 0
    stop_reason = ""
    is_converged = is_interrupted = False

    def __init__(self, objective: Minimizable, start: np.ndarray):
        self.objective = objective
        self.coef = np.array(start, dtype=np.float64)
        self.value, self.gradient = objective.value_and_gradient(self.coef)
        self.n_evaluations = 1
        require_finite(self.value, self.gradient)

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    def step(self) -> bool:
        """Move to another point; return False if no point is left."""
        raise NotImplementedError

    def check(self) -> None:
        """Set the stop reason if the search is finished; called before the first step and after each one."""

    def stall(self) -> None:
        """Set the stop reason after a step that returned False."""
        self.stop_reason = STALLED

    def run(self, max_iter: int, callback: Callback | None = None) -> Result:
        """Step until the search is finished, ``max_iter`` is reached or the callback stops it."""
        try:
            while not self.stop_reason:
                self.check()
                if self.stop_reason:
                    break
                if self.n_iter >= max_iter:
                    self.stop_reason = MAX_ITER
                elif not self.step():
                    self.stall()
                else:
                    self.n_iter += 1
                    self.stop_reason = self.report(callback)
        except KeyboardInterrupt:
            self.stop_reason, self.is_interrupted = INTERRUPTED, True
        return self.result()

    def report(self, callback: Callback | None) -> str:
        """Call the callback; return its reason to stop, or an empty string."""
        if callback is None:
            return ""
        return callback(Step(self.n_iter, self.coef, self.value, self.gradient_norm)) or ""

    def result(self, **details: Any) -> Result:
        return Result(
            coef=self.coef,
            value=self.value,
            gradient_norm=self.gradient_norm,
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            n_products=self.n_products,
            stop_reason=self.stop_reason,
            is_converged=self.is_converged,
            is_interrupted=self.is_interrupted,
            details=details,
        )


def require_finite(value: float, gradient: np.ndarray) -> None:
    """Raise a ValueError if the objective is not finite at the start."""
    if not is_finite(value, gradient):
        raise ValueError("the objective is not finite at the start; use smaller coefficients, or scale the columns.")


def is_finite(value: float, gradient: np.ndarray) -> bool:
    """Return whether an evaluation can be used; too long a step overflows."""
    return bool(np.isfinite(value) and np.isfinite(gradient).all())
