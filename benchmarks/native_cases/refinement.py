"""Refinement of one list by boosted stumps or by a classifier, its predictions, and personality diagnosis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import plackett as pk

N_USERS, N_ITEMS, N_RATINGS = 500, 800, 40_000


def _made(n_docs: int, n_features: int = 44) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of one list, labels of the first ten documents of the base ranker, and base scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, n_features))
    truth = X[:, :8].sum(axis=1) / np.sqrt(8.0)
    base = truth + 1.5 * rng.normal(size=n_docs)
    labels = np.full(n_docs, np.nan)
    first = np.argsort(-base)[:10]
    labels[first] = truth[first] > np.median(truth[first])
    return X, labels, base


def _fit(refiner, n_docs: int, n_features: int = 44) -> Callable[[], object]:
    X, labels, base = _made(n_docs, n_features)
    return lambda: refiner.fit(X, labels, base_score=base)


def _predict() -> Callable[[], object]:
    X, labels, base = _made(20_000)
    refiner = pk.MultiplicativeRefiner(n_rounds=100).fit(X, labels, base_score=base)
    return lambda: refiner.predict(X, base_score=base)


def _powers() -> Callable[[], object]:
    from plackett.rankers.refinement.weak_learners import BasePairs

    base = np.random.default_rng(0).normal(size=100_000)
    return lambda: BasePairs(base)


def _classifier() -> Callable[[], object]:
    from sklearn.tree import DecisionTreeClassifier

    return _fit(pk.MultiplicativeRefiner(n_rounds=10, estimator=DecisionTreeClassifier(max_depth=1)), 3_000, 5)


def _diagnosis(method: str) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    cells = rng.choice(N_USERS * N_ITEMS, size=N_RATINGS, replace=False)
    ratings = cells // N_ITEMS, cells % N_ITEMS, rng.integers(1, 6, size=N_RATINGS).astype(np.float64)
    model = pk.PersonalityDiagnosis().fit(ratings)
    return lambda: getattr(model, method)()


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "MRR, 1,000 documents, 100 rounds": lambda: _fit(pk.MultiplicativeRefiner(n_rounds=100), 1_000),
    "MRR, 20,000 documents, 20 rounds": lambda: _fit(pk.MultiplicativeRefiner(n_rounds=20), 20_000),
    "MRR, 20,000 documents, 2 features": lambda: _fit(pk.MultiplicativeRefiner(n_rounds=50), 20_000, 2),
    "LRR, 1,000 documents, 100 rounds": lambda: _fit(pk.LinearRefiner(n_rounds=100), 1_000),
    "MRR with decision trees": _classifier,
    "MRR, predict": _predict,
    "powers of W": _powers,
    "personality diagnosis, expected": lambda: _diagnosis("predict"),
    "personality diagnosis, most probable": lambda: _diagnosis("predict_rating"),
}
