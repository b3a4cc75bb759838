"""The web search lists of dai2019's Table 6, and stand-ins for them."""

import numpy as np
import pytest

from plackett.data.queries import Queries
from plackett.reproductions.base import Job
from plackett.reproductions.qsvm import web_search
from tests.reproductions.qsvm.measures import dcg_of, err_of


@pytest.fixture
def lists():
    """Three queries of 40 documents and ten of 20: column 0 is of the query, column 1 is always the same."""
    lengths = np.array([40] * 3 + [20] * 10)
    qid = np.repeat(np.arange(13), lengths)
    rng = np.random.default_rng(0)
    X = np.column_stack([10.0 * qid, np.full(qid.size, 3.0), rng.normal(size=(qid.size, 2))])
    return web_search.divided(Queries(X, rng.integers(0, 5, qid.size), qid), is_original=False)


def test_columns_of_queries_are_taken_from_the_documents(lists):
    assert lists.queries.n_features == 2  # neither that of the queries nor the constant
    assert lists.query_features.shape == (13, 1)
    assert (np.diff(lists.query_features[:, 0]) > 0).all()
    assert lists.queries.X.max() == 1.0  # the share of documents that are not above
    assert lists.queries.X.min() == pytest.approx(1 / lists.queries.n_docs)


def test_yahoos_lists_are_taken_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(web_search, "N_QUERIES", 3)
    for part in ("train", "valid", "test"):
        rows = [
            f"{row % 5} qid:{query} 3:{query / 10} 5:{row / 100} 700:{row % 7 / 10}"
            for query in range(1, 7)
            for row in range(10 if query == 2 else 20)
        ]
        (tmp_path / f"set1.{part}.txt").write_text("\n".join(rows) + "\n")
    lists = web_search.web_lists(Job(folder=tmp_path))
    assert lists.is_original
    assert lists.queries.X.shape == (60, 2)
    assert 2 not in lists.queries.ids.tolist()  # it has too few documents
    np.testing.assert_allclose(lists.query_features[:, 0], np.array(lists.queries.ids, dtype=float) / 10)
    np.testing.assert_allclose(lists.queries.X[:20, 0], np.arange(20) / 100)  # values as they are


@pytest.mark.parametrize("is_original", [True, False])
def test_documents_are_dealt_within_queries(lists, is_original):
    lists = lists._replace(is_original=is_original)
    parts = web_search.split(lists, np.random.default_rng(1))
    assert parts.is_new.sum() == 1
    assert (parts.train.astype(int) + parts.validation + parts.test).max() == 1
    for query, is_new in enumerate(parts.is_new):
        rows = lists.queries.qid == query
        n = rows.sum() if is_original else min(rows.sum(), 27)
        share = (0, 0) if is_new else (round(0.6 * n), round(0.2 * n))
        counts = [int(part[rows].sum()) for part in parts[:3]]
        assert counts == [*share, n - sum(share)]


def test_web_measures_are_means_over_queries_that_have_them():
    labels = [[2.0, 0, 0, 1], [3.0, 3], [0.0, 0], [1.0, 4, 0]]  # in the order of the scores
    test = Queries(np.zeros((11, 1)), y=np.concatenate(labels), qid=np.repeat([1, 2, 3, 4], [4, 2, 2, 3]))
    is_new = np.array([False, False, True, True])
    found = web_search.by_part(test, -np.arange(11.0), is_new)
    mre = np.array([2 / 5, np.nan, np.nan, 1 / 3])
    err = np.array([err_of(one, 4) for one in labels])
    ndcg = np.array([dcg_of(one) / (dcg_of(sorted(one)[::-1]) or np.nan) for one in labels])
    values = np.column_stack([mre, 1 - err, 1 - ndcg])
    expected = [np.nanmean(values[chosen], axis=0) for chosen in (slice(None), slice(0, 2), slice(2, 4))]
    np.testing.assert_allclose(found, expected)
