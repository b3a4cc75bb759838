"""A net in numpy: the scores and gradients of PyTorch's, and the corners of ReLU."""

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


def test_between_corners_a_score_is_a_straight_line():
    _, _, net, rng = made((9, 7, 5), seed=3)
    for start, end in rng.normal(size=(6, 2, 4), scale=2.0):
        places = net.corners(start, end)
        assert (places[0], places[-1]) == (0.0, 1.0)
        assert (np.diff(places) >= 0.0).all()
        assert places.size > 4

        def score(t, start=start, end=end):
            return net.scores(start + np.atleast_1d(t)[:, None] * (end - start))

        halfway = 0.5 * (places[:-1] + places[1:])
        ends = score(places)
        np.testing.assert_allclose(score(halfway), 0.5 * (ends[:-1] + ends[1:]), atol=1e-9)
        fine = np.linspace(0.0, 1.0, 4001)
        bends = np.abs(np.diff(score(fine), 2)) > 1e-9
        for t in fine[1:-1][bends]:  # and wherever it bends there is a corner
            assert np.abs(places - t).min() <= 2.6e-4


def test_a_row_that_stands_still_has_no_corners():
    _, _, net, rng = made((9, 7))
    row = rng.normal(size=4)
    assert net.corners(row, row).tolist() == [0.0, 1.0]
