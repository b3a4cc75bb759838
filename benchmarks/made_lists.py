"""Synthetic lists for the benchmarks of training."""

from __future__ import annotations

import numpy as np

from plackett.data.queries import QueryLists

LABEL_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # labels 0..4, about as in MSLR-WEB


def uneven_indptr(n_docs: int, rng: np.random.Generator, *, shortest: int = 20, longest: int = 220) -> np.ndarray:
    """Return bounds of queries of many lengths, 120 documents on average by default, ``n_docs`` in all."""
    lengths = rng.integers(shortest, longest, endpoint=True, size=2 * n_docs // (shortest + longest) * 2 + 10)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return np.append(bounds[bounds < n_docs], n_docs).astype(np.int64)


def long_tailed_indptr(n_docs: int, rng: np.random.Generator, *, mean: float = 120, longest: int = 1251) -> np.ndarray:
    """Return bounds of queries of lengths about as in MSLR-WEB30K, the first with ``longest`` documents."""
    spread = 0.65
    lengths = rng.lognormal(np.log(mean) - spread**2 / 2, spread, size=int(2 * n_docs / mean) + 10)
    bounds = np.concatenate([[0, longest], longest + np.cumsum(np.clip(lengths, 1, longest).astype(np.int64))])
    return np.append(bounds[bounds < n_docs], n_docs).astype(np.int64)


def small_numbers(n_docs: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent float32 columns between -0.5 and 0.5, without a temporary array of that size."""
    X = np.empty((n_docs, n_features), dtype=np.float32)
    for start in range(0, n_docs, 10_000):
        rng.random(out=X[start : start + 10_000], dtype=np.float32)
    X -= 0.5
    return X


def graded(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels 0..4 of hidden scores, with noise of the same size."""
    noisy = truth / truth.std() + rng.normal(size=truth.size)
    return np.searchsorted(np.quantile(noisy, np.cumsum(LABEL_SHARES)[:-1]), noisy).astype(np.float64)


def strict(lists: QueryLists, rng: np.random.Generator) -> QueryLists:
    """Break ties at random: return labels that order all documents of a query."""
    queries = np.repeat(np.arange(lists.n_queries), np.diff(lists.indptr))
    order = np.lexsort((rng.random(lists.n_docs), lists.labels, queries))
    labels = np.empty(lists.n_docs)
    labels[order] = np.arange(lists.n_docs) - lists.indptr[queries]
    return QueryLists(labels, lists.indptr)
