"""Measures of all queries together: coverage of the catalogue and inequality of exposure."""

import itertools
import math

import numpy as np
import pytest

import plackett as pk


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


@pytest.fixture
def data():
    queries = pk.datasets.make_web_like(30, n_features=4, random_state=0)
    return queries.replace(docid=np.random.default_rng(0).integers(0, 100, queries.n_docs))


METRICS = "ndcg@10,coverage@3,gini@5"


def test_evaluate_has_one_value_and_no_values_per_query(data):
    result = pk.evaluate(data, data.X[:, 0], metrics=METRICS, reference_scores=True)
    expected = pk.metrics.coverage(data.docid, data.X[:, 0], qid=data.qid, k=3)
    assert result.mean()["coverage@3"] == result.overall["coverage@3"] == pytest.approx(expected)
    assert result.per_query == ["ndcg@10"]
    assert np.isnan(result["coverage@3"]).all()
    assert result.to_csv().splitlines()[0] == "qid,ndcg@10,convention"
    assert list(result.to_dict()["queries"][0]) == ["qid", "ndcg@10"]
    assert list(result.to_frame().columns) == ["ndcg@10"]
    random = [
        pk.metrics.coverage(data.docid, np.random.default_rng(seed).random(data.n_docs), qid=data.qid, k=3)
        for seed in range(60)
    ]
    assert result.reference_scores["random order"]["coverage@3"] == pytest.approx(np.mean(random), abs=0.01)


def test_compare_shows_them_without_tests(data, tmp_path):
    result = pk.compare("regression,listmle", data, cv=3, metrics=METRICS)
    assert result.per_query == ["ndcg@10"]
    assert result.differences("coverage@3") == []
    assert set(result.marks("gini@5").values()) == {""}
    assert {pair["metric"] for pair in result.to_dict()["differences"]} == {"ndcg@10"}
    again = type(result).from_dict(result.to_dict())
    assert str(again) == str(result)
    assert "lower is better: gini@5" in str(result)
    pk.write_report(result, tmp_path / "report.html")
    assert "coverage@3" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_they_cannot_choose_between_rankers(data):
    with pytest.raises(ValueError, match="Name a measure with a value per query first"):
        pk.compare("regression", data, metrics="coverage@3")
    with pytest.raises(ValueError, match="coverage@3 has one value for all queries and cannot choose"):
        pk.compare("regression", data, select_by="coverage@3")
    with pytest.raises(ValueError, match="exposure-gini has one value for all queries and cannot choose"):
        pk.LinearRanker().fit(data, eval_set=data, eval_metric="gini")


def test_documents_need_ids():
    with pytest.raises(ValueError, match="need their ids, but there are none"):
        pk.evaluate([1, 0], [2, 1], qid=[7, 7], metrics="coverage@1")
    assert pk.evaluate([1, 0], [2, 1], qid=[7, 7], docid=["a", "b"], metrics="coverage@1").mean() == {"coverage@1": 0.5}
