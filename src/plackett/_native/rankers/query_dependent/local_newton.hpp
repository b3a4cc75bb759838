// Solver of a small convex problem: for the documents of a target's neighbours,
//
//     Σ_q c_q Σ_pairs L(w·(x_i - x_j)) + linear·w + (l2 / 2) ‖w‖²
//
// over the pairs in which i is better than j. Hundreds of such problems share the documents. One of them takes some
// milliseconds, far less than the overhead of a solver in Python. With the losses of margin_losses.hpp each row of X is a
// pair.
//
// Newton steps by conjugate gradients with a diagonal preconditioner. The hinge is smoothed, less and less until the
// duality gap is small enough.
#pragma once
#include <cmath>
#include <limits>

#include "scorers/linear.hpp"

namespace plackett::query_dependent {

constexpr double SETTLED = 0.3;      // share of the gap that may be due to the gradient when the smoothing changes
constexpr double LOOSE = 0.25;       // residual of the conjugate gradients, relative to the gradient
constexpr double ENOUGH = 1e-4;      // share of the predicted decrease that a step must achieve
constexpr double FLAT = 0.5;         // share of its slope that may remain at the end of a line search
constexpr Index MOST_CUTS = 60;
constexpr Index MOST_IDLE = 2;       // steps in a row without a decrease
constexpr double REACH = 10.0;       // times the largest score: limit of the first change of scores in a line search
constexpr double ROUNDING = 1e-14;   // share of a sum over pairs that may be a rounding error
constexpr double FAR = std::numeric_limits<double>::infinity();
constexpr double TINY = 1e-300;

struct Solution {
    double value = 0.0, gap = 0.0;  // the value is at most the gap above the minimum
    Index n_steps = 0;
    bool is_converged = true;
};

inline double largest(View<const double> values) {
    double most = 0.0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
}

inline double inner(View<const double> a, View<const double> b) { return dot<double>(a, b); }

template <class Loss>
class LocalNewton {
public:
    // `scale` is the preconditioner, about one over the second derivative by each coefficient.
    LocalNewton(Rows<const double> X, Loss& loss, double l2, View<const double> linear, View<const double> scale)
        : X(X), loss(loss), l2(l2), linear(linear), scale(scale), slope(X.n_rows), shift(X.n_rows), scores(X.n_rows),
          step(X.n_columns), residual(X.n_columns), along(X.n_columns), bent(X.n_columns), best(X.n_columns), here(X),
          there(X) {}

    // Minimise from `coef`, which is overwritten, until the value is within `tol` of the minimum. `at_zero` is the value
    // of equal scores: a start that is worse is replaced by zeros.
    Solution solve(View<double> coef, double at_zero, double tol, Index max_steps) {
        Solution found;
        std::copy_n(coef.begin(), coef.size, here.coef.view().begin());
        double allowed = at_zero;
        if constexpr (Loss::has_centres) {
            score(X, here.coef, here.scores);
            loss.fit_centres(here.scores, slope, [this](double sum) { return dual_value(sum); });
        }
        if constexpr (Loss::has_kink) allowed = loss.smoothed_at_zero(at_zero);
        here.value = evaluate(here);
        if (!(here.value <= allowed)) {
            here.coef.view().fill(0.0);
            here.value = evaluate(here);
        }
        const double first_norm = scaled_norm();
        best.view().fill(0.0);
        lowest = at_zero;
        double bound = 0.0;  // lower bound of all values
        Index n_idle = 0;
        while (true) {
            const double of_gradient = inner(here.gradient, here.gradient) / (2.0 * l2);
            const double settling = of_gradient + (Loss::has_kink ? std::abs(inner(here.gradient, here.coef)) : 0.0);
            // if the gradient alone gives a better bound, the gap need not be computed
            if (!Loss::has_kink || settling <= SETTLED * std::max(lowest - bound, ROUNDING * at_zero) ||
                found.n_steps >= max_steps) {
                bound = std::min(std::max(bound, look(of_gradient)), lowest);
                const double target = tol * std::max(bound, 0.1 * lowest);
                // a gap within rounding is uninformative; under a strong penalty, which keeps the minimum close to the
                // value of zeros, the gradient then bounds the distance to the minimum
                bool is_near = lowest - bound <= target;
                if (lowest - bound <= ROUNDING * at_zero) is_near = of_gradient <= target || lowest <= 0.5 * at_zero;
                if (is_near) break;
                if (Loss::has_kink && settling <= SETTLED * (lowest - bound)) {
                    // the remaining gap is due to the smoothing, which steps cannot reduce; it is proportional to
                    // the square of the width
                    if (!narrow(std::max(0.1, std::min(0.9, std::sqrt(0.5 * target / (lowest - bound)))))) {
                        found.is_converged = false;
                        break;
                    }
                    continue;
                }
            }
            if (found.n_steps >= max_steps) {
                found.is_converged = false;
                break;
            }
            find_direction(LOOSE * std::min(1.0, std::sqrt(scaled_norm() / std::max(first_norm, TINY))));
            const double before = here.value;
            const bool is_lower = descend();
            ++found.n_steps;
            n_idle = is_lower && here.value < before ? 0 : n_idle + 1;
            if (!is_lower || n_idle > MOST_IDLE) {  // the remaining decrease is below rounding
                n_idle = 0;
                if (!narrow(0.1)) {
                    found.is_converged = false;
                    break;
                }
            }
        }
        std::copy_n(best.view().begin(), coef.size, coef.begin());
        found.value = lowest;
        found.gap = std::max(lowest - bound, 0.0);
        return found;
    }

private:
    struct Point {
        explicit Point(Rows<const double> X) : coef(X.n_columns), gradient(X.n_columns), scores(X.n_rows) {}
        Scratch<double> coef, gradient, scores;
        double value = 0.0;
    };

