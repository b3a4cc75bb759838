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
from plackett._threads import deal
from plackett.validation import check_not_masked, check_number, check_positive_int

ALWAYS_EXACT = 12  # queries that differ: all 2**12 sign patterns are looked at, however few draws were asked for
MOST_EXACT = 20  # and never more than 2**20
SIGN_DRAWS = 2048  # per block: with a table of signed sums, the sums of this many draws stay in the cache
SIGN_COLUMNS = 32
RESAMPLES = 512

# Sums that should be equal may differ by rounding; whoever is this close, relative to the sum of all the absolute
# differences, counts as equal. A draw that is so close by chance is one in many millions.
SLACK = 1e-10


TIE = 1e-12  # smaller differences come from the same ranking, summed in another order


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


def paired_t(a: Any, b: Any) -> float:
    """Two-sided p-value of the paired t-test: are the means of ``a`` and ``b`` over the same queries equal?

    1 where no query differs; 0 where all differ by the same amount, which leaves no spread to judge it by.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of a measure, query by query.

    Examples
    --------
    >>> round(paired_t([0.3, 0.5, 0.9, 0.4], [0.2, 0.5, 0.6, 0.3]), 4)
    0.1411
    """
    return float(paired_t_columns(_difference(a, b))[0])


def randomisation(a: Any, b: Any, n_draws: int = 100_000, random_state: Any = 0) -> float:
    """Two-sided p-value of Fisher's randomisation test: if names were swapped at random, how often such a difference?

    If the two rankers were one, each query's two values could as well stand the other way round. The p-value is the
    share of all such swaps whose difference of means is at least as large, either way, as that observed.

    Exact, all swaps being looked at, where at most 12 queries differ or there are no more swaps than draws; otherwise
    estimated from ``n_draws`` swaps as (1 + number at least as large) / (1 + n_draws), which errs on the safe side. The
    draws follow from the seed alone: any number of threads gives the same p-value.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of a measure, query by query.
    n_draws : int, default=100_000
        The standard error of p = 0.05 is then 0.0007.
    random_state : int, RandomState instance or None, default=0

    Examples
    --------
    >>> randomisation([0.3, 0.5, 0.9, 0.4], [0.2, 0.5, 0.6, 0.3])
    0.25
    """
    return float(randomisation_columns(_difference(a, b), n_draws, random_state)[0])


def bootstrap_interval(difference: Any, level: float = 0.95, n_draws: int = 10_000, random_state: Any = 0) -> Interval:
    """Confidence interval of a mean over queries, from samples of the queries drawn with replacement.

    The ends are quantiles of the means of the samples, moved for bias and skewness (BCa, Efron 1987). Differences
    between rankers are skewed as a rule, many zeros and a long tail; plain quantiles then miss more on one side than on
    the other, by an error that falls with the root of the number of queries, that of BCa with the number itself. The
    draws follow from the seed alone: any number of threads gives the same interval.

    Parameters
    ----------
    difference : array-like of shape (n_queries,)
        Differences between two rankers, or values of one; NaN is left out.
    level : float, default=0.95
        How often such intervals should hold the true mean.
    n_draws : int, default=10_000
    random_state : int, RandomState instance or None, default=0

    Returns
    -------
    Interval
        Named tuple (low, high).

    Examples
    --------
    >>> low, high = bootstrap_interval([0.1, 0.0, 0.3, 0.1, 0.0, 0.0, 0.2, 0.1])
    >>> round(low, 3), round(high, 3)
    (0.05, 0.188)
    """
    values = _as_vector(difference, "difference").reshape(-1, 1)
    (low,), (high,) = bootstrap_columns(values, level, n_draws, random_state)
    return Interval(float(low), float(high))


