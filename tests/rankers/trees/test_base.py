"""Rankers by boosted trees of all packages: early stopping, weights, sparse rows, errors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import plackett as pk

RANKERS = {
    "lightgbm": pk.TreeRanker("lightgbm", n_rounds=12, learning_rate=0.3, min_data_in_leaf=5, num_leaves=7),
    "xgboost": pk.XGBoostRanker(n_rounds=12, learning_rate=0.3, max_depth=3),
}


@pytest.fixture(scope="module")
def parts():
    data = pk.datasets.make_web_like(50, 12, 6, random_state=1)
    return data[:30], data[30:]


@pytest.fixture(params=RANKERS)
def trees(request):
    """Few and small trees of each package that is installed."""
    pytest.importorskip(request.param)
    return clone(RANKERS[request.param])


def test_trees_learn_and_keep_those_up_to_the_best(trees, parts):
    train, validation = parts
    trees.fit(train, eval_set=validation, eval_metric="map")
    history = trees.history_["map"]
    assert trees.best_iteration_ == int(np.argmax(history)) + 1 == trees.n_rounds_
    assert trees.best_score_ == max(history)
    kept = pk.evaluate(validation, trees.predict(validation), metrics=["map"]).mean()["map"]
    assert kept == pytest.approx(trees.best_score_, abs=1e-12)
    floor = pk.evaluate(train, np.zeros(train.n_docs), metrics=["map"], reference_scores=True).reference_scores[
        "random order"
    ]["map"]
    assert pk.evaluate(train, trees.predict(train), metrics=["map"]).mean()["map"] > floor + 0.05


def test_without_validation_all_trees_are_used(trees, parts):
    train, validation = parts
    trees.fit(train)
    assert (trees.n_iter_, trees.n_rounds_, trees.stop_reason_) == (12, 12, "n_rounds reached")
    assert (trees.best_iteration_, trees.best_score_, trees.history_) == (None, None, {})
    assert np.isfinite(trees.predict(validation)).all()


def test_growing_ends_when_it_is_of_no_use(trees, parts):
    train, validation = parts
    trees.set_params(n_rounds=60, patience=2).fit(train, eval_set=validation)
    grown = len(trees.history_["ndcg@10"])
    assert grown < 60
    assert grown == trees.best_iteration_ + 2


def test_trees_are_the_same_every_time_and_rows_may_come_in_any_order(trees, parts):
    train, validation = parts
    first = trees.fit(train).predict(validation)
    np.testing.assert_array_equal(trees.fit(train).predict(validation), first)
    order = np.random.default_rng(0).permutation(validation.n_docs)
    shuffled = trees.predict(validation.X[order], qid=validation.qid[order])
    np.testing.assert_allclose(shuffled, first[order], rtol=1e-6)


def test_rows_may_be_sparse_wherever_they_come(trees, parts):
    """Fitted on either, both give the same scores; XGBoost's trees of sparse rows, where 0 is missing, are others."""
    train, validation = parts
    assert (train.X == 0).any()
    held = {form: form(validation.X) for form in (np.asarray, sparse.csr_array)}
    for form in held:
        trees.fit(form(train.X), train.y, qid=train.qid)
        one, other = (trees.predict(X) for X in held.values())
        np.testing.assert_array_equal(one, other)
        fits = [clone(trees).fit(form(train.X), train.y, qid=train.qid, eval_set=(X, validation.y, validation.qid))
                for X in held.values()]  # fmt: skip
        assert fits[0].history_ == fits[1].history_


def test_what_a_package_refuses_is_said_in_our_words(trees, parts):
    trees.set_params(max_depth="deep")
    with pytest.raises(ValueError, match=rf"^{trees.package} raised an error: .*deep") as said:
        trees.fit(parts[0])
    assert not any(word in str(said.value) for word in (".cpp", ".cc", "Stack trace"))


def test_a_lower_measure_keeps_the_lowest(trees, parts):
    trees.fit(parts[0], eval_set=parts[1], eval_metric="mre")
    assert trees.best_score_ == min(trees.history_["mre"])


def test_labels_that_trees_cannot_take_are_named(trees, parts):
    train = pk.Queries(parts[0].X, parts[0].y - 0.5, parts[0].qid)
    with pytest.raises(ValueError, match=r"needs labels that are whole numbers of at least 0; found -?\d\.5"):
        trees.fit(train)
    many = pk.Queries(parts[0].X, np.arange(parts[0].n_docs), parts[0].qid)
    assert np.isfinite(trees.set_params(n_rounds=2).fit(many).predict(many)).all()


def test_weights_of_rows_and_of_queries_are_the_same(trees, parts):
    train, _ = parts
    weights = np.random.default_rng(0).uniform(0.1, 2.0, train.n_queries)
    one = clone(trees).fit(train, sample_weight=weights).predict(train)
    other = clone(trees).fit(train, sample_weight=3.0 * np.repeat(weights, np.diff(train.indptr))).predict(train)
    np.testing.assert_allclose(one, other, rtol=1e-6)
    alone = clone(trees).fit(train).predict(train)
    assert not np.allclose(one, alone)
    np.testing.assert_allclose(
        clone(trees).fit(train, sample_weight=np.full(train.n_queries, 7.0)).predict(train), alone
    )


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_unknown_parameters_are_refused_with_a_hint(name, parts):
    pytest.importorskip(name)
    with pytest.raises(ValueError, match=r"has no parameter 'n_estimators'\. Did you mean n_rounds\?"):
        clone(RANKERS[name]).set_params(n_estimators=3).fit(parts[0])
