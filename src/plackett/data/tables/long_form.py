"""Tables with one row per feature of a document, as feature stores keep them."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.grouping import distinct_rows
from plackett.data.tables.arrow_table import Table
from plackett.data.tables.column_roles import check_columns, docid_column, has_no_labels
from plackett.data.tables.kinds import as_floats, ids_of, in_words, is_number


def one_row_per_document(table: Table, label: str | None, qid: str, docid: str | None, name: str, value: str) -> Table:
    """Return a table in wide form: one row per document, in order of first appearance, one column per feature.

    The columns of features are sorted by name, so that tables with rows in another order give the same columns.
    """
    import pyarrow

    schema = table.parts[0].schema
    docid = docid_column(docid, [other for other in schema.names if other not in (qid, label)])
    if docid is None:
        raise ValueError("long needs a column of document names: docid=..., which identifies the documents of a query.")
    label = None if label == "label" and has_no_labels(schema.names) else label
    keys = [key for key in (qid, docid, label) if key is not None]
    check_columns([*keys, name, value], schema.names)
    if not is_number(schema.field(value).type):
        kind = in_words(schema.field(value))
        raise ValueError(f"values of features must be numbers, but column {value!r} is {kind}.")
    rows = table.to_arrow([*keys, name, value])
    (query, queries), (document, documents), (feature, features) = (_codes(rows, key) for key in (qid, docid, name))
    kept, row = distinct_rows(query, document)

    def shown(at: int) -> str:
        return f"document {documents[document[at]]!r} of query {queries[query[at]]!r}"

    _, place, count = np.unique(row * len(features) + feature, return_index=True, return_counts=True)
    if (count > 1).any():
        at = int(place[np.argmax(count > 1)])
        raise ValueError(f"{shown(at)} has the feature {features[feature[at]]!r} twice.")
    X = np.full((kept.size, len(features)), np.nan)
    X[row, feature] = as_floats(rows.column(value))
    if label is not None and is_number(schema.field(label).type):
        labels = as_floats(rows.column(label)).astype(np.float64)
        first = labels[kept][row]
        differs = (labels != first) & ~(np.isnan(labels) & np.isnan(first))
        if differs.any():
            at = int(np.argmax(differs))
            raise ValueError(f"{shown(at)} has several labels, {first[at]:g} and {labels[at]:g}.")
    taken = next((str(own) for own in features if str(own) in keys), None)
    if taken is not None:
        raise ValueError(f"a feature is called {taken!r}, like the column of ids or labels. Rename it.")
    columns = {key: rows.column(key).take(pyarrow.array(kept)) for key in keys}
    for own in sorted(features, key=lambda own: (isinstance(own, str), own)):  # numbers come before texts
        columns[str(own)] = X[:, features.index(own)]
    return Table(pyarrow.table(columns))


def _codes(rows: Any, name: str) -> tuple[np.ndarray, list]:
    """Return the values of a column as positions in a list of them, which is in order of first appearance."""
    values = ids_of(rows.column(name), name, "", 0).combine_chunks().dictionary_encode()
    return values.indices.to_numpy(zero_copy_only=False).astype(np.int64), values.dictionary.to_pylist()
