// ListMLE and p-ListMLE, over label levels.
//
// Levels of a query run from the best to the lowest. Level l has size d, weight w (0 for the lowest, which is censored)
// and C = Σ e^f over its own and all lower documents. With Breslow's ties
//
//     loss = Σ_l w [ d log C − Σ f ],        slope_k = e^{f_k} Σ_{levels l at or above k's} w d / C_l − w.
//
// Efron's ties replace d log C by Σ_r log(C − (r/d) s), r = 0..d−1, where s is the level's own part of C. Relative to C
// this changes the level's pull from w d to w Σ_r 1/(1 − (r/d) s/C), with less on the level's own documents.
#pragma once
#include <cmath>
#include <limits>

#include "core/vector_ops.hpp"

namespace plackett {

struct WeightedLevels {  // level l has places bounds[l] to bounds[l + 1] of the order; weights per level, 0 for censored
    View<const Index> indptr, order, bounds, level_indptr;
    View<const double> weights;
    bool is_efron;

    Index n_levels(Index q) const { return level_indptr[q + 1] - level_indptr[q]; }
    Index most_levels(Index first, Index last) const {
        Index most = 0;
        for (Index q = first; q < last; ++q) most = std::max(most, n_levels(q));
        return most;
    }
};

namespace listmle {

constexpr double WIDEST = 600.0;  // queries with a wider range of scores use the slower form, which cannot
                                  // overflow

// Levels of one query; its rows are indices among all rows.
struct Query {
    View<const Index> order, bounds;
    View<const double> weights;
    bool is_efron;

    Query(const WeightedLevels& all, Index q)
        : order(all.order),
          bounds(all.bounds.slice(all.level_indptr[q], all.level_indptr[q + 1] + 1)),
          weights(all.weights.slice(all.level_indptr[q], all.level_indptr[q + 1])),
          is_efron(all.is_efron) {}
    Index n_levels() const { return weights.size; }
    Index size(Index level) const { return bounds[level + 1] - bounds[level]; }
    View<const Index> rows(Index level) const { return order.slice(bounds[level], bounds[level + 1]); }
    bool counts_ties(Index level) const { return is_efron && size(level) > 1 && weights[level] > 0.0; }
};

struct Efron {  // Σ_r of log(1 − c share), 1/(1 − c share) and c/(1 − c share), c = r/size, r = 0..size−1
    double logs = 0.0, pull = 0.0, less = 0.0;

    Efron(Index size, double share) {
        for (Index r = 0; r < size; ++r) {
            const double c = static_cast<double>(r) / static_cast<double>(size), rest = 1.0 - c * share;
            logs += std::log(rest);
            pull += 1.0 / rest;
            less += c / rest;
        }
    }
};

inline double weighted_logs(View<const double> weights, View<const double> sums) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < sums.size; ++i) total += weights[i] * log(sums[i]);
    return total;
}

// One query with a narrow range of scores; `slope` has e^f relative to its largest score, `top`.
inline double narrow(const Query& query, View<const double> scores, double top, View<double> slope, View<double> sums,
                     View<double> masses) {
    double below = 0.0;
    for (Index level = query.n_levels() - 1; level >= 0; --level) {
        double own = 0.0;
        for (const Index row : query.rows(level)) own += slope[row];
        below += own;
        sums[level] = below;
        masses[level] = own / below;
    }
    double loss = 0.0, pull = 0.0;
    for (Index level = 0; level < query.n_levels(); ++level) {
        const double weight = query.weights[level], mass = weight * static_cast<double>(query.size(level));
        double own_mass = mass, less = 0.0;
        if (query.counts_ties(level)) {
            const Efron efron(query.size(level), masses[level]);
            loss += efron.logs;
            own_mass = efron.pull;
            less = efron.less / sums[level];
        }
        pull += own_mass / sums[level];
        masses[level] = mass;
        double lost = 0.0;
        for (const Index row : query.rows(level)) {
            lost += top - scores[row];
            slope[row] = slope[row] * (pull - less) - weight;
        }
        loss += weight * lost;
    }
    return loss + weighted_logs(masses, sums);
}

