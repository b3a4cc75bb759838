"""Weights of training queries: against literal loops, ties, degenerate features, and product kernels."""

import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from plackett.exceptions import DataWarning
from plackett.rankers.query_dependent import weights as query_weights
from plackett.rankers.query_dependent.kernels import Kendall, Mallows, Overlap, count_pairs
from plackett.rankers.query_dependent.weights import WEIGHTS, QueryWeights

BY_DISTANCE = WEIGHTS[2:]


def slow_smooth(weights, u):
    if weights == "gaussian":
        return math.exp(-u * u / 2)
    if weights == "epanechnikov":
        return max(1 - u * u, 0)
    if weights == "tricube":
        return max(1 - u**3, 0) ** 3
    return 1.0 if u <= 1 else 0.0  # rectangular


def slow_neighbors(weights, features, target, own=None, k=None, bandwidth="median", similarity=None):
    """One target, query by query: a list of (place, weight, distance), nearest first."""
    n = len(features)
    distances = [math.sqrt(sum((a - b) ** 2 for a, b in zip(row, target, strict=True))) for row in features]
    h = median(distances) if bandwidth == "median" else bandwidth
    values = []
    for i in range(n):
        if weights == "knn":
            value = 1.0
        elif h == 0:
            value = 1.0 if distances[i] == 0 else 0.0
        else:
            value = slow_smooth(weights, distances[i] / h)
        values.append(value if similarity is None else value * similarity[i])
    lead = [0.0] * n if similarity is None else [-value for value in values]
    nearest = sorted(range(n), key=lambda i: (lead[i], -1.0 if i == own else distances[i], i))
    kept = [i for i in nearest[: k or n] if values[i] > 0]
    if not kept:
        kept, values = nearest[:1], [1.0] * n
    if weights == "knn":
        values = [1.0] * n
    total = sum(values[i] for i in kept)
    return [(i, n * values[i] / total, distances[i]) for i in kept]


def assert_same(found, expected):
    queries, weights, distances = found
    assert queries.tolist() == [place for place, _, _ in expected]
    np.testing.assert_allclose(weights, [weight for _, weight, _ in expected], rtol=1e-9)
    np.testing.assert_allclose(distances, [distance for _, _, distance in expected], rtol=1e-12)


@pytest.mark.parametrize("bandwidth", ["median", 0.9])
@pytest.mark.parametrize("k", [None, 1, 4, 99])
@pytest.mark.parametrize("weights", BY_DISTANCE)
def test_weights_match_the_formulas(weights, k, bandwidth):
    if weights == "knn" and k is None:
        k = 3
    rng = np.random.default_rng(0)
    features, new = rng.normal(size=(17, 3)), rng.normal(size=(5, 3)) * 0.5
    fitted = QueryWeights(weights, n_neighbors=k, bandwidth=bandwidth).fit(features)
    observed, unseen = fitted.of_observed([4, 0, 16]), fitted.of_new(new)
    assert observed.n_targets == 3
    assert unseen.n_targets == 5
    for at, place in enumerate([4, 0, 16]):
        expected = slow_neighbors(weights, features, features[place], place, k, bandwidth)
        assert expected[0][0] == place
        assert_same(observed.of(at), expected)
    for at in range(5):
        assert_same(unseen.of(at), slow_neighbors(weights, features, new[at], None, k, bandwidth))


@pytest.mark.parametrize("weights", BY_DISTANCE)
@pytest.mark.parametrize("k", [3, 7])
def test_ties_go_by_order_of_appearance_with_the_query_itself_first(weights, k):
    features = np.random.default_rng(1).integers(3, size=(40, 2)).astype(float)
    fitted = QueryWeights(weights, n_neighbors=k, bandwidth=1.5).fit(features)
    neighbors = fitted.of_observed(np.arange(40))
    for place in range(40):
        assert neighbors.of(place)[0][0] == place
        assert_same(neighbors.of(place), slow_neighbors(weights, features, features[place], place, k, 1.5))


