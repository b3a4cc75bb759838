"""The trial of recommendation: who is learned from, what is given, and what is measured."""

import numpy as np
import pytest

import plackett as pk
from plackett.data.feedback.ratings import Movies
from plackett.evaluation.simulated_recommendation import recommendation


def precision(labels, scores, k):
    return sum(labels[i] for i in sorted(range(len(labels)), key=lambda i: -scores[i])[:k]) / k


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
    assert result.notes == ["1 user has no more than 5 ratings and is skipped"]
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
    with pytest.raises(ValueError, match="leaves no user to test on"):
        recommendation(ratings, movies, refiner, n_train_users=30)
    with pytest.raises(ValueError, match="more than n_given=50 ratings"):
        recommendation(ratings, movies, refiner, n_given=50)
    with pytest.raises(ValueError, match="no row for 1 rated item, such as 0"):
        recommendation(ratings, (np.arange(1, 24), movies.genres[1:]), refiner, n_given=5)
    with pytest.raises(ValueError, match="without item ids"):
        recommendation(ratings, movies.genres, refiner, n_given=5)
