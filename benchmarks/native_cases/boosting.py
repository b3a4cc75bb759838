"""Feature ranking discovery, FeatureRank, DiffRank, RankBoost, PRank, SVM-map, equal scores, and trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import plackett as pk
from plackett.exporting.nodes import Nodes
from plackett.rankers.boosting import feature_rank, rankboost
from plackett.rankers.boosting.diff_rank import DiffRank
from plackett.rankers.boosting.discovery import find_centres
from plackett.rankers.boosting.feature_rank import BLFeatureRank
from plackett.rankers.linear.prank import PRank
from plackett.rankers.linear.svm_map import MarginOfAveragePrecision
from plackett.scorers.ranks import Discovery
from plackett.scorers.tied_scores import break_ties, row_keys
from plackett.scorers.trees import ZERO_IS_MISSING, FlatTrees

Case = Callable[[], Callable[[], object]]
N_DOCS, N_FEATURES, N_TREES, N_LEAVES = 20_000, 46, 200, 31


@cache
def _queries(length: int = 100) -> pk.Queries:
    """Return data whose labels depend on all columns, half of which have many equal values, like counts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
    X[:, ::2] = (4 * X[:, ::2]).round()
    signal = X @ rng.normal(size=N_FEATURES)
    labels = np.digitize(signal + signal.std() * rng.normal(size=N_DOCS), np.quantile(signal, [0.5, 0.75, 0.9, 0.97]))
    return pk.Queries(X, labels.astype(float), np.arange(N_DOCS) // length)


@cache
def _discovery() -> Discovery:
    queries = _queries()
    return Discovery(find_centres(queries.X, queries.lists, 8))


def _centres() -> Callable[[], object]:
    queries = _queries()
    return lambda: find_centres(queries.X, queries.lists, 8)


def _ranks(length: int, *, is_counted: bool) -> Case:
    def set_up() -> Callable[[], object]:
        queries, discovery = _queries(length), _discovery()
        lists = queries.lists if is_counted else None
        return lambda: discovery.twice_ranks(queries.X, queries.indptr, lists, is_counted=is_counted)

    return set_up


def _steps(make: Callable[[], Any], length: int) -> Case:
    """Return a call of several consecutive steps, each of which continues the one before."""

    def set_up() -> Callable[[], object]:
        queries, ranker = _queries(length), make()
        ranker.fit(queries)
        training = ranker._training(queries, None)
        return lambda: [training.step(feature) for feature in range(N_FEATURES)]

    return set_up


def _predicting(make: Callable[[], Any]) -> Case:
    def set_up() -> Callable[[], object]:
        queries = _queries()
        ranker = make().fit(queries)
        return lambda: ranker.predict(queries)

    return set_up


@cache
def _pairs() -> tuple[rankboost._Pairs, rankboost._Stumps, np.ndarray]:
    queries = _queries()
    scores = np.random.default_rng(1).normal(size=N_DOCS)
    return (
        rankboost._Pairs(queries, np.ones(queries.n_queries), "pairs"), rankboost._Stumps(queries.X, None), scores
    )  # fmt: skip


def _pulls() -> Callable[[], object]:
    pairs, _, scores = _pairs()
    return lambda: [pairs.pulls(scores) for _ in range(10)]


def _thresholds() -> Callable[[], object]:
    pairs, stumps, scores = _pairs()
    pulls = pairs.pulls(scores)
    return lambda: stumps.best(pulls)


def _split() -> Callable[[], object]:
    pairs, stumps, scores = _pairs()
    pairs.pulls(scores)
    return lambda: [pairs.split(stumps.codes[feature], 3) for feature in range(N_FEATURES)]


def _epochs(dtype: Any, *, sparse: bool = False) -> Case:
    def set_up() -> Callable[[], object]:
        from scipy.sparse import csr_matrix

        queries = _queries()
        X = queries.X.astype(dtype)
        rows = csr_matrix(np.where(np.abs(X) > 1, X, 0)) if sparse else X
        return lambda: PRank(n_epochs=10, random_state=0).fit(rows, queries.y, qid=queries.qid)

    return set_up


def _violations(length: int) -> Case:
    def set_up() -> Callable[[], object]:
        queries = _queries(length)
        risk = MarginOfAveragePrecision(queries.X, queries.labels >= 2, queries.indptr)
        coef = 0.01 * np.random.default_rng(1).normal(size=N_FEATURES)
        return lambda: risk(coef)

    return set_up


def _ties() -> Callable[[], object]:
    rng, queries = np.random.default_rng(1), _queries()
    scores, base = rng.integers(0, 9, N_DOCS).astype(float), rng.normal(size=N_DOCS)
    return lambda: break_ties(scores, base, queries.indptr)


def _keys() -> Callable[[], object]:
    X = _queries().X
    return lambda: row_keys(X)


def _grown(rng: np.random.Generator, *, is_balanced: bool) -> dict[str, np.ndarray]:
    """Return a tree whose leaves were split at random or in turn; columns are about normal."""
    size = 2 * N_LEAVES - 1
    features, left, right = np.full(size, -1), np.zeros(size, int), np.zeros(size, int)
    leaves, n_nodes = [0], 1
    while n_nodes < size:
        node = leaves.pop(0 if is_balanced else int(rng.integers(len(leaves))))
        features[node] = rng.integers(N_FEATURES)
        left[node], right[node] = n_nodes, n_nodes + 1
        leaves += [n_nodes, n_nodes + 1]
        n_nodes += 2
    thresholds = rng.normal(scale=0.7, size=size).astype(np.float32).astype(float)
    numbers = {"thresholds": thresholds, "values": rng.normal(size=size), "gains": np.zeros(size)}
    ways = {"features": features, "left": left, "right": right, "counts": np.ones(size, int)}
    return {**numbers, **ways, "missing_left": rng.random(size) < 0.5}


@cache
def _trees(*, has_zeros: bool = False, is_balanced: bool = False) -> FlatTrees:
    rng = np.random.default_rng(2)
    trees = [_grown(rng, is_balanced=is_balanced) for _ in range(N_TREES)]
    if has_zeros:
        trees = [{**tree, "kinds": np.where(tree["features"] < 0, 0, ZERO_IS_MISSING)} for tree in trees]
    return FlatTrees.of(trees, N_FEATURES, zero_width=2.0**-150)


def _tree_scores(
    n_rows: int,
    dtype: Any,
    *,
    has_zeros: bool = False,
    has_missing: bool = False,
    sparse: bool = False,
    is_balanced: bool = False,
) -> Case:
    def set_up() -> Callable[[], object]:
        from scipy.sparse import csr_matrix

        trees, X = _trees(has_zeros=has_zeros, is_balanced=is_balanced), _queries().X[:n_rows].astype(dtype)
        rows = csr_matrix(np.where(np.abs(X) > 1, X, 0)) if sparse else X
        if has_missing:
            rows[:, ::3] = np.nan
        times = max(1, 2_000 // n_rows)
        return lambda: [trees.predict(rows) for _ in range(times)]

    return set_up


def _exported(dtype: Any, *, is_strict: bool) -> Case:
    def set_up() -> Callable[[], object]:
        trees, X = _trees(), _queries().X[:5_000].astype(dtype)
        thresholds, values = trees.thresholds_.astype(dtype), trees.values_.astype(dtype)
        ways = trees.left_, trees.right_
        nodes = Nodes(trees.starts_, trees.features_, thresholds, *ways, values, trees.missing_left_)
        return lambda: nodes.scores(X, is_strict=is_strict)

    return set_up


def _depth() -> Callable[[], object]:
    trees = _trees()
    return lambda: [trees.depth() for _ in range(50)]


CASES: dict[str, Case] = {
    "centres of relevance": _centres,
    "feature ranks, 100 documents": _ranks(100, is_counted=False),
    "feature ranks and pairs, 100 documents": _ranks(100, is_counted=True),
    "feature ranks and pairs, 2,000 documents": _ranks(2_000, is_counted=True),
    "FeatureRank steps": _steps(feature_rank.FeatureRank, 100),
    "BL-FeatureRank steps": _steps(BLFeatureRank, 100),
    "FeatureRank predict": _predicting(feature_rank.FeatureRank),
    "DiffRank steps, 100 documents": _steps(lambda: DiffRank(cycles=1), 100),
    "DiffRank steps, 2,000 documents": _steps(lambda: DiffRank(cycles=1), 2_000),
    "DiffRank predict": _predicting(lambda: DiffRank(cycles=2)),
    "RankBoost weights": _pulls,
    "RankBoost thresholds": _thresholds,
    "RankBoost split": _split,
    "PRank, float32": _epochs(np.float32),
    "PRank, float64": _epochs(np.float64),
    "PRank, CSR": _epochs(np.float64, sparse=True),
    "SVM-map, 100 documents": _violations(100),
    "SVM-map, 2,000 documents": _violations(2_000),
    "equal scores apart": _ties,
    "keys of rows": _keys,
    "trees, 5,000 rows float32": _tree_scores(5_000, np.float32),
    "trees, 5,000 rows float64": _tree_scores(5_000, np.float64),
    "balanced trees, 5,000 rows float32": _tree_scores(5_000, np.float32, is_balanced=True),
    "trees, 5,000 rows with missing values": _tree_scores(5_000, np.float32, has_missing=True),
    "trees, 100 rows": _tree_scores(100, np.float32),
    "trees, 1 row": _tree_scores(1, np.float32),
    "trees, 5,000 rows CSR": _tree_scores(5_000, np.float32, sparse=True),
    "trees with zeros, 5,000 rows CSR": _tree_scores(5_000, np.float32, has_zeros=True, sparse=True),
    "trees with zeros, 5,000 rows dense": _tree_scores(5_000, np.float32, has_zeros=True),
    "exported trees, float32, <": _exported(np.float32, is_strict=True),
    "exported trees, float64, <=": _exported(np.float64, is_strict=False),
    "depths of trees": _depth,
}
