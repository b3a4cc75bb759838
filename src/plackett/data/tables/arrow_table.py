"""Tables in memory as Arrow hands them over: frames of pandas, polars, pyarrow, DuckDB and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from plackett._optional import import_optional

ROWS_AT_ONCE = 1 << 16
OBJECTS = b"objects"  # metadata of a column of pandas that is none of Arrow: the types of its values


class Part(NamedTuple):
    """A file of a table, or a table in memory, whose path is empty: its columns and their types."""

    path: str
    schema: Any

    @property
    def prefix(self) -> str:
        """Return how messages about this part begin."""
        return f"{self.path}: " if self.path else ""


class Table:
    """Rows of one or several sources with named columns, read a batch at a time; ``name`` is for messages."""

    name = ""
    parts: list[Part]
    n_rows: int

    @property
    def column_names(self) -> list[str]:
        return self.parts[0].schema.names

    def select(self, columns: Sequence[str]) -> None:
        """Announce the columns that will be read."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Part, int, Any]]:
        """Yield the part, the number of the first row in it, and about ``n_rows`` rows of these columns."""
        raise NotImplementedError

    def to_arrow(self, columns: Sequence[str]) -> Any:
        """Return some columns as a table of pyarrow."""
        import pyarrow as pa

        batches = [pa.Table.from_batches([batch]) for _, _, batch in self.batches(columns, ROWS_AT_ONCE)]
        empty = pa.schema([self.parts[0].schema.field(name) for name in columns]).empty_table()
        return pa.concat_tables(batches or [empty], promote_options="permissive")


class ArrowTable(Table):
    """A table in memory. A lazy frame of polars is collected by ``select``."""

    def __init__(self, frame: Any, named: Sequence[str | None] = ()):
        self._lazy = frame if is_lazy(frame) else None
        self._table = as_arrow(frame if self._lazy is None else frame.head(0), named)
        self._selected: Any = None
        self.parts = [Part("", self._table.schema)]

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self._table.num_rows

    def select(self, columns: Sequence[str]) -> None:
        if self._lazy is not None:
            self._table, self._lazy = as_arrow(self._lazy.select(columns)), None
        self._selected = self._table.select(columns).unify_dictionaries()

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Part, int, Any]]:
        row, names = 0, list(dict.fromkeys(columns))
        if self._selected is not None and set(names) <= set(self._selected.column_names):
            table = self._selected
        else:
            table = self._table if self._lazy is None else as_arrow(self._lazy.select(names))
        for batch in table.select(names).to_batches(max_chunksize=n_rows):
            yield self.parts[0], row, batch
            row += batch.num_rows


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame of pandas or polars, a table of pyarrow, a relation of DuckDB or alike."""
    return (
        isinstance(value, Table)
        or hasattr(value, "collect_schema")  # first: a lazy frame of polars warns about its other attributes
        or (hasattr(value, "columns") and hasattr(value, "dtypes"))
        or (hasattr(value, "__arrow_c_stream__") and hasattr(value, "schema"))
    )


def is_lazy(frame: Any) -> bool:
    """Return whether a frame of polars is not collected yet."""
    return hasattr(frame, "collect_schema") and hasattr(frame, "collect")


def as_arrow(frame: Any, named: Sequence[str | None] = ()) -> Any:
    """Return a frame as a table of pyarrow with unique names; levels of a pandas index in ``named`` become columns."""
    pa = import_optional("pyarrow", extra="tables", needed_for="Reading a data frame")
    frame = frame.collect() if is_lazy(frame) else frame
    frame = frame.to_arrow(frame.column_names) if isinstance(frame, Table) else frame
    if isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "reset_index"):
        table = _of_pandas(frame, named, pa)
    elif hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
    else:
        raise TypeError(
            f"{type(frame).__module__.partition('.')[0]}'s {type(frame).__name__} cannot be read by Arrow. Convert it "
            "first: frame.to_arrow(), or frame.to_pandas()."
        )
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            count = table.column_names.count(name)
            raise ValueError(f"the frame has the column {name!r} {count} times. Rename or drop all but one.")
    for place, field in enumerate(table.schema):
        is_coded = pa.types.is_dictionary(field.type)
        if pa.types.is_string_view(field.type.value_type if is_coded else field.type):  # pyarrow lacks functions for it
            table = table.set_column(place, field.with_type(_wider(field.type, pa)), _without_views(table[place], pa))
    return table


def _wider(type_: Any, pa: Any) -> Any:
    is_coded = pa.types.is_dictionary(type_)
    return pa.dictionary(type_.index_type, pa.large_string(), type_.ordered) if is_coded else pa.large_string()


def _without_views(column: Any, pa: Any) -> Any:
    wider = _wider(column.type, pa)
    if not pa.types.is_dictionary(column.type):
        return column.cast(wider)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()), ordered=wider.ordered)
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, wider)


def _of_pandas(frame: Any, named: Sequence[str | None], pa: Any) -> Any:
    levels = [name for name in frame.index.names if name and name in named and name not in frame.columns]
    frame = frame.reset_index(level=levels) if levels else frame
    columns, fields = [], []
    for place, name in enumerate(frame.columns):
        values, noted = _column_of_pandas(frame.iloc[:, place], pa)
        columns.append(values)
        fields.append(pa.field(str(name), values.type, metadata=noted))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _column_of_pandas(column: Any, pa: Any) -> tuple[Any, dict | None]:
    """Return the values as Arrow has them; a column of several types, which may be left out, has no values."""
    try:
        return pa.array(column, from_pandas=True), None
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        values = column.tolist()
    if all(value is None or isinstance(value, (bool, int, float)) for value in values):  # Booleans among numbers
        return pa.array([None if value is None else float(value) for value in values], pa.float64()), None
    kinds = sorted({type(value).__name__ for value in values if value is not None})
    return pa.nulls(len(values), pa.struct([])), {OBJECTS: ", ".join(kinds).encode()}
