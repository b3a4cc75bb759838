"""One measuring of rankers for training, scoreboard, comparisons and snapshots.

A ranker is measured on what it would show: complete lists, in which documents without a judgement count as not
relevant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, StringConstraints

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import invalid
from plackett.apps.workbench.values import FIRST, MAX_BASE, MAX_BOARD_RANKERS, NO_NULL, Id, Record, RequestModel
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.measure import Measure

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison

UNJUDGED = "Documents that are not judged count as not relevant."
MAX_MEASURES = 8
_COMMA = re.compile(r",(?![^()]*\))")


class Ranking(NamedTuple):
    """The documents of a list, best first, with their scores."""

    docid: list[str]
    scores: list[float]


RankerChoice = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BASE, pattern=NO_NULL)]
MeasureText = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_NULL)]


class MeasuringRequest(RequestModel):
    """The convention and the judgements for measuring rankings."""

    convention: str = Field(default="standard", max_length=40, description="The rules of a tool, such as trec.")
    judgements: str = Field(
        default="",
        max_length=40,
        pattern=r"^[a-z]*(:[0-9]{1,18})?$",
        description="people, mine, labels (of the collection) or annotator:ID; empty means labels if there are any, "
        "else people.",
    )


class BoardRequest(MeasuringRequest):
    """A query set, rankers, and how they are measured."""

    set_id: Id
    ranker: list[RankerChoice] = Field(
        default=[], max_length=MAX_BOARD_RANKERS, description="Rankers; empty means the default and the trained ones."
    )
    measure: MeasureText = "ndcg@10"


class VisibleMeasures(Record):
    """Measures of the whole list, in which a document without a judgement counts as not relevant.

    ``n_first`` are the documents on the first page, up to ten, of which ``judged_before`` and ``judged_after`` are
    judged in the base order and the refined one.
    """

    n_first: int
    judged_before: int
    judged_after: int
    before: dict[str, float]
    after: dict[str, float]


class ListMeasures(Record):
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


def parse_measures(text: str, convention: str = "standard") -> list[Measure]:
    """Return the measures of a request, each once; raise a ``RequestError`` about what is wrong."""
    if convention not in CONVENTIONS:
        raise invalid(f"convention={convention!r} is not known; choose one of {', '.join(CONVENTIONS)}.")
    with client_errors():  # measures are between commas outside of brackets
        found = {str(one): one for one in map(Measure.parse, filter(None, map(str.strip, _COMMA.split(text))))}
    if not 1 <= len(found) <= MAX_MEASURES:
        raise invalid(f"a comparison has 1 to {MAX_MEASURES} measures, not {len(found)}.")
    for one in found.values():
        if one.kind.needs_subtopics:
            message = f"{one.name} needs labels by subtopic, which the workbench does not have."
            raise invalid(message, "Choose another measure, such as ndcg@10.")
    return list(found.values())


def compare_rankings(
    labels: Mapping[str, Mapping[str, float]],
    rankings: Mapping[str, Mapping[str, Ranking]],
    measures: Sequence[str | Measure],
    convention: str = "standard",
) -> Comparison:
    """Return the comparison of rankers on the queries that have a label, in the order of their texts.

    At least one query has a label, and every ranker has a ranking of every query with one; an empty one counts with the
    worst value.
    """
    from plackett.evaluation.compare.runs import compare_runs

    judged = sorted(query for query, of in labels.items() if of)  # resampled alike wherever they come from
    # numbers: arrays of ids have the width of the longest. They sort as the ids do, which rules for ties compare
    ids = {docid for of in rankings.values() for query in judged for docid in of[query].docid}
    ids |= {docid for query in judged for docid in labels[query]}
    number = {docid: f"{place:08d}" for place, docid in enumerate(sorted(ids))}
    qrels = {
        f"{place:06d}": {number[docid]: label for docid, label in labels[query].items()}
        for place, query in enumerate(judged)
    }
    runs = {}
    for name, of in rankings.items():
        run = {
            f"{place:06d}": {number[docid]: score for docid, score in zip(*of[query], strict=True)}
            for place, query in enumerate(judged)
            if of[query].docid
        }
        runs[name] = run or {"000000": {"nothing": 0.0}}  # a run cannot be empty
    with client_errors():
        return compare_runs(qrels, runs, metrics=list(measures), convention=convention, baseline="best")


def values_of(found: Comparison, labels: Mapping[str, Mapping[str, float]], measure: str) -> dict[str, list[float]]:
    """Return by query the value of each ranker, NaN where the convention leaves the query out."""
    judged = sorted(query for query, of in labels.items() if of)
    columns = [table[measure].tolist() for table in found.tables.values()]
    return dict(zip(judged, map(list, zip(*columns, strict=True)), strict=True))


def total_of(found: Comparison | None, name: str, measure: str, judged: float | None) -> dict[str, Any]:
    """Return the mean over the queries that count, its 95 % interval and their number, beside a judged share."""
    values, mean, (low, high) = tuple[float, ...](), None, (None, None)
    if found is not None:
        table = found.tables[name]
        values = tuple(value for value in table[measure].tolist() if not math.isnan(value))
        mean, (low, high) = finite(table.mean()[measure]), _interval(values)
    return {"mean": mean, "low": low, "high": high, "n_counted": len(values), "judged": judged}


@lru_cache(maxsize=64)
def _interval(values: tuple[float, ...]) -> tuple[float | None, float | None]:
    from plackett.evaluation.significance import bootstrap_interval

    return bootstrap_interval(values) if len(values) > 1 else (None, None)


def share_judged(labels: Mapping[str, Mapping[str, float]], rankings: Mapping[str, Ranking]) -> float | None:
    """Return which share of the first ten documents of the rankings is judged; None without documents."""
    judged = [docid in labels[query] for query, one in rankings.items() for docid in one.docid[:FIRST]]
    return sum(judged) / len(judged) if judged else None


def shares_in_words(shares: Mapping[str, float | None]) -> tuple[str, bool]:
    """Return which share of the first ten of each ranker is not judged, in words, and whether the shares differ."""
    parts = [
        f"{100 * (1 - share):.0f} % of the first ten of {name}"
        for name, share in shares.items()
        if share is not None and share < 1
    ]
    words = f"{' and '.join(parts)} are not judged." if parts else ""
    is_uneven = len({share for share in shares.values() if share is not None}) > 1
    if is_uneven:
        words += " The shares differ, so a ranker with fewer judged documents may be better than it looks here."
    return words, is_uneven


def finite(value: float) -> float | None:
    """Return the value, None for NaN, which JSON does not have."""
    return value if math.isfinite(value) else None
