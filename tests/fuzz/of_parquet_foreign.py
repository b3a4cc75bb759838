"""Parquet files of other writers: without checksums, with dictionaries, nulls and all kinds of columns."""

from __future__ import annotations

import functools
import io

import numpy as np

import plackett as pk
from tests.fuzz.mutations import mutate_bytes, one_of
from tests.fuzz.outcomes import our_errors

OURS = ValueError
SUFFIX = ".parquet"


@functools.cache
def seeds():
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = {
        "qid": pa.array(np.arange(60) // 6),
        "docid": pa.array([f"document {k}" for k in range(60)]),
        "label": pa.array([None if k % 7 == 0 else k % 3 for k in range(60)], type=pa.int64()),
        "a": pa.array(rng.normal(size=60)),
        "b": pa.array(rng.integers(0, 3, 60), type=pa.int16()),
        "c": pa.array(rng.random(60) < 0.5),
        "d": pa.array(np.zeros(60, dtype=np.float32)),
    }
    table, texts = pa.table(columns), pa.table(columns | {"qid": pa.array([f"q{k // 6}" for k in range(60)])})
    contents = []
    for options in (
        {},
        {"compression": "none"},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"row_group_size": 20},
    ):
        for one in (table, texts):
            content = io.BytesIO()
            pq.write_table(one, content, **options)
            contents.append(content.getvalue())
    return contents


def mutate(seeds, rng):
    return mutate_bytes(one_of(seeds, rng), rng, seeds)


def read(path):
    with our_errors():
        pk.read_parquet(path).describe()
