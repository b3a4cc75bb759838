// RankBoost: weights of pairs as products, and sums over all thresholds of a feature.
//
// The pair of a better document i and a worse j of query q has the weight w_q exp(H_j - H_i), so that sums over the
// pairs of a document are products with sums over label levels. Documents are in label order, the best first; scores
// are relative to the middle of their range within the query.
#pragma once
#include <cmath>
#include <limits>
#include <utility>

#include "core/arrays.hpp"

namespace plackett::boosting {

constexpr double FARTHEST = 340.0;  // from the middle: products of exponentials, summed over all pairs, stay finite

// For each document: its weight as the better one of pairs minus that as the worse one.
//
// Level l has places bounds[l] to bounds[l + 1] of the label order, and query q has levels of_queries[q] to
// of_queries[q + 1]. `up` and `down`, one per place of the label order, are e to the score and to its negative; `sums`
// receives the summed weight of the pairs of each query. Results are not normalised by the total.
inline void potentials(View<const double> scores, View<const Index> order, View<const Index> indptr,
                       View<const Index> bounds, View<const Index> of_queries, View<const double> weights,
                       View<double> up, View<double> down, View<double> pulls, View<double> sums) {
    for (Index q = 0; q < indptr.size - 1; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1];
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (Index place = start; place < stop; ++place) {
            low = std::min(low, scores[order[place]]);
            high = std::max(high, scores[order[place]]);
        }
        const double middle = 0.5 * (low + high);
        for (Index place = start; place < stop; ++place) {
            const double centred = std::min(std::max(scores[order[place]] - middle, -FARTHEST), FARTHEST);
            up[place] = std::exp(centred);
            down[place] = std::exp(-centred);
        }
        double better = 0.0;  // sum of `down` over the levels above
        for (Index level = of_queries[q]; level < of_queries[q + 1]; ++level) {
            double here = 0.0;
            for (Index place = bounds[level]; place < bounds[level + 1]; ++place) {
                pulls[order[place]] = -(weights[q] * up[place] * better);
                here += down[place];
            }
            better += here;
        }
        double worse = 0.0, sum = 0.0;  // worse: sum of `up` over the levels below
        for (Index level = of_queries[q + 1] - 1; level >= of_queries[q]; --level) {
            double here = 0.0;
            for (Index place = bounds[level]; place < bounds[level + 1]; ++place) {
                const double mass = weights[q] * down[place] * worse;
                pulls[order[place]] += mass;
                sum += mass;
                here += up[place];
            }
            worse += here;
        }
        sums[q] = sum;
    }
}

// The sum of `pulls` above each threshold of features first to last.
//
// `codes` (feature × document) has the number of thresholds below a value; feature f has edges starts[f] to starts[f + 1].
inline void sweep(Rows<const std::int32_t> codes, View<const Index> starts, View<const double> pulls, Index first,
                  Index last, View<double> edges) {
    Index longest = 0;
    for (Index f = first; f < last; ++f) longest = std::max(longest, starts[f + 1] - starts[f]);
    const Scratch<double> bins(longest + 1);
    for (Index f = first; f < last; ++f) {
        const View<double> edge = edges.slice(starts[f], starts[f + 1]);
        const View<const std::int32_t> code = codes[f];
        bins.slice(0, edge.size + 1).fill(0.0);
        for (Index i = 0; i < pulls.size; ++i) bins[code[i]] += pulls[i];
        double total = 0.0;
        for (Index k = edge.size - 1; k >= 0; --k) {
            total += bins[k + 1];
            edge[k] = total;
        }
    }
}

// The first place where an edge, of either sign, has at least this size; -1 without such a place.
inline Index first_of_size(View<const double> edges, double size) {
    for (Index k = 0; k < edges.size; ++k)
        if (std::abs(edges[k]) >= size) return k;
    return -1;
}

// Summed weight of the pairs that `code > k` orders correctly, and of those that it orders wrongly.
inline std::pair<double, double> split(View<const std::int32_t> code, Index k, View<const Index> order,
                                       View<const Index> indptr, View<const Index> bounds, View<const Index> of_queries,
                                       View<const double> weights, View<const double> up, View<const double> down) {
    double right = 0.0, wrong = 0.0;
    for (Index q = 0; q < indptr.size - 1; ++q) {
        double above = 0.0, below = 0.0;  // sums of `down` over the levels above, of documents with 1 and with 0
        for (Index level = of_queries[q]; level < of_queries[q + 1]; ++level) {
            double one = 0.0, zero = 0.0;
            for (Index place = bounds[level]; place < bounds[level + 1]; ++place) {
                if (code[order[place]] > k) {
                    wrong += weights[q] * up[place] * below;
                    one += down[place];
                } else {
                    right += weights[q] * up[place] * above;
                    zero += down[place];
                }
            }
            above += one;
            below += zero;
        }
    }
    return {right, wrong};
}

}  // namespace plackett::boosting
