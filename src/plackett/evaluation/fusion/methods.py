"""Scores of fused lists by fixed rules: sums over the runs of normalised scores, or of functions of ranks."""

from __future__ import annotations

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
    """Return one score for each row of a pool, with the parameters of ``fuse``.

    Sums over the runs: of 1 / (k + rank); of the normalised scores; the same times the number of runs that retrieved
    the document; of points, n for the first of n candidates and one less for each rank, where the documents that a run
    lacks share the rest; of 1 / rank², times the number of runs. For a document that it lacks, a run adds nothing; as
    much as for the last document of its list; as much as for a rank behind that one, or for its lowest score in any
    query; the mean of what the others add. Points have their own rule.

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
    constant = check_number(k, "k", least=0.0) if method == "rrf" else 0.0
    of_rank = (lambda rank: 1.0 / (constant + rank)) if method == "rrf" else (lambda rank: rank**-2.0)
    n_candidates = np.bincount(pool.query[pool.is_retrieved.any(axis=0)], minlength=pool.ids.size)
    scores, total, lowest = np.zeros(pool.query.size), np.zeros(pool.query.size), 0.0
    for place, lengths in enumerate(pool.lengths):  # in the order of the runs, whatever a BLAS does
        factor = 1.0 if weights is None else weights[place]
        if takes_scores:
            rows, parts = normalized(pool, place, normalize or "min-max")
        elif method == "borda":
            rows, ranks = pool.ranked[place]
            parts = n_candidates[pool.query[rows]] + 1.0 - ranks
        else:
            rows, ranks = pool.ranked[place]
            parts = of_rank(ranks.astype(np.float64))
        lowest = min(lowest, parts.min(initial=0.0))
        if method == "borda":
            rest = (n_candidates - lengths + 1.0) / 2.0  # the mean of the points that are left
        elif absent in ("zero", "skip"):
            scores[rows] += factor * parts
            total[rows] += factor
            continue
        elif absent == "min" or takes_scores:
            rest = np.full(pool.ids.size, np.inf)
            np.minimum.at(rest, pool.query[rows], parts)
            rest = np.full_like(rest, rest.min(initial=np.inf)) if absent == "worst" else rest
            rest[np.isinf(rest)] = 0.0
        else:
            rest = of_rank(lengths + 1.0)
        whole = rest[pool.query]
        whole[rows] = parts
        scores += factor * whole
    if method == "combmnz" and lowest < 0:
        warn(
            "combmnz multiplies sums by the number of runs that retrieved the document, and some scores are "
            'negative: being found by more runs then counts against a document. Set normalize="min-max".',
            DataWarning,
        )
    if absent == "skip" and method != "borda":
        scores = np.divide(scores, total, out=np.zeros(scores.size), where=total > 0)
    return scores * pool.is_retrieved.sum(axis=0) if method in ("combmnz", "isr") else scores


def normalized(pool: PooledRuns, place: int, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a run retrieved, and its scores for them, normalised over its list of a query.

    ``"min-max"`` is (s - min) / (max - min), and 1 for a list of equal scores, as in Elasticsearch and OpenSearch;
    ``"z-score"`` is (s - mean) / deviation, and 0 for such a list; ``"rank"`` is 1 - (rank - 1) / length.
    """
    check_choice(how, "normalize", list(NORMALIZATIONS))
    if how == "rank":
        rows, ranks = pool.ranked[place]
        return rows, 1.0 - (ranks - 1) / pool.lengths[place][pool.query[rows]]
    rows, name = np.flatnonzero(pool.is_retrieved[place]), pool.names[place]
    scores = pool.scores[place, rows]
    if not np.isfinite(scores).all():
        raise ValueError(f'{name} has an infinite score, which cannot be added to others. Use ranks: method="rrf".')
    return rows, scores if how == "none" or not rows.size else _scaled(scores, pool.query[rows], how, name)


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
