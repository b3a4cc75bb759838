"""Files of judgements: export, and import of those of plackett and of other tools."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Query, Response
from pydantic import Field, StringConstraints, model_validator

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import Bench, Caller, file_responses, new_router
from plackett.apps.workbench.collection import find_annotator
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.labels import pooled, settled_grades
from plackett.apps.workbench.lists import MeasureRequest
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import MAX_GRADE, MAX_IMPORT, Base, Name, Record, RequestModel
from plackett.data import judgements
from plackett.data.documents.read import as_text
from plackett.validation import count_of

PEOPLE = "judgements of people"
NOBODY = 0  # the id of no user
router = new_router("collection")


class ExportRequest(MeasureRequest):
    """The file to export; a run uses base, method and k, a LETOR file uses base."""

    format: Literal["letor", "qrels", "run", "json"]
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")

    @model_validator(mode="after")
    def _check_source(self):
        if self.annotator is not None and (self.mine or self.format == "run"):
            raise ValueError("annotator needs a format of judgements (letor, qrels or json), and excludes mine")
        return self


class ImportRequest(RequestModel):
    """The content of a file of judgements, which are added to the user's, or to those of an annotator."""

    format: Literal["auto", "json", "qrels", "letor", "csv"] = "auto"
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_IMPORT)]
    base: Base = ""
    annotator: Name | None = Field(
        default=None, description="A name for judgements that are not a person's, such as those of a click model."
    )


class Imported(Record):
    """The number of imported judgements, and notes, also in words."""

    n_imported: int
    notes: list[str]
    words: str


class ImportedJudgements(NamedTuple):
    """The content of a file, as ``Store.import_judgements`` takes it, with notes for the user."""

    rows: list[tuple[str, str, float]]
    preferences: list[tuple[str, str, str]]
    notes: list[str]


@router.get("/export", response_class=Response, responses=file_responses("text/plain", "application/json"))
def export(bench: Bench, caller: Caller, request: Annotated[ExportRequest, Query()]) -> Response:
    """Return all judgements as a file: LETOR, qrels, a run of the refined orders, or JSON."""
    from plackett.apps.workbench import exporting

    with client_errors():
        base = bench.collection.base_name(request.base)
        if request.format == "json":  # has the grade of every user
            whose = _whose(bench, caller.user if request.mine else None, request.annotator)[0]
            return exporting.export_json(bench.collection, list(bench.store.of(bench.key, whose)))
        by_query, _ = chosen_judgements(bench, caller.user if request.mine else None, request.annotator)
        how: dict[str, Any] = {"base": base, "method": request.method, "k": request.k}
        return exporting.export_judgements(request.format, bench.collection, by_query, **how)


@router.post("/import")
def import_judgements(bench: Bench, caller: Caller, request: ImportRequest) -> Imported:
    """Add the judgements of a file to this user's, or to those of an annotator, all or nothing."""
    file_format, n_imported = None if request.format == "auto" else request.format, 0
    with client_errors():
        base = bench.collection.base_name(request.base)
        found = read_judgements(request.text, file_format, bench.collection)
        if found.rows or found.preferences:
            name = request.annotator
            user_id = bench.store.user(name or caller.user, is_person=name is None).id
            n_imported = bench.store.import_judgements(
                user_id, bench.key, found.rows, preferences=found.preferences, base=base
            )
    words = " ".join([f"{count_of(n_imported, 'judgement')} imported.", *found.notes])
    return Imported(n_imported, found.notes, words)


def chosen_judgements(bench: Bench, user: str | None, annotator_id: int | None) -> tuple[dict[str, Judged], str]:
    """Return by query the judgements of all people, of one user, or of an annotator, and a description of them.

    A settled grade replaces those that people disagree about. Queries without a grade come last.
    """
    user_id, words = _whose(bench, user, annotator_id)
    settled = settled_grades(bench.store, bench.key) if user_id is None else {}
    lists = groupby(bench.store.of(bench.key, user_id), key=lambda one: one.query.text)
    found = {query: pooled(of, settled.get(query, {})) for query, of in lists}
    found = {query: judged for query, judged in found.items() if judged.labels or judged.pairs}
    return dict(sorted(found.items(), key=lambda item: not item[1].labels)), words


def _whose(bench: Bench, user: str | None, annotator_id: int | None) -> tuple[int | None, str]:
    """Return the id of a user or annotator, None for all people, and a description."""
    if annotator_id is not None:
        found = find_annotator(bench, annotator_id)
        return found.id, f"judgements of {found.name}"
    return None if user is None else bench.user_id(user) or NOBODY, PEOPLE


def read_judgements(text: str, format: str | None = None, collection: Collection | None = None) -> ImportedJudgements:
    """Return the judgements in the text of a file, in the given format or in that of its first line.

    Compressed files are refused, because a small one may expand beyond memory. Documents that ``collection`` does not
    have are skipped, and counted in the notes.
    """
    from plackett.apps.workbench.exporting import unescape_id

    text = text.removeprefix("\ufeff")
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
