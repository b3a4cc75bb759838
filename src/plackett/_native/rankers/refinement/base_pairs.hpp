// Products with W, the pair probabilities of a base ranker, without a matrix over pairs.
//
// Documents are numbered in ascending order of base score g, multiplied by the confidence. W_ij = 1 - r(g_i - g_j) for the
// documents j up to i and r(g_j - g_i) for those above, where r(t) = 1 / (1 + e^t) is a sum of decaying exponentials.
#pragma once
#include <array>
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::refinement {

constexpr Index N_TERMS = 20;

// Coefficients c of 1 / (1 + e^t) ≈ Σ_k c_k e^(-kt), k = 1..N_TERMS, t ≥ 0, with a relative error below 1e-15.
//
// With z = e^-t and the Chebyshev polynomial P(z) = T_n(1 - 2z), which is within ±1 on [0, 1],
// (P(-1) - P(z)) / (P(-1) (1 + z)) is a polynomial in z, whose relative error to 1 / (1 + z) is P(z) / P(-1). All
// coefficients of P are whole numbers below 2^53, so that one division rounds each quotient.
constexpr std::array<double, N_TERMS> falling_terms() {
    constexpr std::size_t n = N_TERMS;
    std::array<Index, n + 1> before{1}, last{1, -2}, rest{};
    for (std::size_t degree = 1; degree < n; ++degree) {
        std::array<Index, n + 1> next{};
        for (std::size_t power = 0; power <= degree + 1; ++power)
            next[power] = 2 * last[power] - before[power] - (power > 0 ? 4 * last[power - 1] : 0);
        before = last;
        last = next;
    }
    Index peak = 0;  // P(-1) = T_n(3)
    for (std::size_t power = 0; power <= n; ++power) peak += power % 2 ? -last[power] : last[power];
    for (std::size_t power = 0; power <= n; ++power) rest[power] = -last[power];
    rest[0] += peak;
    std::array<double, n> terms{};
    for (std::size_t power = n; power > 0; --power) {  // division by 1 + z, which leaves no remainder
        terms[power - 1] = static_cast<double>(rest[power]) / static_cast<double>(peak);
        rest[power - 1] -= rest[power];
    }
    return terms;
}

constexpr std::array<double, N_TERMS> TERMS = falling_terms();

// powers[i, k] = e^(-(k + 1) steps[i]), steps[i] being the distance from document i - 1 to i.
inline void fill_powers(View<const double> steps, Rows<double> powers) {
    for (Index i = 0; i < steps.size; ++i) {
        const double one = std::exp(-steps[i]);
        double power = 1.0;
        for (Index k = 0; k < N_TERMS; ++k) {
            power *= one;
            if (power < 1e-290) power = 0.0;  // denormal numbers are slow
            powers(i, k) = power;
        }
    }
}

// sums[i] = values up to i, summed in blocks: the rounding errors of one long sum of equal values accumulate.
inline void running_sums(View<const double> values, View<double> sums) {
    constexpr Index BLOCK = 256;
    double before = 0.0;
    for (Index start = 0; start < values.size; start += BLOCK) {
        double block = 0.0;
        for (Index i = start; i < std::min(start + BLOCK, values.size); ++i) {
            block += values[i];
            sums[i] = before + block;
        }
        before += block;
    }
}

// N_TERMS exponentials, each summed over the documents passed; they decay from document to document.
struct FallingSums {
    alignas(32) double of[N_TERMS] = {};
};

// of_first = W first and of_second = W second: one sweep up and one down the sorted base scores.
inline void multiply(Rows<const double> powers, View<const double> first, View<const double> second,
                     View<double> of_first, View<double> of_second) {
    running_sums(first, of_first);
    running_sums(second, of_second);
    FallingSums sums, others;
    for (Index i = 0; i < first.size; ++i) {
        const double v = first[i], u = second[i];
        const View<const double> row = powers[i];
        double a = 0.0, b = 0.0;
#pragma omp simd reduction(+ : a, b)
        for (Index k = 0; k < N_TERMS; ++k) {
            sums.of[k] = sums.of[k] * row[k] + v;
            others.of[k] = others.of[k] * row[k] + u;
            a += TERMS[static_cast<std::size_t>(k)] * sums.of[k];
            b += TERMS[static_cast<std::size_t>(k)] * others.of[k];
        }
        of_first[i] -= a;
        of_second[i] -= b;
    }
    sums = {};
    others = {};
    for (Index i = first.size - 1; i > 0; --i) {
        const double v = first[i], u = second[i];
        const View<const double> row = powers[i];
        double a = 0.0, b = 0.0;
#pragma omp simd reduction(+ : a, b)
        for (Index k = 0; k < N_TERMS; ++k) {
            sums.of[k] = (sums.of[k] + v) * row[k];
            others.of[k] = (others.of[k] + u) * row[k];
            a += TERMS[static_cast<std::size_t>(k)] * sums.of[k];
            b += TERMS[static_cast<std::size_t>(k)] * others.of[k];
        }
        of_first[i - 1] += a;
        of_second[i - 1] += b;
    }
}

}  // namespace plackett::refinement
