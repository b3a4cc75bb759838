"""Personality diagnosis against a direct loop over its formula, in every shape that ratings come in."""

from __future__ import annotations

import io
from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from sklearn.base import clone

import plackett as pk
from plackett._threads import set_n_threads
from plackett.data.feedback.ratings import Ratings


def noise(x, y, levels, sigma):
    def bell(value):
        return exp(-((value - y) ** 2) / (2 * sigma**2))

    return bell(x) / sum(map(bell, levels))


def literal_distribution(active, item, others, levels, sigma):
    """P(R_aj = h) for every level h, as the formula says; exact fractions, so that nothing can underflow.

    ``active`` is {item: rating}, ``others`` a list of such. None where nobody rated the item.
    """
    mass = {h: Fraction(0) for h in levels}
    for other in others:
        if item not in other:
            continue
        likelihood = Fraction(1)
        for k, rating in active.items():
            likelihood *= Fraction(noise(rating, other[k], levels, sigma) if k in other else 1 / len(levels))
        for h in levels:
            mass[h] += Fraction(noise(h, other[item], levels, sigma)) * likelihood
    total = sum(mass.values())
    return {h: float(value / total) for h, value in mass.items()} if total else None


def literal_prediction(active, item, others, levels, sigma):
    if not active:
        own = [other[item] for other in others if item in other]
        return np.mean(own or [rating for other in others for rating in other.values()])
    found = literal_distribution(active, item, others, levels, sigma)
    return np.mean(list(active.values())) if found is None else sum(h * p for h, p in found.items())


def draw(n_users, n_items, share, seed, levels=(1, 2, 3, 4, 5)):
    """{user: {item: rating}} with at least one rating."""
    rng = np.random.default_rng(seed)
    table = {
        user: {item: float(rng.choice(levels)) for item in range(n_items) if rng.random() < share}
        for user in range(n_users)
    }
    table[0][0] = float(levels[0])
    return table


def columns(table):
    rows = [(user, item, rating) for user, own in table.items() for item, rating in own.items()]
    return tuple(map(list, zip(*rows, strict=True)))


def levels_of(table):
    return sorted({rating for own in table.values() for rating in own.values()})


