"""The simulations of query-dependent ranking, as ``examples/query_dependent.py`` runs them; a small part of them."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import plackett as pk

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "query_dependent.py"
STRENGTHS = [1.0, 0.1, 0.01]  # of the 61, enough for differences as clear as these


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(SCRIPT))


def test_printed_numbers_are_those_of_the_paper(example):
    printed = example["printed_numbers"]()
    cells = [(number, scenario) for number in (1, 2) for scenario in ("I", "II", "III", "IV")]
    assert set(printed) == {(*cell, gamma) for cell in [*cells, (3, "dep")] for gamma in (0.0, 0.1, 0.2)}
    means, errors = printed[2, "II", 0.1]
    np.testing.assert_array_equal(means[0], [0.28, 0.28, 0.13, 0.15])
    np.testing.assert_allclose(errors[2], [0.011, 0.010, 0.012, 0.016])
    assert all(means.shape == errors.shape == (3, 4) for means, errors in printed.values())


def test_measures_follow_the_paper(example):
    queries = pk.Queries(np.zeros((7, 1)), y=[9.0, 4, 8, 1, 3, 2, 5], qid=[1, 1, 1, 2, 2, 2, 2])
    scores = np.array([0.5, 0.9, 0.7, 4.0, 3.0, 2.0, 1.0])  # labels in the order of the scores: 4 8 9 and 1 3 2 5
    mre, err, ndcg = [], [], []
    for labels in ([4.0, 8, 9], [1.0, 3, 2, 5]):
        mre.append(np.mean([labels[i] < labels[j] for j in range(len(labels)) for i in range(j)]))
        reached, total = 1.0, 0.0
        for place, label in enumerate(labels):
            stops = (2**label - 1) / 2 ** max(labels)
            total, reached = total + reached * stops / (place + 1), reached * (1 - stops)
        err.append(total)
        gains = [sum((2**y - 1) / np.log2(2 + i) for i, y in enumerate(o)) for o in (labels, sorted(labels)[::-1])]
        ndcg.append(gains[0] / gains[1])
    expected = [np.mean(mre), 1 - np.mean(err), 1 - np.mean(ndcg)]
    np.testing.assert_allclose(example["measured"](queries, scores), expected)


def test_the_verdict_names_orders_that_are_clear_in_print_and_means_that_are_worse(example):
    printed, errors = np.array([0.04, 0.30, 0.08, 0.08]), np.full(4, 0.001)
    assert example["n_orders"](printed, errors) == 5  # all but the last two
    assert example["judge"](np.array([[0.02, 0.2, 0.08, 0.07], [0.02, 0.2, 0.06, 0.07]]), printed, errors) == []
    (reversed_order,) = example["judge"](np.array([[0.05, 0.2, 0.04, 0.07], [0.05, 0.2, 0.04, 0.07]]), printed, errors)
    assert reversed_order == "rank-SVM before kNN-SVM: printed 0.04, ours -0.010 (0.000)"
    (worse,) = example["judge"](np.array([[0.02, 0.37, 0.08, 0.07]]), printed, errors)
    assert worse == "indv-SVM worse than printed by 0.070"


# per cell: groups of methods (rank, indv, kNN, q: 0 to 3), each clearly better than the next one
CLEAR = {
    (1, "I", 0.1): [[0, 2, 3], [1]],
    (1, "II", 0.0): [[2, 3], [0, 1]],
    (1, "III", 0.1): [[3], [2], [0, 1]],
    (1, "IV", 0.0): [[1], [2, 3], [0]],
    (2, "IV", 0.1): [[1, 2, 3], [0]],
}


@pytest.mark.parametrize("cell", CLEAR, ids=lambda cell: "Example {}, Scenario {}, {}".format(*cell))
def test_methods_stand_in_the_order_of_the_paper(example, cell):
    values, _ = example["replications"](1, *cell, n_jobs=1, l2=STRENGTHS)
    printed, _ = example["printed_numbers"]()[cell]
    means = values.mean(axis=0)[0]
    assert (means <= printed[0] + example["MOST_WORSE"]).all()
    for better, worse in zip(CLEAR[cell], CLEAR[cell][1:], strict=False):
        assert means[better].max() + 0.01 < means[worse].min()
        assert printed[0, better].max() < printed[0, worse].min()  # the order asked for is the paper's
