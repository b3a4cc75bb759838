"""Many small pairwise problems, each solved from beginning to end in compiled code.

A problem belongs to one target query: the documents of its neighbours, each neighbour with a weight, and

    Σ_q c_q Σ_pairs L(w·(x_i - x_j)) + linear·w + (l2 / 2) ‖w‖²

over the pairs in which i is better than j. Hundreds of such problems share the documents; one of them takes some
milliseconds, far less than a solver in Python would spend on its own bookkeeping.

Steps are Newton's, by conjugate gradients with a diagonal preconditioner. The hinge is rounded over a width that
shrinks until the duality gap is small enough. psi, which is ``hinge(u) - max(0, -u)``, is solved by the concave-convex
procedure: the second part is replaced by its tangent, again and again; no round can raise the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from plackett.losses._pair_curvature import find_active, product
from plackett.losses._pair_sums import BEND, HINGE, RAMP, pair_sums
from plackett.losses._pairwise import logistic, logistic_curvature
from plackett.scorers._linear import pull_back_dense, score_dense

HINGE_LOSS, LOGISTIC_LOSS, PSI_LOSS = 0, 1, 2
FIRST_WIDTH = 0.5  # of the rounded kink
SETTLED = 0.3  # share of the gap that may be due to the gradient when the width shrinks
LEAST_WIDTH = 1e-6
SLOPE_AT_KINK = 0.25  # second derivative of the loss, about: as many pairs are within a width of the kink
LOOSE = 0.25  # residual of the conjugate gradients, relative to the gradient
ENOUGH = 1e-4  # share of the promised fall that a step must bring
FLAT = 0.5  # share of its slope that may be left where a search along a step ends
MOST_CUTS = 60
MOST_IDLE = 2  # steps in a row that bring no fall
REACH = 10.0  # times the largest score: what a search along a step first changes the scores by, at most
ROUNDING = 1e-14  # share of a sum over pairs that may be rounding
MOST_ROUNDS = 50  # of the concave-convex procedure
CONVERGED, OUT_OF_STEPS, STALLED = 0, 1, 2
VALUE, GAP, STEPS, STATUS = 0, 1, 2, 3  # what is known of a solution


class Part(NamedTuple):
    """The documents of a target's neighbours, in label order within each of them, and the plan of their pairs."""

    X: np.ndarray
    order: np.ndarray
    indptr: np.ndarray
    run_end: np.ndarray
    steps: np.ndarray
    step_indptr: np.ndarray
    n_stored: int
    weights: np.ndarray


class Data(NamedTuple):
    """All training documents in label order within their queries, and the plan of their pairs."""

    X: np.ndarray
    indptr: np.ndarray
    run_end: np.ndarray
    steps: np.ndarray
    step_indptr: np.ndarray


@njit(cache=True, nogil=True)
def _gather(data, queries, weights):
    """The part of the data that these queries have, in float64."""
    n_docs, n_steps = 0, 0
    for k in range(queries.size):
        n_docs += data.indptr[queries[k] + 1] - data.indptr[queries[k]]
        n_steps += data.step_indptr[queries[k] + 1] - data.step_indptr[queries[k]]
    X = np.empty((n_docs, data.X.shape[1]))
    indptr, step_indptr = np.zeros(queries.size + 1, np.int64), np.zeros(queries.size + 1, np.int64)
    run_end, steps = np.empty(n_docs, np.int32), np.empty((n_steps, 4), np.int64)
    n_stored = 0
    for k in range(queries.size):
        first, last = data.indptr[queries[k]], data.indptr[queries[k] + 1]
        start = indptr[k]
        indptr[k + 1] = start + last - first
        for i in range(last - first):
            run_end[start + i] = data.run_end[first + i]
            row, given = X[start + i], data.X[first + i]
            for j in range(row.size):
                row[j] = given[j]
        first, last = data.step_indptr[queries[k]], data.step_indptr[queries[k] + 1]
        start = step_indptr[k]
        step_indptr[k + 1] = start + last - first
        for s in range(last - first):
            for column in range(3):
                steps[start + s, column] = data.steps[first + s, column]
            steps[start + s, 3] = n_stored
            if steps[start + s, 1] > steps[start + s, 0]:  # a crossing
                n_stored += steps[start + s, 2] - steps[start + s, 0]
    return Part(X, np.arange(n_docs), indptr, run_end, steps, step_indptr, n_stored, weights.copy())


