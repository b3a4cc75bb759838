"""Means of values by people for some queries and a model for all: prediction-powered inference (angelopoulos2023)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from plackett.validation import check_choice, check_number

LIKE_THESE, THIS_SET = "queries like these", "this set of queries"
ESTIMANDS = (LIKE_THESE, THIS_SET)
INTERVALS = ("studentised", "normal")
N_DRAWS = 1999
LEAST_SPREAD = 0.5  # of a resample, by that of the sample: of few differing queries almost none may be drawn
COLUMNS = 400  # at a time


class Estimates(NamedTuple):
    """Means by column, with intervals and two-sided p-values of the mean 0.

    ``weight`` is what the model's values are multiplied by; 0 uses people alone.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    weight: np.ndarray


class Sample(NamedTuple):
    """Queries judged by people, out of a set that the model judged: values by query and column."""

    people: np.ndarray
    model: np.ndarray  # of the same queries
    others: np.ndarray  # by the model, of the queries that people did not judge
    chances: np.ndarray  # the probability with which each query was chosen for people

    @classmethod
    def at_random(cls, people: np.ndarray, model: np.ndarray, others: np.ndarray) -> Sample:
        """Return a sample in which every query had the same chance."""
        n = people.shape[0]
        return cls(people, model, others, np.full(n, n / (n + others.shape[0])))

    @property
    def size(self) -> int:
        """The number of queries of the set."""
        return self.people.shape[0] + self.others.shape[0]

    @property
    def model_mean(self) -> np.ndarray:
        """The means of the model's values over all queries of the set."""
        return (self.model.sum(axis=0) + self.others.sum(axis=0)) / self.size

    def columns(self, which: slice) -> Sample:
        """Return some of the columns."""
        return Sample(self.people[:, which], self.model[:, which], self.others[:, which], self.chances)


class Moments(NamedTuple):
    """Means of people's and of the model's values, the weight, and the standard error of the corrected mean."""

    people: np.ndarray
    model: np.ndarray
    weight: np.ndarray
    error: np.ndarray


def corrected_means(
    sample: Sample,
    *,
    estimand: str = LIKE_THESE,
    weight: float | None = None,
    interval: str = "studentised",
    level: float = 0.95,
    random_state: int = 0,
) -> Estimates:
    """Return means with people's values where there are any, and the model's for the other queries.

    The mean of people's values is moved by ``weight`` times the difference of the model's mean over all queries and
    over those of people. The fitted weight is the slope of the regression of people's values on the model's, at least
    0; the estimate is that of PPI++ with this slope. The interval is symmetric: the standard error times a quantile of
    the absolute studentised error, by a bootstrap of queries in which the weight is fitted anew. ``"normal"`` is the
    interval of PPI++ as published, with its weight from 0 to 1. The estimand is the mean of the population that the set
    is a sample of, or the mean of the set itself (with the finite population correction).
    """
    check_choice(estimand, "estimand", ESTIMANDS)
    check_choice(interval, "interval", INTERVALS)
    check_number(level, "level", above=0.0)
    starts = range(0, sample.people.shape[1], COLUMNS)
    parts = [sample.columns(slice(start, start + COLUMNS)) for start in starts]
    if interval == "normal":
        if estimand != LIKE_THESE or np.ptp(sample.chances) > 0:
            raise ValueError('interval="normal" is published for a random sample of "queries like these" only.')
        found = [_published(part, weight, level) for part in parts]
    else:
        found = [_studentised(part, estimand, weight, level, random_state) for part in parts]
    return Estimates(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _studentised(sample: Sample, estimand: str, weight: float | None, level: float, seed: int) -> Estimates:
    n, rest = sample.people.shape[0], sample.others.shape[0]
    centre = [np.average(one, axis=0, weights=1 / sample.chances) for one in (sample.people, sample.model)]
    y, f = sample.people - centre[0], sample.model - centre[1]  # sums of squares lose fewer digits
    f[:, _is_constant(sample.model)] = 0.0
    found = moments(np.ones((1, n)), y, f, sample, estimand, weight)
    slope, error = found.weight[0], found.error[0]
    mean = centre[0] + slope * (sample.model_mean - centre[1])
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS).astype(np.float64)
    least = LEAST_SPREAD**2 * np.average(f**2, axis=0, weights=1 / sample.chances)
    drawn, every = moments(draws, y, f, sample, estimand, weight, least), draws
    if rest:
        more = 1 / sample.chances - 1  # how many queries that people did not judge each query stands for
        every = draws + rng.multinomial(rest, more / more.sum(), size=N_DRAWS)
    truth = every @ y / sample.size if estimand == THIS_SET else 0.0
    errors = drawn.people + drawn.weight * (every @ f / sample.size - drawn.model) - truth
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(errors) / np.maximum(drawn.error, LEAST_SPREAD * error)
        half = np.where(error > 0, np.quantile(t, level, axis=0) * error, 0.0)
        p = (1 + (t >= np.abs(mean) / error).sum(axis=0)) / (1 + N_DRAWS)
    return Estimates(mean, mean - half, mean + half, np.where(error > 0, p, (mean == 0).astype(float)), slope)


