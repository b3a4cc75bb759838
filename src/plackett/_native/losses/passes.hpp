// Passes over the numbers of one list that become vector code, for losses of any kind.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/arrays.hpp"
#include "core/exp.hpp"

namespace plackett {

// The smallest and the largest; NaN counts as neither. Four strands, so that no step waits for the one before.
inline std::pair<double, double> range_of(View<const double> values) {
    constexpr double most = std::numeric_limits<double>::infinity();
    double low[4] = {most, most, most, most}, high[4] = {-most, -most, -most, -most};
    Index i = 0;
    for (; i + 4 <= values.size; i += 4)
        for (Index lane = 0; lane < 4; ++lane) {
            low[lane] = values[i + lane] < low[lane] ? values[i + lane] : low[lane];
            high[lane] = values[i + lane] > high[lane] ? values[i + lane] : high[lane];
        }
    for (; i < values.size; ++i) {
        low[0] = std::min(low[0], values[i]);
        high[0] = std::max(high[0], values[i]);
    }
    return {std::min(std::min(low[0], low[1]), std::min(low[2], low[3])),
            std::max(std::max(high[0], high[1]), std::max(high[2], high[3]))};
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
