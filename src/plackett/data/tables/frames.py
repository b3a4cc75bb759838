"""Converting data frames of pandas, polars and pyarrow (all that narwhals supports) to ``Queries`` and back."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett.data.categories import Categories, decode_column, encode_column, is_category
from plackett.data.grouping import as_objects, is_missing
from plackett.data.queries import Queries
from plackett.data.tables.column_roles import (
    COMMENT,
    DOCID,
    ID_NAMES,
    LABEL_NAMES,
    QID_NAMES,
    ROWS_EXAMINED,
    check_feature_names,
    docid_column,
    is_number,
    is_unnamed,
    names_and_first_index,
    resembles,
    resembles_numbers,
    resembles_text,
    warn_of_columns,
)
from plackett.validation import check_csr, is_sparse

COLUMNS_LISTED = 12
LARGEST_FLOAT_ID = 2.0**53


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

    Parameters
    ----------
    frame : data frame of pandas or polars, pyarrow table, or anything else that narwhals supports
        Only the necessary columns of a lazy frame are collected.
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

    Returns
    -------
    Queries
        X is float32 if all numeric feature columns are, else float64; nulls become NaN. Booleans become 0 and 1.
        ``from_frame(to_frame(queries))`` gives the same queries, except that sparse features become dense.

    Examples
    --------
    >>> from plackett import from_frame
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"qid": ["b", "a", "b"], "label": [0, 2, 1], "bm25": [0.2, 0.9, 0.4]})
    >>> data = from_frame(frame)
    >>> data.feature_names, data.y
    (['bm25'], array([0., 2., 1.]))
    """
    nw = import_optional("narwhals", extra="frames", needed_for="from_frame")
    table = nw.from_native(_with_names(frame, (label, qid, docid)), pass_through=True)
    if not isinstance(table, (nw.DataFrame, nw.LazyFrame)):
        raise TypeError(f"from_frame needs a data frame, not {type(frame).__name__}.")
    table, schema = _with_types(table, (qid, docid), nw)
    drop, categorical = ([one] if isinstance(one, str) else list(one) for one in (drop, categorical))
    _check_columns(drop + categorical, list(schema) if long is None else [*schema, *categorical])
    docid = docid_column(docid, [name for name in schema if name not in (qid, label)])
    label = None if label == "label" and _has_no_labels(list(schema)) else label
    _check_roles({"qid": qid, "label": label, "docid": docid}, drop, categorical)
    if drop and features is not None:
        raise ValueError("drop was given together with features; columns not named in features are ignored anyway.")
    if long is not None:
        table = _one_row_per_document(table, label, qid, docid, *long, schema, nw)
        schema = dict(table.collect_schema())
    comment = COMMENT if str(schema.get(COMMENT)) == "String" and COMMENT not in (features or ()) else None
    named = [name for name in (label, qid, docid, comment) if name is not None]
    others = [name for name in schema if name not in (*named, *drop)] if features is None else []
    ids = [name for name in others if name in ID_NAMES]
    times = [name for name in others if schema[name].is_temporal()]
    unnamed = [name for name in others if is_unnamed(name)]
    chosen = [name for name in others if name not in ids + times + unnamed] if features is None else list(features)
    _check_columns(named + chosen, list(schema))
    table = _objects_as_numbers(table, [name for name in chosen if str(schema[name]) == "Object"], nw)
    schema = dict(table.collect_schema())
    _check_types(chosen, schema, features is None)
    table = table.select(list(dict.fromkeys(named + chosen)))
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    numbers = [name for name in categorical if name in chosen and not is_category(schema[name])]
    texts = {name: _number_texts(table[name].to_list()) for name in numbers}
    table = table.with_columns(
        *(nw.new_series(name, values, nw.String, backend=table.implementation) for name, values in texts.items())
    )
    schema = dict(table.collect_schema())
    X, categories = _as_matrix(table, chosen, schema, nw)
    if features is None:
        first = table.head(ROWS_EXAMINED)

        def suspicion(place: int, name: str) -> str | None:
            if not is_category(schema[name]):
                return resembles(name, first[name].drop_nulls().to_numpy())
            known, is_meant = categories.get(place), name in categorical or schema[name] != nw.String
            return resembles_text(X[:, place], known) or (None if is_meant else resembles_numbers(known))

        found = {name: suspicion(place, name) for place, name in enumerate(chosen)}
        suspects = {name: why for name, why in found.items() if why is not None}
        remedy = "Choose the columns to use: features=[...], or drop=[...]."
        warn_of_columns(suspects, left_out=ids, times=times, unnamed=unnamed, remedy=remedy)
    names, first_index = names_and_first_index(chosen)
    return Queries(
        X,
        None if label is None else _as_labels(table, label, schema, nw),
        _as_ids(table, qid),
        docid=None if docid is None else _as_ids(table, docid),
        feature_names=names,
        comments=None if comment is None else table[comment].to_list(),
        first_index=first_index,
        categories=categories,
    )


