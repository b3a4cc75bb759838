"""Files of judgements: export and import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import Field, StringConstraints, model_validator

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import Bench, Caller, as_download, file_responses, new_router
from plackett.apps.workbench.collection import annotator
from plackett.apps.workbench.lists import MeasureRequest
from plackett.apps.workbench.people import settled_judgements, settlements
from plackett.apps.workbench.store import Judgement, Preference
from plackett.apps.workbench.values import MAX_IMPORT, Base, Name, RequestModel

PEOPLE = "judgements of people"
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


@dataclass(frozen=True)
class Imported:
    """The number of imported judgements, and notes."""

    n_imported: int
    notes: list[str]


@router.get("/export", response_class=Response, responses=file_responses("text/plain", "application/json"))
def export(bench: Bench, caller: Caller, request: Annotated[ExportRequest, Query()]) -> Response:
    """Return all judgements as a file: LETOR, qrels, a run of the refined orders, or JSON."""
    from plackett.apps.workbench.exporting import export_judgements

    user = caller.user if request.mine else None
    is_settled = request.format != "json"  # JSON has the grade of every user
    judgements, preferences, _ = chosen_judgements(bench, user, request.annotator, is_settled=is_settled)
    with client_errors():
        base = bench.collection.base_name(request.base)
        how: dict[str, Any] = {"base": base, "method": request.method, "k": request.k}
        return as_download(export_judgements(request.format, bench.collection, judgements, preferences, **how))


@router.post("/import")
def import_judgements(bench: Bench, caller: Caller, request: ImportRequest) -> Imported:
    """Add the judgements of a file to this user's, or to those of an annotator, all or nothing."""
    from plackett.apps.workbench.importing import read_judgements

    file_format, n_imported = None if request.format == "auto" else request.format, 0
    with client_errors():
        base = bench.collection.base_name(request.base)
        found = read_judgements(request.text.encode("utf-8"), file_format, bench.collection)
        if found.rows or found.preferences:
            name = request.annotator
            user_id = (bench.store.user(caller.user) if name is None else bench.store.annotator(name)).id
            n_imported = bench.store.import_judgements(
                user_id, bench.key, found.rows, preferences=found.preferences, base=base
            )
    return Imported(n_imported, found.notes)


def chosen_judgements(
    bench: Bench, user: str | None, annotator_id: int | None, *, is_settled: bool = True
) -> tuple[list[Judgement], list[Preference], str]:
    """Return the judgements of all people, of one user, or of an imported annotator, and a description of them.

    With ``is_settled``, a settled grade replaces those that people disagree about.
    """
    store, key = bench.store, bench.key
    if annotator_id is not None:
        found = annotator(bench, annotator_id)
        return list(store.judgements(key, found.id)), [], f"judgements of {found.name}"
    user_id = None if user is None else bench.user_id(user)
    if user is not None and user_id is None:
        return [], [], PEOPLE
    judgements = list(store.judgements(key, user_id))
    if user is None and is_settled:
        judgements = list(settled_judgements(judgements, settlements(store, key)))
    return judgements, list(store.preferences(key, user_id)), PEOPLE