@njit(inline="always")
def _sums(kind, width, part, weights, scores, losses, slope):
    pair_sums(
        kind, width, scores, part.order, part.indptr, part.run_end, part.steps, part.step_indptr, weights, losses, slope
    )
    return losses.sum()


class _State(NamedTuple):
    """A point, and what is known of it; arrays that are written over."""

    coef: np.ndarray
    gradient: np.ndarray
    scores: np.ndarray


@njit(inline="always")
def _evaluate(is_hinge, width, part, l2, linear, losses, slope, state):
    """The value at ``state.coef``; its scores and gradient are written."""
    score_dense(part.X, state.coef, 0.0, state.scores)
    if is_hinge:
        value = _sums(BEND, width, part, part.weights / width, state.scores, losses, slope)
    else:
        logistic(state.scores, part.order, part.indptr, part.run_end, part.weights, losses, slope)
        value = losses.sum()
    for j in range(state.coef.size):
        state.gradient[j] = l2 * state.coef[j] + linear[j]
        value += (0.5 * l2 * state.coef[j] + linear[j]) * state.coef[j]
    pull_back_dense(part.X, slope, state.gradient)
    return value


@njit(cache=True, nogil=True)
def _direction(is_hinge, width, part, l2, state, scale, accuracy, slope):
    """Newton's direction by conjugate gradients, up to a residual of ``accuracy`` times the gradient; its scores."""
    n, size = part.X.shape
    weights = part.weights
    values, counts = np.empty(n), np.empty(n)
    places, begins = np.empty(part.n_stored, np.int32), np.empty(part.n_stored, np.int32)
    ends = np.empty(part.n_stored, np.int32)
    diagonal = np.empty(0)
    if is_hinge:
        weights = part.weights / width
        find_active(
            True, width, state.scores, part.order, part.indptr, part.run_end, part.steps, part.step_indptr,
            values, counts, places, begins, ends,
        )  # fmt: skip
    else:
        diagonal = np.empty(n)
        logistic_curvature(
            state.scores, part.order, part.indptr, part.run_end, weights, np.empty(0), np.empty(0), diagonal
        )
    step, residual, along, bent = np.zeros(size), -state.gradient, np.empty(size), np.empty(size)
    moved, shift = np.empty(n), np.zeros(n)
    square = 0.0
    for j in range(size):
        along[j] = scale[j] * residual[j]
        square += along[j] * residual[j]
    first_square = square
    for _ in range(2 * size + 10):
        score_dense(part.X, along, 0.0, moved)
        if is_hinge:
            product(
                True, width, moved, part.order, part.indptr, part.run_end, part.steps, part.step_indptr, weights,
                slope, values, counts, places, begins, ends,
            )  # fmt: skip
        else:
            logistic_curvature(state.scores, part.order, part.indptr, part.run_end, weights, diagonal, moved, slope)
        for j in range(size):
            bent[j] = l2 * along[j]
        pull_back_dense(part.X, slope, bent)
        bend = along @ bent
        if not bend > 0.0:  # nothing is left of the gradient
            break
        length = square / bend
        before, square = square, 0.0
        for i in range(n):
            shift[i] += length * moved[i]
        for j in range(size):
            step[j] += length * along[j]
            residual[j] -= length * bent[j]
            square += scale[j] * residual[j] * residual[j]
        if square <= accuracy * accuracy * first_square:
            break
        ratio = square / before
        for j in range(size):
            along[j] = scale[j] * residual[j] + ratio * along[j]
    return step, shift


