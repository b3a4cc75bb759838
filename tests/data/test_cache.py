"""Caches of data files: any changed byte is found."""

from __future__ import annotations

import numpy as np
import pytest

import plackett as pk
from plackett.data import cache
from plackett.exceptions import DataWarning
from plackett.storage import checksums
from plackett.storage.container import ContainerError


@pytest.mark.parametrize("kind", ["letor", "parquet"])
def test_a_changed_byte_anywhere_in_a_cache_is_found(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 150)).astype(np.float32).round(2), rng.integers(0, 3, 4000)
    data = pk.Queries(X, y=y, qid=np.arange(4000) // 20)
    path = tmp_path / f"lists.{kind}"
    if kind == "letor":
        pk.write_letor(data, path)
        read = pk.read_letor
    else:
        pk.write_parquet(data, path, compression="none")
        read = pk.read_parquet
    asked, real = [], cache.load
    monkeypatch.setattr(cache, "load", lambda *arguments: asked.append(arguments) or real(*arguments))
    read(path, cache=True)
    place = asked[-1][0]
    with open(place, "r+b") as file:
        size = file.seek(0, 2)
        assert size > 2 * checksums.BLOCK
        for at in rng.integers(0, size, 200).tolist():
            file.seek(at)
            old = file.read(1)
            for byte in (bytes([old[0] ^ 1 << int(rng.integers(8))]), old):
                file.seek(at)
                file.write(byte)
                file.flush()
                if byte != old:
                    with pytest.raises(ContainerError):
                        real(*asked[-1])
        real(*asked[-1])  # all is as it was
        file.seek(checksums.BLOCK + 5)
        file.write(b"other")
    monkeypatch.setenv("PLACKETT_VERIFY", "0")
    real(*asked[-1])
    monkeypatch.delenv("PLACKETT_VERIFY")
    with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
        found = read(path, cache=True)
    assert np.array_equal(found.X, X)