def to_frame(
    queries: Queries, backend: str = "pandas", *, label: str = "label", qid: str = "qid", docid: str = "docid"
) -> Any:
    """Return a data frame with one row per document: query id, document name, label, comment, then the features.

    ``from_frame`` converts it back.

    Parameters
    ----------
    queries : Queries
        Sparse features become dense. Columns without a name are called ``"feature 21"`` by their number in the file,
        or ``"column 20"``. Comments of LETOR files are in the column ``letor_comment``. Codes of categories become
        categorical columns of their names.
    backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        Or any other eager backend of narwhals.
    label, qid, docid : str
        Names of these columns; labels and document names appear only if the queries have them.

    Returns
    -------
    data frame of the backend

    Examples
    --------
    >>> from plackett import Queries, to_frame
    >>> to_frame(Queries([[0.5], [0.25]], y=[1, 0], qid=[7, 7], feature_names=["bm25"]))
       qid  label  bm25
    0    7    1.0  0.50
    1    7    0.0  0.25
    """
    nw = import_optional("narwhals", extra="frames", needed_for="to_frame")
    import_optional(backend, extra="frames", needed_for=f"to_frame with backend={backend!r}")
    names = queries.feature_labels
    columns = {qid: _as_values(queries.qid)}
    if queries.docid is not None:
        columns[docid] = _as_values(queries.docid)
    if queries.y is not None:
        columns[label] = queries.y
    if queries.comments is not None:
        columns[COMMENT] = list(queries.comments)
    check_feature_names(names, columns, "to_frame(..., qid=...).")
    check_csr(queries.X)
    X = queries.X.toarray() if is_sparse(queries.X) else queries.X
    known = queries.categories or {}
    columns |= {
        name: decode_column(X[:, place], known[place], backend) if place in known else np.ascontiguousarray(X[:, place])
        for place, name in enumerate(names)
    }
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except (TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(
            f'{backend} has no column type for some ids ({reason}). Use to_frame(queries, "pandas").'
        ) from error


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame of pandas or polars, a table of pyarrow, or the like."""
    return not isinstance(value, Queries) and (
        hasattr(value, "collect_schema")  # first: a lazy frame of polars warns about its other attributes
        or (hasattr(value, "columns") and hasattr(value, "dtypes"))
        or (hasattr(value, "column_names") and hasattr(value, "schema"))
    )


def _with_names(frame: Any, wanted: tuple[str | None, ...]) -> Any:
    """Return a frame with unique names of columns as text; wanted levels of a pandas index become columns."""
    if hasattr(frame, "collect_schema") or not is_frame(frame):
        return frame
    if hasattr(frame, "reset_index"):
        levels = [name for name in frame.index.names if name and name in wanted and name not in frame.columns]
        frame = frame.reset_index(level=levels) if levels else frame
        if any(not isinstance(name, str) for name in frame.columns):
            frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    names = list(getattr(frame, "column_names", frame.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the frame has the column {twice!r} {names.count(twice)} times. Rename or drop all but one.")
    return frame


def _with_types(table: Any, ids: tuple[str | None, ...], nw: Any) -> tuple[Any, dict]:
    """Return the table, and the type of each column, with objects converted to numbers or times where possible.

    Databases return Decimal and date objects, and columns without any value.
    """
    schema = dict(table.collect_schema())
    unclear = [name for name, kind in schema.items() if kind in (nw.Object, nw.Unknown) and name not in ids]
    if not unclear:
        return table, schema
    pa = import_optional("pyarrow", extra="frames", needed_for="Reading columns of objects")
    some = table.select([nw.col(name) for name in unclear])
    some = some.collect() if isinstance(some, nw.LazyFrame) else some
    for name in unclear:
        try:
            values = pa.array(some[name].to_list(), from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # objects of several types
            continue
        kind = values.type
        if pa.types.is_temporal(kind):
            schema[name] = nw.Datetime()
        elif pa.types.is_null(kind):
            table = table.with_columns(nw.lit(None, dtype=nw.Float64).alias(name))
            schema[name] = nw.Float64()
        elif isinstance(table, nw.DataFrame) and (
            pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
        ):  # fmt: skip
            floats = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
            table = table.with_columns(nw.new_series(name, floats, nw.Float64, backend=table.implementation))
            schema[name] = nw.Float64()
    return table, schema


def _number_texts(values: list) -> list[str | None]:
    """Return numbers as texts, NaN as None; whole ones are spelled as integers, whether or not the column has NaN."""

    def spelled(value: Any) -> str | None:
        if is_missing(value):
            return None
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

    texts = {value: spelled(value) for value in set(values)}
    return [texts[value] for value in values]


def _one_row_per_document(
    table: Any, label: str | None, qid: str, docid: str | None, name: str, value: str, schema: dict, nw: Any
) -> Any:
    """Return a table in wide form: one row per document, in order of first appearance, one column per feature."""
    if docid is None:
        raise ValueError("long needs a column of document names: docid=..., which identifies the documents of a query.")
    keys = [one for one in (qid, docid, label) if one is not None]
    _check_columns([*keys, name, value], list(schema))
    table = table.select([*keys, name, value])
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    queries, documents, features = (_codes(_as_ids(table, one)) for one in (qid, docid, name))
    pairs = queries.codes * len(documents.names) + documents.codes
    _, first, row = np.unique(pairs, return_index=True, return_inverse=True)
    order = np.argsort(first)
    row = np.argsort(order)[row.reshape(-1)]
    cells = row * len(features.names) + features.codes

    def document(at: int) -> str:
        return f"document {documents.names[documents.codes[at]]!r} of query {queries.names[queries.codes[at]]!r}"

    _, place, count = np.unique(cells, return_index=True, return_counts=True)
    if (count > 1).any():
        at = int(place[np.argmax(count > 1)])
        raise ValueError(f"{document(at)} has the feature {features.names[features.codes[at]]!r} twice.")
    if not _is_number(schema[value]):
        raise ValueError(f"values of features must be numbers, but column {value!r} is {schema[value]}.")
    X = np.full((order.size, len(features.names)), np.nan)
    X[row, features.codes] = _as_floats(table[value], nw.Float64)
    rows = first[order]
    columns = {key: table[key][rows.tolist()] for key in keys}
    if label is not None:
        labels = _as_labels(table, label, schema, nw)
        differs = ~((labels == labels[rows][row]) | (np.isnan(labels) & np.isnan(labels[rows][row])))
        if differs.any():
            at = int(np.argmax(differs))
            raise ValueError(f"{document(at)} has several labels, {labels[rows][row][at]:g} and {labels[at]:g}.")
    taken = next((str(feature) for feature in features.names if str(feature) in keys), None)
    if taken is not None:
        raise ValueError(f"a feature is called {taken!r}, like the column of ids or labels. Rename it.")
    # sorted, so that tables with rows in another order give the same columns; numbers come before texts
    places = sorted(
        range(len(features.names)),
        key=lambda at: (isinstance(features.names[at], str), features.names[at]),
    )
    columns |= {str(features.names[place]): X[:, place] for place in places}
    return nw.from_dict(columns, backend=table.implementation)


class _Coded(NamedTuple):
    """Values as positions in ``names``, which are in order of first appearance."""

    codes: np.ndarray
    names: list


def _codes(values: np.ndarray | list) -> _Coded:
    names: dict[Any, int] = {}
    codes = [
        names.setdefault(value, len(names)) for value in (values.tolist() if hasattr(values, "tolist") else values)
    ]
    return _Coded(np.array(codes, dtype=np.int64), list(names))


def _has_no_labels(present: list[str]) -> bool:
    """Return whether there is no column "label", nor another that looks like the labels."""
    return (
        "label" not in present
        and not {name.lower() for name in present} & set(LABEL_NAMES)
        and not near("label", present)
    )


def _check_roles(roles: dict[str, str | None], drop: list[str], categorical: list[str]) -> None:
    """Raise if two parameters name the same column."""
    seen: dict[str, str] = {}
    for role, name in roles.items():
        if name is None:
            continue
        if name in seen:
            raise ValueError(f"{seen[name]} and {role} name the same column, {name!r}.")
        seen[name] = role
    for name in dict.fromkeys(drop + categorical):
        if name in seen:
            hint = " For data without labels, pass label=None." if seen[name] == "label" and name in drop else ""
            which = "drop" if name in drop else "categorical"
            raise ValueError(f"{which} names {name!r}, which is the column of {seen[name]}.{hint}")
        if name in drop and name in categorical:
            raise ValueError(f"drop and categorical name the same column, {name!r}.")


def _check_columns(wanted: list[str], present: list[str]) -> None:
    for name in wanted:
        if name not in present:
            raise ValueError(f"there is no column {name!r}. {columns_in_words(name, present)}")


def near(wanted: str, present: list[str]) -> list[str]:
    """Return columns with a similar name."""
    return get_close_matches(str(wanted), present, n=3)


def columns_in_words(wanted: str, present: list[str]) -> str:
    """Return a hint for a missing column: columns with a similar name, or the first columns."""
    usual = {"label": LABEL_NAMES, "qid": (*QID_NAMES, "query", "session_id", "search_id")}.get(wanted, ())
    similar = near(wanted, present) or [name for name in present if name.lower() in usual]
    if similar:
        return f"Did you mean {' or '.join(repr(other) for other in similar)}?"
    more = ", ..." if len(present) > COLUMNS_LISTED else ""
    return f"Its columns are {', '.join(map(repr, present[:COLUMNS_LISTED])) or 'none'}{more}."


def _check_types(features: list[str], schema: dict, chosen_by_us: bool) -> None:
    if len(set(features)) < len(features):
        twice = next(name for place, name in enumerate(features) if name in features[:place])
        raise ValueError(f"features names {twice!r} twice.")
    other = [name for name in features if not (_is_number(schema[name]) or is_category(schema[name]))]
    if other:
        listed = ", ".join(f"{name!r} ({schema[name]})" for name in other[:COLUMNS_LISTED])
        more = f" and {len(other) - COLUMNS_LISTED} more" if len(other) > COLUMNS_LISTED else ""
        hint = " Leave them out: drop=[...]." if chosen_by_us else " Convert them first, such as dates to ages."
        raise ValueError(
            f"features must be numbers, text or categories, but these columns are not: {listed}{more}.{hint}"
        )


def _objects_as_numbers(table: Any, names: list[str], nw: Any) -> Any:
    """Return the table with floats in columns of objects that are all numbers, booleans or None, as pandas has them."""
    columns = []
    for name in names:
        values = table[name].to_list()
        if all(value is None or isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
            floats = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            columns.append(nw.new_series(name, floats, backend=table.implementation))
    return table.with_columns(*columns) if columns else table


def _is_number(dtype: Any) -> bool:
    return dtype.is_numeric() or str(dtype) == "Boolean"


def _as_matrix(table: Any, features: list[str], schema: dict, nw: Any) -> tuple[np.ndarray, Categories]:
    """Return the features, and the categories of columns of text."""
    numbers = [name for name in features if not is_category(schema[name])]
    is_float32 = bool(numbers) and all(schema[name] == nw.Float32 for name in numbers)
    X = np.empty((len(table), len(features)), dtype=np.float32 if is_float32 else np.float64)
    categories = {}
    for place, name in enumerate(features):
        if is_category(schema[name]):
            X[:, place], names = encode_column(table[name])
            if names.size:
                categories[place] = names
        else:
            X[:, place] = _as_floats(table[name], nw.Float32 if is_float32 else nw.Float64)
    return X, categories


def _as_labels(table: Any, label: str, schema: dict, nw: Any) -> np.ndarray:
    if not _is_number(schema[label]):
        kind, values = str(schema[label]).partition("(")[0], table[label].to_list()
        first = next((value for value in values if not (is_missing(value) or is_number(str(value)))), None)
        example = " of numbers" if first is None else f", such as {first!r}"
        raise ValueError(
            f"labels and scores must be numbers, but column {label!r} is {kind}{example}. Convert it; in grades, 0 "
            "means not relevant, and higher is better."
        )
    return _as_floats(table[label], nw.Float64)


def _as_floats(column: Any, dtype: Any) -> np.ndarray:
    """Return the column as floats; nulls become NaN."""
    values = column.cast(dtype)
    is_null = values.is_null().to_numpy().astype(bool)
    if is_null.any():
        values = values.fill_null(float("nan"))
    return np.asarray(values.to_numpy(), dtype=np.float32 if str(dtype) == "Float32" else np.float64)


def _as_ids(table: Any, name: str) -> np.ndarray | list:
    column = table[name]
    is_null = column.is_null().to_numpy().astype(bool)
    if is_null.any():
        raise ValueError(f"column {name!r} is null in row {int(np.argmax(is_null))}. Every row needs an id.")
    if column.dtype.is_integer():
        return column.to_numpy()
    if column.dtype.is_float():
        return _whole_ids(np.asarray(column.to_numpy(), dtype=np.float64), name)
    # Python strings, of which numpy makes a compact array; ids of several types stay objects, numpy would make text
    return as_objects(column.to_list()) if str(column.dtype) == "Object" else column.to_list()


def _whole_ids(values: np.ndarray, name: str) -> np.ndarray | list:
    """Return ids that a column of floats holds as integers, as they were before the column had missing values."""
    if np.isnan(values).any():
        raise ValueError(f"column {name!r} is NaN in row {int(np.argmax(np.isnan(values)))}. Every row needs an id.")
    if (values != np.floor(values)).any():
        return values.tolist()
    if values.size and np.abs(values).max() >= LARGEST_FLOAT_ID:
        raise ValueError(
            f"column {name!r} holds ids as floats of 2^53 or more, where different ids may have been rounded to one. "
            "Read it as integers or text."
        )
    return values.astype(np.int64)


def _as_values(ids: np.ndarray) -> np.ndarray | list:
    return ids if ids.dtype.kind in "iuf" else ids.tolist()
