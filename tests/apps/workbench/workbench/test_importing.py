"""Files of judgements are read, or refused with a reason."""

import bz2
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plackett.apps.workbench.collections.text import TextCollection
from plackett.apps.workbench.files import read_judgements
from plackett.exceptions import DataFormatError
from plackett.text import build_index


@pytest.fixture(scope="module")
def collection():
    texts = ["wings over water", "wings", "boats on water", "boats and wings", "water"]
    index = build_index(texts, docid=["a file.txt", "50%", "ü", "d", "e"])
    return TextCollection(index, "my notes", "notes")


def test_foreign_files_are_read(collection):
    assert read_judgements("301 0 d 1\n301 0 e -2\n").rows == [("301", "d", 1.0), ("301", "e", 0.0)]
    assert "count as 0" in read_judgements("301 0 e -2\n").notes[0]
    assert read_judgements("2 qid:7 1:3 99999999999:1 # docid = d inc = 1\n").rows == [("7", "d", 2.0)]
    assert read_judgements('\ufeff[{"query": "q", "docid": "d", "grade": 1}]').rows == [("q", "d", 1.0)]
    lines = '{"query": "q", "docid": "d", "grade": 1}\n{"query": "q", "docid": "e", "grade": 0}\n'
    assert len(read_judgements(lines).rows) == 2
    found = read_judgements("q 0 d 1\nq 0 gone 1\n", "qrels", collection)
    assert found.rows == [("q", "d", 1.0)]
    assert found.notes == ["1 row names a document not in my notes."]
    assert read_judgements("").rows == []


def test_rows_without_a_rating_are_counted():
    found = read_judgements("query,docid,rating\nriver,d1,\nriver,d2,3\n")
    assert (found.rows, found.notes) == ([("river", "d2", 3.0)], ["1 row has no rating."])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (gzip.compress(b"q 0 d 1\n", mtime=0).decode(errors="replace"), "zero bytes"),
        (bz2.compress(b"q 0 d 1\n").decode(errors="replace"), "compressed"),
        ("q 0 d high\n", "label"),
        ("1 qid:3 1:2\n", "must name the document"),
        ("x qid:3 1:2 # d\n", 'expected "label qid:ID'),
        ("{", "not JSON"),
        ('[{"query": "q", "docid": "d", "grade": 1e999}]', "expected a number"),
        ('[{"query": "q", "docid": "d", "grade": 1e9}]', "from 0 to 30"),
        ("q 0 d 31\n", "from 0 to 30"),
        ("query,docid,rating\nq,d,high\n", "CSV, line 2: expected a query"),
        ("query,docid,rating\nq,d,99\n", "from 0 to 30"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(text, words):
    with pytest.raises((ValueError, DataFormatError), match=words):
        read_judgements(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_words(text):
    words = None
    try:
        read_judgements(text)
    except (ValueError, DataFormatError) as error:
        words = str(error)
    assert words != ""
