"""Measures of one list, and statistics of all judgements."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import plackett as pk
from plackett.apps.workbench.people import summarise
from plackett.apps.workbench.refining import TOO_FEW, measure_list, refine
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import METHODS
from tests.apps.workbench.serving import Judgement, Preference, judged_lists, make_hits

START = datetime(2026, 1, 1, tzinfo=UTC)


def graded(user, query, docid, grade, minutes=0):
    return Judgement(user, query, docid, float(grade), START + timedelta(minutes=minutes))


def preferred(user, query, *pairs):
    return [Preference(user, query, better, worse, START) for better, worse in pairs]


def some_hits(n_docs=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_docs, 5))
    X[:, 2] = np.arange(n_docs) % 4 == 3
    return make_hits([f"d{row}" for row in range(n_docs)], np.arange(n_docs, 0, -1.0), X)


def test_the_visible_list_is_measured_with_unjudged_documents_as_not_relevant():
    hits = some_hits()
    judged = Judged({"d3": 1.0, "d0": 0.0, "d20": 2.0}, [])
    found = measure_list(hits, judged)
    order = refine(hits, judged).order
    for values, docid in (
        (found.visible.before, hits.docid),
        (found.visible.after, [hits.docid[row] for row in order]),
    ):
        labels = [judged.labels.get(one, 0.0) for one in docid]
        assert values["mrr"] == pytest.approx(1 / (1 + next(place for place, label in enumerate(labels) if label)))
        gain = sum((2**label - 1) / np.log2(place + 2) for place, label in enumerate(labels[:10]))
        assert values["ndcg@10"] == pytest.approx(gain / (3 + 1 / np.log2(3)))
    assert (found.visible.n_first, found.visible.judged_before) == (10, 2)
    assert found.visible.judged_after == sum(hits.docid[row] in judged.labels for row in order[:10])
    alone = measure_list(hits, Judged({"d1": 1.0}, []))
    assert (alone.metrics, alone.visible.before["mrr"]) == ([], 0.5)
    assert measure_list(hits, Judged({"d1": 0.0}, [])).visible is None


def test_a_relevant_document_outside_of_the_list_counts_as_on_the_scoreboard():
    found = measure_list(some_hits(), Judged({"d3": 1.0, "elsewhere": 1.0}, [])).visible
    assert found.before["ndcg@10"] == pytest.approx(1 / np.log2(5) / (1 + 1 / np.log2(3)))


@pytest.mark.parametrize("method", METHODS)
def test_measures_are_those_of_the_judged_documents_alone(method):
    hits = some_hits()
    judged = Judged({f"d{row}": float(row % 4 == 3) for row in range(12)}, [])
    found = measure_list(hits, judged, method)
    assert found.metrics == [f"{name}@{k}" for k in (1, 3, 5, 10) for name in ("p", "ndcg")]
    assert (found.n_judged, found.n_relevant) == (12, 3)
    labels = np.array([row % 4 == 3 for row in range(12)], dtype=float)
    assert found.base["p@5"] == 1 / 5
    assert found.base["ndcg@5"] == pytest.approx(pk.metrics.ndcg(labels, -np.arange(12.0), qid=[0] * 12, k=5)[0])
    refined = refine(hits, judged, method).scores[:12]
    assert found.refined["ndcg@3"] == pytest.approx(pk.metrics.ndcg(labels, refined, qid=[0] * 12, k=3)[0])
    assert found.refined["ndcg@3"] > found.base["ndcg@3"]


def test_left_out_places_each_document_without_its_own_judgement():
    hits = some_hits()
    judged = Judged({"d3": 1.0, "d7": 1.0, "d0": 0.0, "d1": 0.0, "d2": 0.0}, [("d11", "d4"), ("d3", "d1")])
    found = measure_list(hits, judged)
    rows, places = [0, 1, 2, 3, 7], []
    for row in rows:
        labels = {docid: grade for docid, grade in judged.labels.items() if docid != f"d{row}"}
        pairs = [pair for pair in judged.pairs if f"d{row}" not in pair]
        places.append(refine(hits, Judged(labels, pairs)).order.index(row))
    labels = np.array([judged.labels[f"d{row}"] for row in rows])
    assert found.left_out["ndcg@3"] == pytest.approx(pk.metrics.ndcg(labels, -np.array(places), qid=[0] * 5, k=3)[0])


@pytest.mark.parametrize(
    "labels", [{}, {"d1": 1.0}, {"d1": 1.0, "d2": 1.0}, {"d1": 0.0, "d2": 0.5}, {"x": 1.0, "d1": 0.0}]
)
def test_too_few_judgements_have_a_sentence_and_no_numbers(labels):
    found = measure_list(some_hits(), Judged(labels, []))
    assert found.metrics == []
    assert found.base == found.refined == {}
    assert found.note == TOO_FEW


def test_many_judged_documents_are_left_out_in_part():
    judged = Judged({f"d{row}": float(row % 4 == 3) for row in range(30)}, [])
    assert "20 of 30 documents were left out" in measure_list(some_hits(), judged, "rocchio").note


def test_a_summary_counts_what_holds():
    rows = [
        graded("ann", "q", "x", 1),
        graded("bob", "q", "x", 0),
        graded("ann", "q", "y", 2),
        graded("bob", "r", "x", 1),
    ]
    found = summarise(judged_lists(rows, preferred("cid", "s", ("a", "b"))))
    assert (found.n_users, found.n_queries, found.n_documents) == (3, 3, 4)
    assert (found.n_judgements, found.n_preferences) == (4, 1)
    assert found.grades == {"0": 1, "1": 2, "2": 1}
    assert found.words == "4 judgements and 1 preference on 3 queries by 3 users."


def test_agreement_is_over_documents_that_several_users_judged():
    rows = [graded(user, "q", docid, grade) for user, docid, grade in
            [("a", "x", 1), ("b", "x", 1), ("a", "y", 0), ("b", "y", 2), ("c", "y", 2), ("a", "z", 1)]]  # fmt: skip
    found = summarise(judged_lists(rows)).agreement
    assert (found.n_shared, found.n_pairs, found.equal) == (2, 4, 0.5)
    assert found.alpha is not None
    assert found.alpha < 1
    assert [(one.docid, one.grades) for one in found.disputed] == [("y", {"a": 0.0, "b": 2.0, "c": 2.0})]


def test_nothing_judged_is_nothing_to_agree_on():
    found = summarise([])
    assert found.agreement.equal is None
    assert found.agreement.alpha is None
    assert tuple(found.contradictions.__dict__.values()) == (0, 0, 0)


def test_contradictions_of_each_user_are_counted():
    grades = [graded("a", "q", "p", 2), graded("a", "q", "r", 0)]
    pairs = [
        *preferred("a", "q", ("x", "y"), ("y", "z"), ("z", "x")),  # a cycle
        *preferred("a", "q", ("u", "v"), ("r", "p")),  # the second is against the grades
        *preferred("b", "q", ("y", "x")),  # another user: disagreement, no contradiction
        *preferred("a", "other", ("y", "x")),  # another query
    ]
    assert tuple(summarise(judged_lists(grades, pairs)).contradictions.__dict__.values()) == (0, 1, 1)
