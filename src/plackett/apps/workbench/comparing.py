"""Comparisons: rankers and snapshots over all queries of a set, with tests, and their lists side by side."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import quote, unquote

from fastapi import Query
from pydantic import Field, StringConstraints

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench import query_sets, runs
from plackett.apps.workbench.api import Bench, Caller, invalid, missing, new_router
from plackett.apps.workbench.rankers import TRAINED_NOTE
from plackett.apps.workbench.rankings import Found
from plackett.apps.workbench.snapshots import Snapshot, frozen_labels, frozen_rankings, snapshot
from plackett.apps.workbench.values import (
    FIRST,
    FROZEN_DEPTH,
    MAX_BASE,
    MAX_BOARD_RANKERS,
    NO_NULL,
    RELEVANT_FROM,
    Id,
    QueryText,
    Record,
)
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison
    from plackett.metrics.measure import Measure

NOW, FROZEN, POOL = "now", "frozen", "pool-"
MAX_CHANGED = 10
MAX_TITLE = 200  # characters
MAX_COMPARISONS = 16  # in the cache, each some megabytes
AT_ONCE = 800  # lists that are measured within a request
router = new_router("scoreboard")

# "now/bm25", or "12/bm25" for the ranker of a snapshot
SIDE = r"^(now|[0-9]{1,18})/[^\x00]+$"
SideText = Annotated[str, StringConstraints(max_length=MAX_BASE + 20, pattern=SIDE)]


class ComparisonRequest(runs.MeasuringRequest):
    """The compared sides: two or more, each a ranker now ("now/bm25") or in a snapshot ("12/bm25").

    Judgements may also be "frozen": those of the newest snapshot among the sides.
    """

    side: list[SideText] = Field(min_length=2, max_length=MAX_BOARD_RANKERS)
    measures: Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=NO_NULL)] = Field(
        default="ndcg@10,p@10,mrr", description="Measures, comma-separated; the first one orders the queries."
    )
    set_id: Id | None = Field(default=None, description="The query set, if no side is a snapshot.")


class ComparedListsRequest(ComparisonRequest):
    """The lists of one query."""

    q: QueryText


class Pool(Record):
    """The documents without a judgement among the first ten of all rankers: their number, and their queue.

    ``is_uneven`` says whether the judged shares of the rankers differ.
    """

    queue: str
    n_documents: int
    is_uneven: bool
    words: str


class Pair(Record):
    """The difference of two sides by one measure, B minus A, over the queries that count for both.

    ``p`` is that of Fisher's randomisation test, ``p_holm`` the same after Holm's correction for all pairs by this
    measure.
    """

    a: str
    b: str
    measure: str
    higher_is_better: bool
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    p: float | None
    p_holm: float | None


class ComparedQuery(Record):
    """A query with its values by the first measure, one per side.

    ``n_new`` is the number of documents in the first ten of the last side that the first side does not have there.
    """

    query: str
    values: list[float | None]
    n_judged: int
    n_new: int | None


class Board(Record):
    """Rankers on the queries of a set; missing rankings are computed in the background: ``n_ready`` of ``n_needed``.

    ``sentence`` has the result by the first measure as ``plackett compare`` prints it, "" for one ranker and without
    judgements.
    """

    convention: str
    higher_is_better: bool
    judgements: str
    judgements_in_words: str
    n_ready: int
    n_needed: int
    is_complete: bool
    sentence: str
    pool: Pool
    notes: list[str]


class ComparisonResponse(Board):
    """A comparison.

    ``judged`` has the judged share of the first ten places, one per side; ``unexplained`` why a side has no
    explanations, null if it has them; and ``changed_most`` the queries whose first ten documents changed most.
    """

    sides: list[str]
    names: list[str]
    measures: list[str]
    unexplained: list[str | None]
    judged: list[float | None]
    pairs: list[Pair]
    queries: list[ComparedQuery]
    changed_most: list[str]


class ComparedLists(Record):
    """The first documents of each side, in the form of the page's lists side by side, and the whole lengths."""

    documents: list[dict[str, Any]]
    lists: list[list[list[Any]]]
    lengths: list[int]


class Side(NamedTuple):
    """A ranker now, or in a snapshot."""

    text: str
    ranker: str
    snapshot: Snapshot | None

    @property
    def name(self) -> str:
        return self.ranker if self.snapshot is None else f"{self.ranker}, {self.snapshot.name}"


