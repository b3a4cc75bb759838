"""Paired significance tests and confidence intervals over queries.

Each test exists for one pair of rankers (``paired_t``) and for many pairs at once, one column of differences each
(``paired_t_columns``). The pairs then share their random draws, and the results are the same. A query whose value is
NaN for either ranker is skipped for that pair. A pair with fewer than two queries left gets NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr
from sklearn.utils import check_random_state

from plackett import _native
from plackett._tables import LEVEL
from plackett._threads import map_blocks
from plackett.exceptions import ParameterError
from plackett.validation import check_not_masked, check_number, check_positive_int

ALWAYS_EXACT = 12  # queries that differ: all 2**12 sign patterns are enumerated for any n_draws
MOST_EXACT = 20  # at most 2**20 patterns are enumerated
SIGN_DRAWS = 2048  # per block: with a table of signed sums, the sums of this many draws stay in the cache
SIGN_COLUMNS = 32
RESAMPLES = 512

# Equal sums may differ by rounding: differences below SLACK times the sum of all absolute differences count as zero.
# By chance a draw is this close once in many millions.
SLACK = 1e-10


TIE = 1e-12  # smaller differences come from the same ranking, summed in another order


class Interval(NamedTuple):
    """The bounds of a confidence interval.

    Examples
    --------
    >>> from plackett.evaluation.significance import bootstrap_interval
    >>> interval = bootstrap_interval([0.1, 0.0, 0.3, 0.1, 0.0, 0.0, 0.2, 0.1])
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.05, 0.188)
    """

    low: float
    high: float


def paired_t(a: Any, b: Any) -> float:
    """Return the two-sided p-value of the paired t-test for equal means of ``a`` and ``b``.

    1 if no query differs; 0 if all differ by the same amount.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of a measure, query by query.

    Examples
    --------
    >>> from plackett.evaluation.significance import paired_t
    >>> round(paired_t([0.3, 0.5, 0.9, 0.4], [0.2, 0.5, 0.6, 0.3]), 4)
    0.1411
    """
    return float(paired_t_columns(_difference(a, b))[0])


def randomisation(a: Any, b: Any, n_draws: int = 100_000, random_state: Any = 0) -> float:
    """Return the two-sided p-value of Fisher's randomisation test.

    Under the null hypothesis the two values of each query can be swapped. The p-value is the share of all swaps whose
    difference of means is at least as large, in either direction, as the observed one.

    It is exact if at most 12 queries differ or if there are no more swaps than draws. Otherwise it is estimated from
    ``n_draws`` swaps as (1 + number at least as large) / (1 + n_draws), which is conservative. It is the same for any
    number of threads.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of a measure, query by query.
    n_draws : int, default=100_000
        The standard error of p = 0.05 is then 0.0007.
    random_state : int, RandomState instance or None, default=0

    Examples
    --------
    >>> from plackett.evaluation.significance import randomisation
    >>> randomisation([0.3, 0.5, 0.9, 0.4], [0.2, 0.5, 0.6, 0.3])
    0.25
    """
    return float(randomisation_columns(_difference(a, b), n_draws, random_state)[0])


def bootstrap_interval(difference: Any, level: float = 0.95, n_draws: int = 10_000, random_state: Any = 0) -> Interval:
    """Return the bootstrap confidence interval of a mean over queries.

    The bounds are quantiles of the means of resampled queries, corrected for bias and skewness (BCa, Efron 1987).
    Differences between rankers are usually skewed, with many zeros and a long tail. The error of plain quantiles then
    falls with the root of the number of queries, that of BCa with the number itself. The interval is the same for any
    number of threads.

    Parameters
    ----------
    difference : array-like of shape (n_queries,)
        Differences between two rankers, or values of one; NaN is skipped.
    level : float, default=0.95
        Coverage: how often such intervals contain the true mean.
    n_draws : int, default=10_000
    random_state : int, RandomState instance or None, default=0

    Examples
    --------
    >>> from plackett.evaluation.significance import bootstrap_interval
    >>> low, high = bootstrap_interval([0.1, 0.0, 0.3, 0.1, 0.0, 0.0, 0.2, 0.1])
    >>> round(low, 3), round(high, 3)
    (0.05, 0.188)
    """
    values = _as_vector(difference, "difference").reshape(-1, 1)
    (low,), (high,) = bootstrap_columns(values, level, n_draws, random_state)
    return Interval(float(low), float(high))


def holm(p_values: Any) -> np.ndarray:
    """Return p-values after Holm's correction, which controls the family-wise error rate.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none becomes smaller than the one before it, or
    larger than 1. NaN stays NaN and is not counted.

    Parameters
    ----------
    p_values : array-like

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.evaluation.significance import holm
    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    if ((p_values < 0) | (p_values > 1)).any():
        raise ValueError(f"p_values holds {p_values[(p_values < 0) | (p_values > 1)][0]:g}, which is not in 0..1.")
    answer = p_values.flatten()
    order = np.argsort(answer, kind="stable")[: int((~np.isnan(answer)).sum())]  # NaN is sorted last
    factors = np.arange(order.size, 0, -1)
    answer[order] = np.minimum(np.maximum.accumulate(factors * answer[order]), 1.0)
    return answer.reshape(p_values.shape)


