"""Models of target queries: score and pair functions, Newton steps and ADMM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import plackett as pk


def _made(n_queries: int, n_docs: int, n_features: int) -> tuple[pk.Queries, np.ndarray]:
    """Return data in which each query has its own linear score, which its features determine with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(scale=np.sqrt(0.1), size=(n_queries, n_docs, n_features))
    coef = rng.normal(size=(n_queries, n_features))
    labels = np.einsum("qdf,qf->qd", X, coef).argsort(axis=1).argsort(axis=1) + 1.0
    queries = pk.Queries(X.reshape(-1, n_features), labels.ravel(), np.repeat(np.arange(n_queries), n_docs))
    return queries, coef + 0.1 * rng.normal(size=coef.shape)


def _fit(shape: tuple[int, int, int], **parameters) -> Callable[[], Callable[[], object]]:
    def set_up() -> Callable[[], object]:
        queries, features = _made(*shape)
        return lambda: pk.QueryDependentRanker(**{"n_jobs": 1, **parameters}).fit(queries, query_features=features)

    return set_up


WIDE, SMALL, LONG = (20, 100, 40), (8, 8, 4), (6, 400, 20)
NEAR = {"weights": "gaussian", "n_neighbors": 8, "l2": 0.01}

CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "q-SVM, 500 × 100 × 40": _fit((500, 100, 40), **{**NEAR, "n_neighbors": 15}, n_jobs=None),
    "q-SVM hinge": _fit(WIDE, **NEAR),
    "q-SVM logistic": _fit(WIDE, **NEAR, loss="logistic"),
    "q-SVM psi": _fit(WIDE, **NEAR, loss="psi"),
    "q-SVM hinge, long lists": _fit(LONG, weights="gaussian", n_neighbors=3, l2=0.01),
    "kNN-SVM": _fit(WIDE, weights="knn", n_neighbors=8, l2=0.01),
    "indv-SVM": _fit(WIDE, weights="individual", new_queries="uniform", l2=0.01),
    "pair functions, rbf": _fit(SMALL, function="pair", kernel="rbf", n_neighbors=3, l2=0.01),
    "ADMM hinge": _fit(SMALL, solver="admm", n_neighbors=3, l2=0.1),
    "ADMM logistic": _fit(SMALL, solver="admm", loss="logistic", n_neighbors=3, l2=0.1),
}
