"""Opening: the first bytes decide, a path changes only when all is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys

import pytest
import zstandard

from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes, write_bytes

TEXT = b"one\ntwo\n" * 1000
PACK = {
    "plain": bytes,
    "gz": gzip.compress,
    "two gz members": lambda text: gzip.compress(text[:7]) + gzip.compress(text[7:]),
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "two zst frames": lambda text: b"".join(map(zstandard.ZstdCompressor().compress, (text[:7], text[7:]))),
}


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())
def test_the_first_bytes_say_how_a_file_is_compressed(pack, tmp_path):
    path = tmp_path / "misleading.gz"
    path.write_bytes(pack(TEXT))
    with open_bytes(path) as file:
        assert file.readline() == b"one\n"
        assert file.read() == TEXT[4:]
    with open_bytes(str(path)) as file:
        assert file.read(10_000_000) == TEXT


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())
def test_a_callers_file_is_read_and_left_open(pack):
    source = io.BytesIO(pack(TEXT))
    with open_bytes(source) as file:
        assert file.read() == TEXT
    assert not source.closed


def test_text_that_begins_like_a_compressed_file_is_text():
    with open_bytes(io.BytesIO(b"BZh9 Q0 a 1 2 tag\n")) as file:
        assert file.read() == b"BZh9 Q0 a 1 2 tag\n"


def test_text_files_and_standard_input_are_read_too(tmp_path, monkeypatch):
    with open_bytes(io.StringIO("é\n")) as file:
        assert file.read() == "é\n".encode()
    path = tmp_path / "text"
    path.write_bytes(b"abc\n")
    with path.open() as text, open_bytes(text) as file:
        assert file.read() == b"abc\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"abc")))))
    with open_bytes("-") as file:
        assert file.read() == b"abc"


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_a_file_that_was_cut_off_is_an_error_with_its_name(kind, tmp_path):
    path = tmp_path / "cut"
    path.write_bytes(PACK[kind](os.urandom(5000))[:-20])
    with (
        pytest.raises(DataFormatError, match="cut: the compressed data are damaged or truncated"),
        open_bytes(path) as file,
    ):
        file.read()


def test_a_damaged_gzip_file_is_an_error_with_its_name(tmp_path):
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    path = tmp_path / "bad"
    path.write_bytes(packed)
    with pytest.raises(DataFormatError, match="bad: the compressed data are damaged"), open_bytes(path) as file:
        file.read()


def test_a_missing_file_and_a_wrong_source_have_the_usual_errors(tmp_path):
    with pytest.raises(FileNotFoundError), open_bytes(tmp_path / "none"):
        pass
    with pytest.raises(TypeError, match="source is a int; expected a path, '-' or a file object"), open_bytes(7):
        pass


def test_sources_have_names_for_messages(tmp_path):
    assert name_of("a/b.txt") == "a/b.txt"
    assert name_of(tmp_path / "c") == str(tmp_path / "c")
    assert name_of("-") == "standard input"
    assert name_of(io.BytesIO()) == "<BytesIO>"


@pytest.mark.parametrize("ending", ["txt", "gz", "xz", "bz2", "zst"])
def test_what_was_written_is_read_back(ending, tmp_path):
    path = tmp_path / f"out.{ending}"
    with write_bytes(path) as file:
        file.write(TEXT)
    assert (path.read_bytes() == TEXT) == (ending == "txt")
    with open_bytes(path) as file:
        assert file.read() == TEXT
    assert os.listdir(tmp_path) == [path.name]


def test_an_error_while_writing_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(TypeError), write_bytes(path) as file:
        file.writelines([b"new", "not bytes"])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_bytes(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_file_objects_and_standard_output_are_written(capsysbinary):
    binary, text = io.BytesIO(), io.StringIO()
    for target in (binary, text, "-"):
        with write_bytes(target) as file:
            file.write("é\n".encode())
    assert binary.getvalue() == "é\n".encode()
    assert text.getvalue() == "é\n"
    assert capsysbinary.readouterr().out == "é\n".encode()


def test_a_device_is_written_to_and_not_replaced():
    with write_bytes(os.devnull) as file:
        file.write(b"gone")
    assert not os.path.isfile(os.devnull)
