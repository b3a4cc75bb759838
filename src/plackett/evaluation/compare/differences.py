"""Two rankers on the same queries: how much they differ, how often each wins, and whether chance could have done it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from plackett.evaluation.significance import bootstrap_columns, holm, paired_t_columns, randomisation_columns

TIE = 1e-12  # values that differ by less come from the same ranking, added up in another order


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
