"""Examination probabilities and the prior of the attractiveness by marginal likelihood: attractiveness integrated out.

Examination probabilities that are estimated together with the attractiveness of many pairs, each with few impressions,
are biased however long the log is (neyman1948).
"""

from __future__ import annotations

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett.clicks.models.ascent import LEAST, Ascent
from plackett.clicks.models.collapse import Cells, summed
from plackett.clicks.models.priors import Prior

N_NODES = 16  # of the quadrature over an attractiveness; as in _native/clicks/models/cells.hpp
_kernels = _native.clicks


def maximise(
    blocks: list[Cells],
    looks: np.ndarray,
    shown: np.ndarray,
    attraction: np.ndarray,
    prior: Prior,
    *,
    n_sessions: int,
    max_iter: int,
    tol: float,
) -> Ascent:
    """Maximise the marginal likelihood over the examination probabilities and the prior, which is changed; L-BFGS.

    ``looks``, the probabilities to start from, and ``shown``, the impressions of each cell, leave out the first rank,
    whose probability is 1. ``attraction`` is set to the modes of the posteriors. The value is a mean over sessions;
    ``tol`` limits its slope at the end.
    """
    with importing:
        from scipy.optimize import minimize
        from scipy.special import betaln, digamma, expit, logit

    n_looks, n_pairs = looks.size, attraction.size
    is_shown = np.zeros(n_pairs, dtype=bool)
    for block in blocks:
        is_shown[block.pairs] = np.diff(block.indptr) > 0

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        chances = np.append(1.0, np.clip(expit(x[:n_looks]), LEAST, 1 - LEAST))
        prior.set(x[n_looks:])
        yes, no = prior.counts(n_pairs)
        value, expected, log_yes, log_no = _expect(blocks, chances, yes, no, attraction)
        penalty, pull = prior.penalty(x[n_looks:])
        look = chances[1:]
        value += float((prior.a * np.log(look) + prior.b * np.log1p(-look)).sum()) - penalty
        value -= float(betaln(yes, no)[is_shown].sum())
        by_look = expected[1:] + prior.a - (prior.a + prior.b + shown) * look
        by_sum = digamma(yes + no)
        by_yes, by_no = log_yes - digamma(yes) + by_sum, log_no - digamma(no) + by_sum
        by_prior = prior.slope(np.where(is_shown, by_yes, 0.0), np.where(is_shown, by_no, 0.0)) - pull
        return -value / n_sessions, -np.append(by_look, by_prior) / n_sessions

    start = np.append(logit(looks), prior.start())
    bounds = [(logit(LEAST), logit(1 - LEAST))] * n_looks + prior.bounds()
    history: list[float] = []
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=lambda intermediate_result: history.append(-float(intermediate_result.fun)),
        options={"maxiter": max_iter, "gtol": 0.1 * tol, "ftol": 1e-12, "maxcor": 20},
    )
    loss(found.x)  # leaves the prior and the modes of the best point
    prior.settle()
    return Ascent(np.clip(expit(found.x[:n_looks]), LEAST, 1 - LEAST), history, bool(found.status != 1))


def _expect(
    blocks: list[Cells], chances: np.ndarray, yes: np.ndarray, no: np.ndarray, attraction: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the value, expected examinations by cell, and expected logarithms of each attractiveness and its rest."""
    nodes, weights = np.polynomial.hermite.hermgauss(N_NODES)
    log_weights = np.log(weights) + nodes**2
    log_yes, log_no = np.zeros((2, attraction.size))

    def work(block: Cells) -> tuple[float, np.ndarray]:
        looks, own = np.zeros(chances.size), block.pairs
        parts = chances, yes[own], no[own], nodes, log_weights, attraction[own], log_yes[own], log_no[own], looks
        return _kernels.cells_marginal_pass(*block[1:], *parts), looks

    return *summed(work, blocks), log_yes, log_no