@pytest.mark.parametrize("sigma", [0.4, 2.5, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_predictions_for_new_users_match_the_formula(sigma, seed):
    train, new = draw(7, 6, 0.5, seed), draw(4, 8, 0.4, seed + 100)
    new[9] = {}
    new = {100 + user: own for user, own in new.items()}
    model = pk.PersonalityDiagnosis(sigma=sigma).fit(train)
    items = list(range(9))  # 6 and 7 are rated by new users only, 8 by nobody
    found = model.predict(item=items, ratings=new)
    for row, active in enumerate(new.values()):
        for item in items:
            expected = literal_prediction(active, item, list(train.values()), levels_of(train), sigma)
            assert found[row, item] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_user_of_fit_is_compared_with_all_others(seed):
    train = draw(6, 5, 0.6, seed, levels=(0.5, 1, 3.5))
    found = pk.PersonalityDiagnosis(1.0).fit(train).predict()
    for user, active in train.items():
        others = [own for other, own in train.items() if other != user]
        for place, item in enumerate(sorted({item for own in train.values() for item in own})):
            if active:
                expected = literal_prediction(active, item, others, levels_of(train), 1.0)
                assert found[user, place] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_most_probable_rating_is_that_of_the_formula(seed):
    train, new = draw(7, 6, 0.5, seed), draw(4, 6, 0.5, seed + 100)
    new = {100 + user: own for user, own in new.items()}
    found = pk.PersonalityDiagnosis(0.8).fit(train).predict_rating(item=range(6), ratings=new)
    for row, active in enumerate(new.values()):
        for item in range(6):
            shares = literal_distribution(active, item, list(train.values()), levels_of(train), 0.8)
            if active and shares:
                best = max(shares.values())
                assert found[row, item] in [h for h, p in shares.items() if p > best * (1 - 1e-9)]


def test_of_equally_probable_ratings_the_smallest_is_given():
    model = pk.PersonalityDiagnosis(0.5).fit({"a": {"x": 1, "y": 3}, "b": {"x": 5, "y": 3}})
    assert model.predict_rating(["new"], ["x"], ratings={"new": {"y": 3}}) == [1]
    assert model.predict(["new"], ["x"], ratings={"new": {"y": 3}}) == pytest.approx([3])


def test_where_nothing_is_known_the_most_frequent_rating_stands_in():
    train = {"a": {"x": 1, "y": 2}, "b": {"x": 5, "y": 2}, "c": {"x": 5, "y": 4}}
    model = pk.PersonalityDiagnosis().fit(train)
    own = {"new": {"y": 3.5, "x": 4, "w": 4}, "idle": {}}
    found = model.predict_rating(item=["x", "y", "z"], ratings=own)
    overall = min(level for level, n in Counter([1, 2, 5, 2, 5, 4]).items() if n == 2)
    assert found[0].tolist() == [5, 2, overall]  # rows in the order of the ids: idle, new
    assert found[1, 2] == 4
    assert model.predict(item=["x", "y", "z"], ratings=own)[0] == pytest.approx([11 / 3, 8 / 3, 19 / 6])
    assert model.predict(item=["z"], ratings=own)[1] == pytest.approx((3.5 + 4 + 4) / 3)


@pytest.mark.parametrize("sigma", [0.05, 2.5])
def test_a_thousand_ratings_of_a_user_do_not_underflow(sigma):
    rng = np.random.default_rng(0)
    n_items = 1200
    matrix = rng.integers(1, 6, size=(3, n_items)).astype(float)
    active = np.where(np.arange(n_items) < 1000, matrix[0], np.nan)[None]
    matrix[0, 1000:1100] = np.nan  # of these items only users who rate quite differently know anything
    matrix[1, 1050:1100] = np.nan
    found = pk.PersonalityDiagnosis(sigma).fit(matrix).predict(ratings=active)
    assert np.isfinite(found).all()
    levels = [1, 2, 3, 4, 5]
    means = {y: sum(h * noise(h, y, levels, sigma) for h in levels) for y in levels}
    like = [sum(np.log(max(noise(x, y, levels, sigma), 1e-300)) for x, y in zip(matrix[0, :1000], row, strict=False))
            for row in matrix[:, :1000]]  # fmt: skip
    assert abs(like[1] - like[0]) > (700 if sigma < 1 else 20)
    np.testing.assert_allclose(found[0, 1050:1100], [means[y] for y in matrix[2, 1050:1100]], rtol=1e-12)
    np.testing.assert_allclose(found[0, 1100:], [means[y] for y in matrix[0, 1100:]], rtol=1e-6)


RATED = {3: {10: 4, 20: 0}, 5: {20: 5, 30: 1}, 8: {10: 4, 30: 2}}
MATRIX = np.array([[4, 0, np.nan], [np.nan, 5, 1], [4, np.nan, 2]])
SHAPES = {
    "mapping": RATED,
    "columns": columns(RATED),
    "arrays": tuple(map(np.array, columns(RATED))),
    "Ratings": Ratings(*columns(RATED), [0] * 6),
    "file": pk.datasets.read_movielens(io.StringIO("".join(f"{u}\t{i}\t{r}\t0\n" for u, i, r in zip(*columns(RATED))))),  # noqa: B905
}
ROWS, COLUMNS = np.nonzero(~np.isnan(MATRIX))
MATRICES = {
    "array": MATRIX,
    "csr": csr_matrix((MATRIX[ROWS, COLUMNS], (ROWS, COLUMNS)), shape=(3, 3)),
    "coo": coo_array((MATRIX[ROWS, COLUMNS], (ROWS, COLUMNS)), shape=(3, 3)),
}


@pytest.mark.parametrize("ratings", [*SHAPES.values(), *MATRICES.values()], ids=[*SHAPES, *MATRICES])
def test_all_shapes_of_ratings_say_the_same(ratings):
    expected = pk.PersonalityDiagnosis().fit(RATED)
    model = pk.PersonalityDiagnosis().fit(ratings)
    assert model.levels_.tolist() == [0, 1, 2, 4, 5]
    assert model.matrix_.nnz == 6
    np.testing.assert_array_equal(model.predict(), expected.predict())
    np.testing.assert_array_equal(model.predict(ratings=ratings), expected.predict(ratings=RATED))


def test_users_and_items_go_by_their_ids():
    model = pk.PersonalityDiagnosis().fit(RATED)
    assert (model.users_.tolist(), model.items_.tolist()) == ([3, 5, 8], [10, 20, 30])
    table = model.predict()
    assert model.predict([8, 3, 8], [20, 30, 10]).tolist() == [table[2, 1], table[0, 2], table[2, 0]]
    np.testing.assert_array_equal(model.predict([8, 3]), table[[2, 0]])
    np.testing.assert_array_equal(model.predict(item=[30, 10]), table[:, [2, 0]])
    np.testing.assert_array_equal(model.predict(8, [30, 10]), table[2, [2, 0]])
    np.testing.assert_array_equal(model.predict([3, 8], np.int64(20)), table[[0, 2], 1])
    assert model.predict(5).shape == (1, 3)
    assert model.predict([], []).shape == (0,)


def test_unknown_users_and_items_of_fit_get_means():
    model = pk.PersonalityDiagnosis().fit(RATED)
    assert model.predict([99, 5, 99], [20, 99, 99]) == pytest.approx([2.5, 3, 16 / 6])


def test_ids_may_be_anything_hashable():
    model = pk.PersonalityDiagnosis().fit(([("a", 1), 7, "b"], [b"x", b"x", b"y"], [1, 2, 3]))
    assert model.users_.tolist() == [("a", 1), 7, "b"]
    assert model.predict([7], [b"x"]) == model.predict()[1, 0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 1), n_users=st.integers(1, 6))
def test_predictions_lie_within_the_scale_and_do_not_hang_on_the_order_of_the_ratings(seed, share, n_users):
    train = draw(n_users, 5, share, seed)
    user, item, rating = (np.array(column) for column in columns(train))
    order = np.random.default_rng(seed).permutation(user.size)
    model = pk.PersonalityDiagnosis(1.5).fit((user, item, rating))
    found = model.predict()
    assert ((found > rating.min() - 1e-9) & (found < rating.max() + 1e-9)).all()
    again = pk.PersonalityDiagnosis(1.5).fit((user[order], item[order], rating[order]))
    np.testing.assert_allclose(again.predict(), found, rtol=1e-12)
    assert np.isin(model.predict_rating(), model.levels_).all()


def test_adding_a_constant_to_all_ratings_adds_it_to_the_predictions():
    user, item, rating = columns(draw(6, 6, 0.5, 1))
    low, high = (pk.PersonalityDiagnosis().fit((user, item, np.array(rating) + shift)).predict() for shift in (0, 10))
    np.testing.assert_allclose(high, low + 10, rtol=1e-12)


def test_one_user_and_one_level_are_enough():
    alone = pk.PersonalityDiagnosis().fit({"a": {"x": 2, "y": 4}})
    assert alone.predict().tolist() == [[3, 3]]  # nobody else to ask
    same = pk.PersonalityDiagnosis().fit({"a": {"x": 3}, "b": {"x": 3, "y": 3}})
    assert same.predict().tolist() == [[3, 3], [3, 3]]
    assert same.predict_rating(["a"], ["y"]).tolist() == [3]


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_ratings_beyond_all_measure_give_numbers(scale):
    ratings = {"a": {"x": scale, "y": 2 * scale}, "b": {"x": 3 * scale, "y": scale}, "c": {"y": 2 * scale}}
    found = pk.PersonalityDiagnosis().fit(ratings).predict(["c"], ["x"])
    assert np.isfinite(found).all()
    if scale > 1:
        assert found == pytest.approx([scale])  # c agrees with a


def test_the_number_of_threads_changes_nothing():
    model = pk.PersonalityDiagnosis().fit(draw(60, 20, 0.5, 4))
    expected = model.predict()
    try:
        set_n_threads(3)
        np.testing.assert_array_equal(model.predict(), expected)
    finally:
        set_n_threads(None)


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        (([7, 7], [1, 1], [5, 4]), r"user 7 rated item 1 twice \(positions 0 and 1\)"),
        (coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)), "user 0 rated item 1 twice"),
        (([1, 2], [1, 1], [5, np.nan]), "rating has a NaN or an infinite value in row 1"),
        (csr_matrix(np.array([[1, np.inf]])), "ratings has an infinite value in row 0, column 1"),
        (([1, 2], [1], [5, 4]), "2 users, 1 items and 2 ratings"),
        (([1, None], [1, 1], [5, 4]), "user is None in row 1"),
        (([1, 2], [1, float("nan")], [5, 4]), "item is NaN in row 1"),
        (([], [], []), "there are no ratings"),
        (np.full((2, 2), np.nan), "there are no ratings"),
        (np.zeros(3), "a matrix of numbers, users by items"),
        (np.array([["a", "b"]]), "values of type <U1"),
        ({1: [5, 4]}, "the ratings of user 1 are a list"),
        ([[5, 4], [3, 2], [1, 1]], "ratings is a list; pass the result"),
        ((5, [1], [2]), "user is 5; a list of ids is needed"),
        ("u.data", "ratings is a str; pass the result of read_movielens"),
        (np.arange(2000.0).reshape(2, -1), "2,000 different ratings"),
    ],
)
def test_ratings_that_make_no_sense_are_refused(ratings, message):
    with pytest.raises(ValueError, match=message):
        pk.PersonalityDiagnosis().fit(ratings)


