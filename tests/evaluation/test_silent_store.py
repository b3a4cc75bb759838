"""The store of finished results gives back what is whole and was made from the same things, and nothing else."""

import json

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation import runs
from plackett.evaluation.runs import RunStore

KEY = {"ranker": "listmle", "fold": 1}


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 6, 4, random_state=0)


def forged(content, change=lambda body: None, rest=None):
    """A file whose checksum is right, though its record was changed."""
    text, _, array = content.partition(b"\n")[2].partition(b"\n")
    body = json.loads(text)
    change(body)
    whole = json.dumps(body).encode() + b"\n" + (array if rest is None else rest)
    return runs._heading(whole) + whole


def wrapped(text):
    return runs._heading(text) + text


def with_record(content, **values):
    return forged(content, lambda body: body["record"].update(values))


DAMAGES = {
    "nothing": lambda content: b"",
    "random bytes": lambda content: np.random.default_rng(0).bytes(5000),
    "half": lambda content: content[: len(content) // 2],
    "deep JSON, no checksum": lambda content: b"[" * 200_000,
    "deep JSON": lambda content: wrapped(b"[" * 200_000),
    "deep record": lambda content: wrapped(b'{"key":' + b"[" * 200_000),
    "no object": lambda content: wrapped(b"[1]\n"),
    "no record": lambda content: forged(content, lambda body: body.pop("record")),
    "a list as record": lambda content: forged(content, lambda body: body.update(record=[1])),
    "huge number": lambda content: wrapped(b"1" * 100_000),
    "huge shape": lambda content: forged(
        content, lambda body: body.update(array={"dtype": "<f8", "shape": [1 << 62, 1 << 62]})
    ),
    "a shape of other words": lambda content: forged(
        content, lambda body: body.update(array={"dtype": "<f8", "shape": ["x"]})
    ),
    "huge items": lambda content: forged(
        content, lambda body: body.update(array={"dtype": "V2000000000", "shape": [1]})
    ),
    "objects": lambda content: forged(content, lambda body: body.update(array={"dtype": "O", "shape": [6]})),
    "another place in the grid": lambda content: with_record(content, chosen=10**9),
    "words for numbers": lambda content: with_record(content, validation="much", seconds=None, chosen="1"),
    "one value too many": lambda content: with_record(content, peak_mb=3.0),
    "warnings that are none": lambda content: with_record(content, warnings=[1]),
    "features that are none": lambda content: with_record(content, features=[[10**9, 1.0, 0.5]]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_again(data, tmp_path, damage):
    rankers = {"a": (pk.LinearRanker(max_iter=3), {"l2": [1.0, 0.1]})}
    first = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    for path in sorted(tmp_path.iterdir()):
        path.write_bytes(damage(path.read_bytes()))
    again = pk.compare(rankers, data, cv=2, metrics="ndcg@5", folder=tmp_path)
    assert again.failures == {}
    assert again.mean() == first.mean()
    assert again.floors["best feature"].mean() == first.floors["best feature"].mean()


def test_a_long_record_is_not_parsed(tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    store.put(KEY, {"values": [[]] * 100})
    assert store.get(KEY) is not None
    monkeypatch.setattr(runs, "LONGEST_RECORD", 200)
    assert store.get(KEY) is None


def test_a_trial_of_a_search_that_is_damaged_is_made_again(data, tmp_path):
    found = pk.select(pk.LinearRanker(max_iter=3), data, grid={"l2": [1.0, 0.1]}, cv=2, store=tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(with_record(path.read_bytes(), value="much"))
    again = pk.select(pk.LinearRanker(max_iter=3), data, grid={"l2": [1.0, 0.1]}, cv=2, store=tmp_path)
    assert [trial.value for trial in again.trials] == [trial.value for trial in found.trials]
