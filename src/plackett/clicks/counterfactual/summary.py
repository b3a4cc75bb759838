"""Values, intervals and warnings from what sessions add to an estimate."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from plackett.clicks.counterfactual.discounts import Discount
from plackett.clicks.counterfactual.intervals import LEAST_UNITS, bootstrap_intervals, unit_values
from plackett.clicks.counterfactual.positions import CLIPPED, DR, QUERY, SESSION, SNIPS
from plackett.clicks.counterfactual.ranking import Ranking
from plackett.clicks.counterfactual.result import ClickEvaluation, ValueDifference
from plackett.clicks.counterfactual.slates import BY_LOGGING
from plackett.clicks.counterfactual.terms import Terms
from plackett.clicks.log import ClickLog
from plackett.evaluation.significance import Interval, holm, paired_t_columns
from plackett.exceptions import DataWarning, warn

FEW_CLICKS = 100  # effective ones; the intervals of fewer are unreliable
LITTLE_COVERAGE = 0.9


class Plan(NamedTuple):
    """What is common to all rankings: the sessions that are used, the estimator, and what limits the results."""

    log: ClickLog
    sessions: Any  # of the given log
    estimator: str
    candidates: str
    discount: Discount
    clip: float | None
    terms: Callable[[Ranking], Terms]
    notes: list[str]


class Setting(NamedTuple):
    """How intervals are computed."""

    plan: Plan
    units: np.ndarray | None
    level: float
    seed: int


def summarise(name: str, terms: Terms, setting: Setting) -> ClickEvaluation:
    """Return the value of a ranking, and warn of what makes it unreliable."""
    plan, level = setting.plan, setting.level
    by_logging = plan.estimator in BY_LOGGING
    values = unit_values(terms.linear()[:, None], setting.units, setting.seed)
    error = float(values[:, 0].std(ddof=1) / math.sqrt(values.shape[0])) if values.shape[0] > 1 else math.nan
    squares = float(terms.square.sum())
    size = float(terms.weight.sum()) ** 2 / squares if squares > 0 else 0.0
    covered = float(terms.covered.mean())
    bias = None if terms.clipping is None else _rounded(float(terms.clipping.mean()))
    bound = None if terms.unknown is None or plan.estimator == SNIPS else _rounded(float(terms.unknown.mean()))
    found = ClickEvaluation(
        ranker=name,
        metric=plan.discount.name,
        estimator=plan.estimator,
        candidates=plan.candidates,
        value=terms.value(),
        interval=_intervals(values, setting)[0],
        level=level,
        standard_error=error,
        n_sessions=len(plan.log),
        n_clicks=plan.log.n_clicks,
        effective_sample_size=size,
        coverage=math.nan if by_logging else covered,
        mean_weight=covered if by_logging else math.nan,
        clip=plan.clip,
        bias=bias,
        bias_bound=bound,
        notes=list(plan.notes),
    )
    _note_missing_interval(found, values.shape[0], setting)
    _warn_of(found, terms.covered)
    return found


def _rounded(value: float) -> float:
    """Return 0 for rounding errors."""
    return value if abs(value) > 1e-12 else 0.0


def _intervals(values: np.ndarray, setting: Setting) -> list[Interval]:
    if not setting.plan.log.n_clicks:  # all samples are equal, and say nothing about the next click
        return [Interval(math.nan, math.nan)] * values.shape[1]
    return bootstrap_intervals(values, setting.level, setting.seed)


def compare_values(terms: dict[str, Terms], setting: Setting) -> list[ValueDifference]:
    """Return the differences of all pairs of rankings."""
    pairs = list(combinations(terms, 2))
    if not pairs:
        return []
    linear = {name: one.linear() for name, one in terms.items()}
    gaps = np.stack([linear[a] - linear[b] for a, b in pairs], axis=1)
    values = unit_values(gaps, setting.units, setting.seed)
    intervals = _intervals(values, setting)
    p_values = holm(paired_t_columns(values)).tolist()
    found = zip(pairs, intervals, p_values, strict=True)
    return [
        ValueDifference(a, b, terms[a].value() - terms[b].value(), ends, p, p < 1 - setting.level)
        for (a, b), ends, p in found
    ]


def _note_missing_interval(found: ClickEvaluation, n_units: int, setting: Setting) -> None:
    if found.n_clicks and n_units >= LEAST_UNITS:
        return
    units = "sessions" if setting.units is None else "units"
    reason = f"{n_units} {units}, fewer than {LEAST_UNITS}" if found.n_clicks else "no click"
    found.notes.append(f"There is no interval: the log has {reason}.")


def _warn_of(found: ClickEvaluation, covered: np.ndarray) -> None:
    """Add notes to a result, and warn of what makes it unreliable."""
    name = "" if found.ranker == "ranker" else f"{found.ranker}: "
    if not found.n_clicks:
        _add(found, f"{name}Nothing was clicked in {found.n_sessions:,} sessions. Use more sessions.")
    elif found.effective_sample_size < FEW_CLICKS:
        _add(
            found,
            f"{name}The estimate rests on {found.effective_sample_size:.0f} effective clicks of {found.n_clicks:,}; "
            f"below {FEW_CLICKS} its interval is not reliable. {_advice(found)}",
        )
    if found.estimator in BY_LOGGING:
        error = float(covered.std()) / math.sqrt(covered.size)
        if abs(found.mean_weight - 1) > max(5 * error, 0.01):
            _add(
                found,
                f"{name}The mean weight is {found.mean_weight:.3f} but 1 is expected: the logging probabilities are "
                "wrong, or the log cannot show what the new ranking shows.",
            )
    elif found.candidates == QUERY and found.coverage < LITTLE_COVERAGE:
        what = "by the regression alone" if found.estimator == DR else "as irrelevant"
        _add(
            found,
            f"{name}Only {found.coverage:.1%} of the new ranking (by discount) was ever shown for its query; the rest "
            f"counts {what}.",
        )
    elif found.candidates == SESSION and found.coverage < LITTLE_COVERAGE:
        found.notes.append(
            f"{name}The value is that of the shown lists in a new order. They hold {found.coverage:.1%} of what this "
            'ranking shows first for the query; candidates="query" evaluates that.'
        )
    reach = (found.interval.high - found.interval.low) / 2
    if found.bias is not None and abs(found.bias) > reach:
        _add(
            found,
            f"{name}Clipping changed the value by {found.bias:.4g}, more than half of the interval; lower clip "
            f"({found.clip:.3g}).",
        )


def _advice(found: ClickEvaluation) -> str:
    """Return what would give an estimate more effective clicks."""
    if found.estimator in BY_LOGGING:
        return "Use more sessions, or a smaller cut-off."
    other = "a larger clip" if found.estimator in (CLIPPED, DR) else 'estimator="clipped"'
    return f"Use more sessions, a smaller cut-off, or {other}."


def _add(found: ClickEvaluation, note: str) -> None:
    found.notes.append(note)
    warn(note, DataWarning)
