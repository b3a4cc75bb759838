"""Lists as users see them: found, refined by what was said of them, described, and measured.

What learns and measures is imported where it is used, as in ``workbench.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from plackett.web.collections.base import Collection, Hits
from plackett.web.errors import asked
from plackett.web.schemas.lists import (
    DocumentAnswer,
    Feature,
    Graded,
    MeasureRequest,
    Measures,
    Pair,
    Piece,
    RankedList,
    Result,
    TextField,
    View,
    Why,
)
from plackett.web.store.history import standing
from plackett.web.workbench.names import Names, query_text

if TYPE_CHECKING:
    from plackett.web.store import Store
    from plackett.web.workbench.refining import Judged, Refined

LONGEST_TITLE = 300  # characters in a list
LONGEST_FIELD = 200_000  # characters of a document on a page
DESCRIPTIONS_KEPT = 8192  # titles and snippets, a kilobyte each


class Lists:
    """The lists of a collection. Threads may share it."""

    def __init__(self, collection: Collection, store: Store, names: Names):
        self._collection, self._store, self._names = collection, store, names
        self._described = lru_cache(maxsize=DESCRIPTIONS_KEPT)(self._describe)

    def search(self, user: str, text: str, view: View) -> RankedList:
        """The list of a query, refined by what the user said of it before; nothing is written."""
        text = query_text(text)
        with asked():
            query = self._names.query(text)
        return self.ranked(user, text, None if query is None else query.id, view, self._names.base(view.base))

    def show(self, user: str, query_id: int, view: View) -> RankedList:
        """The list of a query that somebody judged."""
        query = self._names.query_by_id(query_id)
        return self.ranked(user, query.text, query.id, view, self._names.base(view.base, query))

    def measures(self, user: str, query_id: int, view: MeasureRequest) -> Measures:
        """P@k and NDCG@k of base and refined order."""
        from plackett.web.workbench.measuring import measure_list

        query = self._names.query_by_id(query_id)
        hits = self.found(query.text, self._names.base(view.base, query), view.k)
        judged, _ = self._judged(user, query_id)
        return Measures(**measure_list(hits, judged, view.method)._asdict())

    def document(self, docid: str, text: str | None = None, base: str = "") -> DocumentAnswer:
        """A document, and its features for a query."""
        with asked():
            found = self._collection.document(docid)
        fields = [
            TextField(name=name, text=value[:LONGEST_FIELD], is_cut=len(value) > LONGEST_FIELD)
            for name, value in found.fields.items()
        ]
        features, label = None, None
        if text is not None and text.strip():
            with asked():
                scored = self._collection.score(text.strip(), [docid], self._names.base(base))
            values = scored.X[0].tolist() if len(scored.X) else []
            pairs = zip(scored.feature_names, values, strict=False)
            features = [Feature(name=name, value=value) for name, value in pairs]
            label = self._collection.labels(text.strip()).get(docid)
        return DocumentAnswer(docid=docid, title=_cut(found.title), fields=fields, features=features, label=label)

    def found(self, text: str, base: str, k: int) -> Hits:
        """What the base ranker finds."""
        with asked():
            return self._collection.search(text, base, k)

    def ranked(self, user: str, text: str, query_id: int | None, view: View, base: str) -> RankedList:
        """A list in the order that this user's judgements suggest."""
        from plackett.web.workbench.refining import refine

        hits = self.found(text, base, view.k)
        judged, can_undo = self._judged(user, query_id)
        refined = refine(hits, judged, view.method, view.keep)
        place = {row: number for number, row in enumerate(refined.order, 1)}
        labels = self._collection.labels(text)
        in_list = set(hits.docid)

        def results(rows: Iterable[int]) -> list[Result]:
            return [self._result(text, hits, refined, row, place[row], judged, labels) for row in rows]

        return RankedList(
            query_id=query_id,
            query=text,
            base=base,
            method=view.method,
            keep=view.keep,
            k=view.k,
            n_found=len(hits.docid),
            n_judged=len(judged.labels),
            n_pairs=len(judged.pairs),
            is_refined=bool(judged.labels or judged.pairs),
            can_undo=can_undo,
            note=refined.note,
            pairs=[Pair(preferred=better, other=worse) for better, worse in judged.pairs],
            elsewhere=[
                Graded(docid=docid, grade=grade) for docid, grade in judged.labels.items() if docid not in in_list
            ],
            results=results(refined.order[: view.shown]),
            base_results=results(range(min(view.shown, len(hits.docid)))) if view.side_by_side else None,
        )

    def _judged(self, user: str, query_id: int | None) -> tuple[Judged, bool]:
        """What the user said of a list, and whether some of it can be undone."""
        from plackett.web.workbench.refining import Judged

        with asked():
            known = None if query_id is None else self._names.user(user)
        if known is None or query_id is None:
            return Judged({}, []), False
        events = self._store.events(known, query_id)
        can_undo = any(not event.undone and event.kind != "undo" for event in events)
        return Judged(*standing(events).judged()), can_undo

    def _result(
        self, text: str, hits: Hits, refined: Refined, row: int, place: int, judged: Judged, labels: dict[str, float]
    ) -> Result:
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
            why=reasons(refined, row),
        )

    def _describe(self, text: str, docid: str) -> tuple[str, list[Piece]]:
        pieces = self._collection.snippet(docid, text)
        snippet = [Piece(text=part, is_term=is_term) for part, is_term in pieces]
        return _cut(self._collection.document(docid).title), snippet


def reasons(refined: Refined, row: int) -> list[Why]:
    """What moved a document, as the API tells it."""
    return [Why(text=one.text, amount=float(one.amount)) for one in refined.why[row]]


def _cut(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + "…"
