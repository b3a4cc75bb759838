"""The conventions fill in what a measure leaves open, and a measure can have its own."""

import pickle

import numpy as np
import pytest

import plackett as pk
from plackett.data.subtopics import Subtopics
from plackett.metrics import Measure
from plackett.metrics.conventions import CONVENTIONS, Convention, get_convention
from plackett.metrics.judged_lists import judge
from plackett.metrics.registry import KINDS


def test_a_measures_own_parameters_win_over_the_convention():
    measure = Measure.parse("ndcg@10(discount=log2, empty=1)")
    rules = get_convention("letor4").rules_for(measure)
    assert rules["discount"] == "log2"
    assert rules["empty"] == 1
    assert rules["short_lists"] == "zero"


def test_conventions_do_not_redefine_what_a_discordant_pair_is():
    for convention in CONVENTIONS.values():
        rules = [convention.rules_for(Measure.parse(name)).get("ties") for name in ("kendall", "wpd")]
        assert rules == (["best", "worst"] if convention.name == "paper" else [None, None])


def test_an_unknown_convention_is_named():
    with pytest.raises(ValueError, match="convention='letor' is not known; choose one of standard, paper, letor3"):
        get_convention("letor")


@pytest.mark.parametrize("name", CONVENTIONS)
def test_each_convention_gives_every_measure_a_value(name):
    convention = CONVENTIONS[name]
    subtopics = Subtopics([[2, 0], [0, 0], [0, 1], [0, 0], [0, 0]])
    lists = judge([2, 0, 1, 0, 0], [0.5, 0.4, 0.1, 0.3, 0.2], [1, 1, 1, 2, 2], subtopics=subtopics)
    for kind in KINDS.values():
        measure = Measure(kind.name, None if kind.cutoff == "none" else 5)
        values, _ = convention.values(measure, lists)
        assert np.isfinite(values[0]), kind.name


def test_letor3_counts_short_lists_as_nothing_for_precision_too():
    lists = judge([1, 1], [2, 1])
    by_name = {
        name: CONVENTIONS[name].values(Measure.parse("p@3"), lists)[0][0] for name in ("letor3", "letor4", "xgboost")
    }
    assert by_name == {"letor3": 0.0, "letor4": pytest.approx(2 / 3), "xgboost": 1.0}


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
