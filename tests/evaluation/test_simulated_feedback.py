"""Feedback pipelines: who is judged, what is measured, against literal loops."""

import json

import numpy as np
import pytest
from scipy import stats

import plackett as pk
from plackett.evaluation.simulated_feedback import relevance_feedback


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(12, 18, 5, random_state=3)


def precision(labels, scores, k):
    return sum(labels[i] for i in sorted(range(len(labels)), key=lambda i: -scores[i])[:k]) / k


def test_the_first_of_each_list_are_judged_and_ties_keep_the_order_of_the_rows():
    queries = pk.Queries(
        [[5.0], [7.0], [5.0], [5.0], [1.0], [2.0]], [0, 1, 1, 0, 1, 0], qid=["a", "a", "a", "a", "b", "b"]
    )
    result = relevance_feedback(queries, 0, pk.MultiplicativeRefiner(), n_judged=2, metrics="p@1")
    assert result.judged.tolist() == [True, True, False, False, True, True]
    assert result.tables["full"]["base"].queries.tolist() == ["a", "b"]
    assert result.tables["residual"]["base"].queries.tolist() == ["a"]  # nothing is left of b
    assert result.tables["residual"]["base"]["p@1"].tolist() == [0.5]  # rows 2 and 3 tie
    assert "1 query has no document that was not judged and is left out (residual)" in result.notes


def test_tables_are_those_of_a_loop_over_queries(lists):
    refiner = pk.MultiplicativeRefiner(n_rounds=20)
    result = relevance_feedback(lists, 1, refiner, n_judged=5, relevant_from=2, metrics="p@3", convention="paper")
    assert not hasattr(refiner, "scores_")
    for place, key in enumerate(lists.ids.tolist()):
        own = lists.subset([key])
        labels = (own.y >= 2).astype(float)
        base = own.X[:, 1].astype(float)
        judged = sorted(range(own.n_docs), key=lambda i: -base[i])[:5]
        told = [labels[i] if i in judged else np.nan for i in range(own.n_docs)]
        refined = pk.MultiplicativeRefiner(n_rounds=20).fit(own.X, told, base_score=1).scores_
        rest = [i for i in range(own.n_docs) if i not in judged]
        for name, scores in (("base", base), ("refined", refined)):
            full, residual = (result.tables[kind][name]["p@3"][place] for kind in ("full", "residual"))
            assert full == pytest.approx(precision(labels, scores, 3))
            assert residual == pytest.approx(precision(labels[rest], scores[rest], 3))


def test_judged_documents_keep_the_places_of_their_labels(lists):
    free, kept = (
        relevance_feedback(
            lists, 1, pk.MultiplicativeRefiner(), n_judged=5, relevant_from=2, metrics="p@1,map", pin_judged=is_pinned
        )
        for is_pinned in (False, True)
    )
    assert list(kept.tables["full"]) == ["base", "judged sorted", "refined"]
    labels = (lists.y >= 2).astype(float)
    for name, scores in (("judged sorted", free.scores["base"]), ("refined", free.scores["refined"])):
        for first, last in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
            told = [label if judged else 0.5 for label, judged in zip(labels, free.judged, strict=True)][first:last]
            expected = sorted(range(last - first), key=lambda i, told=told, own=scores[first:last]: (-told[i], -own[i]))
            assert np.argsort(-kept.scores[name][first:last], kind="stable").tolist() == expected
        for metric in ("p@1", "map"):  # the judged are not among them
            of_rest = free.tables["residual"]["base" if name == "judged sorted" else name]
            np.testing.assert_array_equal(kept.tables["residual"][name][metric], of_rest[metric])
    assert (kept.tables["full"]["refined"]["map"] >= free.tables["full"]["refined"]["map"]).all()
    with pytest.raises(ValueError, match="with pseudo=True there are no judgements"):
        relevance_feedback(lists, 1, pk.MultiplicativeRefiner(), pin_judged=True, pseudo=True)
    with pytest.raises(ValueError, match='none of them "base" or "judged sorted"'):
        relevance_feedback(lists, 1, {"judged sorted": pk.MultiplicativeRefiner()}, pin_judged=True)


@pytest.mark.parametrize("relevant_from", [None, 1])
def test_labels_are_graded_unless_told_otherwise(lists, relevant_from):
    result = relevance_feedback(lists, 0, pk.RocchioRefiner(), relevant_from=relevant_from, metrics="ndcg@5")
    labels = lists.y if relevant_from is None else lists.y >= relevant_from
    expected = pk.metrics.ndcg(labels, lists.X[:, 0], qid=lists.qid, k=5)
    np.testing.assert_allclose(result.tables["full"]["base"]["ndcg@5"], expected)


