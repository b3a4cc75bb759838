// Break ties of scores by other scores, and hash rows.
#pragma once
#include <bit>
#include <cmath>
#include <limits>

#include "core/arrays.hpp"

namespace plackett {

inline double least_of(View<const double> scores, View<const Index> docs) {
    double least = scores[docs[0]];
    for (const Index doc : docs) least = std::min(least, scores[doc]);
    return least;
}

// Separate equal scores: group t has places starts[t] to starts[t + 1] of `order`, with ascending base scores.
//
// Groups of a query ascend too. A score of query q increases by less than most[q], and by less than half of the distance to
// the next group; scores that rounding leaves equal become the next representable number.
inline void spread_ties(View<const Index> order, View<const Index> starts, View<const double> base,
                   View<const Index> query_of, View<const double> most, View<double> scores) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    double last = -INFINITE;
    for (Index group = 0; group < starts.size - 1; ++group) {
        const Index first = starts[group], end = starts[group + 1], query = query_of[order[first]];
        if (group == 0 || query_of[order[first - 1]] != query) last = -INFINITE;
        const double value = least_of(scores, order.slice(first, end));
        double room = most[query];
        if (end < order.size && query_of[order[end]] == query) {
            const double ahead = least_of(scores, order.slice(end, starts[group + 2]));
            room = std::min(room, 0.5 * (ahead - value));
        }
        const double step = room / static_cast<double>(end - first);
        Index rank = 0;
        double score = std::max(value, std::nextafter(last, INFINITE));
        for (Index place = first; place < end; ++place) {
            if (place > first && base[order[place]] != base[order[place - 1]]) {
                ++rank;
                score = std::max(value + static_cast<double>(rank) * step, std::nextafter(score, INFINITE));
            }
            scores[order[place]] = score;
        }
        last = score;
    }
}

// A hash of each row that depends on all its values and their columns (the mixing steps of SplitMix64), independent of the
// precision of the rows; both zeros are equal.
template <class Real>
void row_keys(Rows<const Real> rows, View<std::uint64_t> keys) {
    for (Index i = 0; i < rows.n_rows; ++i) {
        const View<const Real> row = rows[i];
        std::uint64_t key = 0, place = 0;
        for (Index j = 0; j < row.size; ++j) {
            const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(row[j]) + 0.0);
            std::uint64_t mixed = bits + (place += 0x9E3779B97F4A7C15u);
            mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
            mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
            key += mixed ^ (mixed >> 31);
        }
        keys[i] = key;
    }
}

}  // namespace plackett
