"""Caches of LETOR text and Parquet; also such as were changed and signed again, whose checksums are right."""

from __future__ import annotations

import functools
import hashlib
import json
import struct
import tempfile
from pathlib import Path

import numpy as np

import plackett as pk
from plackett.data import cache_file
from plackett.storage.checksums import BLOCK
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".plackett-cache"
MADE_FROM = [[1, 2, "0" * 32]]
_TAIL = 16 + len(cache_file.MAGIC)


@functools.cache
def seeds():
    rng = np.random.default_rng(0)
    contents = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "".join(f"{k % 3} qid:{k // 4} 1:{rng.random():.3f} {2 + k % 4}:{k} #docid = D{k}\n" for k in range(24))
        (folder / "a.txt").write_text(text)
        (folder / "b.txt").write_text(text.replace("qid:", "qid:x") + text[: text.index("\n") + 1])
        for file, options in (("a.txt", {}), ("a.txt", {"sparse": True}), ("b.txt", {})):
            pk.read_letor(folder / file, cache=folder / "made", **options)
        pk.write_parquet(pk.read_letor(folder / "a.txt"), folder / "a.parquet")
        pk.read_parquet(folder / "a.parquet", cache=folder / "made")
        for path in sorted((folder / "made").iterdir()):
            header, body = _parts(path.read_bytes())
            contents.append(_signed(header | {"made_from": MADE_FROM}, body))
    return contents


def _parts(content):
    start, length = struct.unpack("<QQ", content[-_TAIL:][:16])
    return json.loads(content[start : start + length]), content[:start]


def _signed(header, body):
    if isinstance(header, dict) and "blocks" in header:
        import zlib

        header = header | {"blocks": [zlib.crc32(body[k : k + BLOCK]) for k in range(0, len(body), BLOCK)]}
    text = json.dumps(header).encode()
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return body + text + digest + struct.pack("<QQ", len(body), len(text)) + cache_file.MAGIC


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    change = rng.random()
    if change < 0.2:
        return mutate_bytes(content, rng, seeds)
    header, body = _parts(content)
    if change < 0.6:
        for _ in range(int(rng.integers(1, 3))):
            header = header | {"arrays": mutate_json(header["arrays"], rng)}
            if rng.random() < 0.3:
                header = mutate_json(header, rng)
                break
        return _signed(header, body)
    entry = one_of(list(header["arrays"].values()), rng)
    dtype, n = np.dtype(entry["kind"]), int(np.prod(entry["shape"]))
    start, stop = entry["offset"], entry["offset"] + n * dtype.itemsize
    changed = mutate_array(np.frombuffer(body[start:stop], dtype), rng).astype(dtype, copy=False).tobytes()
    changed = changed[: stop - start].ljust(stop - start, b"\0")
    return _signed(header, body[:start] + changed + body[stop:])


def read(path):
    try:
        header, _ = _parts(path.read_bytes())
        options = header["options"]
        made_from = header["made_from"]
        queries = cache_file.load(path, made_from, options)
    except Exception as error:  # readers of the cache then read the file that it was made from
        raise ValueError("unusable") from error
    with our_errors():
        queries.describe()
        queries[: len(queries) // 2].describe()
        queries.subset(queries.ids[:1]).X.sum()
