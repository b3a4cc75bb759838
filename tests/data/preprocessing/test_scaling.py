"""Normalisers within queries: against slow loops, scikit-learn query by query, and scikit-learn's own checks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.stats import rankdata
from sklearn import config_context, preprocessing
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from plackett.data.letor.read import read_letor
from plackett.data.preprocessing.scaling import (
    NAMES,
    QueryMinMax,
    QueryNormalizer,
    QueryRank,
    QueryUnitLength,
    QueryZScore,
    get_normalizer,
)

ALL = [QueryMinMax(), QueryZScore(), QueryUnitLength(), QueryRank()]
MOVING = [QueryMinMax(), QueryZScore(), QueryRank()]  # zeros do not stay zeros
by_name = pytest.mark.parametrize("normalizer", ALL, ids=lambda normalizer: type(normalizer).__name__)
moving = pytest.mark.parametrize("normalizer", MOVING, ids=lambda normalizer: type(normalizer).__name__)


def slow_column(normalizer, values):
    """One column of one query, in the words of the docstrings."""
    values = np.asarray(values, dtype=float)
    if isinstance(normalizer, QueryUnitLength):
        length = np.sqrt((values**2).sum())
        return values / length if length > 0 else values
    if values.min() == values.max():
        return np.zeros_like(values)
    if isinstance(normalizer, QueryMinMax):
        return (values - values.min()) / (values.max() - values.min())
    if isinstance(normalizer, QueryZScore):
        return (values - values.mean()) / values.std()
    return (rankdata(values) - 1) / (values.size - 1)


def slow(normalizer, X, qid):
    answer = np.zeros(X.shape)
    for key in set(qid):
        rows = [row for row, other in enumerate(qid) if other == key]
        for column in range(X.shape[1]):
            answer[rows, column] = slow_column(normalizer, X[rows, column])
    return answer


@pytest.fixture
def scattered():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 5.0, 0.0, 1e6]
    X[:, 2] = rng.integers(0, 3, size=60)  # ties
    qid = [("q", int(number)) for number in rng.integers(0, 9, size=60)]
    X[[row for row, key in enumerate(qid) if key == ("q", 4)], 1] = 7.5  # constant in one query
    return X, qid


@by_name
def test_values_equal_a_slow_loop_over_queries_and_columns(normalizer, scattered):
    X, qid = scattered
    np.testing.assert_allclose(normalizer.fit_transform(X, qid=qid), slow(normalizer, X, qid), rtol=1e-9, atol=1e-9)


@by_name
def test_no_qid_means_one_query(normalizer, scattered):
    X, _ = scattered
    np.testing.assert_allclose(normalizer.fit_transform(X), slow(normalizer, X, [0] * len(X)), rtol=1e-9, atol=1e-9)


PEERS = [
    (QueryMinMax(), preprocessing.MinMaxScaler()),
    (QueryZScore(), preprocessing.StandardScaler()),
    (QueryUnitLength(), preprocessing.FunctionTransformer(lambda X: preprocessing.normalize(X, axis=0))),
]


@pytest.mark.parametrize(("normalizer", "peer"), PEERS, ids=["minmax", "zscore", "unit"])
def test_each_query_alone_equals_scikit_learn(normalizer, peer, scattered):
    X, qid = scattered
    answer = normalizer.fit_transform(X, qid=qid)
    for key in set(qid):
        rows = [row for row, other in enumerate(qid) if other == key]
        np.testing.assert_allclose(answer[rows], clone(peer).fit_transform(X[rows]), rtol=1e-7, atol=1e-9)


def test_ranks_are_shared_by_ties_and_run_from_0_to_1():
    values = np.array([[10.0], [5.0], [30.0], [10.0], [2.0], [2.0], [9.0]])
    answer = QueryRank().fit_transform(values, qid=[1, 1, 1, 1, 2, 2, 3])
    # query 1 has ranks 2.5, 1, 4, 2.5 of 4; query 2 is constant; query 3 has one document
    assert answer.ravel().tolist() == [0.5, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0]


@moving
def test_a_constant_column_becomes_zero(normalizer):
    X = np.full((4, 1), 0.1) * [1.0, 3.0]  # three times 0.1 is not 0.3: a mean of such values may miss them
    assert normalizer.fit_transform(X).tolist() == [[0.0, 0.0]] * 4


def test_unit_length_moves_nothing():
    assert QueryUnitLength().fit_transform([[2.0, 0.0]] * 4).tolist() == [[0.5, 0.0]] * 4


@by_name
def test_extreme_values_neither_overflow_nor_vanish(normalizer):
    for scale in (1e308, 1e-300, 5e-324):
        answer = normalizer.fit_transform(np.array([[-1.0], [0.0], [1.0]]) * scale)
        assert np.isfinite(answer).all()
        if scale > 1e-310:
            np.testing.assert_allclose(answer, slow(normalizer, np.array([[-1.0], [0.0], [1.0]]), [0] * 3), rtol=1e-12)


@by_name
def test_float32_stays_float32_and_is_as_exact_as_float32_can_be(normalizer, scattered):
    X, qid = scattered
    rough = X.astype(np.float32)
    answer = normalizer.fit_transform(rough, qid=qid)
    assert answer.dtype == np.float32
    np.testing.assert_allclose(answer, slow(normalizer, rough.astype(float), qid), rtol=1e-5, atol=1e-6)


@by_name
def test_the_input_is_never_changed(normalizer, scattered):
    X, qid = scattered
    for rows in (X.copy(), np.asfortranarray(X), X.astype(np.float32), X[::2]):
        before = rows.copy()
        rows.flags.writeable = False
        normalizer.fit_transform(rows, qid=qid[: len(rows)])
        np.testing.assert_array_equal(rows, before)


@by_name
def test_memory_layout_does_not_matter(normalizer, scattered):
    X, qid = scattered
    expected = normalizer.fit_transform(X, qid=qid)
    np.testing.assert_array_equal(normalizer.fit_transform(np.asfortranarray(X), qid=qid), expected)
    np.testing.assert_array_equal(normalizer.fit_transform(np.repeat(X, 2, axis=1)[:, ::2], qid=qid), expected)


tables = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e6, 1e6, width=32)
)


@by_name
@settings(deadline=None)
@given(data=st.data(), X=tables)
def test_shuffling_rows_shuffles_the_answer_and_nothing_else(normalizer, data, X):
    qid = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    order = np.array(data.draw(st.permutations(range(len(X)))))
    straight, shuffled = normalizer.fit_transform(X, qid=qid), normalizer.fit_transform(X[order], qid=qid[order])
    np.testing.assert_allclose(shuffled, straight[order], rtol=1e-9, atol=1e-9)


@moving
@settings(deadline=None)
@given(data=st.data(), X=tables)
def test_order_within_a_query_is_kept(normalizer, data, X):
    qid = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    answer = normalizer.fit_transform(X, qid=qid)
    for key in np.unique(qid):
        for column in range(X.shape[1]):
            order = np.argsort(X[qid == key, column], kind="stable")
            assert (np.diff(answer[qid == key, column][order]) >= 0).all()


def test_many_blocks_give_what_one_gives(scattered, monkeypatch):
    X, qid = scattered
    for normalizer in ALL:
        expected = normalizer.fit_transform(X, qid=qid)
        with monkeypatch.context() as patch:
            patch.setattr("plackett.data.preprocessing.scaling.VALUES_PER_BLOCK", 1)
            np.testing.assert_array_equal(normalizer.fit_transform(X, qid=qid), expected)


# sparse


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_length_keeps_sparse_features_sparse(kind, dtype, scattered):
    X, qid = scattered
    X = (X * (X > 0)).astype(dtype)
    matrix = kind(X)
    before = matrix.toarray()
    answer = QueryUnitLength().fit_transform(matrix, qid=qid)
    assert answer.format == "csr"
    assert answer.dtype == dtype
    assert answer.nnz == matrix.nnz
    np.testing.assert_allclose(answer.toarray(), QueryUnitLength().fit_transform(X, qid=qid), rtol=1e-6)
    np.testing.assert_array_equal(matrix.toarray(), before)


def test_sparse_values_stored_in_parts_count_as_their_sum():
    parts = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 0]), np.array([0, 2, 3])), shape=(2, 1))
    assert QueryUnitLength().fit_transform(parts).toarray().ravel().tolist() == [0.6, 0.8]
    assert parts.nnz == 3


@moving
def test_scalings_that_would_fill_a_sparse_matrix_refuse_it(normalizer):
    with pytest.raises(
        ValueError, match=r"would make a sparse X dense.*Use QueryUnitLength, or pass a dense array: X\.toarray\(\)"
    ):
        normalizer.fit(sparse.csr_matrix([[1.0, 0.0]]))


# what is refused


@by_name
def test_missing_and_infinite_values_are_named_with_their_place(normalizer):
    frame = pd.DataFrame({"bm25": [1.0, 2.0], "length": [1.0, np.nan]})
    with pytest.raises(ValueError, match=r'X has a NaN in row 1, column 1 \("length"\)'):
        normalizer.fit_transform(frame)
    with pytest.raises(ValueError, match="X has an infinite value in row 0, column 0"):
        normalizer.fit_transform([[np.inf], [-np.inf]])


@by_name
def test_wrong_ids_are_refused(normalizer):
    with pytest.raises(ValueError, match="qid has 2 ids but there are 3 rows"):
        normalizer.fit_transform(np.ones((3, 1)), qid=[1, 2])
    with pytest.raises(ValueError, match="qid is None in row 1"):
        normalizer.fit(np.ones((3, 1)), qid=["a", None, "a"])


# as a citizen of scikit-learn


def why_a_check_does_not_apply(estimator):
    """A query's values depend on all of its rows, so rows may not be given in batches."""
    return {"check_methods_subset_invariance": "rows of one query are scaled together; batches are other queries"}


