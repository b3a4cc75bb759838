"""Refinement of one list: order, moves, reasons and notes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.refining import (
    NO_GRADES,
    NO_JUDGEMENTS,
    PINNED,
    labels_of_pairs,
    reasons,
    refine,
    refined_scores,
)
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import METHODS
from plackett.data.queries import Queries
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from tests.apps.workbench.serving import make_hits


def some_hits(n_docs=30, n_features=6, seed=0):
    """The second feature says what is relevant, the base score does not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_docs, n_features)).round(2)
    X[:, 1] = np.arange(n_docs) % 3 == 0
    names = [f"f{column}" for column in range(n_features)]
    return make_hits([f"d{row}" for row in range(n_docs)], np.arange(n_docs, 0, -1.0), X, names)


@pytest.mark.parametrize("method", METHODS)
def test_no_judgement_is_the_base_order_and_a_note(method):
    hits = some_hits()
    refined = refine(hits, Judged({}, []), method)
    assert refined.order == list(range(30))
    assert not refined.moves.any()
    assert refined.why == [[]] * 30
    assert refined.note == NO_JUDGEMENTS


@pytest.mark.parametrize("method", METHODS)
def test_a_list_without_documents_stays_empty(method):
    refined = refine(make_hits([], [], []), Judged({"a": 1.0}, [("a", "b")]), method)
    assert refined.order == []
    assert refined.moves.size == 0
    assert refined.why == []


@pytest.mark.parametrize("method", METHODS)
def test_judgements_bring_up_what_is_like_the_relevant(method):
    hits = some_hits()
    judged = Judged({f"d{row}": float(row % 3 == 0) for row in range(3, 21)}, [])
    refined = refine(hits, judged, method)
    like_them = hits.X[refined.order, 1]
    assert like_them[:5].mean() > hits.X[:5, 1].mean()
    assert sorted(refined.order) == list(range(30))
    assert (np.diff(refined.scores[refined.order]) <= 0).all()
    assert any(reason.text.startswith("f1 ") for reasons in refined.why for reason in reasons)
    np.testing.assert_array_equal(refined_scores(hits, judged, method), refined.scores)


@pytest.mark.parametrize("method", METHODS)
def test_the_first_judgement_already_moves_documents(method):
    hits = some_hits()
    up = refine(hits, Judged({"d9": 1.0}, []), method)
    assert up.moves[9] > 0
    assert "All judgements agree so far" in up.note
    down = refine(hits, Judged({"d0": 0.0}, []), method)
    assert down.moves[0] < 0


@pytest.mark.parametrize("method", METHODS)
def test_a_preference_moves_documents_apart(method):
    hits = some_hits()
    refined = refine(hits, Judged({}, [("d9", "d1")]), method)
    assert refined.scores[9] - refined.scores[1] > hits.scores[9] - hits.scores[1]
    assert refined.moves[9] >= refined.moves[1]


def test_moves_are_places_up_and_the_order_is_by_score():
    hits = some_hits()
    refined = refine(hits, Judged({"d9": 1.0, "d1": 0.0}, []))
    for place, row in enumerate(refined.order):
        assert refined.moves[row] == row - place
    assert refined.moves.sum() == 0


@pytest.mark.parametrize("kind", [MultiplicativeRefiner, LinearRefiner, RocchioRefiner])
def test_all_reasons_together_are_the_score_less_the_mean(kind):
    hits = some_hits()
    y = np.full(30, np.nan)
    y[[9, 1, 12, 2]] = [1, 0, 2, 0]
    queries = Queries(hits.X, feature_names=hits.feature_names)
    refiner = kind().fit(queries, y, base_score=hits.scores)
    shown = reasons(refiner, queries, hits.scores, np.full(30, -1), 1000)
    totals = [sum(reason.amount for reason in own) for own in shown]
    np.testing.assert_allclose(totals, refiner.scores_ - refiner.scores_.mean(), atol=2e-6)
    for own in shown:
        sizes = [abs(reason.amount) for reason in own]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("method", ["multiplicative", "rocchio"])
def test_reasons_of_a_move_compare_with_the_result_that_was_passed(method):
    hits = some_hits()
    refined = refine(hits, Judged({"d9": 1.0, "d1": 0.0, "d4": 2.0}, []), method)
    place = {row: number for number, row in enumerate(refined.order)}
    for row, other in enumerate(refined.against):
        moved = refined.moves[row]
        assert (other < 0) == (moved == 0)
        if moved > 0:
            assert other < row
            assert place[other] > place[row]
        if moved < 0:
            assert other > row
            assert place[other] < place[row]
        if other >= 0 and 0 < len(refined.why[row]) < 5:  # all reasons are shown
            total = sum(reason.amount for reason in refined.why[row])
            assert total == pytest.approx(refined.scores[row] - refined.scores[other], abs=2e-6)


@pytest.mark.parametrize("method", ["multiplicative", "linear"])
def test_reasons_are_true_of_their_document(method):
    hits = some_hits()
    refined = refine(hits, Judged({"d9": 1.0, "d1": 0.0, "d4": 2.0}, []), method)
    n_looked_at = 0
    for row, own in enumerate(refined.why):
        assert len({reason.text for reason in own}) == len(own) <= 5
        for reason in own:
            feature, sign, limit = reason.text.split(" ")
            value = hits.X[row, hits.feature_names.index(feature)]
            assert value > float(limit) if sign == ">" else value <= float(limit) + 5e-4
            n_looked_at += 1
    assert n_looked_at > 30


