"""The operations of the store, the same in both kinds of database."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")


from plackett.apps.workbench import store as store_module
from plackett.apps.workbench import tables
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.store import Store
from plackett.apps.workbench.values import MAX_BASE, MAX_DOCID, MAX_QUERY
from plackett.exceptions import StoreError
from tests.apps.workbench.serving import judgements_in, preferences_in, store_ranker

STRANGE = [
    "'; DROP TABLE plackett_events; --",
    "%s %(name)s :name ? $1 {id} \\ \\0",
    '"quoted" <script>alert(1)</script> &amp;',
    "größe Größe GRÖSSE grösse",
    "e\u0301 and \u00e9",  # look the same, but differ
    "日本語 🦔 \U0010ffff \u202eright to left",
    " spaces \t and\nlines\r\n",
    "\x01\x1f\x7f\x85",
    "x" * min(MAX_QUERY, MAX_DOCID),
    "🦔" * min(MAX_QUERY, MAX_DOCID),
]


@pytest.fixture
def me(store):
    return store.user("me").id


@pytest.fixture
def query(store):
    return store.query("pages", "red fish", "bm25").id


def test_a_user_is_made_once(store):
    first = store.user("Ann")
    assert store.user("Ann") == first
    assert store.user("ann").id != first.id
    assert [user.name for user in store.users()] == ["Ann", "ann"]


def test_looking_for_a_user_or_a_query_makes_none(store):
    assert store.find_user("Ann") is None
    assert store.find_query("pages", "red fish") is None
    assert store.users() == []
    ann, asked = store.user("Ann"), store.query("pages", "red fish", "bm25")
    assert (store.find_user("Ann"), store.find_query("pages", "red fish")) == (ann, asked)
    assert store.find_query("other pages", "red fish") is None


def test_a_query_is_its_collection_and_its_text(store):
    asked = store.query("pages", "red fish", "bm25")
    assert store.query("pages", "red fish", "bm25") == asked == store.find_query("pages", "red fish")
    assert store.query("other pages", "red fish", "bm25").id != asked.id
    assert store.query("pages", "red  fish", "bm25").id != asked.id
    # the parts cannot be mistaken for each other
    assert store.query("ab", "c", "bm25").id != store.query("a", "bc", "bm25").id


def test_another_base_ranker_keeps_the_judgements(store, me, query):
    store.judge(me, query, "d1", 2)
    again = store.query("pages", "red fish", "tf-idf")
    assert (again.id, again.base) == (query, "tf-idf")
    assert store.find_query("pages", "red fish").base == "tf-idf"
    assert store.state(me, query).judged.labels == {"d1": 2.0}


def test_the_latest_grade_holds_and_none_takes_it_back(store, me, query):
    for docid, grade in [("d1", 0), ("d2", 1), ("d1", 2.5), ("d3", 1), ("d3", None)]:
        event = store.judge(me, query, docid, grade)
        assert (event.kind, event.docid, event.grade, event.undone) == ("judge", docid, grade, False)
    assert store.state(me, query).judged == ({"d1": 2.5, "d2": 1.0}, [])


def test_the_latest_preference_between_two_documents_holds(store, me, query):
    for pair in [("d1", "d2"), ("d2", "d3"), ("d2", "d1"), ("d2", "d3")]:
        store.prefer(me, query, *pair)
    assert store.state(me, query).judged.pairs == [("d2", "d1"), ("d2", "d3")]


def test_users_and_queries_have_lists_of_their_own(store, me, query):
    you, other = store.user("you").id, store.query("pages", "blue fish", "bm25").id
    store.judge(me, query, "d1", 1)
    store.judge(you, query, "d1", 0)
    store.judge(me, other, "d1", 3)
    assert store.undo(you, query).grade == 0
    assert store.undo(you, query) is None
    assert store.state(me, query).judged.labels == {"d1": 1.0}
    assert store.state(you, query).judged.labels == {}
    assert store.state(me, other).judged.labels == {"d1": 3.0}


def test_undo_returns_the_event_and_keeps_it_in_the_log(store, me, query):
    said = store.judge(me, query, "d1", 1)
    assert store.undo(me, query) == said._replace(undone=True)
    log = store.events(me, query)
    assert [(event.kind, event.undone, event.target) for event in log] == [
        ("judge", True, None),
        ("undo", False, said.id),
    ]


def test_a_reset_is_one_step_of_undo(store, me, query):
    store.judge(me, query, "d1", 1)
    store.judge(me, query, "d2", 0)
    store.prefer(me, query, "d3", "d4")
    before = store.state(me, query).judged
    assert store.reset(me, query) == 3
    assert store.state(me, query).judged == ({}, [])
    assert store.reset(me, query) == 0  # nothing to clear is not an event to undo
    assert store.undo(me, query).kind == "reset"
    assert store.state(me, query).judged == before


examples = itertools.count()
DOCS = st.sampled_from("abcd")
STEPS = st.one_of(
    st.tuples(st.just("judge"), DOCS, st.sampled_from([None, 0.0, 1.0, 2.0])),
    st.tuples(st.just("prefer"), DOCS, DOCS).filter(lambda step: step[1] != step[2]),
    st.just(("undo",)),
    st.just(("reset",)),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_undo_goes_back_through_earlier_states(store, steps):
    """The slow way: a stack of whole states, where an undo drops the top."""
    me = store.user("me").id
    query = store.query("pages", f"example {next(examples)}", "bm25").id
    states = [({}, set())]
    for kind, *what in steps:
        grades, pairs = dict(states[-1][0]), set(states[-1][1])
        if kind == "undo":
            undone = store.undo(me, query)
            assert (undone is None) == (len(states) == 1)
            states = states[:-1] or states
        elif kind == "reset":
            assert store.reset(me, query) == len(grades) + len(pairs)
            if grades or pairs:
                states.append(({}, set()))
        elif kind == "judge":
            docid, grade = what
            store.judge(me, query, docid, grade)
            grades.pop(docid, None)
            states.append((grades if grade is None else {**grades, docid: grade}, pairs))
        else:
            store.prefer(me, query, *what)
            states.append((grades, pairs - {(what[1], what[0])} | {tuple(what)}))
        judged = store.state(me, query).judged
        assert (judged.labels, set(judged.pairs), len(judged.pairs)) == (*states[-1], len(states[-1][1]))


def test_strange_texts_come_back_as_they_were(store):
    for text in STRANGE:
        check_a_text(store, text)
    assert len(store.users()) == len(STRANGE)


def check_a_text(store, text):
    name = text[:MAX_BASE]
    me, query = store.user(name).id, store.query(text, text, name).id
    store.judge(me, query, text, 1)
    store.prefer(me, query, text, "other")
    store.import_judgements(me, text, [(text, "third", 1)])
    assert store.user(name).name == name
    found = store.find_query(text, text)
    assert (found.id, found.collection, found.text, found.base) == (query, text, text, name)
    assert store.state(me, query).judged == ({text: 1.0, "third": 1.0}, [(text, "other")])
    assert [(row.user, row.query, row.docid) for row in judgements_in(store, text)] == [
        (name, text, text),
        (name, text, "third"),
    ]
    assert [row[:4] for row in preferences_in(store, text)] == [(name, text, text, "other")]
    assert [row.query for row in store.queries(text, me)] == [text]
    jobs = JobRunner(store, text)
    job = jobs.create(name, {text: text})
    jobs.update(job, message=text, result={text: text})
    assert (jobs.job(job).message, jobs.job(job).result) == (text, {text: text})


BAD_TEXTS = [
    ("a\x00b", "null character"),
    ("", "is empty"),
    ("x" * 1_000_000, "1,000,000 characters; the store keeps up to"),
]


def test_what_a_database_could_not_keep_is_refused_in_words(store, me, query):
    for text, message in BAD_TEXTS:
        check_that_a_text_is_refused(store, me, query, text, message)
    assert store.state(me, query).judged == ({}, [])
    assert [user.name for user in store.users()] == ["me"]
    assert store.find_query("pages", "red fish").id == query
    assert store.queries("pages") == []


def check_that_a_text_is_refused(store, me, query, text, message):
    calls = [
        lambda: store.import_judgements(me, "pages", [("red", "d1", 1), (text, "d1", 1)]),
        lambda: store.import_judgements(me, "pages", [("red", text, 1)]),
        lambda: store.import_judgements(me, "pages", [], preferences=[("red", "d1", text)]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=message) as refused:
            call()
        assert len(str(refused.value)) < 200


def test_grades_keep_every_digit(store, me, query):
    for grade in (0.1, -0.0, 5e-324, 1.7976931348623157e308, 2**53 + 1):
        store.judge(me, query, "d1", grade)
        assert store.state(me, query).judged.labels == {"d1": float(grade)}


def test_a_document_is_not_above_itself(store, me, query):
    with pytest.raises(ValueError, match="cannot be preferred to itself"):
        store.prefer(me, query, "d1", "d1")


def test_an_id_that_nothing_has_is_refused(store, me, query):
    calls = [
        lambda wrong: store.judge(me, wrong, "d1", 1),
        lambda wrong: store.judge(wrong, query, "d1", 1),
        lambda wrong: store.prefer(wrong, query, "d1", "d2"),
        lambda wrong: store.import_judgements(wrong, "pages", [("red", "d1", 1)]),
    ]
    for wrong, call in itertools.product([0, -1, 999], calls):
        with pytest.raises(StoreError):
            call(wrong)
    assert store.queries("pages") == []


def test_an_import_is_all_or_nothing(store, me, query):
    rows = [(f"query {i}", "d1", 1) for i in range(10)]
    with pytest.raises(ValueError, match="null character"):
        store.import_judgements(me, "pages", [*rows, ("bad", "d\x001", 1)])

    def breaks_off():
        yield from rows
        raise RuntimeError("the file ended in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        store.import_judgements(me, "pages", breaks_off())
    assert judgements_in(store, "pages") == []
    assert store.import_judgements(me, "pages", []) == 0


def test_an_import_equals_single_judgements(store, me, query, monkeypatch):
    monkeypatch.setattr(store_module, "PAGE", 3)  # several pages of queries
    store.judge(me, query, "d1", 0)
    rows = [("red fish", "d1", 2), *((f"query {i}", f"d{j}", i + j) for i in range(7) for j in range(3))]
    pairs = [("red fish", "d2", "d1"), ("new", "d1", "d2")]
    assert store.import_judgements(me, "pages", rows, preferences=pairs, base="dirichlet") == 24
    assert [row[1:4] for row in judgements_in(store, "pages")] == [(q, d, float(grade)) for q, d, grade in rows]
    assert [row[1:4] for row in preferences_in(store, "pages")] == pairs
    before = store.find_query("pages", "red fish")
    assert store.query("pages", "new", "dirichlet").created >= before.created
    assert before.base == "bm25"
    assert store.undo(me, query).kind == "prefer"


def test_queries_are_listed_with_what_holds_now(store, me):
    you = store.user("you").id
    red, blue, green = (store.query("pages", text, "bm25").id for text in ("red", "blue", "green"))
    store.query("pages", "never judged", "bm25")
    elsewhere = store.query("elsewhere", "red", "bm25").id
    store.judge(me, elsewhere, "d1", 1)
    store.judge(me, red, "d1", 1)
    store.judge(you, red, "d1", 0)
    store.prefer(you, red, "d1", "d2")
    store.judge(me, green, "d1", 1)
    store.judge(me, blue, "d1", 1)
    last = store.judge(me, blue, "d1", 2)
    store.undo(me, green)
    listed = store.queries("pages")
    assert [(row.query, row.n_users, row.n_judged, row.n_pairs) for row in listed] == [
        ("green", 0, 0, 0),
        ("blue", 1, 1, 0),
        ("red", 2, 2, 1),
    ]
    assert listed[1].last == last.time
    own = store.queries("pages", you)
    assert [(row.query, row.n_users, row.n_judged, row.n_pairs) for row in own] == [("red", 1, 1, 1)]
    assert store.queries("nothing here") == []


def test_judgements_are_those_that_hold(store, me, query):
    you = store.user("you").id
    for user, grade in [(me, 1), (you, 0), (me, 2)]:
        store.judge(user, query, "d1", grade)
    store.judge(you, query, "d2", 1)
    store.undo(you, query)
    assert [row[:4] for row in judgements_in(store, "pages")] == [
        ("me", "red fish", "d1", 2.0),
        ("you", "red fish", "d1", 0.0),
    ]
    assert [row.user for row in judgements_in(store, "pages", you)] == ["you"]


def test_writing_while_reading_a_collection_does_not_block(store, me, monkeypatch):
    monkeypatch.setattr(store_module, "PAGE", 1)
    store.import_judgements(me, "pages", [(f"query {i}", "d1", 1) for i in range(4)])
    seen = []
    for row in judgements_in(store, "pages"):
        seen.append(row.query)
        store.judge(me, store.query("pages", row.query, "bm25").id, "d2", 1)
    assert seen[0] == "query 0"
    assert {row.docid for row in judgements_in(store, "pages")} == {"d1", "d2"}


def test_times_are_in_utc(store, me, query):
    before = datetime.now(UTC)
    event = store.judge(me, query, "d1", 1)
    after = datetime.now(UTC)
    (again,) = store.events(me, query)
    assert event == again
    assert before <= again.time <= after
    assert again.time.utcoffset() == timedelta(0)


def test_a_session_in_another_zone_answers_in_utc(postgresql_url):
    with Store(postgresql_url) as store:
        user = store.user("me")
    with Store(f"{postgresql_url}?options=-ctimezone%3DAsia/Tokyo") as store:
        assert store.user("me") == user
        assert store.user("me").created.utcoffset() == timedelta(0)


def test_everything_is_there_after_opening_again(store_url):
    with Store(store_url) as store:
        me, query = store.user("me").id, store.query("pages", "red", "bm25").id
        store.judge(me, query, "d1", 1)
        store.prefer(me, query, "d1", "d2")
        store.judge(me, query, "d3", 1)
        store.undo(me, query)
        store_ranker(store, "trained", "pages", data=b"\x00bytes")
        kept = store.events(me, query), store.queries("pages"), store.users()
    with Store(store_url) as store:
        assert (store.events(me, query), store.queries("pages"), store.users()) == kept
        assert store.state(me, query).judged == ({"d1": 1.0}, [("d1", "d2")])
        assert store.value(tables.ranker_files.select().with_only_columns(tables.ranker_files.c.data)) == b"\x00bytes"


def test_a_job_is_followed_to_its_end(store):
    jobs = JobRunner(store, "pages")
    made = jobs.create("train", {"folds": 5})
    job = jobs.job(made)
    assert (job.state, job.progress, job.settings, job.result) == ("queued", 0.0, {"folds": 5}, None)
    assert jobs.update(made, progress=0.4, message="fold 2 of 5")
    now = jobs.job(made)
    assert (now.state, now.progress, now.message) == ("running", 0.4, "fold 2 of 5")
    assert now.updated >= job.updated == job.created
    assert jobs.update(made, "done", progress=1.0, result={"ndcg@10": 0.5})
    done = jobs.job(made)
    assert (done.state, done.message, done.result) == ("done", "fold 2 of 5", {"ndcg@10": 0.5})
    assert not jobs.update(made, progress=0.1)
    assert jobs.job(made) == done


def test_updating_a_cancelled_job_returns_false(store):
    jobs = JobRunner(store, "pages")
    job = jobs.create("train", {})
    assert jobs.update(job, progress=0.1)
    assert jobs.update(job, "cancelled")
    assert not jobs.update(job, progress=0.2)
    assert jobs.job(job).state == "cancelled"


def test_what_was_running_at_a_restart_is_interrupted(store_url):
    with Store(store_url) as store:
        jobs = JobRunner(store, "pages")
        _, running, done = (jobs.create("train", {}) for _ in range(3))
        jobs.update(running, progress=0.5)
        jobs.update(done, "done")
    with Store(store_url) as store:
        assert jobs_of(store, "other") == []
        assert [job.state for job in jobs_of(store, "pages")] == ["done", "interrupted", "interrupted"]
        jobs = JobRunner(store, "other")
        assert jobs.update(running, progress=0.6)  # its worker is still alive
        assert jobs.job(running).state == "running"


def jobs_of(store, collection):
    return JobRunner(store, collection).jobs()
