from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.text import Analyser, BooleanSyntaxError, build_index, parse_boolean
from plackett.text.boolean import And, Not, Or, Phrase, Word

DOCS = ["a b c", "a c", "b", "", "c a b a", "a a b b"]
SETS = {word: {place for place, doc in enumerate(DOCS) if word in doc.split()} for word in "abcd"}
ALL = set(range(len(DOCS)))


@pytest.fixture(scope="module")
def index():
    return build_index(DOCS, analyser=Analyser(stop_words=["the", "of"]), positions=True)


nodes = st.recursive(
    st.sampled_from("abcd").map(Word),
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=8,
)


def by_sets(node):
    if isinstance(node, Word):
        return SETS[node.text]
    if isinstance(node, Not):
        return ALL - by_sets(node.part)
    sets = [by_sets(part) for part in node.parts]
    return set.intersection(*sets) if isinstance(node, And) else set.union(*sets)


@settings(deadline=None)
@given(nodes)
def test_matching_is_set_algebra_and_text_says_what_the_tree_says(index, node):
    expected = sorted(by_sets(node))
    assert index.match(node).tolist() == expected
    assert parse_boolean(str(node)) == node
    assert index.match(str(node)).tolist() == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a", Word("a")),
        ("a b OR c", Or((And((Word("a"), Word("b"))), Word("c")))),
        ("a AND b OR c AND NOT d", Or((And((Word("a"), Word("b"))), And((Word("c"), Not(Word("d"))))))),
        ("a AND (b OR c)", And((Word("a"), Or((Word("b"), Word("c")))))),
        ("NOT NOT a", Not(Not(Word("a")))),
        ("a and b", And((Word("a"), Word("and"), Word("b")))),  # capitals make an operator
        ('"a b"(c)', And((Phrase("a b"), Word("c")))),
        ("(((a)))", Word("a")),
    ],
)
def test_queries_are_read_by_their_binding(query, expected):
    assert parse_boolean(query) == expected


@pytest.mark.parametrize(
    ("query", "position", "message"),
    [
        ("", 0, r'at character 1: expected a word, a phrase in quotes, NOT or "\(", found the end of the query'),
        ("wings AND", 9, "found the end of the query"),
        ("AND wings", 0, "expected a word.*, found AND"),
        ("wings OR OR lift", 9, "at character 10: .* found OR"),
        ("wings NOT", 9, "found the end"),
        ("(wings OR lift", 14, r'expected "\)" for the bracket at character 1, found the end'),
        ("wings (lift", 11, r'expected "\)" for the bracket at character 7'),
        ("wings) lift", 5, r'at character 6: expected the end of the query or an operator, found "\)"'),
        ("()", 1, r'expected a word.*, found "\)"'),
        ('wings "lift drag', 6, "at character 7: this quote is not closed"),
        ("(" * 200 + "a", 101, "more than 100 nested brackets"),
        ("NOT " * 200 + "a", 404, "more than 100 nested brackets"),
    ],
)
def test_errors_say_where_and_what_was_expected(query, position, message):
    with pytest.raises(BooleanSyntaxError, match=message) as caught:
        parse_boolean(query)
    assert caught.value.position == position
    shown, pointer = str(caught.value).split("\n")[-2:]
    assert shown.strip("… ") in query
    assert (shown + " ")[pointer.index("^")] == (query + " ")[position]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_of_a_long_query_the_part_around_the_error_is_shown():
    query = "wing AND " * 50_000 + ") OR " + "lift " * 50_000
    with pytest.raises(BooleanSyntaxError, match='found "\\)"') as caught:
        parse_boolean(query)
    lines = str(caught.value).split("\n")
    assert max(map(len, lines)) < 130
    assert lines[1][lines[2].index("^")] == ")"
    with pytest.raises(BooleanSyntaxError) as caught:
        parse_boolean("\ud800 \x1b[2J ) x")
    assert str(caught.value).isascii()  # nothing that a terminal would obey, or could not show


def test_many_words_take_no_mask_each(index):
    query = " OR ".join(f"w{number}" for number in range(20_000)) + " OR b"
    assert index.match(query).tolist() == index.match("b").tolist()
    with pytest.raises(TypeError, match="not int"):
        index.match(7)


@given(st.text(alphabet="ab ()\"ANDORNOT#,'\n", max_size=20))
def test_any_text_is_read_or_refused(query):
    try:
        said = str(parse_boolean(query))
    except BooleanSyntaxError as error:
        said = str(error)
    assert said


def holds_phrase(text, phrase):
    words = text.split()
    return any(words[start : start + len(phrase)] == phrase for start in range(len(words)))


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
def test_phrases_are_words_side_by_side(index, phrase):
    expected = [place for place, doc in enumerate(DOCS) if holds_phrase(doc, phrase)]
    assert index.match(f'"{" ".join(phrase)}"').tolist() == expected
    assert index.match("-".join(phrase)).tolist() == expected  # a word that is cut into several


def test_a_dropped_word_in_a_phrase_stands_for_any_one_word():
    index = build_index(["state of the art", "state art", "state of art", "state in this art"], positions=True)
    assert index.match('"state of the art"').tolist() == [0, 3]
    assert index.match('"the state"').tolist() == [0, 1, 2, 3]


def test_phrases_do_not_run_from_one_field_or_document_into_the_next():
    index = build_index({"title": ["a", "b", "a b"], "body": ["b", "c", "x"]}, analyser=Analyser(None), positions=True)
    assert index.match('"a b"').tolist() == [2]
    assert index.match('"a b"', field="title").tolist() == [2]
    assert index.match('"a b"', field="body").tolist() == []


def test_phrases_need_positions():
    index = build_index(["big wing", "wing big"])
    with pytest.raises(ValueError, match="positions=True"):
        index.match('"big wing"')
    assert index.match('"wing"').tolist() == [0, 1]
    assert index.match("big-wing").tolist() == [0, 1]  # without positions a word cut in two asks for both


def test_words_that_the_analyser_drops_are_left_out(index):
    assert index.match("the AND a").tolist() == index.match("a").tolist()
    assert index.match("a AND NOT of").tolist() == index.match("a").tolist()
    assert index.match("a OR (the of)").tolist() == index.match("a").tolist()
    assert index.match("the").tolist() == []
    assert index.match("NOT the").tolist() == []
    assert index.match("NOT unknown").tolist() == sorted(ALL)
