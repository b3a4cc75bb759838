// Signed and resampled sums of per-query differences, several pairs of rankers side by side.
//
// Random numbers are computed from the seed and a counter, without a state. Draws can therefore be distributed over threads
// in any way, and every pair of a comparison uses the same draws.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/arrays.hpp"
#include "core/random.hpp"

namespace plackett::evaluation {

constexpr Index WORD = 64;
constexpr Index BITS = 8;  // queries whose signed sums are in one table
constexpr Index TABLE = 1 << BITS;
constexpr Index DRAWS_TOGETHER = 64;  // resamples that are summed side by side

// All sums of the rows of `values` under signs: in row p of `sums`, bit i of p subtracts row i.
inline void signed_sums(Rows<const double> values, Rows<double> sums) {
    sums[0].fill(0.0);
    Index n = 1;
    for (Index i = 0; i < values.n_rows; ++i, n *= 2) {
        const auto row = values[i];
        for (Index place = 0; place < n; ++place) {
            const auto plus = sums[place], minus = sums[place + n];
#pragma omp simd
            for (Index column = 0; column < row.size; ++column) {
                const double below = plus[column];
                plus[column] = below + row[column];
                minus[column] = below - row[column];
            }
        }
    }
}

// Add to the sums of each draw the row of the table that its next bits choose.
inline void add_signed(Rows<const double> table, View<const std::uint64_t> words, Index shift, Rows<double> sums) {
    const auto row_of = [&](Index draw) { return static_cast<Index>((words[draw] >> shift) & (TABLE - 1)); };
    if (table.n_columns == 1) {  // one pair of rankers: no loop over columns
        for (Index draw = 0; draw < words.size; ++draw) sums(draw, 0) += table(row_of(draw), 0);
        return;
    }
    for (Index draw = 0; draw < words.size; ++draw) {
        const auto chosen = table[row_of(draw)];
        const auto target = sums[draw];
#pragma omp simd
        for (Index column = 0; column < target.size; ++column) target[column] += chosen[column];
    }
}

// For each column, count the draws first to last whose signed sum is at or beyond its limit, into `counts`.
//
// `values` has one row per query and zeros below them up to a multiple of WORD, `limits` one number per column. A query's
// sign in a draw is a bit of the draw's random words.
inline void count_extreme(Rows<const double> values, View<const double> limits, std::uint64_t seed, Index first,
                          Index last, View<Index> counts) {
    const Index n_words = values.n_rows / WORD, n_columns = values.n_columns, n_draws = last - first;
    const Scratch<std::uint64_t> words(n_draws);
    const Scratch<double> all_sums(n_draws * n_columns, 0.0), all_signed(TABLE * n_columns);
    const Rows<double> sums{all_sums.view().data, n_draws, n_columns};
    const Rows<double> table{all_signed.view().data, TABLE, n_columns};
    for (Index word = 0; word < n_words; ++word) {
        for (Index draw = 0; draw < n_draws; ++draw)
            words[draw] = random_word(seed, static_cast<std::uint64_t>((first + draw) * n_words + word));
        for (Index shift = 0; shift < WORD; shift += BITS) {
            const Index start = word * WORD + shift;
            signed_sums(values.slice(start, start + BITS), table);
            add_signed(table, words, shift, sums);
        }
    }
    counts.fill(0);
    for (Index draw = 0; draw < n_draws; ++draw)
        for (Index column = 0; column < n_columns; ++column)
            counts[column] += std::abs(sums(draw, column)) >= limits[column];
}

// Draw as many queries as there are with replacement, two per random word. Write how often each was drawn to column `draw`
// of `times`.
inline void count_chosen(std::uint64_t seed, std::uint64_t place, Rows<double> times, Index draw) {
    const auto n = static_cast<std::uint64_t>(times.n_rows);
    // a 32-bit fraction times n: probabilities differ by less than n / 2**32
    const auto add = [&](std::uint64_t fraction) { times(static_cast<Index>((fraction * n) >> 32), draw) += 1.0; };
    for (std::uint64_t pair = 0; pair < (n + 1) / 2; ++pair) {
        const std::uint64_t word = random_word(seed, place + pair);
        add(word & 0xFFFFFFFFu);
        if (2 * pair + 1 < n) add(word >> 32);
    }
}

// For each column and each of the draws first to last: the sum over n queries drawn with replacement.
//
// `values` has one row per query, `sums` one row per column and space for all draws; other draws are not changed.
inline void resampled_sums(Rows<const double> values, std::uint64_t seed, Index first, Index last, Rows<double> sums) {
    const Index n_queries = values.n_rows, words_per_draw = (n_queries + 1) / 2;
    const Scratch<double> all_times(n_queries * DRAWS_TOGETHER);
    for (Index start = first; start < last; start += DRAWS_TOGETHER) {
        const Index n_draws = std::min(DRAWS_TOGETHER, last - start);
        all_times.view().fill(0.0);
        const Rows<double> times{all_times.view().data, n_queries, n_draws};
        for (Index draw = 0; draw < n_draws; ++draw)
            count_chosen(seed, static_cast<std::uint64_t>((start + draw) * words_per_draw), times, draw);
        for (Index column = 0; column < values.n_columns; ++column) {
            const auto target = sums[column].slice(start, start + n_draws);
            target.fill(0.0);
            for (Index query = 0; query < n_queries; ++query) {
                const double value = values(query, column);
                const auto chosen = times[query];
#pragma omp simd
                for (Index draw = 0; draw < n_draws; ++draw) target[draw] += value * chosen[draw];
            }
        }
    }
}

}  // namespace plackett::evaluation
