"""Exported files, and what is read back from them."""

import io
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plackett as pk
from plackett.apps.workbench.collections.text import TextCollection
from plackett.apps.workbench.exporting import escape_id, export_json, export_judgements, unescape_id
from plackett.apps.workbench.files import read_judgements
from plackett.apps.workbench.refining import refine
from plackett.text import build_index
from tests.apps.workbench.serving import Judgement, Preference, by_query, judged_lists

START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = [
    Judgement("ann", "wings and water", "a file.txt", 1.0, START),
    Judgement("ann", "wings and water", "50%", 0.0, START),
    Judgement("ann", "boats #1", "a file.txt", 0.0, START),
    Judgement("ann", "boats #1", "ü", 2.0, START),
]
PAIRS = [Preference("ann", "boats #1", "ü", "50%", START)]


@pytest.fixture(scope="module")
def collection():
    texts = ["wings over water", "wings", "boats on water", "boats and wings", "water"]
    index = build_index(texts, docid=["a file.txt", "50%", "ü", "d", "e"])
    return TextCollection(index, "my notes", "notes")


def content(file):
    return b"".join(file.parts)


def exported(format, collection, judgements, preferences=(), **how):
    if format == "json":
        return export_json(collection, judged_lists(judgements, preferences))
    return export_judgements(format, collection, by_query(judgements, preferences), **how)


@pytest.mark.parametrize("format", ["json", "qrels", "letor"])
def test_what_goes_out_comes_back(collection, format):
    file = exported(format, collection, ROWS, PAIRS)
    found = read_judgements(content(file).decode(), None, collection)
    assert sorted(found.rows) == sorted((one.query, one.docid, one.grade) for one in ROWS)
    assert found.preferences == ([("boats #1", "ü", "50%")] if format == "json" else [])
    assert found.notes == []
    assert file.name.startswith("my-notes.")


def test_a_letor_file_has_the_features_of_judged_documents(collection):
    data = pk.read_letor(io.BytesIO(content(exported("letor", collection, ROWS))), dtype=np.float64)
    assert data.n_docs == 4
    assert data.n_features == len(collection.feature_names)
    hits = collection.score("wings and water", ["a file.txt", "50%"])
    np.testing.assert_allclose(data.X[:2], hits.X)
    assert data.docid.tolist()[:2] == ["a%20file.txt", "50%25"]


def test_a_run_is_the_refined_order_of_every_judged_query(collection):
    run = pk.read_trec_run(io.BytesIO(content(exported("run", collection, ROWS, PAIRS, method="linear"))))
    for query, judged in by_query(ROWS, PAIRS).items():
        hits = collection.search(query)
        refined = refine(hits, judged, "linear")
        own = [unescape_id(docid) for docid in run.docid[run.qid == escape_id(query)].tolist()]
        assert own == [hits.docid[row] for row in refined.order]


@pytest.mark.parametrize(("format", "method"), [("run", "search"), ("letor", "score")])
def test_a_large_file_is_made_while_it_is_sent(collection, monkeypatch, format, method):
    asked = []
    original = getattr(collection, method)
    monkeypatch.setattr(collection, method, lambda query, *rest: asked.append(query) or original(query, *rest))
    queries = ["nothing has these", "wings", "water", "boats"]
    rows = [ROWS[0]._replace(query=query) for query in queries]
    file = exported(format, collection, [rows[0]._replace(docid="gone"), *rows[1:]])
    assert asked == queries[:2]  # the first that has something to say
    first = next(file.parts)
    assert asked == queries[:2]
    assert first.count(b"wings") == first.count(b"\n") > 0
    assert b"boats" in content(file)
    assert asked == queries


def test_json_is_whole_however_many_lists_it_has(collection):
    for n in (0, 1, 3, 4):
        rows = [row._replace(user=f"user {i}") for i in range(n) for row in ROWS]
        pairs = [pair._replace(user=f"user {i}") for i in range(1, n) for pair in PAIRS]
        found = json.loads(content(exported("json", collection, rows, pairs)))
        assert [tuple(entry.values())[:4] for entry in found["judgements"]] == [row[:4] for row in rows]
        assert [tuple(entry.values())[:4] for entry in found["preferences"]] == [pair[:4] for pair in pairs]


@pytest.mark.parametrize("format", ["qrels", "letor", "run"])
def test_nothing_to_export_is_said(collection, format):
    with pytest.raises(ValueError, match="nothing to export"):
        exported(format, collection, [])
    assert json.loads(content(exported("json", collection, [])))["judgements"] == []


def test_documents_that_are_gone_are_said(collection):
    with pytest.raises(ValueError, match="none of the judged documents"):
        exported("letor", collection, [ROWS[0]._replace(docid="gone")])


@given(st.text())
def test_ids_come_back_and_hold_no_blank(text):
    assert unescape_id(escape_id(text)) == text
    assert escape_id(text).split() == [escape_id(text)]
    assert "#" not in escape_id(text)


@pytest.mark.parametrize("text", ["100%", "a%41", "%zz", "GX000-00", "%e4"])
def test_ids_of_others_stay_as_they_are(text):
    assert unescape_id(text) == text
