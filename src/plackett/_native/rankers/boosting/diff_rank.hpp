// DiffRank: weights of pairs, computed only as sums for each document.
//
// Documents are in descending order of labels. The pair of a better document i and a worse j has the weight
// exp(-(H_i - H_j) / U), with the scores H and the spread U = n - 1.
#pragma once
#include <cmath>

#include "core/exp.hpp"
#include "core/lists.hpp"
#include "rankers/boosting/ranks.hpp"

namespace plackett::boosting {

constexpr double WIDEST = 600.0;  // of the exponents of a query: exp(a) exp(b) neither overflows nor underflows

// Work space for the factors of the weights of one list.
struct PairFactors {
    Scratch<double> up, down, lost;

    explicit PairFactors(Index longest) : up(longest), down(longest), lost(longest) {}
};

// Total weight of the pairs of one query, and for each document its weight as the better minus that as the worse one.
//
// Weights are products, so that sums over pairs are sums over the documents below and above. Both sums are computed in one
// loop, from either end, because each addition depends on the one before.
inline double weigh_narrow_pairs(View<const double> scores, double middle, double spread, View<const Index> level_start,
                                 Index top, const PairFactors& room, View<double> net) {
    const Index n = scores.size;
    const double per_unit = 1.0 / spread;
    const View<double> up = room.up.slice(0, n), down = room.down.slice(0, n), lost = room.lost.slice(0, n);
#pragma omp simd
    for (Index i = 0; i < n; ++i) up[i] = exp((middle - scores[i]) * per_unit);
#pragma omp simd
    for (Index i = 0; i < n; ++i) down[i] = exp((scores[i] - middle) * per_unit);
    double total = 0.0, tail = 0.0, of_level_below = 0.0, head = 0.0, of_level_above = 0.0;
    Index level_below = level_start[n - 1], level_above = 0;
    for (Index j = 0; j < n; ++j) {
        const Index k = n - 1 - j;
        if (level_start[k] != level_below) {
            tail += of_level_below;
            of_level_below = 0.0;
            level_below = level_start[k];
        }
        const double gained = level_below < top ? up[k] * tail : 0.0;
        net[k] = gained;
        total += gained;
        of_level_below += down[k];

        if (level_start[j] != level_above) {
            head += of_level_above;
            of_level_above = 0.0;
            level_above = level_start[j];
        }
        lost[j] = down[j] * head;
        of_level_above += level_above < top ? up[j] : 0.0;
    }
    for (Index j = 0; j < n; ++j) net[j] -= lost[j];
    return total;
}

// A sum of exponentials relative to the largest, so that none overflows.
struct ScaledSum {
    double sum = 0.0, largest = 0.0;

    void add(double exponent) {
        if (sum == 0.0 || exponent > largest) {
            sum = (sum > 0.0 ? sum * std::exp(largest - exponent) : 0.0) + 1.0;
            largest = exponent;
        } else {
            sum += std::exp(exponent - largest);
        }
    }
    double times_exp(double exponent) const { return sum > 0.0 ? sum * std::exp(largest + exponent) : 0.0; }
};

// The same for a range of scores so wide that the products have to be scaled.
inline double weigh_wide_pairs(View<const double> scores, double spread, View<const Index> level_start, Index top,
                               View<double> net) {
    const Index n = scores.size;
    double total = 0.0;
    ScaledSum tail, head;
    for (Index stop = n, start = 0; stop > 0; stop = start) {
        start = level_start[stop - 1];
        for (Index i = start; i < stop; ++i) {
            net[i] = start < top ? tail.times_exp(-scores[i] / spread) : 0.0;
            total += net[i];
        }
        for (Index i = start; i < stop; ++i) tail.add(scores[i] / spread);
    }
    for (Index i = 0, start = 0; i < n; ++i) {
        if (level_start[i] != start) {
            if (start < top)
                for (Index j = start; j < i; ++j) head.add(-scores[j] / spread);
            start = i;
        }
        net[i] -= head.times_exp(scores[i] / spread);
    }
    return total;
}

// Add the weighted ranks of a feature to the scores.
inline void add_feature(View<const std::int32_t> feature, double weight, View<double> scores) {
    for (Index i = 0; i < scores.size; ++i) scores[i] += weight * (0.5 * feature[i]);
}

// Total weight of the pairs of each query, and each document's weight in them.
inline void weigh_pairs(View<const double> scores, View<const Index> level_start, Index top, View<const Index> n_pairs,
                        View<const Index> indptr, Index first, Index last, View<double> totals, View<double> net) {
    const PairFactors room(longest_list(indptr, first, last));
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1];
        const View<double> answer = net.slice(start, stop);
        totals[q] = 0.0;
        if (n_pairs[q] == 0) {
            answer.fill(0.0);
            continue;
        }
        const View<const double> own = scores.slice(start, stop);
        const View<const Index> levels = level_start.slice(start, stop);
        const auto spread = static_cast<double>(stop - start - 1);
        double low = own[0], high = own[0];
#pragma omp simd reduction(min : low) reduction(max : high)
        for (Index i = 0; i < own.size; ++i) {
            low = std::min(low, own[i]);
            high = std::max(high, own[i]);
        }
        if (high - low <= WIDEST * spread)
            totals[q] = weigh_narrow_pairs(own, 0.5 * (low + high), spread, levels, top, room, answer);
        else
            totals[q] = weigh_wide_pairs(own, spread, levels, top, answer);
    }
}

// Sum over the pairs of each query of weight times difference in rank, relative to the largest difference.
inline void pull_feature(View<const std::int32_t> feature, View<const double> net, View<const Index> n_pairs,
                         View<const Index> indptr, Index first, Index last, View<double> pulls) {
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1];
        double total = 0.0;
        if (n_pairs[q] > 0) {
#pragma omp simd reduction(+ : total)
            for (Index i = start; i < stop; ++i) total += net[i] * (0.5 * feature[i]);
            total /= static_cast<double>(stop - start - 1);
        }
        pulls[q] = total;
    }
}

// Pairs of each query that the scores order wrongly; scores closer than TIE are tied.
inline void count_wrong(View<const double> scores, View<const Index> level_start, View<const Index> level_end,
                        View<const Index> tops, View<const Index> n_pairs, View<const Index> indptr, Index first,
                        Index last, View<Index> wrong) {
    const SumRanker ranker(longest_list(indptr, first, last));
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1], n = stop - start;
        wrong[q] = 0;
        if (n_pairs[q] == 0) continue;
        std::copy(scores.begin() + start, scores.begin() + stop, ranker.sums(n).begin());
        const LevelBounds levels{level_start.slice(start, stop), level_end.slice(start, stop)};
        wrong[q] = ranker.pairs_of_sums(n, levels, tops[q]).second;
    }
}

}  // namespace plackett::boosting