@pytest.mark.parametrize("pairs", [1, 50, 1 << 20])
def test_blocks_make_no_difference(pairs, monkeypatch):
    features = np.random.default_rng(4).normal(size=(60, 2))
    fitted = QueryWeights("gaussian", kernels={2: "overlap"}).fit(np.column_stack([features, np.arange(60) % 3]))
    expected = fitted.of_observed(np.arange(60))
    monkeypatch.setattr(query_weights, "PAIRS_PER_BLOCK", pairs)
    found = fitted.of_observed(np.arange(60))
    np.testing.assert_array_equal(found.queries, expected.queries)
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_uniform_counts_all_alike_and_ignores_n_neighbors():
    for features, n_queries in (([[0.0], [3.0], [1.0]], None), (None, 3)):
        fitted = QueryWeights("uniform", n_neighbors=1).fit(features, n_queries=n_queries)
        neighbors = fitted.of_observed([1])
        assert neighbors.weights.tolist() == [1, 1, 1]
        assert fitted.of_new(None, n_queries=2).weights.tolist() == [1] * 6
        if features is None:
            assert neighbors.queries.tolist() == [1, 0, 2]
            assert np.isnan(neighbors.distances).all()
        else:
            assert neighbors.queries.tolist() == [1, 2, 0]
            assert neighbors.distances.tolist() == [0, 2, 3]


def test_individual_counts_the_query_itself_and_knows_no_new_ones():
    fitted = QueryWeights("individual").fit(None, n_queries=4)
    assert [part.tolist() for part in fitted.of_observed([2, 0]).of(0)[:2]] == [[2], [4.0]]
    with pytest.raises(ValueError, match=r'"individual" has no model for a query that was not in fit. Choose weights'):
        fitted.of_new([[1.0]])


def test_new_queries_have_their_own_number_of_neighbors():
    features = np.arange(9.0)[:, None]
    fitted = QueryWeights("knn", n_neighbors=2, n_neighbors_new=4).fit(features)
    assert fitted.of_observed([8]).queries.tolist() == [8, 7]
    assert fitted.of_new([[8.0]]).queries.tolist() == [8, 7, 6, 5]
    assert QueryWeights("gaussian", n_neighbors_new=4).fit(features).of_observed([8]).queries.size == 9


def test_a_median_of_zero_counts_the_queries_at_distance_zero_alike():
    features = [[1.0], [5.0], [1.0], [1.0], [7.0]]
    for weights in BY_DISTANCE[1:]:
        fitted = QueryWeights(weights).fit(features)
        queries, values, _ = fitted.of_observed([2]).of(0)
        assert queries.tolist() == [2, 0, 3]
        np.testing.assert_allclose(values, 5 / 3)
        assert fitted.of_new([[1.0]]).queries.tolist() == [0, 2, 3]


def test_the_nearest_counts_alone_with_one_warning_where_all_weights_vanish():
    features = [[0.0], [1.0], [2.0], [2.0]]
    for weights in ("epanechnikov", "tricube", "rectangular"):
        fitted = QueryWeights(weights, bandwidth=0.5).fit(features)
        with pytest.warns(DataWarning, match="all weights are 0 for 2 queries of 3") as caught:
            neighbors = fitted.of_new([[9.0], [0.1], [-3.0]])
        assert len(caught) == 1
        assert neighbors.queries.tolist() == [2, 0, 0]
        assert neighbors.weights.tolist() == [4, 4, 4]


def test_a_gaussian_reaches_as_far_as_it_must():
    neighbors = QueryWeights("gaussian", bandwidth=0.01).fit([[0.0], [1.0], [1.0001]]).of_new([[9.0]])
    assert neighbors.queries.tolist() == [2, 1]
    u = np.array([7.9999, 8.0]) / 0.01
    ratio = math.exp(-(u[1] - u[0]) * (u[1] + u[0]) / 2)
    np.testing.assert_allclose(neighbors.weights, 3 * np.array([1, ratio]) / (1 + ratio), rtol=1e-6)