def paired_t_columns(differences: np.ndarray) -> np.ndarray:
    """`paired_t` of each column of differences, of shape (n_queries, n_pairs).

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.evaluation.significance import paired_t_columns
    >>> differences = np.array([[0.1, 0.0], [0.0, 0.1], [0.3, -0.1], [0.1, 0.0]])
    >>> paired_t_columns(differences).round(4)
    array([0.1411, 1.    ])
    """
    answer = np.full(differences.shape[1], np.nan)
    for columns, values in _counted(differences):
        n = values.shape[0]
        spread = np.sqrt(values.var(axis=0, ddof=1) / n)
        spread[np.ptp(values, axis=0) == 0.0] = 0.0  # not exactly 0 after rounding of the mean
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(values.mean(axis=0)) / spread
        answer[columns] = np.where(values.any(axis=0), 2.0 * stdtr(n - 1, -t), 1.0)
    return answer


def randomisation_columns(differences: np.ndarray, n_draws: int = 100_000, random_state: Any = 0) -> np.ndarray:
    """`randomisation` of each column of differences, of shape (n_queries, n_pairs).

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.evaluation.significance import randomisation_columns
    >>> differences = np.array([[0.1, 0.0], [0.0, 0.1], [0.3, -0.1], [0.1, 0.0]])
    >>> randomisation_columns(differences)
    array([0.25, 1.  ])
    """
    n_draws = check_positive_int(n_draws, "n_draws")
    seed = _seed(random_state)
    answer = np.full(differences.shape[1], np.nan)
    for columns, values in _counted(differences):
        n_differing = np.count_nonzero(values, axis=0)
        is_exact = (n_differing <= ALWAYS_EXACT) | (n_differing <= min(MOST_EXACT, np.log2(n_draws)))
        for column in np.flatnonzero(is_exact):
            answer[columns[column]] = _exact(values[:, column])
        if not is_exact.all():
            answer[columns[~is_exact]] = _estimated(values[:, ~is_exact], n_draws, seed)
    return answer


def bootstrap_columns(
    differences: np.ndarray, level: float = 0.95, n_draws: int = 10_000, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """`bootstrap_interval` of each column of differences, of shape (n_queries, n_pairs): all lows, all highs.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett.evaluation.significance import bootstrap_columns
    >>> differences = np.array([[0.1, 0.0], [0.0, 0.1], [0.3, -0.1], [0.1, 0.0]])
    >>> lows, highs = bootstrap_columns(differences)
    >>> lows.round(2), highs.round(2)
    (array([ 0.05, -0.08]), array([0.25, 0.08]))
    """
    level = check_number(level, "level", above=0.0)
    if level >= 1.0:
        raise ParameterError("level", level, "it must be between 0 and 1, such as 0.95.")
    n_draws = check_positive_int(n_draws, "n_draws")
    seed = _seed(random_state)
    ends = np.full((2, differences.shape[1]), np.nan)
    for columns, values in _counted(differences):
        means = _resampled_means(values, n_draws, seed)
        quantiles = _bca_quantiles(values, means, np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level]))
        for column, draws, wanted in zip(columns, means, quantiles, strict=True):
            ends[:, column] = np.quantile(draws, wanted)
    return ends[0], ends[1]


