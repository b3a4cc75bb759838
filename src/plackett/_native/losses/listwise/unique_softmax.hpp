// Unique softmax: each document against all documents of lower levels.
//
// With B_l = Σ e^f over the levels below level l, and the gain w of the level,
//
//     loss = Σ_i w_i log(1 + B e^{−f_i}),    slope_k = e^{f_k} Σ_{i above k} w_i r_i / B − w_k r_k,    r = B / (B + e^f).
//
// Sums over the documents above are relative to B, which decreases from level to level, so that nothing overflows.
#pragma once
#include <cmath>

#include "losses/listwise/listmle.hpp"
#include "losses/loss.hpp"

namespace plackett {

class UniqueSoftmax final : public Loss {
public:
    explicit UniqueSoftmax(const WeightedLevels& levels) : levels(levels) {}

    View<const Index> indptr() const override { return levels.indptr; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        for_each_query(scores, first, last, [&](Index q, const listmle::Query& query, View<const double> below) {
            double loss = 0.0, pull = 0.0;
            for (Index level = 0; level < query.n_levels(); ++level) {
                const double weight = query.weights[level];
                double mass = 0.0;
                for (const Index row : query.rows(level)) {
                    slope[row] = level == 0 ? 0.0 : pull * std::exp(scores[row] - below[level - 1]);
                    if (weight == 0.0 || level == query.n_levels() - 1) continue;
                    const double excess = below[level] - scores[row];
                    const double rest = share_of_rest(excess);
                    loss += weight * (std::max(excess, 0.0) + std::log1p(std::exp(-std::abs(excess))));
                    slope[row] -= weight * rest;
                    mass += weight * rest;
                }
                pull = pull * shrinkage(below, level) + mass;
            }
            values[q] = loss;
        });
        for (Index q = first; q < last; ++q)
            if (levels.n_levels(q) < 2) {
                slope.slice(levels.indptr[q], levels.indptr[q + 1]).fill(0.0);
                values[q] = 0.0;
            }
    }

    // Document i adds w (diag(p) − p pᵀ), p = 1 − r for itself and r e^f / B for those below; m is their mean direction.
    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        product.slice(levels.indptr[first], levels.indptr[last]).fill(0.0);
        const Scratch<double> room(levels.most_levels(first, last));
        for_each_query(scores, first, last, [&](Index, const listmle::Query& query, View<const double> below) {
            const auto means = mean_directions(query, scores, direction, below, room);
            double pull = 0.0, turn = 0.0;
            for (Index level = 0; level < query.n_levels(); ++level) {
                const double weight = query.weights[level];
                double mass = 0.0, moment = 0.0;
                for (const Index row : query.rows(level)) {
                    if (level > 0)
                        product[row] = std::exp(scores[row] - below[level - 1]) * (pull * direction[row] - turn);
                    if (weight == 0.0 || level == query.n_levels() - 1) continue;
                    const double excess = below[level] - scores[row], rest = share_of_rest(excess);
                    const double own = share_of_rest(-excess), gap = direction[row] - means[level];
                    product[row] += weight * own * rest * gap;
                    mass += weight * rest;
                    moment += weight * rest * (means[level] + own * gap);
                }
                const double less = shrinkage(below, level);
                pull = pull * less + mass;
                turn = turn * less + moment;
            }
        });
    }

    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        diagonal.slice(levels.indptr[first], levels.indptr[last]).fill(0.0);
        for_each_query(scores, first, last, [&](Index, const listmle::Query& query, View<const double> below) {
            double pull = 0.0, square = 0.0;  // sums of p / e^f and of its square
            for (Index level = 0; level < query.n_levels(); ++level) {
                const double weight = query.weights[level];
                double mass = 0.0, mass_of_squares = 0.0;
                for (const Index row : query.rows(level)) {
                    if (level > 0) {
                        const double size = std::exp(scores[row] - below[level - 1]);
                        diagonal[row] = std::max(size * (pull - size * square), 0.0);
                    }
                    if (weight == 0.0 || level == query.n_levels() - 1) continue;
                    const double excess = below[level] - scores[row], rest = share_of_rest(excess);
                    diagonal[row] += weight * rest * share_of_rest(-excess);
                    mass += weight * rest;
                    mass_of_squares += weight * rest * rest;
                }
                const double less = shrinkage(below, level);
                pull = pull * less + mass;
                square = square * less * less + mass_of_squares;
            }
        });
    }

    // The sums of w p: diag(p) − p pᵀ is at most diag(p).
    void bound(View<const double> scores, View<double> limits, Index first, Index last) const override {
        limits.slice(levels.indptr[first], levels.indptr[last]).fill(0.0);
        for_each_query(scores, first, last, [&](Index, const listmle::Query& query, View<const double> below) {
            double pull = 0.0;
            for (Index level = 0; level < query.n_levels(); ++level) {
                const double weight = query.weights[level];
                double mass = 0.0;
                for (const Index row : query.rows(level)) {
                    if (level > 0) limits[row] = pull * std::exp(scores[row] - below[level - 1]);
                    if (weight == 0.0 || level == query.n_levels() - 1) continue;
                    const double excess = below[level] - scores[row];
                    limits[row] += weight * share_of_rest(-excess);
                    mass += weight * share_of_rest(excess);
                }
                pull = pull * shrinkage(below, level) + mass;
            }
        });
    }

private:
    WeightedLevels levels;

    // Call work(q, query, log B of each level but the lowest) for each query with two levels or more.
    template <class Work>
    void for_each_query(View<const double> scores, Index first, Index last, const Work& work) const {
        const Index most = levels.most_levels(first, last);
        const Scratch<double> log_room(most), share_room(most);
        for (Index q = first; q < last; ++q) {
            const Index n_levels = levels.n_levels(q);
            if (n_levels < 2) continue;
            const listmle::Query query(levels, q);
            const auto logs = log_room.slice(0, n_levels);  // of the sums over a level and those below
            listmle::log_sums(query, scores, logs, share_room.slice(0, n_levels));
            work(q, query, logs.slice(1, n_levels));
        }
    }

    static double share_of_rest(double excess) {  // 1 / (1 + e^−excess)
        const double small = std::exp(-std::abs(excess));
        return (excess > 0.0 ? 1.0 : small) / (1.0 + small);
    }

    // B of a level over that of the level above.
    static double shrinkage(View<const double> below, Index level) {
        return level == 0 || level >= below.size ? 0.0 : std::exp(below[level] - below[level - 1]);
    }

    // The mean direction over the levels below each level, weighted by e^f.
    static View<double> mean_directions(const listmle::Query& query, View<const double> scores,
                                        View<const double> direction, View<const double> below, View<double> room) {
        const auto means = room.slice(0, query.n_levels());
        means[query.n_levels() - 1] = 0.0;
        for (Index level = query.n_levels() - 2; level >= 0; --level) {
            double mean = level + 1 < below.size ? means[level + 1] * std::exp(below[level + 1] - below[level]) : 0.0;
            for (const Index row : query.rows(level + 1)) mean += direction[row] * std::exp(scores[row] - below[level]);
            means[level] = mean;
        }
        return means;
    }
};

inline Loss* make_unique_softmax(View<const Index> indptr, View<const Index> order, View<const Index> bounds,
                                 View<const Index> level_indptr, View<const double> weights) {
    return new UniqueSoftmax({indptr, order, bounds, level_indptr, weights, false});
}

}  // namespace plackett
