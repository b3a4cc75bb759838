"""Judging with others: needs and notes, agreement and contradictions, disagreements and what settles them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query
from pydantic import StringConstraints

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench import tables
from plackett.apps.workbench.api import Bench, Caller, missing, new_router
from plackett.apps.workbench.store import Judged, JudgedList, Store, is_one_of
from plackett.apps.workbench.values import MAX_NEED, NO_NULL, Docid, Grade, PageRequest, QueryText, Record, RequestModel
from plackett.validation import count_of

Words = Annotated[str, StringConstraints(max_length=MAX_NEED, pattern=NO_NULL)]
DISPUTES_SHOWN = 20
router = new_router("queue")
NEEDS, NOTES, SETTLEMENTS, QUERIES, USERS = tables.needs, tables.notes, tables.settlements, tables.queries, tables.users


class NotesUpdate(RequestModel):
    """The information need of a query, for everyone, and this user's note; null leaves one as it is."""

    query: QueryText
    need: Words | None = None
    note: Words | None = None


class Notes(Record):
    """The information need of a query, and this user's note; "" for none."""

    query: str
    need: str
    note: str


class Dispute(Record):
    """A document that users graded differently."""

    query: str
    docid: str
    grades: dict[str, float]


class Agreement(Record):
    """Agreement of users: the share of equal grades, and Krippendorff's alpha; null if there is nothing to compare."""

    n_shared: int
    n_pairs: int
    equal: float | None
    alpha: float | None
    disputed: list[Dispute]


class Contradictions(Record):
    """Contradictions within the judgements of one user."""

    changed: int
    opposite: int
    circles: int


class Summary(Record):
    """Statistics of all judgements."""

    n_users: int
    n_queries: int
    n_documents: int
    n_judgements: int
    n_preferences: int
    grades: dict[str, int]
    agreement: Agreement
    contradictions: Contradictions
    words: str


class Disagreement(Record):
    """A document that people graded differently, and the grade that settles it."""

    query: str
    docid: str
    title: str
    grades: dict[str, float]
    settled: float | None
    settled_by: str | None
    settled_at: datetime | None


class Disagreements(Record):
    """Disagreements, unsettled ones first, then the largest first."""

    total: int
    n_open: int
    agreement: Agreement
    rows: list[Disagreement]


class SettleRequest(RequestModel):
    """The grade of a document for everyone; null withdraws it."""

    query: QueryText
    docid: Docid
    grade: Grade | None


@router.get("/notes")
def notes(bench: Bench, caller: Caller, q: Annotated[QueryText, Query()]) -> Notes:
    """Return the information need of a query, and this user's note."""
    query, user_id = bench.store.find_query(bench.key, q), bench.user_id(caller.user)
    if query is None:
        return Notes(q, "", "")
    need = bench.store.value(sa.select(NEEDS.c.text).where(NEEDS.c.query_id == query.id))
    note = sa.select(NOTES.c.text).where(NOTES.c.query_id == query.id, NOTES.c.user_id == user_id)
    return Notes(q, need or "", bench.store.value(note) or "")


@router.post("/notes")
def save_notes(bench: Bench, caller: Caller, request: NotesUpdate) -> Notes:
    """Save the information need of a query, for everyone, or this user's note, or both."""
    with client_errors():
        ids = bench.store.create_queries(bench.key, [request.query], bench.collection.base_name())
        row = {"query_id": ids[request.query], "user_id": bench.store.user(caller.user).id}
    for table, text in ((NEEDS, request.need), (NOTES, request.note)):
        if text is None:
            continue
        with bench.store.writing() as connection:
            this = [column == row[column.name] for column in table.primary_key.columns]
            connection.execute(sa.delete(table).where(*this))
            if text.strip():
                connection.execute(sa.insert(table).values(**row, text=text.strip(), time=datetime.now(UTC)))
    return notes(bench, caller, request.query)


