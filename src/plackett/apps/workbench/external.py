"""Lists of other search engines, which are refined and not stored."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import numpy as np
from pydantic import Field, StringConstraints, model_validator

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import new_router
from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.reason_words import Reason
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import (
    MAX_DOCS,
    MAX_FEATURES,
    MAX_NUMBERS,
    Docid,
    Grade,
    Method,
    Number,
    Record,
    RequestModel,
)
from plackett.validation import feature_labels

router = new_router("refine")


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
    def _check(self):
        n_docs, n_features = len(self.features), len(self.features[0])
        if {len(row) for row in self.features} != {n_features}:
            raise ValueError("features must be one list of numbers for each document, all of the same length")
        if n_docs * n_features > MAX_NUMBERS:
            raise ValueError(f"features must have {MAX_NUMBERS:,} numbers at most")
        for name, values in (("docids", self.docids), ("base_scores", self.base_scores)):
            if values is not None and len(values) != n_docs:
                raise ValueError(f"features has {n_docs} rows but {name} has {len(values)} values")
        if self.feature_names is not None and len(self.feature_names) != n_features:
            raise ValueError(f"there are {len(self.feature_names)} feature names but {n_features} features")
        known = set(self.names)
        if len(known) < n_docs:
            duplicate = next(docid for docid, n in Counter(self.names).items() if n > 1)
            raise ValueError(f"the document {duplicate!r} is in the list twice")
        for docid in (*self.judgements, *(one for pair in self.pairs for one in pair)):
            if docid not in known:
                raise ValueError(f"a judgement names {docid!r}, which is not among the documents")
        if any(better == worse for better, worse in self.pairs):
            raise ValueError("a document cannot be preferred to itself")
        return self

    @property
    def names(self) -> list[str]:
        """The ids of the documents."""
        return [str(row) for row in range(len(self.features))] if self.docids is None else self.docids


class RefinedOrder(Record):
    """The refined order; ``scores``, ``moves`` and ``why`` follow the rows of the request.

    ``order`` has the documents, best first, and ``rows`` the same as row numbers of the request, from 0. ``moves`` are
    the places that each row moved up from the base order.
    """

    order: list[str]
    rows: list[int]
    scores: list[float]
    moves: list[int]
    why: list[list[Reason]]
    note: str | None


@router.post("/refine")
def refine_external(request: RefineRequest) -> RefinedOrder:
    """Return the refined order of a list in the request. Nothing is looked up or stored."""
    from plackett.apps.workbench.refining import refine  # imports the learning modules

    X, scores = np.array(request.features, dtype=float), np.array(request.base_scores, dtype=float)
    rows = np.argsort(-scores, kind="stable")  # of the request, in base order
    names = request.feature_names or feature_labels(X.shape[1])
    hits = Hits([request.names[row] for row in rows.tolist()], scores[rows], X[rows], names)
    with client_errors():
        refined = refine(hits, Judged(request.judgements, request.pairs), request.method, request.pin_judged)
    place = np.argsort(rows)
    return RefinedOrder(
        order=[hits.docid[row] for row in refined.order],
        rows=rows[refined.order].tolist(),
        scores=refined.scores[place].tolist(),
        moves=refined.moves[place].tolist(),
        why=[refined.why[row] for row in place.tolist()],
        note=refined.note,
    )
