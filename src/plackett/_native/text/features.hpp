// Features that count terms; the layout of pairs, terms and counts is described in weighting.hpp.
#pragma once
#include <limits>

#include "core/arrays.hpp"

namespace plackett::text {

// columns: covered terms, their idf, then sum, min, max, mean and variance of tf, of tf / length, and of tf · idf
constexpr Index N_STATISTICS = 17;

// Sums and moments over the terms of the query, each as often as it occurs; `out` is zero on entry.
inline void term_statistics(View<const double> idf, View<const Index> lengths, View<const Index> terms,
                            View<const double> times, View<const Index> term_bounds, View<const std::int32_t> pairs,
                            View<const Index> pair_bounds, View<const Index> count_bounds,
                            View<const std::int32_t> counts, Rows<double> out) {
    for (Index q = 0; q + 1 < term_bounds.size; ++q) {
        const Index first = term_bounds[q], last = term_bounds[q + 1];
        Index place = count_bounds[q];
        double n_terms = 0.0;
        for (Index t = first; t < last; ++t) n_terms += times[t];
        if (n_terms == 0.0) continue;
        for (Index p = pair_bounds[q]; p < pair_bounds[q + 1]; ++p, place += last - first) {
            const View<double> row = out[p];
            const auto tf_of = [&](Index t) -> double { return counts[place + t - first]; };
            const auto fill_moments = [&](Index column, const auto& value_of) {
                double lowest = std::numeric_limits<double>::infinity(), highest = -lowest, total = 0.0, squares = 0.0;
                for (Index t = first; t < last; ++t) {
                    const double value = value_of(t);
                    lowest = std::min(lowest, value);
                    highest = std::max(highest, value);
                    total += times[t] * value;
                }
                const double mean = total / n_terms;
                for (Index t = first; t < last; ++t) {
                    const double difference = value_of(t) - mean;
                    squares += times[t] * (difference * difference);
                }
                row[column] = total;
                row[column + 1] = lowest;
                row[column + 2] = highest;
                row[column + 3] = mean;
                row[column + 4] = squares / n_terms;
            };
            const double per_word = 1.0 / static_cast<double>(std::max<Index>(lengths[pairs[p]], 1));
            fill_moments(2, tf_of);
            fill_moments(7, [&](Index t) { return tf_of(t) * per_word; });
            fill_moments(12, [&](Index t) { return tf_of(t) * idf[terms[t]]; });
            for (Index t = first; t < last; ++t)
                if (counts[place + t - first]) {
                    row[0] += times[t];
                    row[1] += times[t] * idf[terms[t]];
                }
        }
    }
}

}  // namespace plackett::text
