"""How explanations are written: numbers with four digits, aligned columns, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from plackett.validation import plain


def plain_id(key: object) -> object:
    """An id of a query or document as JSON can hold it."""
    value = plain(key)
    return value if isinstance(value, (int, float, str, bool)) else str(value)


def number(value: float) -> str:
    """Four digits."""
    return f"{value:.4g}"


def signed(value: float) -> str:
    """Four digits and a sign."""
    return f"{value:+.4g}" if value else "0"


def aligned(table: list[list[str]], is_text: list[bool]) -> list[str]:
    """Lines with columns of equal width: text begins at the left, numbers end at the right."""
    widths = [max(len(row[column]) for row in table) for column in range(len(is_text))]
    lines = []
    for row in table:
        cells = zip(row, widths, is_text, strict=True)
        lines.append("  ".join(f"{cell:<{w}}" if left else f"{cell:>{w}}" for cell, w, left in cells).rstrip())
    return lines


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Headings and rows as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()
