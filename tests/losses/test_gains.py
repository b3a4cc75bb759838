"""Gains of documents against the metrics and by hand."""

import numpy as np
import pytest

from plackett import losses, metrics
from plackett.losses.gains import gains_of
from tests.losses import literal

LISTS = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [-1, 3, 3, 0])


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("k", [None, 1, 2, 50])
def test_the_ideal_order_has_an_ndcg_of_one(gain, k):
    shares = gains_of(gain, LISTS, k)
    for start, stop in zip(LISTS.indptr[:-1], LISTS.indptr[1:], strict=True):
        best = np.sort(shares[start:stop])[::-1][:k]
        total = best @ (1 / np.log2(np.arange(best.size) + 2))
        assert total == pytest.approx(float(LISTS.labels[start:stop].max(initial=0.0) > 0.0))


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_the_discounted_sum_is_the_metric(gain):
    labels, scores = np.array([2.0, 0, 1, 1, 4]), np.array([0.2, 0.9, 0.3, -1, 0.5])
    ranks = np.argsort(np.argsort(-scores)) + 1
    found = gains_of(gain, literal.lists_of(labels), 3) @ np.where(ranks <= 3, 1 / np.log2(1 + ranks), 0.0)
    assert found == pytest.approx(metrics.ndcg(labels, scores, k=3, gain=gain)[0])


def test_tables_and_functions_give_gains_of_their_own():
    lists = literal.lists_of([1, 2, 0])
    np.testing.assert_array_equal(gains_of([0, 5, 2], lists, normalize=False), [5, 2, 0])
    np.testing.assert_allclose(gains_of([0, 5, 2], lists), np.array([5, 2, 0]) / (5 + 2 / np.log2(3)))
    np.testing.assert_allclose(gains_of(np.sqrt, lists, 1), np.sqrt([1, 2, 0]) / np.sqrt(2))
    np.testing.assert_array_equal(gains_of("linear", literal.lists_of([-1.5, 2]), normalize=False), [-1.5, 2])
    np.testing.assert_array_equal(gains_of("exponential", literal.lists_of([-1.5, 2]), normalize=False), [0, 3])


def test_large_labels_do_not_overflow_where_they_are_normalised():
    np.testing.assert_array_equal(gains_of("exponential", literal.lists_of([4000, 3999]), 1), [1.0, 0.5])
    with pytest.raises(ValueError, match=r"overflows above 1023\. Divide the gains"):
        gains_of("exponential", literal.lists_of([4000]), normalize=False)


def test_gains_without_a_meaning_are_refused():
    with pytest.raises(ValueError, match="gain has the gains of the labels 0 to 1, but the label in row 1 is 2"):
        gains_of([0, 1], literal.lists_of([1, 2]))
    with pytest.raises(ValueError, match="the gain of the label 2 in row 1 is -2"):
        gains_of(np.negative, literal.lists_of([1, 2]))
    with pytest.raises(ValueError, match=r"gain\(labels\) has shape \(1,\)"):
        gains_of(lambda labels: labels[:1], literal.lists_of([1, 2]))
    with pytest.raises(ValueError, match="gain='log'"):
        gains_of("log", literal.lists_of([1, 2]))


@pytest.mark.parametrize("loss", [losses.ApproxNDCG, losses.NeuralNDCG, losses.PLRank, losses.UniqueSoftmax])
def test_refuses_the_names_of_pairwise_for_normalize(loss):
    lists = literal.lists_of([1, 0])
    with pytest.raises(ValueError, match=r"normalize='none' is not known; choose one of False, True"):
        loss(normalize="none").value_and_slope([0.1, 0.2], lists)
    loss(normalize=np.False_).value_and_slope([0.1, 0.2], lists)
