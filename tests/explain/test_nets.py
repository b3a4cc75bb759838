"""Explained nets: integrals by many small steps, sums, and what depends on the list."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett.explain import nets as explain_net
from plackett.explain.nets import integrated_gradients
from plackett.scorers.net_shape import ACTIVATIONS, NetShape
from plackett.scorers.plain_net import PlainNet


def made(activation, hidden=(6, 5), steep=1.0, seed=0):
    rng = np.random.default_rng(seed)
    shape = NetShape(4, hidden, has_output_bias=True, activation=activation)
    return PlainNet.of(shape, {name: steep * rng.normal(size=of) for name, of in shape.weights.items()}), rng


@pytest.mark.parametrize("steep", [1.0, 30.0])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_parts_are_those_of_many_small_steps(activation, steep):
    net, rng = made(activation, steep=steep)
    X, start = rng.normal(size=(4, 4)), rng.normal(size=4)
    parts, n_steps = integrated_gradients(net, X, start), 5_000
    t = (np.arange(n_steps)[:, None] + 0.5) / n_steps
    for row, found in zip(X, parts, strict=True):
        expected = (row - start) * net.gradient(start + t * (row - start)).mean(axis=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-3 * np.abs(expected).max())


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(ACTIVATIONS), st.floats(-2.0, 3.0), st.integers(0, 1000))
def test_parts_sum_to_the_score_less_that_of_the_start(activation, size, seed):
    net, rng = made(activation, seed=seed)
    X = 10.0**size * rng.normal(size=(5, 4))
    start = X[0] * rng.integers(0, 2)  # one row that is the start, or 0
    parts = integrated_gradients(net, X, start)
    gaps = parts.sum(axis=1) - (net.scores(X) - net.scores(start[None]))
    sums = np.abs(parts).sum(axis=1)
    assert (np.abs(gaps) <= 1e-9 * sums + 1e-9).all()


def test_without_hidden_layers_a_part_is_a_product():
    net, rng = made("tanh", hidden=())
    X, start = rng.normal(size=(3, 4)), rng.normal(size=4)
    np.testing.assert_allclose(integrated_gradients(net, X, start), (X - start) * net.weights[0][0], rtol=1e-12)
    assert integrated_gradients(made("relu")[0], X[:0], start).shape == (0, 4)


@pytest.mark.parametrize("activation", ["gelu", "silu", "tanh"])
@pytest.mark.parametrize("distance", [1e-9, 1e-12, 1e-15])
def test_what_is_only_rounding_is_not_pursued(activation, distance, monkeypatch):
    net, rng = made(activation, hidden=(8, 8))
    start, n_points, gradient = 10.0 * rng.normal(size=4), [], PlainNet.gradient
    X = start + distance * rng.normal(size=(6, 4))
    monkeypatch.setattr(PlainNet, "gradient", lambda net, X: n_points.append(len(X)) or gradient(net, X))
    parts = integrated_gradients(net, X, start)
    assert sum(n_points) <= 6 * 2 * (explain_net.ENDS.size - 1)
    np.testing.assert_allclose(parts, (X - start) * gradient(net, start[None]), rtol=1e-6, atol=1e-3 * distance)


@pytest.mark.parametrize("activation", ["gelu", "silu", "tanh"])
def test_a_row_far_away_is_explained_too(activation):
    net, rng = made(activation)
    X = 1e20 * rng.normal(size=(5, 4))
    parts = integrated_gradients(net, X, np.zeros(4))
    gains = net.scores(X) - net.scores(np.zeros((1, 4)))
    assert np.abs(gains).min() > 0.1
    np.testing.assert_allclose(parts.sum(axis=1), gains, rtol=0, atol=1e-5 * np.abs(parts).sum(axis=1).max())


def test_a_net_that_bends_without_end_is_given_up_after_a_number_of_parts(monkeypatch):
    monkeypatch.setattr(explain_net, "POINTS", (1,))
    net, rng = made("tanh", hidden=(16,) * 6, steep=30.0)
    with pytest.raises(ValueError, match="oscillates so much"):
        integrated_gradients(net, 3.0 * rng.normal(size=(2, 4)), np.zeros(4))


# ---- the ranker --------------------------------------------------------------------------------------------------

DATA = pk.datasets.make_web_like(6, n_features=5, random_state=0)


def fitted(X=DATA, **params):
    pytest.importorskip("torch", reason="nets need PyTorch: pip install 'plackett[neural]'")
    ranker = pk.NeuralRanker(**{"hidden": (8, 6), "n_epochs": 3, "random_state": 0, **params})
    return ranker.fit(DATA) if X is DATA else ranker.fit(X, DATA.y, qid=DATA.qid)


@pytest.mark.parametrize(
    "params", [{}, {"activation": "tanh"}, {"normalize": "minmax", "loss": "squared"}, {"normalize": None}], ids=str
)
def test_contributions_sum_to_the_score_less_the_mean_of_the_list(params):
    ranker = fitted(**params)
    explanation = ranker.explain(DATA)
    scores = ranker.predict(DATA)
    np.testing.assert_array_equal(explanation.scores, scores)
    means = np.concatenate([np.full(b - a, scores[a:b].mean()) for a, b in itertools.pairwise(DATA.indptr)])
    np.testing.assert_allclose(explanation.baseline, means, rtol=1e-12)
    np.testing.assert_allclose(explanation.contributions.sum(axis=1), scores - means, atol=1e-5 * np.ptp(scores))
    comparison = explanation.why(0, 1)
    total = sum(part.difference for part in comparison.differences)
    assert total == pytest.approx(scores[0] - scores[1], abs=1e-5 * np.ptp(scores))


def test_the_way_begins_at_the_mean_of_the_training_rows_after_scaling():
    np.testing.assert_allclose(fitted().mean_row_, 0.0, atol=1e-5)
    ranker = fitted(normalize="minmax")
    scaled = ranker.normalizer_.transform(DATA.X)
    np.testing.assert_allclose(ranker.mean_row_, scaled.mean(axis=0), rtol=1e-5)
    X = np.maximum(DATA.X, 0.0)
    dense, csr = (fitted(of, normalize=None) for of in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(csr.mean_row_, dense.mean_row_, rtol=1e-6)
    np.testing.assert_allclose(
        csr.explain(sparse.csr_array(X)).contributions, dense.explain(X).contributions, rtol=1e-3, atol=1e-5
    )


def test_a_linear_net_is_explained_as_a_linear_ranker_is():
    net = fitted(hidden=(), precision="float64", n_epochs=30)
    linear = pk.LinearRanker(normalize="zscore").fit(DATA)
    linear.coef_ = net.weights_["output.weight"][0]
    ours, theirs = (ranker.explain(DATA, rows=[3, 1]) for ranker in (net, linear))
    np.testing.assert_allclose(ours.contributions, theirs.contributions, atol=1e-6)
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert ours.feature_names == theirs.feature_names


def test_rows_may_be_chosen_and_come_in_any_order():
    ranker = fitted()
    whole = ranker.explain(DATA).contributions
    order = np.random.default_rng(0).permutation(DATA.n_docs)
    some = ranker.explain(DATA.X[order], qid=DATA.qid[order], rows=[7, 2], docid=[f"d{row}" for row in order])
    np.testing.assert_allclose(some.contributions, whole[order[[7, 2]]], rtol=1e-9, atol=1e-9)
    assert some.docid == [f"d{row}" for row in order[[7, 2]]]
    with pytest.raises(ValueError, match="rows contains"):
        ranker.explain(DATA, rows=[DATA.n_docs])


def test_parameters_that_changed_after_the_fit_change_no_explanation(tmp_path):
    ranker = fitted()
    expected = ranker.explain(DATA, rows=[0]).contributions
    ranker.save(tmp_path / "net.plackett")
    for same in (ranker, pk.load(tmp_path / "net.plackett")):
        same.set_params(activation="tanh", attention=1, hidden=3)
        np.testing.assert_array_equal(same.explain(DATA, rows=[0]).contributions, expected)


def test_attention_is_refused_with_the_reason():
    with pytest.raises(NotImplementedError, match=r"depends on the features of all documents of the list"):
        fitted(attention=1, heads=1, n_epochs=1).explain(DATA)
