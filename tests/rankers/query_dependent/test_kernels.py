"""The kernels of query features (dai2019, section 3.1) and their product, by loops over items and columns."""

import math

import numpy as np
import pytest

from plackett.rankers.query_dependent.kernels import Kendall, Mallows, Overlap
from plackett.rankers.query_dependent.weights import QueryWeights

RANKINGS = [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1), (2, 1, 3, 5, 4), (1, 1, 2, 2, 3), (3, 3, 3, 3, 3), (1, 3, 5, 2, 4)]
CATEGORIES = ["shop", "news", "shop", None, "help", float("nan")]


def pairs_of(one, other):
    """The numbers of pairs of items in the same and in opposite orders."""
    agreeing = opposed = 0
    for i in range(len(one)):
        for j in range(i):
            if (one[i] < one[j] and other[i] < other[j]) or (one[i] > one[j] and other[i] > other[j]):
                agreeing += 1
            elif (one[i] < one[j] and other[i] > other[j]) or (one[i] > one[j] and other[i] < other[j]):
                opposed += 1
    return agreeing, opposed


def kendall(one, other):
    agreeing, opposed = pairs_of(one, other)
    if agreeing + opposed == 0:
        return 1.0 if len(set(one)) == len(set(other)) == 1 else 0.0
    return max(0.0, (agreeing - opposed) / (agreeing + opposed))


def mallows(one, other, bandwidth):
    return math.exp(-bandwidth * pairs_of(one, other)[1])


def overlap(one, other, off):
    def known(cell):
        return None if cell is None or cell != cell else cell

    return 1.0 if known(one) == known(other) else off


def matrix(kernel, cells):
    levels = kernel.levels(cells, "the column")
    codes = kernel.code(cells, levels, "the column")
    return kernel.similarity(codes, codes)


@pytest.mark.parametrize(
    ("kernel", "cells", "loop"),
    [
        (Kendall(), RANKINGS, kendall),
        (Mallows(), RANKINGS, lambda one, other: mallows(one, other, 1.0)),
        (Mallows(0.25), RANKINGS, lambda one, other: mallows(one, other, 0.25)),
        (Overlap(), CATEGORIES, lambda one, other: overlap(one, other, 0.0)),
        (Overlap(off=0.3), CATEGORIES, lambda one, other: overlap(one, other, 0.3)),
    ],
    ids=["Kendall", "Mallows", "Mallows 0.25", "overlap", "overlap 0.3"],
)
def test_kernels_are_those_of_the_loops_symmetric_and_1_on_the_diagonal(kernel, cells, loop):
    found = matrix(kernel, cells)
    expected = [[loop(one, other) for other in cells] for one in cells]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 1.0)


def test_values_by_hand():
    by_name = {"Kendall": matrix(Kendall(), RANKINGS), "Mallows": matrix(Mallows(0.5), RANKINGS)}
    # 1 2 3 4 5 and 2 1 3 5 4: two of ten pairs are opposed; the reversed ranking opposes all ten
    assert by_name["Kendall"][0, 2] == pytest.approx(0.6)
    assert by_name["Kendall"][0, 1] == 0.0
    assert by_name["Mallows"][0, 2] == pytest.approx(math.exp(-1))
    assert by_name["Mallows"][0, 1] == pytest.approx(math.exp(-5))


def test_the_weight_of_a_query_is_the_product_over_its_columns():
    rng = np.random.default_rng(4)
    rows = [
        [rng.normal(), rng.choice(["a", "b"]), tuple(rng.permutation(4)), tuple(rng.permutation(3)), rng.normal()]
        for _ in range(12)
    ]
    table = np.empty((12, 5), dtype=object)
    for at, row in enumerate(rows):
        table[at] = row
    kernels = {1: Overlap(off=0.4), 2: "kendall", 3: Mallows(0.7)}
    found = QueryWeights("gaussian", kernels=kernels, bandwidth=1.7).fit(table).of_observed(range(12))
    for place, target in enumerate(rows):
        products = []
        for row in rows:
            distance = math.sqrt((row[0] - target[0]) ** 2 + (row[4] - target[4]) ** 2)
            product = math.exp(-((distance / 1.7) ** 2) / 2)
            product *= overlap(row[1], target[1], 0.4) * kendall(row[2], target[2]) * mallows(row[3], target[3], 0.7)
            products.append(product)
        expected = {query: 12 * value / sum(products) for query, value in enumerate(products) if value > 0}
        queries, weights = found.of(place)[:2]
        assert set(queries.tolist()) == set(expected)
        np.testing.assert_allclose(weights, [expected[query] for query in queries.tolist()], rtol=1e-12)
