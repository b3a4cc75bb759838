"""The choice of the number of neighbours and of the penalty on held-out queries."""

import numpy as np
import pytest

import plackett as pk
from benchmarks.defaults import best_by_other_folds
from plackett.rankers.query_dependent import parameter_choice as choice
from plackett.rankers.query_dependent.parameter_choice import first_within_one_error, queries_to_hold_out
from plackett.reproductions.qsvm.draws import make_query_dependent

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def groups():
    """Two kinds of queries, told by their features."""
    return make_query_dependent(1, "II", random_state=0)


@pytest.fixture(scope="module")
def alike():
    """Queries that one function ranks best, with more columns than few neighbours can learn from."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120 * 6, 15))
    y = (X @ rng.normal(size=15) + 4 * rng.normal(size=len(X)) > 3).astype(float)
    return pk.Queries(X, y, np.repeat(np.arange(120), 6))


def test_few_neighbours_are_taken_where_queries_differ_and_all_where_they_are_alike(groups, alike):
    of_groups = pk.QueryDependentRanker().fit(groups.queries, query_features=groups.query_features)
    assert of_groups.n_neighbors_ == of_groups.query_weights_.n_neighbors == 15
    assert of_groups.n_neighbors_path_["n_neighbors"] == [40, 15]
    assert of_groups.n_neighbors_path_["ndcg@10"][1] > of_groups.n_neighbors_path_["ndcg@10"][0] + 0.03
    of_alike = pk.QueryDependentRanker(tol=1e-2).fit(alike[:60])
    assert of_alike.n_neighbors_ == 60


def test_the_defaults_of_qsvm_rank_new_queries_no_worse_than_ranksvm(alike):
    train, new = alike[:60], alike[60:]
    values = {
        name: pk.evaluate(new, pk.ranker(name, tol=1e-2).fit(train).predict(new), metrics=["map"])["map"]
        for name in ("qsvm", "knn-svm", "ranksvm")
    }
    assert values["qsvm"].mean() > values["ranksvm"].mean() - 0.01
    assert values["knn-svm"].mean() > values["ranksvm"].mean() - 0.01


def test_the_chosen_number_gives_the_models_that_it_gives_when_asked_for(groups):
    queries, features = groups.queries, groups.query_features
    chosen = pk.QueryDependentRanker(l2=0.01).fit(queries[:30], query_features=features[:30])
    asked = pk.QueryDependentRanker(l2=0.01, n_neighbors=chosen.n_neighbors_)
    asked.fit(queries[:30], query_features=features[:30])
    np.testing.assert_array_equal(chosen.coef_, asked.coef_)
    new = queries[30:], features[30:]
    np.testing.assert_array_equal(
        chosen.predict(new[0], query_features=new[1]), asked.predict(new[0], query_features=new[1])
    )
    assert asked.n_neighbors_path_ is None


def test_a_validation_set_chooses_the_number_and_the_strength_together(groups):
    queries, features = groups.queries, groups.query_features
    ranker = pk.QueryDependentRanker(l2=[10.0, 0.01]).fit(
        queries[:30], query_features=features[:30], eval_set=queries[30:], eval_query_features=features[30:],
        eval_metric="mre",
    )  # fmt: skip
    reached = {}
    for number in (30, 15):
        for l2 in (10.0, 0.01):
            one = pk.QueryDependentRanker(l2=l2, n_neighbors=number).fit(queries[:30], query_features=features[:30])
            scores = one.predict(queries[30:], query_features=features[30:])
            reached[number, l2] = pk.metrics.mre(queries[30:].y, scores, qid=queries[30:].qid).mean()
    assert (ranker.n_neighbors_, ranker.l2_) == min(reached, key=reached.get)
    of_best = [min(reached[number, l2] for l2 in (10.0, 0.01)) for number in (30, 15)]
    assert ranker.n_neighbors_path_["mre"] == pytest.approx(of_best, abs=0.01)


def test_the_order_of_the_queries_does_not_decide_which_are_held_out(alike, monkeypatch):
    monkeypatch.setattr(choice, "MOST_HELD_OUT", 20)
    expected = alike.ids[queries_to_hold_out(alike)]
    assert expected.size == 20
    order = np.random.default_rng(0).permutation(alike.n_queries)
    shuffled = alike[order]
    assert set(shuffled.ids[queries_to_hold_out(shuffled)].tolist()) == set(expected.tolist())


def test_the_first_within_one_standard_error_of_the_best_is_taken():
    rng = np.random.default_rng(0)
    best = rng.random(100)
    noise = rng.normal(size=100)
    noise -= noise.mean()
    noise /= noise.std(ddof=1)  # a standard error of 0.1 with 100 queries
    near, far = best - 0.09 + noise, best - 0.11 + noise
    assert first_within_one_error(np.array([far, near, best])) == 1
    assert first_within_one_error(np.array([near, best])) == 0
    assert first_within_one_error(np.array([best, best])) == 0
    assert first_within_one_error(np.array([np.append(far, np.nan), np.append(best, 0.0)])) == 1


def test_lists_without_anything_to_learn_take_all_neighbours():
    queries = pk.Queries(RNG.normal(size=(60, 2)), np.zeros(60), np.repeat(np.arange(20), 3))
    with pytest.warns(pk.exceptions.NothingToLearnWarning):
        assert pk.QueryDependentRanker().fit(queries).n_neighbors_ == 20


def test_a_name_that_is_not_auto_is_refused(alike):
    with pytest.raises(ValueError, match="n_neighbors='many'"):
        pk.QueryDependentRanker(n_neighbors="many").fit(alike[:5])


def test_the_best_setting_of_a_fold_is_chosen_on_other_folds():
    one = [np.array([0.1, 0.1]), np.array([0.9]), np.array([0.5])]
    other = [np.array([0.9, 0.9]), np.array([0.2]), np.array([0.5])]
    assert best_by_other_folds([one, other]) == [0, 1, 1]
