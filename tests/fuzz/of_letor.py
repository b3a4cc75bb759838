"""LETOR text, plain and compressed, read into memory and into a cache."""

from __future__ import annotations

import gzip
import lzma
import tempfile

import numpy as np

import plackett as pk
from tests.fuzz.mutations import mutate_bytes, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".txt"
ROWS = b"2 qid:10 1:0.5 2:1e-3 7:NULL #docid = GX1 inc = 1\n0 qid:10 1:.25 3:-7 # x\n\n# comment\n1 qid:11 2:3 9:1\n"
TEXT_IDS = b"1 qid:q-1 1:1 2:2\n0 qid:q-1 1:2 2:12345678901234567890\n3 qid:007 1:inf\n"


def seeds():
    return [ROWS, TEXT_IDS, gzip.compress(ROWS, mtime=0), lzma.compress(TEXT_IDS)]


def mutate(seeds, rng):
    return mutate_bytes(one_of(seeds, rng), rng, seeds)


def read(path):
    with our_errors():
        queries = pk.read_letor(path)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            mapped = pk.read_letor(path, cache=folder)
            for one, other in ((queries.y, mapped.y), (queries.qid, mapped.qid)):
                assert np.array_equal(one, other), "the cache holds other values"
            queries.describe()
