// PL-Rank-3 (Oosterhuis 2022): the expected DCG@k of rankings drawn by Plackett-Luce, and its gradient, from samples.
//
// A ranking is drawn by sorting f + Gumbel noise, which is minus the logarithm of an exponential number over e^f: the time
// at which a document arrives in a race, where the first one is the best. With the discount θ_r of place r, the sum D_r of
// e^f over the documents that are not above place r, and the reward R_r = Σ θ gain from place r on, a ranking adds to the
// gradient of document d at place r
//
//     R_{r+1} + e^f Σ_{x ≤ r} (θ_x gain_d − R_x) / D_x,
//
// and to that of a document below place k the second term with all places up to k. Sums over places are relative to D of
// the last one, which decreases, so that nothing overflows. A constant added to all gains changes no gradient: the mean
// gain is subtracted, which lowers the variance.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/lists.hpp"
#include "core/random.hpp"
#include "core/vector_ops.hpp"
#include "losses/loss.hpp"

namespace plackett {

namespace pl_rank {

constexpr double WIDEST = 600.0;  // range of scores whose exponentials do not underflow

struct Key {  // a document, and the time at which it arrives in a race
    double time;
    Index doc;
    bool operator<(const Key& other) const { return time < other.time || (time == other.time && doc < other.doc); }
};

// The first documents of a race, in order: as many as there are keys.
inline void find_first(View<const double> times, View<Key> keys) {
    for (Index i = 0; i < keys.size; ++i) keys[i] = {times[i], i};
    if (keys.size < times.size) {
        std::make_heap(keys.begin(), keys.end());
        for (Index i = keys.size; i < times.size; ++i) {
            if (!(times[i] < keys[0].time)) continue;
            std::pop_heap(keys.begin(), keys.end());
            keys[keys.size - 1] = {times[i], i};
            std::push_heap(keys.begin(), keys.end());
        }
    }
    std::sort(keys.begin(), keys.end());
}

// Work space for one query. Documents are numbered by label and score, so that the numbering does not depend on the order
// of rows; documents that agree in both get the mean of their slopes.
struct Room {
    Scratch<double> scores, powers, rest, slowness, gains, slope, times, sums, rewards;
    Scratch<Index> rows;
    Scratch<Key> keys;

    Room(Index n, Index n_places)
        : scores(n), powers(n), rest(n), slowness(n), gains(n), slope(n), times(n), sums(n_places + 1),
          rewards(n_places + 1), rows(n), keys(n_places) {}
};

// D of each place; `sums` has them relative to the largest score, or their logarithms if the range of scores is wide.
// `powers` has e^f, or 1 if the range is wide; `rest` the same, and 0 for documents with a place while these are few.
template <bool is_wide>
struct Remainders {
    View<const double> scores, powers;
    View<double> rest, sums;

    // Add the gradient of one sampled ranking to the slope; return its DCG. The keys are the first documents, one per place.
    double add_ranking(View<const Key> keys, View<const double> gains, View<const double> discounts,
                       View<double> rewards, View<double> slope) const {
        const Index n_places = keys.size;
        if (n_places < scores.size) {
            for (const Key& key : keys) rest[key.doc] = 0.0;
            sums[n_places] = sum_of_rest();
        } else {
            sums[n_places] = is_wide ? -std::numeric_limits<double>::infinity() : 0.0;
        }
        rewards[n_places] = 0.0;
        for (Index r = n_places - 1; r >= 0; --r) {
            sums[r] = with(sums[r + 1], keys[r].doc);
            rewards[r] = rewards[r + 1] + discounts[r] * gains[keys[r].doc];
        }
        double weight = 0.0, following = 0.0;  // Σ θ / D and Σ R / D up to a place, relative to its D
        for (Index r = 0; r < n_places; ++r) {
            const double less = r == 0 ? 0.0 : is_wide ? std::exp(sums[r] - sums[r - 1]) : sums[r] / sums[r - 1];
            weight = weight * less + discounts[r];
            following = following * less + rewards[r];
            const Index doc = keys[r].doc;
            const double share = is_wide ? std::exp(scores[doc] - sums[r]) : powers[doc] / sums[r];
            slope[doc] += rewards[r + 1] + share * (gains[doc] * weight - following);
        }
        if (n_places < scores.size) {
            add_to_rest(sums[n_places - 1], weight, following, gains, slope);
            for (const Key& key : keys) rest[key.doc] = powers[key.doc];
        }
        return rewards[0];
    }

private:
    double with(double sum, Index doc) const {
        if constexpr (!is_wide) return sum + powers[doc];
        const double score = scores[doc];
        return std::max(score, sum) + std::log1p(std::exp(-std::abs(score - sum)));
    }

