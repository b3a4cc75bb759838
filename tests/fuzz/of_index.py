"""Text indexes, also changed ones with correct checksums."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.text import build_index, open_index
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of
from tests.fuzz.outcomes import our_errors
from tests.storage.containers import array_in, parts_of, signed, with_array

OURS = DataFormatError
SUFFIX = ".index"
TEXTS = {
    "title": ["a boat", "the boats", "ship", ""],
    "body": ["boats sail on the sea", "sea and land", "land", "sail"],
}


@functools.cache
def seeds():
    contents = []
    with tempfile.TemporaryDirectory() as name:
        one_field = ["one text", "another text", "a third"]
        for place, (texts, positions) in enumerate(((TEXTS, False), (one_field, False), (TEXTS, True))):
            path = Path(name, str(place))
            n_docs = len(one_field if texts is one_field else TEXTS["body"])
            docid, links = [f"d{k}" for k in range(n_docs)], [[0, 1]] if positions else None
            build_index(texts, docid=docid, positions=positions, links=links).save(path)
            contents.append(path.read_bytes())
    return contents


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    if rng.random() < 0.2:
        return mutate_bytes(content, rng)
    directory, body = parts_of(content)
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 3))):
            part = one_of(["header", "arrays", "arrays"], rng)
            directory = directory | {part: mutate_json(directory[part], rng)}
        return signed(directory, body)
    name = one_of(list(directory["arrays"]), rng)
    return signed(*with_array(directory, body, name, mutate_array(array_in(directory, body, name), rng)))


def read(path):
    with our_errors():
        index = open_index(path)
        index.search("boats on the sea")
        index.search("text")
        index.scores("boats on the sea", np.arange(index.n_docs), "lm-jm")
        if index.has_positions:
            index.match('"boats sail" OR "sea and land" OR text')
