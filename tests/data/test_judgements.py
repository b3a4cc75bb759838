"""Files of judgements: their formats are detected, and errors name the file and the line."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plackett.data import judgements
from plackett.exceptions import DataFormatError


def rows_of(text, format=None):
    found = judgements.read(io.BytesIO(text.encode("utf-8", "surrogateescape")), format)
    return list(zip(found.qid, found.docid, found.labels, strict=True))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("csv", "query,document,rating\nriver bank,d 1,2\nbread,d2,0\n"),
        ("csv", '"river bank","d 1",2\r\nbread,d2,0\r\n'),
        ("csv", "Query;Doc ID;Rating\nriver bank;d 1;2\nbread;d2;0\n"),
        ("csv", "rating\tdocid\tteam\tquery\n2\td 1\tA\triver bank\n\n0\td2\tB\tbread\n"),
        ("csv", "\ufeffquery,docid,grade\nriver bank,d 1,2.0\nbread,d2,0\n"),
        ("json", '[{"query":"river bank","docid":"d 1","grade":2},{"qid":"bread","document":"d2","label":0}]'),
    ],
)
def test_one_set_of_judgements_in_many_forms(format, text):
    assert rows_of(text) == rows_of(text, format) == [("river bank", "d 1", 2.0), ("bread", "d2", 0.0)]


def test_letor_rows_and_qrels_are_read():
    assert rows_of("2 qid:7 1:3 99999999999:1 # docid = d inc = 1\n") == [("7", "d", 2.0)]
    assert rows_of("301 0 a,b 1\n301 0 e -2\n") == [("301", "a,b", 1.0), ("301", "e", -2.0)]
    assert rows_of("query-id\tcorpus-id\tscore\n7\td1\t1\n") == [("7", "d1", 1.0)]
    assert rows_of("") == []


def test_rows_without_a_rating_are_counted():
    found = judgements.read(io.BytesIO(b"query,docid,rating\nriver,d1,\nriver,d2,3\n"))
    assert (found.n_unjudged, found.docid) == (1, ["d2"])
    assert found.to_qrels().to_dict() == {"river": {"d2": 3}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q 0 d\n", "expected"),
        ("q 0 d high\n", "label"),
        ("1 qid:3 1:2\n", "must name the document"),
        ("x qid:3 1:2 # d\n", 'line 1: expected "label qid:ID'),
        ("{", "not JSON"),
        ("[" * 100_000, "nested|not JSON"),
        ("[1]", "entry 1 is '1'"),
        ('{"judgements": 3}', "must be a list"),
        ('[{"query": "q", "docid": "d", "grade": true}]', "expected a number"),
        ('[{"query": "", "docid": "d", "grade": 1}]', "expected text"),
        ("query,docid,rating\nq,d,high\n", "line 2: expected a query"),
        ("query,docid,rating\nq,d\n", "found 2 fields"),
        ('query,docid,rating\nq,"d,1\n', "line 2"),
        ("wings,d1\nboat,d2\n", "line 1: expected \"query,document,rating\", found 'wings,d1'"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(text, words):
    with pytest.raises(DataFormatError, match=words):
        rows_of(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_in_words(data):
    try:
        judgements.read(io.BytesIO(data))
    except ValueError as error:
        assert str(error)  # noqa: PT017
