"""Containers: what was written comes back, and files that were damaged or tampered with are rejected."""

from __future__ import annotations

import io
import json
import os
import pickle

import numpy as np
import pytest

from plackett.storage import checksums, container
from plackett.storage.container import ContainerError, ContainerWriter, open_container, write_container
from plackett.storage.models.read import load
from tests.storage.containers import parts_of, sealed, signed, with_array

ARRAYS = {
    "matrix": np.arange(12.0).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    "big": np.arange(5, dtype=">i4"),
    "words": np.array(["a", "wörter", ""]),
    "bytes": np.array([b"ab", b"c"]),
    "flags": np.array([True, False]),
    "scalar": np.array(7.5),
    "empty": np.empty((0, 3)),
    "long": np.longdouble([1, 2]) / 3,
}
HEADER = {"name": "é", "values": [1, 2.5, None, float("inf")], "nested": {"a": True}}


def contained(arrays=ARRAYS, header=HEADER, kind="plackett test", version=1):
    file = io.BytesIO()
    writer = ContainerWriter(file, kind, version)
    for name, array in arrays.items():
        writer.add(name, array)
    writer.finish(header)
    return file.getvalue()


def read(content):
    with open_container(io.BytesIO(content), "plackett test", 1) as found:
        return {name: found.array(name) for name in found.arrays}


def assert_refused(content, message):
    with pytest.raises(ContainerError, match=message):
        read(content)


def test_arrays_and_header_come_back(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contained())
    for source in (path, io.BytesIO(path.read_bytes())):
        with open_container(source, "plackett test", 1) as found:
            assert found.header == HEADER
            assert list(found.arrays) == list(ARRAYS)
            for name, array in ARRAYS.items():
                back = found.array(name)
                assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
                assert back.flags.writeable
                assert back.flags.f_contiguous == array.flags.f_contiguous


def test_mapped_arrays_outlive_the_open_file_and_are_aligned(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contained())
    with open_container(path, "plackett test", 1) as found:
        mapped = {name: found.mapped(name) for name in ARRAYS}
        fixed = found.mapped("matrix", "r")
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(mapped[name], array)
        assert not array.size or mapped[name].ctypes.data % container.ALIGNMENT == 0
    mapped["matrix"][:] = -1  # copy-on-write
    assert read(path.read_bytes())["matrix"].tolist() == ARRAYS["matrix"].tolist()
    assert not fixed.flags.writeable


def test_rows_can_be_written_in_any_order_and_arrays_can_grow(tmp_path):
    with write_container(tmp_path / "file", "plackett test", 1) as writer:
        writer.reserve("X", np.float32, (4, 2))
        writer.write_rows("X", 2, np.full((2, 2), 2, np.float32))
        writer.append("ids", np.array([5]))
        writer.append("ids", np.array([6, 7]))
        assert writer.mapped("ids").tolist() == [5, 6, 7]
        writer.write_rows("X", 0, np.full((2, 2), 1, np.float32))
        writer.finish({})
    found = read((tmp_path / "file").read_bytes())
    assert found["X"].tolist() == [[1, 1], [1, 1], [2, 2], [2, 2]]
    assert found["ids"].tolist() == [5, 6, 7]


def test_equal_contents_give_equal_files():
    assert contained() == contained()


