"""Boosting of one query for ranking refinement, without a matrix over pairs.

Documents are numbered by rising base score. With F the scores so far and s the sum of all weights α,

    up = e^F,  down = e^(s - F),  base_up = W up,  base_down = W down,

so that each α > 0 multiplies entries and adds positive products: nothing cancels, whatever the number of rounds. The
feedback of labels is given as the judged documents in the order of their labels, that of explicit pairs as a list.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numba import njit

N_TERMS = 20
TIE = 1e-12  # sums that differ by less, relative to all pair weights, are equal: their order of adding up differs
LARGEST_RATIO = 1e12  # of μ to ν: a stump that errs nowhere gets the weight ½ ln of this, 13.8
LARGEST_SUM = 300.0  # of all weights α: beyond it a product e^(F_j) e^(s - F_i), up to e^2s, nears the largest number


def _falling_terms(n: int) -> tuple[np.ndarray, float]:
    """Coefficients c of ``1 / (1 + e^t) ≈ Σ_k c_k e^(-kt)``, k = 1..n, t ≥ 0, and the bound of their relative error.

    With z = e^-t and the Chebyshev polynomial ``P(z) = T_n(1 - 2z)``, which stays within ±1 on [0, 1],
    ``(P(-1) - P(z)) / (P(-1) (1 + z))`` is a polynomial in z, and off from ``1 / (1 + z)`` by ``P(z) / P(-1)`` of it.
    """
    before, last = [1], [1, -2]
    for _ in range(n - 1):
        twice = [2 * a for a in last] + [0]
        for power, a in enumerate(last):
            twice[power + 1] -= 4 * a
        for power, a in enumerate(before):
            twice[power] -= a
        before, last = last, twice
    peak = sum(a * (-1) ** power for power, a in enumerate(last))  # T_n(3)
    rest = [-a for a in last]
    rest[0] += peak
    quotient = [0] * n
    for power in range(n, 0, -1):  # division by 1 + z, which leaves no remainder
        quotient[power - 1] = rest[power]
        rest[power - 1] -= rest[power]
    return np.array([float(Fraction(a, peak)) for a in quotient]), 1.0 / peak


TERMS, TERMS_ERROR = _falling_terms(N_TERMS)


# ---- products with W -------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def fill_powers(steps, powers):
    """``powers[i, k] = e^(-(k + 1) steps[i])``, ``steps[i]`` being the distance from document i - 1 to i."""
    for i in range(steps.size):
        one = np.exp(-steps[i])
        power = 1.0
        for k in range(N_TERMS):
            power *= one
            if power < 1e-290:  # numbers near the smallest ones are slow
                power = 0.0
            powers[i, k] = power


@njit(cache=True, nogil=True)
def _running_sums(values, sums):
    """``sums[i]`` = values up to i, added up in blocks: one long sum of equal values errs the same way every time."""
    before = 0.0
    for start in range(0, values.size, 256):
        block = 0.0
        for i in range(start, min(start + 256, values.size)):
            block += values[i]
            sums[i] = before + block
        before += block


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def multiply(powers, first, second, of_first, of_second):
    """``of_first = W first`` and ``of_second = W second``: one sweep up and one down the sorted base scores.

    ``W_ij = 1 - r(g_i - g_j)`` for the documents j up to i and ``r(g_j - g_i)`` for those above, r as in
    ``_falling_terms``; a term of r is a sum that decays from document to document.
    """
    n = first.size
    flat = powers.reshape(-1)
    terms = TERMS.copy()  # a constant would be read again for every document
    sums = np.zeros(N_TERMS)
    others = np.zeros(N_TERMS)
    _running_sums(first, of_first)
    _running_sums(second, of_second)
    for i in range(n):
        v = first[i]
        u = second[i]
        row = flat[i * N_TERMS : (i + 1) * N_TERMS]
        a = 0.0
        b = 0.0
        for k in range(N_TERMS):
            one = sums[k] * row[k] + v
            other = others[k] * row[k] + u
            sums[k] = one
            others[k] = other
            a += terms[k] * one
            b += terms[k] * other
        of_first[i] -= a
        of_second[i] -= b
    sums[:] = 0.0
    others[:] = 0.0
    for i in range(n - 1, 0, -1):
        v = first[i]
        u = second[i]
        row = flat[i * N_TERMS : (i + 1) * N_TERMS]
        a = 0.0
        b = 0.0
        for k in range(N_TERMS):
            one = (sums[k] + v) * row[k]
            other = (others[k] + u) * row[k]
            sums[k] = one
            others[k] = other
            a += terms[k] * one
            b += terms[k] * other
        of_first[i - 1] += a
        of_second[i - 1] += b


# ---- weights of documents --------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _pair_pulls(up, down, judged, levels, better, worse, pulls):
    """Of each document, ``e^(F_j - F_i)`` over feedback pairs in which it is better less those in which it is worse.

    Returns the sum over all feedback pairs.
    """
    pulls[:] = 0.0
    total = 0.0
    below = 0.0
    for level in range(levels.size - 1):
        for place in range(levels[level], levels[level + 1]):
            i = judged[place]
            pulls[i] += down[i] * below
            total += down[i] * below
        for place in range(levels[level], levels[level + 1]):
            below += up[judged[place]]
    above = 0.0
    for level in range(levels.size - 2, -1, -1):
        for place in range(levels[level], levels[level + 1]):
            i = judged[place]
            pulls[i] -= up[i] * above
        for place in range(levels[level], levels[level + 1]):
            above += down[judged[place]]
    for pair in range(better.size):
        amount = down[better[pair]] * up[worse[pair]]
        pulls[better[pair]] += amount
        pulls[worse[pair]] -= amount
        total += amount
    return total


@njit(cache=True, nogil=True)
def weigh(up, down, base_up, base_down, judged, levels, better, worse, eta, gamma, pulls):
    """``pulls[i] = Σ_j γ_ij - γ_ji`` over the sum of all γ. Returns the factors of W's and T's pairs, err_w and err_t.

    The latter two are e^s times too large. ``gamma < 0`` stands for the multiplicative objective, whose factors are
    one over the sums; else they are ``gamma`` and 1.
    """
    of_pairs = _pair_pulls(up, down, judged, levels, better, worse, pulls)
    all_up = up.sum()
    all_down = down.sum()
    err_w = 0.0
    for i in range(up.size):
        err_w += down[i] * base_up[i]
    err_t = 0.5 * eta * all_up * all_down + (1.0 - eta) * of_pairs
    of_w = gamma
    of_t = 1.0
    if gamma < 0.0:
        of_w = 1.0 / err_w
        of_t = 1.0 / err_t if err_t > 0.0 else 0.0  # eta = 0 and no feedback: T is empty
    whole = of_w * err_w + of_t * err_t
    if whole <= 0.0:  # neither the base ranker nor the feedback counts
        pulls[:] = 0.0
        return of_w, of_t, err_w, err_t
    for i in range(up.size):
        of_base = down[i] * base_up[i] - up[i] * (all_down - base_down[i])
        of_rest = 0.5 * eta * (down[i] * all_up - up[i] * all_down)
        pulls[i] = (of_w * of_base + of_t * (of_rest + (1.0 - eta) * pulls[i])) / whole  # one bound serves both
    pulls -= pulls.mean()  # their sum is 0 but for rounding, and stumps count on it
    return of_w, of_t, err_w, err_t


@njit(cache=True, nogil=True)
def _pairs_across(up, down, judged, levels, better, worse, is_up, side):
    """``Σ e^(F_j - F_i)`` over the feedback pairs i ≻ j with i on ``side`` and j on the other."""
    total = 0.0
    below = 0.0
    for level in range(levels.size - 1):
        for place in range(levels[level], levels[level + 1]):
            i = judged[place]
            if is_up[i] == side:
                total += down[i] * below
        for place in range(levels[level], levels[level + 1]):
            i = judged[place]
            if is_up[i] != side:
                below += up[i]
    for pair in range(better.size):
        if is_up[better[pair]] == side and is_up[worse[pair]] != side:
            total += down[better[pair]] * up[worse[pair]]
    return total


@njit(cache=True, nogil=True)
def boost(is_up, powers, up, down, base_up, base_down, judged, levels, better, worse, eta, of_w, of_t, parts):
    """μ, ν and α of a weak classifier, by whose α the state is moved; it stays where it is if α is not positive.

    ``parts`` are four vectors to work in.
    """
    n = up.size
    own_up, own_down, base_own_up, base_own_down = parts[0], parts[1], parts[2], parts[3]
    for i in range(n):
        own_up[i] = up[i] if is_up[i] else 0.0
        own_down[i] = 0.0 if is_up[i] else down[i]
    multiply(powers, own_up, own_down, base_own_up, base_own_down)
    right = 0.0
    wrong = 0.0
    up_there = 0.0
    up_here = 0.0
    down_there = 0.0
    down_here = 0.0
    for i in range(n):
        if is_up[i]:
            right += down[i] * (base_up[i] - base_own_up[i])
            up_there += up[i]
            down_there += down[i]
        else:
            wrong += down[i] * base_own_up[i]
            up_here += up[i]
            down_here += down[i]
    half = 0.5 * eta
    rest = 1.0 - eta
    mu = of_w * max(right, 0.0) + of_t * (
        half * down_there * up_here + rest * _pairs_across(up, down, judged, levels, better, worse, is_up, True)
    )
    nu = of_w * max(wrong, 0.0) + of_t * (
        half * down_here * up_there + rest * _pairs_across(up, down, judged, levels, better, worse, is_up, False)
    )
    if mu <= nu:
        return mu, nu, 0.0
    alpha = 0.5 * np.log(min(mu / nu, LARGEST_RATIO)) if nu > 0.0 else 0.5 * np.log(LARGEST_RATIO)
    factor = np.exp(alpha)
    grown = factor - 1.0  # not expm1: it must be what the factor does to the entries
    for i in range(n):
        if is_up[i]:
            up[i] *= factor
        else:
            down[i] *= factor
        base_up[i] += grown * base_own_up[i]
        base_down[i] += grown * base_own_down[i]
    return mu, nu, alpha


# ---- decision stumps -------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def mark_steps(columns, order, is_step):
    """``is_step[f, place]``: the next larger value of feature f is another one, so that a threshold lies between."""
    for f in range(order.shape[0]):
        values = columns[f]
        places = order[f]
        for place in range(places.size - 1):
            is_step[f, place] = values[places[place]] != values[places[place + 1]]
        is_step[f, places.size - 1] = False


@njit(cache=True, nogil=True)
def best_stump(pulls, order, is_step, largest):
    """Feature, place and θ of the stump with the largest θ; the sum of the pulls up to the place is -θ for ``above``.

    The documents above a threshold and those below pull against each other, as all pulls sum to 0. Of equal stumps the
    one with the smaller feature number, then with the smaller threshold. ``largest`` has a place for every feature. The
    place is -1 if no stump is better than none.
    """
    best = 0.0
    n = pulls.size
    half = n // 2
    for f in range(order.shape[0]):
        low, low_steps = order[f, :half], is_step[f, :half]
        high, high_steps = order[f, half:], is_step[f, half:]
        below = 0.0
        above = 0.0
        most = 0.0
        for place in range(half):  # from both ends, as a sum must wait for the one before it
            below += pulls[low[place]]
            size = abs(below) if low_steps[place] else 0.0
            most = size if size > most else most
            back = n - half - 1 - place
            size = abs(above) if high_steps[back] else 0.0
            most = size if size > most else most
            above += pulls[high[back]]
        if half < n - half and high_steps[0]:  # the one in the middle
            most = max(most, abs(above))
        largest[f] = most
        best = max(best, most)
    if best <= TIE:
        return 0, -1, 0.0
    for f in range(order.shape[0]):
        if largest[f] >= best - TIE:
            places = order[f]
            steps = is_step[f]
            below = 0.0
            for place in range(places.size):
                below += pulls[places[place]]
                if steps[place] and abs(below) >= best - TIE:
                    return f, place, below
    return 0, -1, 0.0


@njit(cache=True, nogil=True)
def boost_stumps(
    n_rounds, columns, order, is_step, powers, judged, levels, better, worse, eta, gamma,
    features, thresholds, is_above, history, scores,
):  # fmt: skip
    """All rounds with exact stumps. Returns how many there were; row t of ``history`` is the state after t rounds.

    Its columns: α, θ, μ, ν of the round, then err_w and err_t after it.
    """
    n = scores.size
    up = np.ones(n)
    down = np.ones(n)
    base_up = np.empty(n)
    base_down = np.empty(n)
    parts = np.empty((4, n))
    pulls = np.empty(n)
    is_up = np.empty(n, dtype=np.bool_)
    largest = np.empty(order.shape[0])
    multiply(powers, up, down, base_up, base_down)
    scores[:] = 0.0
    shift = 0.0
    history[0, :4] = 0.0
    for t in range(n_rounds + 1):
        of_w, of_t, err_w, err_t = weigh(up, down, base_up, base_down, judged, levels, better, worse, eta, gamma, pulls)
        history[t, 4] = err_w * np.exp(-shift)
        history[t, 5] = err_t * np.exp(-shift)
        if t == n_rounds or shift > LARGEST_SUM:
            return t
        f, place, below = best_stump(pulls, order, is_step, largest)
        if place < 0:
            return t
        places = order[f]
        side = below < 0.0
        for p in range(n):
            is_up[places[p]] = (p > place) == side
        mu, nu, alpha = boost(
            is_up, powers, up, down, base_up, base_down, judged, levels, better, worse, eta, of_w, of_t, parts
        )
        if alpha <= 0.0:
            return t
        for i in range(n):
            if is_up[i]:
                scores[i] += alpha
        shift += alpha
        scale = 1.0 if gamma < 0.0 else np.exp(alpha - shift)  # μ and ν of the linear objective were e^s too large
        low = columns[f, places[place]]
        high = columns[f, places[place + 1]]
        middle = 0.5 * low + 0.5 * high
        features[t] = f
        thresholds[t] = middle if middle < high else low  # neighbours among the floats
        is_above[t] = side
        history[t + 1, 0] = alpha
        history[t + 1, 1] = (mu - nu) * scale
        history[t + 1, 2] = mu * scale
        history[t + 1, 3] = nu * scale
    return n_rounds


@njit(cache=True, nogil=True)
def add_stumps(X, features, thresholds, is_above, alphas, first, last, scores):
    """Add to the scores of rows what the rounds ``first`` to ``last`` give them, in the order of the rounds."""
    for t in range(first, last):
        f = features[t]
        for i in range(scores.size):
            if (X[i, f] > thresholds[t]) == is_above[t]:
                scores[i] += alphas[t]
