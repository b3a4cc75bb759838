"""Options that name the columns of tables: CSV, TSV, Arrow and Parquet files."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

_PANEL = "Columns of a table"


def _option(name: str, text: str, metavar: str | None = "COLUMN") -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=_PANEL)


Qid = Annotated[str | None, _option("--qid", "Query ids. Default: qid.")]
Label = Annotated[str | None, _option("--label", "Labels. Default: label.")]
Docid = Annotated[str | None, _option("--docid", "Names of documents. Default: docid.")]
Drop = Annotated[list[str] | None, _option("--drop", "Columns that are not features, comma-separated.")]
Sql = Annotated[str | None, _option("--sql", "Query of an SQLite database: SELECT ...", "QUERY")]
Categorical = Annotated[list[str] | None, _option("--categorical", "Numeric columns that are categories.")]
Missing = Annotated[str | None, _option("--missing", "zero, mean, median, min or query-median.", "RULE")]
MissingIndicator = Annotated[bool, _option("--missing-indicator", "Also add columns that mark NaN.", None)]
Encoding = Annotated[str | None, _option("--encoding", "Encode text: one-hot, target.", "HOW")]


class Columns(NamedTuple):
    """The columns that a user named; None and () are the defaults of ``from_frame``."""

    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    sql: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``read_table`` that differ from its defaults."""
        return {name: value for name, value in self._asdict().items() if value}


def columns_of(
    qid: str | None,
    label: str | None,
    docid: str | None,
    drop: list[str] | None,
    categorical: list[str] | None,
    sql: str | None,
) -> Columns:
    """Return the columns that options name; several names may be separated by commas."""
    return Columns(qid, label, docid, _split(drop), _split(categorical), sql)


def _split(texts: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in texts or [] for name in text.split(","))
