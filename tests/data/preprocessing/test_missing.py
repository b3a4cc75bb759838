"""Missing values are filled as slow loops fill them, dense, sparse and mapped from files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import KNNImputer, SimpleImputer

import plackett as pk
from plackett import set_n_threads
from plackett.data import column_statistics
from plackett.data.preprocessing import MissingValues

RULES = ["zero", "mean", "median", "min", "query-median"]


def make_rows(n_docs=60, n_features=5, dtype=np.float64, seed=0):
    draws = np.random.default_rng(seed)
    X = np.round(draws.normal(size=(n_docs, n_features)), 1).astype(dtype)
    X[draws.random(X.shape) < 0.3] = np.nan
    X[:, 3] = np.nan  # without any value
    X[:, 4] = np.arange(n_docs)  # without a missing one
    X[:7, 0] = np.nan  # all of a query
    return X, np.arange(n_docs) // 7


def fill_by_loop(X, qid, rule, known=None):
    known = X if known is None else known
    filled = X.astype(np.float64)
    for column in range(X.shape[1]):
        there = [value for value in known[:, column].astype(np.float64).tolist() if value == value]
        of_all = {"zero": 0.0, "mean": sum(there) / max(1, len(there)), "min": min(there, default=0.0)}
        of_all["median"] = of_all["query-median"] = float(np.median(there)) if there else 0.0
        for row in range(X.shape[0]):
            if X[row, column] == X[row, column]:
                continue
            own = [value for value in X[qid == qid[row], column].tolist() if value == value]
            use_own = rule == "query-median" and own
            filled[row, column] = float(np.median(own)) if use_own else of_all[rule]
    return filled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES)
def test_rules_agree_with_a_loop(rule, dtype):
    X, qid = make_rows(dtype=dtype)
    filled = MissingValues(rule).fit_transform(X, qid=qid)
    assert filled.dtype == dtype
    np.testing.assert_allclose(filled, fill_by_loop(X, qid, rule), rtol=1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_stored_nan_of_sparse_rows_follow_the_same_rules(rule):
    X, qid = make_rows()
    X[:, 3] = 0.0
    X[np.clip(X, -0.5, 0.5) == X] = 0.0
    found = MissingValues(rule, indicator=True).fit(sparse.csr_matrix(X), qid=qid)
    dense = MissingValues(rule, indicator=True).fit(X, qid=qid)
    np.testing.assert_allclose(found.fill_, dense.fill_, rtol=1e-13)
    filled = found.transform(sparse.csr_matrix(X), qid=qid)
    assert sparse.issparse(filled)
    np.testing.assert_allclose(filled.toarray(), dense.transform(X, qid=qid), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_other_rows_are_filled_by_what_was_learned(rule):
    X, qid = make_rows()
    new, new_qid = make_rows(seed=1)
    imputer = MissingValues(rule).fit(X, qid=qid)
    np.testing.assert_allclose(imputer.transform(new, qid=new_qid), fill_by_loop(new, new_qid, rule, known=X))


@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(rule):
    X, qid = make_rows(n_docs=3000)
    order = np.random.default_rng(1).permutation(qid.size)
    expected = MissingValues(rule).fit_transform(X, qid=qid)
    np.testing.assert_allclose(MissingValues(rule).fit_transform(X[order], qid=qid[order]), expected[order], rtol=1e-13)
    try:
        set_n_threads(1)
        np.testing.assert_array_equal(MissingValues(rule).fit_transform(X, qid=qid), expected)
    finally:
        set_n_threads(None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rule", RULES)
def test_mapped_rows_stay_mapped_and_have_the_same_values(tmp_path, monkeypatch, rule, dtype):
    monkeypatch.setattr("plackett.storage.mapped.SPILL_ABOVE", 1 << 10)
    monkeypatch.setattr("plackett.storage.mapped.BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("plackett.data.query_blocks.BLOCK_BYTES", 1 << 12)
    X, qid = make_rows(n_docs=700, dtype=dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = pk.Queries(np.load(tmp_path / "X.npy", mmap_mode="c"), qid=qid)
    imputer = MissingValues(rule, indicator=True)
    imputer.fit_queries(mapped)
    filled = imputer.transform_queries(mapped)
    assert pk.Queries(X, qid=qid).X.dtype == filled.dtype
    assert "memmap" in str(type(filled.base)) or isinstance(filled.base, np.memmap)
    in_memory = MissingValues(rule, indicator=True)
    in_memory.fit_queries(pk.Queries(X, qid=qid))
    np.testing.assert_allclose(imputer.fill_, in_memory.fill_, rtol=1e-13)
    np.testing.assert_allclose(filled, in_memory.transform_queries(pk.Queries(X, qid=qid)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medians_of_mapped_rows_are_exact(dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(column_statistics, "BYTES_PER_PASS", 1 << 13)
    monkeypatch.setattr("plackett.storage.mapped.SPILL_ABOVE", 1)
    draws = np.random.default_rng(0)
    X = draws.normal(size=(501, 4)).astype(dtype) * np.array([1, 1e-30, 1e30, -1], dtype=dtype)
    X[draws.random(X.shape) < 0.3] = np.nan
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="c")
    np.testing.assert_array_equal(column_statistics.column_medians(mapped), np.nanmedian(X.astype(np.float64), axis=0))
    np.testing.assert_array_equal(column_statistics.column_medians(X), column_statistics.column_medians(mapped))


def test_indicators_are_those_of_training():
    X = np.array([[1.0, np.nan, 2.0], [3.0, 5.0, 2.0]])
    imputer = MissingValues("zero", indicator=True).fit(X)
    assert imputer.indicated_.tolist() == [1]
    assert imputer.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c", "b is missing"]
    np.testing.assert_array_equal(imputer.transform([[np.nan, np.nan, 2.0]]), [[0, 0, 2, 1]])


def test_a_transformer_is_cloned_and_learns_from_training_rows():
    X, _ = make_rows()
    X = X[:, [0, 1, 2, 4]]
    given = KNNImputer(n_neighbors=3)
    imputer = MissingValues(given).fit(X)
    assert not hasattr(given, "n_features_in_")
    np.testing.assert_array_equal(imputer.transform(X[:5]), KNNImputer(n_neighbors=3).fit(X).transform(X[:5]))
    other = MissingValues(SimpleImputer(add_indicator=True)).fit(X)
    assert other.n_columns_out_ == 7
    assert other.transform(X).shape == (60, 7)


class Careless(SimpleImputer):
    def fit_transform(self, X, y=None):
        return X

    def transform(self, X):
        return X


def test_what_cannot_be_used_is_said():
    X, qid = make_rows()
    with pytest.raises(ValueError, match="rule='fill' is not known; choose one of 'zero', 'mean'"):
        MissingValues("fill").fit(X)
    with pytest.raises(ValueError, match=r"X has an infinite value in row 1, column 0.*missing values are NaN"):
        MissingValues().fit([[1.0], [np.inf]])
    with pytest.raises(ValueError, match="missing=Careless returned rows that cannot be used: X has a NaN in row 0"):
        MissingValues(Careless()).fit(X)
    imputer = MissingValues("query-median").fit(X, qid=qid)
    with pytest.raises(ValueError, match="qid is missing"):
        imputer.transform(X)
