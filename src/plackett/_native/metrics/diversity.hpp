// Measures of diversity: documents belong to subtopics. Conventions as in graded.hpp.
//
// Row i belongs to the subtopics topics[entries[i]:entries[i + 1]], in ascending order, numbered from 0 over all queries.
// `rows` has the row numbers in ranked order.
#pragma once
#include <algorithm>
#include <utility>

#include "core/arrays.hpp"
#include "core/lists.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

// Subtopics of each query.
inline void count_topics(View<const Index> indptr, View<const Index> entries, View<const std::int32_t> topics,
                         Index n_topics, Index first, Index last, View<double> values) {
    const Scratch<Index> seen(n_topics, -1);
    for (Index q = first; q < last; ++q) {
        Index n = 0;
        for (Index e = entries[indptr[q]]; e < entries[indptr[q + 1]]; ++e) {
            n += seen[topics[e]] != q;
            seen[topics[e]] = q;
        }
        values[q] = static_cast<double>(n);
    }
}

// Means over all choices of r documents of a group, for r up to `depth`, of the product of their factors.
//
// The group has n_plain documents of factor 1; the others are added one by one, as in mean_products of graded.hpp.
class MeanProducts {
public:
    explicit MeanProducts(Index longest) : passed(longest + 1) {}

    void start(Index n_plain, Index depth) {
        n = n_plain;
        deepest = depth;
        passed.view().slice(0, deepest + 1).fill(0.0);
        for (Index r = 0; r <= std::min(n, deepest); ++r) passed[r] = 1.0;
    }
    void add(double factor) {
        ++n;
        for (Index r = std::min(deepest, n); r > 0; --r) {
            const double share = static_cast<double>(r) / static_cast<double>(n);
            passed[r] = (1.0 - share) * passed[r] + share * factor * passed[r - 1];
        }
    }
    double operator[](Index r) const { return passed[r]; }

private:
    Scratch<double> passed;
    Index n = 0, deepest = 0;
};

// Σ over places and subtopics of discount · worth of the document · Π over documents above of (1 − stop).
//
// `stops` has a probability per entry. The worth is 1 if has_unit_worth (α-DCG: all stops are α), else the stop itself
// (ERR). Readers of one subtopic do not see the others, so that the expectation over ties is a sum over subtopics.
inline void cascade(View<const double> rows, View<const std::int32_t> group_end, View<const Index> indptr,
                    View<const Index> n_ranked, View<const Index> entries, View<const std::int32_t> topics,
                    View<const double> stops, Index n_topics, bool has_unit_worth, View<const double> discounts,
                    Index first, Index last, View<double> values) {
    const Scratch<double> reached(n_topics, 1.0);  // probability that a reader of the subtopic has not stopped
    Index n_entries = 0;
    for (Index q = first; q < last; ++q)
        n_entries = std::max(n_entries, entries[indptr[q + 1]] - entries[indptr[q]]);
    const Scratch<std::pair<std::int32_t, double>> room(n_entries);
    MeanProducts passed(longest_list(indptr, first, last));
    for (Index q = first; q < last; ++q) {
        const Index limit = std::min(discounts.size, n_ranked[q]);
        const auto own = rows.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        double total = 0.0;
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            const Index size = stop - place, depth = std::min(stop, limit) - place;
            Index n = 0;
            for (Index p = place; p < stop; ++p) {
                const auto row = static_cast<Index>(own[p]);
                for (Index e = entries[row]; e < entries[row + 1]; ++e) room[n++] = {topics[e], stops[e]};
            }
            const auto found = room.slice(0, n);
            if (size > 1) std::sort(found.begin(), found.end());
            for (Index begin = 0; begin < n;) {
                Index end = begin + 1;
                while (end < n && found[end].first == found[begin].first) ++end;
                double& left = reached[found[begin].first];
                passed.start(size - (end - begin), depth);
                if (has_unit_worth) {
                    for (Index e = begin + 1; e < end; ++e) passed.add(1.0 - found[e].second);
                    const double share = static_cast<double>(end - begin) / static_cast<double>(size);
                    for (Index r = 0; r < depth; ++r) total += discounts[place + r] * left * share * passed[r];
                } else {
                    for (Index e = begin; e < end; ++e) passed.add(1.0 - found[e].second);
                    for (Index r = 0; r < depth; ++r)
                        total += discounts[place + r] * left * (passed[r] - passed[r + 1]);
                }
                for (Index e = begin; e < end; ++e) left *= 1.0 - found[e].second;
                begin = end;
            }
            place = stop;
        }
        values[q] = total;
        for (Index e = entries[indptr[q]]; e < entries[indptr[q + 1]]; ++e) reached[topics[e]] = 1.0;
    }
}

