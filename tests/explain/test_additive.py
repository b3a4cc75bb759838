"""Explanations: contributions sum to scores, comparisons to differences of scores, and tables can be read."""

from __future__ import annotations

import csv
import io
import json
import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from plackett.explain.additive import explain_additive, explain_linear

COEF = np.array([2.0, -1.0, 0.5, 0.0])
X = np.array(
    [
        [3.0, 1.0, 0.0, 9.0],
        [0.0, 5.0, 2.0, 1.0],
        [1.0, 1.0, 0.0, 2.0],
        [2.0, 4.0, 0.0, 3.0],
        [4.0, 3.0, 6.0, 1.0],
    ]
)
QID = ["a", "b", "a", "a", "b"]
NAMES = ["bm25", "length", "pagerank", "unused"]
DOCID = ["d1", "d2", "d3", "d4", "d5"]

FORMS = {
    "dense": np.asarray,
    "float32": lambda rows: np.asarray(rows, dtype=np.float32),
    "fortran": np.asfortranarray,
    "csr matrix": sparse.csr_matrix,
    "csc array": sparse.csc_array,
}


def explained(rows=None, form=np.asarray, **options):
    return explain_linear(COEF, form(X), QID, rows=rows, feature_names=NAMES, docid=DOCID, **options)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def by_loop(coef, X, qid):
    """Contributions straight from their definition."""
    out = np.zeros(X.shape)
    for i in range(X.shape[0]):
        peers = [k for k in range(X.shape[0]) if qid[k] == qid[i]]
        for j in range(X.shape[1]):
            out[i, j] = coef[j] * (X[i, j] - math.fsum(X[k, j] for k in peers) / len(peers))
    return out


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_contributions_are_coefficients_times_deviations_from_the_mean_of_the_list(form):
    found = explained(form=form)
    np.testing.assert_allclose(dense(found.contributions), by_loop(COEF, X, QID), atol=1e-14)
    # the list "a" has means 2 and 2 in the first two columns
    np.testing.assert_allclose(dense(found.contributions)[0], [2 * (3 - 2), -1 * (1 - 2), 0, 0])
    assert sparse.issparse(found.contributions) == sparse.issparse(form(X))
    if sparse.issparse(found.contributions):
        assert (found.contributions.data != 0).all()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("n_queries", [1, 7, 60])
def test_contributions_sum_to_the_score_minus_the_mean_score_of_the_list(form, n_queries):
    random = np.random.default_rng(n_queries)
    rows = (random.normal(size=(60, 12)) * (random.random((60, 12)) < 0.5)).astype(np.float32)
    coef, qid = random.normal(size=12), random.integers(n_queries, size=60)
    found = explain_linear(coef, form(rows), qid, intercept=3.5)
    scores = rows.astype(np.float64) @ coef + 3.5
    np.testing.assert_allclose(found.scores, scores)
    np.testing.assert_allclose(found.baseline, [scores[qid == q].mean() for q in qid])
    np.testing.assert_allclose(dense(found.contributions).sum(axis=1), found.scores - found.baseline, atol=1e-12)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_chosen_rows_are_explained_as_among_all(form):
    whole, some = explained(form=form), explained(rows=[4, 0], form=form)
    assert some.rows.tolist() == [4, 0]
    assert some.qid.tolist() == ["b", "a"]
    assert some.docid == ["d5", "d1"]
    np.testing.assert_allclose(dense(some.contributions), dense(whole.contributions)[[4, 0]])
    np.testing.assert_allclose(some.scores, whole.scores[[4, 0]])
    np.testing.assert_allclose(some.baseline, whole.baseline[[4, 0]])
    assert some.top(4) == whole.top(4)


def test_the_order_of_the_rows_does_not_matter():
    shuffled = np.random.default_rng(1).permutation(5)
    found = explain_linear(COEF, X[shuffled], [QID[row] for row in shuffled])
    np.testing.assert_allclose(found.contributions, explained().contributions[shuffled])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_feature_that_is_constant_in_a_list_adds_exactly_nothing(form):
    for n in range(2, 60):  # the mean of n times 0.1 is 0.1 for some n only
        rows = np.column_stack([np.full(n, 0.1), np.full(n, -1e17 / 3), np.arange(n)])
        found = explain_linear([1.0, 1.0, 1.0], form(rows))
        assert (dense(found.contributions)[:, :2] == 0).all()
        assert [part.feature for part in found.top(0)] == ["column 2"]


def test_one_document_alone_has_no_contributions():
    found = explain_linear(COEF, X[:1])
    assert found.top(0) == []
    assert "–" in str(found)