@router.get("/disagreements")
def disagreements(bench: Bench, page: Annotated[PageRequest, Query()]) -> Disagreements:
    """Return documents that people graded differently, unsettled ones first, and the agreement of people."""
    judged = list(bench.store.of(bench.key))
    settled, found = settlements(bench.store, bench.key), disputes(judged)
    found.sort(key=lambda one: (one.query, one.docid) in settled)  # stable: the largest stay first
    rows = []
    for one in found[page.offset : page.offset + page.limit]:
        title = bench.collection.title(one.docid) or one.docid
        end = settled.get((one.query, one.docid), (None, None, None))
        rows.append(Disagreement(one.query, one.docid, title, one.grades, *end))
    n_open = sum((one.query, one.docid) not in settled for one in found)
    return Disagreements(len(found), n_open, agreement_of(judged), rows)


@router.post("/settlements")
def settle(bench: Bench, caller: Caller, request: SettleRequest) -> Disagreements:
    """Settle the grade of a document; exports, training and scores use it instead of the mean of people."""
    judged = [one for one in bench.store.lists(bench.key).get(request.query, ()) if one.user.is_person]
    if not judged:
        raise missing("nothing was judged for this query yet.")
    if request.grade is not None and not any(request.docid in one.state.grades for one in judged):
        raise missing(f"nobody has judged {request.docid!r} for this query yet.", "Only judged documents are settled.")
    with client_errors():
        user_id = bench.store.user(caller.user).id
    said: dict[str, Any] = {
        "query_id": judged[0].query.id,
        "docid": request.docid,
        "grade": request.grade,
        "user_id": user_id,
    }
    bench.store.add(SETTLEMENTS, **said, time=datetime.now(UTC))
    return disagreements(bench, PageRequest())


