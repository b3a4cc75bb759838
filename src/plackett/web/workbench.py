"""What can be done in the workbench, free of HTTP: each action takes plain values and answers with a schema.

What learns and measures is imported where it is used. It takes longer to load than all the rest, so the server opens
its port first, and ``warm_up`` loads it behind the first user's back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from plackett import __version__
from plackett.exceptions import StoreError
from plackett.web import schemas
from plackett.web.collection import Collection, Hits, hits_of
from plackett.web.jobs import Jobs
from plackett.web.lru import LRU
from plackett.web.problems import Problem, asked
from plackett.web.settings import Settings
from plackett.web.store.history import standing
from plackett.web.trained import TrainedRankers

if TYPE_CHECKING:
    from plackett.web.exchange import Exported
    from plackett.web.refining import Judged, Refined
    from plackett.web.store import Event, Job, Store
    from plackett.web.store.records import Query
    from plackett.web.training import Progress

LONGEST_TITLE = 300  # characters in a list
LONGEST_FIELD = 200_000  # characters of a document on a page
DESCRIPTIONS_KEPT = 8192  # titles and snippets, a kilobyte each
NAMES_KEPT = 1024
FINISHED = ("done", "failed", "cancelled", "interrupted")


class Workbench:
    """A collection, a store, and everything that a user does with them. Threads may share one.

    Parameters
    ----------
    collection : Collection
    store : Store
    settings : Settings
    """

    def __init__(self, collection: Collection, store: Store, settings: Settings):
        self.collection, self.store, self.settings = collection, store, settings
        self.jobs = Jobs(store, collection.key, settings.max_jobs)
        self.trained = TrainedRankers(collection, store)
        self.is_warm = False
        self._described = lru_cache(maxsize=DESCRIPTIONS_KEPT)(self._describe)
        # users and queries are never removed from a store, so what was found once need not be looked up again
        self._user_ids: LRU[str, int] = LRU(NAMES_KEPT)
        self._queries: LRU[str, Query] = LRU(NAMES_KEPT)

    def close(self) -> None:
        """Stop what runs in the background; the store stays open, as it was given."""
        self.jobs.close()

    def warm_up(self) -> None:
        """Do once what users will do, so that none of them waits for compiled code to be loaded."""
        from plackett.web import exchange, training  # noqa: F401
        from plackett.web.measuring import measure_list
        from plackett.web.refining import Judged, refine

        self.collection.warm_up()
        with suppress(StoreError):  # closed meanwhile, or in trouble: requests will say so
            self.trained.take_up()
        for query in self.collection.suggestions()[:1]:
            hits = self.collection.search(query, k=50)
            if len(hits.docid) > 2:
                first, second, third = hits.docid[:3]
                judged = Judged({second: 1.0, third: 0.0}, [])
                for method in schemas.METHODS:
                    for said in (judged, Judged({second: 1.0}, []), Judged({}, [(third, first)])):
                        refine(hits, said, method)
                    measure_list(hits, judged, method, leave_one_out=False)
        self.is_warm = True

    # lists

    def search(self, user: str, text: str, view: schemas.View) -> schemas.RankedList:
        """The list of a query, refined by what the user said of it before; nothing is written."""
        text = _stripped(text)
        with asked():
            query = self._known_query(text)
        return self._list(user, text, None if query is None else query.id, view, self._base(view.base))

    def show(self, user: str, query_id: int, view: schemas.View) -> schemas.RankedList:
        """The list of a query that somebody judged."""
        query = self._query(query_id)
        return self._list(user, query.text, query.id, view, self._base(view.base, query))

    def measures(self, user: str, query_id: int, view: schemas.MeasureRequest) -> schemas.Measures:
        """P@k and NDCG@k of base and refined order."""
        from plackett.web.measuring import measure_list

        query = self._query(query_id)
        hits = self._hits(query.text, self._base(view.base, query), view.k)
        judged, _ = self._judged(user, query_id)
        return schemas.Measures(**measure_list(hits, judged, view.method)._asdict())

    def document(self, docid: str, text: str | None = None, base: str = "") -> schemas.DocumentAnswer:
        """A document, and its features for a query."""
        with asked():
            found = self.collection.document(docid)
        fields = [
            schemas.TextField(name=name, text=value[:LONGEST_FIELD], is_cut=len(value) > LONGEST_FIELD)
            for name, value in found.fields.items()
        ]
        features, label = None, None
        if text is not None and text.strip():
            with asked():
                scored = self.collection.score(text.strip(), [docid], self._base(base))
            values = scored.X[0].tolist() if len(scored.X) else []
            pairs = zip(scored.feature_names, values, strict=False)
            features = [schemas.Feature(name=name, value=value) for name, value in pairs]
            label = self.collection.labels(text.strip()).get(docid)
        title = _cut(found.title)
        return schemas.DocumentAnswer(docid=docid, title=title, fields=fields, features=features, label=label)

    def _base(self, base: str, query: Query | None = None) -> str:
        names = self.collection.base_rankers()
        if not base:
            return query.base if query is not None and query.base in names else names[0]
        if base not in names:
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            raise Problem(422, "invalid", f"there is no base ranker {base!r}.", f"Choose one of {shown}.")
        return base

    def _hits(self, text: str, base: str, k: int) -> Hits:
        with asked():
            return self.collection.search(text, base, k)

    def _query(self, query_id: int) -> Query:
        with asked():
            query = self.store.query_by_id(query_id)
        if query.collection != self.collection.key:
            raise Problem(404, "not-found", f"there is no query {query_id}.")
        return query

    def _known_user(self, name: str) -> int | None:
        known = self._user_ids.get(name)
        if known is None:
            found = self.store.find_user(name)
            if found is None:
                return None
            known = found.id
            self._user_ids.put(name, known)
        return known

    def _known_query(self, text: str) -> Query | None:
        known = self._queries.get(text)
        if known is None:
            known = self.store.find_query(self.collection.key, text)
            if known is not None:
                self._queries.put(text, known)
        return known

    def _judged(self, user: str, query_id: int | None) -> tuple[Judged, bool]:
        """What the user said of a list, and whether some of it can be undone."""
        from plackett.web.refining import Judged

        with asked():
            known = None if query_id is None else self._known_user(user)
        if known is None or query_id is None:
            return Judged({}, []), False
        events = self.store.events(known, query_id)
        can_undo = any(not event.undone and event.kind != "undo" for event in events)
        return Judged(*standing(events).judged()), can_undo

    def _list(self, user: str, text: str, query_id: int | None, view: schemas.View, base: str) -> schemas.RankedList:
        from plackett.web.refining import refine

        hits = self._hits(text, base, view.k)
        judged, can_undo = self._judged(user, query_id)
        refined = refine(hits, judged, view.method, view.keep)
        place = {row: number for number, row in enumerate(refined.order, 1)}
        labels = self.collection.labels(text)
        in_list = set(hits.docid)

        def results(rows: Iterable[int]) -> list[schemas.Result]:
            return [self._result(text, hits, refined, row, place[row], judged, labels) for row in rows]

        return schemas.RankedList(
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
            pairs=[schemas.Pair(preferred=better, other=worse) for better, worse in judged.pairs],
            elsewhere=[
                schemas.Graded(docid=docid, grade=grade)
                for docid, grade in judged.labels.items()
                if docid not in in_list
            ],
            results=results(refined.order[: view.shown]),
            base_results=results(range(min(view.shown, len(hits.docid)))) if view.side_by_side else None,
        )

    def _result(
        self, text: str, hits: Hits, refined: Refined, row: int, place: int, judged: Judged, labels: dict[str, float]
    ) -> schemas.Result:
        docid = hits.docid[row]
        title, snippet = self._described(text, docid)
        return schemas.Result(
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
            why=_reasons(refined, row),
        )

    def _describe(self, text: str, docid: str) -> tuple[str, list[schemas.Piece]]:
        pieces = self.collection.snippet(docid, text)
        snippet = [schemas.Piece(text=part, is_term=is_term) for part, is_term in pieces]
        return _cut(self.collection.document(docid).title), snippet

    # judging

    def judge(self, user: str, wish: schemas.JudgementRequest) -> schemas.Saved:
        """Give a document a grade; it is on disk when this returns."""
        self._check_documents(wish.docid)
        query = self._target(wish)
        with asked():
            event = self.store.judge(self._user_id(user), query.id, wish.docid, wish.grade)
        return self._saved(user, query, wish, event)

    def prefer(self, user: str, wish: schemas.PreferenceRequest) -> schemas.Saved:
        """Put a document above another."""
        self._check_documents(wish.docid, wish.other)
        query = self._target(wish)
        with asked():
            event = self.store.prefer(self._user_id(user), query.id, wish.docid, wish.other)
        return self._saved(user, query, wish, event)

    def undo(self, user: str, wish: schemas.Target) -> schemas.Saved:
        """Strike out what the user said last of a list."""
        query = self._known_target(wish)
        with asked():
            known = self._known_user(user)
            event = None if known is None else self.store.undo(known, query.id)
        return self._saved(user, query, wish, event)

    def reset(self, user: str, wish: schemas.Target) -> schemas.Saved:
        """Clear all that the user said of a list."""
        query = self._known_target(wish)
        with asked():
            known = self._known_user(user)
            n_cleared = 0 if known is None else self.store.reset(known, query.id)
        return self._saved(user, query, wish, None, n_cleared)

    def _user_id(self, name: str) -> int:
        """The user's id; she is made known if she is new."""
        known = self._known_user(name)
        if known is None:
            known = self.store.user(name).id
            self._user_ids.put(name, known)
        return known

    def _check_documents(self, *docids: str) -> None:
        for docid in docids:
            if docid not in self.collection:
                raise Problem(404, "not-found", f"{self.collection.name} has no document {docid!r}.")

    def _target(self, wish: schemas.Target) -> Query:
        """The query that is judged, made if it is new and can be searched for."""
        if wish.query is None:
            return self._known_target(wish)
        text, base = _stripped(wish.query), self._base(wish.base)
        self._hits(text, base, wish.k)
        known = self._queries.get(text)
        if known is None or known.base != base:
            with asked():
                known = self.store.query(self.collection.key, text, base)
            self._queries.put(text, known)
        return known

    def _known_target(self, wish: schemas.Target) -> Query:
        if wish.query_id is not None:
            return self._query(wish.query_id)
        text = _stripped(wish.query or "")
        with asked():
            query = self._known_query(text)
        if query is None:
            raise Problem(404, "not-found", "nothing was judged for this query yet.")
        return query

    def _saved(
        self, user: str, query: Query, wish: schemas.Target, event: Event | None, n_cleared: int = 0
    ) -> schemas.Saved:
        ranked = None
        if wish.with_list:
            ranked = self._list(user, query.text, query.id, wish, self._base(wish.base, query))
        return schemas.Saved(query_id=query.id, event=_event(event), n_cleared=n_cleared, list=ranked)

    # the session and the collection

    def session(self, user: str, csrf: str) -> schemas.Session:
        """What a page needs first."""
        return schemas.Session(
            user=user,
            csrf=csrf,
            collection=schemas.CollectionName(**self._name()),
            bases=self.bases(),
            methods=list(schemas.METHODS),
            suggestions=self.collection.suggestions(),
            version=__version__,
        )

    def bases(self) -> list[schemas.BaseRanker]:
        """The base rankers."""
        own = set(self.collection.own_rankers())
        return [schemas.BaseRanker(name=name, is_saved=name not in own) for name in self.collection.base_rankers()]

    def _name(self) -> dict:
        return {"name": self.collection.name, "kind": self.collection.kind, "n_docs": self.collection.n_docs}

    def queries(self, user: str | None, limit: int, offset: int) -> schemas.QueriesAnswer:
        """Queries that somebody, or this user, has judged, those of the latest judgements first."""
        key = self.collection.key
        with asked():
            user_id = None if user is None else self._known_user(user)
            if user is not None and user_id is None:
                return schemas.QueriesAnswer(total=0, queries=[])
            found = self.store.queries(key, user_id=user_id, limit=limit, offset=offset)
            total = self.store.n_queries(key, user_id=user_id)
        rows = [
            schemas.QueryAnswer(
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
        return schemas.QueriesAnswer(total=total, queries=rows)

    def lists(self, limit: int, offset: int) -> schemas.ListsAnswer:
        """The lists of a collection that came judged."""
        from plackett.web.letor_collection import LetorCollection

        if not isinstance(self.collection, LetorCollection):
            hint = "Search it, or ask for /queries."
            raise Problem(404, "not-found", f"{self.collection.name} is a collection of texts, without lists.", hint)
        rows = self.collection.lists(limit, offset)
        return schemas.ListsAnswer(
            total=self.collection.queries.n_queries,
            lists=[schemas.ListAnswer(query=one.qid, n_docs=one.n_docs, labels=one.labels) for one in rows],
        )

    def describe(self) -> schemas.CollectionAnswer:
        """The collection and all that was said about it."""
        from plackett.web.measuring import summarise, words_on

        key = self.collection.key
        summary = summarise(self.store.judgements(key), self.store.preferences(key), self.store.n_changed(key))
        agreement = summary.agreement._asdict()
        agreement["disputed"] = [one._asdict() for one in summary.agreement.disputed]
        answer = {**summary._asdict(), "agreement": agreement, "contradictions": summary.contradictions._asdict()}
        return schemas.CollectionAnswer(
            **self._name(),
            n_features=len(self.collection.feature_names),
            feature_names=self.collection.feature_names,
            bases=self.bases(),
            store=self.store.location,
            users=[one.name for one in self.store.users()],
            summary=schemas.SummaryAnswer(**answer, words=words_on(summary)),
        )

    # files

    def export(self, user: str, wish: schemas.ExportRequest) -> Exported:
        """What all users, or this one, said, as a file."""
        from plackett.web.exchange import export_judgements

        judgements, preferences = self._said(user if wish.mine else None)
        base = self._base(wish.base)
        with asked():
            return export_judgements(
                wish.format, self.collection, judgements, preferences, base=base, method=wish.method, k=wish.k
            )

    def take_in(self, user: str, wish: schemas.ImportRequest) -> schemas.Imported:
        """Judgements from a file, as this user's; all of them or none."""
        from plackett.web.exchange import read_judgements

        base = self._base(wish.base)
        with asked():
            found = read_judgements(
                wish.text.encode("utf-8"), None if wish.format == "auto" else wish.format, self.collection
            )
            n = 0
            if found.rows or found.preferences:
                n = self.store.import_judgements(
                    self._user_id(user), self.collection.key, found.rows, preferences=found.preferences, base=base
                )
        return schemas.Imported(n_imported=n, notes=found.notes)

    def _said(self, user: str | None) -> tuple[list, list]:
        key = self.collection.key
        with asked():
            user_id = None if user is None else self._known_user(user)
        if user is not None and user_id is None:
            return [], []
        return list(self.store.judgements(key, user_id)), list(self.store.preferences(key, user_id))

    # training

    def train(self, user: str, wish: schemas.TrainRequest) -> schemas.JobAnswer:
        """Begin to train a ranker on what all users, or this one, said."""
        base = self._base(wish.base)
        judgements, preferences = self._said(user if wish.mine else None)

        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict:
            return self.trained.train(job_id, judgements, preferences, base, progress, cancel)

        return job_answer(self.jobs.start("train", {"base": base, "user": user if wish.mine else None}, work))

    def job(self, job_id: int) -> schemas.JobAnswer:
        """How far a job has come."""
        with asked():
            job = self.store.job(job_id)
        return job_answer(job)

    def all_jobs(self, limit: int, offset: int) -> schemas.JobsAnswer:
        """Jobs of this collection, the newest first."""
        with asked():
            found = self.store.jobs(self.collection.key, limit=limit, offset=offset)
        return schemas.JobsAnswer(jobs=[job_answer(job) for job in found])

    def cancel(self, job_id: int) -> schemas.JobAnswer:
        """Stop a job."""
        with asked():
            return job_answer(self.jobs.cancel(job_id))


def refine_outside(wish: schemas.RefineRequest) -> schemas.RefineAnswer:
    """The refined order of a list that was sent along; nothing is looked up and nothing is kept."""
    from plackett.web.refining import Judged, refine

    names = [str(row) for row in range(len(wish.features))] if wish.docids is None else wish.docids
    row_of = {name: row for row, name in enumerate(names)}
    with asked():
        hits = hits_of(names, np.array(wish.base_scores), np.array(wish.features, dtype=float), wish.feature_names)
        for named in (*wish.judgements, *(docid for pair in wish.pairs for docid in pair)):
            if named not in row_of:
                raise ValueError(f"a judgement names {named!r}, which is not among the documents.")
        if any(better == worse for better, worse in wish.pairs):
            raise ValueError("a document cannot be preferred to itself.")
        refined = refine(hits, Judged(wish.judgements, wish.pairs), wish.method, wish.keep)
    rows = [row_of[docid] for docid in hits.docid]  # of the request, in base order
    place = np.empty(len(rows), dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return schemas.RefineAnswer(
        order=[hits.docid[row] for row in refined.order],
        rows=[rows[row] for row in refined.order],
        scores=refined.scores[place].tolist(),
        moves=refined.moves[place].tolist(),
        why=[_reasons(refined, row) for row in place.tolist()],
        note=refined.note,
    )


def job_answer(job: Job) -> schemas.JobAnswer:
    """A job as the API tells it."""
    return schemas.JobAnswer(
        **{name: value for name, value in job._asdict().items() if name != "collection"},
        is_finished=job.state in FINISHED,
    )


def _reasons(refined: Refined, row: int) -> list[schemas.Why]:
    return [schemas.Why(text=one.text, amount=float(one.amount)) for one in refined.why[row]]


def _event(event: Event | None) -> schemas.EventAnswer | None:
    if event is None:
        return None
    return schemas.EventAnswer(**{name: getattr(event, name) for name in schemas.EventAnswer.model_fields})


def _stripped(text: str) -> str:
    text = text.strip()
    if not text:
        raise Problem(422, "invalid", "the query is empty.", "Give some words to search for.")
    return text


def _cut(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else title[:LONGEST_TITLE] + "…"
