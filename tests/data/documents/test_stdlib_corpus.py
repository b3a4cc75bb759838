"""The collection that every machine has: what it holds, that it is always the same, that making it is harmless."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from plackett.data.documents.stdlib_corpus import MODULES, _items, read_stdlib
from plackett.evaluation.evaluate import evaluate
from plackett.text import build_index

FORBIDDEN = ["antigravity", "this", "idlelib", "tkinter", "turtle", "turtledemo", "test", "pdb", "rlcompleter"]


@pytest.fixture(scope="module")
def collection():
    return read_stdlib()


def test_documents_are_what_python_documents(collection):
    assert collection.n_docs > 2_000
    assert len(set(collection.docid)) == collection.n_docs
    push = collection.document("heapq.heappush")
    assert push["title"] == "heapq.heappush"
    assert push["signature"] == "(heap, item, /)"
    assert push["body"].startswith("Push item onto heap")
    for name in ("json", "json.dumps", "collections.OrderedDict", "collections.OrderedDict.popitem", "os.path.join"):
        assert name in collection.docid
    assert not [name for name in collection.docid if any(part.startswith("_") for part in name.split("."))]


def test_nothing_in_it_depends_on_addresses(collection):
    assert not [text for texts in collection.fields.values() for text in texts if "at 0x" in text]


def test_links_tie_things_to_what_holds_them(collection):
    links = collection.links["containment"]
    pairs = {(collection.docid[one], collection.docid[other]) for one, other, _ in links}
    assert ("json", "json.dumps") in pairs
    assert ("json.dumps", "json") in pairs
    assert ("collections.OrderedDict.popitem", "collections.OrderedDict") in pairs
    assert ("json.decoder", "json") in pairs
    assert all((other, one) in pairs and one != other for one, other in pairs)


def test_queries_are_words_of_the_document_they_ask_for(collection):
    assert collection.n_queries == len(collection.qrels) == 200
    assert len(set(collection.qrels.docid)) == 200
    for qid, name in zip(collection.qrels.qid, collection.qrels.docid, strict=True):
        words, document = collection.queries[qid].split(), collection.document(name)
        assert len(set(words)) == 4
        assert all(word in document["body"].lower() for word in words)
        assert not set(words) & set(name.lower().replace("_", ".").split("."))


def test_seed_and_sizes_decide_the_queries(collection):
    assert read_stdlib().queries == collection.queries
    other = read_stdlib(n_queries=30, n_words=2, seed=1)
    assert other.n_queries == 30
    assert all(len(query.split()) == 2 for query in other.queries.values())
    assert list(other.queries.values()) != list(read_stdlib(n_queries=30, n_words=2).queries.values())
    assert other.docid == collection.docid
    with pytest.raises(ValueError, match="n_words=0"):
        read_stdlib(n_words=0)


def test_searching_finds_the_known_items(collection):
    index = build_index(collection, links="containment")
    found = evaluate(collection.qrels, index.run(collection.queries, k=100), metrics=["rr"]).mean()["rr"]
    assert found > 0.6
    shuffled = dict(zip(collection.queries, np.roll(list(collection.queries.values()), 1), strict=True))
    assert evaluate(collection.qrels, index.run(shuffled, k=100), metrics=["rr"]).mean()["rr"] < 0.05


CODE = """
import {extra}
import hashlib, json, signal, sys, threading, warnings
from plackett.data.documents.stdlib_corpus import read_stdlib
filters, handlers = list(warnings.filters), [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
collection = read_stdlib()
content = repr((collection.docid, collection.fields, collection.queries, collection.links["containment"].tolist()))
assert warnings.filters == filters
assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
assert threading.active_count() == 1
print(json.dumps([hashlib.sha256(content.encode()).hexdigest(), sorted(sys.modules)]))
"""


def test_other_processes_make_the_same_and_making_it_is_harmless():
    answers = []
    for seed, extra in (("1", "sys"), ("2", "sklearn, plackett._native, hypothesis")):
        command = [sys.executable, "-W", "ignore", "-c", CODE.format(extra=extra)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert done.stderr == ""
        assert len(done.stdout.splitlines()) == 1
        answers.append(json.loads(done.stdout))
    assert answers[0][0] == answers[1][0]
    assert not set(FORBIDDEN) & set(answers[0][1])


def test_a_function_that_another_package_replaced_changes_nothing(monkeypatch):
    before = _items()
    monkeypatch.setattr(inspect, "getfile", lambda thing: None)  # as torch does
    assert _items.__wrapped__() == before


def test_the_list_names_nothing_with_side_effects():
    assert not {name.partition(".")[0] for name in MODULES} & set(FORBIDDEN)
    assert len(set(MODULES)) == len(MODULES)
    assert {name.partition(".")[0] for name in MODULES} <= set(sys.stdlib_module_names)
