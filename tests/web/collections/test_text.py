"""Collections: texts that are searched, judged lists that are browsed, and indexes that are kept."""

import io
import os
import sys
import threading

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import Queries
from plackett.text import open_index
from plackett.web.collections import index_cache
from plackett.web.collections.base import Hits, make_hits
from plackett.web.collections.letor import LetorCollection
from plackett.web.collections.text import open_collection

WORDS = ("wings", "lift", "boats", "float", "water", "air", "engine", "wheel")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty short texts with words in different numbers."""
    place = tmp_path_factory.mktemp("documents")
    rng = np.random.default_rng(0)
    rows = ["id,title,body"]
    for number in range(40):
        words = rng.choice(WORDS, size=rng.integers(5, 30)).tolist()
        rows.append(f"d{number},{words[0]} {number},{' '.join(words)}")
    (place / "all.csv").write_text("\n".join(rows) + "\n")
    return place


@pytest.fixture(scope="module")
def texts(folder):
    return open_collection(folder)


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
    assert {text.lower() for text, is_term in pieces if is_term} == {"wings"}
    assert all("wings" not in text.split() for text, is_term in pieces if not is_term)
    assert "".join(text for text, _ in pieces) in texts.document(hits.docid[0]).fields["body"] + "…"


def test_suggestions_find_something(texts):
    assert texts.suggestions()
    assert all(texts.search(query).docid for query in texts.suggestions())


def test_lists_are_kept_and_shared_by_threads(texts):
    found = []
    threads = [threading.Thread(target=lambda: found.append(texts.search("boats float"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(hits.docid == found[0].docid for hits in found)
    assert texts.search("boats float") is texts.search("boats float")


def test_as_many_lists_are_kept_as_there_is_room_for(folder, monkeypatch):
    size = open_collection(folder).search("wings").X.size
    monkeypatch.setattr("plackett.web.collections.base.MIN_CACHED_SIZE", size // 2)
    monkeypatch.setattr("plackett.web.collections.base.MAX_CACHED_VALUES", 3 * size)
    small = open_collection(folder)
    for query in ("wings", "boats", "air", "water", "wings boats"):
        small.search(query)
    assert 0 < sum(hits.X.size for hits in small._lists.values()) <= 3 * size
    assert 0 < len(small._lists) <= 6
    monkeypatch.setattr("plackett.web.collections.base.MAX_CACHED_VALUES", 1)
    assert open_collection(folder).search("wings").X.size == size  # too large to cache, and still found


def test_the_built_in_collection_is_read_once_and_then_opened(tmp_path, monkeypatch):
    from plackett.data.documents import stdlib_corpus

    collection = open_collection(None, cache=tmp_path)
    assert collection.key == "python-stdlib"
    assert collection.n_docs > 2000
    for query in collection.suggestions():
        assert len(collection.search(query).docid) >= 10
    monkeypatch.setattr(stdlib_corpus, "read_stdlib", None)
    again = open_collection(None, cache=tmp_path)
    assert again.search("parse json text").docid == collection.search("parse json text").docid


def fitted(collection, column, sign=1.0):
    """A ranker that orders by one column."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, len(collection.feature_names)))
    queries = Queries(X, np.argsort(np.argsort(sign * X[:, column])) // 12, np.repeat(np.arange(3), 20),
                      feature_names=collection.feature_names)  # fmt: skip
    ranker = pk.LinearRanker("squared", l2=1e-6).fit(queries)
    ranker.coef_ = np.zeros_like(ranker.coef_)
    ranker.coef_[column] = sign
    return ranker


def test_a_saved_ranker_orders_the_candidates_of_the_first(folder):
    collection = open_collection(folder)
    column = collection.feature_names.index("length_body")
    collection.add_ranker("shortest first", fitted(collection, column, -1.0))
    assert collection.base_rankers()[-1] == "shortest first"
    hits = collection.search("wings", "shortest first", 10)
    candidates = collection.search("wings", "bm25", 100)
    lengths = candidates.X[:, column]
    assert hits.X[:, column].tolist() == np.sort(lengths)[:10].tolist()
    own = collection.score("wings", hits.docid[::-1], "shortest first")
    np.testing.assert_allclose(own.scores, hits.scores)
    collection.add_ranker("shortest first", fitted(collection, column, 1.0))  # takes its place, kept lists too
    assert collection.search("wings", "shortest first", 10).X[0, column] == lengths.max()
    collection.remove_ranker("shortest first")
    with pytest.raises(ValueError, match="no base ranker"):
        collection.search("wings", "shortest first")
    with pytest.raises(KeyError, match="no saved ranker"):
        collection.remove_ranker("shortest first")


