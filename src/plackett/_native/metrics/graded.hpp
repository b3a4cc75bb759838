// Measures of graded labels: DCG and related measures, ERR, weighted pairwise disagreement.
//
// All take labels in ranked order. If ties are averaged, every place of a tie group gets the group's expectation. An empty
// query stays NaN, with which `values` is filled on entry. Kernels handle queries first to last.
#pragma once
#include <algorithm>

#include "core/arrays.hpp"
#include "metrics/gain.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

// Sum of gain times discount; the same function for a ranking and for the ideal, so that a perfect one is exactly 1.
inline double gain_sum(View<const double> ranked, double best, bool is_linear, View<const double> discounts) {
    double total = 0.0;
    if (is_linear) {
        for (Index p = 0; p < ranked.size; ++p) total += linear_gain(ranked[p], best) * discounts[p];
    } else {
        const double smallest = power_of_two(-best);
        for (Index p = 0; p < ranked.size; ++p) total += exponential_gain(ranked[p], best, smallest) * discounts[p];
    }
    return total;
}

inline double discounted_gain(View<const double> ranked, TieGroups<const std::int32_t> groups, Index limit,
                              double best, bool is_linear, View<const double> discounts) {
    if (groups.empty()) return gain_sum(ranked.slice(0, limit), best, is_linear, discounts);
    double total = 0.0;
    for (Index place = 0; place < limit;) {
        const Index stop = groups.stop(place);
        double gains = 0.0, weight = 0.0;
        for (Index p = place; p < stop; ++p) gains += gain(ranked[p], best, is_linear);
        for (Index p = place; p < std::min(stop, limit); ++p) weight += discounts[p];
        total += gains / static_cast<double>(stop - place) * weight;
        place = stop;
    }
    return total;
}

inline void dcg(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                View<const Index> n_ranked, Index k, bool is_linear, View<const double> discounts, Index first,
                Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        values[q] = discounted_gain(own, groups, std::min(k, n_ranked[q]), 0.0, is_linear, discounts);
    }
}

inline void ndcg(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                 View<const Index> n_ranked, View<const double> ideal, View<const Index> ideal_indptr, Index k,
                 bool is_linear, View<const double> discounts, bool zero_if_short, Index first, Index last,
                 View<double> values) {
    for (Index q = first; q < last; ++q) {
        const auto best_labels = ideal.slice(ideal_indptr[q], ideal_indptr[q + 1]);
        if (best_labels.size == 0 || best_labels[0] <= 0.0) continue;
        const double best = best_labels[0], best_dcg = gain_sum(best_labels, best, is_linear, discounts);
        if (best_dcg == 0.0) continue;  // the gain of a very small label underflows
        if (zero_if_short && indptr[q + 1] - indptr[q] < k) {
            values[q] = 0.0;
            continue;
        }
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        const auto own = ranked.slice(indptr[q], indptr[q] + n_ranked[q]);
        values[q] = discounted_gain(own, groups, std::min(k, n_ranked[q]), best, is_linear, discounts) / best_dcg;
    }
}

// The mean of NDCG@1, NDCG@2, …, NDCG@n.
inline void mean_ndcg(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                      View<const Index> n_ranked, View<const double> ideal, bool is_linear,
                      View<const double> discounts, Index first, Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], n_docs = indptr[q + 1] - start;
        if (n_docs == 0 || ideal[start] <= 0.0) continue;
        const double best = ideal[start];
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double found = 0.0, best_dcg = 0.0, total = 0.0, mean_gain = 0.0;
        Index stop = 0;
        for (Index p = 0; p < n_docs; ++p) {
            if (p < n_ranked[q]) {
                if (p == stop) {
                    stop = groups.stop(p);
                    const auto size = static_cast<double>(stop - p);
                    mean_gain = 0.0;
                    for (Index member = p; member < stop; ++member)
                        mean_gain += gain(ranked[start + member], best, is_linear) / size;
                }
                found += mean_gain * discounts[p];
            }
            best_dcg += gain(ideal[start + p], best, is_linear) * discounts[p];
            total += best_dcg > 0.0 ? found / best_dcg : 0.0;
        }
        if (best_dcg > 0.0) values[q] = total / static_cast<double>(n_docs);
    }
}

// passed[r] = mean, over all choices of r documents, of the product of their 1 − R. Return that of all of them.
//
// With one more document x the mean over r of t + 1 is (1 − r/(t+1)) · old[r] + r/(t+1) · (1 − R_x) · old[r − 1]: only
// sums of numbers between 0 and 1.
inline double mean_products(View<const double> labels, double max_label, Index depth, View<double> passed) {
    double everything = 1.0;
    passed[0] = 1.0;
    for (Index t = 0; t < labels.size; ++t) {
        const double stays = 1.0 - exponential_gain(labels[t], max_label);
        everything *= stays;
        const Index deepest = std::min(depth, t + 1);
        if (deepest == t + 1) passed[deepest] = 0.0;
#pragma omp simd
        for (Index r = deepest; r > 0; --r) {
            const double share = static_cast<double>(r) / static_cast<double>(t + 1);
            passed[r] = (1.0 - share) * passed[r] + share * stays * passed[r - 1];
        }
    }
    return everything;
}

