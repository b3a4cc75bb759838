import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data import text_column
from plackett.data.text_column import TextColumn, docids_of_comments

TEXTS = ["docid = GX1 inc = 1", "", "plain", "häß", "\udcff\udcfe", "x" * 50]


@pytest.fixture
def column():
    return TextColumn.from_strings(TEXTS)


def test_texts_come_back_as_they_were_given(column):
    assert list(column) == TEXTS
    assert len(column) == 6
    assert column[-1] == "x" * 50
    assert np.asarray(column).tolist() == TEXTS
    assert column.bytes_of(4) == b"\xff\xfe"
    assert repr(column) == "TextColumn(6 texts)"


@pytest.mark.parametrize(
    "which", [slice(1, 4), slice(4, 1), slice(None, None, 2), slice(None, None, -1), [5, 0, 0], [-1, -6], []]
)
def test_chosen_texts_are_those_of_a_list(column, which):
    expected = TEXTS[which] if isinstance(which, slice) else [TEXTS[k] for k in which]
    assert list(column[which]) == expected
    assert list(column[1:][: len(expected)]) == TEXTS[1:][: len(expected)]


def test_a_mask_chooses_and_places_beyond_the_end_are_refused(column):
    assert list(column[np.array([True, False, False, True, False, False])]) == [TEXTS[0], TEXTS[3]]
    with pytest.raises(IndexError):
        column[[6]]
    with pytest.raises(IndexError):
        column[6]


def test_columns_are_equal_when_their_texts_are(column):
    assert column == TextColumn.from_strings(TEXTS)
    assert column[2:] == TextColumn.from_strings(TEXTS[2:])
    assert column != TextColumn.from_strings([*TEXTS[:5], "y" * 50])
    assert TextColumn.from_strings(["ab", "c"]) != TextColumn.from_strings(["a", "bc"])
    assert column != TEXTS


def test_columns_are_put_one_after_the_other(column):
    assert list(TextColumn.concat([column[2:4], column[:1], column[:0]])) == [TEXTS[2], TEXTS[3], TEXTS[0]]


def test_document_names_are_found_in_comments():
    comments = {
        "docid = GX000-00-0000000 inc = 1 prob = 0.2": "GX000-00-0000000",
        " docid=7": "7",
        "\tdocid\t=\t7\tx": "7",
        "docid =": "docid =",
        "docid": "docid",
        "docids = 7": "docids = 7",
        "  my document ": "my document",
        "": "",
        "   ": "",
        "docid = häß x": "häß",
        "docid =\u00a0a": "a",
    }
    assert docids_of_comments(TextColumn.from_strings(comments)).tolist() == list(comments.values())


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.text("docid =\t\x1cax\u00e9\u2003", max_size=14), st.text("a b").map("docid = {}".format)))
)
def test_the_compiled_search_finds_what_the_plain_one_does(comments):
    column = TextColumn.from_strings(comments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_column, "_WASTE", 10**9)
        compiled = docids_of_comments(column)
    assert compiled.dtype.kind == "U"
    assert compiled.tolist() == [text_column._docid_of(comment) for comment in column]


def test_one_very_long_name_among_many_does_not_cost_an_array_of_its_width():
    names = docids_of_comments(TextColumn.from_strings(["docid = a"] * 5000 + ["y" * 5000]))
    assert names.dtype == object
    assert names[-1] == "y" * 5000
    assert names[0] == "a"
