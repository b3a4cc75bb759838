"""Judged documents in the places that their labels give them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plackett as pk
from plackett.rankers.refinement.boosted import MultiplicativeRefiner


def pin_judged(scores, labels, qid=None, **params):
    return pk.Queries(np.zeros((len(labels), 0)), qid=qid).pin_judged(scores, labels, **params)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 30), size=st.sampled_from([1e-8, 1.0, 1e15]))
def test_relevant_ones_come_first_others_last_and_the_rest_stays(seed, n, size):
    draws = np.random.default_rng(seed)
    scores = draws.integers(-4, 5, size=n) * size
    labels = np.where(draws.random(n) < 0.5, draws.integers(0, 4, size=n), np.nan)
    qid = draws.integers(0, 3, size=n)
    kept = pin_judged(scores, labels, qid=qid, relevant_from=2)
    assert np.isfinite(kept).all()
    np.testing.assert_array_equal(kept[np.isnan(labels)], scores[np.isnan(labels)])

    def key(i):  # NaN stands between what is relevant and what is not
        return (1.5 if np.isnan(labels[i]) else labels[i], scores[i])

    for i in range(n):
        for j in range(n):
            if qid[i] == qid[j]:
                assert (kept[i] > kept[j]) == (key(i) > key(j))


def test_without_judgements_nothing_moves():
    scores = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(pin_judged(scores, [np.nan] * 3), scores)


@pytest.mark.parametrize(
    ("scores", "labels", "params", "message"),
    [
        ([1.0, 2.0], [1.0], {}, "scores has 2 values but there are 1 labels"),
        ([np.nan], [1.0], {}, "scores has a NaN in row 0"),
        ([1.0], [np.inf], {}, "infinite label in row 0"),
        ([1.0], [1.0], {"relevant_from": None}, "relevant_from=None"),
    ],
)
def test_what_makes_no_sense_is_refused(scores, labels, params, message):
    with pytest.raises(ValueError, match=message):
        pin_judged(scores, labels, **params)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 99)], "pairs names row 99, but X has rows 0 to 3"),
        ([(-1, 0)], "pairs names row -1"),
        ([(2, 2)], "pairs prefers row 2 to itself"),
        ([(0, 3)], "pairs prefers row 0 of query 'a' to row 3 of query 'b'"),
        ([(0.0, 1.0)], "row numbers"),
        ([(0, 1, 2)], "row numbers"),
        (([0, 1], [2]), "two lists of row numbers of the same length"),
    ],
)
def test_pairs_that_are_none(pairs, message):
    with pytest.raises(ValueError, match=message):
        MultiplicativeRefiner().fit(np.eye(4), base_score=0, qid=list("aaab"), pairs=pairs)
