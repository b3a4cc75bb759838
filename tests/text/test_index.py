from __future__ import annotations

import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest

from plackett.data.documents.collections import TextCollection
from plackett.exceptions import DataFormatError
from plackett.storage.container import open_container, write_container
from plackett.text import Analyser, build_index, open_index
from plackett.text.index import KIND, VERSION
from plackett.text.weighting import RANKERS
from tests.storage.containers import parts_of, signed

NAME = "notes.index"

TITLES = ["On wings", "Boats", "", "Über die Flügel"]
BODIES = ["Wings lift.\nA wing has a camber.", "Boats float on water, wings do not.", "", "Flügel tragen; wings again"]


def small(**options):
    return build_index({"title": TITLES, "body": BODIES}, docid=["a", "b", "c", "d"], **options)


def test_the_counts_are_those_of_the_texts():
    index = small()
    assert (index.n_docs, len(index), index.fields) == (4, 4, ("title", "body"))
    assert index.terms == sorted(index.terms)
    analyser = Analyser()
    for field, texts in {"title": TITLES, "body": BODIES}.items():
        counts = index.counts(field).toarray()
        for place, text in enumerate(texts):
            terms = analyser(text)
            assert counts[place].tolist() == [terms.count(term) for term in index.terms]
    assert (index.counts().toarray() == index.counts("title").toarray() + index.counts("body").toarray()).all()
    whole = index.postings()
    assert whole.lengths.tolist() == index.counts().toarray().sum(axis=1).tolist()
    assert whole.distinct.tolist() == (index.counts().toarray() > 0).sum(axis=1).tolist()
    assert whole.cf.tolist() == index.counts().toarray().sum(axis=0).tolist()
    assert whole.df.tolist() == (index.counts().toarray() > 0).sum(axis=0).tolist()


def test_documents_have_ids_titles_and_texts():
    index = small()
    assert index.docid.tolist() == ["a", "b", "c", "d"]
    assert index.document("d") == {"title": "Über die Flügel", "body": BODIES[3]}
    assert [index.title(name) for name in "abcd"] == ["On wings", "Boats", "c", "Über die Flügel"]
    with pytest.raises(KeyError, match="no document 'z'"):
        index.text("z", "body")
    with pytest.raises(ValueError, match="store=False"):
        small(store=False).text("a", "body")


def test_a_collection_brings_ids_fields_and_links():
    links = np.array([[0, 1, 2], [1, 0, 2]])
    collection = TextCollection(
        "t", ["x", "y"], {"title": ["", "b"], "body": ["a", "b"]}, {}, links={"citation": links}
    )
    index = build_index(collection, links="citation", fields=["body"])
    assert index.docid.tolist() == ["x", "y"]
    assert index.fields == ("body",)
    assert index.links.tolist() == links.tolist()
    assert build_index(collection).links is None
    with pytest.raises(ValueError, match="links='coupling' is not known; choose one of 'citation'"):
        build_index(collection, links="coupling")


@pytest.mark.parametrize("options", [{}, {"positions": True}, {"store": False}, {"urls": ["u/1", "", "u", "ü"]}])
def test_an_opened_index_is_the_one_that_was_saved(tmp_path, options):
    index = small(links=[[0, 1], [1, 3]], analyser=Analyser(stop_words=["on"], min_length=2), **options)
    index.save(tmp_path / NAME)
    opened = open_index(tmp_path / NAME, verify=not options)
    assert opened.analyser == index.analyser
    assert opened.terms == index.terms
    assert opened.docid.tolist() == index.docid.tolist()
    assert opened.links.tolist() == index.links.tolist()
    assert opened.has_positions == index.has_positions == ("positions" in options)
    assert (None if opened.urls is None else list(opened.urls)) == options.get("urls")
    for name in index._arrays:
        assert opened._arrays[name].dtype == index._arrays[name].dtype
    for ranker in RANKERS:
        for field in (None, "title", "body"):
            assert (
                opened.scores("wings on Flügel", None, ranker, field).tolist()
                == index.scores("wings on Flügel", None, ranker, field).tolist()
            )
    assert list(pickle.loads(pickle.dumps(opened)).search("wings")) == list(index.search("wings"))


