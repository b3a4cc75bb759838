// exp and log that the compiler vectorises, down to SSE2. Those of the C library take one call per number and several
// times as long. Operations must not be reordered: the two parts of ln 2 and the rounding by a large number depend on
// their order.
#pragma once
#include <bit>
#include <cstdint>

#if defined(__GNUC__) || defined(__clang__)
#define PLACKETT_INLINE [[gnu::always_inline]] inline  // a loop that contains a call is not vectorised
#else
#define PLACKETT_INLINE inline
#endif

namespace plackett {

constexpr double LOG2_E = 1.4426950408889634;
constexpr double LN2_HIGH = 6.93145751953125e-1, LN2_LOW = 1.42860682030941723212e-6;  // the first has few significant bits
constexpr double ROUNDER = 0x1.8p52;  // adding and subtracting it rounds to a whole number, which is in its low bits

// e ** x for x from -708 to 709, with a relative error below 1e-15; about 3e-308 below -708. The argument is a multiple of
// ln 2 plus a remainder of at most half of it. A polynomial of the remainder is scaled through the exponent bits.
PLACKETT_INLINE double exp(double x) {
    x = x < -708.0 ? -708.0 : x;
    const double shifted = x * LOG2_E + ROUNDER;
    const double whole = shifted - ROUNDER;
    const double r = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    double p = 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const auto power = (std::bit_cast<std::uint64_t>(shifted) << 52) + (std::uint64_t{1023} << 52);
    return p * std::bit_cast<double>(power);
}

// Natural logarithm of a positive normal number, with an error of about 1e-16 · (1 + |log x|). The exponent comes from the
// bits; the mantissa m in [2/3, 4/3) gives log m = 2 artanh((m - 1) / (m + 1)).
PLACKETT_INLINE double log(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    // the offset makes the exponent change at 4/3 instead of at 2
    const auto biased = (bits + (0x3FF0000000000000u - 0x3FE5555555555555u)) >> 52;
    // a whole number below 2**52 in the mantissa of 2**52 is that number plus 2**52, which is cheaper than a conversion
    const double power = std::bit_cast<double>(biased | 0x4330000000000000u) - (0x1p52 + 1023.0);
    const double m = std::bit_cast<double>(bits - ((biased - 1023) << 52));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    return power * LN2_HIGH + (power * LN2_LOW + (s * (p * z) + 2.0 * s));
}

// log(1 + x) for x from 0 to 1, with a relative error of about 2e-16. It is 2 artanh(z) with z = x / (2 + x), which the caller
// computes, because it can often share its division. The polynomial in z² is the best one for z from 0 to 1/3.
PLACKETT_INLINE double log_of_one_plus(double z) {
    const double t = z * z;
    double p = 0.17044163562781398;
    p = p * t + 0.083245065118608206;
    p = p * t + 0.12110168728069218;
    p = p * t + 0.13300374032674624;
    p = p * t + 0.15386614042304008;
    p = p * t + 0.18181740832504805;
    p = p * t + 0.22222224080747673;
    p = p * t + 0.28571428545454115;
    p = p * t + 0.40000000000185747;
    p = p * t + 0.66666666666666150;
    return z * (p * t) + 2.0 * z;
}

}  // namespace plackett
