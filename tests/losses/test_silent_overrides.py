"""What a user's own loss says is what is minimised, and scores of -0 are scores of 0."""

import numpy as np
import pytest

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses.pointwise import Squared

KINDS = [pk.losses.PairwiseHinge, pk.losses.PairwiseSquaredHinge, pk.losses.PairwisePsi]
DATA = pk.datasets.make_web_like(10, n_features=4, random_state=0)


class Flat(Squared):
    """A subclass that says anew what its queries lose."""

    def query_values(self, scores, lists, slope):
        slope[:] = 0.0
        return np.zeros(lists.n_queries)


class ShortProduct(Squared):
    """A loss whose product forgets a document."""

    def query_values(self, scores, lists, slope):
        return super().query_values(scores, lists, slope)

    def curvature_at(self, scores, lists):
        return lambda direction: direction[1:]


def test_an_override_is_not_passed_over():
    ranker = pk.LinearRanker(loss=Flat(), l2=0.0, solver="lbfgs").fit(DATA.X, DATA.y, qid=DATA.qid)
    np.testing.assert_array_equal(ranker.coef_, 0.0)


def test_a_product_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="curvature_at gave a product of shape"):
        pk.LinearRanker(loss=ShortProduct(), solver="newton").fit(DATA.X, DATA.y, qid=DATA.qid)


@pytest.mark.parametrize("kind", KINDS)
def test_minus_zero_is_zero(kind):
    rng = np.random.default_rng(0)
    lists = QueryLists(rng.integers(0, 5, 2000).astype(float), np.array([0, 2000]))
    mixed = np.where(rng.random(2000) < 0.5, -0.0, 0.0)
    for got, wanted in zip(
        kind().value_and_slope(mixed, lists), kind().value_and_slope(np.zeros(2000), lists), strict=True
    ):
        np.testing.assert_array_equal(got, wanted)


def test_scores_need_not_be_aligned():
    scores = np.zeros(8 * DATA.n_docs + 1, np.uint8)[1:].view(np.float64)
    value, _ = pk.losses.ListMLE().value_and_slope(scores, DATA)
    assert value == pk.losses.ListMLE().value_and_slope(np.zeros(DATA.n_docs), DATA)[0]
