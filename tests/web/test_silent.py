"""What the workbench did without a word: options and grades that were dropped, and files that other tools refuse."""

import io

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.data.trec import read_qrels
from plackett.web.collections.base import hits_of
from plackett.web.workbench.refining import KEPT, METHODS, NO_GRADES, Judged, refine
from tests.web.serving import client_of, page_of

API = "/api/v1"
N_DOCS = 12


@pytest.fixture(scope="module")
def hits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_DOCS, 4)).round(2)
    return hits_of([f"d{row}" for row in range(N_DOCS)], np.arange(N_DOCS, 0, -1.0), X)


@pytest.fixture
def page(collection, kept):
    return page_of(client_of(collection, kept))


def as_user(page, user):
    assert page.post(f"{API}/session", json={"user": user}).status_code == 200


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pairs", [[], [("d3", "d4")], [("d0", "d11")]], ids=str)
def test_graded_documents_are_kept_whether_or_not_there_are_pairs(hits, method, pairs):
    refined = refine(hits, Judged({"d11": 1.0, "d0": 0.0, "d7": 3.0}, pairs), method, pin_judged=True)
    assert [refined.order[0], refined.order[1], refined.order[-1]] == [7, 11, 0]
    assert refined.why[11][0].text == refined.why[0][0].text == KEPT
    assert (np.diff(refined.scores[refined.order]) <= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_any_grade_is_a_grade(hits, method):
    """A half was taken for the label of documents without a grade."""
    refined = refine(hits, Judged({"d0": 0.5, "d1": 2.0, "d2": 0.0}, []), method, pin_judged=True)
    assert refined.order[0] == 1
    assert refined.order[-2:] == [0, 2]
    alone = refine(hits, Judged({"d0": 0.5}, []), method, pin_judged=True)
    assert alone.order[-1] == 0
    assert sum(bool(why) and why[0].text == KEPT for why in alone.why) == 1


@pytest.mark.parametrize("method", METHODS)
def test_pairs_alone_keep_nothing_in_its_place_and_that_is_said(hits, method):
    judged = Judged({}, [("d9", "d1")])
    free, kept = (refine(hits, judged, method, pin_judged=keep) for keep in (False, True))
    assert kept.order == free.order
    assert NO_GRADES in kept.note
    assert NO_GRADES not in (free.note or "")
    graded = refine(hits, Judged({"d5": 1.0}, judged.pairs), method, pin_judged=True)
    assert NO_GRADES not in (graded.note or "")


@pytest.mark.parametrize("method", METHODS)
def test_a_grade_counts_as_much_beside_a_pair(hits, method):
    """Grades of one level were learned from as long as there was no pair."""
    pair = [("d2", "d3")]
    with_grade, without = (refine(hits, Judged(labels, pair), method) for labels in ({"d10": 1.0}, {}))
    assert with_grade.scores[10] - with_grade.scores.mean() > without.scores[10] - without.scores.mean()
    against = refine(hits, Judged({"d10": 1.0}, [("d2", "d10")]), method)  # more than what d10 was compared with
    assert "contradict" not in (against.note or "")


def test_refining_an_outside_list_keeps_beside_a_pair(page):
    rng = np.random.default_rng(1)
    wish = {
        "docids": list("abcdef"), "features": rng.normal(size=(6, 3)).tolist(), "base_scores": [6, 5, 4, 3, 2, 1],
        "judgements": {"f": 1, "a": 0.5}, "pairs": [["c", "b"]], "keep": True,
    }  # fmt: skip
    answer = page.post(f"{API}/refine", json=wish).json()
    assert (answer["order"][0], answer["order"][-1]) == ("f", "a")


def test_a_judged_list_keeps_beside_a_pair(page):
    target = {"query": "wings", "keep": True}
    found = page.get(f"{API}/search", params={"q": "wings"}).json()["results"]
    first, second, *_, last = [one["docid"] for one in found]
    page.post(f"{API}/judgements", json={**target, "docid": last, "grade": 1})
    page.post(f"{API}/judgements", json={**target, "docid": first, "grade": 0.5})
    answer = page.post(f"{API}/preferences", json={**target, "docid": second, "other": last}).json()["list"]
    assert [answer["results"][place]["docid"] for place in (0, -1)] == [last, first]


@pytest.mark.parametrize(
    ("grades", "label"), [([0, 1], 0), ([0, 1, 1], 1), ([3, 4], 3), ([0.5], 0), ([2.6], 3), ([1, 2, 4], 2)], ids=str
)
def test_exported_qrels_hold_whole_numbers_by_the_documented_rule(page, grades, label):
    for number, grade in enumerate(grades):
        as_user(page, f"user {number}")
        page.post(f"{API}/judgements", json={"query": "wings", "docid": "d1", "grade": grade})
    text = page.get(f"{API}/export", params={"format": "qrels"}).text
    assert text.split()[-1] == str(label)
    assert read_qrels(io.BytesIO(text.encode())).labels.tolist() == [label]
