"""Measures of all queries together: coverage of the catalogue and inequality of exposure."""

import itertools
import math

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import UnknownNameError


def every_order(docid, scores, qid):
    """All choices of an order of each query that the scores allow."""
    choices = []
    for query in sorted(set(qid)):
        rows = [row for row in range(len(qid)) if qid[row] == query]
        orders = [
            order
            for order in itertools.permutations(rows)
            if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
        ]
        choices.append([[docid[row] for row in order] for order in orders])
    return list(itertools.product(*choices))


def slow_gini(values):
    n = len(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * n * sum(values))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_ties_are_broken_at_random_in_every_query(seed, k):
    rng = np.random.default_rng(seed)
    qid = [1, 1, 1, 2, 2, 2, 2]
    docid = [*rng.permutation(list("abcde"))[:3], *rng.permutation(list("abcde"))[:4]]
    scores = rng.integers(0, 2, 7)
    orders = every_order(docid, scores, qid)
    size = len(set(docid))
    shown = [len({doc for ranking in rankings for doc in ranking[:k]}) / size for rankings in orders]
    assert pk.metrics.coverage(docid, scores, qid=qid, k=k) == pytest.approx(np.mean(shown))
    exposure = dict.fromkeys(docid, 0.0)
    for rankings in orders:
        for ranking in rankings:
            for place, doc in enumerate(ranking[:k], 1):
                exposure[doc] += 1 / math.log2(place + 1) / len(orders)
    expected = slow_gini(list(exposure.values()))
    assert pk.metrics.exposure_gini(docid, scores, qid=qid, k=k) == pytest.approx(expected, abs=1e-12)


def test_the_catalogue_may_have_documents_in_no_list():
    docid, scores, qid = ["a", "b", "a", "b"], [2, 1, 2, 1], [7, 7, 8, 8]
    assert pk.metrics.coverage(docid, scores, qid=qid, k=1, catalogue=10) == pytest.approx(0.1)
    assert pk.metrics.exposure_gini(docid, scores, qid=qid, k=1, catalogue=10) == pytest.approx(0.9)
    with pytest.raises(ValueError, match="catalogue=1, but the lists have 2 different documents"):
        pk.metrics.coverage(docid, scores, qid=qid, k=1, catalogue=1)


def test_they_are_no_measures_of_evaluate():
    with pytest.raises(UnknownNameError, match="there is no measure 'coverage'"):
        pk.evaluate([1, 0], [2, 1], qid=[7, 7], docid=["a", "b"], metrics="coverage@1")