def test_arrays_are_mapped_not_read(tmp_path):
    small().save(tmp_path / NAME)
    docs = open_index(tmp_path / NAME)._arrays["whole.docs"]
    assert isinstance(docs.base, np.memmap)
    assert not docs.flags.writeable


def test_the_counts_of_an_opened_index_are_those_of_the_saved(tmp_path):
    index = small()
    index.save(tmp_path / NAME)
    counts = open_index(tmp_path / NAME).counts()
    counts.sum_duplicates()
    assert counts.toarray().tolist() == index.counts().toarray().tolist()
    assert counts[[0], :].sum() == index.counts()[[0], :].sum()


@pytest.mark.parametrize("texts", [[""], ["", ""], ["one"]])
def test_the_smallest_indexes_come_back(tmp_path, texts):
    build_index(texts, positions=True).save(tmp_path / NAME)
    opened = open_index(tmp_path / NAME)
    assert opened.n_docs == len(texts)
    assert [opened.text(str(place), "body") for place in range(len(texts))] == texts
    assert len(opened.search("one")) == texts.count("one")


def test_a_new_index_takes_the_place_of_the_old(tmp_path):
    small().save(tmp_path / NAME)
    old = open_index(tmp_path / NAME)
    build_index(["something else"]).save(tmp_path / NAME)
    assert open_index(tmp_path / NAME).n_docs == 1
    assert old.search("boats")[0].docid == "b"  # what is open stays what it was
    assert os.listdir(tmp_path) == [NAME]


def test_a_failed_save_leaves_the_old_index(tmp_path, monkeypatch):
    small().save(tmp_path / NAME)
    before = sorted(os.listdir(tmp_path))

    def fail(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        build_index(["other"]).save(tmp_path / NAME)
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) == before
    assert open_index(tmp_path / NAME).n_docs == 4


def _save_and_die(folder):
    """Saves an index, and is killed when it is written but not in its place."""
    os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
    build_index(["other"]).save(folder)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_process_leaves_the_old_index_and_its_litter_is_swept(tmp_path):
    small().save(tmp_path / NAME)
    in_use = set(os.listdir(tmp_path))
    child = multiprocessing.get_context("spawn").Process(target=_save_and_die, args=(tmp_path / NAME,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    litter = set(os.listdir(tmp_path)) - in_use
    assert litter
    assert open_index(tmp_path / NAME).n_docs == 4
    build_index(["other"]).save(tmp_path / NAME)
    assert os.listdir(tmp_path) == [NAME]
    assert open_index(tmp_path / NAME).n_docs == 1


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"thesis\.txt is not an index"):
        small().save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    with pytest.raises(IsADirectoryError, match="an index is a file"):
        small().save(tmp_path)
    with pytest.raises(DataFormatError, match="it is not an index"):
        open_index(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_index(tmp_path / "nowhere")


def test_every_damaged_byte_of_an_array_is_noticed(tmp_path):
    small().save(tmp_path / NAME)
    path = tmp_path / NAME
    content = path.read_bytes()
    for entry in parts_of(content)[0]["arrays"].values():
        damaged = bytearray(content)
        damaged[entry["offset"]] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(DataFormatError, match=r"notes\.index: the file is damaged: .* Build the index again"):
            open_index(tmp_path / NAME)


def test_a_file_that_is_cut_is_noticed(tmp_path):
    small().save(tmp_path / NAME)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-1])
    for verify in (True, False):
        with pytest.raises(DataFormatError, match="the file is damaged: its end is missing"):
            open_index(tmp_path / NAME, verify=verify)


def test_an_index_of_another_version_is_refused(tmp_path):
    small().save(tmp_path / NAME)
    path = tmp_path / NAME
    directory, body = parts_of(path.read_bytes())
    path.write_bytes(signed(directory | {"version": 2}, body))
    with pytest.raises(DataFormatError, match=r"it has version 2 of the format .* Build the index again"):
        open_index(tmp_path / NAME)


