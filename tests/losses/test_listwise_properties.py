"""Table 3.1 of olinto2016 (from Xia et al. 2008): the properties of ListMLE, RankCosine and ListNet, and their absence.

Also ListNet over all permutations, (3.12), of which the loss here is the first stage: the top-one probabilities.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from plackett.losses import ListMLE, ListNet, RankCosine
from tests.losses import literal

LIKELIHOOD, COSINE, CROSS_ENTROPY = ListMLE(), RankCosine(), ListNet()
LOSSES = [LIKELIHOOD, COSINE, CROSS_ENTROPY]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["likelihood", "cosine", "cross entropy"])
LABELS = [3, 0, 4, 1, 2]
RANDOM = np.random.default_rng(31)
POINTS = [
    *RANDOM.normal(size=(6, 5)),
    np.array([1.0, 1.0, 1.0, -0.5, 2.0]),  # ties, where losses over ranks have jumps and kinks
    np.full(5, 2.0),
    np.arange(5.0),
    -np.array(LABELS, dtype=float),
]
DIRECTIONS = [*np.eye(5), *RANDOM.normal(size=(5, 5))]


def loss_of(loss, scores, labels=LABELS):
    """The loss of one list."""
    return float(literal.values_of(loss, scores, literal.lists_of(labels))[0])


# --- Soundness: a wrong order of two documents costs more than the right one ------------------------------------------

DISTANCES = np.linspace(-6, 6, 49)


def test_the_likelihood_loss_of_two_documents_is_a_falling_function_of_their_distance():
    values = [[loss_of(LIKELIHOOD, [level + d, level], [1, 0]) for d in DISTANCES] for level in (-3.0, 0.0, 5.0)]
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-12)  # only the distance counts
    assert (np.diff(values[0]) < 0).all()
    falls = -np.diff(values[0])
    assert (np.diff(falls) < 1e-12).all()  # steepest where the order is wrong


def test_every_error_costs_more_by_the_likelihood_loss_than_its_correction():
    rng = np.random.default_rng(7)
    for _ in range(200):
        labels, scores = rng.permutation(5), rng.normal(size=5)
        i, j = rng.choice(5, 2, replace=False)
        if (scores[i] - scores[j]) * (labels[i] - labels[j]) < 0:
            corrected = scores.copy()
            corrected[[i, j]] = scores[[j, i]]
            assert loss_of(LIKELIHOOD, corrected, labels) < loss_of(LIKELIHOOD, scores, labels)


@pytest.mark.parametrize(
    ("loss", "right", "wrong"),
    [(COSINE, [10.0, 0.1], [1.0, 1.1]), (CROSS_ENTROPY, [5.0, 0.0], [0.0, 0.1])],
    ids=["cosine", "cross entropy"],
)
def test_the_others_are_not_sound_a_right_order_may_cost_more_than_a_wrong_one(loss, right, wrong):
    labels = [2, 1]
    assert right[0] > right[1]
    assert wrong[0] < wrong[1]
    assert loss_of(loss, right, labels) > loss_of(loss, wrong, labels) + 0.01
    assert loss_of(LIKELIHOOD, right, labels) < loss_of(LIKELIHOOD, wrong, labels)


# --- Continuity, differentiability and convexity ----------------------------------------------------------------------


@every_loss
def test_losses_are_continuous_also_at_ties(loss):
    for point, direction in itertools.product(POINTS, DIRECTIONS):
        at = loss_of(loss, point)
        gaps = [abs(loss_of(loss, point + step * direction) - at) for step in (1e-2, 1e-5, 1e-8, -1e-8)]
        assert gaps[0] < 0.5
        assert gaps[1] < 1e-3
        assert max(gaps[2:]) < 1e-6


@every_loss
def test_losses_are_differentiable_also_at_ties(loss):
    step = 1e-6
    for point, direction in itertools.product(POINTS, DIRECTIONS):
        at = loss_of(loss, point)
        ahead = (loss_of(loss, point + step * direction) - at) / step
        behind = (at - loss_of(loss, point - step * direction)) / step
        _, slope = loss.value_and_slope(point, literal.lists_of(LABELS))
        assert ahead == pytest.approx(behind, abs=1e-4)
        assert float(slope @ direction) == pytest.approx((ahead + behind) / 2, abs=1e-4)


@pytest.mark.parametrize("loss", [LIKELIHOOD, CROSS_ENTROPY], ids=["likelihood", "cross entropy"])
def test_two_of_the_losses_are_convex(loss):
    rng = np.random.default_rng(3)
    for _ in range(300):
        one, other = rng.normal(size=(2, 5)) * rng.choice([0.1, 1, 10])
        share = rng.random()
        between = loss_of(loss, share * one + (1 - share) * other)
        assert between <= share * loss_of(loss, one) + (1 - share) * loss_of(loss, other) + 1e-12
    for point in POINTS:
        bend = literal.difference_hessian(loss, point, literal.lists_of(LABELS))
        assert np.linalg.eigvalsh((bend + bend.T) / 2).min() > -1e-8


def test_the_cosine_loss_is_not_convex():
    labels, one, other = [1, 0], np.array([1.0, 0.0]), np.array([-3.0, 0.0])
    assert loss_of(COSINE, one, labels) == pytest.approx(0, abs=1e-15)
    assert loss_of(COSINE, other, labels) == pytest.approx(1)
    assert loss_of(COSINE, (one + other) / 2, labels) == pytest.approx(1)  # above the mean of both
    bend = literal.difference_hessian(COSINE, np.array([1.0, 2.0]), literal.lists_of(labels))
    assert np.linalg.eigvalsh((bend + bend.T) / 2).min() < -0.01


# --- Consistency, as far as a check goes: the least expected loss has the most probable order -------------------------


def probability(order, values):
    """Probability of an order by Plackett and Luce, stage by stage; (3.12) prints the denominators from j = 1."""
    answer = 1.0
    for place in range(len(order)):
        answer *= math.exp(values[order[place]]) / sum(math.exp(values[other]) for other in order[place:])
    return answer


@every_loss
def test_the_least_expected_loss_orders_documents_by_their_probability(loss):
    worth = np.array([0.4, 1.5, -0.8, 0.0])
    orders = list(itertools.permutations(range(4)))
    chances = [probability(order, worth) for order in orders]
    assert sum(chances) == pytest.approx(1)
    labels = [[3 - order.index(document) for document in range(4)] for order in orders]

    def expected(scores):
        return sum(chance * loss_of(loss, scores, own) for chance, own in zip(chances, labels, strict=True))

    found = minimize(expected, np.array([0.1, -0.2, 0.2, 0.3]), tol=1e-10).x
    assert np.argsort(-found).tolist() == np.argsort(-worth).tolist()
    if loss is LIKELIHOOD:  # and even finds the worth of each
        np.testing.assert_allclose(found - found.mean(), worth - worth.mean(), atol=1e-4)


# --- ListNet over all permutations ------------------------------------------------------------------------------------


def over_permutations(scores, labels):
    """(3.12): the cross entropy of the probabilities of all n! orders."""
    return -sum(
        probability(order, labels) * math.log(probability(order, scores))
        for order in itertools.permutations(range(len(labels)))
    )


LISTS = [([1.0, 0.0], [0.3, -0.4]), ([2, 0, 1], [0.5, 0.1, -1.0]), (LABELS, POINTS[0]), ([1, 1, 0, 2, 0, 4], range(6))]
short_lists = pytest.mark.parametrize(("labels", "scores"), LISTS, ids=lambda values: str(len(values)))


def test_two_documents_have_one_stage():
    labels, scores = LISTS[0]
    assert loss_of(CROSS_ENTROPY, scores, labels) == pytest.approx(over_permutations(scores, labels), rel=1e-13)


@short_lists
def test_listnet_is_the_cross_entropy_of_the_first_document_of_all_permutations(labels, scores):
    n = len(labels)
    first = [
        [sum(probability(order, values) for order in itertools.permutations(range(n)) if order[0] == i)
         for i in range(n)]
        for values in (labels, scores)
    ]  # fmt: skip
    expected = -sum(own * math.log(other) for own, other in zip(*first, strict=True))
    assert loss_of(CROSS_ENTROPY, scores, labels) == pytest.approx(expected, rel=1e-12)


@short_lists
def test_listnet_over_all_permutations_is_listnet_stage_by_stage(labels, scores):
    """Each stage is ListNet on the documents that are left, weighted by the probability of those before."""
    total = 0.0
    for n_placed in range(len(labels) - 1):
        for placed in itertools.permutations(range(len(labels)), n_placed):
            chance, left = 1.0, [i for i in range(len(labels)) if i not in placed]
            for place, document in enumerate(placed):
                rest = [*placed[place:], *left]
                chance *= math.exp(labels[document]) / sum(math.exp(labels[other]) for other in rest)
            total += chance * loss_of(CROSS_ENTROPY, [scores[i] for i in left], [labels[i] for i in left])
    assert total == pytest.approx(over_permutations(scores, labels), rel=1e-12)


def test_both_forms_of_listnet_are_least_for_the_right_order_and_largest_for_the_reversed_one():
    labels = [2.0, 0.0, 1.0]
    for form in (over_permutations, lambda scores, own: loss_of(CROSS_ENTROPY, scores, own)):
        ranked = sorted(itertools.permutations(labels), key=lambda scores, form=form: form(scores, labels))
        assert (ranked[0], ranked[-1]) == ((2.0, 0.0, 1.0), (0.0, 2.0, 1.0))


def test_listmle_is_listnet_over_permutations_when_one_order_is_certain():
    scores = POINTS[0]
    order = np.argsort(LABELS)[::-1].tolist()
    assert loss_of(LIKELIHOOD, scores) == pytest.approx(-math.log(probability(order, scores)), rel=1e-12)
    far = [60.0 * label for label in LABELS]  # the order of the labels has a probability of almost 1
    assert loss_of(LIKELIHOOD, scores) == pytest.approx(over_permutations(scores, far), rel=1e-9)
