// Loops over the rows of X: scores, and the way back from slopes to a gradient.
//
// Where there is one coefficient more than columns, it is the intercept, which is added to every score. Sums are double
// whatever X is: float sums would save a tenth of an evaluation, and leave fits to columns of large scale stuck above
// their tolerance.
#pragma once
#include "core/arrays.hpp"
#include "core/lanes.hpp"
#include "core/prefetch.hpp"

namespace plackett {

template <class Real, class Column>
struct SparseRows {  // row i has values places[i] to places[i + 1]
    View<const Real> values;
    View<const Column> columns;
    View<const Index> places;
    Index n_columns;

    SparseRows slice(Index first, Index last) const {
        return {values, columns, places.slice(first, last + 1), n_columns};
    }
};

inline double intercept(View<const double> coef, Index n_columns) {
    return coef.size > n_columns ? coef[n_columns] : 0.0;
}

// Add to the intercept's place what the slopes mean for it.
inline void pull_back_intercept(View<const double> slope, View<double> gradient, Index n_columns) {
    if (gradient.size <= n_columns) return;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < slope.size; ++i) total += slope[i];
    gradient[n_columns] += total;
}

// ---- dense rows

// Call work<n>(i) for runs of n rows from i on: of eight rows as long as there are, then of four, then of one.
template <class Work>
void in_runs(Index n_rows, Work work) {
    Index i = 0;
    for (; i + 8 <= n_rows; i += 8) work.template operator()<8>(i);
    for (; i + 4 <= n_rows; i += 4) work.template operator()<4>(i);
    for (; i < n_rows; ++i) work.template operator()<1>(i);
}

// Scores of n rows from i on: the coefficients are loaded once for all of them, and no sum waits for another. A row's sum
// does not depend on the rows beside it.
template <int n, class Real>
inline void score_run(Rows<const Real> X, Index i, View<const double> coef, double shift, View<double> scores) {
    const Real* rows[n];
    for (int r = 0; r < n; ++r) {
        prefetch_row(X, i + r);
        rows[r] = X[i + r].data;
    }
    Lanes sums[n] = {};
    Index j = 0;
    for (; j + N_LANES <= X.n_columns; j += N_LANES) {
        const Lanes factor = load_lanes(coef.data + j);
        for (int r = 0; r < n; ++r) sums[r] += load_lanes(rows[r] + j) * factor;
    }
    double totals[n];
    for (int r = 0; r < n; ++r) totals[r] = sum_of_lanes(sums[r]);
    for (; j < X.n_columns; ++j)
        for (int r = 0; r < n; ++r) totals[r] += rows[r][j] * coef[j];
    for (int r = 0; r < n; ++r) scores[i + r] = totals[r] + shift;
}

template <class Real>
void score(Rows<const Real> X, View<const double> coef, View<double> scores) {
    const double shift = intercept(coef, X.n_columns);
    in_runs(X.n_rows, [&]<int n>(Index i) { score_run<n>(X, i, coef, shift, scores); });
}

template <int n, class Real>
inline void score_run_twice(Rows<const Real> X, Index i, View<const double> coef, View<const double> direction,
                            View<double> scores, View<double> moved) {
    const Real* rows[n];
    for (int r = 0; r < n; ++r) {
        prefetch_row(X, i + r);
        rows[r] = X[i + r].data;
    }
    Lanes sums[n] = {}, moves[n] = {};
    Index j = 0;
    for (; j + N_LANES <= X.n_columns; j += N_LANES) {
        const Lanes factor = load_lanes(coef.data + j), along = load_lanes(direction.data + j);
        for (int r = 0; r < n; ++r) {
            const Lanes values = load_lanes(rows[r] + j);
            sums[r] += values * factor;
            moves[r] += values * along;
        }
    }
    const double shift = intercept(coef, X.n_columns), move = intercept(direction, X.n_columns);
    const Index rest = j;
    for (int r = 0; r < n; ++r) {
        double sum = sum_of_lanes(sums[r]), moving = sum_of_lanes(moves[r]);
        for (j = rest; j < X.n_columns; ++j) {
            sum += rows[r][j] * coef[j];
            moving += rows[r][j] * direction[j];
        }
        scores[i + r] = sum + shift;
        moved[i + r] = moving + move;
    }
}