def test_kernels_count_pairs_as_a_loop_does():
    rng = np.random.default_rng(5)
    one, other = rng.integers(4, size=(6, 5)).astype(float), rng.integers(4, size=(4, 5)).astype(float)
    other[0] = 2.0  # all tied
    agreeing, opposed = count_pairs(one, other)
    for a in range(6):
        for b in range(4):
            products = [
                (one[a, i] - one[a, j]) * (other[b, i] - other[b, j]) for i in range(5) for j in range(i + 1, 5)
            ]
            assert agreeing[a, b] == sum(product > 0 for product in products)
            assert opposed[a, b] == sum(product < 0 for product in products)
    np.testing.assert_allclose(Mallows(bandwidth=0.3).similarity(one, other), np.exp(-0.3 * opposed))
    np.testing.assert_array_equal(Kendall().similarity(one, other)[:, 0], 0)
    assert Kendall().similarity(other, other).diagonal().tolist() == [1, 1, 1, 1]


def test_the_kendall_kernel_is_that_of_scipy_clipped_at_zero():
    rankings = np.array([np.random.default_rng(seed).permutation(7) for seed in range(8)], dtype=float)
    similarity = Kendall().similarity(rankings, rankings)
    for a in range(8):
        for b in range(8):
            tau = kendalltau(rankings[a], rankings[b]).statistic
            assert similarity[a, b] == pytest.approx(max(tau, 0.0))


def mixed_table(n, seed=6):
    rng = np.random.default_rng(seed)
    rows = np.empty((n, 4), dtype=object)
    for row in rows:
        row[0], row[1] = rng.normal(), rng.choice(["a", "b", "c"])
        row[2], row[3] = tuple(rng.permutation(4).tolist()), rng.normal()
    return rows


def slow_similarity(one, other, off, bandwidth):
    opposed = sum((one[2][i] - one[2][j]) * (other[2][i] - other[2][j]) < 0 for i in range(4) for j in range(i + 1, 4))
    return (1.0 if one[1] == other[1] else off) * math.exp(-bandwidth * opposed)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("weights", ["gaussian", "epanechnikov", "rectangular"])
def test_product_kernels_match_the_formulas(weights, k):
    rows, new = mixed_table(15), mixed_table(4, seed=7)
    new[1][1] = "never seen"
    kernels = {1: Overlap(off=0.2), 2: Mallows(bandwidth=0.5)}
    fitted = QueryWeights(weights, n_neighbors=k, kernels=kernels, bandwidth=1.3).fit(rows)
    for neighbors, targets, places in (
        (fitted.of_observed(range(15)), rows, range(15)),
        (fitted.of_new(new), new, [None] * 4),
    ):
        for at, (target, own) in enumerate(zip(targets, places, strict=True)):
            similarity = [slow_similarity(row, target, 0.2, 0.5) for row in rows]
            expected = slow_neighbors(
                weights, rows[:, [0, 3]].tolist(), target[[0, 3]].tolist(), own, k, 1.3, similarity
            )
            assert_same(neighbors.of(at), expected)


def test_knn_with_kernels_takes_the_most_similar_and_weighs_them_alike():
    rows = [[0.0, "a"], [5.0, "b"], [9.0, "b"], [8.0, "b"], [0.1, "c"]]
    strict = QueryWeights("knn", n_neighbors=4, kernels={1: "overlap"}).fit(rows)
    assert strict.of_new([[8.4, "b"]]).queries.tolist() == [3, 2, 1]
    assert strict.of_new([[8.4, "b"]]).weights.tolist() == [5 / 3] * 3
    loose = QueryWeights("knn", n_neighbors=4, kernels={1: Overlap(off=0.5)}).fit(rows)
    assert loose.of_new([[8.4, "b"]]).queries.tolist() == [3, 2, 1, 4]
    assert loose.of_new([[8.4, "b"]]).weights.tolist() == [5 / 4] * 4
    with pytest.warns(DataWarning, match="1 query of 1"):
        assert strict.of_new([[5.2, "z"]]).queries.tolist() == [1]