@parametrize_with_checks(ALL, expected_failed_checks=why_a_check_does_not_apply)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


@by_name
def test_names_of_features_are_remembered_and_given_back(normalizer):
    frame = pd.DataFrame({"bm25": [1.0, 2.0, 4.0], "length": [3.0, 1.0, 2.0]})
    fitted = clone(normalizer).set_output(transform="pandas").fit(frame, qid=[1, 1, 2])
    assert fitted.n_features_in_ == 2
    assert fitted.get_feature_names_out().tolist() == ["bm25", "length"]
    answer = fitted.transform(frame, qid=[1, 1, 2])
    assert list(answer.columns) == ["bm25", "length"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[["length", "bm25"]], qid=[1, 1, 2])


def test_a_pipeline_passes_the_ids_on_when_routing_is_enabled(scattered):
    X, qid = scattered
    y = X @ [1.0, 0.0, 2.0, 0.0]
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(QueryZScore(), QueryMinMax(), LinearRegression()).fit(X, y, qid=qid)
        predicted = pipeline.predict(X, qid=qid)
        scaled = pipeline[:-1].transform(X, qid=qid)
        unaware = make_pipeline(
            QueryZScore().set_transform_request(qid=False).set_fit_request(qid=False), QueryMinMax()
        )
        globally = unaware.fit_transform(X, qid=qid)
    expected = slow(QueryMinMax(), slow(QueryZScore(), X, qid), qid)
    np.testing.assert_allclose(scaled, expected, atol=1e-9)
    np.testing.assert_allclose(predicted, LinearRegression().fit(expected, y).predict(expected), rtol=1e-6)
    np.testing.assert_allclose(globally, slow(QueryMinMax(), slow(QueryZScore(), X, [0] * len(X)), qid), atol=1e-9)


