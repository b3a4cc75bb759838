"""Results of a comparison: a damaged one is computed again, without an error."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import numpy as np

from plackett.evaluation.store import results as runs
from plackett.evaluation.store.keys import key_fingerprint
from tests.fuzz.mutations import mutate_bytes, mutate_json, one_of
from tests.storage.containers import parts_of, sealed, signed

OURS = ()
SUFFIX = ".run"
KEYS = ({"ranker": "listmle", "fold": 1}, {"ranker": "other", "fold": 2})


@functools.cache
def seeds():
    with tempfile.TemporaryDirectory() as name:
        store = runs.ResultStore(name)
        store.put(KEYS[0], {"validation": 0.5, "settings": [{"l2": 0.1}]})
        store.put(KEYS[1], {"seconds": 1.5}, np.linspace(0, 1, 50))
        return [path.read_bytes() for path in sorted(Path(name).iterdir())]


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    change = rng.random()
    if change < 0.2:
        return mutate_bytes(content, rng, seeds)
    directory, body = parts_of(content)
    text = json.dumps(directory).encode()
    if change < 0.3:
        return sealed(text[:-1] + b', "deep": ' + b"[" * int(rng.integers(200_000)) + b"}", body)
    if change < 0.7:
        return signed(mutate_json(directory, rng), body)
    if change < 0.8:
        return sealed(mutate_bytes(text, rng), body)
    return signed(directory, mutate_bytes(body, rng))


def read(path):
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        store = runs.ResultStore(name)
        for key in KEYS:
            store._path(key_fingerprint(key)).write_bytes(path.read_bytes())
            store.get(key)
