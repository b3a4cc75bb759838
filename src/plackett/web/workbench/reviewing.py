"""All that users said of a collection: its queries, its numbers, and judgements that go out and come in as files.

What learns and measures is imported where it is used, as in ``workbench.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.web.collections.base import Collection
from plackett.web.errors import Problem, asked
from plackett.web.schemas.collection import (
    CollectionAnswer,
    ExportRequest,
    Imported,
    ImportRequest,
    ListAnswer,
    ListsAnswer,
    QueriesAnswer,
    QueryAnswer,
    SummaryAnswer,
)
from plackett.web.schemas.session import BaseRanker, CollectionName
from plackett.web.workbench.names import Names

if TYPE_CHECKING:
    from plackett.web.store import Store
    from plackett.web.store.records import Judgement, Preference
    from plackett.web.workbench.exporting import Exported


class Gathered:
    """A collection and what was said about it. Threads may share it."""

    def __init__(self, collection: Collection, store: Store, names: Names):
        self._collection, self._store, self._names = collection, store, names

    def name(self) -> CollectionName:
        """What is searched."""
        return CollectionName(name=self._collection.name, kind=self._collection.kind, n_docs=self._collection.n_docs)

    def bases(self) -> list[BaseRanker]:
        """The base rankers."""
        own = set(self._collection.own_rankers())
        return [BaseRanker(name=name, is_saved=name not in own) for name in self._collection.base_rankers()]

    def queries(self, user: str | None, limit: int, offset: int) -> QueriesAnswer:
        """Queries that somebody, or this user, has judged, those of the latest judgements first."""
        key = self._collection.key
        with asked():
            user_id = None if user is None else self._names.user(user)
            if user is not None and user_id is None:
                return QueriesAnswer(total=0, queries=[])
            found = self._store.queries(key, user_id=user_id, limit=limit, offset=offset)
            total = self._store.n_queries(key, user_id=user_id)
        rows = [
            QueryAnswer(
                query_id=one.id,
                query=one.text,
                base=one.base,
                n_users=one.n_users,
                n_judged=one.n_judged,
                n_pairs=one.n_pairs,
                last=one.last,
            )
            for one in found
        ]
        return QueriesAnswer(total=total, queries=rows)

    def lists(self, limit: int, offset: int) -> ListsAnswer:
        """The lists of a collection that came judged."""
        from plackett.web.collections.letor import LetorCollection

        if not isinstance(self._collection, LetorCollection):
            hint = "Search it, or ask for /queries."
            raise Problem(404, "not-found", f"{self._collection.name} is a collection of texts, without lists.", hint)
        rows = self._collection.lists(limit, offset)
        return ListsAnswer(
            total=self._collection.queries.n_queries,
            lists=[ListAnswer(query=one.qid, n_docs=one.n_docs, labels=one.labels) for one in rows],
        )

    def describe(self) -> CollectionAnswer:
        """The collection and all that was said about it."""
        from plackett.web.workbench.measuring import summarise, words_on

        key = self._collection.key
        summary = summarise(self._store.judgements(key), self._store.preferences(key), self._store.n_changed(key))
        agreement = summary.agreement._asdict()
        agreement["disputed"] = [one._asdict() for one in summary.agreement.disputed]
        answer = {**summary._asdict(), "agreement": agreement, "contradictions": summary.contradictions._asdict()}
        return CollectionAnswer(
            **self.name().model_dump(),
            n_features=len(self._collection.feature_names),
            feature_names=self._collection.feature_names,
            bases=self.bases(),
            store=self._store.location,
            users=[one.name for one in self._store.users()],
            summary=SummaryAnswer(**answer, words=words_on(summary)),
        )

    def said(self, user: str | None) -> tuple[list[Judgement], list[Preference]]:
        """Judgements and preferences of everybody, or of one user."""
        key = self._collection.key
        with asked():
            user_id = None if user is None else self._names.user(user)
        if user is not None and user_id is None:
            return [], []
        return list(self._store.judgements(key, user_id)), list(self._store.preferences(key, user_id))

    def export(self, user: str, wish: ExportRequest) -> Exported:
        """What all users, or this one, said, as a file."""
        from plackett.web.workbench.exporting import export_judgements

        judgements, preferences = self.said(user if wish.mine else None)
        base = self._names.base(wish.base)
        with asked():
            return export_judgements(
                wish.format, self._collection, judgements, preferences, base=base, method=wish.method, k=wish.k
            )

    def take_in(self, user: str, wish: ImportRequest) -> Imported:
        """Judgements from a file, as this user's; all of them or none."""
        from plackett.web.workbench.importing import read_judgements

        base = self._names.base(wish.base)
        with asked():
            found = read_judgements(
                wish.text.encode("utf-8"), None if wish.format == "auto" else wish.format, self._collection
            )
            n = 0
            if found.rows or found.preferences:
                n = self._store.import_judgements(
                    self._names.user_made(user),
                    self._collection.key,
                    found.rows,
                    preferences=found.preferences,
                    base=base,
                )
        return Imported(n_imported=n, notes=found.notes)
