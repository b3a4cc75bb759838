"""The cache of text indexes."""

from plackett.apps.workbench.collections import text as index_cache
from plackett.apps.workbench.collections.text import open_collection


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
    path = next(cache.iterdir())
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
