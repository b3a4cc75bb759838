"""Use case of the scoreboard: a row for each query of a set, measured for several rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plackett.apps.workbench.board_records import QuerySet, Snapshot
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.limits import FROZEN_DEPTH
from plackett.apps.workbench.schemas.query_sets import QuerySetResponse
from plackett.apps.workbench.schemas.scoreboard import (
    HistoryPoint,
    QueryRow,
    RankerTotal,
    ScoreboardRequest,
    ScoreboardResponse,
)
from plackett.apps.workbench.workbench.labels import LabelSources
from plackett.apps.workbench.workbench.query_sets import QuerySets
from plackett.apps.workbench.workbench.rankings import Found, Rankings, failures_note, ranked
from plackett.apps.workbench.workbench.scoring import Rules, Score, Scoring, mean_of, overall_value, total_of
from plackett.apps.workbench.workbench.trained_rankers import TRAINED_NOTE, TrainedRankers
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.apps.workbench.workbench.snapshots import Snapshots

MAX_TREND = 10  # snapshots in a trend
DEFAULT_RANKERS = 4


class Scoreboard:
    """The scoreboard of a collection. Thread-safe."""

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

    def rankers(self, chosen: Sequence[str]) -> list[str]:
        """Return the chosen rankers, each once; by default the first base ranker and the newest saved ones."""
        if chosen:
            return list(dict.fromkeys(chosen))
        own, names = self._collection.own_rankers(), self._rankings.names()
        saved = [name for name in names if name not in own]
        return [names[0], *[name for name in saved if name != names[0]][-(DEFAULT_RANKERS - 1) :]]

    def board(self, user: str, request: ScoreboardRequest) -> ScoreboardResponse:
        """Return the scoreboard with the rankings that are known; the others are computed in the background."""
        made, queries = self._query_sets.find(request.set_id)
        rules = Rules.parse(request.measure, request.convention, request.unjudged)
        labels = self._labels.get(request.judgements, user)
        known = {query: (labels.key(query), labels.of(query)) for query in queries}
        names = self.rankers(request.ranker)
        earlier, n_seen = self._earlier(made), self._trained.n_trained_on(queries)
        trained = {one.name for one in self._trained.rankers().rankers}
        columns: list[_Column] = []
        totals, notes = [], []
        for name in names:
            found = self._rankings.known(name, queries)
            rankings, failures = ranked(found)
            scores = self._scoring.scores(rules, self._rankings.versions(name, found), rankings, known)
            notes += failures_note(name, failures)
            total = total_of(list(scores.values()))
            if rules.is_overall:
                value = overall_value(rules, rankings, {query: of for query, (_, of) in known.items()})
                total = total._replace(mean=value)
            note = TRAINED_NOTE.format(n=n_seen[name]) if name in n_seen else None
            totals.append(
                RankerTotal(name=name, **total._asdict(), n_ready=len(found), is_trained=name in trained, note=note)
            )
            columns.append(_Column(found, scores, self._trend(earlier, name, rules)))
        rows = _sorted_rows([_row(query, columns) for query in queries], request.order, rules)
        trends = [scores for column in columns for scores in column.trend.values()]
        n_needed = len(names) * len(queries) + len(trends)
        n_ready = sum(one.n_ready for one in totals) + sum(scores is not None for scores in trends)
        n_judged = sum(bool(of) for _, of in known.values())
        return ScoreboardResponse(
            set=QuerySetResponse(**made._asdict()),
            measure=str(rules.measure),
            convention=rules.convention,
            higher_is_better=rules.measure.higher_is_better,
            judgements=request.judgements or self._labels.default(),
            judgements_in_words=labels.words,
            unjudged=request.unjudged,
            order=request.order,
            n_ready=n_ready,
            n_needed=n_needed,
            is_complete=n_ready == n_needed,
            n_judged_queries=n_judged,
            rankers=totals,
            rows=rows,
            history=_history(earlier, columns),
            notes=[*notes, *_notes(rules, labels.words, n_judged, len(queries))],
        )

    def _earlier(self, made: QuerySet) -> list[Snapshot]:
        """Return the last snapshots of a set, oldest first."""
        own = [one for one in self._snapshots.all() if one.summary.get("set_id") == made.id]
        return own[:MAX_TREND][::-1]

    def _trend(self, earlier: Sequence[Snapshot], name: str, rules: Rules) -> dict[int, dict[str, Score] | None]:
        """Return the scores of a ranker by snapshot, None while they are computed in the background."""
        if rules.is_overall:
            return {}
        own = [one for one in earlier if name in one.rankers]
        return {one.id: self._snapshots.known_scores(one, name, rules) for one in own}


class _Column:
    """The rankings and scores of one ranker that are known so far."""

    def __init__(self, found: dict[str, Found], scores: dict[str, Score], trend: dict[int, dict[str, Score] | None]):
        self.found, self.scores, self.trend = found, scores, trend

    @property
    def means(self) -> dict[int, float | None]:
        """The mean in each snapshot."""
        return {snapshot: mean_of(scores.values()) for snapshot, scores in self.trend.items() if scores is not None}


def _history(earlier: Sequence[Snapshot], columns: Sequence[_Column]) -> list[HistoryPoint]:
    return [
        HistoryPoint(
            snapshot_id=one.id,
            name=one.name,
            created=one.created,
            means=[column.means.get(one.id) for column in columns],
        )
        for one in earlier
    ]


def _row(query: str, columns: Sequence[_Column]) -> QueryRow:
    scores = [column.scores.get(query) for column in columns]
    return QueryRow(
        query=query,
        values=[None if one is None else one.value for one in scores],
        judged=[None if one is None else one.n_judged for one in scores],
        shown=[None if one is None else one.n_shown for one in scores],
        trends=[
            [scores[query].value if scores and query in scores else None for scores in column.trend.values()]
            for column in columns
        ],
        errors=[column.found[query].error if query in column.found else None for column in columns],
    )


def _sorted_rows(rows: list[QueryRow], order: str, rules: Rules) -> list[QueryRow]:
    """Return the rows with the worst of the first ranker first, or last; queries without a value come last."""
    if order == "given" or rules.is_overall:
        return rows
    sign = 1.0 if rules.measure.higher_is_better == (order == "worst") else -1.0

    def place(row: QueryRow) -> tuple[bool, float]:
        value = row.values[0]
        return value is None, 0.0 if value is None else sign * value

    return sorted(rows, key=place)


def _notes(rules: Rules, words: str, n_judged: int, n_queries: int) -> list[str]:
    from plackett.metrics.conventions import get_convention

    counted = (
        "Documents that are not judged count as not relevant."
        if rules.unjudged == "not-relevant"
        else "Documents that are not judged are left out of the lists before measuring."
    )
    notes = [
        f"Measured on {words}. {counted}",
        f"Convention {rules.convention}: {get_convention(rules.convention).summary}.",
    ]
    if rules.measure.k is None or rules.measure.k > FROZEN_DEPTH:
        notes.append(f"Lists are measured up to place {FROZEN_DEPTH}.")
    if n_judged < n_queries:
        n = count_of(n_queries - n_judged, "query has", "queries have")
        notes.append(f"{n} no judgement and no value; the means leave them out.")
    return notes
