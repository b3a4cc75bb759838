"""Explanations of refined rankings."""

import numpy as np
import pytest
from sklearn.base import clone

import plackett as pk
from plackett.rankers.refinement.boosted import MultiplicativeRefiner
from tests.rankers.refinement.refined_lists import REFINERS, judge_first_three, make_named_queries, of_class


@pytest.fixture(scope="module")
def data():
    return make_named_queries()


@pytest.fixture(scope="module")
def feedback(data):
    return judge_first_three(data)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_contributions_sum_to_the_score_less_the_mean_of_the_list(refiner, data, feedback):
    fitted = clone(refiner).fit(data, feedback, base_score=np.asarray(data.X[:, 1]) + 0.01 * np.arange(data.n_docs))
    explanation = fitted.explain(data)
    for row in range(data.n_docs):
        total = sum(part.contribution for part in explanation.top(row, None))
        mean = fitted.scores_[data.qid == data.qid[row]].mean()
        assert total == pytest.approx(fitted.scores_[row] - mean, abs=3e-6)
        assert explanation.baseline[row] == pytest.approx(mean)
    comparison = explanation.why(0, 1)
    assert sum(part.difference for part in comparison.differences) == pytest.approx(comparison.total, abs=3e-6)
    assert "total" in str(comparison)
    assert "d0" in str(explanation)
    assert len(explanation.to_dict()["rows"]) == data.n_docs


def test_explained_rows_may_come_in_any_order_of_queries(data, feedback):
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=0)
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    whole = fitted.explain(data)
    some = fitted.explain(data.X[mixed], qid=data.qid[mixed], rows=[4, 2])
    assert [part.feature for part in some.top(4)] == [part.feature for part in whole.top(int(mixed[4]))]
    with pytest.raises(ValueError, match="row 0 was not explained"):
        some.top(0)


def test_stumps_are_named_and_taken_together():
    X = np.array([[9.0, 0.0], [8.0, 1.0], [7.0, 0.0], [6.0, 1.0]])
    fitted = MultiplicativeRefiner().fit(pk.Queries(X, feature_names=["bm25", "fresh"]), [0, 1, 0, 1], base_score=0)
    top = fitted.explain(pk.Queries(X, feature_names=["bm25", "fresh"])).top(1, 1)[0]
    steps = fitted.steps_
    own = steps["weight"][(steps["feature"] == 1) & steps["is_above"]]
    assert top.feature == "fresh > 0.5"
    assert top.value == 1.0
    assert top.contribution == pytest.approx(own.sum() / 2)  # half of the list has it