def test_features_may_be_categories_only():
    fitted = QueryWeights("gaussian", kernels={0: "overlap"}).fit([["x"], ["y"], [None], ["x"], [float("nan")]])
    neighbors = fitted.of_observed([3, 2])
    assert neighbors.of(0)[0].tolist() == [3, 0]
    assert neighbors.of(0)[1].tolist() == [2.5, 2.5]
    assert neighbors.of(1)[0].tolist() == [2, 4]  # missing values are one category
    assert np.isnan(neighbors.distances).all()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_data_frames_are_tables_of_query_features(library):
    frames = pytest.importorskip(library)
    cells = {"terms": [1.0, 2.0, 1.5], "kind": ["shop", "news", "shop"], "tastes": [[1, 2], [2, 1], [2, 1]]}
    frame = frames.table(cells) if library == "pyarrow" else frames.DataFrame(cells)
    kernels = {1: Overlap(off=0.5), 2: "kendall"}
    rows = [[1.0, "shop", [1, 2]], [2.0, "news", [2, 1]], [1.5, "shop", [2, 1]]]
    found, expected = (
        QueryWeights("gaussian", kernels=kernels, bandwidth=1.0).fit(table).of_observed([1]) for table in (frame, rows)
    )
    assert found.queries.tolist() == expected.queries.tolist() == [1, 2]
    np.testing.assert_array_equal(found.weights, expected.weights)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(WEIGHTS),
    st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=1, max_size=12),
    st.integers(1, 14),
    st.sampled_from(["median", 0.5, 2.0]),
)
@pytest.mark.filterwarnings("ignore:all weights are 0:plackett.exceptions.DataWarning")
def test_weights_are_positive_sum_to_n_and_fall_with_the_distance(weights, rows, k, bandwidth):
    features = np.array(rows, dtype=float)
    n = len(rows)
    fitted = QueryWeights(weights, n_neighbors=k, bandwidth=bandwidth).fit(features)
    answers = [fitted.of_observed(np.arange(n))]
    if weights != "individual":
        answers.append(fitted.of_new(features + 0.25))
    for neighbors in answers:
        for target in range(n):
            queries, values, distances = neighbors.of(target)
            assert (values > 0).all()
            assert values.sum() == pytest.approx(n)
            assert np.unique(queries).size == queries.size
            assert (np.diff(distances) >= 0).all()
            assert (np.diff(values) <= 1e-12).all()
            if weights not in ("uniform", "individual"):
                assert queries.size <= k


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(BY_DISTANCE), st.integers(2, 20), st.integers(0, 1000))
def test_the_order_of_the_training_queries_makes_no_difference(weights, n, seed):
    rng = np.random.default_rng(seed)
    features, order = rng.normal(size=(n, 2)), rng.permutation(n)
    options = {"n_neighbors": 5}
    plain = QueryWeights(weights, **options).fit(features).of_observed(np.arange(n))
    moved = QueryWeights(weights, **options).fit(features[order]).of_observed(np.arange(n))
    for at in range(n):
        assert order[moved.of(at)[0]].tolist() == plain.of(order[at])[0].tolist()
        np.testing.assert_allclose(moved.of(at)[1], plain.of(order[at])[1])


def test_no_targets_give_empty_answers():
    for fitted in (
        QueryWeights("gaussian").fit([[1.0], [2.0]]),
        QueryWeights("knn", n_neighbors=1, kernels={0: "kendall"}).fit([[(1, 2)], [(2, 1)]]),
    ):
        for neighbors in (fitted.of_observed([]), fitted.of_new(np.zeros((0, 1)))):
            assert neighbors.indptr.tolist() == [0]
            assert neighbors.queries.size == neighbors.weights.size == neighbors.distances.size == 0


