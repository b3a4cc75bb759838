"""Sparse rows: a damaged matrix is rejected at every entry, and every format of the same rows gives the same scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import plackett as pk
from plackett.data.preprocessing.scaling import NAMES
from plackett.exceptions import ConvergenceWarning
from plackett.rankers import registry
from plackett.validation import as_csr, check_csr

RNG = np.random.default_rng(0)
N, WIDTH = 24, 4
X = np.where(RNG.random((N, WIDTH)) < 0.4, 0.0, RNG.integers(1, 9, size=(N, WIDTH)) / 4.0)
Y = RNG.integers(0, 3, size=N)
QID = np.repeat([1, 2, 3], 8)


def damaged(indptr=None, indices=None, index_type=np.int32, make=sparse.csr_matrix):
    matrix = make(np.array([[1.0, 0, 2], [0, 3, 0]]))
    matrix.indptr = np.array([0, 2, 3] if indptr is None else indptr, dtype=index_type)
    matrix.indices = np.array([0, 2, 1] if indices is None else indices, dtype=index_type)
    return matrix


DAMAGE = {
    "an index too large": ({"indices": [0, 2**30, 1]}, "index 1073741824 is outside the range 0 to 2"),
    "a negative index": ({"indices": [0, 2, -1]}, "index -1 is outside the range 0 to 2"),
    "a falling indptr": ({"indptr": [0, 10**9, 3]}, "indptr decreases after row 1"),
    "a negative end": ({"indptr": [0, 10**9, -(2**31)]}, "indptr ends with -2147483648"),
    "a late start": ({"indptr": [1, 2, 3]}, "indptr begins with 1 instead of 0"),
    "an end too late": ({"indptr": [0, 2, 4]}, "indptr ends with 4, but there are 3 indices and 3 values"),
    "an end too early": ({"indptr": [0, 1, 2]}, r"X\.prune\(\)"),
    "too few rows": ({"indptr": [0, 3]}, "indptr has 2 numbers instead of 3"),
    "numbers of another type": ({"index_type": np.float64}, "a vector of int32 or int64"),
}


@pytest.mark.parametrize(("parts", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_the_check_says_what_is_wrong_with_a_sparse_matrix(parts, message):
    types = [parts["index_type"]] if "index_type" in parts else [np.int32, np.int64]
    for index_type in types:
        matrix = damaged(**{**parts, "index_type": index_type})
        for array in (matrix.indices, matrix.indptr):
            array.flags.writeable = False
        with pytest.raises(ValueError, match=f"X is a damaged sparse matrix: .*{message}.*Build it again"):
            check_csr(matrix)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_a_sound_matrix_of_any_format_passes_and_becomes_csr(kind):
    rows = as_csr(sparse.csr_array(X).asformat(kind))
    assert rows.format == "csr"
    np.testing.assert_array_equal(rows.toarray(), X)
    as_csr(sparse.csr_array((0, 3)).asformat(kind))


def test_a_damaged_matrix_is_refused_before_it_is_converted():
    csc = damaged(indices=[0, 5, 1], indptr=[0, 1, 2, 3], make=sparse.csc_matrix)
    coo = sparse.coo_array(X)
    coo.coords[1][0] = 10**9
    bsr = sparse.csr_array(np.eye(4)).tobsr(blocksize=(2, 2))
    bsr.indices[1] = 7
    lil = sparse.lil_matrix(X)
    lil.rows[0] = [10**9] * len(lil.rows[0])
    for matrix in (csc, coo, bsr, lil):
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            as_csr(matrix)


def _rated(matrix):
    return pk.PersonalityDiagnosis().fit(matrix)


def _predicted(method):
    def call(matrix):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = pk.ranker("listmle", max_iter=1).fit(X, Y, qid=QID)
        return getattr(fitted, method)(matrix, qid=QID)

    return call


ENTRIES = {
    "Queries": lambda matrix: pk.Queries(matrix, Y, QID),
    "fit": lambda matrix: pk.ranker("listmle").fit(matrix, Y, qid=QID),
    "predict": _predicted("predict"),
    "explain": _predicted("explain"),
    "QueryUnitLength": lambda matrix: pk.preprocessing.QueryUnitLength().fit_transform(matrix, qid=QID),
    "PersonalityDiagnosis": _rated,
    "refine": lambda matrix: pk.LinearRefiner().fit(matrix, Y, qid=QID, base_score=X[:, 0]),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_a_damaged_matrix_is_refused_at_every_entry(entry):
    for change in (lambda matrix: matrix.indices.fill(2**30), lambda matrix: matrix.indptr.__setitem__(-1, -(2**31))):
        matrix = sparse.csr_matrix(X)
        change(matrix)
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            entry(matrix)


def test_queries_whose_rows_were_changed_since_are_refused_where_they_are_used(tmp_path):
    queries = pk.Queries(sparse.csr_matrix(X), Y, QID)
    queries.X.indices[:] = 2**30
    calls = [
        lambda: pk.evaluate(queries, X[:, 0], reference_scores=True),
        lambda: pk.write_letor(queries, tmp_path / "x.txt"),
        lambda: pk.write_parquet(queries, tmp_path / "x.parquet"),
        lambda: queries.to_frame(),
        queries.describe,
        lambda: pk.ranker("listmle").fit(queries),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            call()


# --- The same rows in every format -----------------------------------------------------------------------------------

FAST = {"max_iter": 3, "n_rounds": 3, "n_epochs": 3, "min_data_in_leaf": 1, "random_state": 0}
NEEDS = {"neural": "torch", "trees": "lightgbm", "lightgbm": "lightgbm", "xgboost": "xgboost"}
FORMATS = (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix)
KEEPS_ZEROS = (None, "query-unit", "maxabs", "quantile")


def fast(name, **params):
    known = registry.parameters(name)
    return pk.ranker(name, **{key: value for key, value in FAST.items() if key in known}, **params)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning", "ignore:n_quantiles")
@pytest.mark.parametrize("name", pk.ranker_names())
def test_every_format_of_the_same_rows_gives_the_same_scores_with_every_normaliser(name):
    pytest.importorskip(NEEDS.get(name, "numpy"))
    takes_normalize = "normalize" in registry.parameters(name)
    for normalize in (None, *NAMES) if takes_normalize else (None,):
        params = {"normalize": normalize} if takes_normalize else {}
        if normalize not in KEEPS_ZEROS:
            with pytest.raises(ValueError, match=r"(X is sparse|a sparse X).*zeros do not stay zeros.*X\.toarray\(\)"):
                fast(name, **params).fit(sparse.csr_matrix(X), Y, qid=QID)
            continue
        first = sparse.csr_matrix(X) if name == "xgboost" else X  # XGBoost reads unstored values as missing
        dense = fast(name, **params).fit(first, Y, qid=QID).predict(first, qid=QID)
        for make in FORMATS:
            found = fast(name, **params).fit(make(X), Y, qid=QID).predict(make(X), qid=QID)
            np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-9, err_msg=f"{normalize} {make.__name__}")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_values_of_sparse_rows_must_be_one_array_of_real_numbers(form):
    if form != "coo":  # scipy itself rejects this for COO
        rows = sparse.random(6, 3, density=0.9, format=form, random_state=0)
        rows.data = rows.data.reshape(-1, 1)
        with pytest.raises(ValueError, match="damaged sparse matrix: its values must be one array"):
            pk.Queries(rows)
    with pytest.raises(ValueError, match="values of type complex128; real numbers are needed"):
        pk.Queries(sparse.random(6, 3, density=0.9, format=form, random_state=0) * 1j)


def test_lists_of_rows_must_have_a_value_for_every_column_number():
    rows = sparse.lil_matrix(np.arange(1, 13.0).reshape(4, 3))
    rows.data[2] = rows.data[2][:1]  # scipy would fill the others with uninitialised memory
    with pytest.raises(ValueError, match="a row has different numbers of values and column numbers"):
        pk.Queries(rows)