def rewrite(path, change):
    """The index with other header or arrays but right checksums: what a wrong program, not a broken disk, leaves."""
    with open_container(path, KIND, VERSION) as container:
        header, arrays = container.header, {name: container.array(name) for name in container.arrays}
    change(header, arrays)
    with write_container(path, KIND, VERSION) as writer:
        for name, array in arrays.items():
            writer.add(name, array)
        writer.finish(header)


def wrong_document(header, arrays):
    arrays["body.docs"] = arrays["body.docs"].copy()
    arrays["body.docs"][0] = 1000


def wrong_bounds(header, arrays):
    arrays["title.indptr"] = arrays["title.indptr"][::-1].copy()


def wrong_texts(header, arrays):
    arrays["docid.bounds"] = arrays["docid.bounds"] + 1


def wrong_link(header, arrays):
    arrays["links"] = np.array([[0.0, 9.0, 1.0]])


def half_a_link(header, arrays):
    arrays["links"] = np.array([[0.0, 0.5, 1.0]])


def links_in_one_row(header, arrays):
    arrays["links"] = np.array([0.0, 1.0, 1.0])


def wrong_weight(header, arrays):
    arrays["links"] = np.array([[0.0, 1.0, -1.0]])


def wrong_count(header, arrays):
    arrays["whole.tf"] = arrays["whole.tf"] - 1


def falling_documents(header, arrays):
    indptr, docs = arrays["whole.indptr"], arrays["whole.docs"].copy()
    start = indptr[:-1][np.diff(indptr) > 1][0]
    docs[start : start + 2] = docs[start : start + 2][::-1]
    arrays["whole.docs"] = docs


def repeated_document(header, arrays):
    indptr, docs = arrays["whole.indptr"], arrays["whole.docs"].copy()
    start = indptr[:-1][np.diff(indptr) > 1][0]
    docs[start + 1] = docs[start]
    arrays["whole.docs"] = docs


def wrong_term(header, arrays):
    arrays["body.sequence"] = arrays["body.sequence"] + 1000


def missing_sequence(header, arrays):
    del arrays["title.sequence_bounds"]


def foreign_sequence(header, arrays):
    """Bounds of a field whose name looks like that of bounds: they must fit its own words."""
    name = "x.sequence_bounds"
    header["fields"].append(name)
    for part in ("indptr", "docs", "tf", "sequence"):
        arrays[f"{name}.{part}"] = arrays[f"body.{part}"]
    arrays[f"{name}.sequence_bounds"] = np.array([0, 1, 2, 3, 500])
    arrays["x.sequence.sequence"] = np.zeros(500, dtype=np.int32)


def wrong_type(header, arrays):
    arrays["title.docs"] = arrays["title.docs"].astype(np.float64)


def wrong_shape(header, arrays):
    arrays["title.docs"] = arrays["title.docs"].reshape(1, -1)


def wrong_number(header, arrays):
    header["n_docs"] = float(header["n_docs"])


def wrong_analyser(header, arrays):
    header["analyser"]["stemmer"] = "os.system"


def missing_array(header, arrays):
    del arrays["body.tf"]


