"""Paired tests, bootstrap intervals, Holm's correction: against scipy, literal loops, and what they promise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plackett import _native
from plackett._threads import set_n_threads
from plackett.evaluation import significance
from plackett.evaluation.significance import (
    bootstrap_columns,
    bootstrap_interval,
    holm,
    paired_t,
    paired_t_columns,
    randomisation,
    randomisation_columns,
)

RNG = np.random.default_rng(7)
A = RNG.random(60)
B = A - RNG.normal(0.02, 0.1, size=60)


def random_word(seed, place):
    """Output number ``place`` of the generator SplitMix64 that was started with ``seed``, in Python's whole numbers."""
    word = (seed + (place + 1) * 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def mean_difference(a, b, axis):
    return np.mean(a - b, axis=axis)


def all_swaps(differences):
    """The definition: the share of all sign patterns whose sum is at least as far from zero; in whole numbers."""
    observed = abs(sum(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in _signs(len(differences))]
    return sum(value >= observed for value in sums) / len(sums)


def _signs(n):
    return itertools.product((1, -1), repeat=n)


@pytest.mark.parametrize("n", [2, 3, 12, 60])
def test_paired_t_is_that_of_scipy(n):
    assert paired_t(A[:n], B[:n]) == pytest.approx(stats.ttest_rel(A[:n], B[:n]).pvalue, rel=1e-10)


@pytest.mark.parametrize("n", range(2, 13))
def test_randomisation_of_few_queries_is_that_of_scipy(n):
    a, b = A[:n], B[:n]
    options = {"permutation_type": "samples", "n_resamples": np.inf, "vectorized": True}
    expected = stats.permutation_test((a, b), mean_difference, **options).pvalue
    assert randomisation(a, b, n_draws=1) == pytest.approx(expected, rel=1e-12)  # exact, however few draws


def test_randomisation_of_many_queries_is_that_of_scipy_within_its_error():
    options = {"permutation_type": "samples", "n_resamples": 20_000, "vectorized": True, "random_state": 3}
    expected = stats.permutation_test((A, B), mean_difference, **options).pvalue
    error = np.sqrt(expected * (1 - expected) * (1 / 20_000 + 1 / 100_000))
    assert 0.02 < expected < 0.9
    assert abs(randomisation(A, B) - expected) < 4 * error


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9))
def test_exact_p_values_count_ties_as_ties(differences):
    expected = all_swaps(differences)
    scaled = np.array(differences) * 0.1  # tenths do not add up exactly
    assert randomisation(scaled, np.zeros(len(differences))) == expected
    assert randomisation(0.3 + scaled, np.full(len(differences), 0.3)) == expected


def test_the_same_p_value_by_enumeration_and_by_draws():
    a, b = A[:16], B[:16]
    exact, estimated = randomisation(a, b, n_draws=1 << 16), randomisation(a, b, n_draws=(1 << 16) - 1)
    assert exact == pytest.approx(all_swaps(list(a - b)), abs=1e-12)
    assert exact != estimated
    assert abs(exact - estimated) < 4 * np.sqrt(exact * (1 - exact) / (1 << 16))


