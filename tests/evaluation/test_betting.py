import math

import numpy as np
import pytest

from benchmarks.interleaving import first_decisions
from plackett.clicks import sessions_needed
from plackett.evaluation.betting import FRACTIONS, STEPS, Tally, values_needed


def literal_capital(values, mean, side):
    """The mean over bets of the product of their gains, one value after the other."""
    total = 0.0
    for fraction in FRACTIONS:
        capital = 1.0
        for value in values:
            capital *= 1 + fraction * side * (value - mean) / (1 + side * mean)
        total += capital
    return total / FRACTIONS.size


def tally_of(values):
    tally = Tally()
    tally.add(values)
    return tally


def test_the_interval_has_the_means_against_which_no_gambler_wins_twenty_times():
    values = np.random.default_rng(0).choice([1.0, -1.0, 0.0, 0.25], size=60, p=[0.5, 0.2, 0.2, 0.1])
    low, high = tally_of(values).interval(0.95)
    assert -1 < low < values.mean() < high < 1
    for end, side in ((low, 1), (high, -1)):
        assert literal_capital(values, end, side) == pytest.approx(40, rel=1e-6)
        assert literal_capital(values, end - side * 0.01, side) > 40 > literal_capital(values, end + side * 0.01, side)


def test_values_between_two_steps_are_counted_with_caution():
    values = np.random.default_rng(1).uniform(-0.2, 0.6, size=400)
    tally = tally_of(values)
    low, high = tally.interval(0.95)
    assert tally.mean == pytest.approx(values.mean(), abs=1e-12)
    assert literal_capital(values, low, 1) >= 40 * (1 - 1e-9)
    assert literal_capital(values, high, -1) >= 40 * (1 - 1e-9)
    exact = [tally_of(np.round(values * STEPS) / STEPS).interval(0.95)]
    assert (low, high) == pytest.approx(exact[0], abs=2e-4)


def test_the_interval_does_not_depend_on_the_order_of_values_to_the_last_bit():
    values = np.random.default_rng(2).uniform(-1, 1, size=300)
    one, other = tally_of(values), tally_of(values[::-1])
    assert (one.mean, *one.interval(0.9)) == (other.mean, *other.interval(0.9))


def test_the_reversed_tally_has_the_reversed_interval():
    tally = tally_of([0.5, 1 / 3, -1.0, 1.0, 1.0, 0.123456])
    low, high = tally.interval(0.8)
    assert tally.reversed().interval(0.8) == (-high, -low)
    assert tally.reversed().mean == -tally.mean


def test_no_values_and_equal_values_have_intervals():
    assert Tally().interval(0.95) == (-1, 1)
    assert math.isnan(Tally().mean)
    low, high = tally_of([1.0] * 100).interval(0.95)
    assert 0.8 < low < 1
    assert high == 1
    low, high = tally_of([-1.0] * 100).interval(0.95)
    assert low == -1
    assert -1 < high < -0.8


def test_decisions_of_many_runs_are_those_of_intervals_looked_at_after_every_value():
    values = np.random.default_rng(3).choice([1.0, -1.0, 0.5], size=(6, 120), p=[0.6, 0.25, 0.15])
    values[:2] *= -1
    when, sign = first_decisions(values, 0.95)
    for run in range(6):
        tally, found = Tally(), (0, 0)
        for number, value in enumerate(values[run], start=1):
            tally.add([value])
            low, high = tally.interval(0.95)
            if low > 0 or high < 0:
                found = (number, 1 if low > 0 else -1)
                break
        assert (when[run], sign[run]) == found
    assert set(sign) == {1, -1}


def test_at_most_five_percent_of_fair_runs_are_ever_decided():
    """Looked at after each of 1,000 values; the full study is benchmarks/interleaving.py."""
    rng = np.random.default_rng(4)
    for values in (
        rng.choice([1.0, -1.0], size=(1000, 1000)),
        rng.choice([1.0, -0.1], size=(1000, 1000), p=[1 / 11, 10 / 11]),
    ):
        when, _ = first_decisions(values, 0.95)
        assert (when > 0).mean() <= 0.05
    peeking = np.abs(np.cumsum(rng.choice([1.0, -1.0], size=(1000, 1000)), axis=1)) / np.sqrt(np.arange(1, 1001)) > 1.96
    assert peeking[:, 20:].any(axis=1).mean() > 0.3  # what a fixed-size test does


@pytest.mark.parametrize(("preference", "ties"), [(0.5, 0.0), (0.2, 0.0), (0.1, 0.5)])
def test_the_needed_number_of_sessions_is_a_little_above_the_simulated_one(preference, ties):
    shares = [(1 - ties + preference) / 2, (1 - ties - preference) / 2, ties]
    needed = sessions_needed(preference, ties=ties)
    values = np.random.default_rng(5).choice([1.0, -1.0, 0.0], size=(400, 2 * int(needed)), p=shares)
    when, sign = first_decisions(values, 0.95)
    assert (sign == 1).mean() >= 0.99
    assert 0.92 <= needed / np.quantile(when, 0.95) <= 1.3


def test_one_look_at_the_end_needs_the_number_of_the_normal_approximation():
    assert sessions_needed(0.1, anytime=False) == math.ceil((1.959964 + 1.644854) ** 2 * (1 - 0.01) / 0.01)
    assert sessions_needed(-0.1, click_rate=0.5) == math.ceil(sessions_needed(0.1) / 0.5)
    assert sessions_needed(0) == math.inf
    assert values_needed(np.array([1.0]), np.array([1.0]), level=0.95, power=0.95, anytime=False) == 1


def test_impossible_plans_are_refused():
    with pytest.raises(ValueError, match="together at most 1"):
        sessions_needed(0.6, ties=0.5)
    with pytest.raises(ValueError, match="power=1"):
        sessions_needed(0.1, power=1)
