"""Texts as a collection: search, features, snippets and names."""

import os
import sys

import numpy as np
import pytest

from plackett.apps.workbench.collections.text import open_collection
from plackett.text import open_index


def test_every_base_ranker_gives_a_falling_list_with_features(texts):
    assert texts.base_rankers() == ["bm25", "jelinek-mercer", "dirichlet", "absolute-discounting", "tf-idf", "boolean"]
    for base in texts.base_rankers():
        hits = texts.search("wings water", base, 10)
        assert 0 < len(hits.docid) <= 10
        assert (np.diff(hits.scores) <= 0).all()
        assert hits.X.shape == (len(hits.docid), len(texts.feature_names))
        assert hits.feature_names == texts.feature_names
    assert "bm25_body" in texts.feature_names


def test_bm25_scores_are_the_feature_of_that_name(texts):
    hits = texts.search("wings water")
    np.testing.assert_allclose(hits.scores, hits.X[:, texts.feature_names.index("bm25_whole")])


def test_a_boolean_query_finds_what_matches_and_says_where_it_cannot_be_read(texts):
    hits = texts.search("wings AND NOT water", "boolean", 100)
    bodies = [texts.document(docid).fields["body"].split() for docid in hits.docid]
    titles = [texts.document(docid).title.split() for docid in hits.docid]
    for words in (body + title for body, title in zip(bodies, titles, strict=True)):
        assert "wings" in words
        assert "water" not in words
    with pytest.raises(ValueError, match=r"\^"):
        texts.search("wings AND (", "boolean")


def test_nothing_found_is_an_empty_list_with_columns(texts):
    for base in texts.base_rankers():
        hits = texts.search("zebra", base)
        assert hits.docid == []
        assert hits.X.shape == (0, len(texts.feature_names))
    assert texts.search("the").docid == []
    assert texts.search("").docid == []


def test_scores_of_given_documents_are_those_of_the_list(texts):
    for base in texts.base_rankers():
        hits = texts.search("wings water", base, 40)
        some = hits.docid[::-2]
        own = texts.score("wings water", [*some, "unknown", some[0]], base)
        place = {docid: row for row, docid in enumerate(hits.docid)}
        rows = [place[docid] for docid in own.docid]
        assert sorted(own.docid) == sorted(some)
        np.testing.assert_allclose(own.scores, hits.scores[rows])
        np.testing.assert_allclose(own.X, hits.X[rows])
    assert texts.score("wings", ["unknown"]).docid == []


def test_documents_that_do_not_match_stand_behind_those_that_do(texts):
    own = texts.score("wings AND water", [f"d{number}" for number in range(40)], "boolean")
    matching = set(texts.search("wings AND water", "boolean", 40).docid)
    assert set(own.docid[: len(matching)]) == matching
    assert len(matching) < 40


def test_unknown_names_are_refused_in_words(texts):
    with pytest.raises(ValueError, match="there is no base ranker 'bm26'; choose one of bm25, jelinek-mercer"):
        texts.search("wings", "bm26")
    with pytest.raises(KeyError, match="has no document 'nobody'"):
        texts.document("nobody")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_collection("/nowhere/at/all")


def test_snippets_are_pieces_of_text_with_the_words_of_the_query_marked(texts):
    hits = texts.search("wings")
    pieces = texts.snippet(hits.docid[0], "Wings?")
    assert {piece.text.lower() for piece in pieces if piece.is_term} == {"wings"}
    assert all("wings" not in piece.text.split() for piece in pieces if not piece.is_term)
    assert "".join(piece.text for piece in pieces) in texts.document(hits.docid[0]).fields["body"] + "…"


def test_suggestions_find_something(texts):
    assert texts.suggestions()
    assert all(texts.search(query).docid for query in texts.suggestions())


def test_hostile_documents_come_through_as_text(tmp_path):
    (tmp_path / "a.html").write_text("<title><b>x</b></title><script>alert('wings')</script>wings &lt;script&gt;")
    (tmp_path / "line.txt").write_text("word wings " * 100_000)
    (tmp_path / "null.txt").write_bytes(b"wings\0null \xff\xfe")
    (tmp_path / "t.csv").write_text("id,title,body.text,whole\n x\ty ,<script>alert(1)</script>,wings,w\n")
    (tmp_path / "s.jsonl").write_text('{"id": "x y", "title": "\\ud800", "docid": 3, "body": "wings\\u0000"}\n')
    collection = open_collection(tmp_path)
    hits = collection.search("wings")
    assert sorted(hits.docid) == ["a.html", "line.txt", "null.txt", "x y", "x y (2)"]
    for docid in hits.docid:
        document = collection.document(docid)
        everything = document.title + "".join(document.fields.values())
        assert "\0" not in everything
        everything.encode()
        assert sum(len(piece.text) for piece in collection.snippet(docid, "wings")) < 300
    assert collection.document("a.html").fields["body"] == "wings <script>"
    assert "<script>alert(1)</script>" in {collection.document(docid).title for docid in hits.docid}
    assert "whole_" in collection.index.fields
    assert "body_text" in collection.index.fields


def test_a_folder_that_holds_an_index_is_opened(folder, tmp_path):
    open_collection(folder, cache=tmp_path)
    kept = next(tmp_path.iterdir())
    assert open_collection(kept).n_docs == open_index(kept).n_docs == 40


def test_the_key_is_that_of_the_place_and_not_of_other_places_of_the_same_name(tmp_path):
    for parent in ("one", "two"):
        (tmp_path / parent / "notes").mkdir(parents=True)
        (tmp_path / parent / "notes" / "a.txt").write_text("wings")
    first, second = (open_collection(tmp_path / parent / "notes") for parent in ("one", "two"))
    assert first.name == second.name == "notes"
    assert first.key != second.key


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux only")
def test_a_folder_whose_name_is_not_utf_8_is_searched_and_judged(tmp_path):
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    (place / "one.txt").write_text("wings lift")
    opened = open_collection(place, cache=tmp_path / "cache")
    assert opened.search("wings").docid == ["one.txt"]
    assert opened.name == "caf\ufffd"
    assert opened.key.encode().isascii() is False


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_documents_of_a_file_are_called_the_same_however_its_path_is_typed(tmp_path, monkeypatch, ending):
    (tmp_path / f"all.{ending}").write_text("title,body\nA,wings lift\nB,boats float\n")
    monkeypatch.chdir(tmp_path)
    sources = (f"all.{ending}", f"./all.{ending}", str(tmp_path / f"all.{ending}"))
    opened = [open_collection(source, cache=tmp_path / "cache") for source in sources]
    assert len({one.key for one in opened}) == 1
    assert {tuple(one.search("wings").docid) for one in opened} == {
        (f"all.{ending}:2" if ending == "csv" else "all.txt",)
    }


def test_building_an_index_reports_its_progress_and_opening_a_cached_one_does_not(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(3):
        (texts / f"{number}.txt").write_text(f"text {number} on wings")
    reported = []
    for _ in range(2):
        open_collection(texts, cache=tmp_path / "cache", progress=lambda *one: reported.append(one))
    assert reported
    assert [done for done, _ in reported] == sorted({done for done, _ in reported})
    assert reported[-1][0] == reported[-1][1]
