"""Relevance of the pairs of a click log, corrected for the positions at which they were shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.clicks.correction.estimates import BY_IMPRESSION, BY_SESSION, Bias, Estimates, by_impression, by_session
from plackett.clicks.correction.features import rows_of_pairs, warn_of_missing
from plackett.clicks.correction.labels import CorrectedLabels, Evidence
from plackett.clicks.correction.regression import predicted_relevance
from plackett.clicks.description import named_ranks
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.counts import Counts, count_pairs
from plackett.clicks.propensities.estimate import as_propensities
from plackett.clicks.propensities.propensities import Propensities
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, ParameterError, warn
from plackett.storage.mapped import take_rows
from plackett.validation import check_choice, check_number, check_positive_int, check_seed, count_of

METHODS = (*BY_IMPRESSION, *BY_SESSION)
CLIP_OF_DR = 10.0  # over the square root of the number of sessions (oosterhuis2023)


def corrected_labels(
    log: ClickLog,
    propensities: Any = None,
    method: str = "policy-aware",
    *,
    clip: float | None = None,
    features: Queries | None = None,
    regression: Any = None,
    folds: int | None = 5,
    random_state: int = 0,
) -> CorrectedLabels:
    """Estimate the relevance of every shown pair of query and document from its clicks.

    A click at rank r has probability ``a_r R + b_r``, where R is the relevance. R is the probability of a click at rank
    1 if the propensities are relative to rank 1 (those of ``estimate_propensities``), the probability of a click on an
    examined document if they are absolute examination probabilities, and P(relevant) with trust bias. Without trust
    bias ``a`` are the propensities θ, and ``b`` is 0. τ is ``clip``.

    * "naive": the mean of c, the click rate. It mistakes a high rank for relevance.
    * "ips": the mean of ``c / max(θ_r, τ)`` (joachims2017).
    * "affine": the mean of ``(c - b_r) / max(a_r, τ)``, for propensities with trust bias (vardasbi2020).
    * "policy-aware": the mean of ``(c - b_r) / ρ`` over all sessions of the query, with 0 where the document was not
      shown; ``ρ = max(mean of a_r, τ)`` is its mean propensity (oosterhuis2020). A document that was shown at several
      ranks counts by the sum of its propensities, so that one impression at a low rank cannot dominate.
    * "dr": doubly robust (oosterhuis2023), ``R̂ + mean of (c - b_r - a_r R̂) / ρ``, where R̂ is a regression on features.
      It differs from "policy-aware" where ρ is clipped: there it uses R̂ instead of 0.

    Estimates are unbiased if the propensities are correct, users click as described above, and nothing is clipped. They
    may be negative or above 1. Clipping trades variance for bias. Losses that are linear in the labels accept such
    estimates; ``plackett.losses.linear_form`` returns such a loss. Results do not depend on the order of the sessions.

    Parameters
    ----------
    log : ClickLog
    propensities : Propensities, array-like of shape (n_ranks,), or str, default=None
        Those of ``estimate_propensities``, or known ones, which are used as given, even if that of rank 1 is not 1. A
        method such as "harvesting" is applied to this log. Not needed for "naive". Impressions at ranks without a
        propensity are left out.
    method : {"naive", "ips", "affine", "policy-aware", "dr"}, default="policy-aware"
    clip : float, default=None
        Smallest divisor τ. None means 0, or ``10 / sqrt(n_sessions)``, at most 1, for "dr".
    features : Queries, default=None
        Features by query and document, both compared as text. None uses those of the log. Pairs without features
        are left out.
    regression : regressor, or array-like of shape (n_pairs,), default=None
        R̂ of "dr": a regressor with ``fit(X, y, sample_weight=)`` and ``predict(X)``, or R̂ for all pairs of the log.
        None means ridge regression on standardised columns. It is fitted to minimise ``Σ (c - b_r - a_r R̂)²`` over the
        impressions, each pair being one weighted row. (Rankers do not accept row weights.)
    folds : int or None, default=5
        Cross-fitting: R̂ of a query comes from a fit on the queries of the other folds, so that it does not depend on
        the clicks that it is compared with. None fits once on all queries.
    random_state : int, default=0
        Seed of the folds.

    Warns
    -----
    DataWarning
        If impressions are at ranks without a propensity, or pairs have no features.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 15, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 10_000, k=3, random_share=0.2)
    >>> found = pk.clicks.estimate_propensities(log, "harvesting")
    >>> labels = pk.clicks.corrected_labels(log, found)
    >>> queries = labels.to_queries(lists)
    >>> ranker = pk.LinearRanker("softmax").fit(queries, sample_weight=labels.sample_weight(queries))
    """
    check_choice(method, "method", METHODS)
    seed = check_seed(random_state)
    if folds is not None and check_positive_int(folds, "folds") < 2:
        raise ValueError("folds=1; cross-fitting needs at least 2. None fits once on all queries.")
    if regression is not None and method != "dr":
        raise ValueError(f'regression is for method="dr", not {method!r}.')
    if not len(log):
        raise ValueError("the log has no sessions.")
    tau = _checked_clip(clip, method, len(log))
    given = _checked_propensities(propensities, method, log)
    bias = _bias(given, method, log.longest)
    _check_divisors(bias, tau)

    counts = _at_known_ranks(count_pairs(log, log.longest), bias)
    kept = np.flatnonzero(counts.by_pair(counts.shown))
    pairs, rows = log.pairs.subset(kept), None
    if features is not None:
        rows = rows_of_pairs(pairs, features)
        warn_of_missing(rows, "are left out")
        is_found = rows >= 0
        kept, rows = kept[is_found], rows[is_found]
        pairs = log.pairs.subset(kept)
    counts = counts.of_pairs(kept)
    n_sessions = np.bincount(log.session_query, minlength=len(log.queries))
    of_pair = n_sessions[log.pair_query[kept]]

    predicted = None
    if method == "dr":
        if regression is not None and not hasattr(regression, "fit"):
            predicted = _given_regression(regression, log.n_pairs, kept)
        else:
            X = _features(log, features, kept, rows)
            predicted = predicted_relevance(X, pairs.pair_query, counts, bias, regression, folds, seed)
    if method in BY_SESSION:
        found = by_session(counts, bias, tau, of_pair, predicted)
    else:
        found = by_impression(counts, bias, tau)
    return CorrectedLabels(
        pairs=pairs,
        relevance=found.values,
        variance=found.variance(counts),
        impressions=counts.by_pair(counts.shown).astype(np.int64),
        clicks=counts.by_pair(counts.clicks).astype(np.int64),
        n_sessions=n_sessions[np.unique(log.pair_query[kept])],
        method=method,
        clip=tau,
        regression=predicted,
        propensities=given,
        features=None if log.features is None or features is not None else take_rows(log.features, kept),
        feature_names=log.feature_names,
        source=features,
        evidence=_evidence(log, counts, found),
    )


def _checked_clip(clip: float | None, method: str, n_sessions: int) -> float:
    if method == "naive" and clip is not None:
        raise ValueError('method="naive" does not divide by propensities; leave clip out.')
    if clip is None:
        return min(1.0, CLIP_OF_DR / n_sessions**0.5) if method == "dr" else 0.0
    if check_number(clip, "clip", least=0) > 1:
        raise ParameterError("clip", clip, "propensities are at most 1.")
    return float(clip)


def _checked_propensities(propensities: Any, method: str, log: ClickLog) -> Propensities | None:
    if propensities is None:
        if method != "naive":
            raise ValueError(
                f'method={method!r} needs propensities, such as those of estimate_propensities(log); only "naive" '
                "needs none."
            )
        return None
    given = as_propensities(propensities, log)
    if method == "affine" and given.a is None:
        raise ValueError(
            'method="affine" needs propensities with trust bias (a and b), such as those of '
            'estimate_propensities(log, "trust"). For others use "ips".'
        )
    return given


def _bias(given: Propensities | None, method: str, n_ranks: int) -> Bias:
    """Return a and b of all ranks of the log, NaN where they are not known."""
    if method == "naive" or given is None:
        return Bias(np.ones(n_ranks), np.zeros(n_ranks))
    has_trust = given.a is not None and method != "ips"
    a, b = np.full((2, n_ranks), np.nan)
    n_known = min(n_ranks, len(given))
    a[:n_known] = (given.a if has_trust and given.a is not None else given.values)[:n_known]
    b[:n_known] = given.b[:n_known] if has_trust and given.b is not None else 0.0
    return Bias(a, np.where(np.isnan(a), np.nan, b))


def _check_divisors(bias: Bias, clip: float) -> None:
    lost = np.flatnonzero(np.maximum(bias.a, clip) <= 0) + 1
    if lost.size:
        ranks = named_ranks(lost.tolist())
        raise ValueError(f"the propensity at {ranks} is {bias.a[lost[0] - 1]:g}. Set clip above 0, such as 0.05.")


def _at_known_ranks(counts: Counts, bias: Bias) -> Counts:
    is_known = ~np.isnan(bias.a)
    shown = counts.by_rank(counts.shown)
    lost = np.flatnonzero(~is_known & (shown > 0)) + 1
    if not lost.size:
        return counts
    n_lost = int(shown[~is_known].sum())
    ranks = named_ranks(lost.tolist())
    message = f"{ranks} have no propensity" if lost.size > 1 else f"{ranks} has no propensity"
    if n_lost == int(shown.sum()):
        raise ValueError(f"{message}, and the log shows no other.")
    warn(f"{message}: {count_of(n_lost, 'impression')} of {int(shown.sum()):,} are left out.", DataWarning)
    cells = is_known[counts.rank]
    return counts._replace(**{name: getattr(counts, name)[cells] for name in ("pair", "rank", "clicks", "skips")})


def _features(log: ClickLog, given: Queries | None, kept: np.ndarray, rows: np.ndarray | None) -> Any:
    if given is not None and rows is not None:
        return take_rows(given.grouped.X, rows)
    if log.features is None:
        raise ValueError(
            'method="dr" needs features: pass features=Queries, use log.with_features(...), or pass an array as '
            "regression."
        )
    return take_rows(log.features, kept)


def _given_regression(regression: Any, n_pairs: int, kept: np.ndarray) -> np.ndarray:
    values = np.asarray(regression, dtype=np.float64)
    if values.shape != (n_pairs,) or not np.isfinite(values[kept]).all():
        raise ValueError(
            f"regression has shape {values.shape}; a finite number for each of the {n_pairs:,} pairs of the log, or a "
            "regressor with fit and predict, is needed."
        )
    return values[kept]


def _evidence(log: ClickLog, counts: Counts, found: Estimates) -> Evidence:
    n_rankers = None if log.rankers is None else len(log.rankers)
    share = None if log.is_random is None else float(np.mean(log.is_random))
    return Evidence(counts, found, n_rankers, share)
