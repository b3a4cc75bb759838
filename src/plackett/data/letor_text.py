"""The bytes of LETOR files as waves of whole lines: plain or compressed, one file or several, or standard input.

Files are read, never memory-mapped: a mapped file that another process cuts short ends ours without a message.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError

WAVE_BYTES = 1 << 23  # read at once, while the wave before is parsed
CHUNK_BYTES = 1 << 19  # parsed at once by one thread
_COMPRESSED_BYTES = 1 << 16  # handed to a decompressor at once, which may make a thousand times as much of it
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_LONGEST_MAGIC = 6
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Whole lines of one input: their bytes, which end in a newline, and the lines before and in them."""

    text: np.ndarray
    name: str
    lines_before: int
    n_lines: int


class Input(NamedTuple):
    """Where lines come from: a path, or an open binary file. ``name`` is how messages call it."""

    name: str
    path: Path | None
    file: object | None


def inputs_of(source: object) -> list[Input]:
    """What a caller gave as source, one entry per file."""
    if isinstance(source, (str, os.PathLike)):
        if os.fspath(source) == "-":
            return [Input("standard input", None, sys.stdin.buffer)]
        path = Path(source)
        return [Input(str(path), path, None)]
    if hasattr(source, "read"):
        if isinstance(source.read(0), str):
            raise TypeError('a file object must be binary: open it with mode "rb".')
        return [Input(str(getattr(source, "name", "input")), None, source)]
    if isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray)):
        inputs = [entry for one in source for entry in inputs_of(one)]
        if not inputs:
            raise ValueError("no file was given to read from.")
        return inputs
    raise TypeError(f'source is {type(source).__name__}; give a path, a list of paths, "-" or a binary file object.')


class Waves:
    """Reads inputs one after the other; ``read`` gives the chunks of the next wave, an empty list at the end.

    Two buffers take turns, so that one wave may be parsed while the next one is read. Chunks of a wave are valid until
    the second ``read`` after it.
    """

    def __init__(self, inputs: list[Input]):
        self._waiting = list(inputs)
        self._buffers = [bytearray(), bytearray()]
        self._rest = b""  # the beginning of a line whose end was not read yet
        self._stream: _Stream | None = None
        self._lines = 0

    def expected_bytes(self) -> int | None:
        """The size of the inputs that are not opened yet; None when it cannot be known (compressed, or not a plain file)."""
        sizes = [_plain_size(entry) for entry in self._waiting]
        return None if None in sizes else sum(sizes)  # type: ignore[arg-type]

    def read(self) -> list[Chunk]:
        """The next wave; all of its chunks belong to one input."""
        while True:
            if self._stream is None:
                if not self._waiting:
                    return []
                self._stream = _Stream(self._waiting.pop(0))
                self._rest, self._lines = b"", 0
            stream = self._stream
            buffer, filled = self._fill(stream)
            if stream.is_finished:
                self._stream = None
                stream.close()
            if filled:
                return self._cut(buffer, filled, stream.name)

    def close(self) -> None:
        """Close the file that is being read, if one is."""
        if self._stream is not None:
            self._stream.close()

    def _fill(self, stream: _Stream) -> tuple[bytearray, int]:
        """Whole lines in a buffer, and how many bytes they are."""
        self._buffers.reverse()
        buffer, rest = self._buffers[0], self._rest
        size = WAVE_BYTES if stream.size is None else min(WAVE_BYTES, stream.size + 1)
        if len(buffer) < size + len(rest) + 1:
            buffer = self._buffers[0] = bytearray(size + len(rest) + 1)  # one more byte for a last newline
        buffer[: len(rest)] = rest
        filled = len(rest)
        while True:
            with memoryview(buffer) as view:
                filled = stream.read_into(view[:-1], filled)
            if stream.is_finished:
                if filled and buffer[filled - 1] != 10:
                    buffer[filled] = 10
                    filled += 1
                self._rest = b""
                return buffer, filled
            end = buffer.rfind(b"\n", 0, filled) + 1
            if end:
                self._rest = bytes(buffer[end:filled])
                return buffer, end
            longer = bytearray(2 * len(buffer))  # one line is longer than all of the buffer
            longer[:filled] = buffer[:filled]
            buffer = self._buffers[0] = longer

    def _cut(self, buffer: bytearray, filled: int, name: str) -> list[Chunk]:
        text = np.frombuffer(buffer, dtype=np.uint8)
        chunks, start = [], 0
        if self._lines == 0 and buffer.startswith(_BYTE_ORDER_MARK):
            start = len(_BYTE_ORDER_MARK)
        while start < filled:
            stop = filled
            if start + CHUNK_BYTES < filled:
                stop = buffer.find(b"\n", start + CHUNK_BYTES, filled) + 1
            n_lines = buffer.count(b"\n", start, stop)
            chunks.append(Chunk(text[start:stop], name, self._lines, n_lines))
            self._lines += n_lines
            start = stop
        return chunks


