"""Read-only rows and labels: no kernel is compiled for them, and nothing is written to them."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.types import Array
from scipy import sparse

import plackett as pk
from plackett.data.normalize import NAMES, QueryNormalizer, get_normalizer

RNG = np.random.default_rng(0)
X, QID = RNG.random((60, 4)), np.repeat(np.arange(6), 10)
LABELS = np.floor(3 * X[:, 0])
RANKERS = [
    pk.ranker("listmle"), pk.ranker("cs-listmle"), pk.ranker("ranksvm"), pk.ranker("prank"), pk.ranker("featurerank"),
    pk.ranker("rankboost"), pk.ranker("adarank"), pk.ranker("svm-map"),
]  # fmt: skip


def _closed(values):
    values = values.copy()
    for array in (values.data, values.indices, values.indptr) if sparse.issparse(values) else (values,):
        array.flags.writeable = False
    return values


def _compiled_for_read_only():
    """Kernels of this library that were compiled for an array that must not be written to."""
    kernels = {
        (name, attribute): value
        for name, module in list(sys.modules.items())
        if name.startswith("plackett.") and module is not None
        for attribute, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }
    return {
        place
        for place, kernel in kernels.items()
        if any(isinstance(kind, Array) and not kind.mutable for kinds in kernel.signatures for kind in kinds)
    }


@pytest.fixture
def nothing_is_compiled():
    before = _compiled_for_read_only()
    yield
    assert _compiled_for_read_only() == before


@pytest.mark.usefixtures("nothing_is_compiled")
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: f"{type(ranker).__name__} {getattr(ranker, 'loss', '')}")
def test_rankers_learn_from_read_only_rows_what_they_learn_from_others(ranker):
    labels, qid = _closed(LABELS), _closed(QID)
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    expected = ranker.fit(X, LABELS, qid=QID).predict(X, qid=QID)
    closed = _closed(X)
    found = ranker.fit(closed, labels, qid=qid).predict(closed, qid=qid)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(closed, X)
    assert pk.evaluate(labels, _closed(found), qid=qid).mean() == pk.evaluate(LABELS, found, qid=QID).mean()


@pytest.mark.usefixtures("nothing_is_compiled")
@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(get_normalizer(name), QueryNormalizer)])
def test_normalizers_scale_read_only_rows(name):
    kinds = [X, sparse.csr_matrix(X)] if name == "query-unit" else [X]
    for rows in kinds:
        expected = get_normalizer(name).fit_transform(rows, qid=QID)
        closed = _closed(rows)
        found = get_normalizer(name).fit_transform(closed, qid=QID)
        assert abs(found - expected).max() == 0
        assert abs(closed - rows).max() == 0


@pytest.mark.usefixtures("nothing_is_compiled")
def test_trees_score_read_only_rows():
    from plackett.rankers.flat_trees import FlatTrees

    stump = {"features": [1, -1, -1], "thresholds": [0.5, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    others = {"values": [0.0, -1.0, 1.0], "counts": [60, 30, 30], "gains": [1.0, 0.0, 0.0]}
    trees = FlatTrees.of([{key: np.array(value) for key, value in (stump | others).items()}], 4)
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_array_equal(trees.predict(_closed(rows)), np.where(X[:, 1] <= 0.5, -1.0, 1.0))
