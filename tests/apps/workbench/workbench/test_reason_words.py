"""Reasons say in words what their condition says, for every feature of texts."""

import pytest

pytest.importorskip("fastapi")

from plackett.apps.workbench.reason_words import reason_words
from plackett.text import build_index, letor_features


@pytest.mark.parametrize(
    ("text", "amount", "words"),
    [
        ("covered_terms_title > 1", 0.5, "title matches more of the query's words"),
        ("covered_terms_ratio_title ≤ 0.5", -0.5, "title matches a smaller share of the query's words"),
        ("tf_max_whole > 2", 0.1, "the document has the query's words more often"),
        ("tfidf_variance_body > 2", 0.1, "the query's words are unevenly frequent in body"),
        ("bm25_body ≤ 3.2", 0.1, "body matches the query less well by BM25"),
        ("lmir_dir_my_field > 3.2", 0.1, "my_field matches the query better by its language model"),
        ("length_body = 0.3", -0.2, "body is shorter"),
        ("price > 20", 0.1, "price is higher"),
        ("score > 20", 0.1, "the engine scores it higher"),
        ("pinned by its judgement", 9.0, "pinned by its judgement"),
    ],
)
def test_conditions_have_words(text, amount, words):
    assert reason_words(text, amount > 0) == words


def test_every_feature_of_a_field_has_a_phrase_of_its_own():
    index = build_index({"title": ["a b"], "body": ["b c"]}, docid=["d"], positions=True)
    names = letor_features(index, {"": ["b"]}, {"": ["d"]}).feature_names
    plain = [name for name in names if reason_words(f"{name} > 1", True) == f"{name} is higher"]
    assert plain == [name for name in names if name.startswith("query_")]
