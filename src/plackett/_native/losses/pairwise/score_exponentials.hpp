// Exponentials of one query's scores, for the smooth pairwise losses.
//
// Documents are in label order, the best first. Scores are relative to the middle of their range within the query. `up` and
// `down` are e to the score and to its negative, so that a pair costs a product instead of an exponential. If the range is
// too wide for that (NARROW), exponentials are computed per pair or per level.
#pragma once
#include "core/exp.hpp"
#include "losses/pairwise/enumeration.hpp"

namespace plackett {

constexpr double NARROW = 600.0;  // range of scores in which products of exponentials neither overflow nor lose precision

struct Spread {
    double middle, range;
};

// Scores of one query in label order, and their range.
inline Spread gather(View<const double> scores, View<const Index> rows, View<double> values) {
    take(scores, rows, values);
    const auto [low, high] = range_of(values.slice(0, rows.size));
    return {0.5 * low + 0.5 * high, 2.0 * (0.5 * high - 0.5 * low)};
}

// Make scores of any range relative to their middle.
inline void centre(View<double> values, double middle) {
    for (double& value : values) value = std::min(std::max(value - middle, -FARTHEST), FARTHEST);
}

// e to the scores minus their middle, whose range is at most NARROW, and to the negatives.
inline void exponentials(View<const double> values, double middle, View<double> up, View<double> down) {
    check_slice(0, values.size, std::min(up.size, down.size));
    const double* x = values.data;
    double *u = up.data, *d = down.data;
#pragma omp simd
    for (Index k = 0; k < values.size; ++k) {
        u[k] = exp(x[k] - middle);
        d[k] = 1.0 / u[k];
    }
}

}  // namespace plackett
