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
LEAST_CLICKS = 10  # effective ones; the spread of weighted clicks cannot be estimated from fewer
LITTLE_COVERAGE = 0.9
UNKNOWN = Interval(math.nan, math.nan)


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
    size = terms.effective_clicks()
    covered = float(terms.covered.mean())
    bias = None if terms.clipping is None else _rounded(float(terms.clipping.mean()))
    bound = None if terms.unknown is None or plan.estimator == SNIPS else _rounded(float(terms.unknown.mean()))
    found = ClickEvaluation(
        ranker=name,
        metric=plan.discount.name,
        estimator=plan.estimator,
        candidates=plan.candidates,
        value=terms.value(),
        interval=_possible(_intervals(values, setting)[0], 0.0, size, plan),
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
        return [UNKNOWN] * values.shape[1]
    return bootstrap_intervals(values, setting.level, setting.seed)


def _possible(ends: Interval, least: float, n_clicks: float, plan: Plan) -> Interval:
    """Return the part of an interval that a value by logging probabilities can be in, NaN for too few clicks.

    The value is that of a list with clicks on some of its documents; ``least`` is 0, or -1 for a difference of two.
    """
    if plan.estimator not in BY_LOGGING:
        return ends
    sums = np.append(0.0, np.cumsum(plan.discount.weights))
    largest = float(sums[np.minimum(np.diff(plan.log.indptr), sums.size - 1)].mean())
    low, high = max(ends.low, least * largest), min(ends.high, largest)
    return Interval(low, high) if n_clicks >= LEAST_CLICKS and low <= high else UNKNOWN


def compare_values(terms: dict[str, Terms], setting: Setting) -> list[ValueDifference]:
    """Return the differences of all pairs of rankings."""
    pairs = list(combinations(terms, 2))
    if not pairs:
        return []
    linear = {name: one.linear() for name, one in terms.items()}
    gaps = np.stack([linear[a] - linear[b] for a, b in pairs], axis=1)
    values = unit_values(gaps, setting.units, setting.seed)
    sizes = [min(terms[a].effective_clicks(), terms[b].effective_clicks()) for a, b in pairs]
    found = zip(pairs, sizes, _intervals(values, setting), holm(paired_t_columns(values)).tolist(), strict=True)
    differences = []
    for (a, b), size, ends, p in found:
        ends = _possible(ends, -1.0, size, setting.plan)
        is_known = setting.plan.estimator not in BY_LOGGING or not math.isnan(ends.low)
        is_significant = is_known and p < 1 - setting.level
        value = terms[a].value() - terms[b].value()
        differences.append(ValueDifference(a, b, value, ends, p if is_known else math.nan, is_significant))
    return differences


def _note_missing_interval(found: ClickEvaluation, n_units: int, setting: Setting) -> None:
    if not math.isnan(found.interval.low):
        return
    units = "sessions" if setting.units is None else "units"
    if not found.n_clicks:
        reason = "the log has no click"
    elif n_units < LEAST_UNITS:
        reason = f"the log has {n_units} {units}, fewer than {LEAST_UNITS}"
    elif found.effective_sample_size < LEAST_CLICKS:
        reason = f"the estimate rests on {found.effective_sample_size:.1f} effective clicks, fewer than {LEAST_CLICKS}"
    else:
        reason = "all of it lies outside of what the measure can be"
    found.notes.append(f"There is no interval: {reason}.")


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
