"""Estimating propensities from a click log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._threads import one_blas_thread
from plackett._warnings import without
from plackett.clicks.description import connected_ranks, named_ranks, ranks_share
from plackett.clicks.log import ClickLog, CountedLog
from plackett.clicks.models.ascent import LEAST
from plackett.clicks.models.cells import PBM
from plackett.clicks.propensities.counts import Counts, count_lengths, count_pairs, session_groups, shared_evidence
from plackett.clicks.propensities.em import Start, classifier_fit, logistic_fit, regression_em, trust_em, trust_gauge
from plackett.clicks.propensities.harvesting import harvested, randomised, swapped
from plackett.clicks.propensities.propensities import Propensities
from plackett.exceptions import ConvergenceWarning, DataWarning, ParameterError, warn
from plackett.validation import check_choice, check_number, check_positive_int, check_seed

TRUST_SHOWN = 50  # impressions that a pair needs for "trust"; fewer say too little about its relevance
METHODS = ("randomised", "swap", "harvesting", "em", "regression-em", "trust")


def estimate_propensities(
    log: ClickLog,
    method: str = "harvesting",
    *,
    model: Any = None,
    level: float | None = 0.95,
    n_groups: int = 20,
    max_iter: int = 500,
    tol: float = 1e-6,
    random_state: int = 0,
) -> Propensities:
    """Estimate how much less often each rank is examined than rank 1.

    * "randomised": the click rate at a rank over that at rank 1, in the sessions with shuffled lists (``is_random``).
      A rank is compared on lists that are long enough for it.
    * "swap": the same ratio over the pairs of query and document that were shown at both ranks, for experiments that
      exchange the documents at ranks 1 and k in some sessions (joachims2017). A pair counts by the smaller of its two
      numbers of impressions.
    * "harvesting": the click rates of pairs that were shown at two ranks, for all pairs of ranks (agarwal2019), because
      several rankers served the same queries. Pairs count as above.
    * "em": the position-based model (``PBM``).
    * "regression-em": the position-based model in which the attractiveness is a model of the features of the log
      (wang2018a). Pairs that were shown at one rank only inform each other, so ranks need not share pairs.
    * "trust": documents at high ranks are clicked more readily than their relevance explains (agarwal2019a). A click at
      r has probability ``a_r P(relevant) + b_r``. P(relevant) is known only up to a shift and a scale: the result is
      the solution with ``a_1 + b_1 = 1`` and the least b_r, which is 0 at one rank. ``values`` are ``a_r + b_r``. Pairs
      with fewer than 50 impressions are left out, because the estimates of their relevance would bias the result.

    "swap", "harvesting", "em" and "trust" need ranks that share clicked pairs, directly or through other ranks. Ranks
    that are not connected to rank 1 in this way have the propensity NaN.

    Intervals are those of a jackknife over random groups of sessions; of queries, for a log ``from_counts``. Those of
    "em" come from the information of the model, which takes the clicks of a session as independent. Results do not
    depend on the order of the sessions, nor on the number of threads.

    Parameters
    ----------
    log : ClickLog
    method : {"randomised", "swap", "harvesting", "em", "regression-em", "trust"}, default="harvesting"
    model : PBM, or classifier, default=None
        For "em", the model to fit; None means ``PBM(prior="fitted")``, which integrates out the attractiveness of the
        pairs, because estimating both together biases the propensities. For "regression-em", a classifier with
        ``fit(X, y, sample_weight=)`` and ``predict_proba(X)``; None means a logistic model.
    level : float, default=0.95
        Level of the intervals; None computes none. A jackknife repeats the fit for each group.
    n_groups : int, default=20
        Groups of the jackknife.
    max_iter : int, default=500
        Maximum number of EM steps. This and ``tol`` are ignored with a PBM as ``model``.
    tol : float, default=1e-6
        Stop when a step moves no probability by more than this, and the likelihood hardly rises.
    random_state : int, default=0
        Seed of the groups.

    Raises
    ------
    ValueError
        If the log has no click at rank 1, or no other rank can be estimated.

    Warns
    -----
    DataWarning
        If some ranks cannot be estimated.
    ConvergenceWarning
        If ``max_iter`` steps were not enough.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 20_000, k=3, random_share=0.5)
    >>> found = pk.clicks.estimate_propensities(log, "randomised")
    >>> len(found), found.intervals.shape
    (3, (3, 2))
    """
    check_choice(method, "method", METHODS)
    if level is not None and not 0 < check_number(level, "level") < 1:
        raise ParameterError("level", level, "it must be between 0 and 1, or None.")
    if check_positive_int(n_groups, "n_groups") < 2:
        raise ValueError("n_groups=1; a jackknife needs at least 2 groups.")
    check_positive_int(max_iter, "max_iter")
    check_number(tol, "tol", above=0)
    seed = check_seed(random_state)
    if model is not None and method not in ("em", "regression-em"):
        raise ValueError(f'model is for "em" and "regression-em", not {method!r}.')
    log = _sessions_for(log, method)
    n_ranks = log.longest
    with one_blas_thread():
        count = count_lengths if method == "randomised" else count_pairs
        counts = count(log, n_ranks)
        if not counts.by_rank(counts.clicks)[0]:
            what = "in the shuffled lists" if method == "randomised" else "in this log"
            raise ValueError(f"rank 1 has no click {what}; propensities are relative to rank 1.")
        kept = _kept_pairs(counts, method)
        is_found, notes = _found_ranks(counts.of_pairs(kept), method)
        if method == "em":
            found, intervals = _by_model(log, model or PBM("fitted", max_iter, tol), level)
        else:
            estimator = _estimator(method, log, model, kept, is_found, max_iter=max_iter, tol=tol)
            found, intervals = estimator(counts, None), None
            if not np.isfinite(found.values[is_found]).all():
                raise ValueError(_why_not(method, found.values, is_found))
            if level is not None:
                intervals = _jackknife(log, counts, count, estimator, found, level, n_groups, seed)
    if not found.is_converged:
        warn(
            f"{method} stopped after {max_iter} steps, before the likelihood converged. Raise max_iter.",
            ConvergenceWarning,
        )
    values, (a, b) = np.where(is_found, found.values, np.nan), found.trust or (None, None)
    if intervals is None:
        return Propensities(values, a=a, b=b, method=method, notes=notes)
    intervals = np.where(is_found[:, None], intervals, np.nan)
    return Propensities(values, intervals, level=level, a=a, b=b, method=method, notes=notes)


def as_propensities(given: Any, log: ClickLog, *, level: float | None = 0.95) -> Propensities:
    """Return given propensities, or those that the method of that name estimates from a log."""
    if isinstance(given, str):
        return estimate_propensities(log, check_choice(given, "propensities", METHODS), level=level)
    return given if isinstance(given, Propensities) else Propensities(given)


class _Found(NamedTuple):
    """One estimate: propensities, a and b of the trust bias, and where the next ascent may begin."""

    values: np.ndarray
    trust: tuple[np.ndarray, np.ndarray] | None = None
    start: Start | None = None
    is_converged: bool = True


Estimator = Callable[[Counts, Start | None], _Found]
STEPS_FROM_START = 50  # of an ascent that begins at the maximum for almost the same sessions


def _sessions_for(log: ClickLog, method: str) -> ClickLog:
    if method == "randomised":
        if log.is_random is None:
            raise ValueError('method="randomised" needs is_random, which marks the sessions with shuffled lists.')
        log = log[log.is_random]
        if not len(log):
            raise ValueError("no session of the log has a shuffled list (is_random).")
    if not len(log):
        raise ValueError("the log has no sessions.")
    if method == "regression-em" and log.features is None:
        raise ValueError('method="regression-em" needs a log with features; use log.with_features(...).')
    return log


def _found_ranks(counts: Counts, method: str) -> tuple[np.ndarray, list[str]]:
    """Return which ranks can be estimated, and in words which cannot."""
    is_found = np.ones(counts.n_ranks, dtype=bool)
    if method in ("randomised", "regression-em") or counts.n_ranks == 1:
        return is_found, []
    clicks, _ = shared_evidence(counts)
    is_shared = clicks + clicks.T > 0
    if method == "swap":
        is_found[1:] = clicks[0, 1:] > 0
        lost, through = np.flatnonzero(~is_found) + 1, ""
    else:
        group = connected_ranks(is_shared | np.eye(counts.n_ranks, dtype=bool))[0]
        is_found = np.isin(np.arange(1, counts.n_ranks + 1), group)
        lost, through = np.flatnonzero(~is_found) + 1, ", directly or through other ranks"
    if not lost.size:
        return is_found, []
    note = (
        f"{ranks_share(lost.tolist())} no clicked pair of query and document with rank 1{through}: this log cannot "
        'tell how much less users look there. Serve some lists in another order, or use method="regression-em".'
    )
    if lost.size == counts.n_ranks - 1:
        raise ValueError(note)
    warn(note, DataWarning)
    return is_found, [note]


def _why_not(method: str, values: np.ndarray, is_found: np.ndarray) -> str:
    if method == "trust":
        return "relevant documents are not clicked more than others at some rank; trust bias cannot be found."
    ranks = named_ranks((np.flatnonzero(is_found & ~np.isfinite(values)) + 1).tolist())
    return f"lists that reach {ranks} have no click at rank 1; the propensity there cannot be found."


def _estimator(
    method: str, log: ClickLog, model: Any, kept: np.ndarray, is_found: np.ndarray, *, max_iter: int, tol: float
) -> Estimator:
    def steps(start: Start | None) -> int:
        return max_iter if start is None else min(max_iter, STEPS_FROM_START)

    def harvesting(counts: Counts, start: Start | None) -> _Found:
        own = np.ix_(is_found, is_found)
        clicks, skips = shared_evidence(counts)
        values = np.full(counts.n_ranks, np.nan)
        values[is_found] = harvested(clicks[own], skips[own])
        return _Found(values)

    def regression(counts: Counts, start: Start | None) -> _Found:
        ascent, pairs = regression_em(counts.of_pairs(kept), fit, start, max_iter=steps(start), tol=tol)
        values = np.append(1.0, ascent.globals)
        return _Found(values, start=Start(ascent.globals, pairs), is_converged=ascent.converged)

    def trust(counts: Counts, start: Start | None) -> _Found:
        some = _of_ranks(counts.of_pairs(kept), is_found)
        ascent, pairs = trust_em(some, start, max_iter=steps(start), tol=tol)
        a, b = np.full((2, counts.n_ranks), np.nan)
        a[is_found], b[is_found] = trust_gauge(*np.split(ascent.globals, 2))
        return _Found(a + b, (a, b), Start(ascent.globals, pairs), ascent.converged)

    if method == "regression-em":
        features = np.asarray(log.features, dtype=np.float64)[kept]
        fit = logistic_fit(features) if model is None else classifier_fit(model, features)
    return {
        "randomised": lambda counts, start: _Found(randomised(counts)),
        "swap": lambda counts, start: _Found(swapped(counts)),
        "harvesting": harvesting,
        "regression-em": regression,
        "trust": trust,
    }[method]


def _kept_pairs(counts: Counts, method: str) -> np.ndarray:
    """Return the pairs that an estimate uses."""
    shown = counts.by_pair(counts.shown)
    kept = np.flatnonzero(shown >= (TRUST_SHOWN if method == "trust" else 1))
    if not kept.size:
        raise ValueError(
            f"no pair was shown {TRUST_SHOWN} times (at most {int(shown.max())}); trust bias cannot be found."
        )
    return kept


def _of_ranks(counts: Counts, is_kept: np.ndarray) -> Counts:
    cells = np.flatnonzero(is_kept[counts.rank])
    place = np.cumsum(is_kept) - 1
    parts = (counts.pair[cells], place[counts.rank[cells]], counts.clicks[cells], counts.skips[cells])
    return Counts(*parts, counts.n_pairs, int(is_kept.sum()))


def _jackknife(
    log: ClickLog,
    counts: Counts,
    count: Callable[[ClickLog, int], Counts],
    estimator: Estimator,
    found: _Found,
    level: float,
    n_groups: int,
    seed: int,
) -> np.ndarray | None:
    """Return intervals from the estimates without one group each, on the scale of logarithms."""
    n_groups = min(n_groups, len(log.queries) if isinstance(log, CountedLog) else len(log))
    if n_groups < 2:
        return None
    if isinstance(log, CountedLog):
        group = (np.random.default_rng(seed).permutation(len(log.queries)) % n_groups)[log.pair_query][counts.pair]
        rests = (counts.where(group != i) for i in range(n_groups))
    else:
        groups = session_groups(log, n_groups, seed)
        rests = (counts.less(count(log[sessions], counts.n_ranks)) for sessions in groups)
    estimates = [estimator(rest, found.start).values for rest in rests]
    return _jackknife_ends(found.values, np.stack(estimates), level)


def _jackknife_ends(values: np.ndarray, estimates: np.ndarray, level: float) -> np.ndarray:
    """Return intervals from the estimates without one group each; NaN where one of them is not known."""
    with importing:
        from scipy.special import stdtrit

    n_groups = len(estimates)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, center = np.log(estimates), np.log(values)
        variance = (n_groups - 1) * ((logs - logs.mean(axis=0)) ** 2).mean(axis=0)
        reach = stdtrit(n_groups - 1, (1 + level) / 2) * np.sqrt(variance)
        ends = np.exp(np.stack([center - reach, center + reach], axis=1))
    is_known = np.isfinite(logs).all(axis=0) & (values > 2 * LEAST)
    ends[~is_known] = np.nan
    return ends


def harvest_counts(
    counts: Counts, query: np.ndarray, level: float, n_groups: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Return propensities by harvesting from counts alone, with intervals of a jackknife over groups of queries.

    Ranks that are not connected to rank 1, in all parts of the counts, are NaN. ``query`` is that of each pair.
    """
    n_queries = int(query.max(initial=-1)) + 1
    n_groups = min(n_groups, n_queries)
    values, ends = np.full(counts.n_ranks, np.nan), np.full((counts.n_ranks, 2), np.nan)
    if n_groups < 2:
        return values, ends
    group = (np.random.default_rng(0).permutation(n_queries) % n_groups)[query]
    parts = np.stack([shared_evidence(counts.of_pairs(np.flatnonzero(group == i))) for i in range(n_groups)])
    whole = parts.sum(axis=0)
    rest = [np.maximum(whole - part, 0.0) for part in parts]
    is_shared = np.min([one[0] + one[0].T for one in rest], axis=0) > 1e-9
    found = np.array(connected_ranks(is_shared | np.eye(counts.n_ranks, dtype=bool))[0]) - 1
    own = np.ix_(found, found)
    values[found] = harvested(whole[0][own], whole[1][own])
    estimates = np.stack([harvested(clicks[own], skips[own]) for clicks, skips in rest])
    ends[found] = _jackknife_ends(values[found], estimates, level)
    return values, ends


def _by_model(log: ClickLog, model: Any, level: float | None) -> tuple[_Found, np.ndarray | None]:
    with importing:
        from scipy.special import expit, logit, ndtri

    if not isinstance(model, PBM):
        raise ValueError(f'method="em" takes a PBM as model, not {type(model).__name__}.')
    with without(".* share no pair with|.* shares no pair with"):  # ranks that are not found have their own warning
        fitted = PBM(**model.get_params()).fit(log)
    values = fitted.examination_
    if level is None:
        return _Found(values), None
    reach = ndtri((1 + level) / 2) * fitted.examination_error_[1:]
    center = logit(values[1:])
    ends = np.stack([expit(center - reach), expit(center + reach)], axis=1)
    return _Found(values), np.concatenate([np.ones((1, 2)), ends])
