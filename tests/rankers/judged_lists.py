"""Small judged lists that the tests of several rankers share."""

import numpy as np


def lists(n_queries=12, n_features=5, seed=0, levels=3, values=None, sizes=(1, 9)):
    """Queries of one to eight documents; ``values`` rounds the features so that they tie."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(*sizes, size=n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    y = rng.integers(levels, size=qid.size).astype(float)
    X = rng.normal(size=(qid.size, n_features)) + 0.4 * y[:, None] * rng.normal(size=n_features)
    return (X if values is None else np.round(X * values) / values), y, qid


def shuffled(X, y, qid, seed=3):
    order = np.random.default_rng(seed).permutation(y.size)
    return X[order], y[order], qid[order]
