"""The collection: who searches it, its judged queries, lists and statistics, and the annotators of its judgements."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from plackett import __version__
from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import Bench, Caller, missing, new_router
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.middleware import clean_user_name, set_user_cookie
from plackett.apps.workbench.people import Summary, agreement_with_people, summarise
from plackett.apps.workbench.runs import Ranking, compare_rankings, values_of
from plackett.apps.workbench.store import QuerySummary, User
from plackett.apps.workbench.values import FROZEN_DEPTH, METHODS, Base, Id, Name, PageRequest, Record, RequestModel

router, sessions = new_router("collection"), new_router("session")


class Health(Record):
    """Whether the server runs, and whether it has loaded what requests need."""

    status: Literal["ok"]
    is_warm: bool


class UserRequest(RequestModel):
    """The name of the user who judges."""

    user: Name


class BaseRanker(Record):
    """A base ranker, and whether it is a saved one."""

    name: str
    is_saved: bool


class CollectionName(Record):
    """The collection that is searched; ``n_docs`` is null for a live engine."""

    name: str
    kind: Literal["text", "letor", "engine"]
    n_docs: int | None


class Session(Record):
    """The user, the CSRF token and the collection, which a page loads first."""

    user: str
    csrf: str
    collection: CollectionName
    bases: list[BaseRanker]
    methods: list[str]
    suggestions: list[str]
    version: str


class QueriesRequest(PageRequest):
    """A page of judged queries."""

    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class JudgedQueries(Record):
    """Judged queries, those with the latest judgements first."""

    total: int
    queries: list[QuerySummary]


class ListsRequest(PageRequest):
    """A page of lists, and the base ranker to measure on their labels."""

    base: Base = Field(default="", description="As in a search.")


class JudgedList(Record):
    """A query with the number of its documents, the number of documents by label, and NDCG@10 on these labels."""

    query: str
    n_docs: int
    labels: dict[str, int]
    ndcg: float | None


class JudgedLists(Record):
    """The lists of a collection with labels, in its order, with NDCG@10 of a base ranker."""

    base: str
    total: int
    lists: list[JudgedList]


class About(CollectionName):
    """The collection and the statistics of its judgements."""

    n_features: int
    feature_names: list[str]
    bases: list[BaseRanker]
    store: str
    users: list[str]
    summary: Summary


class Annotator(Record):
    """An imported annotator, which is not a person; ``agreement`` with people is empty without shared documents."""

    id: int
    name: str
    created: datetime
    agreement: str


class Annotators(Record):
    """Imported annotators, oldest first."""

    annotators: list[Annotator]


@sessions.get("/health", response_model=Health)
async def health(bench: Bench) -> Response:  # not in a thread: all of them may be busy
    """Return whether the server runs; this needs no token."""
    return JSONResponse({"status": "ok", "is_warm": bench.is_warm})


@sessions.get("/session")
def session(bench: Bench, caller: Caller) -> Session:
    """Return the user, the CSRF token for writes, and what can be searched with which base rankers."""
    found = bench.collection
    name = CollectionName(found.name, found.kind, found.n_docs)
    return Session(caller.user, caller.csrf, name, _bases(bench), list(METHODS), found.suggestions(), __version__)


@sessions.post("/session", response_model=Session)
def name_user(bench: Bench, caller: Caller, request: UserRequest) -> Response:
    """Set the name that judgements are stored under."""
    name = clean_user_name(request.user) or caller.user
    response = JSONResponse(asdict(session(bench, caller._replace(user=name))))
    set_user_cookie(response, name)
    return response


@router.get("/queries")
def queries(bench: Bench, caller: Caller, request: Annotated[QueriesRequest, Query()]) -> JudgedQueries:
    """Return judged queries, those with the latest judgements first."""
    user_id = bench.user_id(caller.user) if request.mine else None
    if request.mine and user_id is None:
        return JudgedQueries(0, [])
    found = bench.store.queries(bench.key, user_id)
    return JudgedQueries(len(found), found[request.offset : request.offset + request.limit])


@router.get("/lists")
def lists(bench: Bench, request: Annotated[ListsRequest, Query()]) -> JudgedLists:
    """Return the lists of a collection with labels (``--letor``), with NDCG@10 of a base ranker on these labels."""
    collection = bench.collection
    if not isinstance(collection, LetorCollection):
        raise missing(f"{collection.name} has no lists to browse.", "Search it, or use /queries.")
    shown = list(collection.rows)[request.offset : request.offset + request.limit]
    with client_errors():
        base = collection.base_name(request.base)
        hits = {query: collection.find(query, base, FROZEN_DEPTH) for query in shown}
    rankings = {query: Ranking(found.docid, found.scores.tolist()) for query, found in hits.items()}
    labels, values = {query: collection.labels(query) for query in shown}, {}
    if any(labels.values()):
        values = values_of(compare_rankings(labels, {base: rankings}, ["ndcg@10"]), labels, "ndcg@10")
    rows = []
    for query in shown:
        own, counts = collection.rows[query], Counter(f"{label + 0.0:g}" for label in sorted(labels[query].values()))
        rows.append(JudgedList(query, own.stop - own.start, counts, values[query][0] if query in values else None))
    return JudgedLists(base, len(collection.rows), rows)


@router.get("/collection")
def about(bench: Bench) -> About:
    """Return the collection and the statistics of its judgements: counts, agreement, contradictions."""
    found, store = bench.collection, bench.store
    return About(
        name=found.name,
        kind=found.kind,
        n_docs=found.n_docs,
        n_features=len(found.feature_names),
        feature_names=found.feature_names,
        bases=_bases(bench),
        store=store.location,
        users=[one.name for one in store.users()],
        summary=summarise(store.of(bench.key)),
    )


@router.get("/annotators")
def annotators(bench: Bench) -> Annotators:
    """Return the imported annotators, which are not people."""
    key, store = bench.key, bench.store
    found = [(one, agreement_with_people(store.of(key, one.id), store.of(key))) for one in store.annotators(key)]
    return Annotators([Annotator(one.id, one.name, one.created, words) for one, words in found])


@router.delete("/annotators")
def delete_annotator(bench: Bench, annotator: Annotated[Id, Query()]) -> Annotators:
    """Delete the judgements of an imported annotator."""
    bench.store.delete_judgements(bench.key, find_annotator(bench, annotator).id)
    return annotators(bench)


def find_annotator(bench: Bench, annotator_id: int) -> User:
    """Return an imported annotator by its id."""
    for one in bench.store.annotators(bench.key):
        if one.id == annotator_id:
            return one
    raise missing(f"there is no annotator {annotator_id}.")


def _bases(bench: Bench) -> list[BaseRanker]:
    own = set(bench.collection.own_rankers())
    return [BaseRanker(name, name not in own) for name in bench.collection.base_rankers()]