@njit(inline="always")
def _largest(values):
    """The largest magnitude."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, abs(values[i]))
    return largest


@njit(inline="always")
def _search(is_hinge, width, part, l2, linear, losses, slope, value, step, shift, first_slope, here):
    """A length between 0 and 1 at which the value is about as low as it gets along the step; 0 if there is none.

    The slope along the step rises from ``first_slope``, below 0, to above 0. It may do so within a hair's breadth,
    where a pair that is hardly active meets a weak penalty: secants, which are exact between two kinks, take turns with
    cuts of the interval.
    """
    scores = np.empty(shift.size)
    straight, bend = (l2 * here.coef + linear) @ step, l2 * (step @ step)
    first_loss = value - (0.5 * l2 * here.coef + linear) @ here.coef
    low, high, slope_low, slope_high = 0.0, 1.0, first_slope, np.inf
    length = min(0.5, REACH * (1.0 + _largest(here.scores)) / max(_largest(shift), 1e-300))
    for k in range(MOST_CUTS):
        for i in range(scores.size):
            scores[i] = here.scores[i] + length * shift[i]
        if is_hinge:
            _sums(BEND, width, part, part.weights / width, scores, losses, slope)
        else:
            logistic(scores, part.order, part.indptr, part.run_end, part.weights, losses, slope)
        slope_here = slope @ shift + straight + length * bend
        rise = losses.sum() - first_loss + length * (straight + 0.5 * length * bend)
        if abs(slope_here) <= -FLAT * first_slope and rise <= ENOUGH * length * first_slope:
            return length
        if slope_here <= 0.0:
            low, slope_low = length, slope_here
        else:
            high, slope_high = length, slope_here
        if k % 2 == 0 and slope_high < np.inf:
            length = low + (high - low) * (slope_low / (slope_low - slope_high))
        elif low < 0.01 * high:
            length = max(0.1 * high, 2.0 * low)
        else:
            length = 0.5 * (low + high)
        if not low < length < high:
            break
    return low


@njit(inline="always")
def _descend(is_hinge, width, part, l2, linear, losses, slope, value, step, shift, here, there):
    """Go along ``step`` to a lower value: ``there`` is the new point. Its value, and whether it is lower.

    A fall that rounding hides is known by the slope: where that has not risen much, the value has fallen.
    """
    first_slope = here.gradient @ step
    if not first_slope < 0.0:
        return value, False
    length = 1.0
    for k in range(2):
        for j in range(step.size):
            there.coef[j] = here.coef[j] + length * step[j]
        trial = _evaluate(is_hinge, width, part, l2, linear, losses, slope, there)
        if trial <= value + ENOUGH * length * first_slope:
            return trial, True
        if trial <= value + ROUNDING * abs(value) and there.gradient @ step <= -FLAT * first_slope:
            return trial, True
        if k == 0:
            length = _search(
                is_hinge, width, part, l2, linear, losses, slope, value, step, shift, first_slope, here
            )  # fmt: skip
        if length == 0.0:
            break
    return value, False


@njit(inline="always")
def _least_margin(part, scores):
    """The least difference of scores among the pairs; infinite without any."""
    least = np.inf
    for q in range(part.indptr.size - 1):
        start, n_docs = part.indptr[q], part.indptr[q + 1] - part.indptr[q]
        better, end = np.inf, 0  # the lowest score above the current run of equal labels, and where the run ends
        own = np.inf
        for i in range(n_docs):
            if i >= end:
                better, own, end = min(better, own), np.inf, part.run_end[start + i]
            own = min(own, scores[start + i])
            least = min(least, better - scores[start + i])
    return least


@njit(cache=True, nogil=True)
def _solve_convex(is_hinge, part, l2, linear, at_zero, scale, tol, max_steps, width, coef, losses, slope, known):
    """Minimise a convex problem from ``coef``, which is written over, until it is within ``tol`` of the minimum.

    ``width`` is the first; the last one is the answer. A start near the minimum must not be blurred away by a wide one:
    problems that follow each other begin with the width at which the one before ended.
    ``at_zero`` is the value of equal scores: a start that is worse is left for zeros.
    """
    n, size = part.X.shape
    here = _State(coef, np.empty(size), np.empty(n))
    there = _State(np.empty(size), np.empty(size), np.empty(n))
    n_steps, n_idle, status = 0, 0, CONVERGED
    value = _evaluate(is_hinge, width, part, l2, linear, losses, slope, here)
    if not value <= (at_zero * (1.0 - 0.5 * width) if is_hinge else at_zero):
        here.coef[:] = 0.0
        value = _evaluate(is_hinge, width, part, l2, linear, losses, slope, here)
    first_norm = np.sqrt(here.gradient @ (scale * here.gradient))
    best, lowest, bound = np.zeros(size), at_zero, 0.0  # the best coefficients, their value, and what none is below
    while True:
        of_gradient = (here.gradient @ here.gradient) / (2.0 * l2)
        settling = of_gradient + (abs(here.gradient @ here.coef) if is_hinge else 0.0)
        # where the gradient alone says more than is known already, the gap need not be computed
        if not is_hinge or settling <= SETTLED * max(lowest - bound, ROUNDING * at_zero) or n_steps >= max_steps:
            if is_hinge:
                exact, below = _bounds(width, part, l2, linear, here, losses, slope)
            else:
                exact, below = value, value - of_gradient
            bound = max(bound, below)
            if exact <= lowest * (1.0 + ROUNDING):  # what is no different is nearer, by its gradient
                lowest = exact
                best[:] = here.coef
            margin = _least_margin(part, here.scores) if is_hinge else 0.0
            if margin > 0.0 and margin < np.inf:  # all pairs in order: scaled to margins of 1 they have no loss
                scaled = (0.5 * l2 / margin * here.coef + linear) @ here.coef / margin
                if scaled < lowest:
                    lowest = scaled
                    best[:] = here.coef / margin
            bound = min(bound, lowest)
            target = tol * max(bound, 0.1 * lowest)
            # a gap that is no more than rounding says nothing; under a strong penalty, which hardly lets the value fall
            # below that of zeros, the gradient then tells how near the minimum is
            is_near = lowest - bound <= target
            if lowest - bound <= ROUNDING * at_zero:
                is_near = of_gradient <= target or lowest <= 0.5 * at_zero
            if is_near:
                break
            if is_hinge and settling <= SETTLED * (lowest - bound):
                if width <= LEAST_WIDTH:
                    status = STALLED
                    break
                # the rest is due to the width, and steps cannot mend it; the gap goes with its square
                width *= max(0.1, min(0.9, np.sqrt(0.5 * target / (lowest - bound))))
                value = _evaluate(is_hinge, width, part, l2, linear, losses, slope, here)
                continue
        if n_steps >= max_steps:
            status = OUT_OF_STEPS
            break
        norm = np.sqrt(here.gradient @ (scale * here.gradient))
        accuracy = LOOSE * min(1.0, np.sqrt(norm / max(first_norm, 1e-300)))
        step, shift = _direction(is_hinge, width, part, l2, here, scale, accuracy, slope)
        trial, is_lower = _descend(
            is_hinge, width, part, l2, linear, losses, slope, value, step, shift, here, there
        )  # fmt: skip
        n_steps += 1
        n_idle = 0 if trial < value else n_idle + 1
        if is_lower:
            here, there, value = there, here, trial
        if not is_lower or n_idle > MOST_IDLE:  # rounding hides what is left
            n_idle = 0
            if not is_hinge or width <= LEAST_WIDTH:
                status = STALLED
                break
            width *= 0.1
            value = _evaluate(is_hinge, width, part, l2, linear, losses, slope, here)
    coef[:] = best
    known[VALUE], known[GAP] = lowest, max(lowest - bound, 0.0)
    known[STEPS] += n_steps
    known[STATUS] = status
    return width


@njit(inline="always")
def _bounds(width, part, l2, linear, here, losses, slope):
    """The value with the kink, and a value that no coefficients are below.

    The slope of the rounded loss holds feasible dual variables β = c min(1, z / width), to which the coefficients
    ``coef - gradient / l2`` belong; what these say of the minimum from below is Σβ - (l2 / 2) ‖·‖².
    """
    value = _sums(HINGE, width, part, part.weights, here.scores, losses, slope)
    dual = _sums(RAMP, width, part, part.weights / width, here.scores, losses, slope)
    for j in range(here.coef.size):
        value += (0.5 * l2 * here.coef[j] + linear[j]) * here.coef[j]
        other = here.coef[j] - here.gradient[j] / l2
        dual -= 0.5 * l2 * other * other
    return value, dual


@njit(inline="always")
def _psi_value(part, l2, coef, scores, losses, slope):
    score_dense(part.X, coef, 0.0, scores)
    return _sums(RAMP, 1.0, part, part.weights, scores, losses, slope) + 0.5 * l2 * (coef @ coef)


@njit(inline="always")
def _solve_psi(part, l2, at_zero, scale, tol, max_steps, width, coef, losses, slope, known):
    """The concave-convex procedure from the hinge's solution, which ``coef`` holds."""
    n, size = part.X.shape
    scores, of_hinge, linear = np.empty(n), np.empty(n), np.empty(size)
    value = _psi_value(part, l2, coef, scores, losses, slope)
    is_done = False
    for _ in range(MOST_ROUNDS):
        # the tangent of -max(0, -u) pulls at the pairs in the wrong order, which the hinge moves and the ramp does not
        _sums(HINGE, 1.0, part, part.weights, scores, losses, of_hinge)
        _sums(RAMP, 1.0, part, part.weights, scores, losses, slope)
        for i in range(n):
            slope[i] -= of_hinge[i]
        linear[:] = 0.0
        pull_back_dense(part.X, slope, linear)
        trial = coef.copy()
        width = _solve_convex(
            True, part, l2, linear, at_zero, scale, tol, max_steps, width, trial, losses,
            slope, known,
        )  # fmt: skip
        below = _psi_value(part, l2, trial, scores, losses, slope)
        if below < value:
            coef[:] = trial
        is_done = not value - below > tol * value
        value = min(value, below)
        if is_done:
            break
    if not is_done:
        known[STATUS] = OUT_OF_STEPS
    known[VALUE], known[GAP] = value, np.nan  # not convex: nothing bounds the minimum


