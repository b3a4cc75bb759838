"""The exponential and linear gain of a label, for kernels of cost-sensitive ListMLE."""

import numpy as np
from numba import njit

EXPONENTIAL, LINEAR = 0, 1
_POWERS = 2.0 ** -np.arange(1075.0)
_LOG_OF_2 = np.log(2.0)


@njit(cache=True, nogil=True)
def _power_of_two(exponent):
    """2**exponent; whole negative exponents, which are nearly all, come from a table."""
    if -1074.0 <= exponent <= 0.0 and exponent == np.floor(exponent):
        return _POWERS[np.uint64(-exponent)]
    return 2.0**exponent


@njit(cache=True, nogil=True)
def gain(label, best, kind):
    """Gain of a label over 2**best (exponential) or over best (linear, 1 if best is 0), so that nothing overflows."""
    if label <= 0.0:
        return 0.0
    if kind == LINEAR:
        return label / best if best > 0.0 else label
    if label < 1.0:  # 2**label − 1 without the cancellation
        return np.expm1(label * _LOG_OF_2) * _power_of_two(-best)
    return _power_of_two(label - best) - _power_of_two(-best)
