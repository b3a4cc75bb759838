// Decision stumps (feature, threshold, side) as the weak classifiers of ranking refinement.
#pragma once
#include <bit>

#include "rankers/refinement/boosting.hpp"

namespace plackett::refinement {

using Place = std::uint32_t;

// The documents of a query sorted by each feature: row f of `order` has them in ascending order, and is_step(f, place) is
// whether the next value is larger, so that there is a threshold between them.
struct SortedColumns {
    Rows<const Place> order;
    Rows<const bool> is_step;
};

struct Stump {
    Index feature, place;  // the last of the documents below its threshold, by their order; -1: no stump
    double below;          // the sum of the pulls up to the place
};

inline void mark_steps(Rows<const double> columns, Rows<const Place> order, Rows<bool> is_step) {
    for (Index f = 0; f < order.n_rows; ++f) {
        const View<const double> values = columns[f];
        const View<const Place> places = order[f];
        const View<bool> steps = is_step[f];
        for (Index place = 0; place < places.size - 1; ++place)
            steps[place] = values[places[place]] != values[places[place + 1]];
        steps[places.size - 1] = false;
    }
}

// |sum| at a threshold, otherwise 0, without a branch, which would be mispredicted among repeated values.
inline double size_at(double sum, bool is_step) {
    const std::uint64_t without_sign = ~std::uint64_t{0} >> 1;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) & (is_step ? without_sign : 0));
}

// The largest |sum of the pulls up to a threshold| of a feature.
inline double largest_theta(View<const double> pulls, View<const Place> places, View<const bool> steps) {
    const Index n = pulls.size, half = n / 2;
    double below = 0.0, above = 0.0, most_below = 0.0, most_above = 0.0;
    for (Index place = 0; place < half; ++place) {  // from both ends, because each sum depends on the one before
        const Index back = n - 1 - place;
        below += pulls[places[place]];
        most_below = std::max(most_below, size_at(below, steps[place]));
        most_above = std::max(most_above, size_at(above, steps[back]));
        above += pulls[places[back]];
    }
    const double middle = half < n - half ? size_at(above, steps[half]) : 0.0;
    return std::max({most_below, most_above, middle});
}

// The stump with the largest θ, which is -below for the documents above its threshold.
//
// The pulls above a threshold and those below are opposite, as all pulls sum to 0. Of equal stumps the one with the
// smaller feature number, then with the smaller threshold, is chosen. `largest` has an entry for every feature. The
// place is -1 if no stump has an effect.
inline Stump best_stump(View<const double> pulls, const SortedColumns& sorted, View<double> largest) {
    double best = 0.0;
    for (Index f = 0; f < largest.size; ++f) {
        largest[f] = largest_theta(pulls, sorted.order[f], sorted.is_step[f]);
        best = std::max(best, largest[f]);
    }
    if (best <= TIE) return {0, -1, 0.0};
    for (Index f = 0; f < largest.size; ++f) {
        if (largest[f] < best - TIE) continue;
        const View<const Place> places = sorted.order[f];
        const View<const bool> steps = sorted.is_step[f];
        double below = 0.0;
        for (Index place = 0; place < places.size; ++place) {
            below += pulls[places[place]];
            if (steps[place] && std::abs(below) >= best - TIE) return {f, place, below};
        }
    }
    return {0, -1, 0.0};
}

// All rounds with exact stumps. Return the number of rounds; row t of `history` is the state after t rounds. Its
// columns: α, θ, μ, ν of the round, then err_w and err_t after it.
inline Index boost_stumps(Index n_rounds, Rows<const double> columns, Rows<const Place> order, Rows<const bool> is_step,
                          Rows<const double> powers, View<const Index> judged, View<const Index> levels,
                          View<const Index> better, View<const Index> worse, double eta, double gamma,
                          View<Index> features, View<double> thresholds, View<bool> is_above, Rows<double> history,
                          View<double> scores) {
    const Index n = scores.size;
    const Feedback feedback{judged, levels, better, worse};
    const SortedColumns sorted{order, is_step};
    const Scratch<double> up(n, 1.0), down(n, 1.0), base_up(n), base_down(n), four(4 * n), pulls(n),
        largest(order.n_rows);
    const Scratch<bool> is_up(n);
    const State state{up, down, base_up, base_down};
    const Rows<double> parts{four.view().data, 4, n};
    multiply(powers, up, down, base_up, base_down);
    scores.fill(0.0);
    double shift = 0.0;
    history[0].slice(0, 4).fill(0.0);
    for (Index t = 0;; ++t) {
        const Weights weights = weigh(state, feedback, eta, gamma, pulls);
        history(t, 4) = weights.err_w * std::exp(-shift);
        history(t, 5) = weights.err_t * std::exp(-shift);
        if (t == n_rounds || shift > LARGEST_SUM) return t;
        const auto [feature, last_below, below] = best_stump(pulls, sorted, largest);
        if (last_below < 0) return t;
        const View<const Place> places = order[feature];
        const bool side = below < 0.0;
        for (Index place = 0; place < n; ++place) is_up[places[place]] = (place > last_below) == side;
        const auto [mu, nu, alpha] = boost(is_up, powers, state, feedback, eta, weights.of_w, weights.of_t, parts);
        if (alpha <= 0.0) return t;
        for (Index i = 0; i < n; ++i) scores[i] += is_up[i] ? alpha : 0.0;
        shift += alpha;
        // μ and ν of the linear objective were e^s times too large, s being the sum before this round
        const double scale = gamma < 0.0 ? 1.0 : std::exp(alpha - shift);
        const double low = columns(feature, places[last_below]), high = columns(feature, places[last_below + 1]);
        const double middle = 0.5 * low + 0.5 * high;
        features[t] = feature;
        thresholds[t] = middle < high ? middle : low;  // adjacent floats
        is_above[t] = side;
        const double found[] = {alpha, (mu - nu) * scale, mu * scale, nu * scale};
        std::copy(found, found + 4, history[t + 1].slice(0, 4).begin());
    }
}

// Add the rounds first to last to the scores of rows, in the order of the rounds. The inner loop handles one column of some
// rows, so that the comparisons vectorise: most branches would be mispredicted.
template <class Real>
inline void add_stumps(Rows<const Real> X, View<const Index> features, View<const double> thresholds,
                       View<const bool> is_above, View<const double> alphas, Index first, Index last,
                       View<double> scores) {
    constexpr Index BLOCK = 128;
    Real values[BLOCK];
    for (Index start = 0; start < scores.size; start += BLOCK) {
        const Rows<const Real> rows = X.slice(start, std::min(start + BLOCK, scores.size));
        const View<double> own = scores.slice(start, start + rows.n_rows);
        for (Index t = first; t < last; ++t) {
            const double threshold = thresholds[t], above = is_above[t] ? alphas[t] : 0.0, below = alphas[t] - above;
            for (Index i = 0; i < rows.n_rows; ++i) values[i] = rows(i, features[t]);
#pragma omp simd
            for (Index i = 0; i < rows.n_rows; ++i) own[i] += values[i] > threshold ? above : below;
        }
    }
}

}  // namespace plackett::refinement
