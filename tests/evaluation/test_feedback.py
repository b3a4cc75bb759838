"""Feedback pipelines: who is judged, what is measured, against literal loops."""

import json

import numpy as np
import pytest
from scipy import stats

import plackett as pk
from plackett.data.movielens import Movies
from plackett.evaluation.feedback import recommendation, relevance_feedback


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
    assert result.tables["residual"]["base"]["p@1"].tolist() == [1.0]  # rows 2 and 3 tie, and 2 comes first
    assert "1 query has no document that was not judged and is left out (residual)" in result.notes


def test_tables_are_those_of_a_loop_over_queries(lists):
    refiner = pk.MultiplicativeRefiner(n_rounds=20)
    result = relevance_feedback(lists, 1, refiner, n_judged=5, relevant_from=2, metrics="p@3")
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
            lists, 1, pk.MultiplicativeRefiner(), n_judged=5, relevant_from=2, metrics="p@1,map", keep=keep
        )
        for keep in (False, True)
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
    with pytest.raises(ValueError, match="with pseudo=True nobody judges"):
        relevance_feedback(lists, 1, pk.MultiplicativeRefiner(), keep=True, pseudo=True)
    with pytest.raises(ValueError, match='none of them "base" or "judged sorted"'):
        relevance_feedback(lists, 1, {"judged sorted": pk.MultiplicativeRefiner()}, keep=True)


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
    torn_base = base[order][torn.row_order]
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


@pytest.fixture(scope="module")
def ratings():
    """30 users, two tastes: even items are of one genre, odd ones of the other."""
    draws = np.random.default_rng(0)
    rows = []
    for user in range(30):
        items = draws.permutation(24)[: 5 if user == 29 else 16]
        for item in items.tolist():
            likes = (item % 2) == (user % 2)
            rows.append((user, item, int(np.clip((4 if likes else 2) + draws.integers(-1, 2), 1, 5))))
    return tuple(map(list, zip(*rows, strict=True)))


@pytest.fixture(scope="module")
def movies():
    genres = np.array([[item % 2 == 0, item % 2 == 1, item % 3 == 0] for item in range(24)])
    return Movies(np.arange(24), np.array([f"film {item}" for item in range(24)]), genres, ["even", "odd", "third"])


def test_recommendation_gives_some_ratings_and_measures_the_others(ratings, movies):
    result = recommendation(ratings, movies, pk.MultiplicativeRefiner(), n_train_users=6, n_given=5, metrics="p@3,map")
    queries = result.queries
    rated = {(user, item): rating for user, item, rating in zip(*ratings, strict=True)}
    assert list(result.tables) == ["residual"]
    trained = set(range(29)) - set(queries.ids.tolist())
    assert len(trained) == 6  # user 29 has too few ratings
    assert result.notes == ["1 user has no more than 5 ratings and is left out"]
    for place in range(queries.n_queries):
        own = slice(queries.indptr[place], queries.indptr[place + 1])
        assert result.judged[own].sum() == 5
        for user, item, label in zip(queries.qid[own], queries.docid[own], queries.y[own], strict=True):
            assert label == (rated[user, item] >= 4)
        expected = precision(queries.y[own][~result.judged[own]], result.scores["base"][own][~result.judged[own]], 3)
        assert result.tables["residual"]["base"]["p@3"][place] == pytest.approx(expected)
    # the base ranker knows the training users and what was given, and nothing else
    train = [row for row in zip(*ratings, strict=True) if row[0] in trained]
    given = [(u, i, rated[u, i]) for u, i in zip(queries.qid[result.judged], queries.docid[result.judged], strict=True)]
    model = pk.PersonalityDiagnosis().fit(tuple(map(list, zip(*train, strict=True))))
    base = model.predict(queries.qid, queries.docid, ratings=tuple(map(list, zip(*given, strict=True))))
    np.testing.assert_allclose(result.scores["base"], base)
    told = np.where(result.judged, queries.y, np.nan)
    np.testing.assert_array_equal(queries.X[:, 3], result.scores["base"])
    refined = pk.MultiplicativeRefiner().fit(queries.X, told, qid=queries.qid, base_score=3).scores_
    np.testing.assert_allclose(result.scores["refined"], refined)


def test_recommendation_as_in_the_paper_has_features_of_items_only(ratings, movies):
    arguments = {"n_train_users": 6, "n_given": 5, "metrics": "map"}
    result = recommendation(ratings, movies, pk.MultiplicativeRefiner(), base_feature=False, **arguments)
    queries, told = result.queries, np.where(result.judged, result.queries.y, np.nan)
    np.testing.assert_array_equal(queries.X, movies.genres[queries.docid])
    refined = pk.MultiplicativeRefiner().fit(queries.X, told, qid=queries.qid, base_score=result.scores["base"])
    np.testing.assert_allclose(result.scores["refined"], refined.scores_)


def test_recommendation_repeats_itself_and_changes_with_the_seed(ratings, movies):
    def judged(seed):
        return recommendation(
            ratings, movies, pk.RocchioRefiner(), n_train_users=6, n_given=5, random_state=seed
        ).queries.docid.tolist()

    assert judged(1) == judged(1) != judged(2)


def test_features_of_items_come_in_three_ways(movies):
    table = np.full((8, 24), np.nan)
    draws = np.random.default_rng(0)
    for user in range(8):
        table[user, draws.permutation(24)[:15]] = draws.integers(1, 6, 15)
    arguments = {"n_train_users": 3, "n_given": 4, "metrics": "map"}
    refiner = pk.RocchioRefiner()
    shuffled = draws.permutation(24)
    scores = [
        recommendation(table, features, refiner, **arguments).scores["refined"]
        for features in (movies, movies.genres, (shuffled, movies.genres[shuffled]))
    ]
    np.testing.assert_allclose(scores[1], scores[0])
    np.testing.assert_allclose(scores[2], scores[0])


def test_recommendation_says_what_is_missing(ratings, movies):
    refiner = pk.RocchioRefiner()
    with pytest.raises(ValueError, match="leaves nobody to recommend to"):
        recommendation(ratings, movies, refiner, n_train_users=30)
    with pytest.raises(ValueError, match="more than n_given=50 ratings"):
        recommendation(ratings, movies, refiner, n_given=50)
    with pytest.raises(ValueError, match="no row for 1 rated item, such as 0"):
        recommendation(ratings, (np.arange(1, 24), movies.genres[1:]), refiner, n_given=5)
    with pytest.raises(ValueError, match="without item ids"):
        recommendation(ratings, movies.genres, refiner, n_given=5)
