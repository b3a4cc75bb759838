"""Evaluating rankings by the clicks of a log that shows other rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett.clicks.correction.estimates import Bias
from plackett.clicks.correction.regression import predicted_relevance
from plackett.clicks.counterfactual.discounts import AVERAGE_RANK, Metric, get_discount
from plackett.clicks.counterfactual.intervals import unit_codes
from plackett.clicks.counterfactual.policy import SHUFFLED, LoggingPolicy
from plackett.clicks.counterfactual.positions import (
    BY_POSITION,
    CLIPPED,
    DR,
    IPS,
    QUERY,
    SESSION,
    SNIPS,
    exposure_of,
    position_terms,
)
from plackett.clicks.counterfactual.ranking import Ranking, get_ranking
from plackett.clicks.counterfactual.result import ClickEvaluation, ClickEvaluations
from plackett.clicks.counterfactual.slates import BY_LOGGING, ITEM_POSITION, PSEUDO_INVERSE, slate_terms
from plackett.clicks.counterfactual.summary import Plan, Setting, compare_values, summarise
from plackett.clicks.counterfactual.terms import Terms
from plackett.clicks.description import named_ranks
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.counts import Counts, count_pairs, session_keys
from plackett.clicks.propensities.estimate import METHODS, as_propensities
from plackett.clicks.propensities.propensities import GIVEN
from plackett.exceptions import ParameterError
from plackett.validation import check_choice, check_number, check_scores, check_seed, count_of

MOST_CLIPPED = 0.1  # by default
FOLDS = 5  # of the regression of the doubly robust estimate


def evaluate_from_clicks(
    log: ClickLog,
    ranker: Any,
    *,
    propensities: Any = None,
    logging: LoggingPolicy | str | None = None,
    metric: Metric = "dcg@10",
    estimator: str | None = None,
    candidates: str | None = None,
    clip: float | None = None,
    regression: Any = None,
    unit: Any = "session",
    level: float = 0.95,
    random_state: int = 0,
) -> ClickEvaluation | ClickEvaluations:
    """Estimate the value of a ranking from the clicks of users who saw others.

    By position, with ``propensities`` of the ranks: the value is the sum over documents of relevance times the
    discount of the new rank, averaged over sessions. Relevance is the probability of a click at rank 1 if propensities
    are relative to rank 1, the probability of a click on an examined document if they are absolute examination
    probabilities, or P(relevant) if they have trust bias.

    * "ips": a click counts one over the propensity of its rank; ``(c - b) / a`` with trust bias. Unbiased.
    * "snips": the same over the sum of clicks / propensity: the mean discount of a relevant document.
    * "clipped": divisors are at least ``clip``. Less variance, and a bias that is reported.
    * "dr": doubly robust. A regression on features replaces what clipping removes (oosterhuis2023). Without
      clipping it is "ips".

    By ``logging`` probabilities of sampled lists: the value is the sum of discounts of the clicks that users would make
    on the new ranking. Users need not follow the position-based model; a click at a rank may depend on

    * "list": the whole list.
    * "item-position": its document and rank alone (li2018).
    * "rips": the documents down to its rank (mcinerney2020).
    * "pseudo-inverse": a sum of effects of documents at ranks; for shuffled lists (swaminathan2017).

    All orders of documents with the same score are equally likely. Intervals treat propensities and logging
    probabilities as known. Results do not depend on the order of the sessions, nor on the number of threads.

    Parameters
    ----------
    log : ClickLog
    ranker : array-like of shape (n_pairs,), fitted ranker, Run, "logged", or a dict of names to these
        Scores in the order of ``log.pairs``; a ranker that scores ``log.features``; a run, which may hold documents
        that were never shown, and percent-encoded ids ("red%20shoes"); "logged" is the order that the users saw. The
        rankings of a dict are compared on the same sessions.
    propensities : Propensities, array-like of shape (n_ranks,), or str, default=None
        For estimators by position. Values are used as given, even if that of rank 1 is not 1. A method of
        ``estimate_propensities`` is applied to this log.
    logging : LoggingPolicy or "shuffled", default=None
        For estimators by logging probabilities. "shuffled" uses the sessions with ``log.is_random``; None the logged
        probabilities in ``log.propensity``.
    metric : str or callable, default="dcg@10"
        "dcg", "dcg@k", "precision@k", "average-rank" (the sum of the ranks of relevant documents; with "snips" their
        mean; lower is better), "clicks" or "clicks@k" (expected clicks per session), or a function of an array of ranks
        that returns their weights.
    estimator : str, default=None
        None means "ips"; "item-position" with ``logging`` or logged probabilities and without propensities of ranks.
    candidates : {"session", "query"}, default=None
        The documents that the new ranking orders: those of each list, or all of the query. None means "session", or
        "query" with a logging policy that is not "shuffled". With "query" and propensities, a click counts 1 / mean
        propensity of the document over all sessions of the query, 0 where it was not shown (oosterhuis2020).
    clip : float, default=None
        Smallest divisor of "clipped" and "dr"; None means ``10 / sqrt(n_sessions)``, at most 0.1.
    regression : regressor or array-like of shape (n_pairs,), default=None
        For "dr": a regressor with ``fit(X, y, sample_weight=)``, or relevance predicted by other means. None means
        ridge regression on the features of the log, or the mean relevance if it has none. Queries are predicted by fits
        on other queries.
    unit : {"session", "query"} or array-like of shape (n_sessions,), default="session"
        The independent units: sessions, queries, or ids such as users. Intervals are bootstrap-t
        intervals, whose samples are drawn from units, or from 4,000 random groups of them; NaN for fewer than 10 units
        or no click, and by logging probabilities for fewer than 10 effective clicks.
    level : float, default=0.95
    random_state : int, default=0

    Raises
    ------
    ValueError
        If a rank has no propensity, the log no features for a ranker, a run none of the shown documents, or lengths
        differ.

    Warns
    -----
    DataWarning
        If the effective sample size is small, the log covers little of the new ranking, a run lacks most of the shown
        documents, or clipping dominates.

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
    if estimator is None:
        is_logged = propensities is None and (logging is not None or log.propensity is not None)
        estimator = ITEM_POSITION if is_logged else IPS
    check_choice(estimator, "estimator", (*BY_POSITION, *BY_LOGGING))
    seed = check_seed(random_state)
    if not 0 < check_number(level, "level") < 1:
        raise ParameterError("level", level, "it must be between 0 and 1.")
    if not len(log):
        raise ValueError("the log has no sessions.")
    is_dict = isinstance(ranker, Mapping)
    if is_dict and not ranker:
        raise ValueError("ranker is an empty dict; at least one ranking is needed.")
    if estimator in BY_POSITION:
        _refuse(logging is not None, "logging", estimator)
        candidates = check_choice(candidates or SESSION, "candidates", (SESSION, QUERY))
        plan = _by_position(log, propensities, metric, estimator, candidates, clip, regression, seed)
    else:
        for name, value in (("propensities", propensities), ("clip", clip), ("regression", regression)):
            _refuse(value is not None, name, estimator)
        plan = _by_logging(log, logging, metric, estimator, candidates)
    if any(callable(getattr(one, "predict", None)) for one in (ranker.values() if is_dict else [ranker])):
        plan.notes.append(
            "A ranker that was trained on this log is valued too high: hold out sessions or queries (log.split)."
        )
    units = unit_codes(log, unit)
    units = units if units is None else units[plan.sessions]
    named = dict(ranker) if is_dict else {"ranker": ranker}
    of_lists = plan.candidates == SESSION
    terms = {
        str(name): plan.terms(get_ranking(one, plan.log, str(name), of_lists=of_lists)) for name, one in named.items()
    }
    # order the sessions by what they show, so that sums do not depend on the order of the log
    order = np.lexsort((*(column for one in terms.values() for column in one.columns()), session_keys(plan.log)))
    terms = {name: one.taken(order) for name, one in terms.items()}
    units = None if units is None else units[order]
    setting = Setting(plan, units, float(level), seed)
    results = {name: summarise(name, one, setting) for name, one in terms.items()}
    if not is_dict:
        return next(iter(results.values()))
    return ClickEvaluations(results, compare_values(terms, setting), plan.discount.higher_is_better)