@pytest.mark.parametrize(
    ("options", "features", "message"),
    [
        ({"weights": "nearest"}, [[1.0]], "weights='nearest' is not known"),
        ({"weights": "knn"}, [[1.0]], '"knn" needs n_neighbors'),
        ({"weights": "knn", "n_neighbors": 0}, [[1.0]], "n_neighbors=0"),
        ({"weights": "gaussian", "bandwidth": 0.0}, [[1.0]], "bandwidth=0.0"),
        ({"weights": "gaussian", "bandwidth": "mean"}, [[1.0]], "bandwidth='mean'"),
        ({"weights": "gaussian", "kernels": ["overlap"]}, [[1.0]], "must be a dict"),
        ({"weights": "gaussian", "kernels": {0: "equal"}}, [[1.0]], "kernel 'equal' of query features is not known"),
        ({"weights": "gaussian", "kernels": {0: Overlap(off=2)}}, [[1.0]], "off=2"),
        ({"weights": "gaussian", "kernels": {0: Mallows(bandwidth=-1)}}, [[(1, 2)]], "bandwidth=-1"),
        ({"weights": "gaussian", "kernels": {0: "overlap"}}, [[[1, 2]]], "holds a list, which is not a category"),
        ({"weights": "gaussian", "kernels": {0: "kendall"}}, [[(1, 2)], [(1, 2, 3)]], "must hold rankings"),
        ({"weights": "gaussian", "kernels": {0: "kendall"}}, [["a"]], "must hold rankings"),
        ({"weights": "gaussian", "kernels": {0: "kendall"}}, [[(1, 2)], [(1, np.nan)]], "NaN in the ranking of query"),
        ({"weights": "gaussian"}, [1.0, 2.0], "a single column"),
        ({"weights": "gaussian"}, [[1.0, 2.0], [1.0]], "different lengths"),
        ({"weights": "gaussian"}, [[1.0, "x"]], r"column 1 of the query features has .*not numbers .*'x'.*kernel"),
        ({"weights": "gaussian"}, [[1.0, 2.0], [3.0, np.nan]], "a NaN for query 1 in column 1. Fill it or drop"),
        ({"weights": "gaussian"}, [[1.0, 2.0], [3.0, np.inf]], "an infinite value for query 1 in column 1"),
    ],
)  # fmt: skip
def test_errors_say_what_came_and_what_to_do(options, features, message):
    with pytest.raises(ValueError, match=message):
        QueryWeights(**options).fit(features)


def test_errors_about_targets():
    fitted = QueryWeights("gaussian").fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="have 1 column, but had 2 in fit"):
        fitted.of_new([[1.0]])
    with pytest.raises(ValueError, match="a NaN for query 0 in column 1"):
        fitted.of_new([[1.0, np.nan]])
    with pytest.raises(ValueError, match="query 2 is not one of 2"):
        fitted.of_observed([0, 2])
    many = QueryWeights("knn", n_neighbors=1).fit(np.arange(80.0).reshape(40, 2))
    with pytest.raises(ValueError, match="overflow"):
        many.of_new([[1e300, 1e300]])
    ranked = QueryWeights("gaussian", kernels={0: "mallows"}).fit([[(1, 2, 3)]])
    with pytest.raises(ValueError, match="ranks 2 items, but ranked 3 in fit"):
        ranked.of_new([[(1, 2)]])


# --- Targets that are left out ----------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
LEFT_OUT_FEATURES = np.round(RNG.normal(size=(30, 3)), 1)
LEFT_OUT_MIXED = np.column_stack([LEFT_OUT_FEATURES.astype(object), RNG.choice(["news", "shop"], 30)])


@pytest.mark.parametrize("weights", ["knn", "gaussian", "tricube", "rectangular"])
@pytest.mark.parametrize("n_neighbors", [1, 4, None])
@pytest.mark.parametrize("has_kernel", [False, True])
@pytest.mark.filterwarnings("ignore:all weights are 0")
def test_a_query_that_is_left_out_has_the_neighbours_of_a_new_one(weights, n_neighbors, has_kernel):
    if weights == "knn" and n_neighbors is None:
        n_neighbors = 30
    rows, kernels = (LEFT_OUT_MIXED, {3: "overlap"}) if has_kernel else (LEFT_OUT_FEATURES, None)
    options = {"n_neighbors": n_neighbors, "bandwidth": 0.9, "kernels": kernels}
    found = QueryWeights(weights, **options).fit(rows).of_observed(np.arange(30), is_left_out=True)
    for target in range(30):
        others = np.delete(np.arange(30), target)
        expected = QueryWeights(weights, **options).fit(rows[others]).of_new(rows[[target]])
        queries, shares, distances = found.of(target)
        np.testing.assert_array_equal(queries, others[expected.queries])
        np.testing.assert_allclose(shares / 30, expected.weights / 29)
        np.testing.assert_array_equal(distances, expected.distances)