// As `narrow`, without ties: one document per level, so that no level needs a loop.
inline double narrow_strict(View<const Index> order, View<const double> weights, View<const double> scores, double top,
                            View<double> slope, View<double> sums) {
    double below = 0.0;
    for (Index place = order.size - 1; place >= 0; --place) {
        below += slope[order[place]];
        sums[place] = below;
    }
    double loss = weighted_logs(weights, sums);
    for (Index place = 0; place < order.size; ++place) sums[place] = weights[place] / sums[place];
    double pull = 0.0;
    for (Index place = 0; place < order.size; ++place) {
        const Index row = order[place];
        pull += sums[place];
        loss += weights[place] * (top - scores[row]);
        slope[row] = slope[row] * pull - weights[place];
    }
    return loss;
}

// log C of every level, and the level's own share of C, for any finite scores.
inline void log_sums(const Query& query, View<const double> scores, View<double> logs, View<double> shares) {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    double top = nothing, below = 0.0;
    for (Index level = query.n_levels() - 1; level >= 0; --level) {
        double own_top = nothing, own = 0.0;
        for (const Index row : query.rows(level)) {
            if (scores[row] > own_top) {
                own = own * std::exp(own_top - scores[row]) + 1.0;
                own_top = scores[row];
            } else {
                own += std::exp(scores[row] - own_top);
            }
        }
        if (own_top > top) {
            below *= std::exp(top - own_top);
            top = own_top;
        }
        own *= std::exp(own_top - top);
        below += own;
        logs[level] = top + std::log(below);
        shares[level] = own / below;
    }
}

// One query with any finite scores: each level relative to its own C, which decreases from level to level.
inline double wide(const Query& query, View<const double> scores, View<double> slope, View<double> logs,
                   View<double> shares) {
    log_sums(query, scores, logs, shares);
    double loss = 0.0, pull = 0.0;
    for (Index level = 0; level < query.n_levels(); ++level) {
        const double weight = query.weights[level];
        double mass = weight * static_cast<double>(query.size(level)), less = 0.0;
        if (query.counts_ties(level)) {
            const Efron efron(query.size(level), shares[level]);
            loss += efron.logs;
            mass = efron.pull;
            less = efron.less;
        }
        if (level > 0) pull *= std::exp(logs[level] - logs[level - 1]);
        pull += mass;
        for (const Index row : query.rows(level)) {
            loss += weight * (logs[level] - scores[row]);
            slope[row] = std::exp(scores[row] - logs[level]) * (pull - less) - weight;
        }
    }
    return loss;
}

inline void evaluate(const WeightedLevels& levels, View<const double> scores, View<double> slope, View<double> values,
                     Index first, Index last) {
    const Index most = levels.most_levels(first, last);
    const Scratch<double> sum_room(most), share_room(most);
    for (Index q = first; q < last; ++q) {
        const Index start = levels.indptr[q], stop = levels.indptr[q + 1], n_levels = levels.n_levels(q);
        const auto own_scores = scores.slice(start, stop);
        const auto own_slope = slope.slice(start, stop);
        if (n_levels < 2) {
            own_slope.fill(0.0);
            values[q] = 0.0;
            continue;
        }
        const Query query(levels, q);
        const auto sums = sum_room.slice(0, n_levels), shares = share_room.slice(0, n_levels);
        const auto [low, high] = range_of(own_scores);
        if (!(high - low < WIDEST)) {
            values[q] = wide(query, scores, slope, sums, shares);
            continue;
        }
        exp_below(own_scores, high, own_slope);
        if (n_levels == stop - start)
            values[q] = narrow_strict(levels.order.slice(start, stop), query.weights, scores, high, slope, sums);
        else
            values[q] = narrow(query, scores, high, slope, sums, shares);
    }
}

}  // namespace listmle

}  // namespace plackett
