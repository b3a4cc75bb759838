"""Text tables of whitespace-separated words, split by numpy without a Python object per word; score files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, BinaryIO, NamedTuple

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files

BLOCK = 1 << 22  # bytes split at a time, so that the masks stay in the cache of the processor
SHOWN = 80  # characters of an invalid line in a message
MAX_WIDTH = 64  # longer words are kept as Python strings: padding all words would waste memory
NARROW, MAX_PADDING = 16, 4  # so are words of more than 16 bytes if padding makes the column four times as long
CELLS = 1 << 20

UTF8_MARK = b"\xef\xbb\xbf"  # byte order mark of Windows editors

_IS_BLANK = np.zeros(256, dtype=bool)
_IS_BLANK[list(b" \t\r\n\v\f")] = True


class Words(NamedTuple):
    """Positions of the words of some lines: word ``j`` of line ``i`` is ``text[starts[i, j]:stops[i, j]]``."""

    text: bytes
    starts: np.ndarray
    stops: np.ndarray
    lines: np.ndarray

    def column(self, place: int) -> np.ndarray:
        """Return a column as byte strings: an ``S`` array, or Python objects if words are long."""
        starts, lengths = self.starts[:, place], self.stops[:, place] - self.starts[:, place]
        width = int(lengths.max(initial=1))
        if width > MAX_WIDTH or (width > NARROW and width * lengths.size > MAX_PADDING * int(lengths.sum())):
            stops = self.stops[:, place].tolist()
            return np.fromiter(
                (self.text[a:b] for a, b in zip(starts.tolist(), stops, strict=True)), object, len(stops)
            )
        letters = np.frombuffer(self.text, dtype=np.uint8)
        padded = np.empty((lengths.size, width), dtype=np.uint8)
        step = max(1, CELLS // width)  # positions take eight bytes for each byte
        for row in range(0, lengths.size, step):
            inside = np.arange(width) < lengths[row : row + step, None]
            places = np.minimum(starts[row : row + step, None] + np.arange(width), letters.size - 1)
            padded[row : row + step] = np.where(inside, letters[places], 0)
        return padded.view(f"S{width}").reshape(-1)


def read_words(
    file: BinaryIO,
    n_columns: int,
    *,
    name: str,
    expected: str,
    more: bool = False,
    head: bytes = b"",
    n_lines_before: int = 0,
) -> Iterator[Words]:
    """Yield the lines of ``file`` in blocks, each line with ``n_columns`` words; blank and ``#`` lines are skipped.

    Parameters
    ----------
    file : binary file
    n_columns : int
    name, expected : str
        The name of the file and the format of a line, for messages.
    more : bool, default=False
        Whether a line may have more columns, which are ignored.
    head : bytes, default=b""
        Bytes that the caller has read from the file.
    n_lines_before : int, default=0
        Lines that the caller has read and processed.
    """
    for text in _whole_lines(file, name, head, n_lines_before):
        words = _split(text, n_lines_before, n_columns, name, expected, more)
        n_lines_before += text.count(b"\n")
        yield words


def _whole_lines(file: BinaryIO, name: str, head: bytes, n_lines_before: int) -> Iterator[bytes]:
    begun: list[bytes] = []  # an incomplete line
    block = (head or file.read(BLOCK)).removeprefix(UTF8_MARK)
    while block:
        if b"\0" in block:
            line = n_lines_before + block.count(b"\n", 0, block.index(b"\0")) + 1
            message = "the file contains zero bytes, so it is not plain text. Is it UTF-16 or binary?"
            raise DataFormatError(name, line, message)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*begun, block[:cut]])
            begun = []
            n_lines_before += block.count(b"\n")
        begun.append(block[cut:])
        block = file.read(BLOCK)
    rest = b"".join(begun)
    if b"\r" in rest.rstrip():  # line ends of old Macintosh files
        rest = rest.replace(b"\r", b"\n")
    if rest:
        yield rest


def _split(text: bytes, n_lines_before: int, n_columns: int, name: str, expected: str, more: bool) -> Words:
    letters = np.frombuffer(text, dtype=np.uint8)
    is_blank = np.concatenate([[True], _IS_BLANK[letters], [True]])
    edges = np.flatnonzero(is_blank[1:] != is_blank[:-1])
    starts, stops = edges[::2], edges[1::2]
    newlines = np.flatnonzero(letters == ord("\n"))
    line_of_word = np.searchsorted(newlines, starts)
    first = np.flatnonzero(np.diff(line_of_word, prepend=-1))  # the first word of each line that has one
    counts = np.diff(first, append=starts.size)
    is_comment = letters[starts[first]] == ord("#")
    if is_comment.any():
        first, counts = first[~is_comment], counts[~is_comment]
    wrong = counts < n_columns if more else counts != n_columns
    lines = line_of_word[first] + n_lines_before + 1
    if wrong.any():
        row = int(np.argmax(wrong))
        line = text[starts[first[row]] : stops[first[row] + counts[row] - 1]]
        wanted = "one number" if n_columns == 1 else f'"{expected}" ({n_columns} columns)'
        found = quote(line) if n_columns == 1 else f"{counts[row]}: {quote(line)}"
        message = f"expected {wanted}, found {found}."
        raise DataFormatError(name, int(lines[row]), message)
    if more or first.size * n_columns != starts.size:
        chosen = first[:, None] + np.arange(n_columns)
        return Words(text, starts[chosen], stops[chosen], lines)
    return Words(text, starts.reshape(-1, n_columns), stops.reshape(-1, n_columns), lines)


def quote(text: bytes) -> str:
    """Return ``text`` in quotation marks for a message, truncated if it is long."""
    shown = text.decode("utf-8", "replace")
    return f'"{shown}"' if len(shown) <= SHOWN else f'"{shown[:SHOWN]}..."'


def collect(blocks: Iterable[Words], columns: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the line numbers and the selected columns of all blocks."""
    lines: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    parts: list[list[np.ndarray]] = [[np.zeros(0, dtype="S1")] for _ in columns]
    for words in blocks:
        lines.append(words.lines)
        for part, column in zip(parts, columns, strict=True):
            part.append(words.column(column))
    return np.concatenate(lines), [_join(part) for part in parts]