    double sum_of_rest() const {
        if constexpr (!is_wide) return plackett::sum_of(rest);
        double top = -std::numeric_limits<double>::infinity(), total = 0.0;
        for (Index i = 0; i < scores.size; ++i)
            if (rest[i] > 0.0) top = std::max(top, scores[i]);
        for (Index i = 0; i < scores.size; ++i)
            if (rest[i] > 0.0) total += std::exp(scores[i] - top);
        return top + std::log(total);
    }

    void add_to_rest(double sum, double weight, double following, View<const double> gains, View<double> slope) const {
        if constexpr (is_wide) {
            for (Index i = 0; i < scores.size; ++i)
                if (rest[i] > 0.0) slope[i] += std::exp(scores[i] - sum) * (gains[i] * weight - following);
        } else {
            const double of_gain = weight / sum, less = following / sum;
#pragma omp simd
            for (Index i = 0; i < scores.size; ++i) slope[i] += rest[i] * (gains[i] * of_gain - less);
        }
    }
};

}  // namespace pl_rank

class PLRank final : public Loss {
public:
    PLRank(View<const Index> bounds, View<const Index> order, View<const Index> levels, View<const Index> level_indptr,
           View<const double> labels, View<const double> gains, View<const double> discounts, Index n_samples,
           std::uint64_t seed)
        : bounds(bounds), order(order), levels(levels), level_indptr(level_indptr), gains(gains), discounts(discounts),
          n_samples(n_samples) {
        // a query is known by its labels, in order: blocks of queries, and rows, may come in any order
        for (Index q = 0; q < bounds.size - 1; ++q) {
            std::uint64_t key = random_word(seed, static_cast<std::uint64_t>(bounds[q + 1] - bounds[q]));
            for (const Index row : order.slice(bounds[q], bounds[q + 1]))
                key = random_word(key ^ std::bit_cast<std::uint64_t>(labels[row] + 0.0), 0);
            query_keys.push_back(key);
        }
    }

    View<const Index> indptr() const override { return bounds; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        const Index longest = longest_list(bounds, first, last);
        const pl_rank::Room room(longest, std::min(longest, discounts.size));
        for (Index q = first; q < last; ++q) {
            const auto own_slope = slope.slice(bounds[q], bounds[q + 1]);
            own_slope.fill(0.0);
            values[q] = own_slope.size == 0 ? 0.0 : -evaluate_query(scores, own_slope, q, room);
        }
    }

private:
    View<const Index> bounds, order, levels, level_indptr;
    View<const double> gains, discounts;
    Index n_samples;
    std::vector<std::uint64_t> query_keys;

    // The mean DCG of one query; its slope, with the sign of a loss.
    double evaluate_query(View<const double> scores, View<double> slope, Index q, const pl_rank::Room& room) const {
        const Index n = slope.size, start = bounds[q];
        const auto weights = discounts.slice(0, std::min(n, discounts.size));
        const auto rows = room.rows.slice(0, n);
        number_documents(scores, q, rows);
        const auto own_scores = room.scores.slice(0, n), own_gains = room.gains.slice(0, n);
        take(scores, rows, own_scores);
        take(gains, rows, own_gains);
        const auto [lowest, highest] = range_of(own_gains);
        const double mean_gain = lowest == highest ? lowest : sum_of(own_gains) / static_cast<double>(n);
        const double constant = mean_gain * sum_of(weights);
        if (lowest == highest) return constant;
        for (Index i = 0; i < n; ++i) own_gains[i] -= mean_gain;
        const auto [low, high] = range_of(own_scores);
        for (Index i = 0; i < n; ++i) own_scores[i] -= high;
        const auto own_slope = room.slope.slice(0, n);
        own_slope.fill(0.0);
        const double total = high - low < pl_rank::WIDEST ? sample<false>(q, weights, room) : sample<true>(q, weights, room);
        balance(own_scores, room.rest.slice(0, n), own_slope);
        average_ties(scores, q, rows, own_slope);
        const double scale = -1.0 / static_cast<double>(n_samples);
        for (Index i = 0; i < n; ++i) slope[rows[i] - start] = scale * own_slope[i];
        return constant - scale * total;
    }

