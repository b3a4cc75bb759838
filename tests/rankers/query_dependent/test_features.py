"""Where query features come from: against literal loops, for dense and sparse X, and errors that say what to do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plackett.data.letor.read import read_letor
from plackett.data.queries import Queries
from plackett.rankers.query_dependent import features as query_features
from plackett.rankers.query_dependent.features import QueryFeatureSource, mean_features, query_level_columns
from plackett.rankers.query_dependent.weights import QueryWeights

FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
}
NAMES = ["bm25", "terms", "pagerank", "zero", "age", "three"]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def judged(n_queries=9, seed=0, form="float64"):
    """Columns 1 and 4 are constant within queries, 3 and 5 everywhere; values are eighths, exact in float32."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=n_queries)
    qid = np.repeat(np.arange(n_queries) * 10, sizes)
    X = rng.integers(-4, 5, size=(qid.size, 6)) / 8
    X[:, 1] = np.repeat(rng.integers(0, 3, size=n_queries), sizes)
    X[:, 4] = np.repeat(rng.integers(-9, 9, size=n_queries) / 4, sizes)
    X[:, 3], X[:, 5] = 0, 3
    return Queries(FORMS[form](X), rng.integers(3, size=qid.size), qid, feature_names=NAMES)


def slow_mean(queries, depth=None, base=None):
    """Places one by one: a place that several documents tie for is their mean."""
    means = []
    for q in range(queries.n_queries):
        rows = dense(queries.X)[queries.indptr[q] : queries.indptr[q + 1]].astype(float)
        if depth is None:
            means.append(sum(rows) / len(rows))
            continue
        places = []
        for value in sorted(rows[:, base], reverse=True):
            tied = [row for row in rows if row[base] == value]
            places.append(sum(tied) / len(tied))
        places = places[:depth]
        means.append(sum(places) / len(places))
    return np.array(means)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", [None, "auto", [1, 4], ["terms", "age"], np.array([1, 4])])
def test_constant_columns_become_query_features(form, setting, monkeypatch):
    queries = judged(form=form)
    monkeypatch.setattr(query_features, "DOCS_PER_BLOCK", 4)
    source = QueryFeatureSource()
    documents, features = source.fit(queries, setting)
    assert (source.kind, source.columns, source.names) == ("columns", [1, 4], ["terms", "age"])
    np.testing.assert_array_equal(features, dense(queries.X)[queries.indptr[:-1]][:, [1, 4]])
    assert features.dtype == np.float64
    assert sparse.issparse(documents.X) == sparse.issparse(queries.X)
    assert documents.X.dtype == queries.X.dtype
    np.testing.assert_array_equal(dense(documents.X), dense(queries.X)[:, [0, 2, 3, 5]])
    assert documents.feature_names == ["bm25", "pagerank", "zero", "three"]
    np.testing.assert_array_equal(documents.qid, queries.qid)
    np.testing.assert_array_equal(documents.y, queries.y)
    others = judged(seed=8, form=form)
    again, theirs = source.transform(others)
    np.testing.assert_array_equal(theirs, dense(others.X)[others.indptr[:-1]][:, [1, 4]])
    np.testing.assert_array_equal(dense(again.X), dense(others.X)[:, [0, 2, 3, 5]])


def test_columns_keep_the_order_in_which_they_were_named():
    queries = judged()
    _, features = QueryFeatureSource().fit(queries, ["age", "terms"])
    np.testing.assert_array_equal(features, queries.X[queries.indptr[:-1]][:, [4, 1]])


def test_documents_stay_in_c_order_and_remember_their_rows():
    given = judged()
    order = np.random.default_rng(1).permutation(given.n_docs)
    moved = Queries(given.X[order], given.y[order], given.qid[order]).grouped
    documents, features = QueryFeatureSource().fit(moved, [1])
    assert documents.X.flags.c_contiguous
    np.testing.assert_array_equal(documents.in_row_order(documents.X), given.X[order][:, [0, 2, 3, 4, 5]])
    first = dict(zip(given.qid, given.X[:, 1], strict=True))
    assert features[:, 0].tolist() == [first[query] for query in moved.ids]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    st.integers(0, 10_000),
    st.sampled_from(sorted(FORMS)),
)
def test_constant_columns_are_those_that_a_loop_finds(sizes, seed, form):
    rng = np.random.default_rng(seed)
    n_docs, n_queries = sum(sizes), len(sizes)
    X = np.repeat(rng.integers(-1, 2, size=(n_queries, 5)), sizes, axis=0).astype(float)
    changed = rng.random(X.shape) < 0.1
    X[changed] += 1
    queries = Queries(FORMS[form](X), qid=np.repeat(np.arange(n_queries), sizes))
    expected = []
    for column in range(5):
        within = [{X[row, column] for row in range(n_docs) if queries.qid[row] == query} for query in range(n_queries)]
        if all(len(values) == 1 for values in within) and len(set.union(*within)) > 1:
            expected.append(column)
    if len(expected) == 5 or max(sizes) == 1:
        expected = []
    assert query_level_columns(queries) == expected


