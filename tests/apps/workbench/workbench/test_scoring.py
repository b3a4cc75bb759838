"""Scores of rankings against slow loops over their documents."""

from __future__ import annotations

import math
import random

import pytest

pytest.importorskip("cachetools")

from plackett.apps.workbench.board_records import Ranking
from plackett.apps.workbench.errors import RequestError
from plackett.apps.workbench.workbench import scoring
from plackett.apps.workbench.workbench.scoring import Rules, Score, Scoring, overall_value, score_rankings, total_of


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


@pytest.mark.parametrize("unjudged", ["not-relevant", "left-out"])
def test_ndcg_is_that_of_a_slow_loop_with_documents_that_are_not_judged(unjudged):
    rankings, labels = made()
    scores = score_rankings(Rules.parse("ndcg@10", unjudged=unjudged), rankings, labels)
    for query, ranking in rankings.items():
        own = labels[query]
        kept = [one for one in ranking.docid if one in own] if unjudged == "left-out" else ranking.docid
        n_judged = sum(one in own for one in ranking.docid[:10])
        assert scores[query][1:] == (n_judged, 10)
        if own:
            assert scores[query].value == pytest.approx(ndcg_at_10(kept, own), abs=1e-12)
        else:
            assert scores[query].value is None


def test_err_depends_on_the_largest_label_of_all_queries():
    rankings, labels = made()
    labels = {query: {docid: min(label, 1.0) for docid, label in of.items()} for query, of in labels.items()}
    labels["q0"]["d0/0"] = 3.0
    keyed = {query: ("v1", of) for query, of in labels.items()}
    scores = Scoring().scores(Rules.parse("err@10"), dict.fromkeys(rankings, "bm25"), rankings, keyed)
    for query, ranking in rankings.items():
        expected, chance = 0.0, 1.0
        for place, docid in enumerate(ranking.docid[:10], 1):
            stop = (2.0 ** labels[query].get(docid, 0.0) - 1.0) / 2.0**3
            expected, chance = expected + chance * stop / place, chance * (1.0 - stop)
        if labels[query]:
            assert scores[query].value == pytest.approx(expected, abs=1e-12)


def test_only_queries_with_other_labels_are_measured_again(monkeypatch):
    rankings, labels = made()
    asked = []
    measure = scoring.score_rankings
    monkeypatch.setattr(scoring, "score_rankings", lambda *given: asked.append(sorted(given[1])) or measure(*given))
    rules, cache = Rules.parse("ndcg@10"), Scoring()
    keyed = {query: ("v1", of) for query, of in labels.items()}
    first = cache.scores(rules, dict.fromkeys(rankings, "bm25"), rankings, keyed)
    assert cache.scores(rules, dict.fromkeys(rankings, "bm25"), rankings, keyed) == first
    changed = {**labels["q3"], rankings["q3"].docid[0]: 2.0}
    second = cache.scores(rules, dict.fromkeys(rankings, "bm25"), rankings, {**keyed, "q3": ("v2", changed)})
    assert {query for query in second if second[query] != first[query]} == {"q3"}
    cache.scores(rules, dict.fromkeys(rankings, "tf-idf"), rankings, keyed)
    assert asked == [sorted(rankings), ["q3"], sorted(rankings)]


def test_the_total_leaves_out_queries_without_a_value():
    scores = [Score(0.5, 3, 10), Score(None, 0, 10), Score(1.0, 10, 10)]
    total = total_of(scores)
    assert (total.mean, total.n_counted, total.judged) == (0.75, 2, 13 / 30)
    assert total.low <= 0.75 <= total.high
    assert total_of([Score(0.5, 1, 2)]) == (0.5, None, None, 1, 0.5)
    assert total_of([]) == (None, None, None, 0, None)


def test_an_overall_measure_has_one_value_and_none_per_query():
    rankings, labels = made()
    rules = Rules.parse("coverage@5")
    assert all(one.value is None for one in score_rankings(rules, rankings, labels).values())
    judged = [query for query in rankings if labels[query]]
    shown = {one for query in judged for one in rankings[query].docid[:5]}
    known = {one for query in judged for one in (*rankings[query].docid, *labels[query])}
    assert overall_value(rules, rankings, labels) == pytest.approx(len(shown) / len(known))


def test_ids_of_any_length_and_letters_keep_their_order_in_ties():
    names = ["x" * 1000, "ä b", "a\tb", "é" * 500]
    ranking = Ranking(names, [1.0] * 4)
    labels = {names[0]: 1.0}
    # trec_eval orders equal scores by falling id: é…, ä b, x…, a
    place = sorted(names, reverse=True).index(names[0]) + 1
    rules = Rules.parse("mrr", "trec")
    assert score_rankings(rules, {"q": ranking}, {"q": labels})["q"].value == pytest.approx(1 / place)


@pytest.mark.parametrize(
    ("measure", "convention", "message"),
    [
        ("nonsense", "standard", "there is no measure 'nonsense'"),
        ("alpha-ndcg@10", "standard", "needs labels by subtopic"),
        ("ndcg@10", "mine", "convention='mine' is not known"),
        ("ndcg@10(gain=strange)", "standard", "strange"),
    ],
)
def test_rules_that_cannot_be_applied_are_refused(measure, convention, message):
    with pytest.raises(RequestError, match=message) as refused:
        Rules.parse(measure, convention)
    assert refused.value.status == 422


def test_a_query_without_results_counts_as_the_convention_says():
    empty, labels = {"q": Ranking([], [])}, {"q": {"d1": 1.0}}
    assert score_rankings(Rules.parse("ndcg@10"), empty, labels)["q"] == (0.0, 0, 0)
    assert score_rankings(Rules.parse("ndcg@10", "trec"), empty, labels)["q"] == (None, 0, 0)