def holm(p_values: Any) -> np.ndarray:
    """p-values corrected for their number by Holm's method: the chance of any false alarm stays below the level.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none becomes smaller than the one before it, nor
    larger than 1. NaN stays NaN and is not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    if ((p_values < 0) | (p_values > 1)).any():
        raise ValueError(f"p_values holds {p_values[(p_values < 0) | (p_values > 1)][0]:g}, which is not in 0..1.")
    answer = p_values.flatten()
    order = np.argsort(answer, kind="stable")[: int((~np.isnan(answer)).sum())]  # NaN is sorted to the end
    factors = np.arange(order.size, 0, -1)
    answer[order] = np.minimum(np.maximum.accumulate(factors * answer[order]), 1.0)
    return answer.reshape(p_values.shape)


def paired_t_columns(differences: np.ndarray) -> np.ndarray:
    """`paired_t` of each column of differences, of shape (n_queries, n_pairs)."""
    answer = np.full(differences.shape[1], np.nan)
    for columns, values in _counted(differences):
        n = values.shape[0]
        spread = np.sqrt(values.var(axis=0, ddof=1) / n)
        spread[np.ptp(values, axis=0) == 0.0] = 0.0  # where rounding of the mean leaves a little
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(values.mean(axis=0)) / spread
        answer[columns] = np.where(values.any(axis=0), 2.0 * stdtr(n - 1, -t), 1.0)
    return answer


def randomisation_columns(differences: np.ndarray, n_draws: int = 100_000, random_state: Any = 0) -> np.ndarray:
    """`randomisation` of each column of differences, of shape (n_queries, n_pairs)."""
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
    """`bootstrap_interval` of each column of differences, of shape (n_queries, n_pairs): all lows, all highs."""
    level = check_number(level, "level", above=0.0)
    if level >= 1.0:
        raise ValueError(f"level={level:g}; it must be between 0 and 1, such as 0.95.")
    n_draws = check_positive_int(n_draws, "n_draws")
    seed = _seed(random_state)
    ends = np.full((2, differences.shape[1]), np.nan)
    for columns, values in _counted(differences):
        means = _resampled_means(values, n_draws, seed)
        quantiles = _bca_quantiles(values, means, np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level]))
        for column, draws, wanted in zip(columns, means, quantiles, strict=True):
            ends[:, column] = np.quantile(draws, wanted)
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
        deal(_native.evaluation.count_extreme, blocks)
        answer[chunk] = (1 + counts.sum(axis=0)) / (1 + n_draws)
    return answer


def _limits(values: np.ndarray) -> np.ndarray:
    """What the absolute value of a signed sum must reach to count as no smaller than that of the plain sum."""
    return np.abs(values.sum(axis=0)) - SLACK * np.abs(values).sum(axis=0)


def _resampled_means(values: np.ndarray, n_draws: int, seed: np.uint64) -> np.ndarray:
    """Means of samples drawn with replacement, of shape (n_columns, n_draws)."""
    rows = np.ascontiguousarray(values)
    sums = np.empty((values.shape[1], n_draws))
    blocks = [(rows, seed, first, min(first + RESAMPLES, n_draws), sums) for first in range(0, n_draws, RESAMPLES)]
    deal(_native.evaluation.resampled_sums, blocks)
    return sums / values.shape[0]


def _bca_quantiles(values: np.ndarray, means: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Which quantiles of the resampled means stand at the given levels, corrected for bias and skewness."""
    mean = values.mean(axis=0)
    margin = SLACK * np.abs(values).mean(axis=0)
    n_below = (means < (mean - margin)[:, None]).sum(axis=1)
    n_not_above = (means <= (mean + margin)[:, None]).sum(axis=1)
    bias = ndtri((n_below + n_not_above) / (2 * means.shape[1]))
    centred = values - mean
    square = (centred**2).sum(axis=0)
    # for a mean, the jackknife's estimate of the acceleration has this closed form
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
        raise ValueError(f"{name} has an infinite value in place {int(np.argmax(np.isinf(vector)))}.")
    return vector


def _counted(differences: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Columns that leave out the same queries, and their values without these, if two queries or more remain."""
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
    """What separates contestant ``a`` from contestant ``b`` by one measure.

    Attributes
    ----------
    a, b, metric : str
    mean : float
        Mean over the queries of the value of ``a`` minus that of ``b``.
    low, high : float
        Bootstrap interval of ``mean`` at level 0.95.
    wins, losses, ties : int
        Queries on which ``a`` is better, worse (by the measure's own direction), or the same.
    p_t, p_random : float
        Of the paired t-test and of Fisher's randomisation test, both two-sided.
    p_t_holm, p_random_holm : float
        The same after Holm's correction for all the pairs that were asked for together.
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
        """The same pair, told from the side of ``b``."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            mean=-self.mean,
            low=-self.high,
            high=-self.low,
            wins=self.losses,
            losses=self.wins,
        )

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
    """Each pair on its own: the corrected p-values are those of the pair itself. Queries with a NaN are left out.

    All pairs are drawn for at once, which changes none of their p-values.
    """
    if not pairs:
        return []
    # a lone column would be summed in another order than several, and its last digits could differ
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
        answer.append(
            Difference(
                a=a,
                b=b,
                metric=metric,
                mean=float(gap.mean()) if gap.size else np.nan,
                low=float(lows[place]),
                high=float(highs[place]),
                wins=wins,
                losses=losses,
                ties=gap.size - wins - losses,
                p_t=by_t[place],
                p_t_holm=by_t[place],
                p_random=by_chance[place],
                p_random_holm=by_chance[place],
            )
        )
    return answer


def corrected(pairs: Sequence[Difference]) -> list[Difference]:
    """The pairs as one family of tests: their p-values after Holm's correction."""
    if not pairs:
        return []
    by_t = holm(np.array([pair.p_t for pair in pairs]))
    by_chance = holm(np.array([pair.p_random for pair in pairs]))
    return [
        replace(pair, p_t_holm=float(t), p_random_holm=float(chance))
        for pair, t, chance in zip(pairs, by_t, by_chance, strict=True)
    ]
