"""The unstable order of ranx equals that of numba's argsort, document by document."""

import numpy as np
import pytest

from plackett import _native

numba = pytest.importorskip("numba")  # a dependency of ranx


@pytest.fixture(scope="module")
def numbas_order():
    return numba.njit(lambda scores: np.argsort(-scores))


def our_order(scores):
    """Return the documents in ranked order; their labels are their numbers."""
    order = np.empty(scores.size)
    bounds, lengths = np.array([0, scores.size]), np.array([scores.size])
    _native.metrics.rank_labels_by_quicksort(scores, np.arange(scores.size, dtype=float), bounds, lengths, 0, 1, order)
    return order


def drawn(rng, size, kind):
    scores = rng.normal(size=size)
    if kind == "ties":
        return np.round(scores, int(rng.integers(0, 3)))
    if kind == "falling":
        return -np.sort(np.round(scores, 1))
    if kind == "rising":
        return np.sort(np.round(scores, 1))
    if kind == "constant":
        return np.zeros(size)
    if kind == "missing":
        return np.where(rng.random(size) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], size), scores)
    return scores


@pytest.mark.parametrize("kind", ["any", "ties", "falling", "rising", "constant", "missing"])
def test_order_is_that_of_numba(numbas_order, kind):
    rng = np.random.default_rng(1)
    sizes = [*range(70), *rng.integers(70, 700, size=400).tolist(), 1024, 4999, 5000]
    for size in sizes:
        scores = drawn(rng, size, kind)
        np.testing.assert_array_equal(our_order(scores), numbas_order(scores), err_msg=f"{size} documents")
