// Gains of labels, for DCG and related measures.
#pragma once
#include <bit>
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::metrics {

// 2**exponent; whole exponents from -1022 to 0, the most common ones, are built from their bits.
inline double power_of_two(double exponent) {
    if (-1022.0 <= exponent && exponent <= 0.0) {
        const auto whole = static_cast<Index>(exponent);
        if (static_cast<double>(whole) == exponent)
            return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + whole) << 52);
    }
    return std::exp2(exponent);
}

// (2**label - 1) / 2**best, which does not overflow for labels up to best; 0 for labels of 0 or less. `smallest` is
// 2**-best.
inline double exponential_gain(double label, double best, double smallest) {
    if (label <= 0.0) return 0.0;
    constexpr double LOG_OF_2 = 0.69314718055994530942;
    if (label < 1.0) return std::expm1(label * LOG_OF_2) * smallest;  // without the cancellation
    return power_of_two(label - best) - smallest;
}

inline double exponential_gain(double label, double best) {
    return exponential_gain(label, best, power_of_two(-best));
}

// label / best, or the label itself if best is 0; 0 for labels of 0 or less.
inline double linear_gain(double label, double best) {
    if (label <= 0.0) return 0.0;
    return best > 0.0 ? label / best : label;
}

inline double gain(double label, double best, bool is_linear) {
    return is_linear ? linear_gain(label, best) : exponential_gain(label, best);
}

}  // namespace plackett::metrics