# by name


def test_every_name_gives_a_fresh_transformer():
    expected = [QueryMinMax, QueryZScore, QueryUnitLength, QueryRank]
    expected += [preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler, preprocessing.StandardScaler]
    expected += [preprocessing.QuantileTransformer]
    assert [type(get_normalizer(name)) for name in NAMES] == expected
    assert get_normalizer("query-rank") is not get_normalizer("query-rank")
    assert [isinstance(get_normalizer(name), QueryNormalizer) for name in NAMES] == [True] * 4 + [False] * 4


def test_transformers_pass_and_unknown_names_are_answered_with_the_known_ones():
    own = QueryRank()
    assert get_normalizer(own) is own
    with pytest.raises(ValueError, match="normalize='query-max' is not known; choose one of 'query-minmax'"):
        get_normalizer("query-max")
    with pytest.raises(ValueError, match="normalize=None is not known"):
        get_normalizer(None)


def test_scikit_learn_is_loaded_by_this_module_alone():
    modules = "queries, trec, text_table, grouping; from plackett.data.tables import frames"
    loaded = "[name for name in ('sklearn', 'numba', 'pandas') if name in sys.modules]"
    code = f"import sys; from plackett.data import {modules}; print({loaded})"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_letor_files_are_already_scaled_by_min_max(shared_data):
    """The features of LETOR 4 were scaled within queries: scaling them again changes nothing that is not constant."""
    data = read_letor(shared_data / "letor4-mq2008" / "S1.txt.gz", dtype=np.float64)[:50]
    answer = QueryMinMax().fit_transform(data.X, qid=data.qid)
    for query, scaled in zip(data, np.split(answer, data.indptr[1:-1]), strict=True):
        varies = query.X.max(axis=0) > query.X.min(axis=0)
        np.testing.assert_allclose(scaled[:, varies], query.X[:, varies], atol=2e-6)
