"""Means that people know for some queries and a model for all."""

import importlib.util
import itertools

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import t as student

from plackett.evaluation.judges.estimates import INTERVALS, LIKE_THESE, THIS_SET, Sample, corrected_means, moments

pytestmark = pytest.mark.timeout(120)


def made(n=20, n_other=100, n_columns=4, slope=0.8, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.beta(2, 1, size=(n + n_other, n_columns))
    model = slope * values + 0.2 * rng.beta(2, 1, size=values.shape)
    return Sample.at_random(values[:n], model[:n], model[n:])


def errors_of(sample, estimand, weight):
    """The squared standard errors of a sample."""
    centre = sample.people.mean(axis=0), sample.model.mean(axis=0)
    y, f = sample.people - centre[0], sample.model - centre[1]
    return moments(np.ones((1, y.shape[0])), y, f, sample, estimand, weight).error[0] ** 2


@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0, 1.7])
def test_over_all_samples_of_a_small_set_the_mean_and_the_variance_are_the_truth(weight):
    rng = np.random.default_rng(3)
    y, f = rng.random((8, 2)), rng.random((8, 2))
    means, variances = [], []
    for chosen in itertools.combinations(range(8), 4):
        left = [query for query in range(8) if query not in chosen]
        sample = Sample.at_random(y[list(chosen)], f[list(chosen)], f[left])
        means.append(corrected_means(sample, estimand=THIS_SET, weight=weight).mean)
        variances.append(errors_of(sample, THIS_SET, weight))
    means = np.array(means)
    assert len(means) == 70
    assert means.mean(axis=0) == pytest.approx(y.mean(axis=0), abs=1e-12)
    assert np.mean(variances, axis=0) == pytest.approx(((means - y.mean(axis=0)) ** 2).mean(axis=0), abs=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0])
def test_over_all_draws_of_queries_like_these_the_mean_and_the_variance_are_the_truth(weight):
    rng = np.random.default_rng(4)
    y, f = rng.random((3, 2)), rng.random((3, 2))  # the population, from which five queries are drawn independently
    means, variances = [], []
    for drawn in itertools.product(range(3), repeat=5):
        human, other = list(drawn[:3]), list(drawn[3:])
        sample = Sample.at_random(y[human], f[human], f[other])
        means.append(corrected_means(sample, estimand=LIKE_THESE, weight=weight).mean)
        variances.append(errors_of(sample, LIKE_THESE, weight))
    means = np.array(means)
    assert means.mean(axis=0) == pytest.approx(y.mean(axis=0), abs=1e-12)
    assert np.mean(variances, axis=0) == pytest.approx(((means - y.mean(axis=0)) ** 2).mean(axis=0), abs=1e-12)


def test_the_weight_is_the_slope_of_a_regression_and_at_least_0():
    sample = made()
    for column, weight in enumerate(corrected_means(sample).weight):
        slope = np.polyfit(sample.model[:, column], sample.people[:, column], 1)[0]
        assert weight == pytest.approx(slope, abs=1e-12)
    opposite = sample._replace(model=-sample.model, others=-sample.others)
    found = corrected_means(opposite)
    assert (found.weight == 0).all()
    assert found.mean == pytest.approx(sample.people.mean(axis=0), abs=1e-12)


def test_the_estimate_is_that_of_ppi_with_the_scaled_weight():
    sample = made()
    n, n_other = 20, 100
    found = corrected_means(sample)
    weight = found.weight * n_other / (n + n_other)
    ppi = weight * sample.others.mean(axis=0) + (sample.people - weight * sample.model).mean(axis=0)
    assert found.mean == pytest.approx(ppi, abs=1e-12)


def test_without_a_weight_the_standard_error_is_that_of_a_mean():
    sample = made(n_other=10**6 - 20, n_columns=1)
    assert errors_of(sample, LIKE_THESE, 0.0) == pytest.approx(sample.people.var(axis=0, ddof=1) / 20, rel=1e-12)
    assert errors_of(made(n_other=20), THIS_SET, 0.0) == pytest.approx(
        made(n_other=20).people.var(axis=0, ddof=1) / 20 / 2, rel=1e-12
    )


def test_the_interval_of_many_normal_values_is_that_of_student():
    rng = np.random.default_rng(0)
    people = rng.normal(size=(200, 8))
    sample = Sample.at_random(people, np.zeros_like(people), np.zeros((2000, 8)))
    found = corrected_means(sample, weight=0.0)
    half = student.ppf(0.975, 199) * people.std(axis=0, ddof=1) / np.sqrt(200)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.06)


def test_the_normal_interval_is_the_published_formula():
    sample = made(n=15, n_other=60, n_columns=1)
    y, f, g = sample.people[:, 0], sample.model[:, 0], sample.others[:, 0]
    n, m = 15, 60
    every = np.concatenate([f, g])
    covariance = sum((a - y.mean()) * (b - f.mean()) for a, b in zip(y, f, strict=True)) / n
    variance = sum((a - every.mean()) ** 2 for a in every) / (n + m - 1)
    weight = min(1.0, max(0.0, covariance / ((1 + n / m) * variance)))
    mean = weight * g.mean() + (y - weight * f).mean()
    error = np.sqrt(weight**2 * np.mean((g - g.mean()) ** 2) / m + np.var(y - weight * f) / n)
    found = corrected_means(sample, interval="normal")
    half = ndtri(0.975) * error
    assert found.weight[0] == pytest.approx(weight, abs=1e-12)
    assert (found.mean[0], found.low[0], found.high[0]) == pytest.approx((mean, mean - half, mean + half), abs=1e-12)


