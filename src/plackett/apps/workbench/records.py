"""Refined lists and their measures, as the pages and the API show them."""

from __future__ import annotations

from dataclasses import dataclass

from plackett.apps.workbench.values import Method

VISIBLE = ("mrr", "ndcg@10")  # measures of the whole list


@dataclass(frozen=True)
class Piece:
    """A part of a snippet."""

    text: str
    is_term: bool


@dataclass(frozen=True)
class Reason:
    """A reason why a document moved: the condition on a feature, the same in words, and its share of the score.

    The share is relative to another document, or to the mean of the list.
    """

    text: str
    words: str
    amount: float


@dataclass(frozen=True)
class Result:
    """A document in a list; places count from 1, and ``moved`` is positive if it moved up.

    ``grade`` is this user's judgement, ``label`` that of the collection. ``why`` compares with the document
    ``against``, which it overtook or which overtook it; null for the mean of the list.
    """

    docid: str
    title: str
    snippet: list[Piece]
    score: float
    base_score: float
    place: int
    base_place: int
    moved: int
    grade: float | None
    label: float | None
    why: list[Reason]
    against: str | None


@dataclass(frozen=True)
class Pair:
    """A preference."""

    preferred: str
    other: str


@dataclass(frozen=True)
class Graded:
    """A judged document that is not in the list."""

    docid: str
    grade: float


@dataclass(frozen=True)
class VisibleMeasures:
    """Measures of the whole list, in which a document without a judgement counts as not relevant.

    ``n_first`` are the documents on the first page, up to ten, of which ``judged_before`` and ``judged_after`` are
    judged in the base order and the refined one.
    """

    n_first: int
    judged_before: int
    judged_after: int
    before: dict[str, float]
    after: dict[str, float]


@dataclass(frozen=True)
class RankedList:
    """A list refined by this user's judgements.

    ``query_id`` is null if the query is not judged yet. ``note`` is about the refinement, ``list_note`` about the list
    of the base ranker. ``on_labels`` measures it on the labels of the collection; null if it has none for this query.
    """

    query_id: int | None
    query: str
    base: str
    method: Method
    pin_judged: bool
    k: int
    n_found: int
    n_judged: int
    n_pairs: int
    is_refined: bool
    can_undo: bool
    note: str | None
    list_note: str | None
    pairs: list[Pair]
    elsewhere: list[Graded]
    results: list[Result]
    base_results: list[Result] | None
    on_labels: VisibleMeasures | None


@dataclass(frozen=True)
class ListMeasures:
    """Measures of base and refined order on the judged documents of a list; empty if there are too few.

    ``left_out`` places each document by a refinement without its own judgement. ``visible`` is null without a relevant
    document in the list.
    """

    metrics: list[str]
    base: dict[str, float]
    refined: dict[str, float]
    left_out: dict[str, float]
    n_judged: int
    n_relevant: int
    note: str
    visible: VisibleMeasures | None