def test_draws_are_signed_sums_of_the_random_bits():
    values, seed, n_draws = RNG.normal(size=(70, 3)), 2**63 + 11, 50
    padded = np.zeros((128, 3))
    padded[:70] = values
    limits = np.array([0.0, 5.0, 8.0])
    sums = np.zeros((n_draws, 3))
    for draw in range(n_draws):
        words = [random_word(seed, 2 * draw + word) for word in (0, 1)]
        signs = [-1 if words[query // 64] >> (query % 64) & 1 else 1 for query in range(70)]
        sums[draw] = signs @ values
    expected = (np.abs(sums) >= limits).sum(axis=0)
    assert expected[0] == n_draws
    assert 0 < expected[2] < expected[1] < n_draws
    halves = np.empty((2, 3), dtype=np.int64)
    for part, counts in zip(((0, 20), (20, n_draws)), halves, strict=True):
        _native.evaluation.count_extreme(padded, limits, seed, *part, counts)
    np.testing.assert_array_equal(halves.sum(axis=0), expected)


def test_random_words_are_those_of_splitmix64():
    # the first outputs for seed 1234567, as published with the reference implementation in C
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [random_word(1234567, place) for place in range(4)] == published


def test_p_values_under_the_null_are_uniform():
    differences = np.random.default_rng(0).standard_t(3, size=(50, 600))
    for p_values in (randomisation_columns(differences, 4000), paired_t_columns(differences)):
        assert stats.kstest(p_values, "uniform").pvalue > 0.05
        assert 0.03 < np.mean(p_values <= 0.05) < 0.07


def test_estimated_p_values_are_never_zero():
    assert randomisation(np.arange(100.0), np.arange(100.0) - 5, n_draws=999) == 1 / 1000


@pytest.mark.parametrize("n_queries", [30, 64, 65])
def test_results_do_not_depend_on_threads_or_on_the_other_columns(n_queries):
    differences = np.random.default_rng(n_queries).normal(0.1, 1, size=(n_queries, 40))
    differences[3, 5] = differences[4:, 6] = np.nan
    found = []
    try:
        for n_threads in (1, 3):
            set_n_threads(n_threads)
            found.append((randomisation_columns(differences, 5000), *bootstrap_columns(differences, n_draws=1500)))
    finally:
        set_n_threads(None)
    np.testing.assert_array_equal(*found)
    for column in (0, 5, 6, 39):
        p_value, low, high = (values[column] for values in found[0])
        a = differences[:, column]
        assert randomisation(a, np.zeros(n_queries), 5000) == p_value
        assert bootstrap_interval(a, n_draws=1500) == pytest.approx((low, high), rel=1e-12)
        assert paired_t(a, np.zeros(n_queries)) == pytest.approx(paired_t_columns(differences)[column], rel=1e-10)


def test_another_seed_is_another_draw():
    assert randomisation(A, B, random_state=0) != randomisation(A, B, random_state=1)
    assert bootstrap_interval(A - B, random_state=0) != bootstrap_interval(A - B, random_state=1)


@pytest.mark.parametrize("question", [paired_t, randomisation, lambda a, b: bootstrap_interval(a - b)])
def test_a_query_that_is_nan_for_either_is_left_out(question):
    a, b = A.copy(), B.copy()
    a[[3, 17]], b[[17, 40]] = np.nan, np.nan
    kept = ~np.isnan(a - b)
    assert kept.sum() == 57
    assert question(a, b) == pytest.approx(question(a[kept], b[kept]), rel=1e-12)


def test_swapping_the_rankers_changes_the_side_only():
    assert paired_t(A, B) == paired_t(B, A)
    assert randomisation(A, B) == randomisation(B, A)
    low, high = bootstrap_interval(A - B)
    assert bootstrap_interval(B - A) == pytest.approx((-high, -low), abs=1e-4)


@pytest.mark.parametrize(("a", "b"), [([], []), ([1.0], [2.0]), ([1.0, np.nan], [2.0, 3.0])])
def test_fewer_than_two_queries_have_no_answer(a, b):
    assert np.isnan([paired_t(a, b), randomisation(a, b), *bootstrap_interval(np.subtract(a, b))]).all()


def test_no_difference_and_the_same_difference_everywhere():
    same, more = np.full(20, 0.5), np.full(20, 0.75)
    assert (paired_t(same, same), randomisation(same, same)) == (1.0, 1.0)
    assert bootstrap_interval(same - same) == (0.0, 0.0)
    assert paired_t(more, same) == 0.0
    assert randomisation(more, same, n_draws=99) == 0.01
    assert randomisation(more[:3], same[:3]) == 2 / 8
    assert bootstrap_interval(more - same) == (0.25, 0.25)


def test_no_pairs_at_all_give_no_answers():
    nothing = np.zeros((5, 0))
    assert paired_t_columns(nothing).size == randomisation_columns(nothing).size == 0
    assert [ends.size for ends in bootstrap_columns(nothing)] == [0, 0]


def test_bootstrap_interval_is_that_of_scipy_within_its_error():
    skewed = np.random.default_rng(2).exponential(size=80)
    for level in (0.8, 0.95):
        ends = bootstrap_interval(skewed, level, n_draws=40_000)
        theirs = stats.bootstrap(
            (skewed,), np.mean, confidence_level=level, n_resamples=40_000, random_state=1, batch=2000
        )
        width = np.ptp(theirs.confidence_interval)
        np.testing.assert_allclose(ends, theirs.confidence_interval, atol=0.02 * width)


def test_resamples_count_every_query_as_often_as_it_was_drawn():
    values, seed = RNG.normal(size=(7, 2)), 5
    expected = np.zeros((2, 100))
    for draw in range(100):
        words = [random_word(seed, 4 * draw + pair) for pair in range(4)]
        fractions = [half / 2**32 for word in words for half in (word % 2**32, word >> 32)][:7]
        expected[:, draw] = sum(values[int(fraction * 7)] for fraction in fractions)
    found = np.empty((2, 100))
    for part in ((0, 70), (70, 100)):
        _native.evaluation.resampled_sums(values, seed, *part, found)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_intervals_hold_the_mean_as_often_as_they_say_and_miss_evenly():
    rng = np.random.default_rng(1)
    # as differences between rankers are: mostly zeros and a long tail
    differences = rng.exponential(size=(100, 1500)) * (rng.random((100, 1500)) < 0.3)
    low, high = bootstrap_columns(differences, n_draws=1500)
    assert 0.92 < np.mean((low <= 0.3) & (high >= 0.3)) < 0.965
    samples = [rng.integers(0, 100, size=100) for _ in range(1500)]
    plain_low, plain_high = np.quantile([differences[rows].mean(axis=0) for rows in samples], [0.025, 0.975], axis=0)
    unevenness = abs(np.mean(low > 0.3) - np.mean(high < 0.3))
    assert unevenness < 0.015
    assert abs(np.mean(plain_low > 0.3) - np.mean(plain_high < 0.3)) > 2 * unevenness


def test_extreme_levels_stay_within_the_values():
    differences = np.append(np.zeros(30), 1.0)
    low, high = bootstrap_interval(differences, 1 - 1e-12)
    assert 0.0 == low < high <= 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan, -0.5, "0.95"])
