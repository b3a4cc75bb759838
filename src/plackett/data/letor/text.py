"""Reading LETOR files as waves of whole lines: one or several files, plain or compressed, or standard input.

Files are read, never memory-mapped: truncating a mapped file would crash this process without a message.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from plackett import _native
from plackett.storage.compression import COMPRESSED
from plackett.storage.opening import name_of, open_bytes

WAVE_BYTES = 1 << 24  # read at once, while the wave before is parsed
CHUNK_BYTES = 1 << 20  # parsed at once by one thread
SHORT_LINE = 32
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Whole lines of one input: bytes that end in a newline, the lines before and in them, a bound on rows."""

    text: np.ndarray
    name: str
    lines_before: int
    n_lines: int
    n_rows: int


def inputs_of(source: object) -> list:
    """Return ``source`` as a list with one entry per file: paths, ``"-"`` or file objects."""
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        return [source]
    if isinstance(source, Sequence) and not isinstance(source, (bytes, bytearray)):
        if not source:
            raise ValueError("no file was given.")
        entries = [entry for one in source for entry in inputs_of(one)]
        if sum(isinstance(entry, str) and entry == "-" for entry in entries) > 1:
            raise ValueError("standard input (-) can be read only once.")
        return entries
    raise TypeError(f'source is {type(source).__name__}; pass a path, a list of paths, "-" or a binary file object.')


def expected_bytes(inputs: list) -> int:
    """Return the total size of the inputs that are uncompressed files, by their names: an estimate."""
    paths = [Path(entry) for entry in inputs if isinstance(entry, (str, os.PathLike)) and entry != "-"]
    plain = [path for path in paths if path.suffix not in COMPRESSED and path.is_file()]
    return sum(path.stat().st_size for path in plain)


def waves(inputs: list) -> Generator[list[Chunk], None, None]:
    """Yield the lines of all inputs, in waves of chunks; the chunks of a wave belong to one input.

    Two buffers take turns, so that one wave may be parsed while the next one is read. Chunks of a wave are valid until
    the wave after the next is requested.
    """
    buffers = [bytearray(), bytearray()]
    for entry in inputs:
        name, lines = name_of(entry), 0
        with open_bytes(entry) as file:
            for buffer, filled in _whole_lines(file, buffers):
                is_marked = lines == 0 and buffer.startswith(_BYTE_ORDER_MARK)
                chunks = _cut(buffer, len(_BYTE_ORDER_MARK) if is_marked else 0, filled, name, lines)
                lines += sum(chunk.n_lines for chunk in chunks)
                yield chunks


def _whole_lines(file: BinaryIO, buffers: list[bytearray]) -> Iterator[tuple[bytearray, int]]:
    """Yield buffers and the length of the whole lines in them. A missing last newline is added."""
    rest = b""  # the beginning of an incomplete line
    is_finished = False
    while not is_finished:
        if len(buffers[0]) < WAVE_BYTES + len(rest):
            buffers[0] = bytearray(WAVE_BYTES + len(rest))
        buffers[0][: len(rest)] = rest
        filled, end = len(rest), 0
        while not end and not is_finished:
            if filled > len(buffers[0]) - 2:  # one line is longer than the buffer
                longer = bytearray(2 * len(buffers[0]))
                longer[:filled] = buffers[0][:filled]
                buffers[0] = longer
            filled, is_finished = _fill(file, buffers[0], filled)
            end = buffers[0].rfind(b"\n", 0, filled) + 1
        if is_finished and end < filled:
            buffers[0][filled] = 10
            end = filled = filled + 1
        rest = bytes(buffers[0][end:filled])
        if end:
            yield buffers[0], end
            buffers.reverse()  # only now: an input without lines must not reuse the buffer that is being parsed


def _fill(file: BinaryIO, buffer: bytearray, filled: int) -> tuple[int, bool]:
    """Fill the buffer except for its last byte; return the length of the content and whether the file ended."""
    with memoryview(buffer) as view:
        while filled < len(view) - 1:
            n = file.readinto(view[filled:-1])  # type: ignore[attr-defined]
            if n is None:
                raise BlockingIOError(errno.EAGAIN, "the input is non-blocking; make it blocking")
            if not n:
                return filled, True
            filled += n
    return filled, False


def _cut(buffer: bytearray, start: int, filled: int, name: str, lines: int) -> list[Chunk]:
    text = np.frombuffer(buffer, dtype=np.uint8)
    chunks = []
    while start < filled:
        stop = filled
        if start + CHUNK_BYTES < filled:
            stop = buffer.find(b"\n", start + CHUNK_BYTES, filled) + 1
        n_lines = _native.data.count_lines(text[start:stop])
        n_rows = n_lines
        if n_lines * SHORT_LINE >= stop - start:  # there may be many lines without a row; each row has a query id
            n_rows = min(n_lines, buffer.count(b"qid:", start, stop))
        chunks.append(Chunk(text[start:stop], name, lines, n_lines, n_rows))
        lines += n_lines
        start = stop
    return chunks


def with_fewer_rows(wave: list[Chunk]) -> list[Chunk]:
    """Return the same chunks with a closer bound on their rows: each row has a query id."""
    return [chunk._replace(n_rows=min(chunk.n_rows, chunk.text.tobytes().count(b"qid:"))) for chunk in wave]
