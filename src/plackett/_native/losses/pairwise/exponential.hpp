// The exponential loss of pairs, e^-m, which factorises: O(n) per query.
//
// A pair costs e^(f_j - f_i) = to_worse_j * from_better_i, or equally from_worse_j * to_better_i. Going down the levels,
// `above` sums from_better over the levels passed; going up, `below` sums from_worse. Within a narrow range of scores both
// directions have the same factors, up and down. In a wide range each level has its own reference: the least score above it
// on the way down, the largest below it on the way up; `rescale` converts the sums from one to the next.
#pragma once
#include "core/lists.hpp"
#include "losses/pairwise/score_exponentials.hpp"

namespace plackett {

struct LevelPlan {  // of some queries: query q owns levels level_indptr[q]:level_indptr[q + 1], with these bounds in `order`
    View<const Index> order, indptr, bounds, level_indptr;

    Index n_queries() const { return indptr.size - 1; }
    View<const Index> rows(Index q) const { return order.slice(indptr[q], indptr[q + 1]); }
    View<const Index> bounds_of(Index q) const { return bounds.slice(level_indptr[q], level_indptr[q + 1] + 1); }
    Index longest(Index first, Index last) const { return longest_list(indptr, first, last); }
};

struct LevelSums {
    double first, second;
};

constexpr Index SHORT = 8;  // documents of a level below which vectors do not pay off

// Sums of the two numbers that `term` gives for each document first to last.
template <class Term>
inline LevelSums sum_level(Index first, Index last, Term term) {
    if (last - first == 1) return term(first);  // as in strict orders
    double one = 0.0, two = 0.0;
    if (last - first < SHORT) {
        for (Index k = first; k < last; ++k) {
            const LevelSums terms = term(k);
            one += terms.first;
            two += terms.second;
        }
        return {one, two};
    }
#pragma omp simd reduction(+ : one, two)
    for (Index k = first; k < last; ++k) {
        const LevelSums terms = term(k);
        one += terms.first;
        two += terms.second;
    }
    return {one, two};
}

class ExponentialPairs {  // work space for queries of up to `longest` documents
public:
    explicit ExponentialPairs(Index longest)
        : f(longest), up(longest), down(longest), out(longest), along(longest), to_better(longest), from_worse(longest),
          rescale_down(longest), rescale_up(longest) {}

    // Return the loss of a query times a weight. The output is, times this weight, each document's sum over its better
    // partners plus `sign` times that over its worse ones: -1 gives the slope, 1 the diagonal of the second derivative.
    double evaluate(const LevelPlan& plan, Index q, double weight, double sign, View<const double> scores,
                    View<double> answer) const {
        const View<const Index> rows = plan.rows(q), bounds = plan.bounds_of(q);
        const Index n_levels = bounds.size - 1, origin = plan.indptr[q];
        double loss = 0.0;
        if (weight == 0.0) {
            for (Index k = 0; k < rows.size; ++k) answer[rows[k]] = 0.0;
            return 0.0;
        }
        const Factors factors = prepare(plan, q, scores);
        double* o = out.view().data;
        const double *to = factors.to_worse, *from = factors.from_better;
        double above = 0.0;
        for (Index level = 0, first = 0; level < n_levels; ++level) {
            const Index last = bounds[level + 1] - origin;
            const auto [spent, gained] = sum_level(first, last, [=](Index k) {
                o[k] = to[k] * above;
                return LevelSums{to[k], from[k]};
            });
            loss += spent * above;
            above = factors.down(above, level) + gained;
            first = last;
        }
        to = factors.to_better, from = factors.from_worse;
        double below = 0.0;
        for (Index level = n_levels - 1, last = rows.size; level >= 0; --level) {
            const Index first = bounds[level] - origin;
            const double signed_below = sign * below;
            const double gained = sum_level(first, last, [=](Index k) {
                                      o[k] += to[k] * signed_below;
                                      return LevelSums{from[k], 0.0};
                                  }).first;
            below = factors.up(below, level) + gained;
            last = first;
        }
        put(weight, out, rows, answer);
        return weight * loss;
    }