def test_the_top_features_come_by_size_and_those_without_effect_are_left_out():
    found = explained()
    # row 1 in list "b": the means are 2, 4, 4 and 1
    assert found.top(1) == [("bm25", 0.0, -4.0), ("length", 5.0, -1.0), ("pagerank", 2.0, -1.0)]
    assert found.top(1, n=1) == [("bm25", 0.0, -4.0)]
    assert found.top(1)[0].contribution == -4.0


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_comparison_adds_up_to_the_difference_of_the_scores(form):
    found = explained(form=form).why(0, 3)
    # 2 * (3 - 2) and -1 * (1 - 4)
    assert [part[:3] for part in found.differences] == [("length", 1.0, 4.0), ("bm25", 3.0, 2.0)]
    np.testing.assert_allclose([part.difference for part in found.differences], [3.0, 2.0])
    assert (found.score_a, found.score_b, found.total) == (5.0, 0.0, 5.0)


def test_comparisons_of_many_features_add_up_and_turn_round():
    random = np.random.default_rng(0)
    rows, coef = random.normal(size=(30, 500)), random.normal(size=500)
    found = explain_linear(coef, rows)
    for a, b in random.integers(30, size=(20, 2)):
        there, back = found.why(a, b), found.why(b, a)
        assert math.isclose(math.fsum(part.difference for part in there.differences), there.total, abs_tol=1e-12)
        assert there.total == -back.total
        sizes = [abs(part.difference) for part in there.differences]
        assert sizes == sorted(sizes, reverse=True)


def test_a_comparison_can_be_read_in_a_terminal():
    assert str(explained().why(0, 3)).splitlines() == [
        "row 0 (d1) scores 5, row 3 (d4) scores 0: row 0 (d1) leads by 5",
        "feature  row 0  row 3  difference",
        "length       1      4          +3",
        "bm25         3      2          +2",
        "total                          +5",
    ]
    assert "row 0 (d1) leads by 5" in str(explained().why(3, 0))
    assert "both score the same" in str(explained().why(0, 0))


def test_a_long_comparison_gathers_the_rest_in_one_line():
    found = explain_linear(np.ones(40), [np.arange(40.0), np.zeros(40)]).why(0, 1)
    lines = str(found).splitlines()
    assert len(lines) == 1 + 1 + 15 + 1 + 1
    assert lines[-2].split() == ["(24", "other", "features)", f"+{sum(range(25))}"]  # column 0 makes no difference
    assert len(found.to_text(n=None).splitlines()) == 1 + 1 + 39 + 1
    assert repr(found) == "PairExplanation(row 0 over row 1 by 780)"


def test_an_explanation_can_be_read_in_a_terminal():
    assert str(explained(rows=[0, 1])).splitlines() == [
        "row  query  document  score  mean of list  strongest features",
        "  0  a      d1            5             2  bm25 +2, length +1",
        "  1  b      d2           -4             2  bm25 -4, length -1, pagerank -1",
    ]
    long = explain_linear([1.0], np.arange(25.0)[:, None])
    assert str(long).splitlines()[-1] == "… and 5 more rows"
    assert "document" not in str(long)
    assert repr(long) == "Explanation(25 rows × 1 feature)"


def test_tables_leave_as_csv_with_all_digits():
    lines = list(csv.reader(io.StringIO(explained(rows=[0]).to_csv())))
    assert lines[0] == ["row", "qid", "docid", "score", "baseline", "feature", "value", "contribution"]
    assert lines[1] == ["0", "a", "d1", "5.0", "2.0", "bm25", "3.0", "2.0"]
    assert len(lines) == 3
    assert explained().why(0, 3).to_csv().splitlines() == [
        "feature,value_a,value_b,difference",
        "length,1.0,4.0,3.0",
        "bm25,3.0,2.0,2.0",
        "total,5.0,0.0,5.0",
    ]
    third = explain_linear([1 / 3], [[1.0], [0.0]]).why(0, 1).to_csv()
    assert float(third.splitlines()[-1].split(",")[-1]) == 1 / 3


def test_tables_leave_as_plain_values():
    found = explain_linear(COEF, X, np.array([7, 8, 7, 7, 8]), feature_names=NAMES, docid=np.array(DOCID))
    first = json.loads(json.dumps(found.to_dict()))["rows"][0]
    assert first == {
        "row": 0,
        "qid": 7,
        "docid": "d1",
        "score": 5.0,
        "baseline": 2.0,
        "contributions": [
            {"feature": "bm25", "value": 3.0, "contribution": 2.0},
            {"feature": "length", "value": 1.0, "contribution": 1.0},
        ],
    }
    comparison = json.loads(json.dumps(found.why(0, 3).to_dict()))
    assert comparison["a"] == {"row": 0, "docid": "d1", "score": 5.0}
    assert comparison["total"] == 5.0
    assert comparison["differences"][1] == {"feature": "bm25", "value_a": 3.0, "value_b": 2.0, "difference": 2.0}


