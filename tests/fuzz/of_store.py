"""Results of a comparison: a damaged one is never an error, it is made again."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import numpy as np

from plackett.evaluation.store import fingerprints, runs
from tests.fuzz.mutations import mutate_bytes, mutate_json, one_of

OURS = ()
SUFFIX = ".run"
KEYS = ({"ranker": "listmle", "fold": 1}, {"ranker": "other", "fold": 2})


@functools.cache
def seeds():
    with tempfile.TemporaryDirectory() as name:
        store = runs.RunStore(name)
        store.put(KEYS[0], {"validation": 0.5, "settings": [{"l2": 0.1}]})
        store.put(KEYS[1], {"seconds": 1.5}, np.linspace(0, 1, 50))
        return [path.read_bytes() for path in sorted(Path(name).iterdir())]


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    change = rng.random()
    if change < 0.2:
        return mutate_bytes(content, rng, seeds)
    text, _, array = content.partition(b"\n")[2].partition(b"\n")
    if change < 0.3:
        text = text[:-1] + b', "deep": ' + b"[" * int(rng.integers(200_000)) + b"}"
    elif change < 0.7:
        text = json.dumps(mutate_json(json.loads(text), rng)).encode()
    elif change < 0.8:
        text = mutate_bytes(text, rng)
    else:
        array = mutate_bytes(array, rng) if array else rng.bytes(16)
    whole = text + b"\n" + array
    return runs._heading(whole) + whole  # signed again


def read(path):
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        store = runs.RunStore(name)
        for key in KEYS:
            store._path(fingerprints.of_key(key)).write_bytes(path.read_bytes())
            store.get(key)
