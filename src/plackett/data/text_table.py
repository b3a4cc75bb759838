"""Text tables of whitespace-separated words: the columns of files of TREC, and files of scores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, BinaryIO

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files

BLOCK = 1 << 14  # bytes split at a time, so that their words stay in the cache of the processor
SHOWN = 80  # characters of an invalid line in a message
MAX_WIDTH = 64  # longer words are kept as Python strings: padding all words would waste memory
NARROW, MAX_PADDING = 16, 4  # so are words of more than 16 bytes if padding makes the column four times as long

UTF8_MARK = b"\xef\xbb\xbf"  # byte order mark of Windows editors


def read_words(
    file: BinaryIO,
    columns: Sequence[int],
    n_columns: int,
    *,
    name: str,
    expected: str,
    more: bool = False,
    head: bytes = b"",
    n_lines_before: int = 0,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the line numbers of the rows of ``file``, and some columns as byte strings.

    Each line has ``n_columns`` words, or ``more``, which are ignored; blank lines and those that begin with ``#`` are
    skipped. ``name`` and ``expected``, the format of a line, are for messages; ``head`` are bytes that the caller has
    read and not processed, ``n_lines_before`` lines that it has processed.
    """
    lines: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    parts: list[list[np.ndarray]] = [[np.zeros(0, dtype="S1")] for _ in columns]
    for text in _whole_lines(file, name, head, n_lines_before):
        split = [*map(bytes.split, text.removesuffix(b"\n").split(b"\n"))]
        rows, kept = np.arange(len(split)), split
        if b"#" in text or not all(split):
            rows = np.flatnonzero([bool(words) and not words[0].startswith(b"#") for words in split])
            kept = [split[row] for row in rows.tolist()]
        lengths = {*map(len, kept)}
        if lengths and (min(lengths) < n_columns or (max(lengths) > n_columns and not more)):
            wrong = next(n for n, row in enumerate(kept) if len(row) < n_columns or not (more or len(row) == n_columns))
            line, words = int(rows[wrong]), kept[wrong]
            wanted = "one number" if n_columns == 1 else f'"{expected}" ({n_columns} columns)'
            found = ("" if n_columns == 1 else f"{len(words)}: ") + quote(text.split(b"\n")[line].strip())
            raise DataFormatError(name, line + n_lines_before + 1, f"expected {wanted}, found {found}.")
        lines.append(rows + (n_lines_before + 1))
        for part, column in zip(parts, columns, strict=True):
            part.append(as_words([words[column] for words in kept]))
        n_lines_before += text.count(b"\n")
    return np.concatenate(lines), [_join(part) for part in parts]


def _whole_lines(file: BinaryIO, name: str, head: bytes, n_lines_before: int) -> Iterator[bytes]:
    text = (head or file.read(BLOCK) + file.readline()).removeprefix(UTF8_MARK)
    while text:
        if b"\0" in text:
            line = n_lines_before + text.count(b"\n", 0, text.index(b"\0")) + 1
            message = "the file contains zero bytes, so it is not plain text. Is it UTF-16 or binary?"
            raise DataFormatError(name, line, message)
        n_lines_before += text.count(b"\n")
        last = text[text.rfind(b"\n") + 1 :]
        if b"\r" in last.rstrip():  # line ends of old Macintosh files
            text = text.removesuffix(last) + last.replace(b"\r", b"\n")
        yield text
        text = file.read(BLOCK) + file.readline()


def quote(text: bytes) -> str:
    """Return ``text`` in quotation marks for a message, truncated if it is long."""
    shown = text.decode("utf-8", "replace")
    return f'"{shown}"' if len(shown) <= SHOWN else f'"{shown[:SHOWN]}..."'


def as_words(words: Sequence[str] | Sequence[bytes]) -> np.ndarray:
    """Return words, text or bytes, as an array of fixed width, or of Python objects if long ones would pad others."""
    width = max(map(len, words), default=0)
    if width > MAX_WIDTH or (width > NARROW and width * len(words) > MAX_PADDING * sum(map(len, words))):
        return np.fromiter(words, object, len(words))
    return np.array(words) if words else np.zeros(0, dtype="S1")


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
    is_narrow = column.dtype.kind == "S"
    has_groups = b"_" in column.tobytes() if is_narrow else any(b"_" in word for word in column)
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

    Examples
    --------
    >>> from plackett.evaluation import read_scores
    >>> import io
    >>> read_scores(io.StringIO("0.5\n-1\n"))
    array([ 0.5, -1. ])
    """
    name = name_of(source)
    with open_bytes(source) as file:
        lines, (words,) = read_words(file, [0], 1, name=name, expected="score")
    is_shifted = lines != np.arange(1, lines.size + 1)
    if is_shifted.any():
        line = int(np.argmax(is_shifted)) + 1
        raise DataFormatError(name, line, "expected one number, found a blank line or a comment.")
    scores = as_numbers(words, np.float64, lines, name=name, what="score")
    missing = np.isnan(scores)
    if missing.any():
        raise DataFormatError(name, int(np.argmax(missing)) + 1, "NaN cannot be ranked; expected a number.")
    return scores
