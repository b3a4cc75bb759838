// NeuralNDCG (Pobrotyn and Białobrzeski 2021): −Σ_i d_i (P g)_i, where row i of P says which document takes place i.
//
// P starts as K (NeuralSort), row i of which is the softmax over documents j of ((n + 1 − 2i) f_j − Σ_l |f_j − f_l|) / τ.
// Sinkhorn's iterations scale it to u_i K_ij v_j, with sums of columns and rows close to 1: v ← 1 / Kᵀu, u ← 1 / K v, from
// u = 1. The slope is that of these very iterations, in reverse.
//
// With the documents sorted by falling score, the exponents of row i fall on both sides of its largest, at j = i, by 1, 3,
// 5, … times the gaps between neighbours. K is thus a band, and one of width about √(τ n) for scores of any common range.
// Only the band is computed. Both products of an iteration are made in one pass over the rows. Rows are kept in memory up
// to a limit, and made anew in every pass beyond it. The derivative by K is a sum of outer products, and made row by row.
#pragma once
#include <cmath>
#include <numeric>

#include "core/lists.hpp"
#include "core/vector_ops.hpp"
#include "losses/loss.hpp"

namespace plackett {

namespace neural_sort {

constexpr double LEAST_EXPONENT = -50.0;      // entries below e^−50 of the largest of their row are left out
constexpr Index MOST_KEPT = Index{1} << 24;  // entries of K in memory: 128 MiB

struct Band {  // the columns of a row that count
    Index first, last;
};

// The matrix K of one list, from the gaps between sorted scores, over τ.
class Matrix {
public:
    Matrix(View<const double> gaps, View<Band> bands, View<double> row)
        : gaps(gaps), bands(bands), row(row), kept(0) {
        Index total = 0;
        for (Index i = 0; i < bands.size; ++i) {
            bands[i] = {lower_end(i), upper_end(i)};
            total += bands[i].last - bands[i].first;
        }
        if (total > MOST_KEPT) return;
        is_kept = true;
        kept = Scratch<double>(total);
        Index start = 0;
        for (Index i = 0; i < bands.size; ++i) {
            const Index size = bands[i].last - bands[i].first;
            fill(i, kept.slice(start, start + size));
            start += size;
        }
    }

    Index size() const { return bands.size; }
    Band band(Index i) const { return bands[i]; }

    // Call work(i, band, entries) for each row.
    template <class Work>
    void for_rows(Work work) const {
        Index start = 0;
        for (Index i = 0; i < bands.size; ++i) {
            const Index size = bands[i].last - bands[i].first;
            const auto entries = is_kept ? kept.slice(start, start + size) : row.slice(0, size);
            if (!is_kept) fill(i, entries);
            work(i, bands[i], View<const double>(entries));
            start += size;
        }
    }

private:
    View<const double> gaps;
    View<Band> bands;
    View<double> row;
    Scratch<double> kept;
    bool is_kept = false;

    static double step(Index distance) { return static_cast<double>(2 * distance + 1); }