@pytest.mark.parametrize(
    "change",
    [
        *(wrong_document, wrong_bounds, wrong_texts, wrong_count, wrong_type, wrong_shape, wrong_number),
        *(wrong_link, half_a_link, links_in_one_row, wrong_weight, wrong_analyser, missing_array),
        *(falling_documents, repeated_document, wrong_term, missing_sequence, foreign_sequence),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, change):
    pytest.importorskip("Stemmer")
    small(positions=True).save(tmp_path / NAME)
    rewrite(tmp_path / NAME, change)
    with pytest.raises(DataFormatError, match="the index is inconsistent"):
        open_index(tmp_path / NAME)


@pytest.mark.parametrize(
    "change",
    [
        lambda directory: directory.pop("header"),
        lambda directory: directory.update(arrays=[]),
        lambda directory: directory["arrays"]["terms"].update(dtype="|O"),
        lambda directory: directory["arrays"]["terms"].update(shape=[-1]),
        lambda directory: directory["arrays"]["terms"].update(offset=4096 * 10**6),
        lambda directory: directory["arrays"]["terms"].pop("offset"),
    ],
)
def test_directories_that_describe_no_index_are_refused(tmp_path, change):
    small().save(tmp_path / NAME)
    path = tmp_path / NAME
    directory, body = parts_of(path.read_bytes())
    change(directory)
    path.write_bytes(signed(directory, body))
    with pytest.raises(DataFormatError, match="the file is damaged"):
        open_index(tmp_path / NAME)


def test_what_cannot_be_indexed_is_refused():
    for documents, options, message in [
        ([], {}, "no document to index"),
        ({}, {}, "no field to index"),
        ("text", {}, "body is the string 'text'"),
        (["a", None], {}, "body of document 1 is None"),
        ({"a": ["x"], "b": ["x", "y"]}, {}, "b has 2 entries but there are 1"),
        ({"whole": ["x"]}, {}, "a field is named 'whole'"),
        ({"a.b": ["x"]}, {}, "a field is named 'a.b'"),
        (["a", "b"], {"docid": [1, "1"]}, "the id '1' belongs to two documents"),
        (["a", "b"], {"docid": [1]}, "docid has 1 entries but there are 2"),
        (["a", "b"], {"urls": ["u"]}, "urls has 1 entries but there are 2"),
        (["a", "b"], {"links": [[0, 2]]}, "links names the document 2, but there are 2"),
        (["a", "b"], {"links": [[0, 1, -1]]}, "negative or not finite"),
        (["a", "b"], {"links": [0, 1]}, "rows of"),
        (["a", "b"], {"links": "citation"}, "names a kind of link"),
        (["a"], {"fields": ["title"]}, "fields='title' is not known"),
        (["a", "b"], {"docid": "xy"}, "docid is the string 'xy'"),
        (["a", "b"], {"docid": ["x\0", "x"]}, r"the id 'x\\x00' contains a null character"),
        ({"t": ["a"]}, {"fields": "t"}, "fields is the string 't'"),
        (["a", "half \ud83d"], {}, "body of document '1' contains a lone surrogate at character 5"),
    ]:
        with pytest.raises(ValueError, match=message):
            build_index(documents, **options)


def test_a_data_frame_is_its_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"number": [7, 8], "title": ["On wings", "Boats"], "body": ["lift", "float"]})
    index = build_index(frame, fields=["title", "body"], docid=frame["number"])
    assert index.document("8") == {"title": "Boats", "body": "float"}
    with pytest.raises(ValueError, match="number of document 0 is 7; it must be a string"):
        build_index(frame)
    with pytest.raises(TypeError, match="pass an Analyser"):
        build_index(["a"], analyser="english")


def test_snippets_show_the_terms():
    text = "word " * 60 + "the camber of a wing. " + "more " * 60
    index = build_index([text, "short\n text", ""])
    shown = index.snippet("0", "wing camber", width=60)
    assert "camber of a wing" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 62
    assert index.snippet("0", "nothing", width=30).startswith("word word")
    assert index.snippet("1", "text") == "short text"
    assert index.snippet("2", "text") == ""


def test_snippets_hold_the_best_window_at_any_width():
    index = build_index(["alpha " + "x " * 200 + "beta gamma " + "y " * 200 + "gamma"])
    for width in range(10, 400, 7):
        shown = index.snippet("0", "beta gamma", width=width)
        assert "beta gamma" in shown
        assert len(shown) <= width + 2


def test_terms_can_be_anything_between_unicode_and_a_single_letter():
    index = build_index(["naïve ÇA 東京 e\u0301", "東京都 ça x"])
    assert index.terms == sorted(["naïve", "ça", "東京", "é", "東京都", "x"])
    assert index.search("東京").docid.tolist() == ["0"]
    assert index.search("É").docid.tolist() == ["0"]
    assert len(index.search("Ça")) == 2
