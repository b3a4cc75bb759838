"""``check_loss`` passes ours, and names what is wrong with others."""

import numpy as np
import pytest

import plackett as pk
from plackett.losses import Loss, loss_names
from plackett.testing import check_loss
from tests.losses.moving_weights import LiteralLambda


# the value of PL-Rank, of sampled rankings, changes in steps: its slope is that of the expectation
@pytest.mark.parametrize("name", [name for name in loss_names() if name != "pl-rank"])
def test_our_losses_pass(name):
    check_loss(name)


class Logit(Loss):
    """Pairwise logistic loss, by a loop."""

    def value_and_slope(self, scores, queries):
        value, slope, labels = 0.0, np.zeros(scores.size), queries.labels
        for one in range(scores.size):
            for other in np.flatnonzero(labels < labels[one]):
                gap = scores[one] - scores[other]
                value += np.logaddexp(0, -gap)
                pull = -np.exp(-np.logaddexp(0, gap))
                slope[one] += pull
                slope[other] -= pull
        return value, slope


def test_an_own_loss_passes():
    check_loss(Logit())


def test_weights_may_move_with_the_ranks():
    check_loss(LiteralLambda())


def test_moving_weights_need_held_at():
    with pytest.raises(NotImplementedError, match="has moving weights but no held_at"):
        check_loss(changed(has_moving_weights=True))


def test_held_weights_must_give_the_same_value():
    loss = type("Other", (LiteralLambda,), {"held_at": lambda self, scores, lists: Logit()})()
    with pytest.raises(AssertionError, match="with the weights held at the same scores"):
        check_loss(loss)


def changed(**methods):
    return type("Changed", (Logit,), methods)()


def scaled_slope(self, scores, queries):
    value, slope = Logit.value_and_slope(self, scores, queries)
    return value, 1.01 * slope


def by_row(self, scores, queries):
    weights = np.arange(1.0, scores.size + 1)
    error = scores - queries.labels
    return 0.5 * np.sum(weights * error**2), weights * error


def with_kink(self, scores, queries):
    error = scores - queries.labels
    return np.abs(error).sum(), np.sign(error)


def in_place(self, scores, queries):
    answer = Logit.value_and_slope(self, scores, queries)
    scores += 1.0
    return answer


def random(self, scores, queries):
    value, slope = Logit.value_and_slope(self, scores, queries)
    return value * np.random.default_rng().uniform(1, 2), slope


def squared(self, scores, queries):
    error = scores - queries.labels
    return 0.5 * error @ error, error


def bent(self, scores, queries):
    return np.sin(scores).sum(), np.cos(scores)


def failing(self, scores, queries):
    raise ZeroDivisionError("no documents")


def mixes_queries(self, scores, lists, slope):
    slope[:] = scores - lists.labels
    return np.full(lists.n_queries, 0.5 * slope @ slope / lists.n_queries)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (changed(value_and_slope=scaled_slope), "slope is not the derivative of the value. Document"),
        (changed(value_and_slope=by_row, ignores_shifts=False), "the order of the documents matters"),
        (changed(value_and_slope=in_place), "changed the scores or labels"),
        (changed(value_and_slope=random), "two calls with the same scores differ"),
        (changed(value_and_slope=squared), "ignores_shifts is set, but 3 added"),
        (changed(value_and_slope=squared, ignores_shifts=False, is_scale_free=True), "is_scale_free is set"),
        (changed(value_and_slope=bent, ignores_shifts=False), "is_convex is set"),
        (changed(is_linear_in_labels=True), "is_linear_in_labels is set"),
        (changed(value_and_slope=failing), "raised ZeroDivisionError: no documents"),
        (changed(query_values=mixes_queries, ignores_shifts=False), "together|other queries|query_values gives"),
        (changed(curvature_at=lambda self, scores, lists: lambda direction: 0 * direction), "curvature_at is not"),
        (changed(lock=None, __reduce__=lambda self: 1 / 0), "cannot be copied to worker processes"),
    ],
)  # fmt: skip
def test_each_mistake_is_named(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss)


def test_a_kink_that_is_hidden_is_named():
    loss = changed(value_and_slope=with_kink, ignores_shifts=False)
    scores, lists = np.array([1.0, 0.0, 5.0]), pk.Queries(np.zeros((3, 1)), y=[1, 2, 3]).lists  # one score is its label
    from plackett.testing import losses

    with pytest.raises(AssertionError, match=r"it has a kink at document 0\. Set is_smooth = False"):
        losses._check_slope(losses._Case(loss, scores, lists, "three documents"))


def test_a_function_as_a_parameter_may_be_copied():
    class Changed(Loss):
        ignores_shifts = False

        def __init__(self, change=lambda error: error):
            self.change = change

        def value_and_slope(self, scores, queries):
            error = self.change(scores - queries.labels)
            return 0.5 * error @ error, error

    check_loss(Changed())


def test_a_copy_must_give_the_same_values():
    class Forgetful(Loss):
        ignores_shifts = False

        def __init__(self):
            self.scale = 2.0

        def __setstate__(self, state):
            self.scale = 1.0

        def value_and_slope(self, scores, queries):
            error = scores - queries.labels
            return 0.5 * self.scale * error @ error, self.scale * error

    with pytest.raises(AssertionError, match="in a copy, or the slopes differ"):
        check_loss(Forgetful())