    // The second derivative of a query's loss times a weight, times a direction.
    void multiply(const LevelPlan& plan, Index q, double weight, View<const double> scores, View<const double> direction,
                  View<double> product) const {
        const View<const Index> rows = plan.rows(q), bounds = plan.bounds_of(q);
        const Index n_levels = bounds.size - 1, origin = plan.indptr[q];
        if (weight == 0.0) {
            for (Index k = 0; k < rows.size; ++k) product[rows[k]] = 0.0;
            return;
        }
        const Factors factors = prepare(plan, q, scores);
        take(direction, rows, along);
        const double* t = along.view().data;
        double* o = out.view().data;
        const double *to = factors.to_worse, *from = factors.from_better;
        double above = 0.0, above_along = 0.0;
        for (Index level = 0, first = 0; level < n_levels; ++level) {
            const Index last = bounds[level + 1] - origin;
            const auto [gained, gained_along] = sum_level(first, last, [=](Index k) {
                o[k] = to[k] * (above * t[k] - above_along);
                return LevelSums{from[k], from[k] * t[k]};
            });
            above = factors.down(above, level) + gained;
            above_along = factors.down(above_along, level) + gained_along;
            first = last;
        }
        to = factors.to_better, from = factors.from_worse;
        double below = 0.0, below_along = 0.0;
        for (Index level = n_levels - 1, last = rows.size; level >= 0; --level) {
            const Index first = bounds[level] - origin;
            const auto [gained, gained_along] = sum_level(first, last, [=](Index k) {
                o[k] += to[k] * (below * t[k] - below_along);
                return LevelSums{from[k], from[k] * t[k]};
            });
            below = factors.up(below, level) + gained;
            below_along = factors.up(below_along, level) + gained_along;
            last = first;
        }
        put(weight, out, rows, product);
    }

private:
    struct Factors {
        const double *to_worse, *from_better, *to_better, *from_worse;
        const double *rescale_down, *rescale_up;  // null for a narrow range

        double down(double sum, Index level) const { return rescale_down == nullptr ? sum : sum * rescale_down[level]; }
        double up(double sum, Index level) const { return rescale_up == nullptr ? sum : sum * rescale_up[level]; }
    };

    Factors prepare(const LevelPlan& plan, Index q, View<const double> scores) const {
        const View<const Index> rows = plan.rows(q);
        const double *u = up.view().data, *d = down.view().data;
        const auto [middle, range] = gather(scores, rows, f);
        if (range > NARROW) {
            centre(f.slice(0, rows.size), middle);
            take_levels(plan, q);
            return {u, d, to_better.view().data, from_worse.view().data, rescale_down.view().data, rescale_up.view().data};
        }
        exponentials(f.slice(0, rows.size), middle, up, down);
        return {u, d, d, u, nullptr, nullptr};
    }

    // Factors with a reference for each level. Exponents are limited to NARROW, so that a document's sum is at most e^600.
    void take_levels(const LevelPlan& plan, Index q) const {
        const View<const Index> bounds = plan.bounds_of(q);
        const Index n_levels = bounds.size - 1, origin = plan.indptr[q];
        double least = INFINITE;
        for (Index level = 0; level < n_levels; ++level) {
            double inner = least;
            const Index first = bounds[level] - origin, last = bounds[level + 1] - origin;
            for (Index k = first; k < last; ++k) inner = std::min(inner, f[k]);
            for (Index k = first; k < last; ++k) {
                up[k] = level > 0 ? exp(std::min(f[k] - least, NARROW)) : 0.0;
                down[k] = exp(inner - f[k]);
            }
            rescale_down[level] = level > 0 ? exp(inner - least) : 0.0;
            least = inner;
        }
        double largest = -INFINITE;
        for (Index level = n_levels - 1; level >= 0; --level) {
            double inner = largest;
            const Index first = bounds[level] - origin, last = bounds[level + 1] - origin;
            for (Index k = first; k < last; ++k) inner = std::max(inner, f[k]);
            for (Index k = first; k < last; ++k) {
                to_better[k] = level < n_levels - 1 ? exp(std::min(largest - f[k], NARROW)) : 0.0;
                from_worse[k] = exp(f[k] - inner);
            }
            rescale_up[level] = level < n_levels - 1 ? exp(largest - inner) : 0.0;
            largest = inner;
        }
    }

    Scratch<double> f, up, down, out, along, to_better, from_worse, rescale_down, rescale_up;
};

}  // namespace plackett