@pytest.mark.parametrize("sigma", [0, -1, np.nan, np.inf, "2", True])
def test_a_noise_that_makes_no_sense_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma="):
        pk.PersonalityDiagnosis(sigma).fit(RATED)


def test_questions_that_make_no_sense_are_refused():
    model = pk.PersonalityDiagnosis().fit(RATED)
    with pytest.raises(ValueError, match="user has 2 ids but item has 3"):
        model.predict([3, 5], [10, 20, 30])
    with pytest.raises(ValueError, match="user '3' has a different type from the ids in the ratings, such as 3"):
        model.predict(["3"], [10])
    with pytest.raises(ValueError, match="ratings has 2 columns, but fit had 3 items"):
        model.predict(ratings=np.ones((1, 2)))
    with pytest.raises(ValueError, match="item is a set"):
        model.predict([3], {10})
    with pytest.raises(TypeError, match="user holds a list in row 0"):
        model.predict([[3], "a"], [10, 20])


def test_it_is_an_estimator_and_a_failed_fit_leaves_it_as_it_was():
    model = pk.PersonalityDiagnosis(sigma=1.25).fit(RATED)
    assert model.get_params() == {"sigma": 1.25}
    assert repr(clone(model)) == "PersonalityDiagnosis(sigma=1.25)"
    before = model.predict()
    with pytest.raises(ValueError, match="twice"):
        model.fit(([7, 7], [1, 1], [5, 4]))
    np.testing.assert_array_equal(model.predict(), before)
    with pytest.raises(Exception, match="not fitted yet"):
        clone(model).predict()