def studentised_columns(
    values: np.ndarray, level: float = 0.95, n_draws: int = 10_000, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of bootstrap-t intervals of the means of columns without NaN: all lows, all highs.

    The quantiles are those of the error of a resampled mean over its own standard error. They adapt to the skewness of
    weighted clicks, where few values are large, better than BCa. A constant column has no width.
    """
    n_columns = values.shape[1]
    mean, seed = values.mean(axis=0), _seed(random_state)
    centred = values - mean
    drawn = _resampled_means(np.concatenate([centred, centred**2], axis=1), n_draws, seed)
    shift, square = drawn[:n_columns], drawn[n_columns:]
    spread = np.sqrt(np.maximum(square - shift**2, 0.0))
    is_known = spread > SLACK * centred.std(axis=0)[:, None]  # a sample of equal values has none
    t = np.where(is_known, shift / np.where(is_known, spread, 1.0), np.nan)
    ends = np.stack([mean, mean])
    for column in np.flatnonzero(is_known.any(axis=1) & (np.ptp(values, axis=0) > 0)):
        low, high = np.nanquantile(t[column], [0.5 - 0.5 * level, 0.5 + 0.5 * level])
        ends[:, column] -= centred[:, column].std() * np.array([high, low])
    return ends[0], ends[1]


def _exact(values: np.ndarray) -> float:
    differing = values[values != 0.0].reshape(-1, 1)
    sums = np.empty((1 << differing.size, 1))
    _native.evaluation.signed_sums(differing, sums)
    return float(np.mean(np.abs(sums) >= _limits(differing)))


def _estimated(values: np.ndarray, n_draws: int, seed: np.uint64) -> np.ndarray:
    word = _native.evaluation.WORD
    padded = np.zeros((-(-values.shape[0] // word) * word, values.shape[1]))
    padded[: values.shape[0]] = values
    limits = _limits(values)
    answer = np.empty(values.shape[1])
    for start in range(0, values.shape[1], SIGN_COLUMNS):
        chunk = slice(start, start + SIGN_COLUMNS)
        rows = np.ascontiguousarray(padded[:, chunk])
        starts = range(0, n_draws, SIGN_DRAWS)
        counts = np.empty((len(starts), rows.shape[1]), dtype=np.int64)
        blocks = [
            (rows, limits[chunk], seed, first, min(first + SIGN_DRAWS, n_draws), counts[place])
            for place, first in enumerate(starts)
        ]
        map_blocks(_native.evaluation.count_extreme, blocks)
        answer[chunk] = (1 + counts.sum(axis=0)) / (1 + n_draws)
    return answer


def _limits(values: np.ndarray) -> np.ndarray:
    """Return the smallest absolute value of a signed sum that counts as no smaller than that of the observed sum."""
    return np.abs(values.sum(axis=0)) - SLACK * np.abs(values).sum(axis=0)


def _resampled_means(values: np.ndarray, n_draws: int, seed: np.uint64) -> np.ndarray:
    """Return the means of samples drawn with replacement, of shape (n_columns, n_draws)."""
    rows = np.ascontiguousarray(values)
    sums = np.empty((values.shape[1], n_draws))
    blocks = [(rows, seed, first, min(first + RESAMPLES, n_draws), sums) for first in range(0, n_draws, RESAMPLES)]
    map_blocks(_native.evaluation.resampled_sums, blocks)
    return sums / values.shape[0]


def _bca_quantiles(values: np.ndarray, means: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the quantiles of the resampled means for the given levels, corrected for bias and skewness."""
    mean = values.mean(axis=0)
    margin = SLACK * np.abs(values).mean(axis=0)
    n_below = (means < (mean - margin)[:, None]).sum(axis=1)
    n_not_above = (means <= (mean + margin)[:, None]).sum(axis=1)
    bias = ndtri((n_below + n_not_above) / (2 * means.shape[1]))
    centred = values - mean
    square = (centred**2).sum(axis=0)
    # the jackknife estimate of the acceleration of a mean, in closed form
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.where(square > 0, (centred**3).sum(axis=0) / (6.0 * square**1.5), 0.0)
    shifted = bias[:, None] + ndtri(levels)
    stretch = 1.0 - acceleration[:, None] * shifted
    with np.errstate(divide="ignore"):
        moved = bias[:, None] + np.where(stretch > 0, shifted / stretch, np.sign(shifted) * np.inf)
    return ndtr(moved)


def _difference(a: Any, b: Any) -> np.ndarray:
    first, second = _as_vector(a, "a"), _as_vector(b, "b")
    if first.size != second.size:
        raise ValueError(f"a has {first.size:,} values but b has {second.size:,}; both need one for each query.")
    return (first - second).reshape(-1, 1)


def _as_vector(values: Any, name: str) -> np.ndarray:
    check_not_masked(values, name)
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}; one value for each query is needed.")
    if np.isinf(vector).any():
        raise ValueError(f"{name} has an infinite value at position {int(np.argmax(np.isinf(vector)))}.")
    return vector


