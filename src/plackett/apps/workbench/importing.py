"""Import of judgements from files of plackett and of other tools."""

from __future__ import annotations

import math
from typing import NamedTuple

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.exporting import unescape_id
from plackett.apps.workbench.values import MAX_GRADE
from plackett.data import judgements
from plackett.data.documents.read import as_text
from plackett.validation import count_of


class ImportedJudgements(NamedTuple):
    """The content of a file, as ``Store.import_judgements`` takes it, with notes for the user."""

    rows: list[tuple[str, str, float]]
    preferences: list[tuple[str, str, str]]
    notes: list[str]


def read_judgements(data: bytes, format: str | None = None, collection: Collection | None = None) -> ImportedJudgements:
    """Return the judgements in the bytes of a file: UTF-8 text in the given format, or in that of its first line.

    Compressed files are refused, because a small one may expand beyond memory. Documents that ``collection`` does not
    have are skipped, and counted in the notes.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text (byte {error.start}); compressed files are not supported."
        raise ValueError(message) from None
    if text.startswith("BZh"):
        raise ValueError("compressed files are not supported; send the uncompressed text.")
    format = format or judgements.format_of(text)
    read = judgements.parse(text, format if format in ("json", "qrels") else format.upper(), format)
    notes = [f"{count_of(read.n_unjudged, 'row has', 'rows have')} no rating."] if read.n_unjudged else []
    unescaped = unescape_id if read.format in ("qrels", "letor") else str
    # requests strip queries too
    rows = [
        (as_text(unescaped(query)).strip(), as_text(unescaped(docid)), _grade(label, notes))
        for query, docid, label in zip(read.qid, read.docid, read.labels, strict=True)
    ]
    preferences = [(as_text(query).strip(), as_text(docid), as_text(other)) for query, docid, other in read.preferences]
    if collection is not None:
        n_before = len(rows) + len(preferences)
        named = [row[1] for row in rows] + [docid for pair in preferences for docid in pair[1:]]
        missing = collection.missing(list(dict.fromkeys(named)))
        rows = [row for row in rows if row[1] not in missing]
        preferences = [pair for pair in preferences if missing.isdisjoint(pair[1:])]
        n_skipped = n_before - len(rows) - len(preferences)
        if n_skipped:
            notes.append(
                f"{count_of(n_skipped, 'row names a document', 'rows name documents')} not in {collection.name}."
            )
    return ImportedJudgements(rows, preferences, list(dict.fromkeys(notes)))


def _grade(grade: float, notes: list[str]) -> float:
    if not math.isfinite(grade) or grade > MAX_GRADE:
        raise ValueError(f"a grade is {grade:g}; grades are numbers from 0 to {MAX_GRADE:g}.")
    if grade < 0:
        notes.append("Grades below 0, as TREC gives them to spam, count as 0.")
    return max(float(grade), 0.0)
