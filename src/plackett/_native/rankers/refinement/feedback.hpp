// Sums of e^(F_j - F_i) over the pairs i ≻ j of the feedback of one query.
//
// Labels are given as the judged documents in label order, level by level, and explicit pairs as a list;
// up = e^F and down = e^(s - F) as in boosting.hpp, so that all sums are e^s times too large.
#pragma once
#include "core/arrays.hpp"

namespace plackett::refinement {

struct Feedback {
    View<const Index> judged, levels;  // level l is judged[levels[l]:levels[l + 1]], better than all levels before it
    View<const Index> better, worse;
};

// For each document, e^(F_j - F_i) over pairs in which it is better minus those in which it is worse. Return the sum
// over all pairs.
inline double pair_pulls(View<const double> up, View<const double> down, const Feedback& feedback, View<double> pulls) {
    const auto& [judged, levels, better, worse] = feedback;
    pulls.fill(0.0);
    double total = 0.0, below = 0.0, above = 0.0;
    for (Index level = 0; level < levels.size - 1; ++level) {
        for (Index place = levels[level]; place < levels[level + 1]; ++place) {
            const Index i = judged[place];
            pulls[i] += down[i] * below;
            total += down[i] * below;
        }
        for (Index place = levels[level]; place < levels[level + 1]; ++place) below += up[judged[place]];
    }
    for (Index level = levels.size - 2; level >= 0; --level) {
        for (Index place = levels[level]; place < levels[level + 1]; ++place) {
            const Index i = judged[place];
            pulls[i] -= up[i] * above;
        }
        for (Index place = levels[level]; place < levels[level + 1]; ++place) above += down[judged[place]];
    }
    for (Index pair = 0; pair < better.size; ++pair) {
        const double amount = down[better[pair]] * up[worse[pair]];
        pulls[better[pair]] += amount;
        pulls[worse[pair]] -= amount;
        total += amount;
    }
    return total;
}

// The sum over the pairs whose better document is on one side of a weak classifier and whose other one is not.
inline double pairs_across(View<const double> up, View<const double> down, const Feedback& feedback,
                           View<const bool> is_up, bool side) {
    const auto& [judged, levels, better, worse] = feedback;
    double total = 0.0, below = 0.0;
    for (Index level = 0; level < levels.size - 1; ++level) {
        for (Index place = levels[level]; place < levels[level + 1]; ++place) {
            const Index i = judged[place];
            if (is_up[i] == side) total += down[i] * below;
        }
        for (Index place = levels[level]; place < levels[level + 1]; ++place) {
            const Index i = judged[place];
            if (is_up[i] != side) below += up[i];
        }
    }
    for (Index pair = 0; pair < better.size; ++pair)
        if (is_up[better[pair]] == side && is_up[worse[pair]] != side) total += down[better[pair]] * up[worse[pair]];
    return total;
}

}  // namespace plackett::refinement
