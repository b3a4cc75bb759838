"""Thresholds of XGBoost's trees in double precision."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from plackett.formats.xgboost import last_below


@given(st.floats(width=32, allow_nan=False))
@example(-float(np.finfo(np.float32).max))
@example(float(np.finfo(np.float32).max))
def test_a_double_is_at_or_below_a_threshold_where_single_precision_is_below_it(threshold):
    single = np.float32(threshold)
    if single == -np.inf:
        return  # nothing is below
    (limit,) = last_below(np.array([single]))
    with np.errstate(over="ignore"):
        assert np.float32(limit) < single
        assert not np.float32(np.nextafter(limit, np.inf)) < single
    assert np.isfinite(limit)