// Expected reciprocal rank: Σ R_i / i · Π_{j<i} (1 − R_j), R = gain over 2**max_label.
inline void err(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                View<const Index> n_ranked, View<const double> best_labels, Index k, double max_label, Index first,
                Index last, View<double> values) {
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, n_ranked[q]);
    const Scratch<double> passed(std::min(longest, k) + 1);  // for one group: see mean_products
    for (Index q = first; q < last; ++q) {
        if (!(best_labels[q] > 0.0)) continue;
        const Index start = indptr[q], limit = std::min(k, n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0, reached = 1.0;
        for (Index place = 0; place < limit && reached > 0.0;) {
            const Index stop = groups.stop(place);
            if (stop == place + 1) {
                const double stops_here = exponential_gain(ranked[start + place], max_label);
                total += reached * stops_here / static_cast<double>(place + 1);
                reached *= 1.0 - stops_here;
            } else {
                const Index depth = std::min(stop, limit) - place;
                const double all_passed =
                    mean_products(ranked.slice(start + place, start + stop), max_label, depth, passed);
                for (Index r = 0; r < depth; ++r)
                    total += reached * (passed[r] - passed[r + 1]) / static_cast<double>(place + r + 1);
                reached *= all_passed;
            }
            place = stop;
        }
        values[q] = total;
    }
}

// Gain of every label of the ideal order over the query's largest gain.
inline void relative_gains(View<const double> ideal, View<const Index> indptr, bool is_linear, Index first, Index last,
                           View<double> worth) {
    for (Index q = first; q < last; ++q) {
        if (indptr[q] == indptr[q + 1]) continue;
        const double best = ideal[indptr[q]], largest = gain(best, best, is_linear);
        for (Index p = indptr[q]; p < indptr[q + 1]; ++p)
            worth[p] = largest > 0.0 ? gain(ideal[p], best, is_linear) / largest : 0.0;
    }
}

// Mean of the position weights over each level of equal labels.
inline void level_means(View<const double> ideal, View<const Index> indptr, View<const double> weights, Index first,
                        Index last, View<double> worth) {
    for (Index q = first; q < last; ++q)
        for (Index place = indptr[q]; place < indptr[q + 1];) {
            double total = 0.0;
            Index stop = place;
            for (; stop < indptr[q + 1] && ideal[stop] == ideal[place]; ++stop) total += weights[stop];
            worth.slice(place, stop).fill(total / static_cast<double>(stop - place));
            place = stop;
        }
}

// The worth of a label, found in the descending ideal order. Binary search without branches, which could not be predicted.
inline double worth_of(double label, View<const double> ideal, View<const double> worth) {
    Index low = 0;
    for (Index size = ideal.size; size > 1;) {
        const Index half = size / 2;
        low += ideal[low + half - 1] > label ? half : 0;
        size -= half;
    }
    return worth[low];
}

// Σ (n − position) · worth in ranked order over the same in ideal order; or, not is_ratio, the ideal minus it.
//
// The difference is Σ_{y_i > y_j} (worth_i − worth_j) · 1[i is below j], pair by pair: Theorem 3 of p-ListMLE.
inline void disagreement(View<const double> ranked, View<const std::int32_t> group_end, View<const Index> indptr,
                         View<const double> ideal, View<const double> worth, bool is_ratio, bool normalize, Index first,
                         Index last, View<double> values) {
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop_row = indptr[q + 1], n_docs = stop_row - start;
        const auto own_ideal = ideal.slice(start, stop_row), own_worth = worth.slice(start, stop_row);
        double best = 0.0;
        for (Index p = 0; p < n_docs; ++p) best += static_cast<double>(n_docs - 1 - p) * own_worth[p];
        if (!(best > 0.0)) continue;
        const auto groups = own_groups(group_end, indptr, q, n_docs);
        double found = 0.0;
        for (Index place = 0; place < n_docs;) {
            const Index stop = groups.stop(place);
            double total = 0.0;
            for (Index p = place; p < stop; ++p) total += worth_of(ranked[start + p], own_ideal, own_worth);
            found += total * (static_cast<double>(n_docs - 1) - 0.5 * static_cast<double>(place + stop - 1));
            place = stop;
        }
        values[q] = is_ratio ? found / best : std::max(best - found, 0.0) / (normalize ? best : 1.0);
    }
}

}  // namespace plackett::metrics
