"""A small collection, and clients of an application around it."""

import warnings
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from plackett.apps.workbench import tables
from plackett.apps.workbench.app import create_app
from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.collections.text import TextCollection
from plackett.apps.workbench.middleware import Credentials
from plackett.apps.workbench.settings import Settings
from plackett.apps.workbench.store import Judged, JudgedList, ListState, Query, User
from plackett.text import build_index
from plackett.validation import feature_labels

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # which of two HTTP clients is used is of no interest here
    from starlette.testclient import TestClient

TOKEN = "a-token-that-is-long-enough"
HOME = "http://127.0.0.1:8765"
NOW = datetime.now(UTC)
HOSTILE = "<script>alert(1)</script> wings \x00 & <img src=x onerror=alert(1)>"


def small_collection():
    """Texts on wings and boats, one of them hostile; ids with slashes and blanks."""
    bodies = [
        "wings lift a plane and wings fold",
        "boats float and wings do not",
        HOSTILE,
        "a plane has two wings, a boat has none",
        "lift a boat with a crane",
        "float a plane on water as a boat floats",
    ]
    titles = ["Wings", "Boats", "<b>Hostile</b>", "Two wings", "Cranes", "Planes on water"]
    docid = ["d1", "folder/d 2", "d3", "../d4", "d5", "d6"]
    index = build_index({"title": titles, "body": bodies}, docid=docid, positions=True)
    return TextCollection(index, "small", "small", ["wings lift"])


def client_of(collection, store, *, base_url=HOME, **settings):
    """Return an HTTP client that keeps cookies."""
    app = create_app(collection, store, Settings(**settings))
    return TestClient(app, base_url=base_url, raise_server_exceptions=False, follow_redirects=False)


def page_of(client):
    """Add the CSRF token of its session to a client."""
    client.headers["X-CSRF-Token"] = client.get("/api/v1/session").json()["csrf"]
    return client


def store_ranker(store, name, collection, *, is_base=False, data=b"not a model"):
    """Add a trained ranker to a store."""
    about = {"name": name, "collection": collection, "is_base": is_base, "size": len(data), "created": NOW}
    own = store.add(tables.rankers, **about, summary={}, fold_of={})
    with store.writing() as connection:
        connection.execute(tables.ranker_files.insert().values(ranker_id=own, fold=0, data=data))


def store_query_set(store, collection, name, queries):
    """Add a query set to a store."""
    about = {"collection": collection, "name": name, "source": "test", "n_queries": len(queries), "created": NOW}
    store.add(tables.query_sets, **about, queries=queries)


def caller(user):
    """Return the credentials of a user's requests."""
    return Credentials(user, "", True)


class Judgement(NamedTuple):
    """A grade of a user."""

    user: str
    query: str
    docid: str
    grade: float
    time: datetime


class Preference(NamedTuple):
    """A preference of a user for ``docid``."""

    user: str
    query: str
    docid: str
    other: str
    time: datetime


def judgements_in(store, collection, user_id=None):
    """Return the current grades of people, or of one user."""
    return [
        Judgement(one.user.name, one.query.text, docid, grade, time)
        for one in store.of(collection, user_id)
        for docid, (grade, time) in one.state.grades.items()
    ]


def preferences_in(store, collection):
    """Return the current preferences of people."""
    return [
        Preference(one.user.name, one.query.text, *pair)
        for one in store.of(collection)
        for pair in one.state.pairs.values()
    ]


def judged_lists(judgements, preferences=()):
    """Return the lists of users with these judgements."""
    rows = [*judgements, *preferences]
    number = {name: place for place, name in enumerate(dict.fromkeys(name for row in rows for name in row[:2]))}
    answer = []
    for user, query in dict.fromkeys(row[:2] for row in rows):
        grades = {one.docid: (one.grade, one.time) for one in judgements if one[:2] == (user, query)}
        pairs = {frozenset(one[2:4]): one[2:] for one in preferences if one[:2] == (user, query)}
        owner, text = User(number[user], user, True, NOW), Query(number[query], "pages", query, "bm25", NOW)
        answer.append(JudgedList(owner, text, ListState(grades, pairs, set(), True), (0, NOW)))
    return answer


def make_hits(docid, base_scores, X, names=None):
    """Return a list in the order of its base scores; ties keep their order."""
    X = np.asarray(X, dtype=float).reshape(len(docid), -1) if docid else np.zeros((0, 0))
    return Hits(docid, np.array(base_scores, dtype=float), X, names or feature_labels(X.shape[1])).by_score()


def by_query(judgements, preferences=()):
    """Return by query the mean grade of each document, and each preference once."""
    texts = dict.fromkeys(one.query for one in (*judgements, *preferences))
    answer = {}
    for text in texts:
        own = [one for one in judgements if one.query == text]
        grades = {
            docid: [one.grade for one in own if one.docid == docid] for docid in dict.fromkeys(one.docid for one in own)
        }
        pairs = dict.fromkeys((one.docid, one.other) for one in preferences if one.query == text)
        answer[text] = Judged({docid: sum(values) / len(values) for docid, values in grades.items()}, list(pairs))
    return answer
