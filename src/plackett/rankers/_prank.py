"""One pass of PRank over the documents, in the order given."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def _pull_thresholds(score, level, step, thresholds, moved):
    """Move the thresholds on whose wrong side a score lies; the pull on the coefficients, and the levels missed by.

    ``level`` counts from 0: the score belongs at or above the first ``level`` thresholds and below the others.
    """
    guess = 0
    while guess < thresholds.size and score >= thresholds[guess]:
        guess += 1
    if guess == level:
        return 0.0, 0
    pull = 0.0
    for r in range(thresholds.size):
        side = 1.0 if r < level else -1.0
        if side * (score - thresholds[r]) <= 0.0:
            pull += side
            thresholds[r] -= side
            moved[r] -= side * step
    return pull, abs(guess - level)


@njit(cache=True, nogil=True)
def pass_dense(X, levels, order, step, coef, moved_coef, thresholds, moved):
    """Steps ``step``, ``step + 1``, …; ``moved`` sums each change times its step, from which the mean follows."""
    missed = 0
    for i in order:
        score = 0.0
        for j in range(coef.size):
            score += X[i, j] * coef[j]
        pull, error = _pull_thresholds(score, levels[i], step, thresholds, moved)
        missed += error
        if pull != 0.0:
            for j in range(coef.size):
                change = pull * X[i, j]
                coef[j] += change
                moved_coef[j] += change * step
        step += 1.0
    return missed


@njit(cache=True, nogil=True)
def pass_sparse(data, indices, row_ptr, levels, order, step, coef, moved_coef, thresholds, moved):
    missed = 0
    for i in order:
        score = 0.0
        for place in range(row_ptr[i], row_ptr[i + 1]):
            score += data[place] * coef[indices[place]]
        pull, error = _pull_thresholds(score, levels[i], step, thresholds, moved)
        missed += error
        if pull != 0.0:
            for place in range(row_ptr[i], row_ptr[i + 1]):
                change = pull * data[place]
                coef[indices[place]] += change
                moved_coef[indices[place]] += change * step
        step += 1.0
    return missed