class _Stream:
    """One input, decompressed as its first bytes ask for."""

    def __init__(self, entry: Input):
        self.name = entry.name
        self.is_finished = False
        self._is_ours = entry.file is None
        self._file = entry.file if entry.path is None else open(entry.path, "rb", buffering=0)
        self.size: int | None = None
        self._decompressor = None
        try:
            head = self._read_head()
            kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
            if kind is not None:
                self._decompressor = _Decompressor(kind, self._file, head, self.name)
                self._start = b""
            else:
                self._start = head
                self.size = _file_size(self._file) if self._is_ours else None
        except BaseException:
            self.close()
            raise

    def _read_head(self) -> bytes:
        head = b""
        while len(head) < _LONGEST_MAGIC:
            more = self._file.read(_LONGEST_MAGIC - len(head))
            if not more:
                break
            head += more
        return head

    def read_into(self, view: memoryview, filled: int) -> int:
        """Fill ``view`` from ``filled`` on, up to its end or the end of the input; how far it is filled now."""
        if self._start:
            view[filled : filled + len(self._start)] = self._start
            filled += len(self._start)
            self._start = b""
        source = self._decompressor or self._file
        if not hasattr(source, "readinto"):
            source = _WithReadinto(source)
        while filled < len(view):
            n = source.readinto(view[filled:])
            if not n:
                self.is_finished = True
                break
            filled += n
        return filled

    def close(self) -> None:
        if self._is_ours:
            self._file.close()


class _WithReadinto:
    """A file object that only knows ``read``."""

    def __init__(self, file):
        self._file = file

    def readinto(self, view: memoryview) -> int:
        data = self._file.read(min(len(view), 1 << 20))
        view[: len(data)] = data
        return len(data)


class _Decompressor:
    """Decompressed bytes of a file, member by member. One that ends early is an error, never a shorter file."""

    def __init__(self, kind: str, file, head: bytes, name: str):
        self._kind, self._file, self._name = kind, file, name
        self._new, self._errors = _decompressors(kind)
        self._member = self._new()
        self._waiting, self._ready, self._place = head, b"", 0

    def readinto(self, view: memoryview) -> int:
        while self._place == len(self._ready):
            if not self._decompress_more():
                return 0
        n = min(len(view), len(self._ready) - self._place)
        view[:n] = memoryview(self._ready)[self._place : self._place + n]
        self._place += n
        return n

    def _decompress_more(self) -> bool:
        """Make some bytes ready; False at the end of the file."""
        data = self._waiting or self._file.read(_COMPRESSED_BYTES)
        self._waiting = b""
        if self._member is None:  # between members, where only padding may stand
            data = data.lstrip(b"\x00")
            while not data:
                more = self._file.read(_COMPRESSED_BYTES)
                if not more:
                    return False
                data = more.lstrip(b"\x00")
            self._member = self._new()
        if not data:
            raise DataFormatError(self._name, None, f"the {self._kind} data end early; the file is incomplete.")
        try:
            self._ready, self._place = self._member.decompress(data), 0
        except self._errors as error:
            raise DataFormatError(self._name, None, f"the {self._kind} data are damaged ({error}).") from error
        if self._member.eof:
            self._waiting, self._member = self._member.unused_data, None
        return True


def _decompressors(kind: str):
    """A maker of decompressors, and the errors that they raise on damaged data."""
    if kind == "gzip":
        import zlib

        return lambda: zlib.decompressobj(wbits=31), zlib.error
    if kind == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ), lzma.LZMAError
    zstandard = import_optional("zstandard", extra="zstd", needed_for="reading zstd-compressed files")
    return lambda: zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj(), zstandard.ZstdError


def _file_size(file) -> int | None:
    import stat

    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _plain_size(entry: Input) -> int | None:
    """The size of an input that is a plain file and not compressed, as far as its name says."""
    if entry.path is None or entry.path.suffix in (".gz", ".xz", ".zst") or not entry.path.is_file():
        return None
    return entry.path.stat().st_size
