"""The one measuring of rankings against slow loops over their documents."""

from __future__ import annotations

import math
import random

import pytest

pytest.importorskip("cachetools")

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.runs import Ranking, compare_rankings, parse_measures, share_judged, total_of, values_of


def measured(rankings, labels, measure, convention="standard"):
    """The value of each query that counts."""
    found = compare_rankings(labels, {"bm25": rankings}, parse_measures(measure), convention)
    values = values_of(found, labels, found.metrics[0])
    return {query: value for query, (value,) in values.items() if not math.isnan(value)}


def made(n_queries=12, n_docs=30, seed=0):
    """Rankings with different scores, and labels of some of their documents and of some others."""
    draw = random.Random(seed)
    rankings, labels = {}, {}
    for number in range(n_queries):
        docid = [f"d{number}/{one}" for one in range(n_docs)]
        draw.shuffle(docid)
        rankings[f"q{number}"] = Ranking(docid, sorted((draw.random() for _ in docid), reverse=True))
        judged = [*draw.sample(docid, draw.randint(0, 15)), *(f"elsewhere{one}" for one in range(draw.randint(0, 2)))]
        labels[f"q{number}"] = {one: draw.choice([0.0, 0.5, 1.0, 2.0]) for one in judged}
    labels["q1"] = {}
    return rankings, labels


def ndcg_at_10(documents, labels):
    gains = [2.0 ** labels.get(docid, 0.0) - 1.0 for docid in documents[:10]]
    best = sorted((2.0**label - 1.0 for label in labels.values()), reverse=True)[:10]
    ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / ideal if ideal else 0.0


def test_ndcg_is_that_of_a_slow_loop_in_which_unjudged_documents_are_not_relevant():
    rankings, labels = made()
    found = measured(rankings, labels, "ndcg@10")
    expected = {query: ndcg_at_10(one.docid, labels[query]) for query, one in rankings.items() if labels[query]}
    assert found == pytest.approx(expected, abs=1e-12)


def test_err_depends_on_the_largest_label_of_all_queries():
    rankings, labels = made()
    labels = {query: {docid: min(label, 1.0) for docid, label in of.items()} for query, of in labels.items()}
    labels["q0"]["d0/0"] = 3.0
    found = measured(rankings, labels, "err@10")
    for query, value in found.items():
        expected, chance = 0.0, 1.0
        for place, docid in enumerate(rankings[query].docid[:10], 1):
            stop = (2.0 ** labels[query].get(docid, 0.0) - 1.0) / 2.0**3
            expected, chance = expected + chance * stop / place, chance * (1.0 - stop)
        assert value == pytest.approx(expected, abs=1e-12)
    assert len(found) == len(rankings) - 1


def test_the_total_counts_queries_with_a_value_and_the_judged_documents_of_the_first_ten():
    rankings, labels = made()
    found = compare_rankings(labels, {"bm25": rankings}, ["ndcg@10"])
    total = total_of(found, "bm25", "ndcg@10", share_judged(labels, rankings))
    values = measured(rankings, labels, "ndcg@10").values()
    judged = [docid in labels[query] for query, one in rankings.items() for docid in one.docid[:10]]
    assert (total["mean"], total["n_counted"]) == (pytest.approx(math.fsum(values) / len(values)), len(values))
    assert total["judged"] == pytest.approx(sum(judged) / len(judged))
    assert total["low"] < total["mean"] < total["high"]
    nothing = {"mean": None, "low": None, "high": None, "n_counted": 0, "judged": total["judged"]}
    assert total_of(None, "bm25", "ndcg@10", total["judged"]) == nothing
    assert share_judged({}, {}) is None


def test_ids_of_any_length_and_letters_keep_their_order_in_ties():
    names = ["x" * 1000, "ä b", "a\tb", "é" * 500]
    ranking = Ranking(names, [1.0] * 4)
    labels = {names[0]: 1.0}
    # trec_eval orders equal scores by falling id: é…, ä b, x…, a
    place = sorted(names, reverse=True).index(names[0]) + 1
    assert measured({"q": ranking}, {"q": labels}, "mrr", "trec") == {"q": pytest.approx(1 / place)}


@pytest.mark.parametrize(
    ("measure", "convention", "message"),
    [
        ("nonsense", "standard", "there is no measure 'nonsense'"),
        ("alpha-ndcg@10", "standard", "needs labels by subtopic"),
        ("ndcg@10", "mine", "convention='mine' is not known"),
        ("ndcg@10(gain=strange)", "standard", "strange"),
    ],
)
def test_measures_that_cannot_be_used_are_refused(measure, convention, message):
    with pytest.raises(RequestError, match=message) as refused:
        parse_measures(measure, convention)
    assert refused.value.status == 422


def test_a_query_without_results_counts_with_the_worst_value():
    rankings, labels = {"q": Ranking([], []), "r": Ranking(["d1"], [1.0])}, {"q": {"d1": 1.0}, "r": {"d1": 1.0}}
    assert measured(rankings, labels, "ndcg@10") == {"q": 0.0, "r": 1.0}
    assert measured({"q": rankings["q"]}, {"q": labels["q"]}, "ndcg@10", "trec") == {"q": 0.0}
