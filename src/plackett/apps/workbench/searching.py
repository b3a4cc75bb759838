"""Use cases of lists: search, show, describe, measure.

Modules that learn and measure are imported where they are used, because loading them takes longest.
``Workbench.warm_up`` loads them in the background.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.board_records import Ranking
from plackett.apps.workbench.collections.base import Collection, Hits
from plackett.apps.workbench.labels import ANNOTATOR, LabelSources
from plackett.apps.workbench.records import Judged, Query
from plackett.apps.workbench.runs import FIRST, compare_rankings
from plackett.apps.workbench.schemas.lists import (
    DocumentResponse,
    Feature,
    Graded,
    ListOptions,
    MeasureRequest,
    MeasureResponse,
    Pair,
    Piece,
    RankedList,
    Result,
    TextField,
    VisibleMeasures,
)

if TYPE_CHECKING:
    import numpy as np

    from plackett.apps.workbench.refining import Refined
    from plackett.apps.workbench.store import Store

MAX_TITLE = 300  # characters in a list
MAX_FIELD = 200_000  # characters of a document on a page
CACHED_DESCRIPTIONS = 8192  # titles and snippets, a kilobyte each


class Searching:
    """Searches of a collection. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, labels: LabelSources):
        self._collection, self._store, self._labels = collection, store, labels
        self._described = lru_cache(maxsize=CACHED_DESCRIPTIONS)(self._describe)

    def search(self, user: str, text: str, options: ListOptions) -> RankedList:
        """Return the list of a query, refined by the user's earlier judgements."""
        with client_errors():
            query = self._store.find_query(self._collection.key, text)
            hits = self._collection.search(text, options.base, options.k)
        return self.ranked_list(self.user_id(user), None if query is None else query.id, text, hits, options)

    def show(self, user: str, query_id: int, options: ListOptions) -> RankedList:
        """Return the list of a judged query."""
        query = self.query(query_id)
        return self.ranked_list(self.user_id(user), query.id, query.text, self.hits(query, options), options)

    def measures(self, user: str, query_id: int, options: MeasureRequest) -> MeasureResponse:
        """Return P@k and NDCG@k of the base order and the refined order."""
        from plackett.apps.workbench.measuring import measure_list

        query = self.query(query_id)
        hits, user_id = self.hits(query, options), self.user_id(user)
        judged = Judged({}, []) if user_id is None else self._store.state(user_id, query_id).judged
        if options.annotator is None:
            return measure_list(hits, judged, options.method)
        grades = self._labels.get(f"{ANNOTATOR}{options.annotator}", user).of(query.text)
        return measure_list(hits, judged, options.method, annotated=grades)

    def document(self, docid: str, text: str | None = None, base: str = "") -> DocumentResponse:
        """Return a document, and its features for a query."""
        features, label, text = None, None, (text or "").strip()
        with client_errors():
            found = self._collection.document(docid)
            if text:
                scored = self._collection.score(text, [docid], base)
                values = scored.X[0].tolist() if len(scored.X) else []
                pairs = zip(scored.feature_names, values, strict=False)
                features = [Feature(name=name, value=value) for name, value in pairs]
                label = self._collection.labels(text).get(docid)
        fields = [
            TextField(name=name, text=value[:MAX_FIELD], is_cut=len(value) > MAX_FIELD)
            for name, value in found.fields.items()
        ]
        return DocumentResponse(
            docid=docid, title=_shortened(found.title), fields=fields, features=features, label=label
        )

    def user_id(self, name: str) -> int | None:
        """Return the id of a user; None if there is no user of this name."""
        with client_errors():
            user = self._store.find_user(name)
        return None if user is None else user.id

    def query(self, query_id: int) -> Query:
        """Return a query of this collection by its id."""
        with client_errors():
            query = self._store.query_by_id(query_id)
            if query.collection != self._collection.key:
                raise LookupError(f"there is no query {query_id}.")
        return query

    def hits(self, query: Query, options: ListOptions | MeasureRequest) -> Hits:
        """Return the base list of a stored query; without ``options.base`` by its last base ranker, if it exists."""
        base = options.base or (query.base if query.base in self._collection.base_rankers() else "")
        with client_errors():
            return self._collection.search(query.text, base, options.k)

    def ranked_list(
        self, user_id: int | None, query_id: int | None, text: str, hits: Hits, options: ListOptions
    ) -> RankedList:
        """Return a list refined by a user's judgements; None means a user or a query that is not stored yet."""
        from plackett.apps.workbench.refining import refine

        judged, can_undo = Judged({}, []), False
        if user_id is not None and query_id is not None:
            state = self._store.state(user_id, query_id)
            judged, can_undo = state.judged, state.can_undo
        refined = refine(hits, judged, options.method, options.pin_judged)
        place = {row: number for number, row in enumerate(refined.order, 1)}
        labels = self._collection.labels(text)
        in_list = set(hits.docid)
        shown = refined.order[: options.shown]
        first = range(min(options.shown, len(hits.docid))) if options.side_by_side else ()
        results = {row: self._result(text, hits, refined, row, place[row], judged, labels) for row in {*shown, *first}}
        return RankedList(
            query_id=query_id,
            query=text,
            base=hits.base,
            method=options.method,
            pin_judged=options.pin_judged,
            k=options.k,
            n_found=len(hits.docid),
            n_judged=len(judged.labels),
            n_pairs=len(judged.pairs),
            is_refined=bool(judged.labels or judged.pairs),
            can_undo=can_undo,
            note=refined.note,
            list_note=hits.note or None,
            pairs=[Pair(preferred=better, other=worse) for better, worse in judged.pairs],
            elsewhere=[
                Graded(docid=docid, grade=grade) for docid, grade in judged.labels.items() if docid not in in_list
            ],
            results=[results[row] for row in shown],
            base_results=[results[row] for row in first] if options.side_by_side else None,
            on_labels=_on_labels(hits, refined.scores, labels) if labels else None,
        )

    def _result(
        self,
        text: str,
        hits: Hits,
        refined: Refined,
        row: int,
        place: int,
        judged: Judged,
        labels: dict[str, float],
    ) -> Result:
        from plackett.apps.workbench.refining import reason_response

        docid = hits.docid[row]
        title, snippet = self._described(text, docid)
        return Result(
            docid=docid,
            title=title,
            snippet=snippet,
            score=float(refined.scores[row]),
            base_score=float(hits.scores[row]),
            place=place,
            base_place=row + 1,
            moved=int(refined.moves[row]),
            grade=judged.labels.get(docid),
            label=labels.get(docid),
            why=[reason_response(reason) for reason in refined.why[row]],
        )

    def _describe(self, text: str, docid: str) -> tuple[str, list[Piece]]:
        pieces = self._collection.snippet(docid, text)
        snippet = [Piece(text=part, is_term=is_term) for part, is_term in pieces]
        return _shortened(self._collection.document(docid).title), snippet


def _on_labels(hits: Hits, refined_scores: np.ndarray, labels: dict[str, float]) -> VisibleMeasures | None:
    """Return both orders measured on the labels of the collection, by the rules of the scoreboard."""
    from plackett.apps.workbench.measuring import VISIBLE

    if not labels:
        return None
    orders = {"before": hits.scores, "after": refined_scores}
    rankings = {order: {"": Ranking(hits.docid, scores.tolist())} for order, scores in orders.items()}
    found = compare_rankings({"": labels}, rankings, VISIBLE)
    judged = [docid in labels for docid in hits.docid[:FIRST]]
    counts = {"n_first": len(judged), "judged_before": sum(judged), "judged_after": sum(judged)}
    return VisibleMeasures(**counts, **found.mean())


def _shortened(title: str) -> str:
    return title if len(title) <= MAX_TITLE else title[:MAX_TITLE] + "…"
