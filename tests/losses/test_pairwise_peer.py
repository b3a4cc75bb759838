"""Pairwise losses and their weights against rax, on scores without ties. Skipped if rax is not installed."""

import numpy as np
import pytest

from plackett.losses import Pairwise
from tests.losses import literal

rax = pytest.importorskip("rax", reason="a peer of the losses: pip install rax")
jax = pytest.importorskip("jax")

LOSSES = {
    "hinge": rax.pairwise_hinge_loss,
    "logistic": rax.pairwise_logistic_loss,
    "soft-zero-one": rax.pairwise_soft_zero_one_loss,
    "squared": rax.pairwise_mse_loss,
}
WEIGHTS = {
    "uniform": None,
    "label-difference": rax.labeldiff_lambdaweight,
    "lambdarank": rax.dcg_lambdaweight,
    "ndcg-loss2": rax.dcg2_lambdaweight,
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("weight", "normalize"),
    [*((weight, "none") for weight in WEIGHTS), ("lambdarank", "ideal"), ("ndcg-loss2", "ideal")],
)
def test_values_and_slopes_are_those_of_rax(loss, weight, normalize):
    rng = np.random.default_rng(0)
    options, factor = {}, 1.0
    if weight in ("lambdarank", "ndcg-loss2"):
        options["normalize"] = normalize == "ideal"
        factor *= 40  # rax multiplies these weights by the length of the list
    if loss == "squared":
        factor *= 2  # rax counts each pair in both directions
    ours = Pairwise(loss, weight, normalize=normalize)
    for _ in range(3):
        labels, scores = rng.integers(0, 4, 40).astype(np.float32), rng.normal(size=40).astype(np.float32)

        def theirs(scores, labels=labels):
            given = WEIGHTS[weight]
            weigh = given and (lambda *lists, **rest: given(*lists, **rest, **options))
            return LOSSES[loss](scores, labels, lambdaweight_fn=weigh, reduce_fn=jax.numpy.sum)

        expected, expected_slope = jax.value_and_grad(theirs)(scores)
        value, slope = ours.value_and_slope(scores, literal.lists_of(labels))
        assert factor * value == pytest.approx(float(expected), rel=1e-4)
        np.testing.assert_allclose(factor * slope, expected_slope, rtol=1e-4, atol=1e-5 * np.abs(slope * factor).max())
