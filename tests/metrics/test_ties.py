"""Equal scores: no measure depends on the order of the rows, and ties earn nothing."""

from itertools import permutations

import numpy as np
import pytest

from plackett import metrics
from plackett.metrics import Measure
from plackett.metrics.registry import KINDS

BY_LABEL = {name: kind for name, kind in KINDS.items() if not kind.needs_subtopics}
MEASURES = [Measure(name, 3 if kind.cutoff == "required" else None) for name, kind in BY_LABEL.items()]
CUT = [Measure(name, 2) for name, kind in BY_LABEL.items() if kind.cutoff == "optional"]


@pytest.mark.parametrize("measure", [*MEASURES, *CUT], ids=str)
def test_tied_scores_get_the_mean_over_all_their_orders(measure):
    labels, scores = [2, 0, 3, 0, 1], [5, 5, 5, 1, 1]
    orders = [a + b for a in permutations([0, 1, 2]) for b in permutations([3, 4])]
    values = [measure([labels[row] for row in order], [5, 4, 3, 2, 1]) for order in orders]
    assert measure(labels, scores) == pytest.approx(np.mean(values), rel=1e-12)


@pytest.mark.parametrize("measure", [*MEASURES, *CUT], ids=str)
def test_no_order_of_the_rows_changes_a_value(measure):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(9), [1, 2, 3, 40, 40, 600, 2, 30, 5])
    labels, scores = rng.integers(0, 4, qid.size), rng.integers(0, 12, qid.size) / 8
    scores[qid == 4] = rng.normal(size=40)  # one list without ties among the others
    best_first, worst_first = np.lexsort((-labels, qid)), np.lexsort((labels, qid))
    one, other = (measure(labels[rows], scores[rows], qid=qid[rows]) for rows in (best_first, worst_first))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["kendall", "mre", "wpd"])
def test_constant_scores_are_as_far_from_the_labels_as_a_random_order(name):
    labels = [3, 2, 2, 0, 1]
    measure = Measure(name)
    orders = [measure(order, [5, 4, 3, 2, 1])[0] for order in permutations(labels)]
    assert measure(labels, [1.0] * 5)[0] == pytest.approx(np.mean(orders), rel=1e-12)


def test_the_papers_rules_for_ties_are_a_convention():
    labels, constant = [3, 2, 2, 0], [1.0] * 4
    values = {name: Measure(name, convention="paper")(labels, constant)[0] for name in ("kendall", "mre")}
    assert values == {"kendall": 0.0, "mre": 0.0}
    assert Measure("mre", convention="paper")(labels[::-1], constant)[0] == pytest.approx(5 / 6)
    worst = metrics.wpd(labels, [1, 2, 3, 4])
    assert Measure("wpd", convention="paper")(labels, constant) == pytest.approx(worst)
    assert Measure("ndcg", convention="paper")(labels, constant) == pytest.approx(1.0)