def test_levels_outside_0_to_1_are_refused(level):
    with pytest.raises(ValueError, match="level="):
        bootstrap_interval(A, level)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.01, 0.02, np.nan])), max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values, level):
    rejected = set()
    remaining = [place for place, p in enumerate(p_values) if not np.isnan(p)]
    while remaining:  # Holm 1979: test the smallest at level / number that are left; stop at the first that stands
        smallest = min(remaining, key=lambda place: p_values[place])
        if p_values[smallest] * len(remaining) > level:
            break
        rejected.add(smallest)
        remaining.remove(smallest)
    assert set(np.flatnonzero(holm(p_values) <= level)) == rejected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), max_size=8))
def test_holm_is_monotone_bounded_and_keeps_nan(p_values):
    p_values, corrected = np.array(p_values), holm(p_values)
    is_nan = np.isnan(p_values)
    np.testing.assert_array_equal(np.isnan(corrected), is_nan)
    assert (corrected[~is_nan] >= p_values[~is_nan]).all()
    assert (corrected[~is_nan] <= 1).all()
    assert (np.diff(corrected[~is_nan][np.argsort(p_values[~is_nan])]) >= 0).all()
    np.testing.assert_array_equal(corrected[~is_nan], holm(p_values[~is_nan]))


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.04, 0.01, 0.03, 0.005]), [0.06, 0.03, 0.06, 0.02])
    assert holm([0.2]) == [0.2]
    assert holm([]).size == 0
    with pytest.raises(ValueError, match=r"p_values holds 1\.5, which is not in 0\.\.1"):
        holm([0.5, 1.5])


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a has 3 values but b has 2; both need one for each query"):
        paired_t([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match=r"b has shape \(2, 2\); one value for each query is needed"):
        randomisation([1, 2], np.eye(2))
    with pytest.raises(ValueError, match="difference has an infinite value at position 1"):
        bootstrap_interval([0.0, np.inf])
    with pytest.raises(ValueError, match="n_draws=0; it must be a whole number of at least 1"):
        randomisation(A, B, n_draws=0)


def test_the_reversed_difference_of_equal_rankers_is_not_minus_zero():
    same = {"a": np.ones(4), "b": np.ones(4)}
    (found,) = significance.differences([("a", "b")], "ndcg", same, higher_is_better=True, random_state=0)
    turned = found.reversed()
    assert [f"{value:+.1f}" for value in (turned.mean, turned.low, turned.high)] == ["+0.0"] * 3
