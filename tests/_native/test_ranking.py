"""Lists in the order of their scores, by counts or by sorting, equal a stable sort of the whole list."""

import itertools

import numpy as np
import pytest

from plackett.metrics.judged_lists import JudgedLists

SIZES = (0, 1, 2, 3, 15, 16, 17, 100, 250, 511, 512, 513, 700)


def scores_of(kind, rng, size):
    scores = rng.normal(size=size)
    if kind == "far apart":  # nearly all of them tie after quantisation
        return np.where(rng.random(size) < 0.05, -1e9, scores)
    if kind == "close":  # different, but equal as float32
        return 1.0 + 1e-12 * scores
    if kind == "few":
        return np.round(scores)
    if kind == "constant":
        return np.full(size, 0.1)
    if kind == "infinite":
        return np.where(rng.random(size) < 0.3, rng.choice([np.inf, -np.inf], size), scores)
    if kind == "huge":
        return 1e308 * rng.uniform(-1.7, 1.7, size)
    if kind == "tiny":
        return 5e-324 * rng.integers(0, 9, size)
    return scores


@pytest.mark.parametrize("kind", ["any", "far apart", "close", "few", "constant", "infinite", "huge", "tiny"])
@pytest.mark.parametrize("ties", ["stable", "worst", "best", "trec", "average"])
def test_labels_stand_in_the_order_of_the_scores(kind, ties):
    rng = np.random.default_rng(5)
    indptr = np.concatenate([[0], np.cumsum(SIZES)])
    labels, docid = np.round(rng.normal(size=indptr[-1]), 1), rng.permutation(indptr[-1])
    scores = np.concatenate([scores_of(kind, rng, size) for size in SIZES])
    names = np.array([f"{number:06}" for number in docid])
    found = JudgedLists(labels, scores, indptr, docid=names).ranked(ties)
    keys = {"worst": labels, "best": -labels, "trec": -docid, "average": -labels}.get(ties, np.zeros_like(labels))
    for first, last in itertools.pairwise(indptr):
        own = slice(first, last)
        order = np.lexsort((keys[own], -scores[own]))
        np.testing.assert_array_equal(found.labels[own], labels[own][order], err_msg=f"{last - first} documents")


@pytest.mark.parametrize("kind", ["few", "close", "constant", "any"])
def test_averaged_ties_say_where_they_end(kind):
    rng = np.random.default_rng(6)
    indptr = np.concatenate([[0], np.cumsum(SIZES)])
    scores = np.concatenate([scores_of(kind, rng, size) for size in SIZES])
    labels = rng.integers(0, 3, indptr[-1]).astype(float)
    has_ties, ends = np.split(JudgedLists(labels, scores, indptr).ranked("average").group_end, [len(SIZES)])
    for query, (first, last) in enumerate(itertools.pairwise(indptr)):
        ordered = np.sort(-scores[first:last])
        assert has_ties[query] == (np.diff(ordered) == 0).any()
        if has_ties[query]:
            np.testing.assert_array_equal(ends[first:last], np.searchsorted(ordered, ordered, side="right"))
