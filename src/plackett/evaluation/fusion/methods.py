"""Scores of fused lists by fixed rules: sums over the runs of normalised scores, or of functions of ranks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plackett.data.trec.pool import PooledRuns
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_choice, check_number, count_of

RANK_CONSTANT = 60.0  # of Cormack, Clarke and Büttcher (2009), and the default of engines
METHODS = ("rrf", "combsum", "combmnz", "borda", "isr")
NORMALIZATIONS = ("none", "min-max", "z-score", "rank")
ABSENT = ("zero", "min", "worst", "skip")


def fused_scores(
    pool: PooledRuns,
    method: str = "rrf",
    weights: np.ndarray | None = None,
    *,
    k: float = RANK_CONSTANT,
    normalize: str | None = None,
    absent: str = "zero",
) -> np.ndarray:
    """Return one score for each row of a pool.

    Parameters
    ----------
    pool : PooledRuns
    method : {"rrf", "combsum", "combmnz", "borda", "isr"}, default="rrf"
        Sums over the runs: of 1 / (k + rank); of the normalised scores; the same times the number of runs that
        retrieved the document; of points, n for the first of n candidates and one less for each rank, where the
        documents that a run lacks share the rest; of 1 / rank², times the number of runs.
    weights : ndarray of shape (n_runs,), default=None
        Factors of the runs; None means 1.
    k : float, default=60
        The constant of ``"rrf"``.
    normalize : {"none", "min-max", "z-score", "rank"}, default=None
        Of the scores of a run for a query; None means ``"min-max"``. Only ``"combsum"`` and ``"combmnz"`` take it.
    absent : {"zero", "min", "worst", "skip"}, default="zero"
        What a run adds for a document that it did not retrieve: nothing; as much as for the last document of its list;
        as much as for a rank behind that one, or for its lowest score in any query; the mean of what the others add.
        ``"borda"`` has its own rule.

    Examples
    --------
    >>> from plackett import Run
    >>> pool = PooledRuns({"a": Run([1, 1], ["x", "y"], [3.0, 1.0]), "b": Run([1], ["y"], [0.5])})
    >>> fused_scores(pool).round(4), fused_scores(pool, "combsum")
    (array([0.0164, 0.0325]), array([1., 1.]))
    """
    check_choice(method, "method", list(METHODS))
    check_choice(absent, "absent", list(ABSENT))
    takes_scores = method in ("combsum", "combmnz")
    if not takes_scores and normalize is not None:
        raise ValueError(f"normalize={normalize!r} scales scores, but {method!r} takes ranks. Leave it out.")
    of_rank = {"rrf": lambda rank: 1.0 / (check_number(k, "k", least=0.0) + rank), "isr": lambda rank: rank**-2.0}
    if takes_scores:
        parts = normalized(pool, normalize or "min-max")
    elif method == "borda":
        parts, absent = _borda(pool), "zero"
    else:
        parts = of_rank[method](np.where(pool.is_retrieved, pool.ranks, np.nan))
    parts = with_absent(pool, parts, absent, of_rank.get(method))
    if method == "combmnz" and (parts < 0).any():
        warn(
            "combmnz multiplies sums by the number of runs that retrieved the document, and some scores are "
            'negative: being found by more runs then counts against a document. Set normalize="min-max".',
            DataWarning,
        )
    scores, total = np.zeros(parts.shape[1]), np.zeros(parts.shape[1])
    for place, part in enumerate(parts):  # in the order of the runs, whatever a BLAS does
        factor = 1.0 if weights is None else weights[place]
        scores += factor * np.nan_to_num(part)
        total += factor * ~np.isnan(part)
    if absent == "skip":
        scores = np.divide(scores, total, out=np.zeros(scores.size), where=total > 0)
    return scores * pool.is_retrieved.sum(axis=0) if method in ("combmnz", "isr") else scores


def normalized(pool: PooledRuns, how: str) -> np.ndarray:
    """Return the scores of each run, normalised over its list of a query; NaN where the run lacks the document.

    ``"min-max"`` is (s - min) / (max - min), and 1 for a list of equal scores, as in Elasticsearch and OpenSearch;
    ``"z-score"`` is (s - mean) / deviation, and 0 for such a list; ``"rank"`` is 1 - (rank - 1) / length.
    """
    check_choice(how, "normalize", list(NORMALIZATIONS))
    answer = np.full(pool.scores.shape, np.nan)
    for place, name in enumerate(pool.names):
        rows = np.flatnonzero(pool.is_retrieved[place])
        scores, query = pool.scores[place, rows], pool.query[rows]
        if how != "rank" and not np.isfinite(scores).all():
            raise ValueError(f'{name} has an infinite score, which cannot be added to others. Use ranks: method="rrf".')
        if how in ("min-max", "z-score") and rows.size:
            scores = _scaled(scores, query, how, name)
        elif how == "rank":
            scores = 1.0 - (pool.ranks[place, rows] - 1) / pool.lengths[place][query]
        answer[place, rows] = scores
    return answer


def _scaled(scores: np.ndarray, query: np.ndarray, how: str, name: str) -> np.ndarray:
    starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    sizes = np.diff(starts, append=scores.size)
    low, high = np.minimum.reduceat(scores, starts), np.maximum.reduceat(scores, starts)
    if (high / 2 - low / 2 > np.finfo(np.float64).max / 2).any():
        raise ValueError(f'{name} has scores so far apart that they overflow. Use ranks: method="rrf".')
    is_flat = low == high
    if n_flat := int((is_flat & (sizes > 1)).sum()):
        warn(
            f"{name} has equal scores for all documents of {count_of(n_flat, 'query', 'queries')}: {how} normalisation "
            'leaves nothing of their order. If it means something, use ranks: method="rrf".',
            DataWarning,
        )
    if how == "min-max":
        centre, unit, flat = low, high - low, 1.0
    else:
        centre, flat = np.add.reduceat(scores, starts) / sizes, 0.0
        unit = np.sqrt(np.add.reduceat((scores - np.repeat(centre, sizes)) ** 2, starts) / sizes)
    rest = scores - np.repeat(centre, sizes)
    is_spread = np.repeat(~is_flat, sizes)
    return np.divide(rest, np.repeat(unit, sizes), out=np.full(scores.size, flat), where=is_spread)


def with_absent(
    pool: PooledRuns, parts: np.ndarray, absent: str, of_rank: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Fill in what runs add for documents that they lack; ``of_rank`` is the function of methods that take ranks."""
    if absent == "skip":
        return parts
    filled = parts.copy()
    for place in range(len(pool.names)):
        lacks = np.isnan(parts[place])
        least = np.full(pool.ids.size, np.inf)
        np.minimum.at(least, pool.query[~lacks], parts[place, ~lacks])
        if absent == "worst":
            least[:] = least.min(initial=np.inf) if of_rank is None else of_rank(pool.lengths[place] + 1.0)
        is_known = np.isfinite(least) & (absent != "zero")
        filled[place, lacks] = np.where(is_known, least, 0.0)[pool.query[lacks]]
    return filled


def _borda(pool: PooledRuns) -> np.ndarray:
    n_candidates = np.bincount(pool.query[pool.is_retrieved.any(axis=0)], minlength=pool.ids.size)
    rest = (n_candidates - pool.lengths + 1.0) / 2.0  # the mean of the points that are left
    return np.where(pool.is_retrieved, n_candidates[pool.query] + 1.0 - pool.ranks, rest[:, pool.query])
