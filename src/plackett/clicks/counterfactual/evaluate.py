"""Evaluating rankings by the clicks of a log that shows others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from plackett.clicks.correction.estimates import Bias
from plackett.clicks.correction.regression import predicted_relevance
from plackett.clicks.counterfactual.discounts import AVERAGE_RANK, Discount, Metric, get_discount
from plackett.clicks.counterfactual.intervals import (
    BERNSTEIN,
    BOOTSTRAP,
    bernstein_interval,
    bootstrap_intervals,
    unit_codes,
    unit_values,
)
from plackett.clicks.counterfactual.policy import SHUFFLED, LoggingPolicy
from plackett.clicks.counterfactual.positions import (
    BY_POSITION,
    CLIPPED,
    DR,
    QUERY,
    SESSION,
    SNIPS,
    exposure_of,
    position_terms,
)
from plackett.clicks.counterfactual.ranking import Ranking, get_ranking
from plackett.clicks.counterfactual.result import ClickEvaluation, ClickEvaluations, ValueDifference
from plackett.clicks.counterfactual.slates import BY_LOGGING, CASCADE_DR, PSEUDO_INVERSE, slate_terms
from plackett.clicks.counterfactual.terms import Terms
from plackett.clicks.description import named_ranks
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.counts import Counts, count_pairs, session_keys
from plackett.clicks.propensities.estimate import METHODS, estimate_propensities
from plackett.clicks.propensities.propensities import Propensities
from plackett.evaluation.significance import Interval, holm, paired_t_columns
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_choice, check_number, check_positive_int, check_scores, check_seed, count_of

FEW_CLICKS = 100  # effective ones; the intervals of fewer are not to be trusted
LITTLE_COVERAGE = 0.9
MOST_CLIPPED = 0.1  # by default
FOLDS = 5  # of the regression of the doubly robust estimate


def evaluate_from_clicks(
    log: ClickLog,
    ranker: Any,
    *,
    propensities: Any = None,
    logging: LoggingPolicy | str | None = None,
    metric: Metric = "dcg@10",
    estimator: str = "ips",
    candidates: str | None = None,
    clip: float | None = None,
    regression: Any = None,
    normalise: bool = False,
    unit: Any = "session",
    interval: str = "bootstrap",
    level: float = 0.95,
    n_draws: int = 2_000,
    random_state: int = 0,
) -> ClickEvaluation | ClickEvaluations:
    """Estimate what a ranking is worth from the clicks of users who saw others.

    By position, with ``propensities`` of the ranks: the value is the sum over documents of relevance times the
    discount of the new rank, the mean over sessions. Relevance is the chance of a click at rank 1, or P(relevant) if
    the propensities have trust bias.

    * "ips": a click counts 1 / propensity of its rank; (c - b) / a with trust bias. Unbiased.
    * "snips": the same over the sum of clicks / propensity: the mean discount of a relevant document.
    * "clipped": divisors are at least ``clip``. Less variance, and a bias that is reported.
    * "dr": doubly robust. What clipping takes away is replaced by a regression on features (oosterhuis2023). Without
      clipping it is "ips".

    By ``logging`` probabilities of sampled lists: the value is the sum of discounts of the clicks that users would give
    the new ranking. Users need not follow the position-based model; a click at a rank may depend on

    * "list": the whole list.
    * "item-position": its document and rank alone (li2018).
    * "rips": the documents down to its rank (mcinerney2020).
    * "cascade-dr": the same, with click rates of the other half of the log as control variate (kiyohara2022).
    * "pseudo-inverse": a sum of effects of documents at ranks (swaminathan2017).

    Documents with the same score stand in all orders equally likely. Intervals take propensities and logging
    probabilities as known. Results do not depend on the order of the sessions, nor on the number of threads.

    Parameters
    ----------
    log : ClickLog
    ranker : array-like of shape (n_pairs,), fitted ranker, Run, "logged", or a dict of names to these
        Scores in the order of ``log.pairs``; a ranker that scores ``log.features``; a run, which may hold documents
        that were never shown; "logged" is the order that the users saw. Those of a dict are compared on the same
        sessions.
    propensities : Propensities, array-like of shape (n_ranks,), or str, default=None
        For estimators by position. A method of ``estimate_propensities`` is applied to this log.
    logging : LoggingPolicy or "shuffled", default=None
        For estimators by logging probabilities. "shuffled" uses the sessions with ``log.is_random``.
    metric : str or callable, default="dcg@10"
        "dcg", "dcg@k", "precision@k", "average-rank" (the sum of the ranks of relevant documents; with "snips" their
        mean; lower is better), "clicks" or "clicks@k" (expected clicks per session), or a function of an array of ranks
        that returns their weights.
    estimator : str, default="ips"
    candidates : {"session", "query"}, default=None
        What the new ranking orders: the documents of each list, or all documents of the query. None is "session", and
        "query" with a logging policy that is not "shuffled". With "query" and propensities, a click counts 1 / mean
        propensity of the document over all sessions of the query, 0 where it was not shown (oosterhuis2020).
    clip : float, default=None
        Smallest divisor of "clipped" and "dr"; None is 10 / √(sessions), at most 0.1.
    regression : regressor or array-like of shape (n_pairs,), default=None
        For "dr": a regressor with ``fit(X, y, sample_weight=)``, or relevance predicted by other means. None is a ridge
        regression on the features of the log, or the mean relevance if it has none. Queries are predicted by fits on
        other queries.
    normalise : bool, default=False
        For "list", "item-position" and "rips": divide by the mean weight at each rank, which lowers the variance at the
        price of a bias that vanishes with the number of sessions.
    unit : {"session", "query"} or array-like of shape (n_sessions,), default="session"
        What is independent: sessions, queries, or ids such as users. Bootstrap samples are drawn from units.
    interval : {"bootstrap", "bernstein"}, default="bootstrap"
        "bootstrap" corrects for bias and skewness (BCa). "bernstein" holds for any number of sessions with bounded
        values, and is wide (maurer2009).
    level : float, default=0.95
    n_draws : int, default=2_000
        Bootstrap samples. More than 4,000 units are drawn as random groups.
    random_state : int, default=0

    Returns
    -------
    ClickEvaluation, or ClickEvaluations for a dict

    Raises
    ------
    ValueError
        If a rank has no propensity, the log no features for a ranker, or lengths differ.

    Warns
    -----
    DataWarning
        If the effective sample size is small, the log covers little of the new ranking, or clipping dominates.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(50, 10, 3, random_state=0)
    >>> rankers = {"a": lists.X[:, 0], "b": -lists.X[:, 0]}
    >>> log = pk.clicks.simulate_clicks(lists, rankers, 5_000)
    >>> theta = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06]
    >>> scores = [lists.X[int(log.pairs[code][1]), 1] for code in range(log.n_pairs)]
    >>> found = pk.clicks.evaluate_from_clicks(log, scores, propensities=theta, metric="dcg@5")
    >>> found
    ClickEvaluation(ranker: dcg@5 ..., ... to ...)
    """
    check_choice(estimator, "estimator", (*BY_POSITION, *BY_LOGGING))
    check_choice(interval, "interval", (BOOTSTRAP, BERNSTEIN))
    seed, n_draws = check_seed(random_state), check_positive_int(n_draws, "n_draws")
    if not 0 < check_number(level, "level") < 1:
        raise ValueError(f"level={level}; it must be between 0 and 1.")
    if not len(log):
        raise ValueError("the log has no sessions.")
    is_dict = isinstance(ranker, Mapping)
    if is_dict and not ranker:
        raise ValueError("ranker is an empty dict; at least one ranking is needed.")
    if estimator in BY_POSITION:
        _refuse(logging is not None, "logging", estimator)
        _refuse(normalise, "normalise", estimator)
        candidates = check_choice(candidates or SESSION, "candidates", (SESSION, QUERY))  # type: ignore[assignment]
        plan = _by_position(log, propensities, metric, estimator, str(candidates), clip, regression, seed)
    else:
        for name, value in (("propensities", propensities), ("clip", clip), ("regression", regression)):
            _refuse(value is not None, name, estimator)
        if normalise and estimator in (CASCADE_DR, PSEUDO_INVERSE):
            raise ValueError(f"normalise=True is for list, item-position and rips, not for {estimator}.")
        plan = _by_logging(log, logging, metric, estimator, candidates, normalise, seed)
    if interval == BERNSTEIN:
        _check_bernstein(estimator, normalise, unit)
    units = unit_codes(log, unit)
    units = units if units is None else units[plan.sessions]
    named = dict(ranker) if is_dict else {"ranker": ranker}
    terms = {str(name): plan.terms(get_ranking(one, plan.log, str(name))) for name, one in named.items()}
    # an order of the sessions that depends on what they show alone, so that sums do too
    order = np.lexsort((*(column for one in terms.values() for column in one.columns()), session_keys(plan.log)))
    terms = {name: one.taken(order) for name, one in terms.items()}
    units = None if units is None else units[order]
    setting = _Setting(plan, units, interval, float(level), n_draws, seed)
    results = {name: _result(name, one, setting) for name, one in terms.items()}
    if not is_dict:
        return next(iter(results.values()))
    return ClickEvaluations(results, _differences(terms, setting), plan.discount.higher_is_better)


class _Plan(NamedTuple):
    """What is common to all rankings: the sessions that are used, the estimator, and what limits the results."""

    log: ClickLog
    sessions: Any  # of the given log
    estimator: str
    candidates: str
    discount: Discount
    clip: float | None
    terms: Callable[[Ranking], Terms]
    notes: list[str]


class _Setting(NamedTuple):
    plan: _Plan
    units: np.ndarray | None
    interval: str
    level: float
    n_draws: int
    seed: int


def _refuse(is_given: bool, name: str, estimator: str) -> None:
    if is_given:
        by, other = (
            ("propensities", "logging probabilities") if estimator in BY_POSITION else ("logging", "propensities")
        )
        raise ValueError(f"{name} is for estimators by {other}; {estimator!r} uses {by}.")


def _check_bernstein(estimator: str, normalise: bool, unit: Any) -> None:
    if estimator in (SNIPS, CASCADE_DR) or normalise:
        what = "a normalised estimate" if estimator != CASCADE_DR else CASCADE_DR
        raise ValueError(f'interval="bernstein" needs a mean of bounded values, which {what} is not.')
    if not (isinstance(unit, str) and unit == "session"):
        raise ValueError(
            'interval="bernstein" takes sessions as independent; use interval="bootstrap" for other units.'
        )


# --- By position ------------------------------------------------------------------------------------------------------


def _by_position(
    log: ClickLog,
    propensities: Any,
    metric: Metric,
    estimator: str,
    candidates: str,
    clip: float | None,
    regression: Any,
    seed: int,
) -> _Plan:
    if clip is not None and estimator not in (CLIPPED, DR):
        raise ValueError(f'clip is for estimator="clipped" and "dr"; {estimator!r} does not clip.')
    if regression is not None and estimator != DR:
        raise ValueError(f'regression is for estimator="dr", not {estimator!r}.')
    smallest = 0.0
    if estimator in (CLIPPED, DR):
        smallest = min(MOST_CLIPPED, 10 / math.sqrt(len(log))) if clip is None else check_number(clip, "clip", least=0)
    counts = count_pairs(log, log.longest)
    bias, notes = _bias(log, propensities, estimator, counts, needs_looks=candidates == SESSION and smallest == 0)
    if np.bincount(counts.pair, minlength=log.n_pairs).max() == 1:
        notes.append("Every pair was shown at one rank only: nothing in this log can confirm the propensities.")
    exposure = exposure_of(log, counts, bias) if candidates == QUERY else None
    guess = _regression(log, regression, counts, bias, seed) if estimator == DR else None

    def terms(ranking: Ranking) -> Terms:
        if candidates == QUERY and ranking.scores is None:
            raise ValueError('"logged" orders the documents of each list; use candidates="session".')
        if metric == AVERAGE_RANK and candidates == QUERY and (ranking.places.start == ranking.places.stop).any():
            raise ValueError('the run lacks shown documents, which have no rank. Use candidates="session" or dcg.')
        return position_terms(
            log,
            ranking,
            get_discount(metric, max(log.longest, int(ranking.lengths.max(initial=0))), bias),
            bias,
            clip=smallest,
            exposure=exposure,
            regression=guess,
            is_normalised=estimator == SNIPS,
        )

    discount = get_discount(metric, log.longest, bias)
    return _Plan(log, slice(None), estimator, candidates, discount, smallest or None, terms, notes)


def _bias(
    log: ClickLog, propensities: Any, estimator: str, counts: Counts, *, needs_looks: bool
) -> tuple[Bias, list[str]]:
    """Return a and b of the ranks, checked."""
    notes = []
    if propensities is None:
        raise ValueError(
            f"estimator={estimator!r} needs propensities: those of estimate_propensities, or from an experiment, or a "
            f"method for this log ({', '.join(METHODS)})."
        )
    if isinstance(propensities, str):
        found = estimate_propensities(log, propensities, level=None)
        notes.append(
            f"The propensities are estimates from this log ({propensities}); the interval takes them as known."
        )
    else:
        found = propensities if isinstance(propensities, Propensities) else Propensities(propensities)
    if len(found) < log.longest:
        raise ValueError(
            f"there are propensities of {count_of(len(found), 'rank')} but lists of up to {log.longest} documents. Cut "
            f"the lists (read_clicks(..., k={len(found)})), or estimate the other ranks."
        )
    if found.a is not None and found.b is not None:
        bias = Bias(found.a, found.b)
    else:
        bias = Bias(found.values, np.zeros(len(found)))
    is_shown = counts.by_rank(counts.shown) > 0
    a, b = (part[: log.longest] for part in bias)
    unknown = np.flatnonzero(is_shown & ~(np.isfinite(a) & np.isfinite(b))) + 1
    if unknown.size:
        raise ValueError(
            f"the propensity of {named_ranks(unknown.tolist())} is not known (NaN), but documents were shown there. "
            'Cut the lists above, or use a method that finds it, such as "regression-em".'
        )
    wrong = np.flatnonzero(is_shown & ((a <= 0) if needs_looks else (a < 0))) + 1
    if not wrong.size:
        wrong = np.flatnonzero((a == 0) & (b == 0) & (counts.by_rank(counts.clicks) > 0)) + 1
    if wrong.size:
        raise ValueError(
            f"the propensity of {named_ranks(wrong.tolist())} is not above 0, but documents were shown or clicked "
            "there; a click without a look cannot be weighted."
        )
    return bias, notes


def _regression(log: ClickLog, regression: Any, counts: Counts, bias: Bias, seed: int) -> np.ndarray:
    """Return the predicted relevance of each pair."""
    if regression is not None and not callable(getattr(regression, "fit", None)):
        predicted = check_scores(regression, name="regression").astype(np.float64)
        if predicted.size != log.n_pairs or not np.isfinite(predicted).all():
            given = f"regression has {count_of(predicted.size, 'value')}"
            raise ValueError(f"{given}; a finite number for each of the {log.n_pairs:,} pairs is needed.")
        return predicted
    if regression is not None and log.features is None:
        raise ValueError("regression needs a log with features; use log.with_features(...).")
    features = np.ones((log.n_pairs, 1)) if log.features is None else log.features
    n_folds = FOLDS if np.unique(log.session_query).size > 1 else None
    return np.clip(predicted_relevance(features, log.pair_query, counts, bias, regression, n_folds, seed), 0.0, 1.0)


# --- By logging probabilities -----------------------------------------------------------------------------------------


def _by_logging(
    log: ClickLog,
    logging: LoggingPolicy | str | None,
    metric: Metric,
    estimator: str,
    candidates: str | None,
    normalise: bool,
    seed: int,
) -> _Plan:
    policy = LoggingPolicy.shuffled() if logging == SHUFFLED else logging
    if not isinstance(policy, LoggingPolicy):
        raise ValueError(f'estimator={estimator!r} needs logging: a LoggingPolicy, or "shuffled" for shuffled lists.')
    sessions: Any = slice(None)
    if policy.kind == SHUFFLED:
        if log.is_random is None or not log.is_random.any():
            raise ValueError(
                'logging="shuffled" needs sessions with shuffled lists (log.is_random), and there are none.'
            )
        sessions = np.flatnonzero(log.is_random)
        log = log[sessions] if sessions.size < len(log) else log
        if candidates == QUERY:
            raise ValueError('shuffled lists hold a given set of documents; use candidates="session".')
    chosen = check_choice(candidates or (SESSION if policy.kind == SHUFFLED else QUERY), "candidates", (SESSION, QUERY))
    policy.check(log)
    discount = get_discount(metric, log.longest, None)
    if metric == AVERAGE_RANK:
        raise ValueError(
            f"average-rank is not a value of clicks; estimator={estimator!r} takes dcg, precision or clicks."
        )

    def terms(ranking: Ranking) -> Terms:
        return slate_terms(
            log,
            ranking,
            discount,
            policy,
            estimator,
            of_session=chosen == SESSION or ranking.scores is None,
            is_normalised=normalise,
            seed=seed,
        )

    return _Plan(log, sessions, estimator, str(chosen), discount, None, terms, [])


# --- Results ----------------------------------------------------------------------------------------------------------


def _result(name: str, terms: Terms, setting: _Setting) -> ClickEvaluation:
    plan, level = setting.plan, setting.level
    by_logging = plan.estimator in BY_LOGGING
    value, linear = terms.value(), terms.linear()
    values = unit_values(linear[:, None], setting.units, setting.seed)
    error = float(values[:, 0].std(ddof=1) / math.sqrt(values.shape[0])) if values.shape[0] > 1 else math.nan
    ends, span = _interval(linear, values, terms.low.min(), terms.high.max(), setting)
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
        value=value,
        interval=ends,
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
        range=span,
        notes=list(plan.notes),
    )
    _warn_of(found, terms.covered, setting)
    return found


def _rounded(value: float) -> float:
    """Return 0 for what rounding left over."""
    return value if abs(value) > 1e-12 else 0.0


def _interval(
    linear: np.ndarray, values: np.ndarray, low: float, high: float, setting: _Setting
) -> tuple[Interval, tuple[float, float] | None]:
    if setting.interval == BOOTSTRAP:
        return bootstrap_intervals(values, setting.level, setting.n_draws, setting.seed)[0], None
    ends = bernstein_interval(linear, float(high - low), setting.level)
    return Interval(max(ends.low, float(low)), min(ends.high, float(high))), (float(low), float(high))


def _differences(terms: dict[str, Terms], setting: _Setting) -> list[ValueDifference]:
    """Return the differences of all pairs of rankings."""
    pairs = list(combinations(terms, 2))
    if not pairs:
        return []
    linear = {name: one.linear() for name, one in terms.items()}
    gaps = np.stack([linear[a] - linear[b] for a, b in pairs], axis=1)
    values = unit_values(gaps, setting.units, setting.seed)
    if setting.interval == BOOTSTRAP:
        intervals = bootstrap_intervals(values, setting.level, setting.n_draws, setting.seed)
    else:
        spans = {name: float(one.high.max() - one.low.min()) for name, one in terms.items()}
        intervals = [
            bernstein_interval(gaps[:, place], spans[a] + spans[b], setting.level) for place, (a, b) in enumerate(pairs)
        ]
    p_values = holm(paired_t_columns(values)).tolist()
    found = zip(pairs, intervals, p_values, strict=True)
    return [
        ValueDifference(a, b, terms[a].value() - terms[b].value(), ends, p, p < 1 - setting.level)
        for (a, b), ends, p in found
    ]


def _warn_of(found: ClickEvaluation, covered: np.ndarray, setting: _Setting) -> None:
    """Add notes to a result, and warn of what makes it unreliable."""
    name = "" if found.ranker == "ranker" else f"{found.ranker}: "
    if found.effective_sample_size < FEW_CLICKS:
        _add(
            found,
            f"{name}The estimate rests on {found.effective_sample_size:.0f} effective clicks of {found.n_clicks:,}; "
            f"below {FEW_CLICKS} its interval is not reliable. Use more sessions, a smaller cut-off, or clipping.",
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
            f"{name}The value is that of the shown lists in a new order: they hold {found.coverage:.1%} of what the "
            'new ranking would show first of all known documents of the query. candidates="query" evaluates that.'
        )
    reach = (found.interval.high - found.interval.low) / 2
    if found.bias is not None and abs(found.bias) > reach:
        _add(
            found,
            f"{name}Clipping changed the value by {found.bias:.4g}, more than half of the interval; lower clip "
            f"({found.clip:.3g}).",
        )


def _add(found: ClickEvaluation, note: str) -> None:
    found.notes.append(note)
    warn(note, DataWarning)