def needs(store: Store, collection: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the needs of queries by their text; queries without one are left out."""
    wanted = sa.select(QUERIES.c.text, NEEDS.c.text).join(NEEDS, NEEDS.c.query_id == QUERIES.c.id)
    return {row[0]: row[1] for row in store.rows(wanted.where(is_one_of(collection, texts)))}


def settlements(store: Store, collection: str) -> dict[tuple[str, str], tuple[float, str, datetime]]:
    """Return by query and document the settled grade, who settled it, and when."""
    of = SETTLEMENTS.c
    wanted = sa.select(QUERIES.c.text, of.docid, of.grade, USERS.c.name, of.time)
    wanted = wanted.join(SETTLEMENTS, of.query_id == QUERIES.c.id).join(USERS, USERS.c.id == of.user_id)
    last = {row[:2]: row[2:] for row in store.rows(wanted.where(QUERIES.c.collection == collection).order_by(of.id))}
    return {pair: settled for pair, settled in last.items() if settled[0] is not None}


# modules that learn and measure are imported where they are used, because loading them takes longest


def summarise(lists: Iterable[JudgedList]) -> Summary:
    """Return counts, agreement and contradictions of current judgements.

    ``agreement`` is about documents that several users judged: ``equal`` is the share of pairs of users with the same
    grade, ``alpha`` Krippendorff's alpha with squared differences, 1 for perfect agreement and 0 for chance.
    ``contradictions`` are those of single users: ``changed`` grades, without an undo, ``opposite`` judgements (a
    preference for the lower grade), and ``circles``, the cycles of preferences between three or more documents.
    """
    from plackett.apps.workbench.refining import feedback_of

    judged = [one for one in lists if one.state.n_judgements]
    states = [(one.query.id, one.state.judged) for one in judged]
    users, queries = {one.user.id for one in judged}, {query for query, _ in states}
    documents = {docid for _, (labels, pairs) in states for docid in (*labels, *chain.from_iterable(pairs))}
    counts = Counter(f"{grade:g}" for _, (labels, _) in states for grade in labels.values())
    n_graded, n_preferences = counts.total(), sum(len(pairs) for _, (_, pairs) in states)
    n_queries, n_users = count_of(len(queries), "query", "queries"), count_of(len(users), "user")
    preferred = [own for _, own in states if own.pairs]
    return Summary(
        n_users=len(users),
        n_queries=len(queries),
        n_documents=len(documents),
        n_judgements=n_graded,
        n_preferences=n_preferences,
        grades=dict(sorted(counts.items(), key=lambda item: float(item[0]))),
        agreement=agreement_of(judged),
        contradictions=Contradictions(
            changed=sum(len(one.state.changed) for one in judged),
            opposite=sum(feedback_of(own).n_contradictory for own in preferred),
            circles=sum(map(_n_cycles, preferred)),
        ),
        words=f"{count_of(n_graded, 'judgement')} and {count_of(n_preferences, 'preference')} on {n_queries} by "
        f"{n_users}.",
    )


def _grades_by_document(
    lists: Iterable[JudgedList], spelled: Callable[[str], str] = str
) -> dict[tuple[str, str], dict[str, float]]:
    """Return grades by query, document and user."""
    by_document: dict[tuple[str, str], dict[str, float]] = {}
    for one in lists:
        for docid, (grade, _) in one.state.grades.items():
            by_document.setdefault((spelled(one.query.text), docid), {})[one.user.name] = grade
    return by_document


def disputes(lists: Iterable[JudgedList]) -> list[Dispute]:
    """Return the documents that users graded differently, the largest differences first."""
    found = [
        Dispute(query, docid, grades)
        for (query, docid), grades in _grades_by_document(lists).items()
        if len(set(grades.values())) > 1
    ]
    found.sort(key=lambda one: (min(one.grades.values()) - max(one.grades.values()), one.query, one.docid))
    return found


def agreement_of(lists: list[JudgedList]) -> Agreement:
    """Return the agreement of users on the documents that several of them judged."""
    import numpy as np

    from plackett.evaluation.agreement import grade_agreement

    by_document = _grades_by_document(lists)
    units = np.repeat(np.arange(len(by_document)), [len(grades) for grades in by_document.values()])
    found = grade_agreement(units, [grade for grades in by_document.values() for grade in grades.values()])
    return Agreement(
        n_shared=found.n_units,
        n_pairs=found.n_pairs,
        equal=None if np.isnan(found.equal) else found.equal,
        alpha=None if np.isnan(found.alpha) else found.alpha,
        disputed=disputes(lists)[:DISPUTES_SHOWN],
    )


def agreement_with_people(own: Iterable[JudgedList], people: Iterable[JudgedList]) -> str:
    """Return in words how an annotator agrees with people's mean grades, rounded halves down; empty without any."""
    import numpy as np

    from plackett.clicks.reading.lists import normalized
    from plackett.evaluation.judges.kappa import kappa

    # queries are also found in the spelling of logs
    grades = {pair: sum(of.values()) / len(of) for pair, of in _grades_by_document(people, normalized).items()}
    pairs = {pair: grade for pair, of in _grades_by_document(own, normalized).items() for grade in of.values()}
    shared = [(pair[0], grades[pair], grade) for pair, grade in pairs.items() if pair in grades]
    if not shared:
        return ""
    both = np.ceil(np.array([pair for _, *pair in shared]) - 0.5)
    scale, codes = np.unique(both, return_inverse=True)
    places = codes.reshape(both.shape)
    queries = [query for query, *_ in shared]
    found = kappa(places[:, 0], places[:, 1], n_grades=max(2, scale.size), queries=queries)
    words = f"the grade of people for {100 * found.equal:.0f} % of {count_of(len(shared), 'document')}"
    if np.isnan(found.value):
        return words
    interval = "" if np.isnan(found.low) else f" ({found.low:.2f} to {found.high:.2f})"
    return f"{words}; by chance {100 * found.chance:.0f} %, kappa {found.value:.2f}{interval}"


def _n_cycles(judged: Judged) -> int:
    """Return the number of strongly connected components of three or more documents."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {docid: place for place, docid in enumerate(dict.fromkeys(chain.from_iterable(judged.pairs)))}
    better, worse = ([number[pair[side]] for pair in judged.pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(better)), (better, worse)), shape=(len(number), len(number)))
    groups = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    return int((np.bincount(groups) > 2).sum())
