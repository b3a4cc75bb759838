// Enumerated pairs, vectorised: four better documents at a time against all their worse ones.
//
// Arrays are padded with PAD places whose score is minus infinity, so that they are never partners and vectors are always
// full.
#pragma once
#include "core/vector_ops.hpp"
#include "losses/pairwise/hinges.hpp"
#include "losses/pairwise/divide_and_conquer.hpp"

namespace plackett {

constexpr double FARTHEST = 1e140;  // scores are cut at this distance from the query's best, so that no square overflows
constexpr Index PAD = 8;
constexpr Index RAGGED = 8;  // rows whose first partners are within this distance are handled together

// Scores of one query in label order, relative to the largest, because results do not depend on a shift. Return whether all
// are finite; NaN is replaced by a low score, so that sorting works.
inline bool load(View<const double> scores, View<const Index> rows, View<double> values) {
    take(scores, rows, values);
    const double top = largest_of(values.slice(0, rows.size));
    double n_wrong = 0.0;
    double* value = values.data;
#pragma omp simd reduction(+ : n_wrong)
    for (Index k = 0; k < rows.size; ++k) {
        const double below = value[k] - top;
        n_wrong += below == below ? 0.0 : 1.0;
        value[k] = (below > -FARTHEST ? below : -FARTHEST) + 0.0;  // -0 becomes 0: sorting compares bits
    }
    return n_wrong == 0.0;
}

// How many rows from i on, at most four, have nearly the same first partner.
inline Index group_size(View<const std::int32_t> run_end, Index i, Index stop) {
    Index n_rows = 1;
    while (n_rows < 4 && run_end[i + n_rows - 1] < stop && run_end[i + n_rows] - run_end[i] <= RAGGED) ++n_rows;
    return n_rows;
}

// Call `group(i, n_rows, first, last)` for the pairs whose worse document is in block:stop: up to `most` better documents
// from i on that share the partners first:last. `row(i, first, last)` handles the partners of one document before these.
// Rows count from 0, where run_end begins; run_end counts places from `origin`.
template <class Row, class Group>
inline void each_group(View<const std::int32_t> run_end, Index origin, Index block, Index stop, Index most, Row row,
                       Group group) {
    const auto begin = [&](Index i) { return std::max<Index>(std::min<Index>(run_end[i] - origin, stop), block); };
    for (Index i = 0; i < run_end.size && run_end[i] - origin < stop;) {
        const Index n_rows = most == 1 ? 1 : group_size(run_end, i, stop + origin);
        const Index common = begin(i + n_rows - 1);
        for (Index r = 0; r < n_rows - 1; ++r)
            if (begin(i + r) < common) row(i + r, begin(i + r), common);
        group(i, n_rows, common, stop);
        i += n_rows;
    }
}

// The end of the full vectors that cover first:last.
inline Index padded(Index first, Index last) { return first + (last - first + PAD - 1) / PAD * PAD; }

// Four numbers from row i on, of which n_rows exist; the others are `absent`.
template <class T, class Of>
inline void take_four(T (&four)[4], Index i, Index n_rows, T absent, Of of) {
    for (Index r = 0; r < 4; ++r) four[r] = r < n_rows ? of(i + r) : absent;
}

}  // namespace plackett
