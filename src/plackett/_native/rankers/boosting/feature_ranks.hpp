// Rankings by single features, by their centres of relevance, and counts of correctly ordered pairs.
#pragma once
#include "core/lists.hpp"
#include "rankers/boosting/ranks.hpp"

namespace plackett::boosting {

// Twice the ranks of every feature, and if `is_counted` the pairs that they order right and wrong.
//
// X starts with row indptr[first]; the ranks, one row per feature, start with query 0. Documents are in the order of
// `order`. Feature f has the first n_centres[f] entries of its row of centres.
template <class Real>
void rank_features(Rows<const Real> X, View<const Index> order, View<const Index> indptr, Rows<const double> centres,
                   Rows<const Index> parts, Rows<const Index> signs, Rows<const Index> places,
                   View<const Index> n_centres, bool is_counted, View<const Index> level_start,
                   View<const Index> level_end, Index first, Index last, Rows<std::int32_t> ranks, Rows<Index> right,
                   Rows<Index> wrong) {
    const Index longest = longest_list(indptr, first, last), n_features = X.n_columns;
    const Scratch<double> columns(n_features * longest);
    const Scratch<Index> own(longest), sequence(longest), bounds(centres.n_columns + 2);
    const BucketSort sort(longest);
    const PairCounter count(longest);
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1], n = stop - start;
        for (Index i = 0; i < n; ++i) {
            const View<const Real> row = X[order[start + i] - indptr[first]];
            for (Index f = 0; f < n_features; ++f) columns[f * longest + i] = static_cast<double>(row[f]);
        }
        for (Index f = 0; f < n_features; ++f) {
            const View<double> values = columns.slice(f * longest, f * longest + n);
            const View<std::int32_t> answer = ranks[f].slice(start, stop);
            const Index k = n_centres[f];
            sort(values, own.slice(0, n));
            rank_by_parts({values, own.slice(0, n), sequence.slice(0, n), answer},
                          {centres[f].slice(0, k), parts[f].slice(0, k), signs[f].slice(0, k), places[f].slice(0, k)},
                          bounds);
            if (is_counted) {
                const LevelBounds levels{level_start.slice(start, stop), level_end.slice(start, stop)};
                const auto ties = [&](Index i) { return answer[sequence[i]] == answer[sequence[i - 1]]; };
                std::tie(right(q, f), wrong(q, f)) = count(sequence.slice(0, n), ties, levels, n);
            }
        }
    }
}

}  // namespace plackett::boosting
