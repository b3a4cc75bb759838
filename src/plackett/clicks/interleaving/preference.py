"""The preference between two rankers: its interval, the verdict, and how many units are still needed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plackett._tables import aligned, json_value
from plackett.evaluation.betting import Tally, values_needed
from plackett.exceptions import ParameterError
from plackett.validation import check_number

UNDECIDED, EQUAL = "undecided", "no difference that matters"
POWER = 0.95


@dataclass(frozen=True)
class Preference:
    """How much the clicks prefer the first ranker over the second.

    The interval holds at all times together: it may be inspected after every click, and the test may be stopped as soon
    as there is a verdict.

    Attributes
    ----------
    first, second : str
        The rankers.
    mean : float
        Mean over units of the credit of the first ranker less that of the second, from -1 to 1; NaN without units.
    low, high : float
        The interval for the expected mean.
    level : float
        Its level.
    n_units : int
        Closed units with a click on a list on which the rankers differ.
    n_first, n_second, n_ties : int
        Units that prefer the first, the second, and neither.
    verdict : str
        The name of the preferred ranker, "undecided", or "no difference that matters" if the interval lies within the
        margin.
    units_needed : float
        Estimated number of units, those at hand included, after which a preference as large as the mean is found with
        a power of 95 %; infinite if the mean is 0.

    Examples
    --------
    >>> import plackett as pk
    >>> test = pk.clicks.Interleaver(k=3, random_state=0)
    >>> shown = test.draw({"bm25": ["a", "b", "c"], "new": ["b", "d", "a"]}, key="session 17", unit="user 4")
    >>> click = {"action_name": "click", "query_id": shown.id, "timestamp": "2026-03-01T10:00:00Z"}
    >>> click["event_attributes"] = {"object": {"object_id": "d"}}
    >>> found = pk.clicks.Interleaver.from_log([test.record(shown, unit="user 4"), click]).preference()
    >>> found.first, found.second, found.mean, found.verdict
    ('bm25', 'new', -1.0, 'undecided')
    """

    first: str
    second: str
    mean: float
    low: float
    high: float
    level: float
    n_units: int
    n_first: int
    n_second: int
    n_ties: int
    verdict: str
    units_needed: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; NaN and infinite ones are None."""
        return json_value(asdict(self))

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a value."""
        needed = "—" if not math.isfinite(self.units_needed) else f"{self.units_needed:,.0f}"
        mean = "—" if math.isnan(self.mean) else f"{self.mean:+.4f}"
        return [
            (f"preference for {self.first} over {self.second}", mean),
            (f"interval, {self.level:.4g} at all times", f"[{self.low:+.4f}, {self.high:+.4f}]"),
            ("units", f"{self.n_units:,}"),
            (f"prefer {self.first}", f"{self.n_first:,}"),
            (f"prefer {self.second}", f"{self.n_second:,}"),
            ("prefer neither", f"{self.n_ties:,}"),
            ("verdict", self.verdict),
            (f"units needed (power {POWER:g})", needed),
        ]

    def __str__(self) -> str:
        return aligned(self.rows(), "ll")


def preference_of(tally: Tally, first: str, second: str, *, level: float, margin: float | None) -> Preference:
    """Return the preference in the values of units."""
    if not 0 < check_number(level, "level") < 1:
        raise ParameterError("level", level, "it must lie between 0 and 1.")
    if margin is not None:
        check_number(margin, "margin", above=0)
    lower, upper, counts = tally.bounds()
    low, high = tally.interval(level)
    verdict = first if low > 0 else second if high < 0 else UNDECIDED
    if verdict == UNDECIDED and margin is not None and -margin < low and high < margin:
        verdict = EQUAL
    middle = (lower + upper) / 2
    needed = math.inf
    if tally.total:
        needed = values_needed(middle, counts / tally.n, level=level, power=POWER)
    n_first, n_second, n_ties = (int(counts[one].sum()) for one in (middle > 0, middle < 0, middle == 0))
    return Preference(first, second, tally.mean, low, high, level, tally.n, n_first, n_second, n_ties, verdict, needed)


def sessions_needed(
    preference: float,
    *,
    ties: float = 0.0,
    click_rate: float = 1.0,
    power: float = POWER,
    level: float = 0.95,
    anytime: bool = True,
) -> float:
    """Return the number of sessions after which a preference is found with some power, for planning a test.

    A session is a win, a loss or a tie. With unequal shares of clicks or credits of other methods the variance is
    smaller, and so is the number. Results are estimates, which tend to be too high (by up to 15 %); infinite for a
    preference of 0.

    Parameters
    ----------
    preference : float
        The smallest mean difference worth finding, among sessions with clicks, from -1 to 1.
    ties : float, default=0.0
        Share of the sessions with clicks that prefer neither.
    click_rate : float, default=1.0
        Share of the sessions with a click on a list on which the rankers differ.
    power : float, default=0.95
        Probability of a verdict.
    level : float, default=0.95
        Level of the interval.
    anytime : bool, default=True
        Whether the interval is inspected after every session; False: once at the end, by the normal approximation.

    Examples
    --------
    >>> from plackett.clicks import sessions_needed
    >>> sessions_needed(0.1), sessions_needed(0.1, anytime=False)
    (2539.0, 1287.0)
    """
    size, ties = abs(check_number(preference, "preference")), check_number(ties, "ties", least=0)
    rate = check_number(click_rate, "click_rate", above=0)
    if size + ties > 1 or rate > 1:
        raise ValueError(
            f"preference={preference:g}, ties={ties:g} and click_rate={rate:g}; the preference and the share of ties "
            "are together at most 1, and so is click_rate."
        )
    for name, value in (("power", power), ("level", level)):
        if not 0 < check_number(value, name) < 1:
            raise ParameterError(name, value, "it must lie between 0 and 1.")
    shares = np.array([(1 - ties + size) / 2, (1 - ties - size) / 2, ties])
    needed = values_needed(np.array([1.0, -1.0, 0.0]), shares, level=level, power=power, anytime=anytime)
    return float(needed if math.isinf(needed) else math.ceil(needed / rate))