def test_judged_documents_can_be_pinned():
    hits = some_hits()
    refined = refine(hits, Judged({"d29": 1.0, "d0": 0.0}, []), pin_judged=True)
    assert refined.order[0] == 29
    assert refined.order[-1] == 0
    assert refined.why[29][0].text == PINNED
    assert refined.why[29][0].amount > 0 > refined.why[0][0].amount
    alone = refine(hits, Judged({"d29": 1.0}, []), pin_judged=True)
    assert alone.order[0] == 29
    assert sum(own[:1] != [] and own[0].text == PINNED for own in alone.why) == 1


def test_judgements_of_other_lists_are_counted_in_the_note():
    hits = some_hits()
    refined = refine(hits, Judged({"x": 1.0}, [("d1", "y")]))
    assert refined.order == list(range(30))
    assert refined.note == "2 judgements are about documents not in this list."


def test_contradictions_are_noted():
    refined = refine(some_hits(), Judged({"d3": 1.0, "d4": 0.0}, [("d4", "d3"), ("d5", "d6")]))
    assert refined.note == "The judgements contradict each other about 1 pair of documents."


def test_a_list_without_features_says_so():
    hits = Hits(["a", "b"], np.array([2.0, 1.0]), np.zeros((2, 0)), [])
    refined = refine(hits, Judged({"b": 1.0, "a": 0.0}, []))
    assert refined.order == [0, 1]
    assert refined.note == "The list has no features to learn from."


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1.0, 2.0, 3.5])), max_size=10),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=6),
    st.sampled_from(METHODS), st.booleans(), st.integers(0, 3),
)  # fmt: skip
def test_any_judgements_give_an_order_of_all_documents(grades, pairs, method, pin_judged, levels):
    rng = np.random.default_rng(levels)
    X = rng.integers(0, levels + 1, size=(8, 3)).astype(float)  # many ties, or nothing but ties
    hits = make_hits([f"d{row}" for row in range(8)], rng.integers(0, levels + 1, size=8), X)
    judged = Judged({f"d{row}": grade for row, grade in grades}, [(f"d{a}", f"d{b}") for a, b in pairs])
    refined = refine(hits, judged, method, pin_judged)
    assert sorted(refined.order) == list(range(8))
    assert np.isfinite(refined.scores).all()


@pytest.mark.parametrize(
    ("labels", "pairs", "expected"),
    [
        ({}, [], {}),
        ({}, [("a", "b")], {"a": 1.0, "b": 0.0}),
        ({}, [("a", "b"), ("b", "c")], {"a": 1.0, "c": 0.0}),
        ({}, [("a", "b"), ("b", "a"), ("a", "c")], {"c": 0.0}),
        ({"a": 0.0}, [("a", "b")], {"b": 0.0}),
        ({"b": 0.0}, [("a", "b")], {"a": 1.0}),
        ({"b": 3.0, "c": 2.0}, [("a", "c"), ("a", "b"), ("a", "d")], {"a": 3.0, "d": 0.0}),
    ],
    ids=str,
)
def test_preferences_become_labels_of_documents_without_a_grade(labels, pairs, expected):
    assert labels_of_pairs(labels, pairs) == expected


@pytest.fixture(scope="module")
def small_hits():
    X = np.random.default_rng(0).normal(size=(12, 4)).round(2)
    return make_hits([f"d{row}" for row in range(12)], np.arange(12, 0, -1.0), X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pairs", [[], [("d3", "d4")], [("d0", "d11")]], ids=str)
def test_graded_documents_are_pinned_with_and_without_pairs(small_hits, method, pairs):
    refined = refine(small_hits, Judged({"d11": 1.0, "d0": 0.0, "d7": 3.0}, pairs), method, pin_judged=True)
    assert [refined.order[0], refined.order[1], refined.order[-1]] == [7, 11, 0]
    assert refined.why[11][0].text == refined.why[0][0].text == PINNED
    assert (np.diff(refined.scores[refined.order]) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_grade_of_one_half_is_a_grade(small_hits, method):
    """One half was mistaken for the label of unjudged documents."""
    refined = refine(small_hits, Judged({"d0": 0.5, "d1": 2.0, "d2": 0.0}, []), method, pin_judged=True)
    assert refined.order[0] == 1
    assert refined.order[-2:] == [0, 2]
    alone = refine(small_hits, Judged({"d0": 0.5}, []), method, pin_judged=True)
    assert alone.order[-1] == 0
    assert sum(bool(why) and why[0].text == PINNED for why in alone.why) == 1


@pytest.mark.parametrize("method", METHODS)
def test_pairs_alone_pin_nothing_and_a_note_says_so(small_hits, method):
    judged = Judged({}, [("d9", "d1")])
    free, kept = (refine(small_hits, judged, method, pin_judged=keep) for keep in (False, True))
    assert kept.order == free.order
    assert NO_GRADES in kept.note
    assert NO_GRADES not in (free.note or "")
    graded = refine(small_hits, Judged({"d5": 1.0}, judged.pairs), method, pin_judged=True)
    assert NO_GRADES not in (graded.note or "")


@pytest.mark.parametrize("method", METHODS)
def test_a_grade_counts_as_much_beside_a_pair(small_hits, method):
    """Equal grades were ignored if there was a pair."""
    pair = [("d2", "d3")]
    with_grade, without = (refine(small_hits, Judged(labels, pair), method) for labels in ({"d10": 1.0}, {}))
    assert with_grade.scores[10] - with_grade.scores.mean() > without.scores[10] - without.scores.mean()
    against = refine(small_hits, Judged({"d10": 1.0}, [("d2", "d10")]), method)  # more than what d10 was compared with
    assert "contradict" not in (against.note or "")
