"""Orders made of the rankings of many systems, and DiffRank on them."""

import numpy as np
import pytest

import plackett as pk
from plackett.reproductions.strict_orders import strict_labels, with_strict_order

NAN = np.nan


def agreement_with_relevance(systems):
    """Share of the pairs of different relevance, ranked by the same system, whose better document has the lower rank.

    Above one half says that rank 1 is the best.
    """
    right = wrong = 0
    for query in systems:
        better = query.y[:, None] > query.y
        for ranks in query.X.T:  # a comparison with NaN is False
            right += int(np.sum(better & (ranks[:, None] < ranks)))
            wrong += int(np.sum(better & (ranks[:, None] > ranks)))
    return right / (right + wrong)


def test_the_lowest_mean_rank_gets_the_highest_label():
    ranks = np.array([[1.0, 2.0], [3.0, 1.0], [7.0, 9.0]])  # means 1.5, 2, 8
    assert strict_labels(ranks, [0, 3]).tolist() == [3, 2, 1]


def test_what_a_system_did_not_find_counts_as_one_after_its_last():
    # the first system counts 5 for its second document, the second 10 for its fourth
    ranks = np.array([[1.0, 9.0], [NAN, 3.0], [4.0, 6.0], [2.0, NAN]])  # sums 10, 8, 10, 12
    assert strict_labels(ranks, [0, 4]).tolist() == [2.5, 4, 2.5, 1]


def test_the_last_rank_is_that_of_the_list():
    ranks = np.array([[1.0, 4.0], [NAN, 2.0], [100.0, 1.0], [200.0, 2.0]])  # NaN is 2, not 201: sums 5, 4; 101, 202
    assert strict_labels(ranks, [0, 2, 4]).tolist() == [1, 2, 2, 1]


def test_a_system_that_found_nothing_of_a_list_has_no_say():
    ranks = np.array([[2.0, NAN], [1.0, NAN], [3.0, NAN]])
    assert strict_labels(ranks, [0, 3]).tolist() == [2, 3, 1]


def test_documents_are_matched_by_id_and_short_lists_left_out():
    rng = np.random.default_rng(0)
    qid = np.repeat(["a", "b"], [12, 9])
    docid = np.array([f"d{number}" for number in [*range(12), *range(9)]])  # the same ids in both
    ranks = np.concatenate([rng.permutation(12), rng.permutation(9)]) + 1.0
    shuffled = rng.permutation(21)
    systems = pk.Queries(ranks[shuffled, None], qid=qid[shuffled], docid=docid[shuffled])
    made = with_strict_order(pk.Queries(ranks[:, None] / 20, np.zeros(21), qid, docid=docid), systems)
    assert made.ids.tolist() == ["a"]
    np.testing.assert_array_equal(made.y, 13 - ranks[:12])
    np.testing.assert_array_equal(made.X[:, 0], ranks[:12] / 20)


def test_ranks_of_relevant_documents_are_low():
    systems = pk.Queries([[1.0, 5.0], [2.0, NAN], [3.0, 4.0]], y=[2, 1, 0], qid=[1, 1, 1])
    # first system: three pairs, all right; second: one pair that both have, wrong
    assert agreement_with_relevance(systems) == pytest.approx(3 / 4)


def test_diff_rank_learns_the_order_of_25_systems(shared_data):
    systems = pk.datasets.load("mq2008-agg", shared_data / "letor4-mq2008-agg")
    assert agreement_with_relevance(systems) > 0.6
    fold = pk.datasets.load_fold("mq2008", 1, shared_data / "letor4-mq2008")
    train, _, test = (with_strict_order(part, systems) for part in fold)
    assert (train.n_queries, train.n_docs, test.n_queries, test.n_docs) == (228, 7732, 80, 2281)

    def distance(scores):
        return pk.metrics.kendall(test.y, scores, qid=test.qid, ties="average").mean()

    best_feature = min(distance(sign * column) for column in test.X.T for sign in (1, -1))
    once, often = (pk.DiffRank(cycles=cycles).fit(train).predict(test) for cycles in (1, 10))
    assert distance(often) < distance(once) < best_feature
    assert distance(often) < 0.145  # 0.139 when this was written; a random order has 0.5
