"""Position weights, by hand and for long lists."""

import numpy as np
import pytest

from plackett.metrics.discounts import position_weights


@pytest.mark.parametrize(
    ("rule", "n", "expected"),
    [
        ("exp2", 4, [1, 3 / 7, 1 / 7, 0]),
        ("linear", 3, [2, 1, 0]),
        ("dcg", 3, [1, 1 / np.log2(3), 0.5]),
        ("exp2", 1, [0]),
    ],
)
def test_position_weights_by_hand(rule, n, expected):
    assert position_weights(rule, n) == pytest.approx(expected)


def test_position_weights_of_long_lists_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        weights = position_weights("exp", 5000, base=3.0)
    assert weights[0] == 1
    assert weights[1] == pytest.approx(1 / 3)
    assert (np.diff(weights) <= 0).all()
    with pytest.raises(ValueError, match="base=1; it must be above 1"):
        position_weights("exp", 5, base=1)