def test_explicit_zeros_and_parts_of_values_are_no_changes():
    X = sparse.csr_array(([0.0, 1.0, 2.0, 3.0, 3.0, 1.0], [0, 1, 1, 1, 1, 0], [0, 1, 3, 4, 6]), (4, 2))
    queries = Queries.from_groups(X, None, np.arange(2), np.array([0, 2, 4]))
    assert query_level_columns(queries) == []  # column 0: 0, 0 | 0, 1; column 1: 0, 3 | 3, 3
    X = sparse.csr_array(([1.0, 2.0, 3.0, 0.0, 5.0], [1, 1, 1, 0, 0], [0, 2, 3, 4, 5]), (4, 2))
    queries = Queries.from_groups(X, None, np.arange(2), np.array([0, 2, 4]))
    assert query_level_columns(queries) == [1]  # 3, 3 | 0, 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [None, 1, 2, 10])
def test_means_match_a_loop_and_leave_the_documents_whole(form, depth, monkeypatch):
    monkeypatch.setattr(query_features, "DOCS_PER_BLOCK", 4)
    queries, others = judged(form=form), judged(seed=2, form=form)
    source = QueryFeatureSource()
    documents, features = source.fit(queries, "mean", depth=depth, base_column=None if depth is None else "bm25")
    assert documents is queries
    assert source.kind == "mean"
    np.testing.assert_allclose(features, slow_mean(queries, depth, 0), rtol=1e-12, atol=1e-15)
    documents, features = source.transform(others)
    assert documents is others
    np.testing.assert_allclose(features, slow_mean(others, depth, 0), rtol=1e-12, atol=1e-15)


def test_tied_documents_share_the_last_places():
    queries = Queries([[3.0, 1.0], [2.0, 10.0], [2.0, 20.0], [0.0, 99.0]])
    _, features = QueryFeatureSource().fit(queries, "mean", depth=2, base_column=0)
    assert features.tolist() == [[2.5, (1 + 15) / 2]]


def test_none_falls_back_to_means_where_no_column_tells_queries_apart():
    queries = judged()
    bare = Queries(queries.X[:, [0, 2, 3, 5]], queries.y, queries.qid)
    source = QueryFeatureSource()
    source.fit(bare)
    assert source.kind == "mean"
    single = Queries(np.arange(6.0).reshape(3, 2), qid=[0, 1, 2])  # every column is constant in lists of one
    source.fit(single)
    assert source.kind == "mean"
    with pytest.raises(ValueError, match=r'X has none, or only such columns. Try query_features="mean"'):
        source.fit(bare, "auto")


def test_none_of_them():
    queries = judged()
    source = QueryFeatureSource()
    assert source.fit(queries, "none") == (queries, None)
    assert source.transform(queries) == (queries, None)
    assert source.kind == "none"


@pytest.mark.parametrize("is_setting", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda rows: rows])
def test_a_matrix_has_one_row_per_query(is_setting, form):
    queries, rows = judged(n_queries=3), [[1.0, 0.0], [2.0, 5.0], [0.0, 7.0]]
    source = QueryFeatureSource()
    documents, features = source.fit(queries, form(rows)) if is_setting else source.fit(queries, None, form(rows))
    assert source.kind == "matrix"
    assert documents is queries
    assert features.tolist() == rows
    assert source.transform(queries[:1], [[4, 5]])[1].tolist() == [[4.0, 5.0]]


