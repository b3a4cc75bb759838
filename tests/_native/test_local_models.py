"""Compiled models of target queries: one solver for both types of documents, and wrong arrays are rejected."""

import numpy as np
import pytest

from plackett import _native
from plackett.rankers.query_dependent.local_fits import LocalFits
from tests.rankers.query_dependent.pair_problems import Lists, neighbors

TARGETS = neighbors(([0, 1, 2, 3], [1.6, 1.2, 0.8, 0.4]), ([2, 0], [3.0, 1.0]))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "psi"])
def test_documents_in_float32_are_solved_in_float64(loss, monkeypatch):
    monkeypatch.setattr(
        "plackett.rankers.query_dependent.local_fits.LARGEST_ROTATION", 0
    )  # rotated documents would be rounded
    it = Lists(lengths=(9, 40, 7, 12))
    single = it.X.astype(np.float32)
    found, expected = (
        LocalFits(X, it.labels, it.indptr).solve(TARGETS, loss, np.array([0.1, 0.01]), n_jobs=1)
        for X in (single, single.astype(np.float64))
    )
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-12)
    np.testing.assert_array_equal(found.n_steps, expected.n_steps)


def test_arrays_of_another_type_are_refused_by_name():
    it = Lists()
    data, spread, _ = LocalFits(it.X, it.labels, it.indptr)._rotated
    pairs = (np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1))
    with pytest.raises(TypeError, match="local_hinge: queries must be a contiguous int64 array"):
        _native.rankers.local_hinge(
            *data, spread, *pairs, np.ones(1), 1e-3, 10, np.zeros((1, 3)), np.zeros((1, 4))
        )  # fmt: skip
