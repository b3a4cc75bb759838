"""No measure depends on the order of the rows, ties earn nothing, and a measure carries its convention."""

import pickle
from itertools import permutations

import numpy as np
import pytest

import plackett as pk
from plackett import metrics
from plackett.metrics import Measure
from plackett.metrics.conventions import CONVENTIONS, Convention
from plackett.metrics.registry import KINDS

MEASURES = [Measure(name, 3 if kind.cutoff == "required" else None) for name, kind in KINDS.items()]
CUT = [Measure(name, 2) for name, kind in KINDS.items() if kind.cutoff == "optional"]


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


def test_a_measure_carries_its_convention_through_text_and_pickles():
    measure = Measure("ndcg", 10, convention="letor4", gain="linear")
    assert str(measure) == "ndcg@10(convention=letor4, gain=linear)"
    assert pk.metrics.Measure.parse(str(measure)) == measure == pickle.loads(pickle.dumps(measure))
    assert len({measure, pk.metrics.Measure.parse(str(measure)), Measure("ndcg", 10, gain="linear")}) == 2
    labels, scores = [0, 1, 2, 0], [4, 3, 2, 1]
    assert measure(labels, scores)[0] == 0.0, "LETOR's script gives nothing to lists shorter than k"
    with pytest.raises(ValueError, match="convention='letor' is not known; choose one of standard, paper"):
        pk.metrics.Measure.parse("ndcg@10(convention=letor)")


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("measure", ["ndcg@3", "ndcg", "map@2", "p@5", "kendall", "wpd", "err@2"])
def test_a_measures_own_convention_gives_the_values_of_a_table_under_it(name, measure):
    labels, scores, qid = [1, 0, 2, 0, 0, 0], [3, 3, 1 + 1e-9, 1, 2, 2], [1, 1, 1, 1, 2, 2]
    docid = list("bacdef")
    own = pk.metrics.Measure.parse(f"{measure}(convention={name})")
    table = pk.evaluate(labels, scores, qid=qid, docid=docid, metrics=[measure], convention=name)
    mixed = pk.evaluate(labels, scores, qid=qid, docid=docid, metrics=[own, measure], convention="standard")
    np.testing.assert_array_equal(own(labels, scores, qid=qid, docid=docid), table.values[:, 0])
    np.testing.assert_array_equal(mixed.values[:, 0], table.values[:, 0])


def test_queries_that_a_run_does_not_answer_count_as_each_measures_convention_says():
    qrels, run = {"a": {"x": 1, "y": 0}, "b": {"x": 1}}, {"a": {"x": 2.0, "y": 1.0}}
    by_trec, standard = "mrr(convention=trec)", "mrr(convention=standard)"
    for convention in ("standard", "trec"):
        means = pk.evaluate(qrels, run, metrics=[by_trec, standard], convention=convention).mean()
        assert means == {by_trec: 1.0, standard: 0.5}
    assert pk.evaluate(qrels, run, metrics=[by_trec], complete=True).mean() == {by_trec: 0.5}


def test_a_convention_without_a_known_name_is_refused_where_a_table_would_name_it():
    ours = Measure("ndcg", 10, convention=Convention("ours", "empty queries left out", empty="skip"))
    assert np.isnan(ours([0, 0], [1, 2]))
    with pytest.raises(ValueError, match=r"ndcg@10\(convention=ours\) has a convention that is not in"):
        pk.evaluate([0, 1], [1, 2], metrics=[ours])
