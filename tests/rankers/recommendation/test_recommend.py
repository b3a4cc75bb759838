"""Recommendations to one user, against personality diagnosis and a refiner called by hand."""

import numpy as np
import pytest

import plackett as pk
from plackett.data.feedback.ratings import Movies
from plackett.rankers.recommendation.recommend import recommend

N_USERS, N_ITEMS = 14, 20


@pytest.fixture(scope="module")
def ratings():
    draws = np.random.default_rng(0)
    rows = [(u, 100 + i, int(draws.integers(1, 6))) for u in range(N_USERS) for i in draws.permutation(N_ITEMS)[:12]]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.fixture(scope="module")
def movies():
    genres = np.random.default_rng(1).random((N_ITEMS, 3)) < 0.5
    return Movies(100 + np.arange(N_ITEMS), np.array([f"film {i}" for i in range(N_ITEMS)]), genres, ["a", "b", "c"])


@pytest.mark.parametrize("refiner", [None, pk.RocchioRefiner(relevant_from=3)], ids=["mrr", "rocchio"])
@pytest.mark.parametrize("relevant_from", [None, 4])
def test_the_list_is_that_of_both_rankers_called_by_hand(ratings, movies, refiner, relevant_from):
    user, item, rating = ratings
    own = dict(zip(item[user == 5].tolist(), rating[user == 5].tolist(), strict=True))
    known = [key for key in movies.item.tolist() if key in own or (item == key).sum() >= 8]
    base = pk.PersonalityDiagnosis().fit(ratings).predict([5] * len(known), known)
    told = [own.get(key, np.nan) for key in known]
    if relevant_from is not None:
        told = [np.nan if np.isnan(label) else float(label >= relevant_from) for label in told]
    X = np.column_stack([movies.genres[np.array(known) - 100], base])
    expected = pk.MultiplicativeRefiner() if refiner is None else pk.RocchioRefiner(relevant_from=3)
    scores = expected.fit(X, told, base_score=3).scores_
    new = [place for place, key in enumerate(known) if key not in own]
    order = sorted(new, key=lambda place: -scores[place])
    by_base = sorted(new, key=lambda place: -base[place])
    found = recommend(ratings, movies, 5, refiner, n=4, min_ratings=8, relevant_from=relevant_from)
    assert found.item.tolist() == [known[place] for place in order[:4]]
    np.testing.assert_allclose(found.score, scores[order[:4]], rtol=1e-12)
    np.testing.assert_allclose(found.base_score, base[order[:4]], rtol=1e-12)
    assert found.base_rank.tolist() == [1 + by_base.index(place) for place in order[:4]]


def test_what_cannot_be_recommended_is_said(ratings, movies):
    with pytest.raises(ValueError, match=r"user 99 is not among the 14 users who rated something\."):
        recommend(ratings, movies, 99)
    with pytest.raises(ValueError, match=r"no item that user 5 has not rated has at least 15 ratings\. Lower"):
        recommend(ratings, movies, 5, min_ratings=15)
    with pytest.raises(ValueError, match="n=0"):
        recommend(ratings, movies, 5, n=0)