    Index upper_end(Index i) const {
        double exponent = 0.0;
        Index j = i;
        while (j < gaps.size && (exponent -= step(j - i) * gaps[j]) >= LEAST_EXPONENT) ++j;
        return j + 1;
    }
    Index lower_end(Index i) const {
        double exponent = 0.0;
        Index j = i;
        while (j > 0 && (exponent -= step(i - j) * gaps[j - 1]) >= LEAST_EXPONENT) --j;
        return j;
    }
    void fill(Index i, View<double> entries) const {
        const auto [first, last] = bands[i];
        entries[i - first] = 0.0;
        for (Index j = i; j + 1 < last; ++j) entries[j + 1 - first] = entries[j - first] - step(j - i) * gaps[j];
        for (Index j = i; j > first; --j) entries[j - 1 - first] = entries[j - first] - step(i - j) * gaps[j - 1];
        exp_below(entries, 0.0, entries);
        const double share = 1.0 / sum_of(entries);
#pragma omp simd
        for (Index j = 0; j < entries.size; ++j) entries[j] *= share;
    }
};

inline void add(double factor, View<const double> values, View<double> out) {
#pragma omp simd
    for (Index j = 0; j < out.size; ++j) out[j] += factor * values[j];
}

inline double inverse_square_pull(double pull, double inverse) { return -pull * inverse * inverse; }

// The vectors of every iteration of one list, and their derivatives: row t of each has those of iteration t, from 1 on.
struct Iterations {
    Rows<double> u, v, row_pulls, column_pulls;
};

struct Settings {
    Index k, max_iter;
    double tau, tol;
    bool is_transposed;  // scale columns last
};

// Σ of outer products a_t ⊗ b_t, for one row i and the columns of a band; four at a time, which saves memory traffic.
inline void add_outer(const Rows<double>& a, Index a_from, const Rows<double>& b, Index n_terms, Index i, Band band,
                      View<double> out) {
    const auto of = [&](Index t) { return b[t].slice(band.first, band.last); };
    Index t = 0;
    for (; t + 4 <= n_terms; t += 4) {
        const double x0 = a(a_from + t, i), x1 = a(a_from + t + 1, i), x2 = a(a_from + t + 2, i),
                     x3 = a(a_from + t + 3, i);
        const auto y0 = of(t + 1), y1 = of(t + 2), y2 = of(t + 3), y3 = of(t + 4);
#pragma omp simd
        for (Index j = 0; j < out.size; ++j) out[j] += (x0 * y0[j] + x1 * y1[j]) + (x2 * y2[j] + x3 * y3[j]);
    }
    for (; t < n_terms; ++t) add(a(a_from + t, i), of(t + 1), out);
}

struct Work {  // work space of one list
    View<double> pulls, sums, weighted, row, distances;
};

struct Scaled {
    Index n_u, n_v;  // the iterations that u and v of the result come from
};

// Scale K; the matrix is u[n_u] K v[n_v].
inline Scaled scale(const Matrix& K, const Settings& settings, const Iterations& at, View<double> sums) {
    const Index n = K.size();
    at.u[0].fill(1.0);
    sums.fill(0.0);
    K.for_rows([&](Index, Band band, View<const double> entries) {
        add(1.0, entries, sums.slice(band.first, band.last));
    });
    for (Index t = 1;; ++t) {
        const auto v = at.v[t], u = at.u[t], before = at.u[t - 1];
        for (Index j = 0; j < n; ++j) v[j] = 1.0 / sums[j];
        if (settings.is_transposed && t == settings.max_iter) return {t - 1, t};
        sums.fill(0.0);
        double error = 0.0;
        K.for_rows([&](Index i, Band band, View<const double> entries) {
            const double sum = inner_product(entries, v.slice(band.first, band.last));
            error = std::max(error, std::abs(before[i] * sum - 1.0));
            u[i] = 1.0 / sum;
            add(u[i], entries, sums.slice(band.first, band.last));
        });
        if (settings.is_transposed) {
            if (error < settings.tol) return {t - 1, t};
            continue;
        }
        error = 0.0;
        for (Index j = 0; j < n; ++j) error = std::max(error, std::abs(v[j] * sums[j] - 1.0));
        if (error < settings.tol || t == settings.max_iter) return {t, t};
    }
}

// The loss of a list in sorted order, with the slope by its sorted scores.
inline double of_list(const Matrix& K, View<const double> scores, View<const double> gains,
                      View<const double> discounts, const Settings& settings, const Iterations& at, const Work& work,
                      View<double> slope) {
    const Index n = K.size();
    const Scaled scaled = scale(K, settings, at, work.sums);
    const Index n_u = scaled.n_u, n_v = scaled.n_v;
    const auto u = at.u[n_u], v = at.v[n_v], weighted = work.weighted, direct = work.distances;
    const auto discount = [&](Index i) { return i < settings.k ? discounts[i] : 0.0; };
    for (Index j = 0; j < n; ++j) weighted[j] = v[j] * gains[j];

    // the loss, and its derivatives by the last u and v
    double loss = 0.0;
    work.sums.fill(0.0);
    work.pulls.fill(0.0);
    K.for_rows([&](Index i, Band band, View<const double> entries) {
        const double gain = discount(i) * inner_product(entries, weighted.slice(band.first, band.last));
        loss -= gain * u[i];
        direct[i] = -gain;
        if (i < settings.k) add(-discount(i) * u[i], entries, work.sums.slice(band.first, band.last));
        if (settings.is_transposed) return;
        at.row_pulls(n_u, i) = inverse_square_pull(direct[i], u[i]);
        add(at.row_pulls(n_u, i), entries, work.pulls.slice(band.first, band.last));
    });
    for (Index j = 0; j < n; ++j) work.pulls[j] += work.sums[j] * gains[j];

    for (Index t = n_v; t > 0; --t) {
        const auto columns = at.column_pulls[t], vector = at.v[t];
        for (Index j = 0; j < n; ++j) columns[j] = inverse_square_pull(work.pulls[j], vector[j]);
        if (t == 1) break;  // the first u is a constant
        const auto rows = at.row_pulls[t - 1], before = at.u[t - 1];
        const bool is_last = settings.is_transposed && t == n_v;
        work.pulls.fill(0.0);
        K.for_rows([&](Index i, Band band, View<const double> entries) {
            const double pull = inner_product(entries, columns.slice(band.first, band.last)) + (is_last ? direct[i] : 0.0);
            rows[i] = inverse_square_pull(pull, before[i]);
            add(rows[i], entries, work.pulls.slice(band.first, band.last));
        });
    }

    // by the entries of K, their exponents, the scores and the sums of distances
    const auto by_distance = work.distances;
    by_distance.fill(0.0);
    slope.fill(0.0);
    const double share = 1.0 / settings.tau;
    K.for_rows([&](Index i, Band band, View<const double> entries) {
        const auto pulls = work.row.slice(0, entries.size);
        pulls.fill(0.0);
        add(-discount(i) * u[i], weighted.slice(band.first, band.last), pulls);
        add_outer(at.row_pulls, 1, at.v, n_u, i, band, pulls);
        add_outer(at.u, 0, at.column_pulls, n_v, i, band, pulls);
        const double mean = inner_product(entries, pulls), place = static_cast<double>(n - 1 - 2 * i);
        const auto of_scores = slope.slice(band.first, band.last), of_sums = by_distance.slice(band.first, band.last);
#pragma omp simd
        for (Index j = 0; j < entries.size; ++j) {
            const double pull = share * entries[j] * (pulls[j] - mean);
            of_scores[j] += place * pull;
            of_sums[j] -= pull;
        }
    });
    double above = 0.0, below = sum_of(by_distance);
    for (Index start = 0; start < n;) {
        Index stop = start;
        double own = 0.0;
        for (; stop < n && scores[stop] == scores[start]; ++stop) own += by_distance[stop];
        below -= own;
        const double lower_less_higher = static_cast<double>(n - stop - start);
        for (Index j = start; j < stop; ++j) slope[j] += by_distance[j] * lower_less_higher + below - above;
        above += own;
        start = stop;
    }
    return loss;
}

}  // namespace neural_sort

class NeuralNDCG final : public Loss {
public:
    NeuralNDCG(View<const Index> bounds, View<const double> gains, View<const double> discounts,
               neural_sort::Settings settings)
        : bounds(bounds), gains(gains), discounts(discounts), settings(settings) {}

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        const Index longest = longest_list(bounds, first, last), n_rows = settings.max_iter + 1;
        const Scratch<double> memory((4 * n_rows + 10) * longest);
        const Scratch<neural_sort::Band> bands(longest);
        const Scratch<Index> order(longest);
        for (Index q = first; q < last; ++q) {
            const Index n = bounds[q + 1] - bounds[q];
            const auto here = scores.slice(bounds[q], bounds[q + 1]), worth = gains.slice(bounds[q], bounds[q + 1]);
            const auto out = slope.slice(bounds[q], bounds[q + 1]);
            values[q] = 0.0;
            out.fill(0.0);
            if (n < 2 || std::all_of(worth.begin(), worth.end(), [](double gain) { return gain == 0.0; })) {
                if (n == 1 && settings.k > 0) values[q] = -worth[0] * discounts[0];
                continue;
            }
            Index used = 0;
            const auto take_part = [&](Index size) {
                used += size;
                return memory.slice(used - size, used);
            };
            const auto matrix = [&] { return Rows<double>{take_part(n_rows * n).data, n_rows, n}; };
            const neural_sort::Iterations at{matrix(), matrix(), matrix(), matrix()};
            const neural_sort::Work work{take_part(n), take_part(n), take_part(n), take_part(n), take_part(n)};
            const auto sorted = take_part(n), sorted_gains = take_part(n), gaps = take_part(n - 1), row = take_part(n),
                       pulls = take_part(n);
            const auto rows = order.slice(0, n);
            std::iota(rows.begin(), rows.end(), Index{0});
            std::stable_sort(rows.begin(), rows.end(), [&](Index i, Index j) { return here[i] > here[j]; });
            take(here, rows, sorted);
            take(worth, rows, sorted_gains);
            for (Index j = 0; j + 1 < n; ++j) gaps[j] = (sorted[j] - sorted[j + 1]) / settings.tau;
            const neural_sort::Matrix K(gaps, bands.slice(0, n), row);
            values[q] = neural_sort::of_list(K, sorted, sorted_gains, discounts, settings, at, work, pulls);
            put(1.0, pulls, rows, out);
        }
    }

private:
    View<const Index> bounds;
    View<const double> gains, discounts;
    neural_sort::Settings settings;
};

// `discounts` has those of the longest list.
inline Loss* make_neural_ndcg(View<const Index> indptr, View<const double> gains, View<const double> discounts,
                              double tau, Index k, bool is_transposed, Index max_iter, double tol) {
    return new NeuralNDCG(indptr, gains, discounts, {k, max_iter, tau, tol, is_transposed});
}

}  // namespace plackett
