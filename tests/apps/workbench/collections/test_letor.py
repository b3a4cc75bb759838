"""Judged lists as a collection."""

import io

import numpy as np
import pytest

import plackett as pk
from plackett.apps.workbench.collections.base import Hits, Piece
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.data.queries import Queries


def test_judged_lists_are_browsed_by_query_and_column():
    queries = Queries(
        [[1.0, 5.0], [2.0, 4.0], [3.0, 3.0], [9.0, 0.0]], [0, 2, np.nan, 1], [7, 7, 7, 8],
        docid=["a", "b", "b", "a"], feature_names=["bm25", "length"],
    )  # fmt: skip
    collection = LetorCollection(queries)
    assert collection.kind == "letor"
    assert collection.base_rankers() == ["bm25", "length"]
    assert collection.search("7").docid == ["b (2)", "b", "a"]
    assert collection.search("7", "length", 2).docid == ["a", "b"]
    assert collection.labels("7") == {"a": 0.0, "b": 2.0}
    assert collection.labels("9") == {}
    assert collection.score("7", ["a", "b", "x"]).docid == ["b", "a"]
    assert collection.rows == {"7": slice(0, 3), "8": slice(3, 4)}
    assert collection.document("a").fields == {
        "query 7": "label 0\nbm25 1\nlength 5", "query 8": "label 1\nbm25 9\nlength 0",
    }  # fmt: skip
    assert collection.snippet("b", "7") == [Piece("label 2", False)]
    with pytest.raises(ValueError, match="no query has the id '9'; the ids are 7, 8"):
        collection.search("9")
    with pytest.raises(KeyError, match="no document 'x'"):
        collection.document("x")


def test_a_title_in_the_comment_is_shown():
    rows = io.StringIO("1 qid:7 1:0.5 # 7555\tRambo\n0 qid:7 1:0.2 # 8012\n")
    collection = LetorCollection(pk.read_letor(rows))
    assert collection.search("7").docid == ["7555", "8012"]
    assert [collection.document(docid).title for docid in ("7555", "8012")] == ["Rambo", "8012"]


def test_judged_lists_without_names_get_names_and_take_saved_rankers():
    data = pk.datasets.make_web_like(6, n_features=4, random_state=0)
    ranker = pk.LinearRanker().fit(data.X, data.y, qid=data.qid)
    buffer = io.BytesIO()
    ranker.save(buffer)
    plain = Queries.from_groups(data.X, data.y, data.ids, data.indptr)
    collection = LetorCollection(plain)
    collection.add_ranker("mine", pk.load(io.BytesIO(buffer.getvalue())))
    assert collection.base_rankers() == ["column 0", "column 1", "column 2", "column 3", "mine"]
    qid = str(data.ids[0])
    hits = collection.search(qid, "mine", 1000)
    own = ranker.predict(data.X[data.indptr[0] : data.indptr[1]])
    np.testing.assert_allclose(hits.scores, np.sort(own)[::-1])
    assert hits.docid[0] == f"{qid}/{np.argmax(own) + 1}"
    assert isinstance(hits, Hits)