@pytest.mark.parametrize("ratings", [RATED, MATRICES["csr"], {("a", 1): {"x": 1}, "b": {"x": 5, "y": 2}}])
def test_a_saved_model_predicts_the_same(ratings, tmp_path):
    model = pk.PersonalityDiagnosis(1.5).fit(ratings)
    model.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert repr(loaded) == repr(model)
    assert loaded.users_.tolist() == model.users_.tolist()
    np.testing.assert_array_equal(loaded.predict(), model.predict())
    np.testing.assert_array_equal(loaded.predict_rating(), model.predict_rating())


def spoil_users(model):
    model.users_ = model.users_[:-1]


def spoil_ids(model):
    model.items_ = np.zeros_like(model.items_)


def spoil_levels(model):
    model.levels_ = model.levels_ + 1


def spoil_ratings(model):
    model.matrix_.data[0] = np.nan


def spoil_columns(model):
    model.matrix_.indices[:2] = 0


def spoil_kind(model):
    model.matrix_ = model.matrix_.toarray()


@pytest.mark.parametrize(
    "spoil", [spoil_users, spoil_ids, spoil_levels, spoil_ratings, spoil_columns, spoil_kind], ids=lambda f: f.__name__
)
def test_a_file_that_no_fit_leaves_behind_is_refused(spoil, tmp_path):
    model = pk.PersonalityDiagnosis().fit(RATED)
    spoil(model)
    model.save(tmp_path / "model.plackett")
    with pytest.raises(pk.exceptions.ModelFormatError):
        pk.load(tmp_path / "model.plackett")


