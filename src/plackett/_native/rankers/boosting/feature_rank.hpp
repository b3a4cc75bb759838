// FeatureRank and BL-FeatureRank: one step on a block of queries.
//
// Documents are in descending order of labels during training, in any order during prediction.
#pragma once
#include "core/lists.hpp"
#include "rankers/boosting/ranks.hpp"

namespace plackett::boosting {

enum Entering : Index { FEATURE = 0, MIXTURE = 1, BEFORE = 2 };  // input of a step of BL-FeatureRank

// The term that a step adds to the ranking so far: the feature's ranks, a mixture, or the ranking itself.
inline double entering(std::int32_t twice_feature, std::int32_t twice_before, Index choice, double beta) {
    const double feature = 0.5 * twice_feature, before = 0.5 * twice_before;
    if (choice == MIXTURE) return beta * before + (1.0 - beta) * feature;
    return choice == BEFORE ? before : feature;
}

// Rank each list by the previous ranking plus the weighted term, or by the mixture alone; count its pairs.
inline void rank_step(View<const std::int32_t> feature, View<const std::int32_t> before, bool is_mixture, double weight,
                      View<const Index> choices, View<const double> betas, bool is_counted,
                      View<const Index> level_start, View<const Index> level_end, View<const Index> indptr, Index first,
                      Index last, View<std::int32_t> after, View<Index> right, View<Index> wrong) {
    const SumRanker ranker(longest_list(indptr, first, last));
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1], n = stop - start;
        const View<const std::int32_t> own = feature.slice(start, stop), old = before.slice(start, stop);
        const View<std::int32_t> answer = after.slice(start, stop);
        const View<double> sums = ranker.sums(n);
        const double beta = betas[q];
        const Index choice = choices[q];
        if (is_mixture)
            for (Index i = 0; i < n; ++i) sums[i] = entering(own[i], old[i], MIXTURE, beta);
        else
            for (Index i = 0; i < n; ++i) sums[i] = 0.5 * old[i] + weight * entering(own[i], old[i], choice, beta);
        ranker.rank(answer);
        if (is_counted) {
            const LevelBounds levels{level_start.slice(start, stop), level_end.slice(start, stop)};
            std::tie(right[q], wrong[q]) = ranker.pairs(n, levels, n);
        }
    }
}

}  // namespace plackett::boosting
