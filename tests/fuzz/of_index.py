"""Text indexes: header and arrays, also such as were changed and signed again."""

from __future__ import annotations

import functools
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.text import storage
from plackett.text.index import build_index, open_index
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of
from tests.fuzz.outcomes import our_errors

OURS = DataFormatError
SUFFIX = ".index"
TEXTS = {
    "title": ["a boat", "the boats", "ship", ""],
    "body": ["boats sail on the sea", "sea and land", "land", "sail"],
}


@functools.cache
def seeds():
    """Indexes as one file: the length of the header, the header, the arrays."""
    contents = []
    with tempfile.TemporaryDirectory() as name:
        one_field = ["one text", "another text", "a third"]
        for place, (texts, positions) in enumerate(((TEXTS, False), (one_field, False), (TEXTS, True))):
            folder = Path(name, str(place))
            n_docs = len(one_field if texts is one_field else TEXTS["body"])
            docid, links = [f"d{k}" for k in range(n_docs)], [[0, 1]] if positions else None
            build_index(texts, docid=docid, positions=positions, links=links).save(folder)
            header = (folder / storage.HEADER).read_bytes()
            (arrays,) = folder.glob("arrays-*")
            contents.append(_joined(header, arrays.read_bytes()))
    return contents


def _joined(header, arrays):
    return len(header).to_bytes(4, "little") + header + arrays


def _parts(content):
    length = int.from_bytes(content[:4], "little")
    return content[4 : 4 + length], content[4 + length :]


def _signed(body, arrays):
    text = json.dumps(body)
    heading = {"format": storage.FORMAT, "version": storage.VERSION, "crc32": zlib.crc32(text.encode())}
    return _joined(json.dumps(heading).encode() + b"\n" + text.encode() + b"\n", arrays)


def mutate(seeds, rng):
    header, arrays = _parts(one_of(seeds, rng))
    change = rng.random()
    if change < 0.1:
        return _joined(mutate_bytes(header, rng), arrays)
    if change < 0.2:
        return _joined(header, mutate_bytes(arrays, rng))
    body = json.loads(header.split(b"\n")[1])
    if change < 0.6:
        for _ in range(int(rng.integers(1, 3))):
            part = one_of(["facts", "arrays", "arrays"], rng)
            body = body | {part: mutate_json(body[part], rng)}
        return _signed(body, arrays)
    entry = one_of(list(body["arrays"].values()), rng)
    dtype, n = np.dtype(entry["dtype"]), int(np.prod(entry["shape"]))
    start, stop = entry["offset"], entry["offset"] + n * dtype.itemsize
    changed = mutate_array(np.frombuffer(arrays[start:stop], dtype), rng).astype(dtype, copy=False).tobytes()
    changed = changed[: stop - start].ljust(stop - start, b"\0")
    entry["crc32"] = zlib.crc32(changed)
    return _signed(body, arrays[:start] + changed + arrays[stop:])


def read(path):
    header, arrays = _parts(path.read_bytes())
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        (folder / storage.HEADER).write_bytes(header)
        try:
            file = json.loads(header.split(b"\n")[1])["file"]
        except (ValueError, IndexError, KeyError, TypeError, RecursionError):
            file = None
        is_named = isinstance(file, str) and storage.ARRAYS.fullmatch(file)
        (folder / (file if is_named else f"arrays-{0:016x}.bin")).write_bytes(arrays)
        with our_errors():
            index = open_index(folder)
            index.search("boats on the sea")
            index.search("text")
            index.scores("boats on the sea", np.arange(index.n_docs), "lm-jm")
            if index.has_positions:
                index.match('"boats sail" OR "sea and land" OR text')
