"""What every result on judges has: tables that open with a sentence, and notes."""

from __future__ import annotations

from html import escape
from typing import Any

from plackett._tables import Table, notebook_html


class Findings:
    """Tables, each with its sentence as title, and notes; subclasses have ``tables`` and ``notes``."""

    notes: list[str]

    def tables(self) -> list[Table]:
        """Return the tables; the title of each is its sentence."""
        raise NotImplementedError

    def headline(self) -> str:
        """Return the sentence of the first table."""
        return self.tables()[0].title

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"tables": [table.to_dict() for table in self.tables()], "notes": list(self.notes)}

    def __str__(self) -> str:
        shown = ["\n".join([table.title, table.to_text(), *table.notes]) for table in self.tables()]
        return "\n\n".join([*shown, *(["\n".join(self.notes)] if self.notes else [])])

    def _repr_html_(self) -> str:
        shown = [
            f"<p>{escape(table.title)}</p>{notebook_html(Table(table.columns, table.rows), after=table.notes)}"
            for table in self.tables()
        ]
        return "\n".join([*shown, *(f"<p>{escape(note)}</p>" for note in self.notes)])
