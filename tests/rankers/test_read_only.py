"""Read-only rows and labels are taken as they are; what kernels cannot take is laid out anew."""

import numpy as np
import pytest
from scipy import sparse

import plackett as pk
from plackett.data.preprocessing.scaling import NAMES, QueryNormalizer, get_normalizer

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


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(get_normalizer(name), QueryNormalizer)])
def test_normalizers_scale_read_only_rows(name):
    kinds = [X, sparse.csr_matrix(X)] if name == "query-unit" else [X]
    for rows in kinds:
        expected = get_normalizer(name).fit_transform(rows, qid=QID)
        closed = _closed(rows)
        found = get_normalizer(name).fit_transform(closed, qid=QID)
        assert abs(found - expected).max() == 0
        assert abs(closed - rows).max() == 0


def _unaligned(values):
    """The same values at an odd address."""
    shifted = np.frombuffer(b"x" + values.tobytes(), dtype=np.uint8)[1:].view(values.dtype).reshape(values.shape)
    assert not shifted.flags.aligned
    return shifted


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: f"{type(ranker).__name__} {getattr(ranker, 'loss', '')}")
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_rows_in_another_layout_are_laid_out_anew(ranker, is_sparse):
    rows, odd = X, _unaligned(X)
    if is_sparse:
        rows = sparse.csr_matrix(X)
        odd = rows.copy()
        odd.data, odd.indices = np.repeat(odd.data, 2)[::2], odd.indices.astype(np.int64)  # beside an int32 indptr
    if "random_state" in ranker.get_params():
        ranker.set_params(random_state=0)
    expected = ranker.fit(rows, LABELS, qid=QID).predict(rows, qid=QID)
    found = ranker.fit(odd, _unaligned(LABELS), qid=QID).predict(odd, qid=QID)
    np.testing.assert_array_equal(found, expected)
    mean = pk.evaluate(_unaligned(LABELS), _unaligned(found), qid=QID).mean()
    assert mean == pk.evaluate(LABELS, expected, qid=QID).mean()
