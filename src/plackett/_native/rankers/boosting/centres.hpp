// Centres of relevance of features: sums over parts of lists in ascending order of relevance.
#pragma once
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::boosting {

// Compensated sum: the rounding error is added to the rest. No operand may be a product, because a fused multiply-add
// would change the rounding error.
inline void add_exactly(double& total, double& rest, double value) {
    const double longer = total + value, part = longer - total;
    rest += (total - (longer - part)) + (value - part);
    total = longer;
}

struct Places {
    Index start, stop;
};

// The documents of a part that count for its centre: 0 all, 1 the most, 2 the middle, 3 the least relevant third.
inline Places chosen_places(Index start, Index stop, Index centre) {
    const Index size = stop - start, third = (size + 2) / 3;
    if (centre == 0 || size < 3) return {start, stop};
    if (centre == 1) return {stop - third, stop};
    if (centre == 2) return {start + (size - third) / 2, start + (size - third) / 2 + third};
    return {start, start + third};
}

// Sums of the features over each part of queries first to last; the last column is the sum of the weights.
//
// `order` has the rows of each query in descending order of labels; X starts with row indptr[first]. Documents of a level
// share its places, so that a part gets the level's mean for each of its places. Compensated summation (`rests`) makes the
// sums independent of the order of the rows. `sizes` are sums of absolute values, which bound the rounding error.
template <class Real>
void add_to_centres(Rows<const Real> X, View<const Index> order, View<const Index> level_start,
                    View<const Index> indptr, View<const double> weights, Index centre, Index first, Index last,
                    Rows<double> totals, Rows<double> rests, Rows<double> sizes) {
    const Index n_features = X.n_columns, n_parts = totals.n_rows;
    const Scratch<double> total(n_features), rest(n_features), absolute(n_features), gained(n_features);
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], n = indptr[q + 1] - indptr[q];
        Index begin = 0;
        for (Index stop = n; stop > 0 && weights[q] > 0.0; stop = begin) {
            begin = level_start[start + stop - 1];
            const auto size = static_cast<double>(stop - begin);
            total.view().fill(0.0);
            rest.view().fill(0.0);
            absolute.view().fill(0.0);
            for (Index i = begin; i < stop; ++i) {
                const View<const Real> row = X[order[start + i] - indptr[first]];
#pragma omp simd
                for (Index f = 0; f < n_features; ++f) {
                    const auto value = static_cast<double>(row[f]);
                    add_exactly(total[f], rest[f], value);
                    absolute[f] += std::abs(value);
                }
            }
            const Index low = n - stop, high = n - begin;  // its places in ascending order of relevance
            for (Index part = low * n_parts / n; part < n_parts; ++part) {
                // part k has the places p with k n <= p K < (k + 1) n
                const Index part_start = (part * n + n_parts - 1) / n_parts;
                const Index part_stop = ((part + 1) * n + n_parts - 1) / n_parts;
                if (part_start >= high) break;
                const Places chosen = chosen_places(part_start, part_stop, centre);
                const Index n_places = std::min(high, chosen.stop) - std::max(low, chosen.start);
                if (n_places <= 0) continue;
                const double share = weights[q] * static_cast<double>(n_places);
                const View<double> part_total = totals[part], part_rest = rests[part], part_size = sizes[part];
#pragma omp simd
                for (Index f = 0; f < n_features; ++f) gained[f] = share * ((total[f] + rest[f]) / size);
#pragma omp simd
                for (Index f = 0; f < n_features; ++f) add_exactly(part_total[f], part_rest[f], gained[f]);
#pragma omp simd
                for (Index f = 0; f < n_features; ++f) part_size[f] += share * (absolute[f] / size);
                gained[0] = share;
                add_exactly(part_total[n_features], part_rest[n_features], gained[0]);
            }
        }
    }
}

}  // namespace plackett::boosting