def test_a_base_may_be_scores_or_a_ranker(lists):
    ranker = pk.LinearRanker().fit(lists)
    one = relevance_feedback(lists, ranker, pk.LinearRefiner(), n_judged=3)
    other = relevance_feedback(lists, ranker.predict(lists), pk.LinearRefiner(), n_judged=3)
    np.testing.assert_array_equal(one.scores["refined"], other.scores["refined"])


def test_torn_queries_are_measured_as_whole_ones(lists):
    order = np.random.default_rng(0).permutation(lists.n_docs)
    torn = pk.Queries(lists.X[order], lists.y[order], qid=lists.qid[order])
    base = np.random.default_rng(1).normal(size=lists.n_docs)
    torn_base = base[order]
    whole = relevance_feedback(lists, base, pk.RocchioRefiner(), n_judged=4, metrics="map")
    result = relevance_feedback(torn, torn_base, pk.RocchioRefiner(), n_judged=4, metrics="map")
    for kind in ("full", "residual"):
        one, other = whole.tables[kind]["refined"], result.tables[kind]["refined"]
        by_id = dict(zip(other.queries.tolist(), other["map"], strict=True))
        np.testing.assert_allclose([by_id[key] for key in one.queries.tolist()], one["map"])


def test_pseudo_feedback_guesses_from_both_ends_and_never_looks_at_labels(lists):
    base = lists.X[:, 0].astype(float)
    told = np.full(lists.n_docs, np.nan)
    for first, last in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
        order = sorted(range(first, last), key=lambda i: -base[i])
        n = min(6, len(order) // 2)
        told[order[:n]], told[order[len(order) - n :]] = 1.0, 0.0
    expected = pk.RocchioRefiner().fit(lists.X, told, qid=lists.qid, base_score=base).scores_
    result = relevance_feedback(lists, base, pk.RocchioRefiner(), n_judged=6, pseudo=True)
    np.testing.assert_allclose(result.scores["refined"], expected)
    assert list(result.tables) == ["full"]
    assert not result.judged.any()


def test_several_refiners_stand_side_by_side_with_paired_tests(lists):
    refiners = {"mrr": pk.MultiplicativeRefiner(), "rocchio": pk.RocchioRefiner()}
    result = relevance_feedback(lists, 0, refiners, n_judged=5, metrics=["map", "p@5"])
    assert [name for name, _ in result.rows()][:5] == [
        "full: base",
        "full: mrr",
        "  p-value",
        "full: rocchio",
        "  p-value",
    ]
    table = result.tables["full"]
    expected = stats.ttest_rel(table["mrr"]["map"], table["base"]["map"]).pvalue
    assert result.p_values()["full"]["mrr"]["map"] == pytest.approx(expected)
    told = json.loads(json.dumps(result.to_dict()))
    assert told["n_judged"] == 5 * lists.n_queries
    assert told["lists"]["full"]["mrr"]["p_values"]["map"] == pytest.approx(expected)
    assert told["lists"]["residual"]["base"]["queries"][0]["qid"] == lists.ids.tolist()[0]
    assert str(result).splitlines()[1].startswith("full: base")


def test_p_values_without_differences_or_queries():
    queries = pk.Queries([[3.0], [2.0], [1.0]] * 2, [1, 0, 0] * 2, qid=[1] * 3 + [2] * 3)
    result = relevance_feedback(queries, 0, pk.RocchioRefiner(), n_judged=1, metrics="map")
    assert result.p_values()["full"]["refined"]["map"] == 1.0
    one = relevance_feedback(queries.subset([1]), 0, pk.RocchioRefiner(), n_judged=1, metrics="map")
    assert np.isnan(one.p_values()["full"]["refined"]["map"])
    assert one.to_dict()["lists"]["full"]["refined"]["p_values"]["map"] is None


def test_what_cannot_be_measured_is_refused(lists):
    refiner = pk.MultiplicativeRefiner()
    with pytest.raises(ValueError, match="every document of every query is judged"):
        relevance_feedback(lists, 0, refiner, n_judged=10_000)
    with pytest.raises(ValueError, match="n_judged"):
        relevance_feedback(lists, 0, refiner, n_judged=0)
    with pytest.raises(ValueError, match='none of them "base"'):
        relevance_feedback(lists, 0, {"base": refiner})
    with pytest.raises(ValueError, match="no labels"):
        relevance_feedback(pk.Queries(lists.X, qid=lists.qid), 0, refiner)
    with pytest.raises(ValueError, match="not judged"):
        relevance_feedback(pk.Queries(lists.X[:3], [1, np.nan, 0]), 0, refiner, n_judged=1)
