"""Losses as compiled functions of one fixed type, which the objective calls between scoring and pulling back.

Only losses of linear cost need this: for them a call from Python per block of queries would show. Every other loss
works through ``Loss.query_values``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

_FLOATS, _INTS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")

# scores, indptr, order, level bounds, level indptr, constants, slope (out), values (out), first query, last query
EVALUATE = types.void(_FLOATS, _INTS, _INTS, _INTS, _INTS, _FLOATS, _FLOATS, _FLOATS, types.int64, types.int64)
# scores, direction, indptr, order, level bounds, level indptr, constants, product (out), first query, last query
MULTIPLY = types.void(_FLOATS, _FLOATS, _INTS, _INTS, _INTS, _INTS, _FLOATS, _FLOATS, types.int64, types.int64)


class LabelArrays(NamedTuple):
    """What a fused loss knows of the labels: bounds, order, levels, and numbers of its own (per level or document)."""

    indptr: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    level_indptr: np.ndarray
    constants: np.ndarray


class Fused(NamedTuple):
    """The compiled functions of a loss: ``evaluate`` of type EVALUATE and, where it has curvature, ``multiply``."""

    evaluate: Any
    multiply: Any
    labels: LabelArrays
