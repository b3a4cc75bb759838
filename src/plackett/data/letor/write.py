"""Writing queries as LETOR text that reads back as the same numbers, ids and comments."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, n_threads
from plackett.data.docids import docids_of_comments
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn
from plackett.storage.opening import write_bytes
from plackett.validation import check_choice, check_csr, is_sparse, plain

CELLS_PER_BLOCK = 1 << 18
_LONGEST_NUMBER = 26  # sign, 24 digits with the zeros in front, a point
_LONGEST_INDEX = 13  # a blank, ten digits, a colon
_NOT_IN_ID = re.compile(r"[\x00-\x20#]")
_LOOKS_LIKE_DOCID = re.compile(r"\s*docid\s*=\s*\S")


class _Rows(NamedTuple):
    """The rows to write."""

    X: Any
    labels: np.ndarray
    query: np.ndarray
    ids: TextColumn
    comments: TextColumn | None
    first_index: int
    zeros: bool


class _Decimals(NamedTuple):
    """Numbers as ``digits / 10**places``; a negative ``places`` refers to the next of the texts."""

    numbers: np.ndarray
    digits: np.ndarray
    places: np.ndarray
    texts: np.ndarray
    bounds: np.ndarray


def write_letor(
    queries: Queries, target: object, *, first_index: int = 1, comments: bool = True, zeros: bool | None = None
) -> None:
    r"""Write queries as LETOR text from which ``read_letor`` reads the same values, ids and comments.

    Numbers are written with the fewest decimals that read back to the same float32 or float64. NaN features are written
    as ``NULL``. Data that the format cannot hold are rejected: rows without a label, query ids with spaces or ``#``,
    comments with line breaks. Feature names are not kept, nor whether ids that are whole numbers were text.

    Parameters
    ----------
    queries : Queries
    target : path, "-" or binary file object
        "-" is standard output. A path that ends in .gz, .xz, .bz2 or .zst is compressed; a file is replaced
        only after everything has been written.
    first_index : {1, 0}, default=1
        The index of the first column.
    comments : bool, default=True
        Whether to write comments after ``#``; document names without comments are written as ``docid = NAME``.
    zeros : bool, default=None
        Whether to write zeros. None writes those of a dense X and omits those of a sparse one. The last column of the
        first row is always written, so that the number of columns is kept.

    Examples
    --------
    >>> from plackett import Queries, write_letor
    >>> import sys
    >>> data = Queries([[0.5, 0.0], [0.1, 7.0]], y=[2, 0], qid=["a", "a"], docid=["GX1", "GX2"])
    >>> write_letor(data, sys.stdout.buffer)  # doctest: +SKIP
    2 qid:a 1:0.5 2:0 #docid = GX1
    0 qid:a 1:0.1 2:7 #docid = GX2
    """
    if not isinstance(queries, Queries):
        raise TypeError(f"queries is {type(queries).__name__}; write_letor needs a Queries.")
    if queries.categories is not None:
        raise ValueError(
            "LETOR files hold numbers, but some columns hold categories. Use write_parquet, which keeps them."
        )
    check_choice(plain(first_index), "first_index", (1, 0))
    check_csr(queries.X)
    rows = _Rows(
        queries.X,
        _finite_labels(queries),
        queries.query_of_row,
        TextColumn.from_strings(_id_texts(queries.ids)),
        _checked_comments(_comments_of(queries)) if comments else None,
        first_index,
        not is_sparse(queries.X) if zeros is None else zeros,
    )
    per_block = max(1, CELLS_PER_BLOCK // max(1, queries.n_features))
    blocks = [(rows, start, min(start + per_block, queries.n_docs)) for start in range(0, queries.n_docs, per_block)]
    at_once = 2 * n_threads()
    with write_bytes(target) as file:  # type: ignore[arg-type]
        for first in range(0, len(blocks), at_once):
            for lines in map_blocks(_lines, blocks[first : first + at_once]):
                file.write(lines)


def _finite_labels(queries: Queries) -> np.ndarray:
    labels = queries.labels
    if not queries.n_docs:
        raise ValueError("the queries have no rows to write.")
    bad = np.flatnonzero(~np.isfinite(labels))
    if bad.size:
        raise ValueError(f"y is {labels[bad[0]]} in row {bad[0]}; a LETOR file holds finite labels only.")
    return labels


def _id_texts(ids: np.ndarray) -> list[str]:
    texts = []
    for key in ids.tolist():
        if isinstance(key, bool) or not isinstance(key, (int, str)):
            raise ValueError(f"query id {key!r} is a {type(key).__name__}; a LETOR file holds whole numbers or text.")
        text = str(key)
        if not text or _NOT_IN_ID.search(text):
            raise ValueError(
                f"query id {text!r} cannot be written: an id needs at least one character, and no whitespace or '#'."
            )
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"query id {text!r} cannot be written as UTF-8.") from None
        texts.append(text)
    if len(set(texts)) < len(texts):
        twice = next(text for place, text in enumerate(texts) if text in texts[:place])
        raise ValueError(f"two queries would be written as qid:{twice}; ids must also differ as text.")
    return texts


def _comments_of(queries: Queries) -> TextColumn | None:
    """Return the comments, or comments that hold the document names."""
    if queries.document_ids is None:
        return queries.comments
    names = np.asarray(queries.docid)
    if queries.comments is not None:
        if not np.array_equal(docids_of_comments(queries.comments), names.astype(str)):
            raise ValueError("docid and the comments name different documents; a LETOR file holds only the comments.")
        return queries.comments
    return TextColumn.from_strings([_comment_of(str(name)) for name in names.tolist()])


def _comment_of(name: str) -> str:
    if name and not re.search(r"\s", name):
        return f"docid = {name}"
    if name != name.strip() or _LOOKS_LIKE_DOCID.match(name):
        raise ValueError(
            f"document name {name!r} would not be read back from a comment. Pass comments=False to leave it out."
        )
    return name


def _checked_comments(comments: TextColumn | None) -> TextColumn | None:
    if comments is None:
        return None
    bounds = comments.bounds
    breaks = np.flatnonzero(comments.buffer[bounds[0] : bounds[-1]] == 10)
    if breaks.size:
        row = int(np.searchsorted(bounds, breaks[0] + bounds[0], side="right")) - 1
        raise ValueError(f"the comment of row {row} holds a line break: {comments[row]!r}.")
    filled = np.flatnonzero(np.diff(bounds))
    returns = filled[comments.buffer[bounds[1:][filled] - 1] == 13]
    if returns.size:
        row = int(returns[0])
        raise ValueError(f"the comment of row {row} ends in a carriage return, which reads as part of the line end.")
    return comments


def _lines(rows: _Rows, start: int, stop: int) -> np.ndarray:
    """The text of some rows."""
    pair_ptr, index, values = _pairs(rows, start, stop)
    labels = _as_decimals(rows.labels[start:stop].copy())
    pairs = _as_decimals(values)
    query, ids = rows.query[start:stop], rows.ids
    notes = TextColumn(np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64))
    size = (values.size + query.size) * (_LONGEST_NUMBER + _LONGEST_INDEX)
    size += labels.texts.size + pairs.texts.size + int(np.diff(ids.bounds)[query].sum())
    if rows.comments is not None:
        notes = rows.comments[start:stop]
        size += int(notes.bounds[-1] - notes.bounds[0])
    out = np.empty(size, dtype=np.uint8)
    n = _native.data.write_lines(
        *labels, *pairs, pair_ptr, index, query, ids.buffer, ids.bounds, notes.buffer, notes.bounds, out
    )
    return out[:n]


def _as_decimals(numbers: np.ndarray) -> _Decimals:
    digits, places = np.empty(numbers.size, dtype=np.int64), np.empty(numbers.size, dtype=np.int8)
    texts: list[bytes] = []
    if _native.data.decimals(numbers, digits, places):
        texts = _number_texts(numbers[places < 0])
    bounds = np.cumsum([0, *map(len, texts)])
    return _Decimals(numbers, digits, places, np.frombuffer(b"".join(texts), dtype=np.uint8), bounds)


def _pairs(rows: _Rows, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds, indices and a copy of the values that are written for some rows."""
    X, n_rows, width = rows.X[start:stop], stop - start, rows.X.shape[1]
    if is_sparse(X) and rows.zeros:
        X = X.toarray()
    if is_sparse(X):
        columns, values, keep = X.indices.astype(np.int64), X.data.copy(), X.data != 0
        of_row = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    else:
        columns, values = np.tile(np.arange(width), n_rows), X.flatten()
        of_row = np.repeat(np.arange(n_rows), width)
        # a zero that is left out reads as 0, so -0.0 must stay
        keep = np.ones(values.size, dtype=bool) if rows.zeros else (values != 0) | np.signbit(values)
    if not keep.all():
        columns, values, of_row = columns[keep], values[keep], of_row[keep]
    n_first = int(np.searchsorted(of_row, 0, side="right"))
    if start == 0 and width and (n_first == 0 or columns[n_first - 1] < width - 1):
        # the first row always has the last column: readers take the number of columns from it
        columns, values = np.insert(columns, n_first, width - 1), np.insert(values, n_first, 0)
        of_row = np.insert(of_row, n_first, 0)
    pair_ptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(of_row, minlength=n_rows), out=pair_ptr[1:])
    return pair_ptr, columns + rows.first_index, values


def _number_texts(numbers: np.ndarray) -> list[bytes]:
    """The shortest text of numbers that are too long for the kernel, and of values that are not finite."""
    texts = [repr(number) for number in numbers.tolist()]
    if numbers.dtype == np.float32:
        for k, number in enumerate(numbers):
            # the shorter text, unless it comes back changed when it is rounded to float64 first, as the reader does
            if np.float32(float(str(number))) == number:
                texts[k] = str(number)
    return [b"NULL" if text == "nan" else text.encode() for text in texts]