@pytest.mark.peer
@pytest.mark.skipif(importlib.util.find_spec("ppi_py") is None, reason="ppi-python is not installed")
@pytest.mark.parametrize("seed", range(5))
def test_the_normal_interval_is_that_of_ppi_python(seed):
    from ppi_py import ppi_mean_ci

    sample = made(n=12 + seed, seed=seed, n_columns=3, slope=0.4 * seed)
    found = corrected_means(sample, interval="normal")
    for column in range(3):
        low, high = ppi_mean_ci(sample.people[:, column], sample.model[:, column], sample.others[:, column], alpha=0.05)
        assert (found.low[column], found.high[column]) == pytest.approx((low[0], high[0]), abs=1e-9)


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("value", [0.0, 0.1, 0.7])
def test_a_judge_without_variance_has_no_weight(interval, value):
    sample = made()
    constant = sample._replace(model=np.full_like(sample.model, value), others=np.full_like(sample.others, value))
    found = corrected_means(constant, interval=interval)
    assert (found.weight == 0).all()
    assert found.mean == pytest.approx(sample.people.mean(axis=0), abs=1e-12)


def test_with_equal_chances_weights_change_nothing():
    sample = made()
    equal = sample._replace(chances=np.full(20, 20 / 120))
    for estimand in (LIKE_THESE, THIS_SET):
        for a, b in zip(
            corrected_means(sample, estimand=estimand), corrected_means(equal, estimand=estimand), strict=True
        ):
            assert (a == b).all()


def test_known_chances_repair_a_sample_of_large_queries():
    rng = np.random.default_rng(0)
    size, n, misses, plain = 300, 60, [], []
    y = rng.random((size, 1))
    f = 0.5 * y + 0.3 * rng.random((size, 1))
    wanted = 0.1 + y[:, 0]  # queries with large values are chosen more often
    chances = n * wanted / wanted.sum()
    for _ in range(300):
        chosen = rng.random(size) < chances  # each query by itself: the chances are exact
        sample = Sample(y[chosen], f[chosen], f[~chosen], chances[chosen])
        found = corrected_means(sample, estimand=THIS_SET)
        misses.append(not found.low[0] <= y.mean() <= found.high[0])
        plain.append(y[chosen].mean() - y.mean())
    assert np.mean(plain) > 0.1
    assert np.mean(misses) < 0.09


def test_all_queries_judged_leave_nothing_to_estimate():
    sample = made(n_other=0)
    found = corrected_means(sample, estimand=THIS_SET)
    assert (found.low == found.high).all()
    assert found.mean == pytest.approx(sample.people.mean(axis=0))
    people = corrected_means(sample, estimand=LIKE_THESE, weight=0.0)
    assert corrected_means(sample, estimand=LIKE_THESE).low == pytest.approx(people.low, rel=1e-9)


def test_few_differing_queries_do_not_stretch_the_interval_without_end():
    people = np.zeros((10, 1))
    people[:2, 0] = 0.3, 0.1
    sample = Sample.at_random(people, np.zeros((10, 1)), np.zeros((100, 1)))
    found = corrected_means(sample)
    assert found.high[0] - found.low[0] < 3 * 2 * 2.26 * people.std(ddof=1) / np.sqrt(10)


def test_p_values_agree_with_the_interval():
    shifted = made(n_columns=60)
    shifted = shifted._replace(people=shifted.people - 0.6, model=shifted.model - 0.6, others=shifted.others - 0.6)
    found = corrected_means(shifted)
    excludes = (found.low > 0) | (found.high < 0)
    clear = np.abs(found.p - 0.05) > 0.002
    assert 3 < excludes.sum() < 57
    assert (excludes == (found.p < 0.05))[clear].all()


def test_the_narrower_of_two_intervals_covers_less_than_either():
    """Taking it after looking at both would cost several points of coverage."""
    rng = np.random.default_rng(1)
    n, n_other, n_samples = 10, 200, 1500
    values = rng.normal(size=(n + n_other, n_samples))
    model = 0.5 * values + rng.normal(size=values.shape)
    sample = Sample.at_random(values[:n], model[:n], model[n:])
    people, both = corrected_means(sample, weight=0.0), corrected_means(sample)
    is_narrower = (both.high - both.low) < (people.high - people.low)
    low, high = np.where(is_narrower, both.low, people.low), np.where(is_narrower, both.high, people.high)
    covers = [np.mean((a <= 0) & (b >= 0)) for a, b in ((people.low, people.high), (both.low, both.high), (low, high))]
    assert min(covers[:2]) > 0.935
    assert covers[2] < min(covers[:2]) - 0.005


def test_unknown_choices_are_errors():
    with pytest.raises(ValueError, match="estimand"):
        corrected_means(made(), estimand="these")
    with pytest.raises(ValueError, match="interval"):
        corrected_means(made(), interval="t")
    with pytest.raises(ValueError, match="published for a random sample"):
        corrected_means(made(), estimand=THIS_SET, interval="normal")
