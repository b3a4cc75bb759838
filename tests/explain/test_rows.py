"""Of a data set only the lists are looked at whose documents are to be explained."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plackett.data.queries import Queries
from plackett.explain.rows import needed_lists


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.data())
def test_needed_lists_are_those_of_the_rows(qid, data):
    n = len(qid)
    rows = data.draw(st.none() | st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    X = np.arange(n, dtype=float)[:, None]  # each row holds its own number
    needed = needed_lists(Queries(X, None, qid=qid).grouped, rows, [f"d{row}" for row in range(n)])
    wanted = range(n) if rows is None else rows
    assert needed.queries.X[needed.rows, 0].tolist() == list(wanted)
    assert needed.queries.X[:, 0].tolist() == needed.numbers.tolist()
    assert sorted(needed.numbers.tolist()) == [row for row in range(n) if qid[row] in {qid[one] for one in wanted}]
    assert needed.docid == [f"d{row}" for row in needed.numbers.tolist()]
    assert Queries(X, None, qid=qid).grouped.X[needed.places, 0].tolist() == needed.numbers.tolist()


def test_no_rows_are_wanted():
    needed = needed_lists(Queries(np.zeros((3, 1)), None, qid=[1, 1, 2]), [], None)
    assert needed.rows.size == 0
    assert needed.docid is None


def test_what_is_wrong_is_named():
    queries = Queries(np.zeros((3, 1)), None, qid=[1, 1, 2])
    with pytest.raises(ValueError, match="rows contains 3, but X has rows 0 to 2"):
        needed_lists(queries, [3], None)
    with pytest.raises(ValueError, match="docid has 2 ids but X has 3 rows"):
        needed_lists(queries, None, ["a", "b"])
