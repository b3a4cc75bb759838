"""Agreement between annotators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett.validation import check_labels


class GradeAgreement(NamedTuple):
    """The agreement of grades of the same units.

    Attributes
    ----------
    n_units : int
        Units with two grades or more.
    n_pairs : int
        Pairs of grades of the same unit.
    equal : float
        The share of these pairs in which both grades are the same; NaN without pairs.
    alpha : float
        Krippendorff's alpha with squared differences of grades: 1 is perfect, 0 the expectation of random grades.
        NaN without pairs, and if all grades are equal.

    Examples
    --------
    >>> from plackett.evaluation.agreement import grade_agreement
    >>> grade_agreement([0, 0, 1, 1], [2, 2, 0, 1]).equal
    0.5
    """

    n_units: int
    n_pairs: int
    equal: float
    alpha: float


def grade_agreement(units: Any, grades: Any) -> GradeAgreement:
    """Return the agreement of all grades of the same units.

    Parameters
    ----------
    units : array-like of int of shape (n_grades,)
        The unit of each grade, such as the number of a (query, document) pair; each annotator once per unit.
    grades : array-like of shape (n_grades,)

    Examples
    --------
    >>> from plackett.evaluation.agreement import grade_agreement
    >>> grade_agreement([0, 0, 1, 1, 2], [1, 1, 0, 1, 1])
    GradeAgreement(n_units=2, n_pairs=2, equal=0.5, alpha=0.0)
    """
    grades = check_labels(grades, name="grades")
    codes = np.unique(np.asarray(units), return_inverse=True)[1].reshape(-1)
    if codes.size != grades.size:
        raise ValueError(f"there are {codes.size} units but {grades.size} grades.")
    is_shared = np.bincount(codes)[codes] > 1 if codes.size else np.zeros(0, dtype=bool)
    codes, values = np.unique(codes[is_shared], return_inverse=True)[1].reshape(-1), grades[is_shared]
    if not values.size:
        return GradeAgreement(0, 0, float("nan"), float("nan"))
    n = np.bincount(codes).astype(np.float64)
    cells, counts = np.unique(np.column_stack([codes, values]), axis=0, return_counts=True)
    n_equal = float((counts * (counts - 1) / 2).sum())
    n_pairs = float((n * (n - 1) / 2).sum())
    values = values - values.mean()  # differences stay the same, and sums of squares lose fewer digits
    # the sum of (a - b)² over ordered pairs is 2 (m Σ a² - (Σ a)²)
    within = 2.0 * (n * np.bincount(codes, values**2) - np.bincount(codes, values) ** 2)
    observed = float((within / (n - 1)).sum()) / values.size
    expected = 2.0 * float(values.size * (values**2).sum() - values.sum() ** 2) / (values.size * (values.size - 1))
    alpha = 1.0 - observed / expected if cells[:, 1].min() < cells[:, 1].max() else float("nan")
    return GradeAgreement(n.size, int(n_pairs), n_equal / n_pairs, alpha)
