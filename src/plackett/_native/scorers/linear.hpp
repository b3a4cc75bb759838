// Loops over the rows of X: scores, and the way back from slopes to a gradient.
//
// Where there is one coefficient more than columns, it is the intercept, which is added to every score. Sums are double
// whatever X is: float sums would save a tenth of an evaluation, and leave fits to columns of large scale stuck above
// their tolerance.
#pragma once
#include "core/arrays.hpp"
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

template <class Real>
inline double dot(View<const Real> row, View<const double> coef) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index j = 0; j < row.size; ++j) total += static_cast<double>(row[j]) * coef[j];
    return total;
}

template <class Real>
void score(Rows<const Real> X, View<const double> coef, View<double> scores) {
    const double shift = intercept(coef, X.n_columns);
    for (Index i = 0; i < X.n_rows; ++i) {
        prefetch_row(X, i);
        scores[i] = dot(X[i], coef) + shift;
    }
}

// Scores by two vectors of coefficients.
template <class Real>
void score_two(Rows<const Real> X, View<const double> coef, View<const double> direction, View<double> scores,
               View<double> moved) {
    const double shift = intercept(coef, X.n_columns), move = intercept(direction, X.n_columns);
    for (Index i = 0; i < X.n_rows; ++i) {
        prefetch_row(X, i);
        const auto row = X[i];
        double s = 0.0, m = 0.0;
#pragma omp simd reduction(+ : s, m)
        for (Index j = 0; j < row.size; ++j) {
            s += static_cast<double>(row[j]) * coef[j];
            m += static_cast<double>(row[j]) * direction[j];
        }
        scores[i] = s + shift;
        moved[i] = m + move;
    }
}

// Add X.T @ slope to the gradient.
template <class Real>
void pull_back(Rows<const Real> X, View<const double> slope, View<double> gradient) {
    Index i = 0;
    for (; i + 8 <= X.n_rows; i += 8) {  // eight rows at a time: the gradient is loaded and stored once for all of them
        const auto x0 = X[i], x1 = X[i + 1], x2 = X[i + 2], x3 = X[i + 3];
        const auto x4 = X[i + 4], x5 = X[i + 5], x6 = X[i + 6], x7 = X[i + 7];
        const double s0 = slope[i], s1 = slope[i + 1], s2 = slope[i + 2], s3 = slope[i + 3];
        const double s4 = slope[i + 4], s5 = slope[i + 5], s6 = slope[i + 6], s7 = slope[i + 7];
#pragma omp simd
        for (Index j = 0; j < X.n_columns; ++j)
            gradient[j] += (s0 * x0[j] + s1 * x1[j] + s2 * x2[j] + s3 * x3[j]) +
                           (s4 * x4[j] + s5 * x5[j] + s6 * x6[j] + s7 * x7[j]);
    }
    for (; i < X.n_rows; ++i) {
        const auto row = X[i];
        const double pull = slope[i];
#pragma omp simd
        for (Index j = 0; j < X.n_columns; ++j) gradient[j] += pull * row[j];
    }
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
