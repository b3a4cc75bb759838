"""Caches of LETOR text and Parquet, also changed ones with correct checksums."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

import plackett as pk
from plackett.data import cache
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of
from tests.fuzz.outcomes import our_errors
from tests.storage.containers import array_in, parts_of, signed

OURS = ValueError
SUFFIX = ".plackett-cache"
MADE_FROM = [[1, 2, "0" * 32]]


@functools.cache
def seeds():
    rng = np.random.default_rng(0)
    contents = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "".join(f"{k % 3} qid:{k // 4} 1:{rng.random():.3f} {2 + k % 4}:{k} #docid = D{k}\n" for k in range(24))
        (folder / "a.txt").write_text(text)
        (folder / "b.txt").write_text(text.replace("qid:", "qid:x"))
        for file, options in (("a.txt", {}), ("a.txt", {"sparse": True}), ("b.txt", {})):
            pk.read_letor(folder / file, cache=folder / "made", **options)
        pk.write_parquet(pk.read_letor(folder / "a.txt"), folder / "a.parquet")
        pk.read_parquet(folder / "a.parquet", cache=folder / "made")
        for path in sorted((folder / "made").iterdir()):
            header, body = parts_of(path.read_bytes())
            contents.append(signed(header | {"header": header["header"] | {"made_from": MADE_FROM}}, body))
    return contents


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    change = rng.random()
    if change < 0.2:
        return mutate_bytes(content, rng, seeds)
    header, body = parts_of(content)
    if change < 0.6:
        for _ in range(int(rng.integers(1, 3))):
            part = one_of(["header", "arrays", "arrays"], rng)
            header = header | {part: mutate_json(header[part], rng)}
            if rng.random() < 0.3:
                header = mutate_json(header, rng)
                break
        return signed(header, body)
    name = one_of(list(header["arrays"]), rng)
    old, start = array_in(header, body, name), header["arrays"][name]["offset"]
    changed = mutate_array(old, rng).astype(old.dtype, copy=False).tobytes()[: old.nbytes].ljust(old.nbytes, b"\0")
    return signed(header, body[:start] + changed + body[start + old.nbytes :])


def read(path):
    try:
        header, _ = parts_of(path.read_bytes())
        options, made_from = header["header"]["options"], header["header"]["made_from"]
        queries = cache.load(path, made_from, options)
    except Exception as error:  # readers of the cache fall back to the source file
        raise ValueError("unusable") from error
    with our_errors():
        queries.describe()
        queries[: len(queries) // 2].describe()
        queries.subset(queries.ids[:1]).X.sum()
