"""Queries from data frames of pandas, polars, pyarrow, DuckDB and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import Table, is_frame
from plackett.data.tables.column_roles import DOCID
from plackett.data.tables.judged_rows import JudgedRows
from plackett.data.tables.long_form import one_row_per_document


def from_frame(
    frame: Any,
    *,
    label: str | None = "label",
    qid: str = "qid",
    docid: str | None = DOCID,
    features: Sequence[str] | None = None,
    drop: Sequence[str] | str = (),
    categorical: Sequence[str] | str = (),
    long: tuple[str, str] | None = None,
) -> Queries:
    """Return ``Queries`` from a data frame, columns selected by name.

    X is float32 if all numeric feature columns are, else float64; nulls become NaN, Booleans 0 and 1.
    ``from_frame(queries.to_frame())`` gives the same queries, except that sparse features become dense.

    Parameters
    ----------
    frame : data frame of pandas or polars, pyarrow table, DuckDB relation, or another that Arrow can read
        Only the necessary columns of a lazy frame of polars are collected.
    label : str or None, default="label"
        Column of the labels; a null means "not judged". None: the frame has no labels. The default may be
        missing unless another column looks like the labels.
    qid : str, default="qid"
        Column of the query ids, in any row order. Nulls are rejected. Whole numbers in a column of floats become
        integers. With pandas, it may be a level of the index, as may ``label`` and ``docid``.
    docid : str or None, default="docid"
        Column of the document names. "docid" means the first existing column of docid, doc_id, document_id, docno and
        id, if any. None: the documents have no names.
    features : sequence of str, default=None
        Columns of X, in this order. None takes all other columns in the order of the frame. Columns of text or
        categories become codes, whose names are in ``categories``. Columns with the name of a document id, and times,
        are left out by default with a ``DataWarning``. The warning also names columns that look like ids, times or
        free text: whole numbers or texts that differ in most rows, or numbers in the range of timestamps.
    drop : str or sequence of str, default=()
        Columns to ignore; only without ``features``.
    categorical : str or sequence of str, default=()
        Numeric columns that become categories, such as shop numbers.
    long : (name, value), default=None
        The frame has one row per feature of a document: these two columns hold the name of the feature and its value,
        and ``docid`` identifies the documents of a query. A feature that a document does not have is missing. The
        features are sorted by name. None: one row per document, one column per feature.

    Examples
    --------
    >>> from plackett import from_frame
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"qid": ["b", "a", "b"], "label": [0, 2, 1], "bm25": [0.2, 0.9, 0.4]})
    >>> data = from_frame(frame)
    >>> data.feature_names, data.y
    (['bm25'], array([0., 2., 1.]))
    """
    if not is_frame(frame):
        raise TypeError(f"from_frame needs a data frame, not {type(frame).__name__}.")
    table = frame if isinstance(frame, Table) else Table(frame, (label, qid, docid))
    table = table if long is None else one_row_per_document(table, label, qid, docid, *long)
    rows = JudgedRows(table, label, qid, docid, features, drop, categorical)
    rows.warn_of_columns()
    return rows.queries()
