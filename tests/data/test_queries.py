"""Queries: grouped once, sliced without copies, described in numbers that a hand can count."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from plackett.data.queries import Queries, QueryLists
from plackett.data.text_column import TextColumn

X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 50.0], [6.0, 60.0]])
Y = [0, 2, 1, 0, 1, 2]
QID = ["a", "a", "b", "b", "b", "c"]
DOCID = ["d1", "d2", "d3", "d4", "d5", "d6"]


@pytest.fixture(params=["dense", "float32", "csr_matrix", "csr_array"])
def features(request):
    return {
        "dense": X,
        "float32": X.astype(np.float32),
        "csr_matrix": sparse.csr_matrix(X),
        "csr_array": sparse.csr_array(X),
    }[request.param]


@pytest.fixture
def data(features):
    return Queries(features, Y, QID, docid=DOCID, feature_names=["one", "ten"])


def firsts(queries):
    """The first column, which names the rows 1 to 6."""
    dense = queries.X.toarray() if sparse.issparse(queries.X) else queries.X
    return dense[:, 0].tolist()


def test_the_parts_are_what_was_given(data):
    assert (len(data), data.n_queries, data.n_docs, data.n_features) == (3, 3, 6, 2)
    assert data.ids.tolist() == ["a", "b", "c"]
    assert data.indptr.tolist() == [0, 2, 5, 6]
    assert data.qid.tolist() == QID
    assert data.docid.tolist() == DOCID
    assert data.y.tolist() == Y
    assert data.feature_names == ["one", "ten"]
    assert data.row_order is None


def test_grouped_rows_are_never_copied():
    for rows in (X, X.astype(np.float32), np.asfortranarray(X)):
        assert np.shares_memory(Queries(rows, Y, QID).X, rows)
    matrix = sparse.csr_matrix(X)
    assert np.shares_memory(Queries(matrix, Y, QID).X.data, matrix.data)


def test_a_memory_mapped_file_stays_mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(Queries(mapped, Y, QID)[1:].X, mapped)


def _read_only(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


def test_read_only_labels_and_bounds_are_copied_but_rows_stay_as_they_are():
    X, y, indptr = _read_only([[1.0], [2.0], [3.0]]), _read_only([2.0, 1.0, 0.0]), _read_only([0, 1, 3])
    given = Queries(X, y, [1, 2, 2])
    made = Queries.from_groups(X, y, np.array([1, 2]), indptr)
    sent = Queries.__new__(Queries)
    sent.__setstate__(vars(given) | {"X": X, "y": y, "_indptr": indptr})  # as joblib sends what is large
    for queries in (given, made, sent):
        for own, values in ((queries.y, y), (queries.indptr, indptr)):
            assert own.flags.writeable
            assert own.tolist() == values.tolist()
        assert queries.X is X
        assert not queries.X.flags.writeable  # whoever writes to it by mistake is told


def test_float32_stays_and_other_numbers_become_float64():
    assert Queries(X.astype(np.float32), qid=QID[::-1]).X.dtype == np.float32
    for dtype in (np.float64, np.float16, np.int32, np.uint8, bool, object):
        assert Queries(X.astype(dtype)).X.dtype == np.float64
    assert Queries(sparse.csr_matrix(X.astype(np.int64))).X.dtype == np.float64


def test_scattered_rows_keep_their_order_and_are_grouped_on_demand(features):
    qid = ["b", "a", "b", "a", "c", "b"]
    data = Queries(features, Y, qid, docid=DOCID)
    assert firsts(data) == [1, 2, 3, 4, 5, 6]
    assert (data.y.tolist(), data.qid.tolist(), data.docid.tolist()) == (Y, qid, DOCID)
    assert (data.n_queries, data.n_docs, data.n_features) == (3, 6, 2)
    grouped = data.grouped
    assert grouped is data.grouped is grouped.grouped
    assert firsts(grouped) == [1, 3, 6, 2, 4, 5]
    assert grouped.y.tolist() == [0, 1, 2, 2, 0, 1]
    assert grouped.docid.tolist() == ["d1", "d3", "d6", "d2", "d4", "d5"]
    assert grouped.indptr.tolist() == [0, 3, 5, 6]
    assert data.row_order.tolist() == grouped.row_order.tolist() == [0, 2, 5, 1, 3, 4]
    assert data.query_of_row.tolist() == [0, 1, 0, 1, 2, 0]
    assert [data.rows_of(place).tolist() for place in range(3)] == [[0, 2, 5], [1, 3], [4]]


def test_grouped_queries_are_their_own_groups(data):
    assert data.grouped is data
    assert "_regrouped" not in vars(data)  # which would be a reference cycle


def test_bounds_of_mixed_rows_are_refused():
    mixed = Queries(X, Y, ["a", "b"] * 3)
    for use in (lambda: mixed.indptr, lambda: mixed.lists):
        with pytest.raises(ValueError, match=r"rows of different queries are mixed here. Use queries.grouped"):
            use()


def test_mixed_rows_are_chosen_by_query_and_come_grouped():
    mixed = Queries(X, Y, ["b", "a", "b", "a", "c", "b"], docid=DOCID)
    assert [firsts(one) for one in mixed] == [[1, 3, 6], [2, 4], [5]]
    assert firsts(mixed[[2, 0]]) == [5, 1, 3, 6]
    assert mixed.subset(["a"]).docid.tolist() == ["d2", "d4"]
    assert mixed[:2].indptr.tolist() == [0, 3, 5]


def test_concat_of_mixed_rows_keeps_the_order_of_every_part():
    mixed = Queries(X, Y, ["b", "a", "b", "a", "c", "b"], docid=DOCID, comments=list("uvwxyz"))
    other = Queries(X[:2] + 6, Y[:2], ["d", "d"], docid=["d7", "d8"], comments=["1", "2"])
    whole = Queries.concat([other, mixed])
    assert firsts(whole) == [7, 8, 1, 2, 3, 4, 5, 6]
    assert whole.qid.tolist() == ["d", "d", "b", "a", "b", "a", "c", "b"]
    assert whole.docid.tolist() == ["d7", "d8", *DOCID]
    assert list(whole.comments) == ["1", "2", *"uvwxyz"]
    assert firsts(whole.grouped) == [7, 8, 1, 3, 6, 2, 4, 5]
    assert whole.grouped.indptr.tolist() == [0, 2, 5, 7, 8]


def test_sparse_input_of_any_format_becomes_csr():
    for convert in (sparse.coo_array, sparse.csc_matrix, sparse.lil_matrix):
        data = Queries(convert(X), qid=["a", "b", "a", "b", "a", "b"])
        assert data.X.format == "csr"
        assert firsts(data.grouped) == [1, 3, 5, 2, 4, 6]


def test_sparse_values_stored_in_parts_are_added_up_and_the_input_stays_as_it_was():
    parts = sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    data = Queries(parts)
    assert data.X.nnz == 2
    assert data.X.toarray().tolist() == [[3.0, 0.0], [0.0, 5.0]]
    assert parts.data.tolist() == [1.0, 2.0, 5.0]


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_data_frame_gives_its_columns_and_their_names(frame):
    data = Queries(frame({"one": X[:, 0], "ten": X[:, 1]}), Y, QID)
    assert data.feature_names == ["one", "ten"]
    assert data.X.tolist() == X.tolist()


def test_given_names_go_before_those_of_a_frame():
    assert Queries(pd.DataFrame(X, columns=["p", "q"]), feature_names=["r", "s"]).feature_names == ["r", "s"]


# choosing queries


@pytest.mark.parametrize(
    ("which", "rows"),
    [
        (0, [1, 2]),
        (-1, [6]),
        (np.int64(1), [3, 4, 5]),
        (slice(1, 3), [3, 4, 5, 6]),
        (slice(None, None, 2), [1, 2, 6]),
        (slice(None, None, -1), [6, 3, 4, 5, 1, 2]),
        (slice(2, 1), []),
        ([2, 0], [6, 1, 2]),
        ([-1], [6]),
        ([], []),
        ([True, False, True], [1, 2, 6]),
        (np.array([False, True, False]), [3, 4, 5]),
        (np.array([1, 0], dtype=np.uint8), [3, 4, 5, 1, 2]),
    ],
    ids=str,
)
def test_queries_are_chosen_by_place_slice_list_and_mask(data, which, rows):
    chosen = data[which]
    assert firsts(chosen) == rows
    assert chosen.y.tolist() == [Y[row - 1] for row in rows]
    assert chosen.docid.tolist() == [f"d{row}" for row in rows]
    assert chosen.qid.tolist() == [QID[row - 1] for row in rows]
    assert chosen.feature_names == ["one", "ten"]
    assert chosen.X.dtype == data.X.dtype


def test_a_slice_shares_memory_with_the_whole(features):
    whole, part = Queries(features, Y, QID), Queries(features, Y, QID)[1:]
    dense = not sparse.issparse(features)
    assert np.shares_memory(part.X if dense else part.X.data, features if dense else features.data)
    assert np.shares_memory(whole[0].y, whole.y)


def test_iteration_gives_one_query_at_a_time(data):
    assert [firsts(query) for query in data] == [[1, 2], [3, 4, 5], [6]]


def test_subset_takes_ids_in_the_order_given(data):
    assert firsts(data.subset(["c", "a"])) == [6, 1, 2]
    assert data.subset([]).n_queries == 0
    assert "b" in data
    assert "z" not in data


def test_numpy_numbers_find_int_ids_and_tuples_are_found_whole():
    assert firsts(Queries(X, qid=[1, 1, 2, 2, 2, 3]).subset(np.array([3, 1]))) == [6, 1, 2]
    pairs = Queries(X, qid=[(1, 1), (1, 1), (1, 2), (1, 2), (1, 2), (2, 1)])
    assert firsts(pairs.subset([(2, 1)])) == [6]
    assert (1, 2) in pairs


@pytest.mark.parametrize(
    ("which", "error", "message"),
    [
        (3, IndexError, "query 3 is out of range: there are 3 queries"),
        (-4, IndexError, "query -4 is out of range"),
        ([0, 7], IndexError, "query 7 is out of range"),
        ([-4], IndexError, "query -4 is out of range"),
        ([True, False], IndexError, r"the mask has shape \(2,\), but there are 3 queries"),
        ("a", TypeError, "By id: subset"),
        (1.5, TypeError, "By id: subset"),
        ([0, 0], ValueError, "a query was selected twice"),
    ],
    ids=str,
)
def test_a_wrong_choice_says_what_is_wrong(data, which, error, message):
    with pytest.raises(error, match=message):
        data[which]


def test_unknown_ids_are_named_and_counted(data):
    with pytest.raises(KeyError, match=r"no query has the id 'z' \(2 of 3 ids are unknown\)"):
        data.subset(["a", "z", "y"])
    with pytest.raises(TypeError, match=r"subset\(\['ab'\]\)"):
        data.subset("ab")


# concatenation


def test_concat_undoes_the_cutting(data):
    again = Queries.concat([data[:1], data[1:]])
    assert firsts(again) == firsts(data)
    assert again.indptr.tolist() == data.indptr.tolist()
    assert (again.qid.tolist(), again.docid.tolist(), again.y.tolist()) == (QID, DOCID, Y)
    assert again.X.dtype == data.X.dtype


def test_concat_keeps_ids_of_different_kinds_apart():
    ints, texts = Queries(X, qid=[1] * 6), Queries(X, qid=["1"] * 6)
    pairs = Queries(X, qid=[(1, 2)] * 3 + [(1, 3)] * 3)
    assert Queries.concat([ints, texts, pairs]).ids.tolist() == [1, "1", (1, 2), (1, 3)]


def test_concat_mixes_dense_and_sparse_into_csr():
    mixed = Queries.concat([Queries(X, qid=[1] * 6), Queries(sparse.csr_matrix(X), qid=[2] * 6)])
    assert mixed.X.format == "csr"
    assert firsts(mixed) == [1, 2, 3, 4, 5, 6] * 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Queries(X, Y, QID), "query 'a' occurs in more than one part"),
        (Queries(X[:, :1], Y, ["z"] * 6), "part 1 has 1 features but part 0 has 2"),
        (Queries(X, None, ["z"] * 6), "either all parts or none must have y; parts 0 and 1 differ"),
        (Queries(X, Y, ["z"] * 6, docid=DOCID), "either all parts or none must have docid"),
        (Queries(X, Y, ["z"] * 6, feature_names=["p", "q"]), "part 1 names its features differently"),
    ],
)
def test_parts_that_do_not_fit_are_refused(other, message):
    with pytest.raises(ValueError, match=message):
        Queries.concat([Queries(X, Y, QID), other])


def test_nothing_cannot_be_concatenated():
    with pytest.raises(ValueError, match="needs at least one part"):
        Queries.concat([])


# what is refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": [1.0, 2.0]}, ValueError, r"X has shape \(2,\).*X\.reshape\(-1, 1\)"),
        ({"X": np.zeros((2, 2, 2))}, ValueError, r"X has shape \(2, 2, 2\)"),
        ({"X": [["a"]]}, ValueError, "column 0 of X has values that are not numbers"),
        ({"X": np.array([["a"]], dtype=object)}, ValueError, "X has values that are not numbers"),
        ({"X": X, "y": [1, 2]}, ValueError, "y has 2 labels but X has 6 rows"),
        ({"X": X, "y": [0, 1, 2, 3, 4, np.inf]}, ValueError, "infinite label in row 5"),
        ({"X": X, "y": ["a"] * 6}, ValueError, "y has text such as 'a'"),
        ({"X": X, "qid": [1, 2]}, ValueError, "qid has 2 ids but there are 6 rows"),
        ({"X": X, "qid": [1, 2, 3, None, 4, 5]}, ValueError, "qid is None in row 3"),
        ({"X": X, "docid": ["d"]}, ValueError, r"docid has shape \(1,\) but X has 6 rows"),
        ({"X": X, "comments": ["d"]}, ValueError, "comments has 1 texts but X has 6 rows"),
        ({"X": X, "feature_names": ["one"]}, ValueError, "feature_names has 1 names but X has 2 columns"),
        ({"X": X, "feature_names": ["one", "one"]}, ValueError, "feature_names has 'one' twice"),
        ({"X": X, "feature_names": "ab"}, TypeError, "feature_names is a single string"),
    ],
    ids=lambda value: None if not isinstance(value, str) else value,
)
def test_wrong_input_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        Queries(**arguments)


def test_labels_are_asked_for_in_vain_when_there_are_none():
    with pytest.raises(ValueError, match="these queries have no labels"):
        Queries(X).labels  # noqa: B018


def test_a_missing_label_means_not_judged():
    assert np.isnan(Queries(X, [0, 1, None, 2, np.nan, 1]).y).tolist() == [False, False, True, False, True, False]


# names of documents, lists, texts


def test_document_names_come_from_comments():
    notes = ["docid = GX1 inc = 1", " docid=GX2", " GX3 ", "", "a b", "x"]
    data = Queries(X, Y, ["b", "a", "b", "a", "a", "a"], comments=notes)
    assert data.docid.tolist() == ["GX1", "GX2", "GX3", "", "a b", "x"]
    assert list(data.comments) == notes
    assert data.grouped.docid.tolist() == ["GX1", "GX3", "GX2", "", "a b", "x"]
    assert list(data[1:].comments) == [notes[row] for row in (1, 3, 4, 5)]


def test_comments_are_cut_and_joined_with_their_rows():
    data = Queries(X, Y, QID, comments=TextColumn.from_strings(["é", "", "c", "dd", "e", "f"]))
    assert list(Queries.concat([data[2], data[0]]).comments) == ["f", "é", ""]


def test_lists_sort_each_query_by_falling_label_once():
    lists = Queries(X, Y, QID).lists
    assert isinstance(lists, QueryLists)
    assert lists.order.tolist() == [1, 0, 2, 4, 3, 5]
    assert lists.order is lists.order
    assert (lists.n_queries, lists.n_docs) == (3, 6)


def test_repr_counts_in_words():
    assert repr(Queries(X, Y, QID)) == "Queries(3 queries, 6 documents, 2 features, labels 0..2)"
    assert repr(Queries(X[:1, :1])) == "Queries(1 query, 1 document, 1 feature, no labels)"


def test_queries_survive_pickling(data):
    mixed = Queries(data.X, Y, ["a", "b"] * 3)
    assert mixed.grouped.n_docs == 6
    for queries in (data, mixed, mixed.grouped):
        again = pickle.loads(pickle.dumps(queries))
        assert firsts(again) == firsts(queries)
        assert again.ids.tolist() == queries.ids.tolist()
        assert firsts(again.grouped) == firsts(queries.grouped)
    assert "_regrouped" not in vars(pickle.loads(pickle.dumps(mixed)))  # made again there, not sent twice


# the way back to the caller's order


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20))
def test_in_row_order_gives_every_row_its_own_value_back(ids):
    rows = np.arange(len(ids), dtype=float).reshape(-1, 1)
    data = Queries(rows, qid=ids)
    grouped = data.grouped
    assert data.X.tolist() == rows.tolist()
    assert data.qid.tolist() == ids
    assert data.in_row_order(grouped.X[:, 0]).tolist() == rows[:, 0].tolist()
    assert grouped.in_row_order(grouped.X).tolist() == rows.tolist()
    assert grouped.in_row_order(grouped.qid).tolist() == ids
    assert data.in_groups(data.qid).tolist() == grouped.qid.tolist()


@given(st.permutations(range(6)))
def test_shuffling_rows_changes_only_the_order_of_the_answer(order):
    shuffled = Queries(X[order], np.array(Y)[order], np.array(QID)[order])
    for key in "abc":
        rows = shuffled.subset([key])
        assert sorted(zip(rows.X[:, 0], rows.y, strict=True)) == sorted(
            (X[row, 0], Y[row]) for row in range(6) if QID[row] == key
        )
    assert shuffled.y.tolist() == [Y[row] for row in order]
    assert shuffled.in_row_order(shuffled.grouped.y).tolist() == [Y[row] for row in order]


def test_in_row_order_refuses_a_wrong_number_of_values():
    for qid in (QID, QID[::-1], ["a", "b"] * 3):
        with pytest.raises(ValueError, match=r"values has shape \(2,\) but there are 6 rows"):
            Queries(X, qid=qid).in_row_order([1, 2])


# descriptions

# columns: varies, constant, equal to column 0, constant within queries, mostly zero
FACTS = np.array(
    [
        [1.0, 7.0, 1.0, 1.0, 0.0],
        [2.0, 7.0, 2.0, 1.0, 0.0],
        [2.0, 7.0, 2.0, 1.0, 0.0],
        [3.0, 7.0, 3.0, 2.0, 0.0],
        [4.0, 7.0, 4.0, 2.0, 5.0],
        [5.0, 7.0, 5.0, 3.0, 0.0],
    ]
)


@pytest.mark.parametrize("convert", [np.array, sparse.csr_matrix], ids=["dense", "sparse"])
def test_describe_counts_what_a_hand_counts(convert):
    facts = Queries(convert(FACTS), [0, 2, 2, 0, 0, 1], list("aaabbc"), docid=list("ppqrsr")).describe()
    assert (facts.n_queries, facts.n_docs, facts.n_features) == (3, 6, 5)
    assert facts.density == 25 / 30
    assert facts.is_sparse == (convert is sparse.csr_matrix)
    assert facts.label_histogram == {0.0: 3, 1.0: 1, 2.0: 2}
    assert (facts.list_length_min, facts.list_length_median, facts.list_length_mean, facts.list_length_max) == (
        1,
        2,
        2,
        3,
    )
    assert facts.n_single_document == 1
    assert facts.n_without_relevant == 1  # b
    assert facts.n_single_level == 2  # b and c
    assert facts.constant_columns == [1]
    assert facts.query_level_columns == [3]
    assert facts.duplicate_columns == [(0, 2)]
    assert facts.n_duplicate_rows == 1  # the third repeats the second
    assert facts.n_duplicate_docids == 1  # p
    assert (facts.n_nan, facts.n_infinite, facts.n_unjudged) == (0, 0, 0)


def test_describe_takes_its_level_of_relevance_from_the_caller():
    facts = Queries(FACTS, [0, 2, 2, 0, 0, 1], list("aaabbc")).describe(relevant_from=2)
    assert facts.n_without_relevant == 2
    assert facts.n_duplicate_docids is None


def test_describe_counts_missing_and_infinite_values_without_warnings():
    facts = Queries([[np.nan, np.inf], [1.0, -np.inf], [1e308, 1e308]], [1, np.nan, np.nan]).describe()
    assert (facts.n_nan, facts.n_infinite, facts.n_unjudged) == (1, 2, 2)
    assert "1 NaN, 2 infinite" in str(facts)
    assert "not judged: 2" in str(facts)


def test_describe_of_nothing_is_all_zero():
    for rows in (np.zeros((0, 3)), sparse.csr_matrix((0, 3))):
        facts = Queries(rows, [], []).describe()
        assert (facts.n_queries, facts.n_docs, facts.list_length_max, facts.n_duplicate_rows) == (0, 0, 0, 0)
        assert facts.duplicate_columns == []


def test_describe_counts_repeated_names_without_any_feature():
    facts = Queries(np.zeros((3, 0)), qid=[1, 1, 2], docid=["a", "a", "a"]).describe()
    assert (facts.n_duplicate_docids, facts.n_duplicate_rows) == (1, 0)
    assert facts.label_histogram is None


def test_large_labels_do_not_melt_into_one_another():
    facts = Queries(X[:3], [1234567, 1234568, 0.1]).describe().to_dict()
    assert facts["label_histogram"] == {"0.1": 1, "1234567": 1, "1234568": 1}


def test_negative_zero_is_zero_to_describe():
    facts = Queries([[0.0, -0.0], [1.0, 1.0], [-0.0, 0.0]]).describe()
    assert facts.duplicate_columns == [(0, 1)]
    assert facts.n_duplicate_rows == 1


def test_describing_wide_sparse_data_needs_memory_for_its_values_only():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(3000, 2_000_000, density=5e-6, format="csr", dtype=np.float32, random_state=rng)  # 24 GB if dense
    facts = Queries(X, np.zeros(3000), np.repeat(np.arange(30), 100)).describe()
    assert facts.density == pytest.approx(5e-6, rel=0.01)
    assert len(facts.constant_columns) > 1_900_000


@pytest.mark.parametrize("seed", range(5))
def test_sparse_and_dense_data_are_described_alike(seed):
    from scipy import sparse

    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (60, 12)).astype(np.float64)
    X[:, 1], X[:, 2], X[:, 5] = 0.0, 7.0, X[:, 4]
    qid = np.repeat(np.arange(12), 5)
    X[:, 8], X[:, 9], X[3] = qid, qid % 2, X[2]
    labels = rng.integers(0, 3, 60)
    dense, stored = Queries(X, labels, qid).describe(), Queries(sparse.csr_matrix(X), labels, qid).describe()
    assert dense.constant_columns == stored.constant_columns == [1, 2]
    assert dense.query_level_columns == stored.query_level_columns == [8, 9]
    assert dense.duplicate_columns == stored.duplicate_columns == [(4, 5)]
    assert dense.n_duplicate_rows == stored.n_duplicate_rows >= 1


def test_data_of_foreign_byte_order_keep_their_precision():
    assert Queries(np.zeros((2, 1), dtype=">f4")).X.dtype == np.float32


def test_mixed_document_ids_can_be_described():
    data = Queries(np.zeros((3, 1)), [1, 0, 0], docid=np.array([7, "a", "a"], dtype=object))
    assert data.describe().n_duplicate_docids == 1


def test_what_is_no_number_in_a_frame_is_named():
    rows = {"a": pd.array([1, 2, None], dtype="Int64"), "b": pd.array([1.0, None, 2], dtype="Float32")}
    np.testing.assert_array_equal(Queries(pd.DataFrame(rows), [1, 0, 1]).X, [[1, 1], [2, np.nan], [np.nan, 2]])
    with pytest.raises(ValueError, match=r'column 1 \("name"\) of X has values that are not numbers: .*\'x\'\. Leave'):
        Queries(pd.DataFrame({"a": [1, 2], "name": ["x", 7]}), [1, 0])
    with pytest.raises(ValueError, match=r"column 0 of X has values that are not numbers"):
        Queries(np.array([["x", 1]], dtype=object), [1])
