"""Maximisation over the few parameters that no pair owns, with those of the pairs inside each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

LEAST = 1e-6  # probabilities stay within [LEAST, 1 - LEAST]
NEARER = 0.5  # an extrapolation may come this much nearer to 0 or 1; at the bounds EM would hardly move
LONGEST_STEP = 2.0  # of Newton's method, in log-odds
MEMORY = 10  # steps that an extrapolation looks back
ROUNDING = 1e-12  # relative; a likelihood that falls by less did not fall


class Ascent(NamedTuple):
    """The result of ``ascend``."""

    globals: np.ndarray
    history: list[float]
    converged: bool


def ascend(
    step: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    state: Sequence[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    least_gain: float,
    newton: Callable[[np.ndarray, np.ndarray, float], np.ndarray] | None = None,
) -> Ascent:
    """Maximise a likelihood by EM steps, accelerated by Newton's method or by Anderson's extrapolation (walker2011).

    An accelerated step is kept only if the likelihood does not fall; else the EM step is taken, after which it cannot
    fall.

    ``step(globals)`` improves the arrays of ``state``, the parameters of the pairs, in place, and returns the
    likelihood and the EM update of the globals. ``newton(globals, update, reach)`` returns the point to try, no further
    away than ``reach`` in log-odds; None extrapolates. The ascent ends when an EM update moves no global by more than
    ``tol`` and the likelihood rises by less than ``least_gain``.
    """
    here, history = start, []
    points: list[np.ndarray] = []
    moves: list[np.ndarray] = []
    value, update = step(here)
    history.append(value)
    converged, reach = False, LONGEST_STEP
    while len(history) < max_iter and not converged:
        points, moves = [*points[-MEMORY:], here], [*moves[-MEMORY:], update - here]
        there = _extrapolate(points, moves) if newton is None else newton(here, update, reach)
        there = np.clip(there, NEARER * update, 1 - NEARER * (1 - update))
        before = [values.copy() for values in state]
        new_value, new_update = step(there)
        if new_value < value - ROUNDING * abs(value) and not np.array_equal(there, update):
            for values, old in zip(state, before, strict=True):
                values[...] = old
            there, points, moves, reach = update, [], [], reach / 8
            new_value, new_update = step(there)
        reach = min(2 * reach, LONGEST_STEP)
        gain, here, value, update = new_value - value, there, new_value, new_update
        history.append(value)
        converged = gain <= least_gain and np.abs(update - here).max(initial=0.0) <= tol
    return Ascent(here, history, converged)


def _extrapolate(points: list[np.ndarray], moves: list[np.ndarray]) -> np.ndarray:
    last, move = points[-1], moves[-1]
    if len(points) == 1 or not last.size:
        return last + move
    past_points, past_moves = np.diff(points, axis=0).T, np.diff(moves, axis=0).T
    weights = np.linalg.lstsq(past_moves, move, rcond=1e-10)[0]
    return last + move - (past_points + past_moves) @ weights
