from __future__ import annotations

import pickle
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from plackett.text import Analyser


def test_words_are_runs_of_letters_and_digits_in_lower_case():
    assert Analyser(stop_words=None)("Re-entry at MACH_7, don't!") == ["re", "entry", "at", "mach", "7", "don", "t"]


def test_stop_words_are_dropped_before_stemming():
    assert Analyser(stop_words=["wings"])("Wings wing") == ["wing"]
    pytest.importorskip("Stemmer")
    assert Analyser(stop_words=["wings"], stemmer="english")("wings wing flying") == ["wing", "fli"]


def test_the_same_letters_give_the_same_term_however_they_were_typed():
    composed, decomposed = unicodedata.normalize("NFC", "Été"), unicodedata.normalize("NFD", "Été")
    assert composed != decomposed
    assert Analyser()(composed) == Analyser()(decomposed) == ["été"]
    assert Analyser()("ｆｕｌｌ ﬁne") == ["full", "fine"]


def test_invisible_characters_change_no_word():
    assert Analyser()("exam\u00adple \ufeffword 1\ufe0f\u20e3") == ["example", "word", "1"]
    assert Analyser().spans("an exam\u00adple.")[1] == ("example", 3, 11)


def test_stop_words_are_dropped_however_they_are_written():
    assert Analyser(stop_words=["The"])("The the THE wing") == ["wing"]
    assert Analyser(lowercase=False)("The the AND Wing") == ["Wing"]
    assert Analyser(lowercase=False).sequence("The Wing") == [None, "Wing"]
    assert Analyser(stop_words=["e\u0301te\u0301"])("Été wing") == ["wing"]


def test_no_stem_is_empty():
    pytest.importorskip("Stemmer")
    assert Analyser(stemmer="porter")("it's wings") == ["s", "wing"]  # Porter's stemmer leaves nothing of "s"


def test_marks_belong_to_the_letters_before_them():
    assert Analyser()("हिन्दी, ไทย") == ["हिन्दी", "ไทย"]


@given(st.text())
def test_any_text_gives_terms_without_blanks(text):
    terms = Analyser()(text)
    assert all(term and not any(letter.isspace() for letter in term) for term in terms)
    assert [term for term in Analyser().sequence(text) if term is not None] == terms


@given(st.text())
def test_spans_lie_in_the_text(text):
    for _, start, stop in Analyser().spans(text):
        assert 0 <= start < stop <= len(text)


def test_sequences_keep_the_places_of_dropped_words():
    assert Analyser().sequence("state of the art") == ["state", None, None, "art"]


def test_an_analyser_is_its_parameters():
    analyser = Analyser(stop_words=["b", "a"], lowercase=False, min_length=2)
    assert Analyser(**analyser.parameters()) == analyser == pickle.loads(pickle.dumps(analyser))
    assert hash(Analyser(**analyser.parameters())) == hash(analyser)
    assert analyser != Analyser()
    assert analyser("An Apple a b") == ["An", "Apple"]


def test_it_serves_scikit_learn_as_analyzer():
    vectorizer = CountVectorizer(analyzer=Analyser())
    assert clone(vectorizer).fit(["The wing", "wings"]).get_feature_names_out().tolist() == ["wing", "wings"]


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="stop_words='german' is not known"):
        Analyser(stop_words="german")
    with pytest.raises(ValueError, match="stop_words holds 7"):
        Analyser(stop_words=[7])
    with pytest.raises(ValueError, match="stop_words holds 7"):
        Analyser(stop_words=["a", 7])
    with pytest.raises(ValueError, match="stop_words=7 is not known"):
        Analyser(stop_words=7)
    with pytest.raises(ValueError, match="min_length=0"):
        Analyser(min_length=0)
    pytest.importorskip("Stemmer")
    with pytest.raises(ValueError, match=r"stemmer='klingon' is not known; choose one of .*english"):
        Analyser(stemmer="klingon")


def test_a_missing_stemmer_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(ModuleNotFoundError, match=r"plackett\[text\]"):
        Analyser(stemmer="english")
