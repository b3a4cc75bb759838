import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data import docids
from plackett.data.docids import docids_of_comments, titles_of_comments
from plackett.data.text_column import TextColumn


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
        " 7555 \t Rambo \t III": "7555",
        "häß\tRambo": "häß",
        "docid = 7555\tRambo": "7555",
    }
    assert docids_of_comments(TextColumn.from_strings(comments)).tolist() == list(comments.values())


def test_titles_are_found_behind_a_tab():
    comments = {
        " 7555 \t Rambo \t III": "Rambo \t III",
        "docid = 7555\tRambo": "Rambo",
        "docid = 7555 inc = 1\t": "",
        "7555": "",
        "häß\tÜ": "Ü",
    }
    assert titles_of_comments(TextColumn.from_strings(comments)) == list(comments.values())
    assert titles_of_comments(TextColumn.from_strings(["docid = 7", "\t8"])) is None


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.text("docid =\t\x1cax\u00e9\u2003", max_size=14), st.text("a b").map("docid = {}".format)))
)
def test_the_compiled_search_finds_what_the_plain_one_does(comments):
    column = TextColumn.from_strings(comments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docids, "WASTE", 10**9)
        compiled = docids_of_comments(column)
    assert compiled.dtype.kind == "U"
    assert compiled.tolist() == [docids._docid_of(comment) for comment in column]


def test_one_very_long_name_among_many_does_not_cost_an_array_of_its_width():
    names = docids_of_comments(TextColumn.from_strings(["docid = a"] * 5000 + ["y" * 5000]))
    assert names.dtype == object
    assert names[-1] == "y" * 5000
    assert names[0] == "a"