def _counted(differences: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield groups of columns with the same missing queries, and their other values, if there are at least two."""
    if not np.isnan(differences).any():
        if differences.shape[0] >= 2:
            yield np.arange(differences.shape[1]), differences
        return
    patterns, which = np.unique(np.isnan(differences), axis=1, return_inverse=True)
    for number, is_missing in enumerate(patterns.T):
        if (~is_missing).sum() >= 2:
            columns = np.flatnonzero(which.reshape(-1) == number)
            yield columns, differences[np.ix_(~is_missing, columns)]


def _seed(random_state: Any) -> np.uint64:
    return np.uint64(check_random_state(random_state).randint(np.iinfo(np.int64).max, dtype=np.int64))


# --- Pairs of rankers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """The difference between contestants ``a`` and ``b`` by one measure.

    Attributes
    ----------
    a, b, metric : str
        Names of the two contestants and of the measure.
    mean : float
        Mean over the queries of the value of ``a`` minus that of ``b``.
    low, high : float
        Bootstrap interval of ``mean`` at level 0.95.
    wins, losses, ties : int
        Number of queries on which ``a`` is better, worse (in the direction of the measure), or equal.
    p_t, p_random : float
        Two-sided p-values of the paired t-test and of Fisher's randomisation test.
    p_t_holm, p_random_holm : float
        The same after Holm's correction for all pairs of one call.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> found = result.differences()[0]
    >>> found.a, found.b, found.low < found.mean < found.high
    ('regression', 'listmle', True)
    """

    a: str
    b: str
    metric: str
    mean: float
    low: float
    high: float
    wins: int
    losses: int
    ties: int
    p_t: float
    p_t_holm: float
    p_random: float
    p_random_holm: float

    def reversed(self) -> Difference:
        """Return the difference ``b`` minus ``a``."""
        # "-self.mean" would be shown as −0.0 for equal rankers
        ends: dict[str, Any] = {"mean": 0.0 - self.mean, "low": 0.0 - self.high, "high": 0.0 - self.low}
        return replace(self, a=self.b, b=self.a, wins=self.losses, losses=self.wins, **ends)

    @property
    def is_significant(self) -> bool:
        """Whether it is significant after correction; False if there is no p-value."""
        return self.p_random_holm <= LEVEL

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def differences(
    pairs: Sequence[tuple[str, str]],
    metric: str,
    values: Mapping[str, np.ndarray],
    *,
    higher_is_better: bool,
    random_state: int,
) -> list[Difference]:
    """Return the difference of each pair, with p-values that are not corrected yet. Queries with NaN are skipped.

    All pairs share their random draws, which does not change their p-values.
    """
    if not pairs:
        return []
    # a single column would be summed in another order than several, with other last digits
    columns = [values[a] - values[b] for a, b in (pairs if len(pairs) > 1 else [*pairs, *pairs])]
    gaps = np.stack(columns, axis=1)
    lows, highs = bootstrap_columns(gaps, random_state=random_state)
    by_t = paired_t_columns(gaps).tolist()
    by_chance = randomisation_columns(gaps, random_state=random_state).tolist()
    answer = []
    for place, (a, b) in enumerate(pairs):
        gap = gaps[~np.isnan(gaps[:, place]), place]
        n_above, n_below = int((gap > TIE).sum()), int((gap < -TIE).sum())
        wins, losses = (n_above, n_below) if higher_is_better else (n_below, n_above)
        numbers = (float(gap.mean()) if gap.size else np.nan, float(lows[place]), float(highs[place]))
        counts = (wins, losses, gap.size - wins - losses)
        p_values = (by_t[place], by_t[place], by_chance[place], by_chance[place])
        answer.append(Difference(a, b, metric, *numbers, *counts, *p_values))
    return answer


def corrected(pairs: Sequence[Difference]) -> list[Difference]:
    """Return the pairs with p-values after Holm's correction over all of them."""
    by_t, by_chance = (holm([getattr(pair, p) for pair in pairs]).tolist() for p in ("p_t", "p_random"))
    return [
        replace(pair, p_t_holm=t, p_random_holm=chance) for pair, t, chance in zip(pairs, by_t, by_chance, strict=True)
    ]