class Measured(NamedTuple):
    """Rankers on the queries of a set: labels, rankings and comparison of the sides, and the values of a `Board`.

    ``judged`` has the judged shares of the sides, and ``values`` those of every query by the first measure. ``found``
    is None while rankings are missing, and without a judged query. Queries that a side cannot rank have no ranking
    there, and are left out for all sides.
    """

    queries: list[str]
    labels: dict[str, dict[str, float]]
    known: list[dict[str, Found]]
    rankings: list[dict[str, runs.Ranking]]
    judged: list[float | None]
    found: Comparison | None
    values: dict[str, list[float | None]]
    board: dict[str, Any]


@router.get("/comparison")
def comparison(bench: Bench, caller: Caller, request: Annotated[ComparisonRequest, Query()]) -> ComparisonResponse:
    """Return the differences between rankers now and in snapshots, with intervals and corrected p-values."""
    compared = sides(bench, request.side)
    measures = runs.parse_measures(request.measures, request.convention)
    shown = measured(bench, caller.user, compared, request, measures)
    rows = []
    for query in shown.queries:
        first, last = (
            of[query].docid[:FIRST] if query in of else None for of in (shown.rankings[0], shown.rankings[-1])
        )
        n_new = None if first is None or last is None else len(set(last) - set(first))
        rows.append(ComparedQuery(query, shown.values[query], len(shown.labels[query]), n_new))
    changed = sorted((one for one in rows if one.n_new), key=lambda one: -(one.n_new or 0))
    return ComparisonResponse(
        sides=[side.text for side in compared],
        names=[side.name for side in compared],
        measures=[str(one) for one in measures],
        **shown.board,
        unexplained=[_unexplained(bench, side) for side in compared],
        judged=shown.judged,
        pairs=_pairs(shown.found, compared) if shown.found else [],
        queries=rows,
        changed_most=[one.query for one in changed[:MAX_CHANGED]],
    )


@router.get("/comparison/lists")
def compared_lists(bench: Bench, caller: Caller, request: Annotated[ComparedListsRequest, Query()]) -> ComparedLists:
    """Return the first documents of every side for one query, with labels and places."""
    from plackett.report.components.payload import list_payload

    compared = sides(bench, request.side)
    queries, _ = _queries(bench, compared, request.set_id)
    if request.q not in queries:
        raise missing(f"the comparison has no query {request.q!r}.")
    labels, _ = _frozen_or_current(bench, caller.user, request.judgements, compared, [request.q])
    own, number, lists, places = labels[request.q], dict[str, int](), [], []
    for side in compared:
        ranking, error, _ = _lists(bench, side, [request.q], wait=True)[request.q]
        if error is not None:
            raise invalid(error)
        reasons = {} if side.snapshot is not None else bench.rankings.reasons(side.ranker, request.q, FIRST)
        first = zip(ranking.docid[:FIRST], ranking.scores[:FIRST], strict=True)
        lists.append([(number.setdefault(one, len(number)), score, reasons.get(one, ())) for one, score in first])
        places.append({docid: place for place, docid in enumerate(ranking.docid, 1)})
    documents = [
        {
            "name": docid,
            "title": bench.collection.title(docid)[:MAX_TITLE],
            "label": f"{own[docid]:g}" if docid in own else "",
            "level": int(min(max(own.get(docid, 0.0), 0.0), 4.0)),
            "places": [of.get(docid) for of in places],
        }
        for docid in number
    ]
    return ComparedLists(**list_payload(documents, lists), lengths=[len(of) for of in places])