// The α-DCG of a greedy order of all documents, in which every document adds the most.
//
// Of equal documents the one with the smallest tie key comes first; without keys, the one whose subtopics come first,
// so that the order of the rows has no influence.
inline void greedy_cascade(View<const Index> indptr, View<const Index> entries, View<const std::int32_t> topics,
                           Index n_topics, double alpha, View<const double> tie_keys, View<const double> discounts,
                           Index first, Index last, View<double> values) {
    const Scratch<double> reached(n_topics, 1.0);
    const Scratch<Index> room(longest_list(indptr, first, last));
    const auto is_earlier = [&](Index a, Index b) {
        if (tie_keys.size > 0) return tie_keys[a] < tie_keys[b];
        return std::lexicographical_compare(topics.begin() + entries[a], topics.begin() + entries[a + 1],
                                            topics.begin() + entries[b], topics.begin() + entries[b + 1]);
    };
    for (Index q = first; q < last; ++q) {
        Index n = 0;
        for (Index row = indptr[q]; row < indptr[q + 1]; ++row)
            if (entries[row] < entries[row + 1]) room[n++] = row;
        double total = 0.0;
        for (Index place = 0; place < discounts.size && n > 0; ++place) {
            Index best = -1;
            double most = -1.0;
            for (Index i = 0; i < n; ++i) {
                double gain = 0.0;
                for (Index e = entries[room[i]]; e < entries[room[i] + 1]; ++e) gain += reached[topics[e]];
                if (gain > most || (gain == most && is_earlier(room[i], room[best]))) {
                    most = gain;
                    best = i;
                }
            }
            total += discounts[place] * most;
            const Index row = room[best];
            for (Index e = entries[row]; e < entries[row + 1]; ++e) reached[topics[e]] *= 1.0 - alpha;
            room[best] = room[--n];
        }
        values[q] = total;
        for (Index e = entries[indptr[q]]; e < entries[indptr[q + 1]]; ++e) reached[topics[e]] = 1.0;
    }
}

// The weight of the place of every row, in the order of the rows; a tie group shares its weights, and rows that are not
// ranked, or beyond the weights, have 0.
inline void shares(View<const double> rows, View<const std::int32_t> group_end, View<const Index> indptr,
                   View<const Index> n_ranked, View<const double> weights, Index first, Index last,
                   View<double> values) {
    for (Index q = first; q < last; ++q) {
        values.slice(indptr[q], indptr[q + 1]).fill(0.0);
        const Index limit = std::min(weights.size, n_ranked[q]);
        const auto own = rows.slice(indptr[q], indptr[q] + n_ranked[q]);
        const auto groups = own_groups(group_end, indptr, q, n_ranked[q]);
        for (Index place = 0; place < limit;) {
            const Index stop = groups.stop(place);
            double total = 0.0;
            for (Index p = place; p < std::min(stop, limit); ++p) total += weights[p];
            for (Index p = place; p < stop; ++p)
                values[static_cast<Index>(own[p])] = total / static_cast<double>(stop - place);
            place = stop;
        }
    }
}

}  // namespace plackett::metrics