def _refuse(is_given: bool, name: str, estimator: str) -> None:
    if is_given:
        by, other = (
            ("propensities", "logging probabilities") if estimator in BY_POSITION else ("logging", "propensities")
        )
        raise ValueError(f"{name} is for estimators by {other}; {estimator!r} uses {by}.")


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
) -> Plan:
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
    return Plan(log, slice(None), estimator, candidates, discount, smallest or None, terms, notes)


def _bias(
    log: ClickLog, propensities: Any, estimator: str, counts: Counts, *, needs_looks: bool
) -> tuple[Bias, list[str]]:
    """Return a and b of the ranks, checked."""
    notes = []
    if propensities is None:
        raise ValueError(
            f"the estimator {estimator!r} needs propensities: those of estimate_propensities, or from an experiment, "
            f"or a method for this log ({', '.join(METHODS)})."
        )
    found = as_propensities(propensities, log, level=None)
    if found.method != GIVEN:
        source = " from this log" if isinstance(propensities, str) else ""
        notes.append(f"The propensities are estimates{source} ({found.method}); the interval treats them as known.")
    if len(found) < log.longest:
        raise ValueError(
            f"there are propensities for {count_of(len(found), 'rank')} but lists of up to {log.longest} documents. "
            f"Cut the lists (read_clicks(..., k={len(found)})), or estimate the other ranks."
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
            "there; a click at a rank that is never examined cannot be weighted."
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
    log: ClickLog, logging: LoggingPolicy | str | None, metric: Metric, estimator: str, candidates: str | None
) -> Plan:
    policy = LoggingPolicy.shuffled() if logging == SHUFFLED else logging
    if policy is None and log.propensity is not None:
        # of a list of one document, both probabilities are the same
        step = log.propensity if log.longest == 1 else None
        policy = LoggingPolicy.from_probabilities(step=step, marginal=log.propensity)
    if not isinstance(policy, LoggingPolicy):
        raise ValueError(f'estimator={estimator!r} needs logging: a LoggingPolicy, or "shuffled" for shuffled lists.')
    if estimator == PSEUDO_INVERSE and policy.kind != SHUFFLED:
        raise ValueError('estimator="pseudo-inverse" needs lists in which all orders are equally likely: "shuffled".')
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
        of_session = chosen == SESSION or ranking.scores is None
        return slate_terms(log, ranking, discount, policy, estimator, of_session=of_session)

    return Plan(log, sessions, estimator, str(chosen), discount, None, terms, [])
