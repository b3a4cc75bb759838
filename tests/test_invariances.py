"""No result of a registered ranker depends on the order of rows, the names of queries or the storage of rows."""

import functools
import gzip
import os
import threading
import warnings

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk

SETTINGS = {  # for a fast fit, or a well-defined result
    "neural": {"n_epochs": 2, "random_state": 0, "normalize": "maxabs"},
    "trees": {"n_rounds": 5},
    "lightgbm": {"n_rounds": 5},
    "xgboost": {"n_rounds": 5},
    # a model for every query; at the default tolerance rounding can change the step at which its solver stops
    "qsvm": {"tol": 1e-6, "l2": 0.1, "n_neighbors": 4},
    "knn-svm": {"tol": 1e-6, "l2": 0.1, "n_neighbors": 4},
    "query-dependent": {"tol": 1e-6, "l2": 0.1, "n_neighbors": 4},
    "indv-svm": {"tol": 1e-6, "l2": 0.1, "new_queries": "uniform"},
}
FOLLOWS_ROWS = ("prank", "neural", "trees", "lightgbm", "xgboost")  # the fit depends on the order of rows
# BLAS and PyTorch sum a row differently at another place of the matrix, in double and in single precision
ROUNDS = {"kernel": 1e-11, "kernel-cs-listmle": 1e-11, "neural": 1e-5}
SPARSE_SUM = 1e-12  # sums over the stored values only, in another order than over whole rows
METRICS = ["ndcg@3", "ndcg", "dcg@2", "map", "p@2", "recall@2", "mrr", "err@3", "kendall", "mre", "exact", "wpd",
           "persistence@2", "mean_ndcg", "sharp_ndcg"]  # fmt: skip
N_FEATURES = 4

# rows are drawn from a seed, so that hypothesis has little to shrink
few = functools.partial(settings, derandomize=True, deadline=None, database=None, phases=[Phase.generate])


