"""What every loss must keep: one list of losses through the same questions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import plackett as pk
from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses import get_loss, loss_names
from tests.losses import literal

ALL_LOSSES = [
    *(get_loss(name) for name in loss_names()),
    pk.losses.ListMLE(ties="efron"),
    pk.losses.ListMLE(transform="sigmoid"),
    pk.losses.PListMLE("dcg"),
    pk.losses.ListNet(transform="probit"),
    pk.losses.RankCosine(transform="exp"),
    pk.losses.CSListMLE(k=2),
    pk.losses.CSListMLE(weights="label"),
    pk.losses.Pairwise("hinge", normalize="all"),
    pk.losses.Pairwise("squared-hinge", normalize="none"),
    pk.losses.Pairwise("logistic", normalize="all"),
    pk.losses.Pairwise("exponential", normalize="none"),
    pk.losses.Pairwise("squared-hinge", "gain-difference"),
    pk.losses.Pairwise("exponential", "lambdarank", k=3, gain="linear"),
]
SMOOTH = [loss for loss in ALL_LOSSES if loss.is_smooth]
# minus a metric: −1 for a relevant document
METRICS = ("approx-ndcg", "approx-mrr", "approx-map", "neural-ndcg", "pl-rank")
SINGLE_LEVEL_MATTERS = (
    "listnet", "softmax", "poly1-softmax", "xe-ndcg", "rankcosine", "squared", "binary-cross-entropy", "ndcg-loss1",
    *METRICS,
)  # fmt: skip
every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=repr)

documents = st.lists(
    st.lists(st.tuples(st.integers(-1, 4), st.floats(-3, 3).map(lambda x: round(x, 3))), min_size=1, max_size=7),
    min_size=1,
    max_size=4,
)


def small_lists(seed=0, levels=4):
    rng = np.random.default_rng(seed)
    return QueryLists(rng.integers(0, levels, 24).astype(float), np.array([0, 1, 6, 6, 14, 24])), rng.normal(size=24)


def test_every_promised_name_is_there():
    names = "listmle p-listmle listnet rankcosine cs-listmle hinge squared-hinge logistic exponential psi squared "
    names += "softmax unique-softmax poly1-softmax xe-ndcg pl-rank binary-cross-entropy "
    names += "approx-ndcg approx-mrr approx-map neural-ndcg "
    names += "soft-zero-one lambdarank ndcg-loss1 ndcg-loss2 ndcg-loss2++"
    assert set(loss_names()) == set(names.split())


@every_smooth_loss
def test_slope_matches_finite_differences(loss):
    lists, scores = small_lists()
    _, slope = loss.value_and_slope(scores, lists)
    np.testing.assert_allclose(slope, literal.difference_slope(loss, scores, lists), atol=1e-6)


@every_loss
def test_curvature_matches_differences_of_slopes_or_is_refused_by_name(loss):
    lists, scores = small_lists(1)
    if not loss.has_curvature_product:
        with pytest.raises(NotImplementedError, match="has no curvature_product"):
            loss.curvature_product(scores, lists, scores)
        return
    found = literal.hessian(loss, scores, lists)
    np.testing.assert_allclose(found, literal.difference_hessian(loss, scores, lists), atol=1e-5)
    np.testing.assert_allclose(loss.curvature_diagonal(scores, lists), found.diagonal(), atol=1e-9)
    assert np.linalg.eigvalsh(found).min() > -1e-9  # convex


@every_loss
def test_the_curvature_bound_is_a_bound(loss):
    lists, scores = small_lists(2)
    if not loss.has_curvature_bound:
        with pytest.raises(NotImplementedError, match="has no curvature_bound"):
            loss.curvature_bound(scores, lists)
        return
    bound = loss.curvature_bound(scores, lists)
    assert (bound >= 0).all()
    assert np.linalg.eigvalsh(np.diag(bound) - literal.difference_hessian(loss, scores, lists)).min() > -1e-5


@every_loss
@settings(max_examples=12, deadline=None)
@given(queries=documents, random=st.randoms(use_true_random=False))
def test_shuffling_rows_and_queries_changes_nothing_but_the_order(loss, queries, random):
    lists, scores = literal.split(queries)
    moved, before = literal.shuffled(queries, random)
    other_lists, other_scores = literal.split(moved)
    value, slope = loss.value_and_slope(scores, lists)
    other_value, other_slope = loss.value_and_slope(other_scores, other_lists)
    assert other_value == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(other_slope, slope[before], rtol=1e-9, atol=1e-9)


@every_loss
@settings(max_examples=8, deadline=None)
@given(queries=documents, shift=st.floats(-50, 50))
def test_a_constant_added_to_a_query_s_scores_changes_nothing_where_that_is_promised(loss, queries, shift):
    lists, scores = literal.split(queries)
    moved = scores.copy()
    moved[: lists.indptr[1]] += shift
    if not loss.ignores_shifts:
        assert loss.is_pointwise or loss.name == "rankcosine" or loss.transform != "exp"
        return
    value, slope = loss.value_and_slope(scores, lists)
    other_value, other_slope = loss.value_and_slope(moved, lists)
    assert other_value == pytest.approx(value, rel=1e-7, abs=1e-7)
    np.testing.assert_allclose(other_slope, slope, atol=1e-7)


@every_loss
def test_single_documents_and_single_levels_contribute_nothing_where_that_is_promised(loss):
    scores = np.array([0.3, 2.0, -1.0, 0.4])
    alone = literal.lists_of([2], [1], [0], [5])
    value, slope = loss.value_and_slope(scores, alone)
    if not loss.is_pointwise:
        assert value == pytest.approx(-3 if loss.name in METRICS else 0)
        assert not slope.any()
    level = literal.lists_of([1, 1, 1, 1])
    value, slope = loss.value_and_slope(scores, level)
    if loss.name not in SINGLE_LEVEL_MATTERS:
        assert value == 0
        assert not slope.any()


@every_loss
def test_labels_far_beyond_the_usual_give_finite_values(loss):
    labels = np.array([4000.0, 3999, -1, 0, 17, 2500])
    if getattr(loss, "weights", None) == "label" or loss.name == "unique-softmax":  # gains 2**y that nothing divides
        labels /= 5
    lists = QueryLists(labels, np.array([0, 6]))
    scores = np.linspace(0.1, 1.0, 6)
    value, slope = loss.value_and_slope(scores, lists)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


@every_loss
def test_no_documents_and_no_queries_are_no_loss(loss):
    for indptr in (np.array([0]), np.array([0, 0, 0])):
        value, slope = loss.value_and_slope(np.empty(0), QueryLists(np.empty(0), indptr))
        assert value == 0
        assert slope.size == 0


@every_loss
def test_a_loss_is_what_its_parameters_say(loss):
    assert clone(loss) == loss
    assert repr(clone(loss)) == repr(loss)
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert loss != "listmle"


@every_loss
def test_queries_and_their_lists_are_taken_alike(loss):
    data = pk.Queries(np.zeros((5, 1)), y=[2, 1, 0, 1, 0], qid=[1, 1, 1, 2, 2])
    scores = np.array([0.5, 0.2, 1.0, 0.1, 0.3])
    assert loss.value_and_slope(scores, data)[0] == loss.value_and_slope(scores, data.lists)[0]
    with pytest.raises(ValueError, match=r"scores has shape \(4,\) but the queries have 5 documents"):
        loss.value_and_slope(scores[:4], data)
    with pytest.raises(ValueError, match="scores has a NaN or an infinite value in row 3"):
        loss.value_and_slope([0, 0, 0, np.nan, 0], data)


@every_loss
def test_compiled_objects_give_what_the_loss_gives(loss):
    lists, scores = small_lists(3)
    compiled = loss.native(lists)
    assert (compiled is not None) == loss.has_native
    if compiled is None:
        return
    value, slope = loss.value_and_slope(scores, lists)
    found, values = np.full(24, np.nan), np.full(lists.n_queries, np.nan)
    _native.losses.evaluate(compiled, scores, found, values)
    assert values.sum() == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found, slope, rtol=1e-12, atol=1e-12)
    if loss.has_curvature_product:
        direction = np.cos(np.arange(24.0))
        _native.losses.multiply(compiled, scores, direction, found)
        np.testing.assert_allclose(found, loss.curvature_product(scores, lists, direction), rtol=1e-9, atol=1e-12)


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(ValueError, match="loss='listml' is not known; choose one of listmle, p-listmle"):
        get_loss("listml")
    with pytest.raises(ValueError, match=r"loss=ListMLE is a class; pass an object: loss=ListMLE\(\)"):
        get_loss(pk.losses.ListMLE)


def test_lists_travel_without_compiled_objects():
    lists, scores = small_lists(3)
    value, slope = pk.losses.ListMLE().value_and_slope(scores, lists)
    there = pickle.loads(pickle.dumps(lists))
    again = pk.losses.ListMLE().value_and_slope(scores, there)
    assert again[0] == value
    np.testing.assert_array_equal(again[1], slope)


# --- losses of users -------------------------------------------------------------------------------------------------

OWN_DATA = pk.datasets.make_web_like(10, n_features=4, random_state=0)


class Flat(pk.losses.Squared):
    """A subclass that says anew what its queries lose."""

    def query_values(self, scores, lists, slope):
        slope[:] = 0.0
        return np.zeros(lists.n_queries)


class ShortProduct(pk.losses.Squared):
    """A loss whose product forgets a document."""

    def query_values(self, scores, lists, slope):
        return super().query_values(scores, lists, slope)

    def curvature_at(self, scores, lists):
        return lambda direction: direction[1:]


def test_an_override_is_not_passed_over():
    ranker = pk.LinearRanker(loss=Flat(), l2=0.0, solver="lbfgs").fit(OWN_DATA.X, OWN_DATA.y, qid=OWN_DATA.qid)
    np.testing.assert_array_equal(ranker.coef_, 0.0)


class Halved(pk.losses.Pairwise):
    """A subclass with another diagonal than that of the base's single pass."""

    def diagonal_at(self, scores, lists):
        return 0.5 * super().diagonal_at(scores, lists)


def test_an_own_diagonal_is_what_trees_use():
    lists = OWN_DATA.lists
    scores = np.linspace(-1.0, 1.0, lists.n_docs)
    whole, half = (
        loss.as_lightgbm(lists)(scores)
        for loss in (pk.losses.Pairwise(weight="lambdarank"), Halved(weight="lambdarank"))
    )
    np.testing.assert_array_equal(half[0], whole[0])
    np.testing.assert_allclose(half[1], 0.5 * whole[1], atol=1e-9)


def test_a_product_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="curvature_at returned a product of shape"):
        pk.LinearRanker(loss=ShortProduct(), solver="newton").fit(OWN_DATA.X, OWN_DATA.y, qid=OWN_DATA.qid)


def test_scores_need_not_be_aligned():
    scores = np.zeros(8 * OWN_DATA.n_docs + 1, np.uint8)[1:].view(np.float64)
    value, _ = pk.losses.ListMLE().value_and_slope(scores, OWN_DATA)
    assert value == pk.losses.ListMLE().value_and_slope(np.zeros(OWN_DATA.n_docs), OWN_DATA)[0]
