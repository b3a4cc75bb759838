"""Lists of other search engines, which are refined and not stored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, model_validator

from plackett.apps.workbench.limits import MAX_DOCS, MAX_FEATURES, MAX_NUMBERS
from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.lists import Reason
from plackett.apps.workbench.schemas.values import Docid, Grade, Method, Number


class RefineRequest(RequestModel):
    """A list of another search engine: features and base score of each document, and judgements on some of them."""

    docids: Annotated[list[Docid], Field(max_length=MAX_DOCS)] | None = Field(
        default=None, description='Unique ids of the documents; null means "0", "1", and so on.'
    )
    features: Annotated[
        list[Annotated[list[Number], Field(max_length=MAX_FEATURES)]], Field(min_length=1, max_length=MAX_DOCS)
    ] = Field(description="One list of numbers for each document, all of the same length.")
    base_scores: Annotated[list[Number], Field(min_length=1, max_length=MAX_DOCS)]
    feature_names: (
        Annotated[list[Annotated[str, StringConstraints(max_length=200)]], Field(max_length=MAX_FEATURES)] | None
    ) = None
    judgements: Annotated[dict[Docid, Grade], Field(max_length=MAX_DOCS)] = Field(
        default={}, description="Grades by document; 1 and more is relevant, 0 is not."
    )
    pairs: Annotated[list[tuple[Docid, Docid]], Field(max_length=MAX_DOCS)] = Field(
        default=[], description="Preferences: the first document is preferred to the second."
    )
    method: Method = "multiplicative"
    pin_judged: bool = Field(default=False, description="Whether graded documents are pinned first or last.")

    @model_validator(mode="after")
    def _check_lengths(self):
        n_docs = len(self.features)
        widths = {len(row) for row in self.features}
        if len(widths) > 1:
            raise ValueError("features must be one list of numbers for each document, all of the same length")
        if n_docs * max(widths) > MAX_NUMBERS:
            raise ValueError(f"features must have {MAX_NUMBERS:,} numbers at most")
        for name, values in (("docids", self.docids), ("base_scores", self.base_scores)):
            if values is not None and len(values) != n_docs:
                raise ValueError(f"features has {n_docs} rows but {name} has {len(values)} values")
        return self


class RefineResponse(BaseModel):
    """The refined order; ``scores``, ``moves`` and ``why`` follow the rows of the request."""

    order: list[str] = Field(description="Documents, best first.")
    rows: list[int] = Field(description="The same as row numbers of the request, from 0.")
    scores: list[float]
    moves: list[int] = Field(description="Places that each row moved up from the base order.")
    why: list[list[Reason]]
    note: str | None