@st.composite
def judged_lists(draw, least=1, most=5):
    """Draw features, labels and query numbers of short lists: one document, many ties, constant columns, float32."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=(n := draw(st.integers(least, most))), max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_docs = sum(lengths)
    kind = draw(st.sampled_from(["levels", "numbers", "few documents", "constant column"]))
    X = rng.integers(-1, 2, (n_docs, N_FEATURES)).astype(np.float64)
    if kind in ("numbers", "few documents"):
        X = rng.normal(size=(n_docs, N_FEATURES)) * (rng.random((n_docs, N_FEATURES)) < 0.7)
    if kind == "few documents":
        X = X[rng.integers(0, 3, n_docs) % n_docs]
    if kind == "constant column":
        X[:, 1] = 0.1
    X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    return X, rng.integers(0, draw(st.integers(1, 4)), n_docs).astype(np.float64), np.repeat(np.arange(n), lengths)


NAMES = {
    "numbers": lambda qid: qid + 100,
    "falling numbers": lambda qid: -7 * (qid + 1) + 10**12,
    "texts": lambda qid: [f"query {number}" for number in qid.tolist()],
    "pairs": lambda qid: [("q", number) for number in qid.tolist()],
}


def same_in(kind, X, folder):
    """Return the same rows in another storage format."""
    if kind == "memmap":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if kind == "frame":
        return pytest.importorskip("pandas").DataFrame(X)
    return {"csr": sparse.csr_array, "fortran": np.asfortranarray, "float64": lambda X: X.astype(np.float64)}[kind](X)


STORED = ("csr", "frame", "memmap", "fortran", "float64")


def made(name):
    try:
        return pk.ranker(name, **SETTINGS.get(name, {}))
    except ModuleNotFoundError as error:
        pytest.skip(str(error))


def fitted(name, X, labels, qid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # data without anything to learn are intended
        return made(name).fit(X, labels, qid=qid)


@functools.cache
def ready(name):
    """Return the ranker, fitted once."""
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(8), [1, 6, 3, 5, 2, 6, 4, 5])
    X = rng.normal(size=(qid.size, N_FEATURES)) * (rng.random((qid.size, N_FEATURES)) < 0.8)
    X[8] = X[9]
    labels = np.clip(np.round(X[:, 0] + X[:, 2] + rng.normal(size=qid.size)), 0, 2)
    return fitted(name, X, labels, qid)


def assert_same(found, expected, error=0.0):
    """Assert that values are bit-identical, or equal up to an error relative to the largest."""
    if error:
        np.testing.assert_allclose(found, expected, rtol=0, atol=error * max(1.0, np.abs(expected).max()))
    else:
        np.testing.assert_array_equal(found, expected)


def measures(labels, scores, qid):
    """By query and metric."""
    table = pk.evaluate(labels, scores, qid=qid, metrics=METRICS)
    return dict(zip(table.queries.tolist(), table.values.tolist(), strict=True))


@pytest.mark.parametrize("name", pk.ranker_names())
@few(max_examples=6)
@given(judged_lists(), st.sampled_from(sorted(NAMES)), st.randoms(use_true_random=False))
def test_no_prediction_and_no_measure_depends_on_order_names_or_storage(tmp_path_factory, name, lists, names, random):
    if name == "neural":
        pytest.importorskip("torch")
    X, labels, qid = lists
    ranker, own_names, error = ready(name), NAMES["numbers"](qid), ROUNDS.get(name, 0.0)
    scores = ranker.predict(X, qid=own_names)
    assert_same(ranker.predict(X, qid=NAMES[names](qid)), scores)
    folder = tmp_path_factory.mktemp("rows")
    for kind in STORED:
        rows = same_in(kind, X, folder)
        assert_same(ranker.predict(rows, qid=own_names), scores, max(error, SPARSE_SUM if kind == "csr" else 0.0))
        assert_same(ranker.predict(pk.Queries(rows, labels, own_names)), scores, max(error, SPARSE_SUM))
    order = np.array(random.sample(range(qid.size), qid.size))
    permuted = ranker.predict(X[order], qid=own_names[order])
    assert_same(permuted, scores[order], error)
    assert_same(ranker.predict(pk.Queries(X[order], qid=own_names[order])), permuted)
    expected, found = measures(labels, scores, own_names), measures(labels[order], permuted, own_names[order])
    assert expected.keys() == found.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in pk.ranker_names() if name not in FOLLOWS_ROWS])
@few(max_examples=3)
@given(judged_lists(3, 6), st.sampled_from(sorted(NAMES)), st.randoms(use_true_random=False))
def test_no_refit_depends_on_order_names_or_storage(tmp_path_factory, name, lists, names, random):
    X, labels, qid = lists
    new, new_qid = np.random.default_rng(5).normal(size=(6, N_FEATURES)).astype(X.dtype), [10**6] * 6
    expected = fitted(name, X, labels, qid).predict(new, qid=new_qid)
    order = np.array(random.sample(range(qid.size), qid.size))
    folder = tmp_path_factory.mktemp("rows")
    for rows, own_labels, own_qid in (
        (X[order], labels[order], qid[order]),
        (X, labels, NAMES[names](qid)),
        *((same_in(kind, X, folder), labels, qid) for kind in ("csr", "frame", "memmap")),
    ):
        assert_same(fitted(name, rows, own_labels, own_qid).predict(new, qid=new_qid), expected, 1e-6)


# files and pipes


def lines_of(X, labels, qid):
    """LETOR rows, with document ids."""
    rows = [" ".join(f"{column}:{value!r}" for column, value in enumerate(row, 1)) for row in X.tolist()]
    parts = zip(labels.tolist(), qid.tolist(), rows, range(qid.size), strict=True)
    return [f"{label:g} qid:{key} {row} #docid = d{number}\n".encode() for label, key, row, number in parts]


@few(max_examples=25)
@given(judged_lists(), st.data())
def test_no_reading_depends_on_files_pipes_or_compression(tmp_path_factory, lists, data):
    X, labels, qid = lists
    lines = lines_of(X.astype(np.float64), labels, qid)
    folder = tmp_path_factory.mktemp("files")
    (folder / "whole.txt").write_bytes(b"".join(lines))
    (folder / "whole.txt.gz").write_bytes(gzip.compress(b"".join(lines)))
    cut = data.draw(st.integers(1, len(lines)), "cut")
    (folder / "first.txt").write_bytes(b"".join(lines[:cut]))
    (folder / "second.txt").write_bytes(b"".join(lines[cut:]) or b"\n")
    expected = pk.read_letor(folder / "whole.txt")
    np.testing.assert_array_equal(expected.X, X.astype(np.float32))
    scores = ready("listmle").predict(expected)
    own_measures = measures(labels, scores, expected.qid)

    def check(found):
        for one, other in ((found.X, expected.X), (found.y, expected.y), (found.qid, expected.qid)):
            np.testing.assert_array_equal(one, other)
        assert found.docid.tolist() == expected.docid.tolist()
        assert_same(ready("listmle").predict(found), scores)
        assert measures(found.y, scores, found.qid) == own_measures

    check(pk.read_letor(folder / "whole.txt.gz"))
    check(pk.read_letor([folder / "first.txt", folder / "second.txt"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of whole numbers may look like ids
        check(pk.from_frame(expected.to_frame()))
    if os.path.isdir("/dev/fd"):
        check(through_a_pipe(b"".join(lines)))


def through_a_pipe(text):
    """Return what ``read_letor`` reads from a pipe while it is written."""
    read_end, write_end = os.pipe()

    def write():
        with open(write_end, "wb") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return pk.read_letor(f"/dev/fd/{read_end}")
    finally:
        os.close(read_end)
        writer.join()
