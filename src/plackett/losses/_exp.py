"""``exp`` that the compiler turns into vector code; the library's is one call per number and several times slower.

The argument is split into a whole number of ln 2 and a rest of at most half of it; the rest goes through a polynomial,
the whole number into the exponent bits. Relative error below 1e-15 from -708 to 709; below, the answer is about 3e-308.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6  # ln 2 in two parts: the first has few bits
C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (float(1 / np.prod(np.arange(1.0, k + 1))) for k in range(3, 13))


@intrinsic
def _power_of_two(typing_context, exponent):
    """2.0 ** exponent of a whole float64, by writing its bits."""

    def generate(context, builder, signature, args):
        whole = builder.fptosi(args[0], ir.IntType(64))
        biased = builder.add(whole, ir.Constant(ir.IntType(64), 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(ir.IntType(64), 52)), ir.DoubleType())

    return types.float64(types.float64), generate


@njit(inline="always")
def exp(x):
    """E ** x of a float64 from -708 to 709."""
    x = max(x, -708.0)
    whole = np.floor(x * LOG2_E + 0.5)
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    p = C12
    p = p * r + C11
    p = p * r + C10
    p = p * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _power_of_two(whole)  # type: ignore[call-arg]


# log: the exponent comes from the bits, the rest m in [2/3, 4/3) through log m = 2 artanh((m - 1) / (m + 1))


@intrinsic
def _exponent(typing_context, x):
    """K with x = m · 2**k and m in [2/3, 4/3), of a positive normal float64; as a float64."""

    def generate(context, builder, signature, args):
        whole = ir.IntType(64)
        bits = builder.bitcast(args[0], whole)
        # what is added lets the exponent step at 4/3 instead of at 2
        shifted = builder.add(bits, ir.Constant(whole, 0x3FF0000000000000 - 0x3FE5555555555555))
        biased = builder.lshr(shifted, ir.Constant(whole, 52))
        # a whole number below 2**52 in the mantissa of 2**52 is that float plus 2**52: cheaper than a conversion
        lifted = builder.bitcast(builder.or_(biased, ir.Constant(whole, 0x4330000000000000)), ir.DoubleType())
        return builder.fsub(lifted, ir.Constant(ir.DoubleType(), 2.0**52 + 1023.0))

    return types.float64(types.float64), generate


@njit(inline="always")
def log(x):
    """Natural logarithm of a positive normal float64 (2.3e-308 and above); error about 1e-16 · (1 + |log x|)."""
    power = float(_exponent(x))  # type: ignore[call-arg]
    m = x * _power_of_two(-power)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 2.0 / 21.0
    p = p * z + 2.0 / 19.0
    p = p * z + 2.0 / 17.0
    p = p * z + 2.0 / 15.0
    p = p * z + 2.0 / 13.0
    p = p * z + 2.0 / 11.0
    p = p * z + 2.0 / 9.0
    p = p * z + 2.0 / 7.0
    p = p * z + 2.0 / 5.0
    p = p * z + 2.0 / 3.0
    return power * LN2_HIGH + (power * LN2_LOW + (s * (p * z) + 2.0 * s))