@pytest.mark.parametrize("setting", ["mean", "auto", "matrix"])
def test_scaling_standardises_over_the_training_queries(setting):
    queries, others = judged(), judged(seed=3)
    rng = np.random.default_rng(4)
    options = {"matrix": rng.normal(size=(9, 3)) + 1e6} if setting == "matrix" else {"setting": setting}
    new = {"matrix": rng.normal(size=(9, 3)) + 1e6} if setting == "matrix" else {}
    _, raw = QueryFeatureSource().fit(queries, **options)
    source = QueryFeatureSource()
    _, features = source.fit(queries, scale=True, **options)
    plain = QueryFeatureSource()
    plain.fit(queries, **options)
    _, raw_new = plain.transform(others, **new)
    _, features_new = source.transform(others, **new)
    for column in range(raw.shape[1]):
        if np.ptp(raw[:, column]) < 1e-12:
            assert (features[:, column] == 0).all()
            assert (features_new[:, column] == 0).all()
        else:
            mean, deviation = raw[:, column].mean(), raw[:, column].std()
            np.testing.assert_allclose(features[:, column], (raw[:, column] - mean) / deviation, atol=1e-9)
            np.testing.assert_allclose(features_new[:, column], (raw_new[:, column] - mean) / deviation, atol=1e-9)


def test_means_of_a_constant_that_differ_by_rounding_stay_zero():
    sizes = np.arange(1, 30)
    X = np.column_stack([np.full(sizes.sum(), 0.1), np.random.default_rng(5).normal(size=sizes.sum())])
    queries = Queries(X, qid=np.repeat(sizes, sizes))
    _, raw = QueryFeatureSource().fit(queries, "mean")
    assert np.ptp(raw[:, 0]) > 0
    _, features = QueryFeatureSource().fit(queries, "mean", scale=True)
    assert (features[:, 0] == 0).all()


def test_kernel_columns_pass_through_unscaled():
    pandas = pytest.importorskip("pandas")
    queries = judged(n_queries=3)
    frame = pandas.DataFrame({"kind": ["a", "b", "a"], "terms": [1, 2, 6], "taste": [(1, 2), (2, 1), (1, 2)]})
    kernels = {"kind": "overlap", "taste": "mallows"}
    source = QueryFeatureSource()
    _, features = source.fit(queries, frame, scale=True, kernels=kernels)
    assert source.kernels_of(kernels) == {0: "overlap", 2: "mallows"}
    assert features[:, 0].tolist() == ["a", "b", "a"]
    np.testing.assert_allclose(features[:, 1].astype(float), (np.array([1, 2, 6]) - 3) / np.std([1, 2, 6]))
    weights = QueryWeights("gaussian", kernels=source.kernels_of(kernels)).fit(features)
    assert weights.of_observed([0]).queries.tolist() == [0, 2]
    with pytest.raises(ValueError, match="in fit they were"):
        source.transform(queries, frame.rename(columns={"terms": "words"}))


def test_kernels_of_columns_go_by_their_place_in_x():
    queries = judged()
    source = QueryFeatureSource()
    _, raw = QueryFeatureSource().fit(queries, ["age", "terms"])
    for kernels in ({1: "overlap"}, {"terms": "overlap"}):
        _, features = source.fit(queries, ["age", "terms"], scale=True, kernels=kernels)
        assert source.kernels_of(kernels) == {1: "overlap"}
        np.testing.assert_array_equal(features[:, 1], raw[:, 1])
        assert features[:, 0].mean() == pytest.approx(0)
    with pytest.raises(ValueError, match="column 2, which is not a query feature; they are columns 4, 1"):
        source.kernels_of({2: "overlap"})
    with pytest.raises(ValueError, match="'zero', which is not a query feature; they have 'age', 'terms'"):
        source.kernels_of({"zero": "overlap"})
    with pytest.raises(ValueError, match="kernels has column 'terms' twice, by number and by name"):
        source.kernels_of({1: "overlap", "terms": "overlap"})


@pytest.mark.parametrize(
    ("setting", "options", "message"),
    [
        ("first", {}, 'query_features=\'first\'; it must be "auto", "mean", a list of columns'),
        (3, {}, r"query_features=3; .* For one column: \[3\]"),
        ([], {}, "empty list"),
        ([6], {}, "has column 6, but X has 6 columns"),
        (["title"], {}, "names column 'title', which X does not have"),
        ([1, "terms"], {}, "column 'terms' twice"),
        ([True], {}, "has True; columns are given by number or name"),
        (list(range(6)), {}, "at least one must be left for the documents"),
        ([1, 0], {}, r'column 0 \("bm25"\) is a query feature, but it differs between the documents of query 0'),
        ("mean", {"depth": 2}, "depth=2 needs base_column"),
        ("mean", {"depth": 0, "base_column": 1}, "depth=0"),
        ("mean", {"depth": 2, "base_column": "title"}, "base_column names column 'title'"),
        ("mean", {"matrix": [[1.0]] * 9}, "Pass one of them"),
        ([[1.0]] * 9, {"matrix": [[1.0]] * 9}, "two matrices"),
        ([[1.0]] * 4, {}, "have 4 rows, but there are 9 queries"),
        ([[1.0, 2.0]] * 8 + [[np.nan, 1.0]], {}, r"a NaN for query 80 \(row 8\) in column 0"),
        ([[1.0, "x"]] * 9, {}, "not numbers"),
    ],
)
def test_errors_say_what_came_and_what_to_do(setting, options, message):
    with pytest.raises(ValueError, match=message):
        QueryFeatureSource().fit(judged(), setting, **options)