def test_tables_leave_as_data_frames():
    pytest.importorskip("pandas")
    frame = explained().to_frame()
    assert list(frame.columns) == ["row", "qid", "docid", "score", "baseline", "feature", "value", "contribution"]
    sums = frame.groupby("row")["contribution"].sum()
    np.testing.assert_allclose(sums, (explained().scores - explained().baseline)[sums.index])
    comparison = explained().why(0, 3).to_frame()
    assert comparison["difference"].tolist() == [3.0, 2.0]
    assert comparison.attrs["total"] == 5.0


def test_rows_of_two_queries_are_not_compared():
    message = r"row 0 belongs to query 'a' and row 1 to query 'b'; only documents of the same query"
    with pytest.raises(ValueError, match=message):
        explained().why(0, np.int64(1))


def test_a_row_that_was_not_explained_is_named():
    with pytest.raises(ValueError, match=r"row 2 was not explained; there are 2 rows, from 0 to 4"):
        explained(rows=[4, 0]).top(2)
    with pytest.raises(ValueError, match=r"row -1 was not explained"):
        explained().why(0, -1)


def test_no_rows_are_explained_by_nothing():
    for form in (np.asarray, sparse.csr_matrix):
        found = explained(rows=[], form=form)
        assert len(found) == 0
        assert found.contributions.shape == (0, 4)
        assert found.to_dict() == {"rows": []}
        assert str(found).startswith("row  query")


WRONG = {
    "coefficients": ({"coef": [1.0]}, r"there are 1 coefficients but X has 2 columns"),
    "a vector": ({"X": [1.0, 2.0]}, r"X has shape \(2,\) and type float64; expected numbers"),
    "text": ({"X": [["a", "b"]]}, r"expected numbers of shape \(n_docs, n_features\)"),
    "missing values": ({"X": [[1.0, np.nan]]}, r"X has a NaN in row 0, column 1 \(\"column 1\"\)"),
    "names": ({"feature_names": ["a"]}, r"feature_names has 1 names but X has 2 columns"),
    "documents": ({"docid": ["a"]}, r"docid has 1 ids but X has 3 rows"),
    "queries": ({"qid": [1]}, r"qid has 1 ids but there are 3 rows"),
    "rows outside": ({"rows": [0, 3]}, r"rows contains 3, but X has rows 0 to 2"),
    "rows before": ({"rows": [-1]}, r"rows contains -1, but X has rows 0 to 2"),
    "rows twice": ({"rows": [1, 1]}, r"rows contains a row twice"),
    "rows of truth": ({"rows": [True, False, True]}, r"rows must be row numbers, not bool"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        explain_linear(**{"coef": [1.0, 2.0], "X": np.zeros((3, 2)), **options})


def test_chosen_rows_of_a_large_sparse_table_need_little_memory():
    wide = sparse.random_array((2_000, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    qid = np.repeat(np.arange(100), 20)
    coef = np.ones(100_000)
    tracemalloc.start()
    found = explain_linear(coef, wide, qid, rows=range(0, 2_000, 100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # all of it, dense, would be 1.6 GB
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.baseline, atol=1e-12)


# --- any sum over the features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_parts_that_are_linear_are_explained_as_by_the_coefficients(form):
    for rows in (None, [4, 0]):
        expected = explained(rows=rows)
        found = explain_additive(COEF * X, form(X), QID, rows=rows, feature_names=NAMES, docid=DOCID)
        np.testing.assert_allclose(found.contributions, expected.contributions, atol=1e-14)
        assert found.to_dict() == expected.to_dict()
        assert str(found) == str(expected)
    assert str(found.why(4, 4)) == str(expected.why(4, 4))


def test_parts_are_counted_from_the_mean_of_the_list_and_scores_may_have_a_constant():
    parts = np.random.default_rng(3).normal(size=X.shape)
    parts[:, 2] = 0.1
    scores = parts.sum(axis=1) + 40
    found = explain_additive(parts, X, QID, scores=scores)
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.baseline, atol=1e-12)
    for place, q in enumerate(QID):
        own = [row for row in range(5) if QID[row] == q]
        assert found.baseline[place] == pytest.approx(scores[own].mean())
        np.testing.assert_allclose(found.contributions[place], parts[place] - parts[own].mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(found.scores, scores)
    assert (found.contributions[:, 2] == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": np.zeros((3, 1))}, r"parts has shape \(3, 1\) but X has shape \(3, 2\); they must be equal"),
        ({"scores": [1.0]}, r"there are 1 scores but X has 3 rows"),
        ({"scores": [1.0, np.nan, 0]}, r"scores has a NaN or an infinite value in row 1"),
        ({"rows": [3]}, r"rows contains 3, but X has rows 0 to 2"),
        ({"docid": ["a"]}, r"docid has 1 ids but X has 3 rows"),
        ({"feature_names": ["a"]}, r"feature_names has 1 names but X has 2 columns"),
    ],
)
def test_parts_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        explain_additive(**{"parts": np.zeros((3, 2)), "X": np.zeros((3, 2)), **options})
