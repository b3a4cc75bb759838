"""Tables as Arrow hands them over: frames of pandas, polars, pyarrow, DuckDB and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from plackett._optional import import_optional

ROWS_AT_ONCE = 1 << 16
OBJECTS = b"objects"  # metadata of a column of pandas that is none of Arrow: the types of its values


class Part(NamedTuple):
    """A file of a table, or a table in memory, whose path is empty: its columns and their types, and its rows."""

    path: str
    schema: Any
    n_rows: int

    @property
    def prefix(self) -> str:
        """Return how messages about this part begin."""
        return f"{self.path}: " if self.path else ""


class Table:
    """A frame with named columns, read a batch of rows at a time; ``name`` is for messages.

    A lazy frame of polars is collected by ``select``. Tables of files have ``parts`` with paths.
    """

    name = ""
    parts: list[Part]
    n_rows: int

    def __init__(self, frame: Any, named: Sequence[str | None] = ()):
        self._lazy = frame if is_lazy(frame) else None
        self._table = as_arrow(frame if self._lazy is None else frame.head(0), named)
        self.n_rows = self._table.num_rows
        self.parts = [Part("", self._table.schema, self.n_rows)]

    @property
    def column_names(self) -> list[str]:
        return self.parts[0].schema.names

    def select(self, columns: Sequence[str]) -> Table:
        """Return the table of some columns."""
        table = self._table.select(columns) if self._lazy is None else as_arrow(self._lazy.select(columns))
        return Table(table.unify_dictionaries())

    def batches(self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE) -> Iterator[tuple[Part, int, Any]]:
        """Yield the part, the number of the first row in it, and about ``n_rows`` rows of these columns."""
        row = 0
        for batch in self._table.select(dict.fromkeys(columns)).to_batches(max_chunksize=n_rows):
            yield self.parts[0], row, batch
            row += batch.num_rows

    def to_arrow(self, columns: Sequence[str]) -> Any:
        """Return some columns as a table of pyarrow."""
        import pyarrow as pa

        columns = list(dict.fromkeys(columns))
        empty = pa.schema([self.parts[0].schema.field(name) for name in columns]).empty_table()
        batches = [pa.Table.from_batches([batch]) for _, _, batch in self.select(columns).batches(columns)]
        return pa.concat_tables([empty, *batches], promote_options="permissive")


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
    if isinstance(frame, Table):
        table = frame.to_arrow(frame.column_names)
    elif isinstance(frame, pa.Table):
        table = frame
    elif hasattr(frame, "reset_index"):
        table = _of_pandas(frame, named, pa)
    elif hasattr(frame, "to_arrow"):  # polars, whose stream has types that pyarrow lacks functions for
        table = pa.table(frame.to_arrow())
    elif hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
    else:
        raise TypeError(
            f"{type(frame).__module__.partition('.')[0]}'s {type(frame).__name__} cannot be read by Arrow. Convert it "
            "first: frame.to_arrow(), or frame.to_pandas()."
        )
    twice = next((name for name in table.column_names if table.column_names.count(name) > 1), None)
    if twice is not None:
        count = table.column_names.count(twice)
        raise ValueError(f"the frame has the column {twice!r} {count} times. Rename or drop all but one.")
    fields = [field.with_type(_without_views(field.type, pa)) for field in table.schema]
    return table if fields == list(table.schema) else table.cast(pa.schema(fields))


def _without_views(type_: Any, pa: Any) -> Any:
    """Return the type of text that pyarrow has functions for."""
    if pa.types.is_dictionary(type_):
        return pa.dictionary(type_.index_type, _without_views(type_.value_type, pa), type_.ordered)
    return pa.large_string() if pa.types.is_string_view(type_) else type_


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