def test_the_first_query_in_which_a_column_changes_is_named():
    queries = Queries(np.array([[1, 1], [1, 2], [3, 5], [4, 5]]), qid=["a", "a", "b", "b"])
    with pytest.raises(ValueError, match=r"column 0 is a query feature, but it .* of query 'b'"):
        QueryFeatureSource().fit(queries, [0])
    source = QueryFeatureSource()
    source.fit(queries[:1], [0])
    with pytest.raises(ValueError, match=r"column 0 is a query feature, but it .* of query 'b'"):
        source.transform(queries)


def test_names_need_names():
    with pytest.raises(ValueError, match="names column 'bm25', but the columns of X have no names"):
        QueryFeatureSource().fit(Queries([[1.0, 2.0]]), ["bm25"])


def test_transform_wants_what_fit_had():
    queries = judged()
    by_matrix, by_columns = QueryFeatureSource(), QueryFeatureSource()
    by_matrix.fit(queries, np.ones((9, 2)))
    by_columns.fit(queries)
    with pytest.raises(
        ValueError, match=r"new queries need theirs too: pass query_features with one row per query \(9\)"
    ):
        by_matrix.transform(queries)
    with pytest.raises(ValueError, match="have 3 columns, but had 2 in fit"):
        by_matrix.transform(queries, np.ones((9, 3)))
    with pytest.raises(ValueError, match=r"the first of each query, not one per document"):
        by_matrix.transform(queries, np.ones((queries.n_docs, 2)))
    with pytest.raises(ValueError, match=r"fit took columns of X\. Leave it out"):
        by_columns.transform(queries, np.ones((9, 2)))
    with pytest.raises(ValueError, match="X has 2 columns, but had 6 in fit"):
        by_columns.transform(Queries(queries.X[:, :2], qid=queries.qid))


def test_a_source_is_what_its_parameters_say():
    source = QueryFeatureSource()
    source.fit(judged(), scale=True)
    again = QueryFeatureSource(**source.get_params())
    assert again == source
    others = judged(seed=6)
    np.testing.assert_array_equal(again.transform(others)[1], source.transform(others)[1])


def test_the_idf_columns_of_mslr_are_its_query_features(shared_data):
    path = shared_data / "mslr-sample" / "msn1.fold1.train.5k.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    source = QueryFeatureSource()
    documents, _ = source.fit(read_letor(path))
    assert source.columns == [15, 16, 17, 18, 19]  # its features 16 to 20: IDF of body, anchor, title, URL, all
    assert documents.n_features == 131


def test_mean_features_of_a_query_are_the_same_for_any_order_of_its_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5))
    X[7] = X[11]
    qid = np.repeat([0, 1, 2], 20)
    expected = mean_features(Queries(X, qid=qid), np.ones(60))
    np.testing.assert_allclose(expected, X.reshape(3, 20, 5).mean(axis=1), rtol=0, atol=1e-14)
    for seed in range(5):
        order = np.lexsort((np.random.default_rng(seed).random(60), qid))
        np.testing.assert_array_equal(mean_features(Queries(X[order], qid=qid), np.ones(60)), expected)


def test_query_features_that_were_given_are_scaled_however_far_from_zero_they_are():
    queries = Queries(np.ones((24, 1)), np.arange(24) % 3, np.repeat(np.arange(12), 2))
    given = np.column_stack([2.0**45 + np.arange(12.0), 1e-200 * np.arange(12.0), np.ones(12)])
    _, features = QueryFeatureSource().fit(queries, None, given, scale=True)
    np.testing.assert_allclose(features.std(axis=0), [1.0, 1.0, 0.0])
