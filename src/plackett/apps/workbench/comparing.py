"""Use case of comparisons: rankers and snapshots over all queries, with tests, and their lists side by side."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.background import BackgroundCache
from plackett.apps.workbench.board_records import Ranking, Snapshot
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.labels import LabelSources
from plackett.apps.workbench.limits import FROZEN_DEPTH
from plackett.apps.workbench.query_sets import QuerySets
from plackett.apps.workbench.rankers import TRAINED_NOTE, TrainedRankers
from plackett.apps.workbench.rankings import Found, Rankings, failures_note, ranked
from plackett.apps.workbench.refining import RELEVANT_FROM
from plackett.apps.workbench.runs import (
    FIRST,
    UNJUDGED,
    compare_rankings,
    finite,
    parse_measures,
    share_judged,
    values_of,
)
from plackett.apps.workbench.schemas.scoreboard import Pool
from plackett.apps.workbench.schemas.snapshots import (
    ComparedLists,
    ComparedListsRequest,
    ComparedQuery,
    ComparisonRequest,
    ComparisonResponse,
    PairResponse,
)
from plackett.apps.workbench.snapshots import Snapshots
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison
    from plackett.metrics.measure import Measure

NOW, FROZEN, POOL = "now", "frozen", "pool-"
MAX_CHANGED = 10
MAX_COMPARISONS = 16  # in the cache, each some megabytes
AT_ONCE = 800  # lists that are measured within a request


class Side(NamedTuple):
    """A ranker now, or in a snapshot."""

    text: str
    ranker: str
    snapshot: Snapshot | None

    @property
    def name(self) -> str:
        return self.ranker if self.snapshot is None else f"{self.ranker}, {self.snapshot.name}"


class Measured(NamedTuple):
    """Rankers on the queries of a set: labels and words on them, the rankings of each side, and their comparison.

    ``found`` is None while rankings are missing, and without a judged query. Queries that a side cannot rank have no
    ranking there, and are left out for all sides.
    """

    queries: list[str]
    labels: dict[str, dict[str, float]]
    words: str
    known: list[dict[str, Found]]
    rankings: list[dict[str, Ranking]]
    found: Comparison | None
    values: dict[str, list[float]]
    n_ready: int
    n_needed: int
    notes: list[str]
    pool: Pool

    @property
    def sentence(self) -> str:
        """The result by the first measure, as ``plackett compare`` prints it."""
        return " ".join(self.found.headline()) if self.found and len(self.found.tables) > 1 else ""


class Comparing:
    """Comparisons in a collection. Thread-safe."""

    def __init__(
        self,
        collection: Collection,
        query_sets: QuerySets,
        rankings: Rankings,
        labels: LabelSources,
        trained: TrainedRankers,
        snapshots: Snapshots,
    ):
        self._collection, self._query_sets, self._rankings = collection, query_sets, rankings
        self._labels, self._trained, self._snapshots = labels, trained, snapshots
        self._cache = BackgroundCache(MAX_COMPARISONS)

    def close(self) -> None:
        """Stop measuring in the background."""
        self._cache.close()

    def default_judgements(self) -> str:
        """Return the judgements that count unless others are chosen."""
        return self._labels.default()

    def measure(
        self,
        user: str,
        sides: Sequence[Side],
        set_id: int | None,
        judgements: str,
        measures: Sequence[Measure],
        convention: str,
    ) -> Measured:
        """Return the sides on the queries of a set; what is missing is computed in the background."""
        queries, notes = self._queries(sides, set_id)
        keys, labels, words = self._frozen_or_current(user, judgements, sides, queries)
        known = [self._lists(side, queries) for side in sides]
        rankings, errors = zip(*map(ranked, known), strict=True)
        n_ready, n_needed = sum(map(len, known)), len(sides) * len(queries)
        compared = {query: labels[query] for query in queries if all(query in of for of in rankings)}
        found = None
        if n_ready == n_needed and any(compared.values()):
            of_sides = {side.name: of for side, of in zip(sides, rankings, strict=True)}
            versions = tuple(self._version(side, of) for side, of in zip(sides, known, strict=True))
            key = (versions, tuple(keys), tuple(queries), tuple(map(str, measures)), convention)

            def compute() -> Comparison | RequestError:
                try:
                    return compare_rankings(compared, of_sides, measures, convention)
                except RequestError as error:  # such as labels that the measure cannot use
                    return error

            found = self._cache.now(key, compute) if n_needed <= AT_ONCE else self._cache.get(key, compute)
            n_ready -= found is None
            if isinstance(found, RequestError):
                raise found
        notes = [
            f"Measured on {words}. {UNJUDGED}",
            *notes,
            *(note for side, of in zip(sides, errors, strict=True) for note in failures_note(side.name, of)),
            *_on_labels(sides, queries, labels, rankings),
            *self._on_training(sides, queries),
        ]
        values = values_of(found, compared, found.metrics[0]) if found else {}
        pool = _pool(sides, set_id, labels, rankings)
        return Measured(queries, labels, words, known, list(rankings), found, values, n_ready, n_needed, notes, pool)

    def compare(self, user: str, request: ComparisonRequest) -> ComparisonResponse:
        """Return the differences between all sides; rankings that are missing are computed in the background."""
        sides = self.sides(request.side)
        measures = parse_measures(request.measures, request.convention)
        shown = self.measure(user, sides, request.set_id, request.judgements, measures, request.convention)
        none = [math.nan] * len(sides)
        rows = [
            ComparedQuery(
                query=query,
                values=[finite(value) for value in shown.values.get(query, none)],
                n_judged=len(shown.labels[query]),
                n_new=_n_new(shown.rankings[0].get(query), shown.rankings[-1].get(query)),
            )
            for query in shown.queries
        ]
        changed = sorted((one for one in rows if one.n_new), key=lambda one: -(one.n_new or 0))
        return ComparisonResponse(
            sides=[side.text for side in sides],
            names=[side.name for side in sides],
            measures=[str(one) for one in measures],
            convention=request.convention,
            higher_is_better=measures[0].higher_is_better,
            unexplained=[self._unexplained(side) for side in sides],
            judgements=request.judgements or self.default_judgements(),
            judgements_in_words=shown.words,
            n_ready=shown.n_ready,
            n_needed=shown.n_needed,
            is_complete=shown.n_ready == shown.n_needed,
            sentence=shown.sentence,
            judged=[share_judged(shown.labels, of) for of in shown.rankings],
            pool=shown.pool,
            pairs=_pairs(shown.found, sides) if shown.found else [],
            queries=rows,
            changed_most=[one.query for one in changed[:MAX_CHANGED]],
            notes=shown.notes,
        )

    def lists(self, user: str, request: ComparedListsRequest) -> ComparedLists:
        """Return the first documents of every side for one query, with labels and places in the other lists."""
        from plackett.report.components.payload import list_payload

        sides = self.sides(request.side)
        queries, _ = self._queries(sides, request.set_id)
        if request.q not in queries:
            raise RequestError(404, "not-found", f"the comparison has no query {request.q!r}.")
        _, labels, _ = self._frozen_or_current(user, request.judgements, sides, [request.q])
        own = labels[request.q]
        rankings = [self._ranking_now(side, request.q) for side in sides]
        shown = list(dict.fromkeys(docid for ranking in rankings for docid in ranking.docid[:FIRST]))
        places = [{docid: place for place, docid in enumerate(ranking.docid, 1)} for ranking in rankings]
        number = {docid: place for place, docid in enumerate(shown)}
        documents = [
            {
                "name": docid,
                "title": self._title(docid),
                "label": f"{own[docid]:g}" if docid in own else "",
                "level": int(min(max(own.get(docid, 0.0), 0.0), 4.0)),
                "places": [of.get(docid) for of in places],
            }
            for docid in shown
        ]
        lists = []
        for side, ranking in zip(sides, rankings, strict=True):
            reasons = {} if side.snapshot is not None else self._rankings.reasons(side.ranker, request.q, FIRST)
            pairs = zip(ranking.docid[:FIRST], ranking.scores[:FIRST], strict=True)
            lists.append([(number[docid], score, reasons.get(docid, ())) for docid, score in pairs])
        lengths = [len(ranking.docid) for ranking in rankings]
        return ComparedLists.model_validate({**list_payload(documents, lists), "lengths": lengths})

    def pooled(self, user: str, queue: str) -> dict[str, list[str]]:
        """Return by query the documents to judge of a pooled queue, those that nobody else has judged.

        They are the first ten of each side, in an order that does not show whose they are.
        """
        number, *texts = queue.removeprefix(POOL).split("/")
        sides = self.sides([unquote(text) for text in texts], least=1)
        queries, _ = self._queries(sides, int(number) or None)
        others, own = self._labels.get("", user), self._labels.get("mine", user)
        answer = {}
        for query in queries:
            found = [of[query].ranking for side in sides if query in (of := self._lists(side, [query], wait=True))]
            judged = others.of(query).keys() - own.of(query).keys()
            answer[query] = _mixed(query, {docid for one in found for docid in one.docid[:FIRST]} - judged)
        return {query: documents for query, documents in answer.items() if documents}

    def sides(self, texts: Sequence[str], least: int = 2) -> list[Side]:
        """Return the compared rankers of a request, each once."""
        sides = []
        for text in dict.fromkeys(texts):
            number, _, ranker = text.partition("/")
            if number != NOW and not (number.isascii() and number.isdigit() and len(number) < 19):
                raise RequestError(422, "invalid", f"{text!r} is not now/RANKER or SNAPSHOT/RANKER.")
            snapshot = None if number == NOW else self._snapshots.find(int(number))
            if snapshot is None:
                self._rankings.key(ranker)
            elif ranker not in snapshot.rankers:
                raise RequestError(404, "not-found", f"the snapshot {snapshot.name!r} has no ranker {ranker!r}.")
            sides.append(Side(text, ranker, snapshot))
        if len(sides) < least:
            raise RequestError(422, "invalid", "a comparison needs two different sides.")
        return sides

    def _queries(self, sides: Sequence[Side], set_id: int | None) -> tuple[list[str], list[str]]:
        """Return the queries that all snapshots have, or those of the set, and a note on what is left out."""
        frozen = {side.snapshot.id: side.snapshot for side in sides if side.snapshot is not None}
        if not frozen:
            if set_id is None:
                raise RequestError(422, "invalid", "set_id is missing: it is required unless a side is a snapshot.")
            return self._query_sets.find(set_id)[1], []
        of_each = [list(self._snapshots.labels(one)) for one in frozen.values()]
        common = [query for query in of_each[0] if all(query in others for others in map(set, of_each[1:]))]
        if not common:
            raise RequestError(422, "invalid", "the snapshots have no query in common.")
        n_all = len({query for queries in of_each for query in queries})
        left_out = f"{count_of(n_all - len(common), 'query is', 'queries are')} not in all snapshots and left out."
        return common, [left_out] if n_all > len(common) else []

    def _frozen_or_current(
        self, user: str, source: str, sides: Sequence[Side], queries: Sequence[str]
    ) -> tuple[list[Hashable], dict[str, dict[str, float]], str]:
        """Return the keys and the labels of queries, the same for all sides, and a description of their source."""
        if source != FROZEN:
            labels = self._labels.get(source, user)
            keys, of = [labels.key(query) for query in queries], {query: labels.of(query) for query in queries}
            return keys, of, labels.words
        snapshots = [side.snapshot for side in sides if side.snapshot is not None]
        if not snapshots:
            raise RequestError(422, "invalid", "no side is a snapshot, so there are no frozen judgements.")
        newest = max(snapshots, key=lambda one: one.id)
        frozen, words = self._snapshots.labels(newest), f"the judgements frozen in {newest.name}"
        return [(FROZEN, newest.id)], {query: frozen[query] for query in queries}, words

    def _lists(self, side: Side, queries: Sequence[str], *, wait: bool = False) -> dict[str, Found]:
        if side.snapshot is not None:
            frozen = self._snapshots.rankings(side.snapshot, side.ranker)
            return {query: Found(frozen[query], None, 0.0) for query in queries}
        known = self._rankings.known(side.ranker, queries)
        missing = [query for query in queries if query not in known] if wait else []
        return {**known, **{query: self._rankings.now(side.ranker, query) for query in missing}}

    def _version(self, side: Side, known: Mapping[str, Found]) -> Hashable:
        if side.snapshot is not None:
            return side.text
        return self._rankings.key(side.ranker), tuple(one.time for one in known.values())

    def _on_training(self, sides: Sequence[Side], queries: Sequence[str]) -> list[str]:
        n_seen = self._trained.n_trained_on(queries)
        seen = (side for side in sides if side.snapshot is None and side.ranker in n_seen)
        return [f"{side.name}: {TRAINED_NOTE.format(n=n_seen[side.ranker])}" for side in seen]

    def _ranking_now(self, side: Side, query: str) -> Ranking:
        if side.snapshot is not None:
            return self._snapshots.rankings(side.snapshot, side.ranker)[query]
        found = self._rankings.now(side.ranker, query)
        if found.error is not None:
            raise RequestError(422, "invalid", found.error)
        return found.ranking

    def _unexplained(self, side: Side) -> str | None:
        if side.snapshot is not None:
            return "A snapshot has no explanations; compare the ranker as it is now to see them."
        return None if self._rankings.can_explain(side.ranker) else "This ranker cannot explain its scores by features."

    def _title(self, docid: str) -> str:
        if docid not in self._collection:
            return ""
        title = self._collection.document(docid).title
        return "" if title == docid else title[:200]


def _on_labels(
    sides: Sequence[Side],
    queries: Sequence[str],
    labels: Mapping[str, Mapping[str, float]],
    rankings: Sequence[Mapping[str, Ranking]],
) -> list[str]:
    """Return notes on queries without judgements, and on relevant documents that the lists do not have."""
    notes = []
    if n_open := sum(not labels[query] for query in queries):
        notes.append(
            f"{count_of(n_open, 'query has', 'queries have')} no judgement and no value; the means leave them out."
        )
    relevant = {query: {docid for docid, one in labels[query].items() if one >= RELEVANT_FROM} for query in queries}
    parts = []
    for side, of in zip(sides, rankings, strict=True):
        n_outside = sum(len(relevant[query].difference(one.docid)) for query, one in of.items())
        if n_outside:
            parts.append(f"{side.name} {n_outside} of {sum(len(relevant[query]) for query in of)}")
    if parts:
        first = f"the first {FROZEN_DEPTH}"
        notes.append(f"Relevant documents that are not among {first}, and count as not found: {', '.join(parts)}.")
    return notes


def _pool(
    sides: Sequence[Side],
    set_id: int | None,
    labels: Mapping[str, Mapping[str, float]],
    rankings: Sequence[Mapping[str, Ranking]],
) -> Pool:
    """Return the queue of the documents that are not judged among the first ten of the sides, and words on them."""
    first = {(query, docid) for of in rankings for query, one in of.items() for docid in one.docid[:FIRST]}
    n_open = sum(docid not in labels[query] for query, docid in first)
    shares = [share_judged(labels, of) for of in rankings]
    parts = [
        f"{100 * (1 - share):.0f} % of the first ten of {side.name}"
        for side, share in zip(sides, shares, strict=True)
        if share is not None and share < 1
    ]
    words = f"{' and '.join(parts)} are not judged." if parts else ""
    is_uneven = len({share for share in shares if share is not None}) > 1
    if is_uneven:
        words += " The shares differ, so a ranker with fewer judged documents may be better than it looks here."
    queue = f"{POOL}{set_id or 0}/{'/'.join(quote(side.text, safe='') for side in sides)}"
    return Pool(queue=queue, n_documents=n_open, is_uneven=is_uneven, words=words)


def _mixed(query: str, documents: set[str]) -> list[str]:
    """Return documents in an order that depends on nothing but the query and their ids."""
    return sorted(documents, key=lambda docid: hashlib.sha256(f"{query}\0{docid}".encode("utf-8", "replace")).digest())


def _pairs(found: Comparison, sides: Sequence[Side]) -> list[PairResponse]:
    """Return the differences of all pairs, B minus A, with a correction over the pairs of each measure."""
    answer = []
    by_pair = {(pair.a, pair.b, pair.metric): pair for metric in found.metrics for pair in found.differences(metric)}
    means = found.mean()
    for a, b in combinations(sides, 2):
        for metric in found.metrics:
            pair = by_pair[a.name, b.name, metric].reversed()
            answer.append(
                PairResponse(
                    a=a.text,
                    b=b.text,
                    measure=metric,
                    higher_is_better=found.is_higher_better(metric),
                    mean_a=finite(means[a.name][metric]),
                    mean_b=finite(means[b.name][metric]),
                    difference=finite(pair.mean),
                    low=finite(pair.low),
                    high=finite(pair.high),
                    wins=pair.wins,
                    ties=pair.ties,
                    losses=pair.losses,
                    p=finite(pair.p_random),
                    p_holm=finite(pair.p_random_holm),
                )
            )
    return answer


def _n_new(first: Ranking | None, last: Ranking | None) -> int | None:
    if first is None or last is None:
        return None
    return len(set(last.docid[:FIRST]) - set(first.docid[:FIRST]))
