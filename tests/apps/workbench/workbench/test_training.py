"""Training on all judgements: comparison on held-out queries, cancellation, too few judgements."""

import io
import json
from datetime import UTC, datetime

import numpy as np
import pytest

import plackett as pk
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.jobs import Cancelled
from plackett.apps.workbench.training import TooFewJudgements, train
from plackett.data.queries import Queries
from tests.apps.workbench.serving import Judgement, Preference, by_query

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def collection():
    """Lists in which the second column is what people like, and the first, the base ranker, is noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24 * 8, 4))
    return LetorCollection(Queries(X, qid=np.repeat(np.arange(24), 8), feature_names=["a", "b", "c", "d"]))


def judgements(collection, n_queries, n_docs=8):
    rows = []
    for qid in range(n_queries):
        hits = collection.search(str(qid))
        liked = hits.X[:, 1] >= np.median(hits.X[:, 1])
        rows += [Judgement("ann", str(qid), hits.docid[row], float(liked[row]), START) for row in range(n_docs)]
    return rows


@pytest.mark.parametrize("n_queries", [3, 24])
def test_a_ranker_learns_what_people_like_and_is_compared_with_the_base(collection, n_queries):
    told = []
    trained = train(collection, by_query(judgements(collection, n_queries)), report=lambda *one: told.append(one))
    summary = json.loads(json.dumps(trained.summary, allow_nan=False))
    assert summary["base"] == "a"
    assert summary["n_queries"] == n_queries
    assert summary["n_documents"] == 8 * n_queries
    assert summary["features"][0][0] == "b"
    for values in summary["metrics"].values():
        assert values["difference"] == pytest.approx(values["trained"] - values["base"])
        assert values["low"] <= values["difference"] <= values["high"]
        assert 0 <= values["p_value"] <= 1
    if n_queries == 24:
        assert summary["metrics"]["map"]["trained"] > 0.9 > summary["metrics"]["map"]["base"]
        assert summary["metrics"]["map"]["p_value"] < 0.01
    assert any("With 3 queries" in note for note in summary["notes"]) == (n_queries == 3)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0


def test_the_trained_ranker_becomes_a_base_ranker(collection):
    trained = train(collection, by_query(judgements(collection, 6)))
    collection.add_ranker("mine", pk.load(io.BytesIO(trained.files[0])))
    try:
        hits = collection.search("20", "mine")
        np.testing.assert_allclose(
            hits.scores, pk.load(io.BytesIO(trained.files[0])).predict(Queries(hits.X, feature_names=list("abcd")))
        )
        again = train(collection, by_query(judgements(collection, 6)), base="mine")
        assert again.summary["base"] == "mine"
    finally:
        collection.remove_ranker("mine")


def test_documents_without_a_judgement_are_in_the_lists_and_not_relevant(collection):
    """With relevant documents only, as in most qrels: the lists are whole in training and in the comparison."""
    rows = [row for row in judgements(collection, 12) if row.grade == 1]
    trained = train(collection, by_query(rows))
    assert trained.summary["n_documents"] == 12 * 8
    assert trained.summary["features"][0][0] == "b"
    lists = {query: collection.search(query) for query in dict.fromkeys(row.query for row in rows)}
    relevant = {(row.query, row.docid) for row in rows}
    for name, of in (
        ("base", lambda query: None),
        ("trained", lambda query: trained.files[trained.fold_of[query]]),
    ):
        ideal = sum(1 / np.log2(place + 1) for place in range(1, 5))
        values = []
        for query, hits in lists.items():
            model = of(query)
            scores = hits.scores if model is None else pk.load(io.BytesIO(model)).predict(hits.X)
            order = [hits.docid[row] for row in np.argsort(-scores, kind="stable")]
            gains = [(query, docid) in relevant for docid in order]
            values.append(sum(gain / np.log2(place + 1) for place, gain in enumerate(gains, 1)) / ideal)
        assert trained.summary["metrics"]["ndcg@10"][name] == pytest.approx(np.mean(values))


def test_each_query_is_measured_with_a_ranker_that_was_trained_without_it(collection):
    rows = judgements(collection, 6)
    trained = train(collection, by_query(rows))
    assert sorted(trained.fold_of) == [str(qid) for qid in range(6)]
    assert sorted(set(trained.fold_of.values())) == list(range(1, len(trained.files)))
    # the others' grades are all that the model of a query depends on
    query = "3"
    changed = [row._replace(grade=1 - row.grade) if row.query == query else row for row in rows]
    again = train(collection, by_query(changed))
    fold = trained.fold_of[query]
    assert again.fold_of == trained.fold_of
    assert again.files[fold] == trained.files[fold]
    assert again.files[0] != trained.files[0]


def test_relevant_documents_that_a_ranker_cannot_reach_are_counted():
    X = np.random.default_rng(0).normal(size=(4 * 120, 2))
    long = LetorCollection(Queries(X, qid=np.repeat(np.arange(4), 120), feature_names=["a", "b"]))
    rows = []
    for qid in range(4):
        docid = long.search(str(qid), k=120).docid
        rows += [Judgement("ann", str(qid), docid[place], 1.0, START) for place in (3, 50, 110, 119)]
    notes = train(long, by_query(rows)).summary["notes"]
    assert any(note.startswith("8 of 16 relevant documents are not among the first 100 of a") for note in notes)


def test_too_few_judgements_are_refused_in_words(collection):
    with pytest.raises(TooFewJudgements, match=r"there are 0 queries with documents .* among the first 100 of a;"):
        train(collection, by_query([]))
    rows = judgements(collection, 2)
    with pytest.raises(TooFewJudgements, match=r"there are 2 queries .* training needs 3"):
        train(collection, by_query(rows))
    same = [row._replace(grade=1.0) for row in judgements(collection, 9)]
    with pytest.raises(TooFewJudgements, match="there are 0 queries"):
        train(collection, by_query(same))
    gone = [row._replace(docid=f"gone {row.docid}") for row in judgements(collection, 9)]
    with pytest.raises(TooFewJudgements, match="there are 0 queries"):
        train(collection, by_query(gone))


def preferences(collection, n_queries, user="ann"):
    """Of each query the first four documents by the liked column, each above the one four places below it."""
    pairs = []
    for qid in range(n_queries):
        hits = collection.search(str(qid))
        order = [hits.docid[row] for row in np.argsort(-hits.X[:, 1])]
        pairs += [Preference(user, str(qid), order[place], order[place + 4], START) for place in range(4)]
    return pairs


def test_preferences_alone_teach_a_ranker(collection):
    trained = train(collection, by_query([], preferences(collection, 24)))
    summary = trained.summary
    assert (summary["n_queries"], summary["n_documents"], summary["n_from_preferences"]) == (24, 192, 192)
    assert summary["features"][0][0] == "b"
    assert (summary["metrics"], summary["n_measured"]) == ({}, 0)  # preferences are not labels
    assert summary["notes"][0] == "No document has a grade, so there is nothing to measure on."
    assert any(note.startswith("192 documents have their labels from preferences") for note in summary["notes"])
    # the same documents, graded as the preferences say, are the same lesson
    pairs = preferences(collection, 24)
    graded = [
        Judgement("ann", one.query, docid, grade, START)
        for one in pairs
        for docid, grade in ((one.docid, 1.0), (one.other, 0.0))
    ]
    again = train(collection, by_query(graded)).summary
    assert again["n_from_preferences"] == 0
    assert not any("preferences" in note for note in again["notes"])
    assert again["features"] == summary["features"]
    assert again["metrics"]["map"]["trained"] > 0.9 > again["metrics"]["map"]["base"]


def test_grades_win_over_preferences(collection):
    rows, pairs = judgements(collection, 6), preferences(collection, 6)
    against = [pair._replace(docid=pair.other, other=pair.docid) for pair in pairs]
    by_grades, by_both = train(collection, by_query(rows)).summary, train(collection, by_query(rows, against)).summary
    assert by_both["n_from_preferences"] == 0
    assert {**by_both, "seconds": 0} == {**by_grades, "seconds": 0}


def test_what_users_contradict_each_other_about_is_not_learned(collection):
    pairs = preferences(collection, 3)
    against = [pair._replace(user="bob", docid=pair.other, other=pair.docid) for pair in pairs]
    assert train(collection, by_query([], pairs)).summary["n_from_preferences"] == 24
    with pytest.raises(TooFewJudgements, match="there are 0 queries"):
        train(collection, by_query([], pairs + against))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_a_training_ends_when_it_is_cancelled(collection, share):
    told = []

    def report(reached, words):
        told.append(reached)
        if reached >= share:
            raise Cancelled

    with pytest.raises(Cancelled):
        train(collection, by_query(judgements(collection, 8)), report=report)
    assert sum(reached >= share for reached in told) == 1