def measured(
    bench: Bench,
    user: str,
    compared: Sequence[Side],
    request: runs.BoardRequest | ComparisonRequest,
    measures: Sequence[Measure],
    further: Collection[object] = (),
) -> Measured:
    """Return the sides on the queries of a set; what is missing is computed in the background.

    ``further`` has what else the board shows, None for what is missing.
    """
    queries, left_out = _queries(bench, compared, request.set_id)
    labels, words = _frozen_or_current(bench, user, request.judgements, compared, queries)
    known = [_lists(bench, side, queries) for side in compared]
    rankings = [{query: one.ranking for query, one in of.items() if one.error is None} for of in known]
    n_ready, n_needed = sum(map(len, known)), len(compared) * len(queries)
    judged = {query: labels[query] for query in queries if all(query in of for of in rankings)}
    found = None
    if n_ready == n_needed and any(judged.values()):
        of_sides = {side.name: of for side, of in zip(compared, rankings, strict=True)}
        lists = [(side.text, *(one.time for one in of.values())) for side, of in zip(compared, known, strict=True)]
        of_labels = hash(tuple(frozenset(of.items()) for of in labels.values()))
        key = (tuple(lists), of_labels, tuple(queries), tuple(map(str, measures)), request.convention)

        def compute() -> Comparison | RequestError:
            try:
                return runs.compare_rankings(judged, of_sides, measures, request.convention)
            except RequestError as error:  # such as labels that the measure cannot use
                return error

        found = bench.comparisons.now(key, compute) if n_needed <= AT_ONCE else bench.comparisons.get(key, compute)
        n_ready -= found is None
        if isinstance(found, RequestError):
            raise found
    n_ready, n_needed = n_ready + sum(one is not None for one in further), n_needed + len(further)
    shares = [runs.share_judged(labels, of) for of in rankings]
    open_words, is_uneven = runs.shares_in_words(
        {side.name: share for side, share in zip(compared, shares, strict=True)}
    )
    first = {(query, docid) for of in rankings for query, one in of.items() for docid in one.docid[:FIRST]}
    board = {
        "convention": request.convention,
        "higher_is_better": measures[0].higher_is_better,
        "judgements": request.judgements or bench.labels.default(),
        "judgements_in_words": words,
        "n_ready": n_ready,
        "n_needed": n_needed,
        "is_complete": n_ready == n_needed,
        "sentence": " ".join(found.headline()) if found and len(compared) > 1 else "",
        "pool": Pool(
            queue=f"{POOL}{request.set_id or 0}/{'/'.join(quote(side.text, safe='') for side in compared)}",
            n_documents=sum(docid not in labels[query] for query, docid in first),
            is_uneven=is_uneven,
            words=open_words,
        ),
        "notes": [
            f"Measured on {words}. {runs.UNJUDGED}",
            *left_out,
            *_notes(bench, compared, labels, known),
        ],
    }
    values = dict.fromkeys(queries, [math.nan] * len(compared))
    values |= runs.values_of(found, judged, found.metrics[0]) if found else {}
    shown = {query: list(map(runs.finite, values[query])) for query in queries}
    return Measured(queries, labels, known, rankings, shares, found, shown, board)


def sides(bench: Bench, texts: Sequence[str], least: int = 2) -> list[Side]:
    """Return the compared rankers of a request, each once."""
    found = []
    for text in dict.fromkeys(texts):
        if not re.match(SIDE, text):
            raise invalid(f"{text!r} is not now/RANKER or SNAPSHOT/RANKER.")
        number, _, ranker = text.partition("/")
        of = None if number == NOW else snapshot(bench, int(number))
        if of is None:
            bench.rankings.key(ranker)
        elif ranker not in of.rankers:
            raise missing(f"the snapshot {of.name!r} has no ranker {ranker!r}.")
        found.append(Side(text, ranker, of))
    if len(found) < least:
        raise invalid("a comparison needs two different sides.")
    return found


def pooled(bench: Bench, user: str, queue: str) -> dict[str, list[str]]:
    """Return by query the documents to judge of a pooled queue, those that nobody else has judged.

    They are the first ten of each side, in an order that does not show whose they are.
    """
    number, *texts = queue.removeprefix(POOL).split("/")
    compared = sides(bench, [unquote(text) for text in texts], least=1)
    queries, _ = _queries(bench, compared, int(number) or None)
    others, own = bench.labels.get("", user), bench.labels.get("mine", user)
    answer = {}
    for text in queries:
        found = [_lists(bench, side, [text], wait=True)[text].ranking for side in compared]
        first = {docid for one in found for docid in one.docid[:FIRST]} - (others.of(text).keys() - own.of(text).keys())
        digests = {docid: hashlib.sha256(f"{text}\0{docid}".encode("utf-8", "replace")).digest() for docid in first}
        if first:
            answer[text] = sorted(first, key=digests.__getitem__)
    return answer


def _queries(bench: Bench, compared: Sequence[Side], set_id: int | None) -> tuple[list[str], list[str]]:
    """Return the queries that all snapshots have, or those of the set, and a note on what is left out."""
    frozen = {side.snapshot.id: side.snapshot for side in compared if side.snapshot is not None}
    if not frozen:
        if set_id is None:
            raise invalid("set_id is missing: it is required unless a side is a snapshot.")
        return query_sets.find(bench, set_id)[1], []
    of_each = [list(frozen_labels(bench, one)) for one in frozen.values()]
    common = [query for query in of_each[0] if all(query in others for others in map(set, of_each[1:]))]
    if not common:
        raise invalid("the snapshots have no query in common.")
    n_all = len({query for queries in of_each for query in queries})
    left_out = f"{count_of(n_all - len(common), 'query is', 'queries are')} not in all snapshots and left out."
    return common, [left_out] if n_all > len(common) else []


