"""Agreement of grades, against slow sums."""

import itertools

import numpy as np
import pytest

from plackett.evaluation.agreement import grade_agreement


def slow(units, grades):
    """Krippendorff's definition, pair by pair."""
    by_unit = {}
    for unit, grade in zip(units, grades, strict=True):
        by_unit.setdefault(unit, []).append(grade)
    shared = [own for own in by_unit.values() if len(own) > 1]
    values = [grade for own in shared for grade in own]
    pairs = [pair for own in shared for pair in itertools.combinations(own, 2)]
    observed = sum(
        sum((a - b) ** 2 for a, b in itertools.permutations(own, 2)) / (len(own) - 1) for own in shared
    ) / len(values)
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(values, 2)) / (len(values) * (len(values) - 1))
    return len(shared), len(pairs), sum(a == b for a, b in pairs) / len(pairs), 1 - observed / expected


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    units, grades = rng.integers(0, 8, size=30), rng.integers(0, 4, size=30)
    found = grade_agreement(units, grades)
    assert found == pytest.approx(slow(units.tolist(), grades.tolist()))


def test_published_example():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section D: interval data, alpha = 0.849
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    rows = [(unit, grade) for rater in table for unit, grade in enumerate(rater) if grade is not None]
    units, grades = zip(*rows, strict=True)
    assert round(grade_agreement(units, grades).alpha, 3) == 0.849


def test_nothing_to_compare_is_nan():
    assert np.isnan(grade_agreement([], []).equal)
    assert np.isnan(grade_agreement([0, 1], [1, 2]).alpha)
    same = grade_agreement([0, 0], [1, 1])
    assert same.equal == 1.0
    assert np.isnan(same.alpha)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 units but 1 grades"):
        grade_agreement([0, 1], [1])
