// Losses of rows whose scores are the margins of pairs, Σ_t c_t L(x_t·w), for the solver in local_newton.hpp.
//
// The hinge is the largest y (1 - m) for dual variables y from 0 to 1. It is smoothed by a cost of
// (width / 2) (y - centre)². With the dual variables of the minimum as centres, the smoothed problem has the same minimum for any width. So the
// centres move to the dual variables just found (a proximal method on the dual). This needs a number for each pair, but,
// with as many coefficients as pairs, a third of the steps of a width that shrinks until it is negligible.
#pragma once
#include <cmath>
#include <numeric>

#include "rankers/query_dependent/local_newton.hpp"
#include "scorers/linear.hpp"

namespace plackett::query_dependent {

// Second derivative of a sum of losses: the rows that have one, and their values.
class MarginCurvature {
public:
    explicit MarginCurvature(Index n_rows) : places(n_rows), bends(n_rows), products(n_rows) {}

    void add(Index row, double bend) {
        places[n] = row;
        bends[n++] = bend;
    }
    void add_product(Rows<const double> X, View<const double> direction, View<double> product) const {
        const SelectedRows<double> rows{X, places.slice(0, n), X.n_columns};
        score(rows, direction, products.slice(0, n));
        for (Index k = 0; k < n; ++k) products[k] *= bends[k];
        pull_back(rows, products.slice(0, n), product);
    }

private:
    Scratch<Index> places;
    Scratch<double> bends, products;
    Index n = 0;
};

class MarginLogistic {
public:
    static constexpr bool has_kink = false, has_centres = false;

    explicit MarginLogistic(View<const double> weights) : weights(weights) {}

    double evaluate(View<const double> scores, View<double> slope) const {
        double total = 0.0;
        for (Index i = 0; i < weights.size; ++i) {
            const double small = std::exp(-std::abs(scores[i]));  // at most 1
            total += weights[i] * (std::max(-scores[i], 0.0) + std::log1p(small));
            slope[i] = -weights[i] * (scores[i] > 0.0 ? small : 1.0) / (1.0 + small);
        }
        return total;
    }
    double evaluate_exact(View<const double> scores, View<double> slope) const { return evaluate(scores, slope); }

    MarginCurvature curvature(View<const double> scores) const {
        MarginCurvature found(weights.size);
        for (Index i = 0; i < weights.size; ++i) {
            const double small = std::exp(-std::abs(scores[i]));
            found.add(i, weights[i] * small / ((1.0 + small) * (1.0 + small)));
        }
        return found;
    }

private:
    View<const double> weights;
};

class MarginHinge {
public:
    static constexpr bool has_kink = true, has_centres = true;
    static constexpr double FIRST_WIDTH = 1.0, LEAST_WIDTH = 1e-12;
    static constexpr double SHRINK = 0.5;  // of the width, each time the centres move
    static constexpr double START_WIDTHS[] = {1.0, 0.1, 0.01, 0.001};
    double width = FIRST_WIDTH;

    explicit MarginHinge(View<const double> weights) : weights(weights), centres(weights.size, 0.0) {}

    // Begin a problem: move the centres to the dual variables that fit the scores of a start best, those for the width
    // with the highest `bound`, which takes the sum of dual variables.
    template <class Bound>
    void fit_centres(View<const double> scores, View<double> slope, Bound bound) {
        if (largest(scores) > 0.0) {
            double best = -FAR, best_width = FIRST_WIDTH;
            for (const double trial : START_WIDTHS) {
                width = trial;
                const double found = bound(dual_sum(scores, slope));
                if (found > best) best = found, best_width = trial;
            }
            width = best_width;
            recentre(scores);
        }
        width = FIRST_WIDTH;
    }
    // Move the centres to the dual variables of the scores.
    bool narrow(double, View<const double> scores) {
        if (width <= LEAST_WIDTH) return false;
        recentre(scores);
        width *= SHRINK;
        return true;
    }

    double evaluate(View<const double> scores, View<double> slope) const {
        double total = 0.0;
        for (Index i = 0; i < weights.size; ++i) {
            const double y = dual(i, scores[i]), away = y - centres[i];
            total += weights[i] * (y * (1.0 - scores[i]) - 0.5 * width * away * away);
            slope[i] = -weights[i] * y;
        }
        return total;
    }
    double evaluate_exact(View<const double> scores, View<double> slope) const {
        double total = 0.0;
        for (Index i = 0; i < weights.size; ++i) {
            total += weights[i] * std::max(1.0 - scores[i], 0.0);
            slope[i] = scores[i] < 1.0 ? -weights[i] : 0.0;
        }
        return total;
    }
    double evaluate_psi(View<const double> scores, View<double> slope) const {
        double total = 0.0;
        for (Index i = 0; i < weights.size; ++i) {
            total += weights[i] * std::min(std::max(1.0 - scores[i], 0.0), 1.0);
            slope[i] = scores[i] >= 0.0 && scores[i] < 1.0 ? -weights[i] : 0.0;
        }
        return total;
    }
    // The value of equal scores, which have the dual variables 1.
    double smoothed_at_zero(double) const {
        double total = 0.0;
        for (Index i = 0; i < weights.size; ++i) {
            const double away = 1.0 - centres[i];
            total += weights[i] * (1.0 - 0.5 * width * away * away);
        }
        return total;
    }
    // The sum of the weighted dual variables, and their slope.
    double dual_sum(View<const double> scores, View<double> slope) const {
        for (Index i = 0; i < weights.size; ++i) slope[i] = -weights[i] * dual(i, scores[i]);
        return -std::accumulate(slope.begin(), slope.end(), 0.0);
    }
    double least_margin(View<const double> scores) const { return *std::min_element(scores.begin(), scores.end()); }

    MarginCurvature curvature(View<const double> scores) const {
        MarginCurvature found(weights.size);
        for (Index i = 0; i < weights.size; ++i) {
            const double y = centres[i] + (1.0 - scores[i]) / width;
            if (y > 0.0 && y <= 1.0) found.add(i, weights[i] / width);
        }
        return found;
    }

private:
    double dual(Index i, double score) const {
        return std::min(std::max(centres[i] + (1.0 - score) / width, 0.0), 1.0);
    }
    void recentre(View<const double> scores) {
        for (Index i = 0; i < weights.size; ++i) centres[i] = dual(i, scores[i]);
    }

    View<const double> weights;
    Scratch<double> centres;
};

}  // namespace plackett::query_dependent
