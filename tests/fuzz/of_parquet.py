"""Parquet files of ``write_parquet``: a changed one must not be read with other values."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from pathlib import Path

import numpy as np

import plackett as pk
from tests.fuzz.mutations import mutate_bytes, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".parquet"


@functools.cache
def seeds():
    rng = np.random.default_rng(0)
    qid, y = np.arange(40) // 5, rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    data = pk.Queries(X, y=y, qid=qid, docid=[f"d{k}" for k in range(40)], feature_names=["a", "b", "c"])
    texts = pk.Queries(X.astype(np.float64).round(), y=y, qid=[f"q{k}" for k in qid])
    coded = pk.Queries(np.where(X < -1, np.nan, X > 0), y=y, qid=qid, categories={1: ["a", "b"]})
    options = [(data, {}), (coded, {}), (data, {"rows_per_group": 10}), (texts, {"compression": "none"}), (texts, {})]
    contents = []
    with tempfile.TemporaryDirectory() as folder:
        for queries, given in options:
            pk.write_parquet(queries, Path(folder, "file"), **given)
            contents.append(Path(folder, "file").read_bytes())
    return contents


def mutate(seeds, rng):
    return mutate_bytes(one_of(seeds, rng), rng, seeds)


def read(path):
    with our_errors():
        queries = pk.read_parquet(path)
    content = [queries.X, queries.y, queries.qid, queries.docid, queries.feature_names, queries.categories]
    found = hashlib.sha256(repr([None if part is None else np.asarray(part).tolist() for part in content]).encode())
    if len(_known()) < len(seeds()):  # read the seeds themselves first
        _known().append(found.hexdigest())
    assert found.hexdigest() in _known(), "read with other values"


@functools.cache
def _known():
    """Return the digests of the seeds."""
    return []
