// Passes over the numbers of one list that become vector code.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/arrays.hpp"
#include "core/exp.hpp"

namespace plackett {

// The smallest and the largest; NaN counts as neither. Several strands, so that no step waits for the one before.
inline std::pair<double, double> range_of(View<const double> values) {
    constexpr double most = std::numeric_limits<double>::infinity();
    constexpr Index strands = 8;
    double low[strands], high[strands];
    for (Index s = 0; s < strands; ++s) low[s] = most, high[s] = -most;
    Index i = 0;
    for (; i + strands <= values.size; i += strands)
        for (Index s = 0; s < strands; ++s) {
            const double value = values[i + s];
            low[s] = value < low[s] ? value : low[s];
            high[s] = value > high[s] ? value : high[s];
        }
    for (; i < values.size; ++i) {
        low[0] = std::min(low[0], values[i]);
        high[0] = std::max(high[0], values[i]);
    }
    return {*std::min_element(low, low + strands), *std::max_element(high, high + strands)};
}

inline double largest_of(View<const double> values) { return range_of(values).second; }

// exp(values − top); where that is less than 1e-307 it is about that.
inline void exp_below(View<const double> values, double top, View<double> out) {
#pragma omp simd
    for (Index i = 0; i < values.size; ++i) out[i] = exp(values[i] - top);
}

inline double sum_of(View<const double> values) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < values.size; ++i) total += values[i];
    return total;
}

inline double inner_product(View<const double> a, View<const double> b) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < a.size; ++i) total += a[i] * b[i];
    return total;
}

}  // namespace plackett
