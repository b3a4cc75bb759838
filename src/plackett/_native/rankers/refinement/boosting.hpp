// One round of boosting for ranking refinement, for one query, without a matrix over pairs.
//
// Documents are numbered in ascending order of base score. With F the scores so far and s the sum of all weights α,
//
//     up = e^F,  down = e^(s - F),  base_up = W up,  base_down = W down,
//
// so that each α > 0 multiplies entries and adds positive products: nothing cancels for any number of rounds.
#pragma once
#include <cmath>

#include "core/vector_ops.hpp"
#include "rankers/refinement/base_pairs.hpp"
#include "rankers/refinement/feedback.hpp"

namespace plackett::refinement {

// Sums that differ by less, relative to all pair weights, are equal, because their summation order differs.
constexpr double TIE = 1e-12;
// Largest ratio of μ to ν: a classifier without errors gets the weight ½ ln of this, 13.8.
constexpr double LARGEST_RATIO = 1e12;
// Largest sum of all weights α: above it a product e^(F_j) e^(s - F_i), up to e^2s, may overflow.
constexpr double LARGEST_SUM = 300.0;

struct State {
    View<double> up, down, base_up, base_down;
};

// The factors of W's and of T's pairs, and the sums err_w and err_t over them, which are e^s times too large.
struct Weights {
    double of_w, of_t, err_w, err_t;
};

// Sums of γ over the pairs that a classifier orders correctly and wrongly, and its weight α.
struct Round {
    double mu, nu, alpha;
};

// pulls[i] = Σ_j γ_ij - γ_ji over the sum of all γ. gamma < 0 selects the multiplicative objective, whose factors are one
// over the sums; otherwise they are gamma and 1.
inline Weights weigh(const State& state, const Feedback& feedback, double eta, double gamma, View<double> pulls) {
    const auto up = state.up, down = state.down, base_up = state.base_up, base_down = state.base_down;
    const double of_pairs = pair_pulls(up, down, feedback, pulls);
    const double all_up = sum_of(up), all_down = sum_of(down);
    double err_w = 0.0;
#pragma omp simd reduction(+ : err_w)
    for (Index i = 0; i < up.size; ++i) err_w += down[i] * base_up[i];
    const double err_t = 0.5 * eta * all_up * all_down + (1.0 - eta) * of_pairs;
    double of_w = gamma, of_t = 1.0;
    if (gamma < 0.0) {
        of_w = 1.0 / err_w;
        of_t = err_t > 0.0 ? 1.0 / err_t : 0.0;  // eta = 0 and no feedback: T is empty
    }
    const double whole = of_w * err_w + of_t * err_t;
    if (whole <= 0.0) {  // neither the base ranker nor the feedback has a weight
        pulls.fill(0.0);
        return {of_w, of_t, err_w, err_t};
    }
    for (Index i = 0; i < up.size; ++i) {
        const double of_base = down[i] * base_up[i] - up[i] * (all_down - base_down[i]);
        const double of_rest = 0.5 * eta * (down[i] * all_up - up[i] * all_down);
        pulls[i] = (of_w * of_base + of_t * (of_rest + (1.0 - eta) * pulls[i])) / whole;  // one bound is valid for both
    }
    const double mean = sum_of(pulls) / static_cast<double>(pulls.size);
    for (double& pull : pulls) pull -= mean;  // their sum is 0 except for rounding, and stumps rely on it
    return {of_w, of_t, err_w, err_t};
}

// μ, ν and α of a weak classifier, and the update of the state by α; the state is unchanged if α is not positive. `parts`
// are four vectors of work space.
inline Round boost(View<const bool> is_up, Rows<const double> powers, const State& state, const Feedback& feedback,
                   double eta, double of_w, double of_t, Rows<double> parts) {
    const auto up = state.up, down = state.down, base_up = state.base_up, base_down = state.base_down;
    const Index n = up.size;
    const View<double> own_up = parts[0], own_down = parts[1], base_own_up = parts[2], base_own_down = parts[3];
    for (Index i = 0; i < n; ++i) {
        own_up[i] = is_up[i] ? up[i] : 0.0;
        own_down[i] = is_up[i] ? 0.0 : down[i];
    }
    multiply(powers, own_up, own_down, base_own_up, base_own_down);
    double right = 0.0, wrong = 0.0, up_there = 0.0, up_here = 0.0, down_there = 0.0, down_here = 0.0;
#pragma omp simd reduction(+ : right, wrong, up_there, up_here, down_there, down_here)
    for (Index i = 0; i < n; ++i) {
        const bool is_there = is_up[i];
        right += is_there ? down[i] * (base_up[i] - base_own_up[i]) : 0.0;
        up_there += is_there ? up[i] : 0.0;
        down_there += is_there ? down[i] : 0.0;
        wrong += is_there ? 0.0 : down[i] * base_own_up[i];
        up_here += is_there ? 0.0 : up[i];
        down_here += is_there ? 0.0 : down[i];
    }
    const double half = 0.5 * eta, rest = 1.0 - eta;
    const double mu = of_w * std::max(right, 0.0) +
                      of_t * (half * down_there * up_here + rest * pairs_across(up, down, feedback, is_up, true));
    const double nu = of_w * std::max(wrong, 0.0) +
                      of_t * (half * down_here * up_there + rest * pairs_across(up, down, feedback, is_up, false));
    if (mu <= nu) return {mu, nu, 0.0};
    const double alpha = 0.5 * std::log(nu > 0.0 ? std::min(mu / nu, LARGEST_RATIO) : LARGEST_RATIO);
    const double factor = std::exp(alpha);
    const double grown = factor - 1.0;  // not expm1: it must match what the factor does to the entries
    for (Index i = 0; i < n; ++i) {
        up[i] *= is_up[i] ? factor : 1.0;
        down[i] *= is_up[i] ? 1.0 : factor;
        base_up[i] += grown * base_own_up[i];
        base_down[i] += grown * base_own_down[i];
    }
    return {mu, nu, alpha};
}

}  // namespace plackett::refinement
