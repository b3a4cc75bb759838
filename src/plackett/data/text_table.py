"""Tables of words between blanks, split by numpy: no Python object per word, line numbers for messages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, BinaryIO, NamedTuple

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.storage.decompression import Decompressed
from plackett.storage.opening import name_of, open_bytes

BLOCK = 1 << 22  # bytes split at a time: small enough for the masks below to stay near the processor
SHOWN = 80  # characters of a bad line that a message quotes
WIDEST = 64  # a column of longer words is kept as Python strings: padding all to the longest would waste memory
NARROW, MOST_PADDING = 16, 4  # so is one of words of more than 16 bytes that padding would make four times as long
CELLS = 1 << 20

UTF8_MARK = b"\xef\xbb\xbf"  # what Windows editors put before UTF-8

_IS_BLANK = np.zeros(256, dtype=bool)
_IS_BLANK[list(b" \t\r\n\v\f")] = True


class Words(NamedTuple):
    """Where the words of some whole lines stand: word ``j`` of line ``i`` is ``text[starts[i, j]:stops[i, j]]``."""

    text: bytes
    starts: np.ndarray
    stops: np.ndarray
    lines: np.ndarray

    def column(self, place: int) -> np.ndarray:
        """One column as byte strings: an ``S`` array, or Python objects where words are long."""
        starts, lengths = self.starts[:, place], self.stops[:, place] - self.starts[:, place]
        width = int(lengths.max(initial=1))
        if width > WIDEST or (width > NARROW and width * lengths.size > MOST_PADDING * int(lengths.sum())):
            stops = self.stops[:, place].tolist()
            return np.fromiter(
                (self.text[a:b] for a, b in zip(starts.tolist(), stops, strict=True)), object, len(stops)
            )
        letters = np.frombuffer(self.text, dtype=np.uint8)
        padded = np.empty((lengths.size, width), dtype=np.uint8)
        step = max(1, CELLS // width)  # the places below take eight bytes for each byte
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
    """The lines of ``file`` in blocks, each line with ``n_columns`` words; blank lines and ``#`` lines are passed over.

    Parameters
    ----------
    file : binary file
    n_columns : int
    name, expected : str
        The file's name and what a line should look like, for messages.
    more : bool, default=False
        Whether a line may go on after its columns; what follows is ignored.
    head : bytes, default=b""
        What the caller has read of the file already and gives back.
    n_lines_before : int, default=0
        Lines that the caller has read and keeps.
    """
    for text in _whole_lines(file, name, head, n_lines_before):
        words = _split(text, n_lines_before, n_columns, name, expected, more)
        n_lines_before += text.count(b"\n")
        yield words


def _whole_lines(file: BinaryIO, name: str, head: bytes, n_lines_before: int) -> Iterator[bytes]:
    begun: list[bytes] = []  # a line whose end has not come yet
    length = 0
    block = (head or file.read(BLOCK)).removeprefix(UTF8_MARK)
    while block:
        if b"\0" in block:
            line = n_lines_before + block.count(b"\n", 0, block.index(b"\0")) + 1
            message = "the file holds zero bytes, so it is not plain text. Is it UTF-16 or binary?"
            raise DataFormatError(name, line, message)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*begun, block[:cut]])
            begun, length = [], 0
            n_lines_before += block.count(b"\n")
        begun.append(block[cut:])
        length += len(block) - cut
        if isinstance(file, Decompressed):
            file.check_line(length)
        block = file.read(BLOCK)
    rest = b"".join(begun)
    if b"\r" in rest.rstrip():  # only the last line has no "\n" behind it: line ends of an old Macintosh
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
    """``text`` in quotation marks for a message, cut when it is long."""
    shown = text.decode("utf-8", "replace")
    return f'"{shown}"' if len(shown) <= SHOWN else f'"{shown[:SHOWN]}..."'


def collect(blocks: Iterable[Words], columns: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Line numbers and the chosen columns of all blocks."""
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
    """A column of byte strings as text; bytes that are not UTF-8 become surrogate escapes and can be written back."""
    if column.dtype.kind == "S":
        try:
            return column.astype(f"U{column.dtype.itemsize}")  # fast, but ASCII only
        except UnicodeDecodeError:
            return np.array([word.decode("utf-8", "surrogateescape") for word in column.tolist()], dtype=str)
    return np.fromiter((word.decode("utf-8", "surrogateescape") for word in column), object, column.size)


def as_numbers(column: np.ndarray, dtype: type, lines: np.ndarray, *, name: str, what: str) -> np.ndarray:
    """A column of byte strings as numbers; the first word that is none is named with its line."""
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
    return b"_" not in word  # Python reads 1_000 as 1000; no ranking tool writes that


def read_scores(source: str | os.PathLike | IO) -> np.ndarray:
    """One number per line, in the order of the rows they belong to; plain or compressed, ``"-"`` for standard input.

    Blank lines may stand at the end only: elsewhere they would shift all that follows.
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
        raise DataFormatError(name, int(np.argmax(missing)) + 1, "a NaN has no place in an order; expected a number.")
    return scores
