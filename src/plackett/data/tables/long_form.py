"""Tables with one row per feature of a document, as feature stores keep them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett.data.grouping import distinct_rows
from plackett.data.tables.arrow_table import Part, Table
from plackett.data.tables.column_roles import check_columns, docid_column, has_no_labels
from plackett.data.tables.kinds import as_floats, ids_of, in_words, is_number


def one_row_per_document(table: Table, label: str | None, qid: str, docid: str | None, name: str, value: str) -> Table:
    """Return a table in wide form: one row per document, in order of first appearance, one column per feature.

    The columns of features are sorted by name, so that tables with rows in another order give the same columns.
    """
    import pyarrow

    part: Part = table.parts[0]
    docid = docid_column(docid, [other for other in part.schema.names if other not in (qid, label)])
    if docid is None:
        raise ValueError("long needs a column of document names: docid=..., which identifies the documents of a query.")
    label = None if label == "label" and has_no_labels(part.schema.names) else label
    keys = [key for key in (qid, docid, label) if key is not None]
    check_columns([*keys, name, value], part.schema.names)
    if not is_number(part.schema.field(value).type):
        kind = in_words(part.schema.field(value))
        raise ValueError(f"values of features must be numbers, but column {value!r} is {kind}.")
    rows = table.to_arrow(list(dict.fromkeys([*keys, name, value])))
    queries, documents, features = (_codes(ids_of(rows.column(key), key, "", 0)) for key in (qid, docid, name))
    kept, row = distinct_rows(queries.codes, documents.codes)
    cells = row * len(features.names) + features.codes

    def document(at: int) -> str:
        return f"document {documents.names[documents.codes[at]]!r} of query {queries.names[queries.codes[at]]!r}"

    _, place, count = np.unique(cells, return_index=True, return_counts=True)
    if (count > 1).any():
        at = int(place[np.argmax(count > 1)])
        raise ValueError(f"{document(at)} has the feature {features.names[features.codes[at]]!r} twice.")
    X = np.full((kept.size, len(features.names)), np.nan)
    X[row, features.codes] = as_floats(rows.column(value))
    if label is not None and is_number(part.schema.field(label).type):
        labels = as_floats(rows.column(label)).astype(np.float64)
        differs = ~((labels == labels[kept][row]) | (np.isnan(labels) & np.isnan(labels[kept][row])))
        if differs.any():
            at = int(np.argmax(differs))
            raise ValueError(f"{document(at)} has several labels, {labels[kept][row][at]:g} and {labels[at]:g}.")
    taken = next((str(feature) for feature in features.names if str(feature) in keys), None)
    if taken is not None:
        raise ValueError(f"a feature is called {taken!r}, like the column of ids or labels. Rename it.")
    places = sorted(
        range(len(features.names)), key=lambda at: (isinstance(features.names[at], str), features.names[at])
    )
    columns = {key: rows.column(key).take(pyarrow.array(kept)) for key in keys}
    columns |= {str(features.names[place]): X[:, place] for place in places}  # numbers come before texts
    return Table(pyarrow.table(columns))


class _Coded(NamedTuple):
    """Values as positions in ``names``, which are in order of first appearance."""

    codes: np.ndarray
    names: list


def _codes(ids: Any) -> _Coded:
    values = ids.combine_chunks().dictionary_encode()
    return _Coded(values.indices.to_numpy(zero_copy_only=False).astype(np.int64), values.dictionary.to_pylist())