    // Compute scores and gradient at the point's coefficients. Return the value.
    double evaluate(const Point& at) const {
        score(X, at.coef, at.scores);
        double value = loss.evaluate(at.scores, slope);
        for (Index j = 0; j < X.n_columns; ++j) at.gradient[j] = l2 * at.coef[j] + linear[j];
        value += straight_part(at.coef);
        pull_back(X, slope, at.gradient);
        return value;
    }

    // linear·w + (l2 / 2) ‖w‖².
    double straight_part(View<const double> coef) const {
        double value = 0.0;
        for (Index j = 0; j < coef.size; ++j) value += (0.5 * l2 * coef[j] + linear[j]) * coef[j];
        return value;
    }

    double scaled_norm() const {
        double square = 0.0;
        for (Index j = 0; j < X.n_columns; ++j) square += scale[j] * here.gradient[j] * here.gradient[j];
        return std::sqrt(square);
    }

    // The lower bound of the minimum that belongs to dual variables, whose sum is given and whose slope is in `slope`.
    double dual_value(double sum) const {
        std::copy_n(linear.begin(), linear.size, bent.view().begin());
        pull_back(X, slope, bent);
        return sum - inner(bent, bent) / (2.0 * l2);
    }

    // Smooth the kink less; false if that is not possible.
    bool narrow(double by) {
        if constexpr (Loss::has_kink) {
            if (!loss.narrow(by, here.scores)) return false;
            here.value = evaluate(here);
            return true;
        } else {
            (void)by;
            return false;
        }
    }

    // Keep the coefficients if their unsmoothed value is the lowest. Return a lower bound of the minimum.
    double look(double of_gradient) {
        double exact = here.value, below = here.value - of_gradient;
        if constexpr (Loss::has_kink) {
            // The slope of the smoothed loss gives feasible dual variables β, which correspond to the coefficients
            // `coef - gradient / l2`; their lower bound of the minimum is Σβ - (l2 / 2) ‖·‖².
            exact = loss.evaluate_exact(here.scores, slope) + straight_part(here.coef);
            below = loss.dual_sum(here.scores, slope);
            for (Index j = 0; j < X.n_columns; ++j) {
                const double other = here.coef[j] - here.gradient[j] / l2;
                below -= 0.5 * l2 * other * other;
            }
        }
        if (exact <= lowest * (1.0 + ROUNDING)) keep(exact, 1.0);  // at equal values the later one has the smaller gradient
        if constexpr (Loss::has_kink) {
            const double margin = loss.least_margin(here.scores);
            if (margin > 0.0 && margin < FAR) {  // all pairs in order: scaled to margins of 1 they have no loss
                double scaled = 0.0;
                for (Index j = 0; j < X.n_columns; ++j)
                    scaled += (0.5 * l2 / margin * here.coef[j] + linear[j]) * here.coef[j];
                if (scaled / margin < lowest) keep(scaled / margin, margin);
            }
        }
        return below;
    }