def test_an_unfinished_container_leaves_the_previous_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contained())
    with write_container(path, "plackett test", 1) as writer:
        writer.add("other", np.zeros(3))
    with pytest.raises(KeyError), write_container(path, "plackett test", 1) as writer:
        raise KeyError
    assert path.read_bytes() == contained()
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_stays_a_link_and_permissions_are_kept(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    with write_container(tmp_path / "link", "plackett test", 1) as writer:
        writer.finish(HEADER)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert read((tmp_path / "file").read_bytes()) == {}


@pytest.mark.parametrize("array", [np.array([{}]), np.zeros(2, "M8[D]"), np.zeros(2, [("a", "f8")])], ids=str)
def test_only_numbers_booleans_and_text_are_stored(array):
    with pytest.raises(ValueError, match="only numbers, booleans and text can be stored"):
        contained({"x": array})


class Bomb:
    def __reduce__(self):
        return os.abort, ()


def test_other_files_are_told_apart():
    assert_refused(b"", "this is not a plackett test: it is empty")
    assert_refused(pickle.dumps(Bomb()), "it begins like a pickle. Nothing in it was run")
    assert_refused(b"PK\x03\x04", "it is another kind of file")
    assert_refused(contained(kind="plackett cache"), "this is not a plackett test: it is a 'plackett cache'")
    assert_refused(
        contained(version=7), r"it has version 7 of the format and was written by plackett '.*reads version 1"
    )


def test_a_file_that_was_cut_off_anywhere_is_rejected():
    content = contained()
    for length in range(len(content)):
        with pytest.raises(ContainerError):
            read(content[:length])
    assert_refused(content + b"\0", "its end is missing")


def test_any_changed_byte_is_noticed():
    content = contained()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x21
        with pytest.raises(ContainerError):
            read(bytes(damaged))


def test_checksums_are_compared_unless_told_otherwise(tmp_path, monkeypatch):
    content = bytearray(contained({"x": np.arange(3 * checksums.BLOCK, dtype=np.uint8)}))
    content[2 * checksums.BLOCK] ^= 1
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ContainerError, match="its checksums are wrong"), open_container(path, "plackett test", 1):
        pass
    with open_container(path, "plackett test", 1, verify=False):
        pass
    monkeypatch.setenv("PLACKETT_VERIFY", "0")
    with open_container(path, "plackett test", 1):
        pass
    with (
        pytest.raises(ContainerError, match="its checksums are wrong"),
        open_container(path, "plackett test", 1, verify=True),
    ):
        pass
    monkeypatch.setenv("PLACKETT_VERIFY", "yes")
    with (
        pytest.raises(ValueError, match="PLACKETT_VERIFY is 'yes'; it must be 0 or 1"),
        open_container(path, "plackett test", 1),
    ):
        pass


FORGED = {
    "objects": {"dtype": "|O"},
    "records": {"dtype": "f8,f8"},
    "no such type": {"dtype": "<f3"},
    "text of no width": {"dtype": "<U0"},
    "a type that is a number": {"dtype": 8},
    "huge": {"shape": [10**15]},
    "huge by product": {"shape": [2**32, 2**32, 0]},
    "many dimensions": {"shape": [1] * 70},
    "negative": {"shape": [-3]},
    "negative twice": {"shape": [-1, -3]},
    "a length that is true": {"shape": [True]},
    "a shape of text": {"shape": "12"},
    "beyond the end": {"offset": 10**15},
    "before the start": {"offset": -64},
    "in the magic": {"offset": 0},
    "not aligned": {"offset": 65},
    "another order": {"order": "K"},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED.keys())
def test_a_forged_array_is_rejected(change):
    directory, body = parts_of(contained({"x": np.arange(3.0)}))
    directory["arrays"]["x"] |= change
    assert_refused(signed(directory, body), "the file is damaged")


def test_arrays_that_share_bytes_are_rejected():
    directory, body = parts_of(contained({"x": np.arange(30.0)}))
    directory["arrays"]["y"] = directory["arrays"]["x"]
    assert_refused(signed(directory, body), "two of its arrays overlap")


@pytest.mark.parametrize(
    ("array", "dtype"), [(np.array([7], np.uint8), "|b1"), (np.array([2**32 - 1], np.uint32), "<U1")], ids=["b", "U"]
)
def test_bytes_that_are_not_booleans_or_characters_are_rejected(array, dtype, tmp_path):
    directory, body = parts_of(contained({}))
    directory, body = with_array(directory, body, "x", array)
    directory["arrays"]["x"]["dtype"] = dtype
    content = signed(directory, body)
    assert_refused(content, "an array holds")
    (tmp_path / "file").write_bytes(content)
    with open_container(tmp_path / "file", "plackett test", 1) as found, pytest.raises(ContainerError):
        found.mapped("x")


@pytest.mark.parametrize("text", ["5", "null", "[]", "{}", "{", "[" * 100_000, '{"kind": "plackett test"}', "\xff"])
def test_a_directory_that_is_none_is_rejected(text):
    assert_refused(sealed(text.encode("latin-1"), parts_of(contained())[1]), "the file is damaged")


def test_a_directory_that_would_take_much_memory_is_rejected():
    directory, body = parts_of(contained())
    directory["header"] = [[]] * 1_000_000
    assert_refused(sealed(json.dumps(directory).encode(), body), "its directory holds too many values")


def test_an_error_names_the_path(tmp_path):
    path = tmp_path / "old.plackett"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"old\.plackett: this is not a plackett model"):
        load(path)
