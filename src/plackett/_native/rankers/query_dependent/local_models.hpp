// The models of target queries, one after the other, for decreasing strengths of the penalty.
//
// psi, which is hinge(u) - max(0, -u), is minimised by the concave-convex procedure: the second part is repeatedly replaced
// by its tangent. No round can raise the objective.
#pragma once
#include "rankers/query_dependent/local_losses.hpp"
#include "rankers/query_dependent/local_newton.hpp"
#include "rankers/query_dependent/margin_losses.hpp"

namespace plackett::query_dependent {

constexpr double SLOPE_AT_KINK = 0.25;  // approximate second derivative of the loss: as many pairs are near the kink
constexpr Index MOST_ROUNDS = 50;       // of the concave-convex procedure

// The concave-convex procedure, started from the hinge's solution, which is in `coef` and `found`.
template <class Hinge>
void solve_psi(Rows<const double> X, Hinge& loss, double l2, double at_zero, View<const double> scale, double tol,
               Index max_steps, View<double> coef, Solution& found) {
    const Scratch<double> scores(X.n_rows), of_hinge(X.n_rows), slope(X.n_rows), linear(coef.size), trial(coef.size);
    const auto value_at = [&](View<const double> at) {
        score(X, at, scores);
        return loss.evaluate_psi(scores, slope) + 0.5 * l2 * inner(at, at);
    };
    double value = value_at(coef);
    bool is_done = false;
    for (Index round = 0; round < MOST_ROUNDS && !is_done; ++round) {
        // the tangent of -max(0, -u) acts on the pairs in the wrong order, which the hinge moves and the ramp does not
        loss.evaluate_exact(scores, of_hinge);
        loss.evaluate_psi(scores, slope);
        for (Index i = 0; i < X.n_rows; ++i) slope[i] -= of_hinge[i];
        linear.view().fill(0.0);
        pull_back(X, slope, linear);
        std::copy_n(coef.begin(), coef.size, trial.view().begin());
        const Solution convex = LocalNewton(X, loss, l2, linear, scale).solve(trial, at_zero, tol, max_steps);
        found.n_steps += convex.n_steps;
        found.is_converged = convex.is_converged;
        const double below = value_at(trial);
        if (below < value) std::copy_n(trial.view().begin(), coef.size, coef.begin());
        is_done = !(value - below > tol * value);
        value = std::min(value, below);
    }
    found.is_converged = found.is_converged && is_done;
    found.value = value;
    found.gap = std::numeric_limits<double>::quiet_NaN();  // not convex: there is no lower bound of the minimum
}

// The loss of equal scores, and the squared norm of its gradient by the coefficients; 0 if that is only rounding.
template <class Loss>
std::pair<double, double> look_at_zero(Rows<const double> X, const Loss& loss) {
    const Scratch<double> scores(X.n_rows, 0.0), slope(X.n_rows), gradient(X.n_columns, 0.0);
    const double value = loss.evaluate_exact(scores, slope);
    pull_back(X, slope, gradient);
    double longest = 0.0;
    for (Index i = 0; i < X.n_rows; ++i) longest = std::max(longest, inner(X[i], X[i]));
    const double square = inner(gradient, gradient);
    return {value, square > ROUNDING * value * (ROUNDING * value) * longest ? square : 0.0};
}

// The models of one target, from `start`, which is overwritten. `solved` is called with each strength's solution.
template <bool is_psi, class Loss, class Solved>
void solve_target(Rows<const double> X, Loss loss, View<const double> spread, View<const double> strengths, double tol,
                  Index max_steps, View<double> start, Solved solved) {
    const Index size = X.n_columns;
    const Scratch<double> scale(size), no_tilt(size, 0.0), of_psi(is_psi ? size : 0);
    const View<double> convex = start;
    const auto [at_zero, square] = look_at_zero(X, loss);
    constexpr bool has_shrinking_width = Loss::has_kink && !Loss::has_centres;
    double width = 0.0;
    if constexpr (has_shrinking_width) width = Loss::FIRST_WIDTH;
    Index n_steps_before = 2;
    for (Index s = 0; s < strengths.size; ++s) {
        const double l2 = strengths[s];
        if (square == 0.0) {  // no pairs, or only pairs of equal documents: equal scores are best
            convex.fill(0.0);
            solved(s, Solution{at_zero}, convex);
            continue;
        }
        // under a strong penalty the minimum is only about square / (2 l2) below the value at 0: the tolerance is
        // relative to that, so that 0 is not accepted as a solution
        const double near = tol * std::min(1.0, square / (4.0 * l2 * at_zero));
        if (n_steps_before <= 1)
            // such a strong penalty keeps all margins far from 1, where the loss is linear and its solution is
            // proportional to 1 / l2
            for (Index j = 0; j < size; ++j) convex[j] *= strengths[s - 1] / l2;
        for (Index j = 0; j < size; ++j) scale[j] = 1.0 / (l2 + SLOPE_AT_KINK * spread[j]);
        // a wide kink would move the start away from a nearby minimum: go on with the width of the strength before
        if constexpr (has_shrinking_width) loss.round_off(width);
        Solution found = LocalNewton(X, loss, l2, no_tilt, scale).solve(convex, at_zero, near, max_steps);
        if constexpr (has_shrinking_width) width = loss.width;
        if constexpr (is_psi) {
            std::copy_n(convex.begin(), size, of_psi.view().begin());
            solve_psi(X, loss, l2, at_zero, scale, near, max_steps, of_psi, found);
            solved(s, found, of_psi.view());
        } else {
            solved(s, found, convex);
        }
        n_steps_before = found.n_steps;
    }
}

inline void store(const Solution& found, View<const double> own, View<double> coef, View<double> known) {
    std::copy_n(own.begin(), own.size, coef.begin());
    known[0] = found.value, known[1] = found.gap;
    known[2] = static_cast<double>(found.n_steps), known[3] = found.is_converged ? 1.0 : 0.0;
}

// Target t has the neighbours queries[t_indptr[t]:t_indptr[t + 1]], whose pairs have the weight in `weights`. Rows of
// `coef` and `known` are targets within strengths; those of the first strength have the starts. `known` has value, gap,
// steps and whether it converged. `spread` is the curvature of the columns.
template <class Loss, bool is_psi, class Real>
void solve_targets(Rows<const Real> X, View<const Index> indptr, View<const std::int32_t> run_end,
                   Rows<const Index> steps, View<const Index> step_indptr, View<const double> spread,
                   View<const Index> target_indptr, View<const Index> queries, View<const double> weights,
                   View<const double> strengths, double tol, Index max_steps, Rows<double> coef, Rows<double> known) {
    const TrainingLists<Real> lists{X, indptr, run_end, steps, step_indptr};
    const Index n_targets = target_indptr.size - 1;
    const Scratch<double> start(X.n_columns);
    for (Index t = 0; t < n_targets; ++t) {
        const Index first = target_indptr[t], last = target_indptr[t + 1];
        const Neighborhood part(lists, queries.slice(first, last), weights.slice(first, last));
        std::copy_n(coef[t].begin(), start.view().size, start.view().begin());
        solve_target<is_psi>(part.X(), Loss(part), spread, strengths, tol, max_steps, start.view(),
                             [&](Index s, const Solution& found, View<const double> own) {
                                 store(found, own, coef[s * n_targets + t], known[s * n_targets + t]);
                             });
    }
}

// The models of one target whose pairs are the rows of X, which have these weights; rows of `coef` and `known` are
// strengths.
template <class Loss, bool is_psi>
void solve_margins(Rows<const double> X, View<const double> weights, View<const double> strengths, double tol,
                   Index max_steps, Rows<double> coef, Rows<double> known) {
    const Scratch<double> spread(X.n_columns, 0.0), start(X.n_columns);
    add_squares(X, weights, spread);
    std::copy_n(coef[0].begin(), X.n_columns, start.view().begin());
    solve_target<is_psi>(X, Loss(weights), spread, strengths, tol, max_steps, start.view(),
                         [&](Index s, const Solution& found, View<const double> own) {
                             store(found, own, coef[s], known[s]);
                         });
}

}  // namespace plackett::query_dependent
