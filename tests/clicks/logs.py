"""Small click logs and their text, for tests."""

import json

import numpy as np


def lists_of(log):
    """The sessions as (query, documents, clicks), by names."""
    answer = []
    for i in range(len(log)):
        rows = range(log.indptr[i], log.indptr[i + 1])
        named = [log.pairs[int(log.pair[row])] for row in rows]
        assert {query for query, _ in named} == {log.queries[int(log.session_query[i])]}
        answer.append((named[0][0], [doc for _, doc in named], [int(log.click[row]) for row in rows]))
    return answer


def by_id(log):
    return dict(zip(log.session_ids, lists_of(log), strict=True))


def make_sessions(n=60, seed=0):
    """Sessions by id: query, shown documents, clicks, and a time."""
    rng = np.random.default_rng(seed)
    answer = {}
    for i in range(n):
        query = f"query {rng.integers(5)}"
        docs = [f"{query[-1]}-{doc}" for doc in rng.permutation(12)[: rng.integers(2, 9)]]
        answer[f"s{i:03d}"] = (query, docs, rng.integers(0, 2, len(docs)).tolist(), 1_700_000_000 + i)
    return answer


def expected(sessions):
    return {name: session[:3] for name, session in sessions.items()}


def as_rows(sessions, first=1):
    """Rows of session, query, docid, rank, click and time."""
    return [
        (name, query, doc, place + first, click, seconds)
        for name, (query, docs, clicks, seconds) in sessions.items()
        for place, (doc, click) in enumerate(zip(docs, clicks, strict=True))
    ]


def as_csv(rows, delimiter=","):
    header = delimiter.join(["session_id", "query", "doc_id", "position", "clicked", "timestamp"])
    return "\n".join([header, *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


def as_ubi(sessions, first=1):
    """Lines of ubi_queries and of ubi_events."""
    queries, events = [], []
    for name, (query, docs, clicks, seconds) in sessions.items():
        about = {"query_id": name, "client_id": f"client {name}", "timestamp": f"{seconds * 1000}"}
        queries.append(json.dumps({**about, "user_query": f" {query.upper()} ", "query_response_hit_ids": docs}))
        for place, (doc, click) in enumerate(zip(docs, clicks, strict=True)):
            position = {"object": {"object_id": doc}, "position": {"ordinal": place + first}}
            event = {**about, "event_attributes": position}
            events.append(json.dumps({**event, "action_name": "impression"}))
            if click:
                events.append(json.dumps({**event, "action_name": "click"}))
    return queries, events
