"""Use case of comparisons: rankers and snapshots over all queries, with tests, and their lists side by side."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett.apps.workbench.board_records import Ranking, Snapshot
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.errors import RequestError, client_errors
from plackett.apps.workbench.schemas.snapshots import (
    ComparedLists,
    ComparedListsRequest,
    ComparedQuery,
    ComparisonRequest,
    ComparisonResponse,
    PairResponse,
)
from plackett.apps.workbench.workbench.labels import LabelSources
from plackett.apps.workbench.workbench.query_sets import QuerySets
from plackett.apps.workbench.workbench.rankings import Found, Rankings, failures_note, ranked
from plackett.apps.workbench.workbench.scoring import Rules, Scoring
from plackett.apps.workbench.workbench.snapshots import Snapshots
from plackett.apps.workbench.workbench.trained_rankers import TRAINED_NOTE, TrainedRankers
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.evaluation.significance import Difference
NOW, FROZEN = "now", "frozen"
FIRST = 10  # documents of a list that are shown, and in which new ones are counted
MAX_MEASURES = 8
MAX_CHANGED = 10
SEED = 0


class Side(NamedTuple):
    """A ranker now, or in a snapshot."""

    text: str
    ranker: str
    snapshot: Snapshot | None

    @property
    def name(self) -> str:
        return self.ranker if self.snapshot is None else f"{self.ranker}, {self.snapshot.name}"


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
        scoring: Scoring,
    ):
        self._collection, self._query_sets, self._rankings = collection, query_sets, rankings
        self._labels, self._trained, self._snapshots, self._scoring = labels, trained, snapshots, scoring

    def compare(self, user: str, request: ComparisonRequest) -> ComparisonResponse:
        """Return the differences between all sides; rankings that are missing are computed in the background."""
        sides = self._sides(request.side)
        rules = _rules(request)
        queries, notes = self._queries(sides, request.set_id)
        labels, words = self._frozen_or_current(user, request.judgements, sides, queries)
        known = [self._lists(side, queries) for side in sides]
        lists = [ranked(found)[0] for found in known]
        for side, found in zip(sides, known, strict=True):
            notes += failures_note(side.name, ranked(found)[1])
        n_seen = self._trained.n_trained_on(queries)
        notes += [
            f"{side.name}: {TRAINED_NOTE.format(n=n_seen[side.ranker])}" for side in sides if side.ranker in n_seen
        ]
        tables = [_table(self._scoring, rule, sides, known, queries, labels, self._rankings) for rule in rules]
        n_ready, n_needed = sum(map(len, known)), len(sides) * len(queries)
        order = sorted(range(len(queries)), key=lambda row: queries[row])  # as in compare_rankings
        rows = [
            ComparedQuery(
                query=query,
                values=[None if math.isnan(value) else value for value in tables[0][row].tolist()],
                n_judged=len(labels[query][1]),
                n_new=_n_new(lists[0].get(query), lists[-1].get(query)),
            )
            for row, query in enumerate(queries)
        ]
        changed = sorted((one for one in rows if one.n_new), key=lambda one: -(one.n_new or 0))
        n_judged = sum(bool(of) for _, of in labels.values())
        if n_judged < len(queries):
            n = count_of(len(queries) - n_judged, "query has", "queries have")
            notes.append(f"{n} no judgement and no value.")
        unjudged = "count as not relevant" if request.unjudged == "not-relevant" else "are left out of the lists"
        return ComparisonResponse(
            sides=[side.text for side in sides],
            names=[side.name for side in sides],
            measures=[str(rule.measure) for rule in rules],
            convention=request.convention,
            higher_is_better=rules[0].measure.higher_is_better,
            unexplained=[self._unexplained(side) for side in sides],
            judgements=request.judgements or self._labels.default(),
            judgements_in_words=words,
            n_ready=n_ready,
            n_needed=n_needed,
            is_complete=n_ready == n_needed,
            pairs=_pairs(rules, [table[order] for table in tables], sides) if n_ready == n_needed else [],
            queries=rows,
            changed_most=[one.query for one in changed[:MAX_CHANGED]],
            notes=[f"Measured on {words}. Documents that are not judged {unjudged}.", *notes],
        )

    def lists(self, user: str, request: ComparedListsRequest) -> ComparedLists:
        """Return the first documents of every side for one query, with labels and places in the other lists."""
        from plackett.report.components.payload import list_payload

        sides = self._sides(request.side)
        queries, _ = self._queries(sides, request.set_id)
        if request.q not in queries:
            raise RequestError(404, "not-found", f"the comparison has no query {request.q!r}.")
        labels, _ = self._frozen_or_current(user, request.judgements, sides, [request.q])
        own = labels[request.q][1]
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

    def _sides(self, texts: Sequence[str]) -> list[Side]:
        sides = []
        for text in dict.fromkeys(texts):
            number, _, ranker = text.partition("/")
            snapshot = None if number == NOW else self._snapshots.find(int(number))
            if snapshot is None:
                self._rankings.key(ranker)
            elif ranker not in snapshot.rankers:
                raise RequestError(404, "not-found", f"the snapshot {snapshot.name!r} has no ranker {ranker!r}.")
            sides.append(Side(text, ranker, snapshot))
        if len(sides) < 2:
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
    ) -> tuple[dict[str, tuple[Hashable, dict[str, float]]], str]:
        """Return (key, labels) of each query, the same for all sides, and a description of their source."""
        if source != FROZEN:
            labels = self._labels.get(source, user)
            return {query: (labels.key(query), labels.of(query)) for query in queries}, labels.words
        snapshots = [side.snapshot for side in sides if side.snapshot is not None]
        if not snapshots:
            raise RequestError(422, "invalid", "no side is a snapshot, so there are no frozen judgements.")
        newest = max(snapshots, key=lambda one: one.id)
        frozen, words = self._snapshots.labels(newest), f"the judgements frozen in {newest.name}"
        return {query: ((FROZEN, newest.id), frozen[query]) for query in queries}, words

    def _lists(self, side: Side, queries: Sequence[str]) -> dict[str, Found]:
        if side.snapshot is None:
            return self._rankings.known(side.ranker, queries)
        frozen = self._snapshots.rankings(side.snapshot, side.ranker)
        return {query: Found(frozen[query], None, 0.0) for query in queries}

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


def _rules(request: ComparisonRequest) -> list[Rules]:
    from plackett.metrics.measure import split_measures

    with client_errors():
        texts = split_measures(request.measures)
    rules = {one.key: one for one in (Rules.parse(text, request.convention, request.unjudged) for text in texts)}
    if not 1 <= len(rules) <= MAX_MEASURES:
        raise RequestError(422, "invalid", f"a comparison has 1 to {MAX_MEASURES} measures, not {len(rules)}.")
    if any(one.is_overall for one in rules.values()):
        raise RequestError(422, "invalid", "a measure has one value for all queries, which cannot be tested.")
    return list(rules.values())


def _table(
    scoring: Scoring,
    rules: Rules,
    sides: Sequence[Side],
    lists: Sequence[Mapping[str, Found]],
    queries: Sequence[str],
    labels: Mapping[str, tuple[Hashable, dict[str, float]]],
    rankings: Rankings,
) -> np.ndarray:
    """Return values of shape (n_queries, n_sides), NaN where a query has none."""
    values = np.full((len(queries), len(sides)), np.nan)
    for column, (side, known) in enumerate(zip(sides, lists, strict=True)):
        if side.snapshot is None:
            keys = rankings.versions(side.ranker, known)
        else:
            keys = dict.fromkeys(known, (side.snapshot.id, side.ranker))
        scores = scoring.scores(rules, keys, ranked(known)[0], labels)
        for row, query in enumerate(queries):
            if query in scores and (value := scores[query].value) is not None:
                values[row, column] = value
    return values


def _pairs(rules: Sequence[Rules], tables: Sequence[np.ndarray], sides: Sequence[Side]) -> list[PairResponse]:
    """Return the differences of all pairs by all measures, with one correction over all of them."""
    from plackett.evaluation.significance import corrected, differences

    columns = {side.text: place for place, side in enumerate(sides)}
    pairs = [(b.text, a.text) for a, b in combinations(sides, 2)]  # B minus A
    found: list[Difference] = []
    for rule, table in zip(rules, tables, strict=True):
        values = {name: table[:, place] for name, place in columns.items()}
        better = rule.measure.higher_is_better
        found += differences(pairs, str(rule.measure), values, higher_is_better=better, random_state=SEED)
    answer = []
    for number, one in enumerate(corrected(found)):
        table = tables[number // len(pairs)]
        is_counted = ~np.isnan(table[:, columns[one.a]] - table[:, columns[one.b]])
        mean_a, mean_b = (
            float(table[is_counted, columns[name]].mean()) if is_counted.any() else None for name in (one.b, one.a)
        )
        answer.append(
            PairResponse(
                a=one.b,
                b=one.a,
                measure=one.metric,
                higher_is_better=rules[number // len(pairs)].measure.higher_is_better,
                mean_a=mean_a,
                mean_b=mean_b,
                difference=_finite(one.mean),
                low=_finite(one.low),
                high=_finite(one.high),
                wins=one.wins,
                ties=one.ties,
                losses=one.losses,
                p=_finite(one.p_random),
                p_holm=_finite(one.p_random_holm),
            )
        )
    return answer


def _n_new(first: Ranking | None, last: Ranking | None) -> int | None:
    if first is None or last is None:
        return None
    return len(set(last.docid[:FIRST]) - set(first.docid[:FIRST]))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
