"""A net in numpy: the scores and gradients of PyTorch's."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from plackett.scorers.net_shape import ACTIVATIONS, NetShape
from plackett.scorers.plain_net import PlainNet


def made(hidden, activation="relu", has_output_bias=True, seed=0):
    rng = np.random.default_rng(seed)
    shape = NetShape(4, hidden, has_output_bias=has_output_bias, activation=activation)
    arrays = {name: rng.normal(size=of) for name, of in shape.weights.items()}
    return shape, arrays, PlainNet.of(shape, arrays), rng


@pytest.mark.parametrize("hidden", [(), (5,), (7, 3)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scores_and_gradient_are_those_of_pytorch(activation, hidden):
    torch = pytest.importorskip("torch")
    from plackett.scorers.neural import Net

    shape, arrays, plain, rng = made(hidden, activation, has_output_bias=bool(hidden))
    X = rng.normal(size=(30, 4), scale=3.0)
    rows = torch.tensor(X, requires_grad=True)
    scores = Net(shape, arrays).scores(rows)
    scores.sum().backward()
    np.testing.assert_allclose(plain.scores(X), scores.detach().numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(plain.gradient(X), rows.grad.numpy(), rtol=1e-10, atol=1e-10)
    assert plain.n_inputs == 4


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_gradient_matches_finite_differences(activation):
    _, _, net, rng = made((6, 5), activation)
    for row in rng.normal(size=(5, 4)):
        gap = check_grad(lambda x: net.scores(x[None])[0], lambda x: net.gradient(x[None])[0], row)
        assert gap < 1e-4 * np.abs(net.gradient(row[None])).max()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_rounding_is_about_what_the_order_of_sums_changes(activation):
    _, _, net, rng = made((50, 50), activation)
    X, order = rng.normal(size=(200, 4), scale=3.0), rng.permutation(50)
    (first, second, last), (one, two, three) = net.weights, net.biases
    other = PlainNet(
        [first[order], second[:, order][order], last[:, order]], [one[order], two[order], three], activation
    )
    gaps, limits = np.abs(net.scores(X) - other.scores(X)), net.rounding(X)
    assert (gaps <= limits).all()
    assert gaps.max() > 1e-3 * limits.mean()
