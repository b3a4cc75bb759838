// The most violated ranking of each query under the margin constraints of average precision, found exactly.
//
// A ranking is determined by how many relevant documents are above each other document, since both kinds are best sorted by
// score. Let the k-th relevant document and the j-th other one have scores s_k and t_j (R and N of them, counted from
// 1). With j others above it instead of j - 1, the k-th relevant document adds
//     gain_j(k) = (k / (k + j - 1) - k / (k + j)) / R - 2 (s_k - t_j) / (R N)
// to the loss and margin violation, independently of the others. So each other document finds its place alone: below the i
// relevant documents for which the sum of gain_j(k) over k > i is largest. As gain_j(k) decreases with j, places rise with
// j, and divide and conquer over others and places takes O(n log n).
#pragma once
#include "core/lists.hpp"
#include "core/sort.hpp"

namespace plackett::linear {

constexpr Index MOST_HALVINGS = 128;  // one range is pushed per halving

// The gain of placing the j-th other document above the k-th relevant one; both counted from 1.
inline double gain(Index k, Index j, View<const double> relevant, View<const double> others) {
    const auto above = static_cast<double>(k), total = static_cast<double>(k + j);
    const double precision = above / ((total - 1.0) * total);
    const double margin = 2.0 * (relevant[k - 1] - others[j - 1]) / static_cast<double>(others.size);
    return (precision - margin) / static_cast<double>(relevant.size);
}

// For each other document, the number of relevant ones above it; both kinds of scores are in descending order.
inline void find_places(View<const double> relevant, View<const double> others, View<Index> places) {
    struct Range {  // others and places still to be halved
        Index first, last, low, high;
    };
    Range stack[MOST_HALVINGS];
    stack[0] = {0, others.size, 0, relevant.size};
    for (Index depth = 1; depth > 0;) {
        const auto [first, last, low, high] = stack[--depth];
        const Index middle = (first + last) / 2;
        Index best = high;
        double best_total = 0.0, total = 0.0;
        for (Index place = high - 1; place >= low; --place) {
            total += gain(place + 1, middle + 1, relevant, others);
            if (total > best_total) {  // of equal places the lowest: the fewest inverted pairs
                best = place;
                best_total = total;
            }
        }
        places[middle] = best;
        if (first < middle) stack[depth++] = {first, middle, low, best};
        if (middle + 1 < last) stack[depth++] = {middle + 1, last, best, high};
    }
}

// Give documents of equal score the mean of their pulls, so that results do not depend on the order of rows.
inline void share_among_ties(View<const double> scores, View<double> pulls) {
    Index stop = 0;
    for (Index start = 0; start < scores.size; start = stop) {
        stop = start + 1;
        while (stop < scores.size && scores[stop] == scores[start]) ++stop;
        if (stop - start == 1) continue;
        double sum = 0.0;
        for (Index i = start; i < stop; ++i) sum += pulls[i];
        pulls.slice(start, stop).fill(sum / static_cast<double>(stop - start));
    }
}

// The documents of one kind, in descending order of scores.
class Kind {
public:
    explicit Kind(Index longest)
        : rows(longest), falling(longest), places_before(longest), sorted(longest), of(longest) {}

    void take(View<const double> all, View<const bool> is_relevant, bool wanted, const BucketSort& sort) {
        size = 0;
        for (Index i = 0; i < all.size; ++i)
            if (is_relevant[i] == wanted) {
                places_before[size] = i;
                falling[size++] = -all[i];
            }
        sort(falling.slice(0, size), rows.slice(0, size));
        for (Index k = 0; k < size; ++k) {
            rows[k] = places_before[rows[k]];
            sorted[k] = -falling[k];
        }
    }
    View<const double> scores() const { return sorted.slice(0, size); }
    View<double> pulls() const { return of.slice(0, size); }

    // Scatter the pulls, averaged over ties, to the documents.
    void give_back(View<double> all) const {
        share_among_ties(scores(), pulls());
        for (Index k = 0; k < size; ++k) all[rows[k]] = of[k];
    }

    Index size = 0;

private:
    Scratch<Index> rows;
    Scratch<double> falling;
    Scratch<Index> places_before;
    Scratch<double> sorted, of;
};

// Return the loss of the worst ranking, 1 - average precision; `pulls` are the slopes of the violation by the scores.
inline double worst_of_query(Kind& relevant, Kind& others, View<Index> places, View<double> pulls) {
    pulls.fill(0.0);
    if (relevant.size == 0 || others.size == 0) return 0.0;
    find_places(relevant.scores(), others.scores(), places);
    const auto n_relevant = static_cast<double>(relevant.size);
    const double per_pair = 2.0 / (n_relevant * static_cast<double>(others.size));
    double precision = 0.0;
    for (Index k = 0, above = 0; k < relevant.size; ++k) {
        while (above < others.size && places[above] <= k) ++above;
        relevant.pulls()[k] = -per_pair * static_cast<double>(above);
        precision += static_cast<double>(k + 1) / static_cast<double>(k + 1 + above);
    }
    for (Index j = 0; j < others.size; ++j)
        others.pulls()[j] = per_pair * static_cast<double>(relevant.size - places[j]);
    relevant.give_back(pulls);
    others.give_back(pulls);
    return 1.0 - precision / n_relevant;
}

// For each query, the loss of its most violated ranking and the slope of the violation by each score. The violation
// itself is losses[q] + pulls · scores over the rows of the query.
inline void most_violated(View<const double> scores, View<const bool> is_relevant, View<const Index> indptr,
                          View<double> losses, View<double> pulls) {
    const Index n_queries = indptr.size - 1, longest = longest_list(indptr, 0, n_queries);
    const BucketSort sort(longest);
    const Scratch<Index> places(longest);
    Kind relevant(longest), others(longest);
    for (Index q = 0; q < n_queries; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1];
        relevant.take(scores.slice(start, stop), is_relevant.slice(start, stop), true, sort);
        others.take(scores.slice(start, stop), is_relevant.slice(start, stop), false, sort);
        losses[q] = worst_of_query(relevant, others, places, pulls.slice(start, stop));
    }
}

}  // namespace plackett::linear
