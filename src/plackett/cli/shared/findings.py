"""Printing of tables that open with a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.cli.shared import output as out

if TYPE_CHECKING:
    from plackett.evaluation.judges.findings import Findings


def write(found: Findings, form: str) -> None:
    """Print tables, each below its sentence, and notes."""
    if form == "json":
        out.write_json(found.to_dict())
        return
    for number, table in enumerate(found.tables()):
        if form == "table":
            out.write(("\n" if number else "") + out.wrapped(table.title))
            out.write_table(table)
            for note in table.notes:
                out.write(out.wrapped(note))
        else:
            out.write(("\n" if number else "") + getattr(table, f"to_{form}")())
    for note in found.notes:
        out.note(note)