def _frozen_or_current(
    bench: Bench, user: str, source: str, compared: Sequence[Side], queries: Sequence[str]
) -> tuple[dict[str, dict[str, float]], str]:
    """Return the labels of queries, the same for all sides, and a description of their source."""
    if source != FROZEN:
        labels = bench.labels.get(source, user)
        return {query: labels.of(query) for query in queries}, labels.words
    snapshots = [side.snapshot for side in compared if side.snapshot is not None]
    if not snapshots:
        raise invalid("no side is a snapshot, so there are no frozen judgements.")
    newest = max(snapshots, key=lambda one: one.id)
    frozen = frozen_labels(bench, newest)
    return {query: frozen[query] for query in queries}, f"the judgements frozen in {newest.name}"


def _lists(bench: Bench, side: Side, queries: Sequence[str], *, wait: bool = False) -> dict[str, Found]:
    if side.snapshot is not None:
        frozen = frozen_rankings(bench, side.snapshot, side.ranker)
        return {query: Found(frozen[query], None, 0.0) for query in queries}
    known = bench.rankings.known(side.ranker, queries)
    absent = [query for query in queries if query not in known] if wait else []
    return {**known, **{query: bench.rankings.now(side.ranker, query) for query in absent}}


def _unexplained(bench: Bench, side: Side) -> str | None:
    if side.snapshot is not None:
        return "A snapshot has no explanations; compare the ranker as it is now to see them."
    return None if bench.rankings.can_explain(side.ranker) else "This ranker cannot explain its scores by features."


def _notes(
    bench: Bench,
    compared: Sequence[Side],
    labels: Mapping[str, Mapping[str, float]],
    known: Sequence[Mapping[str, Found]],
) -> list[str]:
    """Return notes on queries without rankings or judgements, on relevant documents elsewhere, and on training."""
    notes, outside = [], []
    relevant = {query: {docid for docid, one in of.items() if one >= RELEVANT_FROM} for query, of in labels.items()}
    for side, of in zip(compared, known, strict=True):
        failures = [one.error for one in of.values() if one.error is not None]
        if failures:  # they have no value: an outage is not a bad ranking
            n = count_of(len(failures), "query", "queries")
            notes.append(f"{side.name} cannot rank {n}, which the means leave out: {failures[0]}")
        ranked = {query: one.ranking.docid for query, one in of.items() if one.error is None}
        n_missed = sum(len(relevant[query].difference(docid)) for query, docid in ranked.items())
        if n_missed:
            outside.append(f"{side.name} {n_missed} of {sum(len(relevant[query]) for query in ranked)}")
    if n_open := sum(not of for of in labels.values()):
        notes.append(
            f"{count_of(n_open, 'query has', 'queries have')} no judgement and no value; the means leave them out."
        )
    if outside:
        first = f"the first {FROZEN_DEPTH}"
        notes.append(f"Relevant documents that are not among {first}, and count as not found: {', '.join(outside)}.")
    n_seen = bench.rankers.n_trained_on(list(labels))
    seen = (side for side in compared if side.snapshot is None and side.ranker in n_seen)
    return [*notes, *(f"{side.name}: {TRAINED_NOTE.format(n=n_seen[side.ranker])}" for side in seen)]


def _pairs(found: Comparison, compared: Sequence[Side]) -> list[Pair]:
    """Return the differences of all pairs, B minus A, with a correction over the pairs of each measure."""
    answer, means, text = [], found.mean(), {side.name: side.text for side in compared}
    for pairs in zip(*map(found.differences, found.metrics), strict=True):
        for pair in (one.reversed() for one in pairs):
            answer.append(
                Pair(
                    a=text[pair.b],
                    b=text[pair.a],
                    measure=pair.metric,
                    higher_is_better=found.is_higher_better(pair.metric),
                    mean_a=runs.finite(means[pair.b][pair.metric]),
                    mean_b=runs.finite(means[pair.a][pair.metric]),
                    difference=runs.finite(pair.mean),
                    low=runs.finite(pair.low),
                    high=runs.finite(pair.high),
                    wins=pair.wins,
                    ties=pair.ties,
                    losses=pair.losses,
                    p=runs.finite(pair.p_random),
                    p_holm=runs.finite(pair.p_random_holm),
                )
            )
    return answer
