"""Use cases of a whole collection: judged queries, statistics, export and import.

Modules that learn and measure are imported where they are used, as in ``searching.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.board_records import Ranking
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.limits import FROZEN_DEPTH
from plackett.apps.workbench.pooling import settled_judgements
from plackett.apps.workbench.records import Judgement, Preference, User
from plackett.apps.workbench.schemas.collection import (
    AnnotatorResponse,
    AnnotatorsResponse,
    CollectionResponse,
    ExportRequest,
    ImportRequest,
    ImportResponse,
    ListsResponse,
    QueriesResponse,
)
from plackett.apps.workbench.schemas.session import BaseRanker, CollectionName
from plackett.apps.workbench.searching import Searching

if TYPE_CHECKING:
    from plackett.apps.workbench.exporting import ExportedFile
    from plackett.apps.workbench.store import Store

PEOPLE = "judgements of people"


class Reviewing:
    """A collection and its judgements. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, searching: Searching):
        self._collection, self._store, self._searching = collection, store, searching

    def name(self) -> CollectionName:
        """Return the name and size of the collection."""
        return CollectionName(name=self._collection.name, kind=self._collection.kind, n_docs=self._collection.n_docs)

    def bases(self) -> list[BaseRanker]:
        """Return the base rankers."""
        own = set(self._collection.own_rankers())
        return [BaseRanker(name=name, is_saved=name not in own) for name in self._collection.base_rankers()]

    def queries(self, user: str | None, limit: int, offset: int) -> QueriesResponse:
        """Return judged queries, of all users or of one, those with the latest judgements first."""
        key, user_id = self._collection.key, None if user is None else self._searching.user_id(user)
        if user is not None and user_id is None:
            return QueriesResponse(total=0, queries=[])
        with client_errors():
            rows = self._store.queries(key, user_id=user_id, limit=limit, offset=offset)
            total = self._store.n_queries(key, user_id=user_id)
        return QueriesResponse(total=total, queries=rows)

    def lists(self, limit: int, offset: int, base: str = "") -> ListsResponse:
        """Return the lists of a ``LetorCollection``, with NDCG@10 of a base ranker on their labels."""
        from plackett.apps.workbench.collections.letor import LetorCollection
        from plackett.apps.workbench.runs import compare_rankings, values_of

        if not isinstance(self._collection, LetorCollection):
            message = f"{self._collection.name} has no lists to browse."
            raise RequestError(404, "not-found", message, "Search it, or use /queries.")
        lists = self._collection.lists(limit, offset)
        with client_errors():
            base = self._collection.base_name(base)
            hits = {one.query: self._collection.find(one.query, base, FROZEN_DEPTH) for one in lists}
        rankings = {query: Ranking(found.docid, found.scores.tolist()) for query, found in hits.items()}
        labels = {query: self._collection.labels(query) for query in rankings}
        measured = lists
        if any(labels.values()):
            values = values_of(compare_rankings(labels, {base: rankings}, ["ndcg@10"]), labels, "ndcg@10")
            measured = [replace(one, ndcg=values[one.query][0] if one.query in values else None) for one in lists]
        return ListsResponse(base=base, total=self._collection.queries.n_queries, lists=measured)

    def describe(self) -> CollectionResponse:
        """Return the collection and the statistics of its judgements."""
        from plackett.apps.workbench.measuring import summarise

        key = self._collection.key
        summary = summarise(self._store.judgements(key), self._store.preferences(key), self._store.n_changed(key))
        return CollectionResponse(
            **self.name().model_dump(),
            n_features=len(self._collection.feature_names),
            feature_names=self._collection.feature_names,
            bases=self.bases(),
            store=self._store.location,
            users=[one.name for one in self._store.users()],
            summary=summary,
        )

    def judgements(self, user: str | None) -> tuple[list[Judgement], list[Preference]]:
        """Return the judgements and preferences of all users, or of one."""
        key, user_id = self._collection.key, None if user is None else self._searching.user_id(user)
        if user is not None and user_id is None:
            return [], []
        return list(self._store.judgements(key, user_id)), list(self._store.preferences(key, user_id))

    def _settled(self, judgements: list[Judgement]) -> list[Judgement]:
        return list(settled_judgements(judgements, self._store.settlements(self._collection.key)))

    def chosen_judgements(
        self, user: str | None, annotator: int | None
    ) -> tuple[list[Judgement], list[Preference], str]:
        """Return the judgements of people, or of an imported annotator, and a description of them."""
        if annotator is None:
            judgements, preferences = self.judgements(user)
            return judgements if user else self._settled(judgements), preferences, PEOPLE
        found = self._annotator(annotator)
        return list(self._store.judgements(self._collection.key, found.id)), [], f"judgements of {found.name}"

    def export_file(self, user: str, request: ExportRequest) -> ExportedFile:
        """Return the judgements of all users, of this one, or of an annotator, as a file."""
        from plackett.apps.workbench.exporting import export_judgements

        if request.annotator is not None:
            judgements, preferences, _ = self.chosen_judgements(None, request.annotator)
        else:
            judgements, preferences = self.judgements(user if request.mine else None)
            if not request.mine and request.format != "json":  # JSON has the grade of every user
                judgements = self._settled(judgements)
        with client_errors():
            base = self._collection.base_name(request.base)
            return export_judgements(
                request.format, self._collection, judgements, preferences, base=base, method=request.method, k=request.k
            )

    def import_file(self, user: str, request: ImportRequest) -> ImportResponse:
        """Add the judgements of a file to this user's, or to those of an annotator, all or nothing."""
        from plackett.apps.workbench.importing import read_judgements

        file_format = None if request.format == "auto" else request.format
        with client_errors():
            base = self._collection.base_name(request.base)
            found = read_judgements(request.text.encode("utf-8"), file_format, self._collection)
            n_imported = 0
            if found.rows or found.preferences:
                key, name = self._collection.key, request.annotator
                user_id = (self._store.user(user) if name is None else self._store.annotator(name)).id
                n_imported = self._store.import_judgements(
                    user_id, key, found.rows, preferences=found.preferences, base=base
                )
        return ImportResponse(n_imported=n_imported, notes=found.notes)

    def annotators(self) -> AnnotatorsResponse:
        """Return the imported annotators, which are not people."""
        found = self._store.annotators(self._collection.key)
        return AnnotatorsResponse(
            annotators=[AnnotatorResponse.model_validate(one, from_attributes=True) for one in found]
        )

    def delete_annotator(self, annotator: int) -> AnnotatorsResponse:
        """Delete the judgements of an imported annotator."""
        self._store.delete_judgements(self._collection.key, self._annotator(annotator).id)
        return self.annotators()

    def _annotator(self, annotator: int) -> User:
        for one in self._store.annotators(self._collection.key):
            if one.id == annotator:
                return one
        raise RequestError(404, "not-found", f"there is no annotator {annotator}.")