def test_it_orders_the_ratings_of_movielens_better_than_the_items_means(shared_data):
    """Ten ratings of each of 300 users are given, the others are to be ordered; the other 643 users are in fit."""
    ratings = pk.datasets.read_movielens(shared_data / "movielens-100k" / "u.data.gz")
    rng = np.random.default_rng(0)
    is_new = np.isin(ratings.user, rng.permutation(ratings.users)[:300])
    place = np.empty(len(ratings), dtype=int)
    order = np.lexsort((rng.random(len(ratings)), ratings.user))
    starts = np.searchsorted(ratings.user[order], ratings.user[order])
    place[order] = np.arange(len(ratings)) - starts
    known, asked = is_new & (place < 10), is_new & (place >= 10)

    def rows(which):
        return ratings.user[which], ratings.item[which], ratings.rating[which]

    model = pk.PersonalityDiagnosis().fit(rows(~is_new))
    scores = model.predict(ratings.user[asked], ratings.item[asked], ratings=rows(known))
    means = model.predict(ratings.user[asked], ratings.item[asked], ratings={0: {}})
    truth, qid = ratings.rating[asked], ratings.user[asked]
    by_scores, by_means = (pk.metrics.ndcg(truth, s, qid=qid, k=10).mean() for s in (scores, means))
    assert by_scores > by_means


RATINGS = {1: {"x": 5.0, "y": 1.0}, 2: {"x": 1.0, "y": 5.0}, 3: {"x": 2.0, "y": 4.0}}


def test_a_known_user_with_given_ratings_is_compared_with_the_others_only():
    model = pk.PersonalityDiagnosis(0.5).fit(RATINGS)
    expected = model.predict([1], ["y"])
    assert expected[0] > 3  # both others gave 4 and more; user 1 itself gave 1
    np.testing.assert_array_equal(model.predict([1], ["y"], ratings={1: RATINGS[1]}), expected)
    assert model.predict(["new"], ["y"], ratings={"new": {"x": 5.0}})[0] < 3  # like user 1


def test_rows_of_a_matrix_are_the_users_of_fit_where_ratings_are_the_same():
    matrix = np.array([[5.0, 1.0], [1.0, 5.0], [2.0, 4.0]])
    model = pk.PersonalityDiagnosis(0.5).fit(matrix)
    np.testing.assert_array_equal(model.predict(ratings=matrix), model.predict())
    other = model.predict(ratings=np.array([[5.0, np.nan]]))
    assert other[0, 1] < 3