def _join(parts: list[np.ndarray]) -> np.ndarray:
    if any(part.dtype.kind == "O" for part in parts):
        return np.concatenate([part.astype(object) for part in parts])
    return np.concatenate(parts)


def as_text(column: np.ndarray) -> np.ndarray:
    """Return a column of byte strings as text; bytes that are not UTF-8 become surrogate escapes."""
    if column.dtype.kind == "S":
        try:
            return column.astype(f"U{column.dtype.itemsize}")  # fast, but ASCII only
        except UnicodeDecodeError:
            return np.array([word.decode("utf-8", "surrogateescape") for word in column.tolist()], dtype=str)
    return np.fromiter((word.decode("utf-8", "surrogateescape") for word in column), object, column.size)


def as_numbers(column: np.ndarray, dtype: type, lines: np.ndarray, *, name: str, what: str) -> np.ndarray:
    """Return a column of byte strings as numbers; the error for an invalid word names its line."""
    if column.dtype.kind == "S":
        has_groups = bool((column.view(np.uint8) == ord("_")).any())
    else:
        has_groups = any(b"_" in word for word in column)
    try:
        numbers: np.ndarray = column.astype(dtype)
        if not has_groups:
            return numbers
    except (ValueError, OverflowError):
        pass
    row = next(row for row, word in enumerate(column.tolist()) if not _is_number(word, dtype))
    kind = "whole number" if dtype is np.int64 else "number"
    raise DataFormatError(name, int(lines[row]), f"expected a {kind} as {what}, found {quote(column[row])}.")


def _is_number(word: bytes, dtype: type) -> bool:
    try:
        np.array([word]).astype(dtype)
    except (ValueError, OverflowError):
        return False
    return b"_" not in word  # Python reads 1_000 as 1000; ranking tools do not write that


@local_files
def read_scores(source: str | os.PathLike | IO) -> np.ndarray:
    r"""Read a file with one score per line, as svm_rank, RankLib and the tools of LETOR write them.

    Blank lines are allowed only at the end: elsewhere they would shift the scores that follow.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).

    Returns
    -------
    ndarray of shape (n_docs,), in the order of the lines

    Examples
    --------
    >>> from plackett.evaluation import read_scores
    >>> import io
    >>> read_scores(io.StringIO("0.5\n-1\n"))
    array([ 0.5, -1. ])
    """
    name = name_of(source)
    with open_bytes(source) as file:
        lines, (words,) = collect(read_words(file, 1, name=name, expected="score"), (0,))
    is_shifted = lines != np.arange(1, lines.size + 1)
    if is_shifted.any():
        line = int(np.argmax(is_shifted)) + 1
        raise DataFormatError(name, line, "expected one number, found a blank line or a comment.")
    scores = as_numbers(words, np.float64, lines, name=name, what="score")
    missing = np.isnan(scores)
    if missing.any():
        raise DataFormatError(name, int(np.argmax(missing)) + 1, "NaN cannot be ranked; expected a number.")
    return scores
