"""Damaged Parquet files are rejected, whatever sizes they declare."""

from __future__ import annotations

import numpy as np
import pytest

import plackett as pk
from plackett.data.parquet import sizes as parquet_sizes
from plackett.data.parquet import table as parquet_table
from plackett.exceptions import DataFormatError


def test_a_changed_byte_anywhere_in_a_parquet_file_is_found(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    path = tmp_path / "lists.parquet"
    pk.write_parquet(pk.Queries(X, y=np.arange(40) % 3, qid=np.arange(40) // 4), path)
    assert pq.read_table(path).num_rows == 40  # others pass over the checksums
    whole = path.read_bytes()
    for at in np.random.default_rng(1).permutation(len(whole))[:200].tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(DataFormatError):
            pk.read_parquet(path)


def test_sizes_that_parquet_pages_declare_are_checked_before_they_are_read(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"qid": np.arange(900) // 9, "label": np.arange(900) % 3, "a": np.arange(900) / 7}
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table(columns), path, use_dictionary=False, compression="none")
    whole = path.read_bytes()
    assert len(pk.read_parquet(path)) == 100
    chunk = parquet_sizes.chunks_of("", whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8])[0][2]
    header = whole[chunk.start : chunk.start + 10]
    assert header[:2] == b"\x15\x00"  # a data page
    for field in (2, 5):  # the sizes, unpacked and packed, take two bytes each; with five, they are 2 GB
        assert header[field] == 0x15
        size = field + 1
        swollen = header[:size] + b"\xfe\xff\xff\xff\x0f" + whole[chunk.start + size + 2 : chunk.stop]
        path.write_bytes(whole[: chunk.start] + swollen[: chunk.stop - chunk.start] + whole[chunk.stop :])
        for read in (pk.read_parquet, pk.read_table, lambda path: pk.compare("listmle", path, qid="qid")):
            with pytest.raises(DataFormatError, match=r"in column .a., .*declares 900 values in .* which expand to"):
                read(path)


def test_rows_that_a_parquet_file_cannot_hold_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "lists.parquet"
    pk.write_parquet(pk.Queries(np.ones((9, 2)), y=np.arange(9), qid=[1] * 9), path)
    monkeypatch.setattr(parquet_table, "_count_rows", lambda *_: 10**9)
    with pytest.raises(DataFormatError, match="declare 1,000,000,000 rows, which would take 32,000,000,000 bytes"):
        pk.read_parquet(path)