def moments(
    counts: np.ndarray,
    y: np.ndarray,
    f: np.ndarray,
    sample: Sample,
    estimand: str,
    weight: float | None,
    least: Any = 0.0,
) -> Moments:
    """Return weighted means, slopes and standard errors of samples that hold each query ``counts`` times.

    ``least`` is the least variance of the model's values by which a slope is divided.
    """
    n = y.shape[0]
    w = 1 / sample.chances
    v = w**2 * (1 - sample.chances)  # the part of the variance that comes from choosing the queries

    def sums(of: np.ndarray) -> list[np.ndarray]:
        return [counts @ (of[:, None] * part) for part in (np.ones((n, 1)), y, f, y * y, f * f, y * f)]

    own = sums(w)
    total, sy, sf, syy, sff, syf = own
    my, mf = sy / total, sf / total
    vy, vf, vyf = np.maximum(syy / total - my**2, 0), np.maximum(sff / total - mf**2, 0), syf / total - my * mf
    if weight is None:
        variance = np.maximum(vf, least)
        is_known = variance > 1e-12 * np.ptp(f, axis=0) ** 2
        slope = np.where(is_known, np.maximum(vyf, 0) / np.where(is_known, variance, 1.0), 0.0)
    else:
        slope = np.full(my.shape, float(weight))
    free = n - 1 if weight is not None else n - 2
    # with equal chances both sums are the same up to a factor
    m0, m1, m2, m11, m22, m12 = sums(v) if np.ptp(w) else [part * (v[0] / w[0]) for part in own]
    centre = my - slope * mf
    squares = m11 - 2 * slope * m12 + slope**2 * m22 - 2 * centre * (m1 - slope * m2) + centre**2 * m0
    variance = np.maximum(squares, 0) / total**2 * n / free
    if estimand == LIKE_THESE:
        variance = variance + vy * n / (n - 1) / sample.size
    return Moments(my, mf, slope, np.sqrt(variance))


def _published(sample: Sample, weight: float | None, level: float) -> Estimates:
    """Return PPI++ as published: the weight from 0 to 1 that minimises the variance, and normal quantiles."""
    y, f, other = sample.people, sample.model, sample.others
    n, n_other = y.shape[0], other.shape[0]
    if not n_other:
        raise ValueError('interval="normal" needs queries that only the model judged.')
    if weight is None:
        spread = (1 + n / n_other) * np.concatenate([f, other]).var(axis=0, ddof=1)
        shared = ((y - y.mean(axis=0)) * (f - f.mean(axis=0))).mean(axis=0)
        is_known = ~_is_constant(f)
        slope = np.clip(np.where(is_known, shared / np.where(is_known, spread, 1.0), 0.0), 0.0, 1.0)
    else:
        slope = np.full(y.shape[1], float(weight))
    mean = slope * other.mean(axis=0) + (y - slope * f).mean(axis=0)
    error = np.sqrt(slope**2 * other.var(axis=0) / n_other + (y - slope * f).var(axis=0) / n)
    half = ndtri(0.5 + 0.5 * level) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(error > 0, 2 * ndtr(-np.abs(mean) / error), (mean == 0).astype(float))
    return Estimates(mean, mean - half, mean + half, p, slope)


def _is_constant(values: np.ndarray) -> np.ndarray:
    """Return which columns are constant, except for rounding."""
    return np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)
