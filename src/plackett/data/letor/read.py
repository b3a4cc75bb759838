"""Judged lists as text: ``label qid:ID index:value ... #comment``, as LETOR, MSLR and SVMlight write them."""

from __future__ import annotations

import contextlib
import math
import os

import numpy as np

from plackett._lazy import importing
from plackett.data.letor.text import inputs_of
from plackett.data.queries import Queries
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of
from plackett.storage.remote import local_files
from plackett.validation import check_choice, plain

MAX_COLUMNS = 2**31 - 2  # indices are kept as int32


@local_files
def read_letor(
    source: object,
    *,
    n_features: int | None = None,
    first_index: int = 1,
    missing: float = 0.0,
    null: float = math.nan,
    dtype: object = np.float32,
    sparse: bool = False,
    comments: bool = True,
    cache: bool | str | os.PathLike = False,
) -> Queries:
    r"""Read queries from LETOR or SVMlight text with query ids.

    Each line is ``label qid:ID index:value ... #comment``, separated by spaces or tabs. Lines that are blank or hold
    only a comment are skipped. A line of any other form raises an error that names the file and the line.

    Parameters
    ----------
    source : path, sequence of paths, "-" or binary file object
        "-" is standard input. gzip, xz, bzip2 and Zstandard (which needs ``plackett[zstd]``) are recognised by their
        first bytes.
        Several files are read in order, as one; a query may continue in the next file.
    n_features : int, default=None
        Columns of X; None takes the largest index seen. A larger index in the file is an error. With None, an index
        that makes a dense X far larger than the text is also an error: more than 64 MiB and more than a thousand cells
        for each value.
    first_index : {1, 0}, default=1
        The index of the first column.
    missing : float, default=0.0
        Value of X where a row has no entry for an index.
    null : float, default=nan
        Value of X for the text ``NULL``.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Numbers are read as Python's ``float()`` reads them, correctly rounded to float64, then rounded to ``dtype``.
        ``inf``, ``infinity`` and ``nan`` are read in upper or lower case; digit groups (``1_000``) are not read. A
        finite number that is too large for ``dtype`` is an error.
    sparse : bool, default=False
        Whether X is a CSR matrix, with any number of columns; it does not store the zeros that are in the text.
    comments : bool, default=True
        Whether to keep the text after ``#``, unchanged; ``docid`` is taken from it. An empty comment is the
        same as none; a file without comments has ``comments=None``.
    cache : bool or path, default=False
        True writes the arrays to a file beside the (first) text file, a path writes it to that folder. The arrays are
        memory-mapped, so the text may be larger than memory. The rows of a query must be adjacent, as those of
        ``write_letor(data.grouped, target)``. The next call with the same options reads the cache
        instead of the text; its arrays are mapped copy-on-write. The cache is rebuilt if the options, the size, the
        modification time or a hash of samples of a file differ, and with a warning if it is damaged
        (``PLACKETT_VERIFY=0`` in the environment skips the checksums). If it cannot be written, a warning says so and
        the text is read into memory.

    Returns
    -------
    Queries
        With float64 labels and int64 query ids; the ids are str if at least one is not a plain whole number (``007``,
        ``+7`` and ``MQ-7`` are not).

    Examples
    --------
    >>> from plackett import read_letor
    >>> import io
    >>> data = read_letor(io.BytesIO(b"2 qid:7 1:0.5 3:0.25 #docid = GX1\n0 qid:7 2:1 #docid = GX2\n"))
    >>> data.X
    array([[0.5 , 0.  , 0.25],
           [0.  , 1.  , 0.  ]], dtype=float32)
    >>> data.y, data.qid, data.docid
    (array([2., 0.]), array([7, 7]), array(['GX1', 'GX2'], dtype='<U3'))
    """
    with importing:
        from plackett.data.letor.parse import parse

    options = _options(n_features, first_index, missing, null, dtype, sparse, comments)
    inputs = inputs_of(source)

    def read_text() -> Queries:
        queries = parse(inputs, options)
        if not queries.n_docs:
            name = name_of(inputs[0]) + (f" and {len(inputs) - 1} more" if len(inputs) > 1 else "")
            raise DataFormatError(name, None, 'no rows found; expected lines "label qid:ID index:value ...".')
        return queries

    if cache is False or cache is None:
        return read_text()
    with importing:
        from plackett.data.letor.cache import read_through

    return read_through(inputs, options, None if cache is True else cache, read_text)


def _options(n_features, first_index, missing, null, dtype, sparse, comments):
    """Check the arguments of ``read_letor``."""
    with importing:
        from plackett.data.letor.parse import Options

    if n_features is not None and (
        isinstance(n_features, bool) or not isinstance(n_features, (int, np.integer)) or n_features < 0
    ):
        raise ValueError(f"n_features={plain(n_features)!r}; it must be a whole number of at least 0, or None.")
    if n_features is not None and n_features > MAX_COLUMNS:
        raise ValueError(f"n_features={plain(n_features)}; at most {MAX_COLUMNS} columns can be read.")
    first_index = check_choice(plain(first_index), "first_index", (1, 0))
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={kind}; X can be float32 or float64.")
    check_choice(plain(sparse), "sparse", (True, False))
    missing, null = _as_fill(missing, "missing", kind), _as_fill(null, "null", kind)
    if sparse and missing != 0:
        raise ValueError(f"missing={missing} needs sparse=False: values that a CSR matrix does not store are 0.")
    n_columns = None if n_features is None else int(n_features)
    return Options(n_columns, first_index, missing, null, kind, bool(sparse), bool(comments))


def _as_fill(value: object, name: str, dtype: np.dtype) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name}={plain(value)!r}; it must be a number.")
    with np.errstate(over="ignore"), contextlib.suppress(OverflowError):
        rounded = float(dtype.type(value))
        if np.isfinite(rounded) or not np.isfinite(float(value)):
            return rounded
    raise ValueError(f"{name}={plain(value)!r} does not fit into {dtype}.")
