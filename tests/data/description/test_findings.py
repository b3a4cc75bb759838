"""Findings: what a column or the rows look like, and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import plackett as pk
from plackett.data.description.findings import concordance


def kinds(queries):
    return [one.kind for one in queries.describe().findings]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": rng.integers(0, 40, 800), "label": rng.integers(0, 4, 800)})
    frame["bm25"] = rng.normal(size=800) + frame["label"]
    frame["price"] = rng.normal(size=800)
    return frame


def test_clean_data_have_no_findings(frame):
    assert kinds(pk.from_frame(frame)) == []
    assert "look at" not in str(pk.from_frame(frame).describe())


def test_findings_do_not_depend_on_the_order_of_queries(frame):
    frame["sold"] = frame["label"] * 2.0
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert kinds(pk.from_frame(frame)) == kinds(pk.from_frame(shuffled)) == ["leak"]


@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
def test_each_kind_of_column_is_named(frame):
    rng = np.random.default_rng(1)
    frame["grade"] = frame["label"]
    frame["sold"] = -2.0 * frame["label"] + (rng.random(800) < 0.01)
    frame.loc[:399, "price"] = np.nan
    frame["number"] = rng.permutation(800) + 10_000
    frame["epoch"] = 1_700_000_000 + rng.integers(0, 10**6, 800)
    frame["brand"] = rng.choice(["a", "b"], 800)
    data = pk.from_frame(frame)
    found = {one.kind: one for one in data.describe().findings}
    assert list(found) == ["label", "leak", "missing", "id", "categories"]
    assert str(found["label"]) == "Column 'grade' is a copy of the label. Drop it."
    assert found["leak"].columns == [data.feature_names.index("sold")]
    assert "1 of 7 columns have missing values, 7.1% of all values; most in column 'price' (50.0%)" in str(
        found["missing"]
    )
    assert 'missing="median"' in str(found["missing"])
    assert str(found["id"]).startswith("Column 'epoch' holds whole numbers that look like times.")
    assert "encoding=" in str(found["categories"])


def test_infinite_values_and_labels_are_named():
    data = pk.Queries([[np.inf], [1.0], [2.0]], y=[40, np.nan, 0], qid=[1, 1, 1])
    assert kinds(data) == ["labels", "labels", "infinite"]
    assert kinds(pk.Queries([[0.0], [1.0]])) == ["labels"]
    assert kinds(pk.Queries(np.zeros((0, 2)), y=[])) == []


def test_rows_sorted_by_label_and_queries_without_levels_are_named(frame):
    ordered = frame.sort_values(["qid", "label"], ascending=[True, False])
    assert kinds(pk.from_frame(ordered)) == ["sorted"]
    assert "best last" in str(pk.from_frame(ordered[::-1]).describe())
    assert kinds(pk.from_frame(frame.assign(qid=np.arange(800)))) == ["nothing to learn"]


def test_concordance_equals_a_loop_over_pairs():
    rng = np.random.default_rng(0)
    X, y, qid = rng.integers(0, 3, (60, 4)).astype(float), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    X[rng.random((60, 4)) < 0.2] = np.nan
    right, total = np.zeros(4), 0
    for one in range(60):
        for other in range(60):
            if qid[one] == qid[other] and y[one] > y[other]:
                total += 1
                right += np.where(X[one] > X[other], 1.0, np.where(X[one] < X[other], 0.0, 0.5))
    data = pk.Queries(X, y, qid)
    np.testing.assert_allclose(concordance(data), right / total)
    np.testing.assert_allclose(concordance(pk.Queries(sparse.csr_array(X), y, qid)), right / total)


def test_the_table_of_columns_has_ranges(frame):
    frame["brand"] = "a"
    frame.loc[0, "price"] = np.nan
    rows = pk.from_frame(frame).describe_columns().rows
    assert [row[0] for row in rows] == ["bm25", "price", "brand"]
    assert rows[1][2:5] == [1 / 800, frame["price"].min(), frame["price"].max()]
    assert rows[2][1] == "1 category"
    assert rows[0][5] > 0.7