def test_rankers_that_cannot_be_base_rankers_are_refused_in_words(texts):
    rng = np.random.default_rng(0)
    other = pk.LinearRanker().fit(rng.normal(size=(6, 3)), [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match=r"was trained on 3 features; the lists of .* have"):
        texts.add_ranker("other", other)
    with pytest.raises(ValueError, match="name of a built-in base ranker"):
        texts.add_ranker("bm25", other)
    renamed = fitted(texts, 0)
    renamed.feature_names_ = ["x", *renamed.feature_names_[1:]]
    with pytest.raises(ValueError, match="no 'x' there"):
        texts.add_ranker("other", renamed)
    refiner = pk.RocchioRefiner().fit(rng.normal(size=(3, 2)), [0, 1, np.nan], base_score=0)
    with pytest.raises(ValueError, match="can only rank the queries"):
        texts.add_ranker("other", refiner)


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
        assert sum(len(text) for text, _ in collection.snippet(docid, "wings")) < 300
    assert collection.document("a.html").fields["body"] == "wings <script>"
    assert "<script>alert(1)</script>" in {collection.document(docid).title for docid in hits.docid}
    assert "whole_" in collection.index.fields
    assert "body_text" in collection.index.fields


def test_an_index_is_kept_by_its_content_and_a_damaged_one_is_built_anew(folder, tmp_path, monkeypatch):
    source, cache = tmp_path / "texts", tmp_path / "cache"
    source.mkdir()
    (source / "a.txt").write_text("wings")
    made = []
    build = index_cache.TextIndex.save
    monkeypatch.setattr(index_cache.TextIndex, "save", lambda index, place: made.append(place) or build(index, place))
    first = open_collection(source, cache=cache)
    again = open_collection(source, cache=cache)
    assert len(made) == 1
    assert again.key == first.key
    kept = next(cache.iterdir())
    path = kept / "index.plackett"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    assert open_collection(source, cache=cache).search("wings").docid == ["a.txt"]
    assert len(made) == 2
    path.write_text("nonsense")
    assert open_collection(source, cache=cache).search("wings").docid == ["a.txt"]
    (source / "b.txt").write_text("wings too")
    changed = open_collection(source, cache=cache)
    assert changed.n_docs == 2
    assert changed.key == first.key
    assert len(list(cache.iterdir())) == 1  # the index of the old content is gone


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(folder, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert open_collection(folder, cache=tmp_path / "file").n_docs == 40


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


def test_lists_from_outside_are_checked_and_ordered():
    hits = make_hits(["a", "b", "c"], [1, 3, 3], [[1], [2], [3]])
    assert hits.docid == ["b", "c", "a"]
    assert hits.X[:, 0].tolist() == [2, 3, 1]
    assert hits.feature_names == ["column 0"]
    assert make_hits([], [], []).docid == []
    for arguments, words in (
        ((["a", "a"], [1, 2], [[1], [2]]), "'a' is in the list twice"),
        ((["a", "b"], [1], [[1], [2]]), "base_scores"),
        ((["a", "b"], [1, 2], [[1], [2, 3]]), "one list of numbers for each document"),
        ((["a", "b"], [1, 2], [[1], [np.nan]]), "NaN"),
        ((["a", "b"], [1, np.inf], [[1], [2]]), "finite"),
        ((["a", "b"], [1, 2], [[1], ["x"]]), "one list of numbers"),
        ((["a", "b"], [1, 2], [[1], [2]], ["x", "y"]), "2 feature names but 1 features"),
    ):
        with pytest.raises(ValueError, match=words):
            make_hits(*arguments)


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
    assert [one.qid for one in collection.lists()] == ["7", "8"]
    assert collection.lists(1, 1)[0].labels == {"1": 1}
    assert collection.document("a").fields == {
        "query 7": "label 0\nbm25 1\nlength 5", "query 8": "label 1\nbm25 9\nlength 0",
    }  # fmt: skip
    assert collection.snippet("b", "7") == [("label 2", False)]
    with pytest.raises(ValueError, match="no query has the id '9'; there are 7, 8"):
        collection.search("9")
    with pytest.raises(KeyError, match="no document 'x'"):
        collection.document("x")


def test_judged_lists_without_names_get_names_and_take_saved_rankers():
    data = pk.datasets.make_web_like(6, n_features=4, random_state=0)
    ranker = pk.LinearRanker().fit(data.X, data.y, qid=data.qid)
    buffer = io.BytesIO()
    ranker.save(buffer)
    plain = Queries.from_groups(data.X, data.y, data.ids, data.indptr)
    collection = LetorCollection(plain, {"mine": pk.load(io.BytesIO(buffer.getvalue()))})
    assert collection.base_rankers() == ["column 0", "column 1", "column 2", "column 3", "mine"]
    qid = str(data.ids[0])
    hits = collection.search(qid, "mine", 1000)
    own = ranker.predict(data.X[data.indptr[0] : data.indptr[1]])
    np.testing.assert_allclose(hits.scores, np.sort(own)[::-1])
    assert hits.docid[0] == f"{qid}/{np.argmax(own) + 1}"
    assert isinstance(hits, Hits)


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
