"""The net: flat lists without padding, attention that sees its own list alone."""

import itertools

import numpy as np
import pytest

from plackett.scorers.net_shape import ACTIVATIONS, NetShape

torch = pytest.importorskip("torch", reason="nets need PyTorch: pip install 'plackett[neural]'")

from plackett.scorers.neural import Net, stack_lists  # noqa: E402  it imports torch

SHAPE = NetShape(5, hidden=(12, 8), attention=2, has_output_bias=True, heads=2)


def made_net(shape=SHAPE, **options):
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=of, scale=0.5) for name, of in shape.weights.items()}
    return Net(shape, weights, **options), rng


def softmax(values):
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def normed(X, scale, shift):
    return (X - X.mean(axis=1, keepdims=True)) / np.sqrt(X.var(axis=1, keepdims=True) + 1e-5) * scale + shift


def literal_scores(net, X):
    """One list, written out from the formulas of hidden layers and of attention."""
    w, width = net.arrays(), net.shape.width
    for place in range(len(net.shape.hidden)):
        X = np.maximum(X @ w[f"hidden{place}.weight"].T + w[f"hidden{place}.bias"], 0.0)
    for place in range(net.shape.attention):
        name = f"attention{place}"
        inside = normed(X, w[f"{name}.attend.scale"], w[f"{name}.attend.shift"])
        looked = inside @ w[f"{name}.look.weight"].T + w[f"{name}.look.bias"]
        size = width // net.shape.heads
        found = np.empty_like(X)
        for head in range(net.shape.heads):
            asked, keys, values = (
                looked[:, part * width + head * size : part * width + (head + 1) * size] for part in range(3)
            )
            found[:, head * size : (head + 1) * size] = softmax(asked @ keys.T / np.sqrt(size)) @ values
        X = X + found @ w[f"{name}.join.weight"].T + w[f"{name}.join.bias"]
        inside = normed(X, w[f"{name}.think.scale"], w[f"{name}.think.shift"])
        wide = np.maximum(inside @ w[f"{name}.widen.weight"].T + w[f"{name}.widen.bias"], 0.0)
        X = X + wide @ w[f"{name}.narrow.weight"].T + w[f"{name}.narrow.bias"]
    return (X @ w["output.weight"].T + w.get("output.bias", 0.0))[:, 0]


def scores_of(net, X, indptr):
    with torch.no_grad():
        return net.scores(torch.from_numpy(X), stack_lists(indptr, net.device)).numpy()


@pytest.mark.parametrize("shape", [NetShape(5), NetShape(5, (7,)), NetShape(5, (8,), 1, heads=2), SHAPE], ids=str)
def test_scores_are_those_of_the_formulas(shape):
    net, rng = made_net(shape)
    X, indptr = rng.normal(size=(19, 5)), np.array([0, 4, 4, 5, 12, 16, 19])
    expected = [literal_scores(net, X[start:stop]) for start, stop in itertools.pairwise(indptr) if stop > start]
    np.testing.assert_allclose(scores_of(net, X, indptr), np.concatenate(expected), rtol=1e-10, atol=1e-12)


def test_attention_does_not_mind_the_order_of_the_documents():
    net, rng = made_net()
    X, shuffled = rng.normal(size=(30, 5)), rng.permutation(30)
    indptr = np.array([0, 30])
    scores = scores_of(net, X, indptr)
    np.testing.assert_allclose(scores_of(net, X[shuffled], indptr), scores[shuffled], rtol=1e-10, atol=1e-12)
    assert abs(scores_of(net, X, np.array([0, 15, 30])) - scores).max() > 1e-3  # it does see the list


def test_stacks_hold_every_row_once_in_lists_of_equal_length():
    stacks = stack_lists(np.array([0, 3, 3, 4, 7, 9]), torch.device("cpu"))
    assert stacks.shapes == [(1, 1), (1, 2), (2, 3)]
    assert stacks.order.tolist() == [3, 7, 8, 0, 1, 2, 4, 5, 6]
    assert stacks.order[stacks.back].tolist() == list(range(9))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_bends(activation):
    net, rng = made_net(NetShape(3, (6,), activation=activation))
    X = rng.normal(size=(5, 3))
    once, twice = (scores_of(net, factor * X, np.array([0, 5])) for factor in (1.0, 2.0))
    assert abs(twice - 2.0 * once).max() > 1e-2


def test_dropout_leaves_out_and_makes_up_for_it_and_only_while_learning():
    net, rng = made_net(NetShape(4, (1000,), activation="silu"), dropout=0.25)
    X = torch.from_numpy(rng.normal(size=(3, 4)))
    draws = [net.scores(X, None, torch.Generator().manual_seed(seed)).detach().numpy() for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).all()
    means = [net.scores(X, None, torch.Generator().manual_seed(seed)).detach().numpy() for seed in range(400)]
    np.testing.assert_allclose(np.mean(means, axis=0), net.scores(X).detach().numpy(), atol=1.5)  # of some 20 in size
    np.testing.assert_array_equal(net.scores(X).detach().numpy(), net.scores(X).detach().numpy())


def test_weights_as_a_vector_come_back():
    net, rng = made_net()
    vector = rng.normal(size=net.vector().size)
    net.set_vector(vector)
    np.testing.assert_array_equal(net.vector(), vector)
    assert net.penalty() == pytest.approx(
        sum(0.5 * (array**2).sum() for name, array in net.arrays().items() if name.endswith(".weight"))
    )
    assert set(net.arrays()) == set(SHAPE.weights)


def test_first_weights_keep_the_size_of_numbers_and_leave_pytorch_s_generator_alone():
    state = torch.get_rng_state()
    drawn = NetShape(500, (400,)).draw(np.random.default_rng(0))
    Net(NetShape(500, (400,)), drawn)
    assert torch.equal(torch.get_rng_state(), state)
    assert drawn["hidden0.weight"].var() == pytest.approx(1 / 500, rel=0.02)
    assert not drawn["hidden0.bias"].any()
    assert "output.bias" not in drawn
