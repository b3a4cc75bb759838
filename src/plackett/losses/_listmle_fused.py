"""ListMLE and p-ListMLE for the objective's driver."""

from __future__ import annotations

from numba import cfunc

from plackett.losses._listmle import curvature_product, value_and_slope
from plackett.losses.fused import EVALUATE, MULTIPLY


@cfunc(EVALUATE, cache=True)
def evaluate(scores, indptr, order, bounds, level_indptr, weights, slope, values, first, last):
    value_and_slope(scores, indptr, order, bounds, level_indptr, weights, False, slope, values, first, last)


@cfunc(MULTIPLY, cache=True)
def multiply(scores, direction, indptr, order, bounds, level_indptr, weights, product, first, last):
    curvature_product(scores, direction, indptr, order, bounds, level_indptr, weights, False, product, first, last)


@cfunc(EVALUATE, cache=True)
def evaluate_efron(scores, indptr, order, bounds, level_indptr, weights, slope, values, first, last):
    value_and_slope(scores, indptr, order, bounds, level_indptr, weights, True, slope, values, first, last)


@cfunc(MULTIPLY, cache=True)
def multiply_efron(scores, direction, indptr, order, bounds, level_indptr, weights, product, first, last):
    curvature_product(scores, direction, indptr, order, bounds, level_indptr, weights, True, product, first, last)
