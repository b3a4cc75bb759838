"""One simulated run: a production ranker, users who click on its lists, and rankers trained on their clicks.

The protocol is that of ULTRA (ai2018, tran2021): a production ranker learned from a share of the training queries, its
first ten documents shown, simulated clicks, and test queries with true labels. Settings of all rankers are the defaults
of this library, so nothing is chosen on test queries. Validation queries are not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ultra.packages import PACKAGES, train_package
from plackett.clicks.correction.correct import corrected_labels
from plackett.clicks.log import ClickLog
from plackett.clicks.propensities.estimate import estimate_propensities
from plackett.clicks.propensities.propensities import Propensities
from plackett.clicks.simulate import simulate_clicks
from plackett.clicks.users import CASCADE, INDEPENDENT, User, get_user
from plackett.data import datasets
from plackett.data.queries import Queries
from plackett.evaluation.evaluate import evaluate
from plackett.rankers.linear.ranker import LinearRanker
from plackett.rankers.registry import ranker
from plackett.rankers.trees.ranker import TreeRanker
from plackett.reproductions.base import Job

K, EPSILON = 10, 0.1
METRIC = f"ndcg@{K}"
USERS: dict[str, tuple[str, float]] = {  # in words: kind of user, and eta
    "PBM, η = 0.5": ("pbm", 0.5),
    "PBM, η = 1": ("pbm", 1.0),
    "PBM, η = 2": ("pbm", 2.0),
    "cascade": ("cascade", 1.0),
    "UBM": ("ubm", 1.0),
    "trust bias": ("trust", 1.0),
}
SHARES = (0.01, 0.1, 1.0)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGEST_FOR_PACKAGES = 100_000  # they take a row for every shown document of every session
NAIVE, OURS, ROBUST, WRONG, ESTIMATED = "naive", "ours", "doubly robust", "wrong user", "estimated"
SHOWN, FULL, PRODUCTION = "shown labels", "full labels", "production"
SCORERS: dict[str, Callable[[], Any]] = {
    "linear": lambda: LinearRanker("softmax"),
    "trees": lambda: TreeRanker("softmax"),
}
WEB_LIKE, N_WEB_LIKE, N_QUICK = "web-like", (500, 200), (100, 60)  # training and test queries
ESTIMATION_STEPS, LEAST_ESTIMATE = 30, 1e-3  # steps of regression EM; a rank without a click has the propensity 0


class Split(NamedTuple):
    """Training queries, and the test queries that have a relevant document."""

    train: Queries
    test: Queries


def split_of(name: str, seed: int, job: Job) -> Split:
    """Return the queries of a run: a published fold, in rotation, or newly drawn web-like queries."""
    if name == WEB_LIKE:
        n_train, n_test = N_QUICK if job.is_quick else N_WEB_LIKE
        data = datasets.make_web_like(n_train + n_test, random_state=seed)
        return Split(data[:n_train], with_relevant(data[n_train:]))
    fold = datasets.load_fold(name, seed % 5 + 1, job.folder)
    return Split(fold.train.grouped, with_relevant(fold.test.grouped))


def with_relevant(queries: Queries) -> Queries:
    """Return the queries with a relevant document."""
    return queries[np.maximum.reduceat(np.asarray(queries.y), queries.indptr[:-1]) > 0]


def production_ranker(train: Queries, share: float, seed: int) -> Any:
    """Return RankSVM, learned from a share of the queries with a relevant document."""
    judged = with_relevant(train)
    n_queries = max(1, round(share * judged.n_queries))
    chosen = np.sort(np.random.default_rng(seed).permutation(judged.n_queries)[:n_queries])
    return ranker("ranksvm").fit(judged[chosen])


def run(
    name: str,
    user: str,
    share: float,
    seed: int,
    job: Job,
    *,
    sizes: Sequence[int] = SIZES,
    with_packages: bool = True,
) -> dict[tuple[int, str, str], float]:
    """Return the measure on test queries by number of sessions, scorer and method.

    Smaller logs are the first sessions of the largest one. Rankers that do not depend on clicks have 0 sessions.
    """
    kind, eta = USERS[user]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few sessions leave fits without evidence, or without convergence
        split = split_of(name, seed, job)
        first = production_ranker(split.train, share, seed)
        scores = first.predict(split.train)
        whole = simulate_clicks(
            split.train, scores, max(sizes), user=kind, k=K, eta=eta, epsilon=EPSILON, random_state=seed
        )
        values = {(0, PRODUCTION, PRODUCTION): measured(first, split.test)}
        for scorer, make in SCORERS.items():
            for method, queries in skylines(split.train, scores, kind, eta).items():
                values[0, scorer, method] = measured(make().fit(queries), split.test)
        for size in sizes:
            log = whole[:size].compact()
            for method, (queries, weights) in labelled(log, split.train, kind, eta).items():
                for scorer, make in SCORERS.items():
                    values[size, scorer, method] = measured(make().fit(queries, sample_weight=weights), split.test)
            if with_packages and size <= LARGEST_FOR_PACKAGES:
                for package in PACKAGES:
                    values[size, "trees", package] = measured(train_package(package, log, split.train), split.test)
    return values


def measured(trained: Any, test: Queries) -> float:
    """Return the mean of the measure over the test queries."""
    return evaluate(test, trained.predict(test), metrics=METRIC).mean()[METRIC]


# --- Labels -----------------------------------------------------------------------------------------------------------


def user_of(train: Queries, kind: str, eta: float) -> User:
    """Return a simulated user, with the relevance of the training documents."""
    return get_user(kind, np.asarray(train.y), K, eta=eta, epsilon=EPSILON, max_label=None)


def skylines(train: Queries, scores: np.ndarray, kind: str, eta: float) -> dict[str, Queries]:
    """Return the training documents with the chance of a click if they are looked at: those shown, and all of them."""
    relevance = user_of(train, kind, eta).relevance
    everything = train.replace(y=relevance, has_estimated_labels=True)
    order = np.lexsort((-scores, train.query_of_row))
    place = np.empty(train.n_docs, dtype=np.int64)
    place[order] = np.arange(train.n_docs) - train.indptr[train.query_of_row[order]]
    return {SHOWN: rows_of(everything, place < K), FULL: everything}


def rows_of(queries: Queries, is_kept: np.ndarray) -> Queries:
    """Return some rows of grouped queries."""
    indptr = np.append(0, np.cumsum(np.add.reduceat(is_kept, queries.indptr[:-1], dtype=np.int64)))
    return Queries.from_groups(queries.X[is_kept], queries.y[is_kept], queries.ids, indptr, has_estimated_labels=True)


def labelled(log: ClickLog, train: Queries, kind: str, eta: float) -> dict[str, tuple[Queries, np.ndarray]]:
    """Return the shown documents with labels from clicks by each method, and the weights of their queries."""
    user = user_of(train, kind, eta)
    assumed = user_of(train, "pbm", 2.0 if (kind, eta) == ("pbm", 1.0) else 1.0)
    found = {NAIVE: corrected_labels(log, method="naive", features=train)}
    if user.kind == INDEPENDENT:
        known = Propensities(user.slope + user.offset, a=user.slope, b=user.offset)
        found[OURS] = corrected_labels(log, known, "affine", features=train)
        found[ROBUST] = corrected_labels(log, known, "dr", features=train)
    found[WRONG] = corrected_labels(log, assumed.slope, "ips", features=train)
    labels = {}
    for method, one in found.items():
        queries = one.to_queries()
        labels[method] = queries, one.sample_weight(queries)
    queries, weights = labels[NAIVE]
    if OURS not in labels:
        labels[OURS] = queries.replace(y=looked_at_rate(log, user)), weights
    with_features = log.with_features(np.asarray(queries.X, dtype=np.float64))
    estimate = estimate_propensities(with_features, "regression-em", level=None, max_iter=ESTIMATION_STEPS)
    one = corrected_labels(log, np.maximum(estimate.values, LEAST_ESTIMATE), "ips", features=train)
    labels[ESTIMATED] = one.to_queries(), weights
    return labels


def looked_at_rate(log: ClickLog, user: User) -> np.ndarray:
    """Return the clicks on each pair over its expected looks, given the clicks above, for users affected by them."""
    lengths, width = np.diff(log.indptr), log.longest + 1
    # the last click up to each row: a running maximum of ranks, which restarts with each session
    clicked = np.where(log.click, log.rank, 0) + width * np.repeat(np.arange(len(log)), lengths)
    above = np.append(0, np.maximum.accumulate(clicked)[:-1]) % width
    above[log.indptr[:-1]] = 0
    looked = (above == 0).astype(np.float64) if user.kind == CASCADE else user.browse[log.rank - 1, above]
    looks = np.bincount(log.pair, looked, log.n_pairs)
    return np.divide(np.bincount(log.pair, log.click, log.n_pairs), looks, out=np.zeros(log.n_pairs), where=looks > 0)