    // Sum of the DCG of all samples; their gradients in room.slope.
    template <bool is_wide>
    double sample(Index q, View<const double> weights, const pl_rank::Room& room) const {
        const Index n = bounds[q + 1] - bounds[q];
        const auto scores = room.scores.slice(0, n), times = room.times.slice(0, n), powers = room.powers.slice(0, n);
        const auto slowness = room.slowness.slice(0, n), rest = room.rest.slice(0, n);
        for (Index i = 0; i < n; ++i) powers[i] = rest[i] = is_wide ? 1.0 : exp(scores[i]);
        for (Index i = 0; i < n; ++i) slowness[i] = 1.0 / powers[i];
        const pl_rank::Remainders<is_wide> remainders{scores, powers, rest, room.sums.slice(0, weights.size + 1)};
        const auto keys = room.keys.slice(0, weights.size);
        const auto key = query_keys[static_cast<std::size_t>(q)];
        double total = 0.0;
        for (Index s = 0; s < n_samples; ++s) {
            for (Index i = 0; i < n; ++i) {
                const auto word = random_word(key, static_cast<std::uint64_t>(s * n + i));
                times[i] = (static_cast<double>(static_cast<std::int64_t>(word >> 12)) + 0.5) * 0x1p-52;  // never 0 nor 1
            }
            if constexpr (is_wide)
                for (Index i = 0; i < n; ++i) times[i] = std::log(-std::log(times[i])) - scores[i];
            else
#pragma omp simd
                for (Index i = 0; i < n; ++i) times[i] = -log(times[i]) * slowness[i];
            pl_rank::find_first(times, keys);
            total += remainders.add_ranking(keys, room.gains.slice(0, n), weights,
                                            room.rewards.slice(0, weights.size + 1), room.slope.slice(0, n));
        }
        return total;
    }

    // Make the slope sum to 0, as its expectation does: softmax(f) times the sum is subtracted, whose mean is 0.
    static void balance(View<const double> scores, View<double> shares, View<double> slope) {
        exp_below(scores, 0.0, shares);
        const double excess = sum_of(slope) / sum_of(shares);
#pragma omp simd
        for (Index i = 0; i < slope.size; ++i) slope[i] -= excess * shares[i];
    }

    // Rows by label, and within a level by score.
    void number_documents(View<const double> scores, Index q, View<Index> rows) const {
        for (Index l = level_indptr[q]; l < level_indptr[q + 1]; ++l) {
            const Index first = levels[l] - bounds[q], last = levels[l + 1] - bounds[q];
            for (Index i = first; i < last; ++i) rows[i] = order[bounds[q] + i];
            std::sort(rows.begin() + first, rows.begin() + last, [&](Index a, Index b) {
                return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
            });
        }
    }

    void average_ties(View<const double> scores, Index q, View<const Index> rows, View<double> slope) const {
        for (Index l = level_indptr[q]; l < level_indptr[q + 1]; ++l)
            for (Index i = levels[l] - bounds[q], stop = i; i < levels[l + 1] - bounds[q]; i = stop) {
                double total = 0.0;
                for (; stop < levels[l + 1] - bounds[q] && scores[rows[stop]] == scores[rows[i]]; ++stop) total += slope[stop];
                slope.slice(i, stop).fill(total / static_cast<double>(stop - i));
            }
    }
};

inline Loss* make_pl_rank(View<const Index> indptr, View<const Index> order, View<const Index> bounds,
                          View<const Index> level_indptr, View<const double> labels, View<const double> gains,
                          View<const double> discounts, Index n_samples, Index seed) {
    return new PLRank(indptr, order, bounds, level_indptr, labels, gains, discounts, n_samples,
                      static_cast<std::uint64_t>(seed));
}

}  // namespace plackett
