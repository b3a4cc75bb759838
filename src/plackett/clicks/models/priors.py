"""Beta priors of the attractiveness: given, or estimated by marginal likelihood, with or without features."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.clicks.log import ClickLog
from plackett.validation import check_number

MAX_ROUNDS = 20
PAIRS_AT_MOST = 50_000  # that a prior is estimated from, spread evenly over all of them
LEAST_STRENGTH, LARGEST_STRENGTH = 1e-2, 1e5
RIDGE = 1e-3  # per feature, for features that separate
STRENGTH_SCALE = 1.5  # standard deviation of the log of the strength around log 2, for logs with few pairs


def start_prior(prior: Any, log: ClickLog) -> Prior:
    """Return the prior of the parameter ``prior`` of a click model, checked."""
    if isinstance(prior, str):
        if prior == "features" and log.features is None:
            raise ValueError('prior="features" needs a log with features; use log.with_features(...).')
        if prior not in ("fitted", "features"):
            raise ValueError(f'prior={prior!r}; it must be a tuple (a, b), "fitted" or "features".')
        return Prior(is_fitted=True, features=log.features if prior == "features" else None)
    try:
        a, b = prior
    except (TypeError, ValueError):
        raise ValueError(f'prior={prior!r}; it must be a tuple (a, b), "fitted" or "features".') from None
    return Prior(check_number(a, "prior[0]", least=0), check_number(b, "prior[1]", least=0))


def posterior_of(evidence: np.ndarray, mean: Any, strength: float) -> np.ndarray:
    """Return the parameters of the Beta posterior of each pair, given its clicks and skips."""
    return evidence + strength * np.stack(np.broadcast_arrays(mean, 1 - np.asarray(mean)), axis=-1)


def fitted_posterior(evidence: np.ndarray) -> np.ndarray:
    """Return ``posterior_of`` with a prior that is estimated from the evidence."""
    prior = Prior(is_fitted=True)
    prior.improve(evidence)
    return posterior_of(evidence, prior.mean, prior.strength)


class Prior:
    """A Beta prior of the attractiveness of pairs, with the other parameters' prior beside it.

    ``improve`` estimates it if ``is_fitted``; the mean is a logistic model of the ``features`` of the pairs, if any.
    """

    def __init__(self, a: float = 1.0, b: float = 1.0, *, is_fitted: bool = False, features: np.ndarray | None = None):
        self.a, self.b = a, b  # of all parameters but the attractiveness
        self.mean: Any = a / (a + b) if a + b > 0 else 0.5
        self.strength = a + b
        self.coef: np.ndarray | None = None
        self.scale: np.ndarray | None = None
        self._is_fitted, self._features, self._n_rounds = is_fitted, features, 0
        self._n_added = 0

    def counts(self, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a and b of the attractiveness of each pair."""
        mean = np.broadcast_to(np.asarray(self.mean, dtype=np.float64), n_pairs)
        return self.strength * mean, self.strength * (1 - mean)

    def improve(self, evidence: np.ndarray) -> bool:
        """Estimate the prior from the clicks and skips that each pair is worth; return whether it moved."""
        if not self._is_fitted or self._n_rounds == MAX_ROUNDS:
            return False
        before = self.strength, self.mean
        self._n_rounds += 1
        self._estimate(evidence)
        has_moved = abs(np.log(self.strength / before[0])) > 0.01 or np.max(np.abs(self.mean - before[1])) > 1e-3
        return bool(has_moved)

    def depend_on(self, column: np.ndarray) -> None:
        """Let the mean depend on a number of each pair as well."""
        rest = [] if self._features is None else [self._features]
        self._features, self._n_added = np.column_stack([column, *rest]), 1

    def of_features(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return coefficients and scale of the given features, for pairs that are new; None without features."""
        if self.coef is None or self.scale is None or self.scale.shape[1] == self._n_added:
            return None, None
        return np.append(self.coef[0], self.coef[1 + self._n_added :]), self.scale[:, self._n_added :]

    def settle(self) -> None:
        """Freeze the prior: ``improve`` no longer changes it."""
        self._is_fitted = False

    # --- Parameters: coefficients of the mean on the scale of log-odds, and the logarithm of the strength ------------

    def start(self) -> np.ndarray:
        """Return the first parameters."""
        n_features = 0 if self._features is None else self._features.shape[1]
        if self.coef is None:
            mean = float(np.clip(np.mean(self.mean), 1e-3, 1 - 1e-3))
            return np.r_[np.log(mean / (1 - mean)), np.zeros(n_features), np.log(2.0)]
        return np.append(self.coef, np.log(self.strength))

    def bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of the parameters."""
        n_coef = 1 if self._features is None else 1 + self._features.shape[1]
        return [(-20.0, 20.0)] * n_coef + [(np.log(LEAST_STRENGTH), np.log(LARGEST_STRENGTH))]

    def set(self, parameters: np.ndarray) -> None:
        """Set mean and strength."""
        with importing:
            from scipy.special import expit

        self.coef, self.strength = parameters[:-1].copy(), float(np.exp(parameters[-1]))
        if self._features is None:
            self.mean = float(expit(self.coef[0]))
        else:
            self.mean = self.means_of(self._features, self.coef, self._scale())

    def penalty(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what keeps coefficients and strength finite, and its slope.

        The mean has a flat prior between 0 and 1 on the scale of log-odds: one click and one skip more, in all pairs.
        """
        away = np.append(parameters[:-1], parameters[-1] - np.log(2.0))
        pull = np.r_[0.0, np.full(parameters.size - 2, RIDGE), 1 / STRENGTH_SCALE**2] * away
        value = 0.5 * (pull * away).sum() + np.logaddexp(0, parameters[0]) + np.logaddexp(0, -parameters[0])
        pull[0] += np.tanh(parameters[0] / 2)
        return float(value), pull

    def slope(self, by_a: np.ndarray, by_b: np.ndarray) -> np.ndarray:
        """Return the slope of a sum over pairs by the parameters, given those by a and b of each pair."""
        mean = np.broadcast_to(np.asarray(self.mean, dtype=np.float64), by_a.size)
        design = _design(self._features, self.scale, by_a.size)
        by_mean = design.T @ ((by_a - by_b) * self.strength * mean * (1 - mean))
        return np.append(by_mean, (self.strength * (by_a * mean + by_b * (1 - mean))).sum())

    def _scale(self) -> np.ndarray | None:
        if self._features is not None and self.scale is None:
            spread = self._features.std(axis=0)
            self.scale = np.stack([self._features.mean(axis=0), np.where(spread > 0, spread, 1.0)])
        return self.scale

    def _estimate(self, evidence: np.ndarray) -> None:
        """Maximise the marginal likelihood of clicks and skips, as if all of them were examined; of some pairs."""
        with importing:
            from scipy.optimize import minimize
            from scipy.special import betaln, digamma

        informed = np.flatnonzero(evidence.sum(axis=1) > 1e-9)
        if not informed.size:
            return
        chosen = informed[:: -(-informed.size // PAIRS_AT_MOST)]
        yes, no = evidence[chosen].T
        some = Prior(self.a, self.b, is_fitted=True)
        some._features, some.scale = None if self._features is None else self._features[chosen], self._scale()

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            some.set(parameters)
            a, b = some.counts(chosen.size)
            by_sum = digamma(a + b) - digamma(a + b + yes + no)
            slope = some.slope(digamma(a + yes) - digamma(a) + by_sum, digamma(b + no) - digamma(b) + by_sum)
            penalty, pull = some.penalty(parameters)
            value = (betaln(a + yes, b + no) - betaln(a, b)).sum() - penalty
            return -value / chosen.size, (pull - slope) / chosen.size

        start = self.start()
        if self.coef is None:
            start[0] = np.log((yes.sum() + 1) / (no.sum() + 1))
        options = {"gtol": 1e-7, "ftol": 1e-12}
        self.set(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=self.bounds(), options=options).x)

    @staticmethod
    def means_of(features: np.ndarray, coef: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
        """Return the prior mean of pairs with these features."""
        with importing:
            from scipy.special import expit

        return expit(_design(features, scale, features.shape[0]) @ coef)


def _design(features: np.ndarray | None, scale: np.ndarray | None, n: int) -> np.ndarray:
    if features is None or scale is None:
        return np.ones((n, 1))
    return np.column_stack([np.ones(n), (features - scale[0]) / scale[1]])
