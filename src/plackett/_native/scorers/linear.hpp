// Loops over the rows of X: scores, and the pull-back from slopes to a gradient.
//
// If there is one coefficient more than columns, it is the intercept, which is added to every score. Sums are double
// for all types of X: float sums would save a tenth of an evaluation, but fits to columns of large scale would not
// reach their tolerance.
#pragma once
#include "core/arrays.hpp"
#include "core/simd.hpp"

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

// Add the slopes to the intercept's entry.
inline void pull_back_intercept(View<const double> slope, View<double> gradient, Index n_columns) {
    if (gradient.size <= n_columns) return;
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < slope.size; ++i) total += slope[i];
    gradient[n_columns] += total;
}

// ---- dense rows

// Independent accumulators hide the latency.
struct Strands {
    static constexpr Index N = 4, WIDTH = N * N_LANES;
    Lanes sums[N] = {};

    double total() const { return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])); }
};

constexpr Index AHEAD = 3072;  // bytes between the values in use and those that are requested from memory

// One row after the other: reading several rows from memory at a time defeats the hardware prefetcher and takes twice as
// long. It stops at the end of a page and starts slowly; requests by the program do not.
template <class Real>
inline double dot(View<const Real> row, View<const double> coef) {
    check_slice(0, row.size, coef.size);
    Strands strands;
    Index j = 0;
    for (; j + Strands::WIDTH <= row.size; j += Strands::WIDTH) {
        prefetch(reinterpret_cast<const char*>(row.data + j) + AHEAD);
        for (Index place = j, s = 0; s < Strands::N; ++s, place += N_LANES)
            strands.sums[s] += load_lanes(row.data + place) * load_lanes(coef.data + place);
    }
    for (; j + N_LANES <= row.size; j += N_LANES)
        strands.sums[0] += load_lanes(row.data + j) * load_lanes(coef.data + j);
    double total = strands.total();
    for (; j < row.size; ++j) total += row[j] * coef[j];
    return total;
}

template <class Real>
void score(Rows<const Real> X, View<const double> coef, View<double> scores) {
    const double shift = intercept(coef, X.n_columns);
    for (Index i = 0; i < X.n_rows; ++i) scores[i] = dot(X[i], coef) + shift;
}

// Scores by two vectors of coefficients, each bit-identical to `score`.
template <class Real>
void score_two(Rows<const Real> X, View<const double> coef, View<const double> direction, View<double> scores,
               View<double> moved) {
    check_slice(0, X.n_columns, std::min(coef.size, direction.size));
    const double shift = intercept(coef, X.n_columns), move = intercept(direction, X.n_columns);
    for (Index i = 0; i < X.n_rows; ++i) {
        const Real* row = X[i].data;
        Strands strands, moves;
        Index j = 0;
        for (; j + Strands::WIDTH <= X.n_columns; j += Strands::WIDTH)
            for (Index s = 0; s < Strands::N; ++s) {
                const Index place = j + s * N_LANES;
                const Lanes values = load_lanes(row + place);
                strands.sums[s] += values * load_lanes(coef.data + place);
                moves.sums[s] += values * load_lanes(direction.data + place);
            }
        for (; j + N_LANES <= X.n_columns; j += N_LANES) {
            const Lanes values = load_lanes(row + j);
            strands.sums[0] += values * load_lanes(coef.data + j);
            moves.sums[0] += values * load_lanes(direction.data + j);
        }
        double total = strands.total(), moving = moves.total();
        for (; j < X.n_columns; ++j) {
            total += row[j] * coef[j];
            moving += row[j] * direction[j];
        }
        scores[i] = total + shift;
        moved[i] = moving + move;
    }
}

// Add n rows from i on, each times its slope, to the gradient, which is loaded and stored once for all of them.
template <int n, class Matrix>
inline void pull_back_run(const Matrix& X, Index i, View<const double> slope, View<double> gradient) {
    decltype(X[0].data) rows[n];
    double pulls[n];
    for (int r = 0; r < n; ++r) {
        rows[r] = X[i + r].data;
        pulls[r] = slope[i + r];
    }
    Index j = 0;
    for (; j + N_LANES <= X.n_columns; j += N_LANES) {
        Lanes sums[2] = {};  // two independent accumulators
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
    check_slice(0, X.n_columns, gradient.size);
    Index i = 0;
    for (; i + 8 <= X.n_rows; i += 8) pull_back_run<8>(X, i, slope, gradient);
    for (; i < X.n_rows; ++i) pull_back_run<1>(X, i, slope, gradient);
    pull_back_intercept(slope, gradient, X.n_columns);
}

template <class Real>
struct SelectedRows {
    Rows<const Real> X;
    View<const Index> places;
    Index n_columns;

    View<const Real> operator[](Index i) const { return X[places[i]]; }
};

template <class Real>
void score(SelectedRows<Real> X, View<const double> coef, View<double> scores) {
    for (Index i = 0; i < X.places.size; ++i) scores[i] = dot(X[i], coef);
}

template <class Real>
void pull_back(SelectedRows<Real> X, View<const double> slope, View<double> gradient) {
    check_slice(0, X.n_columns, gradient.size);
    Index i = 0;
    for (; i + 8 <= X.places.size; i += 8) pull_back_run<8>(X, i, slope, gradient);
    for (; i < X.places.size; ++i) pull_back_run<1>(X, i, slope, gradient);
}

// Add Σ_i weights_i x_ij² to each column's entry.
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
