"""The web search lists of dai2019's Table 6: Yahoo's if available, else a sample of Microsoft's of the same size.

The paper uses 150 queries of the Yahoo challenge with at least 20 documents, 27 on average. The substitute is the
sample of MSLR-WEB10K: 86 queries with 116 documents on average, of which 27 are drawn. Its columns are replaced by
quantiles, like those of Yahoo. Columns that are constant within every query describe the queries: six of Yahoo's, and
the five inverse document frequencies of MSLR.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist
from scipy.stats import rankdata

from plackett.data.queries import Queries
from plackett.metrics.measure import Measure
from plackett.rankers.query_dependent.ranker import QueryDependentRanker
from plackett.reproductions.base import Job
from plackett.reproductions.qsvm.simulations import MRE, OPTIONS, chosen_and_refitted, documents, predict

ORIGINAL, STAND_IN = "yahoo/set1", "mslr-sample"
NEEDS, INSTEAD = (ORIGINAL,), (STAND_IN,)
N_QUERIES, FEWEST, ABOUT = 150, 20, 27  # queries, and documents of each: at least, and on average
TRAIN, VALIDATION, NEW = 0.6, 0.2, 0.1  # shares of a query's documents, and of the queries
ERR = Measure("err", convention="paper", max_label=4)
NDCG = Measure("ndcg", 10, convention="paper", empty="skip")
N_NEIGHBORS = {"n_neighbors": 3, "n_neighbors_new": 20}
PARTS = ("overall", "observed", "novel")


class WebLists(NamedTuple):
    """Documents, the columns that describe their queries, and whether they are those of the paper."""

    queries: Queries
    query_features: np.ndarray
    is_original: bool


class Split(NamedTuple):
    """Which documents are for training, validation and test, and which queries are new."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    is_new: np.ndarray


def web_lists(job: Job) -> WebLists:
    """Return the best available data."""
    rng = np.random.default_rng(job.rng_seed)
    is_original = job.has(ORIGINAL)
    if is_original:
        queries = job.load(ORIGINAL, "train")
    else:
        queries = job.load(STAND_IN)
    is_long = np.flatnonzero(np.diff(queries.indptr) >= FEWEST)
    if is_original:
        is_long = np.sort(rng.choice(is_long, min(N_QUERIES, is_long.size), replace=False))
    return divided(queries[is_long], is_original)


def divided(queries: Queries, is_original: bool) -> WebLists:
    """Separate the columns that are constant within queries from those of the documents."""
    X = np.asarray(queries.X.toarray() if issparse(queries.X) else queries.X, dtype=np.float64)
    if not is_original:
        X = rankdata(X, axis=0) / len(X)
    first = queries.indptr[:-1]
    is_of_queries = (np.minimum.reduceat(X, first) == np.maximum.reduceat(X, first)).all(axis=0)
    varies = np.ptp(X, axis=0) > 0
    rows = Queries(X[:, ~is_of_queries], queries.y, queries.qid)
    return WebLists(rows, X[first][:, is_of_queries & varies], is_original)


def split(lists: WebLists, rng: np.random.Generator) -> Split:
    """Split the documents of each query at random, 60 : 20 : 20; all those of new queries are in the test set.

    Lists that are not the paper's are cut to 27 documents.
    """
    indptr = lists.queries.indptr
    n_queries = indptr.size - 1
    is_new = np.zeros(n_queries, dtype=bool)
    is_new[rng.permutation(n_queries)[: round(NEW * n_queries)]] = True
    train, validation, test = (np.zeros(indptr[-1], dtype=bool) for _ in range(3))
    for query in range(n_queries):
        rows = rng.permutation(np.arange(indptr[query], indptr[query + 1]))
        rows = rows if lists.is_original else rows[:ABOUT]
        n_train, n_chosen = (0, 0) if is_new[query] else (round(share * rows.size) for share in (TRAIN, VALIDATION))
        for part, own in zip((train, validation, test), np.split(rows, [n_train, n_train + n_chosen]), strict=True):
            part[own] = True
    return Split(train, validation, test, is_new)


def replicate(lists: WebLists, seed: int, strengths: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return parts × measures × methods on the test documents of one split, and the seconds of each method."""
    parts = split(lists, np.random.default_rng(seed))
    train, validation, test = (documents(lists.queries, rows) for rows in parts[:3])
    both = documents(lists.queries, parts.train | parts.validation)
    seen = lists.query_features[~parts.is_new]
    common: dict[str, Any] = {"bandwidth": float(np.median(pdist(seen))), "n_jobs": 1, "random_state": seed}
    values, seconds = [], []
    for options in OPTIONS.values():
        start = time.perf_counter()
        neighbors = N_NEIGHBORS if "n_neighbors" in options else {}
        make = partial(QueryDependentRanker, **{**options, **neighbors, **common})
        ranker = chosen_and_refitted(make, train, validation, both, seen, strengths)
        scores = predict(ranker, test, lists.query_features)
        seconds.append(time.perf_counter() - start)
        values.append(by_part(test, scores, parts.is_new))
    return np.stack(values, axis=-1), np.array(seconds)


def by_part(test: Queries, scores: np.ndarray, is_new: np.ndarray) -> np.ndarray:
    """Return means over all, observed and new queries (rows) of MRE, 1 - ERR and 1 - NDCG@10.

    MRE is over pairs with different labels: over all pairs, a random order would have far less than the printed .484.
    ERR uses the largest label of the scale. Queries without such pairs have no MRE, and those without relevant
    documents no NDCG.
    """
    labels, qid = test.labels, test.qid
    with np.errstate(invalid="ignore"):
        mre = MRE(labels, scores, qid=qid) / MRE(labels, -labels, qid=qid)
    err, ndcg = (measure(labels, scores, qid=qid) for measure in (ERR, NDCG))
    values = np.column_stack([mre, 1 - err, 1 - ndcg])
    return np.array([np.nanmean(values[chosen], axis=0) for chosen in (np.ones_like(is_new), ~is_new, is_new)])