    void keep(double value, double margin) {
        lowest = value;
        for (Index j = 0; j < X.n_columns; ++j) best[j] = here.coef[j] / margin;
    }

    // Newton's direction by conjugate gradients, up to a residual of `accuracy` times the gradient.
    void find_direction(double accuracy) const {
        const auto curvature = loss.curvature(here.scores);
        double square = 0.0;
        step.view().fill(0.0);
        for (Index j = 0; j < X.n_columns; ++j) {
            residual[j] = -here.gradient[j];
            along[j] = scale[j] * residual[j];
            square += along[j] * residual[j];
        }
        const double first_square = square;
        for (Index k = 0; k < 2 * X.n_columns + 10; ++k) {
            for (Index j = 0; j < X.n_columns; ++j) bent[j] = l2 * along[j];
            curvature.add_product(X, along, bent);
            const double bend = inner(along, bent);
            if (!(bend > 0.0)) break;  // the gradient is exhausted
            const double length = square / bend, before = square;
            square = 0.0;
            for (Index j = 0; j < X.n_columns; ++j) {
                step[j] += length * along[j];
                residual[j] -= length * bent[j];
                square += scale[j] * residual[j] * residual[j];
            }
            if (square <= accuracy * accuracy * first_square) break;
            const double ratio = square / before;
            for (Index j = 0; j < X.n_columns; ++j) along[j] = scale[j] * residual[j] + ratio * along[j];
        }
    }

    // Line search for a lower value. Return whether there is one. A decrease below rounding is recognised by the slope:
    // if it has not risen much, the value has decreased.
    bool descend() {
        const double first_slope = inner(here.gradient, step);
        if (!(first_slope < 0.0)) return false;
        double length = 1.0;
        for (int k = 0; k < 2; ++k) {
            for (Index j = 0; j < X.n_columns; ++j) there.coef[j] = here.coef[j] + length * step[j];
            there.value = evaluate(there);
            const bool falls = there.value <= here.value + ENOUGH * length * first_slope;
            if (falls || (there.value <= here.value + ROUNDING * std::abs(here.value) &&
                          inner(there.gradient, step) <= -FLAT * first_slope)) {
                std::swap(here, there);
                return true;
            }
            if (k == 0) length = search(first_slope);
            if (length == 0.0) break;
        }
        return false;
    }

    // A length between 0 and 1 near the minimum along the step; 0 without a minimum. The slope along the step rises from
    // `first_slope`, below 0, to above 0, possibly within a very short interval, if a pair that is hardly active meets
    // a weak penalty. Secant steps, which are exact between two kinks, therefore alternate with interval cuts.
    double search(double first_slope) const {
        score(X, step, shift);
        const double bend = l2 * inner(step, step), first_loss = here.value - straight_part(here.coef);
        double straight = 0.0;
        for (Index j = 0; j < X.n_columns; ++j) straight += (l2 * here.coef[j] + linear[j]) * step[j];
        double low = 0.0, high = 1.0, slope_low = first_slope, slope_high = FAR;
        double length = std::min(0.5, REACH * (1.0 + largest(here.scores)) / std::max(largest(shift), TINY));
        for (Index k = 0; k < MOST_CUTS; ++k) {
            for (Index i = 0; i < X.n_rows; ++i) scores[i] = here.scores[i] + length * shift[i];
            const double total = loss.evaluate(scores, slope);
            const double slope_here = inner(slope, shift) + straight + length * bend;
            const double rise = total - first_loss + length * (straight + 0.5 * length * bend);
            if (std::abs(slope_here) <= -FLAT * first_slope && rise <= ENOUGH * length * first_slope) return length;
            if (slope_here <= 0.0) {
                low = length;
                slope_low = slope_here;
            } else {
                high = length;
                slope_high = slope_here;
            }
            if (k % 2 == 0 && slope_high < FAR)
                length = low + (high - low) * (slope_low / (slope_low - slope_high));
            else if (low < 0.01 * high)
                length = std::max(0.1 * high, 2.0 * low);
            else
                length = 0.5 * (low + high);
            if (!(low < length && length < high)) break;
        }
        return low;
    }

    Rows<const double> X;
    Loss& loss;
    double l2;
    View<const double> linear, scale;
    Scratch<double> slope, shift, scores, step, residual, along, bent, best;
    double lowest = 0.0;  // value of the best coefficients
    Point here, there;
};

}  // namespace plackett::query_dependent
