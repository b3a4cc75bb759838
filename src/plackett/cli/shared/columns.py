"""Options that name the columns of tables: CSV, TSV, Arrow and Parquet files."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

Qid = Annotated[str | None, typer.Option("--qid", metavar="COLUMN", help="Tables: the query ids (qid).")]
Label = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="Tables: the labels (label).")]
Docid = Annotated[str | None, typer.Option("--docid", metavar="COLUMN", help="Tables: names of documents (docid).")]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMNS", help="Tables: not features; several with commas."),
]
Categorical = Annotated[
    list[str] | None, typer.Option("--categorical", metavar="COLUMNS", help="Tables: numbers that are names.")
]


class Columns(NamedTuple):
    """The columns that a user named; None and () are the defaults of ``from_frame``."""

    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``read_table`` that differ from its defaults."""
        return {name: value for name, value in self._asdict().items() if value}


def columns_of(
    qid: str | None, label: str | None, docid: str | None, drop: list[str] | None, categorical: list[str] | None
) -> Columns:
    """Return the columns that options name; several names may be separated by commas."""
    several = [tuple(name.strip() for text in one or [] for name in text.split(",")) for one in (drop, categorical)]
    return Columns(qid, label, docid, *several)
