// Vectorised passes over the numbers of one list.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/arrays.hpp"
#include "core/exp.hpp"
#include "core/simd.hpp"

namespace plackett {

// The smallest and the largest number; NaN is ignored. Two independent accumulators hide the latency.
inline std::pair<double, double> range_of(View<const double> values) {
    constexpr double most = std::numeric_limits<double>::infinity();
    Lanes low[] = {every_lane(most), every_lane(most)}, high[] = {every_lane(-most), every_lane(-most)};
    const Index n_whole = values.size / (2 * N_LANES) * (2 * N_LANES);
    for (Index i = 0; i < n_whole; i += 2 * N_LANES)
        for (Index s = 0; s < 2; ++s) {
            const Lanes some = load_lanes(values.data + i + s * N_LANES);
            low[s] = smaller(some, low[s]);
            high[s] = larger(some, high[s]);
        }
    const Lanes lows = smaller(low[0], low[1]), highs = larger(high[0], high[1]);
    double least = lows[0], largest = highs[0];
    for (Index i = 1; i < N_LANES; ++i) least = std::min(least, lows[i]), largest = std::max(largest, highs[i]);
    for (const double value : values.slice(n_whole, values.size)) {
        least = std::min(least, value);
        largest = std::max(largest, value);
    }
    return {least, largest};
}

inline double largest_of(View<const double> values) { return range_of(values).second; }

// Gather the numbers at some indices. Unrolled by hand: gcc does not unroll it, and it took twice as long.
inline void take(View<const double> values, View<const Index> places, View<double> out) {
#pragma GCC unroll 4
    for (Index k = 0; k < places.size; ++k) out[k] = values[places[k]];
}

// Scatter numbers times a factor to some indices.
inline void put(double factor, View<const double> values, View<const Index> places, View<double> out) {
#pragma GCC unroll 4
    for (Index k = 0; k < places.size; ++k) out[places[k]] = factor * values[k];
}

// exp(values − top); at least about 1e-307.
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
