// Labels in descending order. Equal labels are interchangeable, so that no sort has to be stable.
#pragma once
#include <algorithm>
#include <functional>
#include <limits>

#include "core/vector_ops.hpp"

namespace plackett::metrics {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Count the labels equal to `level`; write the largest one below it, or -inf, to `next`.
inline Index count_level(View<const double> labels, double level, double& next) {
    double below = -INFINITE;
    Index n = 0;
#pragma omp simd reduction(max : below) reduction(+ : n)
    for (Index i = 0; i < labels.size; ++i) {
        const double label = labels[i] < level ? labels[i] : -INFINITE;
        below = label > below ? label : below;
        n += labels[i] == level;
    }
    next = below;
    return n;
}

// The best labels in descending order, as many as fit into `best`, which is at most all of them.
inline void best_labels(View<const double> labels, View<double> best) {
    constexpr Index FEW = 16, LEVELS = 8;
    if (labels.size <= FEW) {  // by insertion
        for (Index i = 0; i < labels.size; ++i) {
            const double label = labels[i];
            Index j = i;
            if (i >= best.size) {  // full: the label or the last one is dropped
                if (best.size == 0 || best[best.size - 1] >= label) continue;
                j = best.size - 1;
            }
            for (; j > 0 && best[j - 1] < label; --j) best[j] = best[j - 1];
            best[j] = label;
        }
        return;
    }
    double level = largest_of(labels);
    Index place = 0;
    for (Index n_levels = 0; place < best.size && n_levels < LEVELS; ++n_levels) {  // a few levels, the usual case, are
        double next;                                                               // counted by vectorised loops
        const Index stop = std::min(place + count_level(labels, level, next), best.size);
        best.slice(place, stop).fill(level);
        place = stop;
        level = next;
    }
    if (place == best.size) return;
    const Scratch<double> copy(labels.size);
    const View<double> all = copy.view();
    std::copy(labels.begin(), labels.end(), all.begin());
    if (best.size < all.size) std::nth_element(all.begin(), all.begin() + best.size, all.end(), std::greater<>());
    std::sort(all.begin(), all.begin() + best.size, std::greater<>());
    std::copy(all.begin(), all.begin() + best.size, best.begin());
}

}  // namespace plackett::metrics