@njit(inline="always")
def _at_zero(loss, part, losses, slope):
    """The loss of equal scores, and the square of its gradient by the coefficients; 0 if that is but rounding."""
    n, size = part.X.shape
    scores, gradient, longest = np.zeros(n), np.zeros(size), 0.0
    if loss == LOGISTIC_LOSS:
        logistic(scores, part.order, part.indptr, part.run_end, part.weights, losses, slope)
    else:
        _sums(HINGE, 1.0, part, part.weights, scores, losses, slope)
    pull_back_dense(part.X, slope, gradient)
    for i in range(n):
        longest = max(longest, part.X[i] @ part.X[i])
    value, square = losses.sum(), gradient @ gradient
    return value, (square if square > (ROUNDING * value) ** 2 * longest else 0.0)


@njit(cache=True, nogil=True)
def solve_targets(loss, data, curvature, indptr, queries, weights, strengths, tol, max_steps, first, last, coef, known):
    """Solve the problems of targets ``first`` to ``last``, for falling strengths of the penalty.

    Target t has the neighbours ``queries[indptr[t]:indptr[t + 1]]`` with what one of their pairs counts in ``weights``.
    ``coef`` (strength, target, feature) holds a start in its first row and solutions in the end; ``known`` has the same
    shape but for ``VALUE, GAP, STEPS, STATUS`` in its last place. ``curvature`` says how strongly the columns are bent.
    """
    size = data.X.shape[1]
    scale, linear = np.empty(size), np.zeros(size)
    for t in range(first, last):
        part = _gather(data, queries[indptr[t] : indptr[t + 1]], weights[indptr[t] : indptr[t + 1]])
        losses, slope = np.empty(part.weights.size), np.empty(part.X.shape[0])
        convex = coef[0, t].copy()
        width = FIRST_WIDTH
        at_zero, square = _at_zero(loss, part, losses, slope)
        for s in range(strengths.size):
            l2 = strengths[s]
            known[s, t, :] = 0.0
            if square == 0.0:  # no pairs, or none whose documents differ: equal scores are best
                coef[s, t, :] = 0.0
                known[s, t, VALUE] = at_zero
                continue
            # under a strong penalty the minimum is hardly below the value at 0, by about square / (2 l2): what is asked
            # for is a share of that, lest 0 be near enough
            near = tol * min(1.0, square / (4.0 * l2 * at_zero))
            if s > 0 and known[s - 1, t, STEPS] <= 1.0:
                # so strong a penalty keeps all margins far from 1, where the loss is straight and its solution goes
                # with 1 / l2
                convex *= strengths[s - 1] / l2
            for j in range(size):
                scale[j] = 1.0 / (l2 + SLOPE_AT_KINK * curvature[j])
            width = _solve_convex(
                loss != LOGISTIC_LOSS, part, l2, linear, at_zero, scale, near, max_steps,
                width, convex, losses, slope, known[s, t],
            )  # fmt: skip
            coef[s, t] = convex
            if loss == PSI_LOSS:
                _solve_psi(part, l2, at_zero, scale, near, max_steps, width, coef[s, t], losses, slope, known[s, t])