// Scores by two vectors of coefficients.
template <class Real>
void score_two(Rows<const Real> X, View<const double> coef, View<const double> direction, View<double> scores,
               View<double> moved) {
    Index i = 0;
    for (; i + 4 <= X.n_rows; i += 4) score_run_twice<4>(X, i, coef, direction, scores, moved);
    for (; i < X.n_rows; ++i) score_run_twice<1>(X, i, coef, direction, scores, moved);
}

// Add n rows from i on, each times its slope, to the gradient, which is loaded and stored once for all of them.
template <int n, class Real>
inline void pull_back_run(Rows<const Real> X, Index i, View<const double> slope, View<double> gradient) {
    const Real* rows[n];
    double pulls[n];
    for (int r = 0; r < n; ++r) {
        rows[r] = X[i + r].data;
        pulls[r] = slope[i + r];
    }
    Index j = 0;
    for (; j + N_LANES <= X.n_columns; j += N_LANES) {
        Lanes sums[2] = {};  // two, which need not wait for each other; nor do they for the run before
        for (int r = 0; r < n; ++r) sums[r % 2] += load_lanes(rows[r] + j) * every_lane(pulls[r]);
        store_lanes(load_lanes(gradient.data + j) + (sums[0] + sums[1]), gradient.data + j);
    }
    for (; j < X.n_columns; ++j) {
        double sums[2] = {};
        for (int r = 0; r < n; ++r) sums[r % 2] += rows[r][j] * pulls[r];
        gradient[j] += sums[0] + sums[1];
    }
}

// Add X.T @ slope to the gradient.
template <class Real>
void pull_back(Rows<const Real> X, View<const double> slope, View<double> gradient) {
    in_runs(X.n_rows, [&]<int n>(Index i) { pull_back_run<n>(X, i, slope, gradient); });
    pull_back_intercept(slope, gradient, X.n_columns);
}

// Add Σ_i weights_i x_ij² to each column's place.
template <class Real>
void add_squares(Rows<const Real> X, View<const double> weights, View<double> diagonal) {
    for (Index i = 0; i < X.n_rows; ++i) {
        const auto row = X[i];
        const double weight = weights[i];
#pragma omp simd
        for (Index j = 0; j < X.n_columns; ++j) diagonal[j] += weight * row[j] * row[j];
    }
    pull_back_intercept(weights, diagonal, X.n_columns);
}

// ---- sparse rows

template <class Real, class Column>
void score(SparseRows<Real, Column> X, View<const double> coef, View<double> scores) {
    const double shift = intercept(coef, X.n_columns);
    for (Index i = 0; i < scores.size; ++i) {
        double total = shift;
        for (Index place = X.places[i]; place < X.places[i + 1]; ++place)
            total += X.values[place] * coef[X.columns[place]];
        scores[i] = total;
    }
}

template <class Real, class Column>
void score_two(SparseRows<Real, Column> X, View<const double> coef, View<const double> direction, View<double> scores,
               View<double> moved) {
    const double shift = intercept(coef, X.n_columns), move = intercept(direction, X.n_columns);
    for (Index i = 0; i < scores.size; ++i) {
        double s = shift, m = move;
        for (Index place = X.places[i]; place < X.places[i + 1]; ++place) {
            s += X.values[place] * coef[X.columns[place]];
            m += X.values[place] * direction[X.columns[place]];
        }
        scores[i] = s;
        moved[i] = m;
    }
}

template <class Real, class Column>
void pull_back(SparseRows<Real, Column> X, View<const double> slope, View<double> gradient) {
    for (Index i = 0; i < slope.size; ++i) {
        const double pull = slope[i];
        for (Index place = X.places[i]; place < X.places[i + 1]; ++place)
            gradient[X.columns[place]] += pull * X.values[place];
    }
    pull_back_intercept(slope, gradient, X.n_columns);
}

template <class Real, class Column>
void add_squares(SparseRows<Real, Column> X, View<const double> weights, View<double> diagonal) {
    for (Index i = 0; i < weights.size; ++i) {
        const double weight = weights[i];
        for (Index place = X.places[i]; place < X.places[i + 1]; ++place)
            diagonal[X.columns[place]] += weight * X.values[place] * X.values[place];
    }
    pull_back_intercept(weights, diagonal, X.n_columns);
}

}  // namespace plackett
