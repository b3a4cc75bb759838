"""Rounds of another solver, for losses whose pair weights follow the ranks of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.solvers.base import Minimizable, Result, Search, Solver

MAX_ITER_OF_ROUND = 100
CHANGE = 0.01  # of the coefficients, relative to their norm, at which rounds end
SETTLED = "ranks settled"


class Rounds(Solver):
    """Hold the weights at the current ranks, minimise, and update the weights, until the coefficients settle.

    Such an objective does not decrease steadily: ranks jump, and full steps end up alternating between two solutions.
    Round t therefore moves 1/t of the way to its minimum, so that the coefficients are the mean of all minima so far.
    It counts as converged when a round changes the coefficients by at most a hundredth of their norm. ``max_iter``
    counts rounds, in each of which ``solver`` minimises the objective with its weights held.
    """

    name = "rounds"

    def __init__(self, solver: Solver):
        self.solver = solver

    def check(self, objective: Minimizable) -> None:
        self.solver.check(objective)

    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        return _Rounds(objective, start, self.solver, tol)


class _Rounds(Search):
    def __init__(self, objective: Minimizable, start: np.ndarray, solver: Solver, tol: float):
        super().__init__(objective, start)
        self.solver, self.tol, self.change = solver, tol, np.inf

    def step(self) -> bool:
        held = self.objective.held_at(self.coef)
        found: Result = self.solver.minimize(held, self.coef, max_iter=MAX_ITER_OF_ROUND, tol=self.tol)
        self.n_evaluations += found.n_evaluations + 1
        self.n_products += found.n_products
        if found.is_interrupted:
            raise KeyboardInterrupt
        step = (found.coef - self.coef) / (self.n_iter + 1)
        self.coef, self.change = self.coef + step, float(np.linalg.norm(step))
        self.value, self.gradient = self.objective.value_and_gradient(self.coef)
        return True

    def check(self) -> None:
        if self.change <= CHANGE * np.linalg.norm(self.coef):
            self.stop_reason, self.is_converged = SETTLED, True
