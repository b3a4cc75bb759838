// Personality diagnosis: how similar users rate, and which rating similar users gave an item.
//
// Ratings are stored by cell, an item and a level: raters[cell_ptr[c]:cell_ptr[c + 1]] are the users who rated item
// c / n_levels with level c % n_levels.
#pragma once
#include <cmath>
#include <limits>

#include "core/arrays.hpp"

namespace plackett::recommendation {

constexpr Index EXPECTED = 0, MOST_PROBABLE = 1;
constexpr double UNDERFLOWS = 1e-200;  // smaller sums of weights are computed again, relative to the item's best rater
constexpr double TIED = 1e-12;  // probabilities closer than this are equal, and the smaller rating is taken
constexpr double NO_LIKELIHOOD = -std::numeric_limits<double>::infinity();

struct Cells {
    View<const Index> cell_ptr, raters;
    Index n_levels;

    // The users who gave an item a level.
    View<const Index> who_gave(Index item, Index level) const {
        const Index cell = item * n_levels + level;
        return raters.slice(cell_ptr[cell], cell_ptr[cell + 1]);
    }
};

// Sums of log p(own rating | the other's) over the items of one user, up to a constant. log_p[x, y] is relative to a
// missing rating, so that users who did not rate an item add nothing.
inline void log_likelihoods(View<const Index> items, View<const Index> ratings, Rows<const double> log_p,
                            const Cells& cells, View<double> log_like) {
    log_like.fill(0.0);
    for (Index k = 0; k < items.size; ++k) {
        if (items[k] < 0) continue;  // not rated by any other user
        for (Index y = 0; y < cells.n_levels; ++y) {
            const double term = log_p(ratings[k], y);
            for (const Index i : cells.who_gave(items[k], y)) log_like[i] += term;
        }
    }
}

// Fill `sums` with the weight of the raters of each level. Return the total, 0 for an item without ratings.
inline double weigh_levels(Index item, View<const double> weights, View<const double> log_like, const Cells& cells,
                           View<double> sums) {
    const auto add_up = [&](const auto& weight_of) {
        double total = 0.0;
        for (Index y = 0; y < sums.size; ++y) {
            double sum = 0.0;
            for (const Index i : cells.who_gave(item, y)) sum += weight_of(i);
            sums[y] = sum;
            total += sum;
        }
        return total;
    };
    const double total = add_up([&](Index i) { return weights[i]; });
    if (total > UNDERFLOWS) return total;
    double best = NO_LIKELIHOOD;
    for (Index y = 0; y < sums.size; ++y)
        for (const Index i : cells.who_gave(item, y)) best = std::max(best, log_like[i]);
    if (best == NO_LIKELIHOOD) return 0.0;
    return add_up([&](Index i) { return std::exp(log_like[i] - best); });
}

// The place of the level h with the largest sum over y of p[h, y] · sums[y].
inline Index most_probable(View<const double> sums, Rows<const double> p) {
    double best = -1.0;
    Index chosen = 0;
    for (Index h = 0; h < sums.size; ++h) {
        double value = 0.0;
        for (Index y = 0; y < sums.size; ++y) value += p(h, y) * sums[y];
        if (value > best * (1.0 + TIED)) {
            best = value;
            chosen = h;
        }
    }
    return chosen;
}

// Predictions for requests first to last; entries of `out` without a prediction are not changed.
//
// Request r is for items wanted[starts[r]:stops[r]] and active user who[r], -1 for an unknown one; its predictions
// are written to `out` from targets[r] on. Active user a has rated items[indptr[a]:indptr[a + 1]]; left_out[a] is the rater
// that is the same user, or -1.
inline void diagnose(Index first, Index last, View<const Index> who, View<const Index> starts, View<const Index> stops,
                     View<const Index> targets, View<const Index> wanted, View<const Index> indptr,
                     View<const Index> items, View<const Index> ratings, View<const Index> left_out,
                     Rows<const double> log_p, Rows<const double> p, View<const double> levels,
                     View<const double> expected, View<const Index> cell_ptr, View<const Index> raters, Index n_raters,
                     Index answer, View<double> out) {
    const Cells cells{cell_ptr, raters, levels.size};
    const Scratch<double> log_like(n_raters), weights(n_raters), sums(levels.size);
    for (Index r = first; r < last; ++r) {
        const Index a = who[r];
        if (a < 0 || indptr[a] == indptr[a + 1]) continue;
        log_likelihoods(items.slice(indptr[a], indptr[a + 1]), ratings.slice(indptr[a], indptr[a + 1]), log_p, cells,
                        log_like);
        if (left_out[a] >= 0) log_like[left_out[a]] = NO_LIKELIHOOD;
        double best = NO_LIKELIHOOD;
        for (Index i = 0; i < n_raters; ++i) best = std::max(best, log_like[i]);
        if (best == NO_LIKELIHOOD) continue;  // no other rater
        for (Index i = 0; i < n_raters; ++i) weights[i] = std::exp(log_like[i] - best);
        for (Index place = starts[r]; place < stops[r]; ++place) {
            if (wanted[place] < 0) continue;
            const double total = weigh_levels(wanted[place], weights, log_like, cells, sums);
            if (total == 0.0) continue;
            double value = 0.0;
            if (answer == MOST_PROBABLE)
                value = levels[most_probable(sums, p)];
            else
                for (Index y = 0; y < levels.size; ++y) value += expected[y] * (sums[y] / total);
            out[targets[r] + place - starts[r]] = value;
        }
    }
}

}  // namespace plackett::recommendation
