// Documents of every query in descending order of scores.
//
// Callers have checked everything and own the outputs. A kernel handles queries first to last.
#pragma once
#include <algorithm>
#include <numeric>

#include "core/arrays.hpp"
#include "metrics/sorted_labels.hpp"
#include "metrics/tie_groups.hpp"

namespace plackett::metrics {

// Counting, for every document, how many score higher is quadratic but vectorises: up to about this length it is faster
// than sorting. Longer lists are passed with their order, sorted by numpy.
constexpr Index COUNT_LIMIT = 512;
constexpr Index PAD = 16;

// How many documents of a list score higher than each, by keys in the order of the scores except for ties. A count is as
// wide as a key, so that one vector holds equally many of both.
template <class Key, class Count>
class Counter {
public:
    Counter() : keys(COUNT_LIMIT + PAD), above(COUNT_LIMIT + PAD) {}

    // Count from key(i) of n_docs documents. Return the number of tied pairs. Padding, `lowest`, is not counted.
    template <class KeyOf>
    Index count(Index n_docs, KeyOf key, Key lowest) const {
        const Index n_padded = (n_docs + PAD - 1) / PAD * PAD;
        const View<Key> padded = keys.slice(0, n_padded);
        for (Index i = 0; i < n_docs; ++i) padded[i] = key(i);
        padded.slice(n_docs, n_padded).fill(lowest);
        add_up(padded, above.slice(0, n_padded), n_docs);
        std::int32_t total = 0;
        for (Index i = 0; i < n_docs; ++i) total += above[i];
        return n_docs * (n_docs - 1) / 2 - total;
    }

    View<const Count> counts(Index n_docs) const { return above.slice(0, n_docs); }

private:
    Scratch<Key> keys;
    Scratch<Count> above;

    static void add_up(View<const Key> keys, View<Count> above, Index n_docs) {
        above.fill(0);
        for (Index j = 0; j < n_docs; j += 8) {
            const Key t0 = keys[j], t1 = keys[j + 1], t2 = keys[j + 2], t3 = keys[j + 3];
            const Key t4 = keys[j + 4], t5 = keys[j + 5], t6 = keys[j + 6], t7 = keys[j + 7];
#pragma omp simd
            for (Index i = 0; i < above.size; ++i) {
                const Key x = keys[i];
                auto n = above[i];
                n = static_cast<Count>(n + (t0 > x)), n = static_cast<Count>(n + (t1 > x));
                n = static_cast<Count>(n + (t2 > x)), n = static_cast<Count>(n + (t3 > x));
                n = static_cast<Count>(n + (t4 > x)), n = static_cast<Count>(n + (t5 > x));
                n = static_cast<Count>(n + (t6 > x)), n = static_cast<Count>(n + (t7 > x));
                above[i] = n;
            }
        }
    }
};

// Sort `order` by ascending key(document), stably; `spare` is work space of the same size.
template <class Key>
inline void sort_by(View<Index> order, View<Index> spare, Key key) {
    constexpr Index RUN = 16;
    const Index n = order.size;
    for (Index start = 0; start < n; start += RUN)
        for (Index i = start + 1; i < std::min(start + RUN, n); ++i) {
            const Index document = order[i];
            const auto own = key(document);
            Index j = i;
            for (; j > start && key(order[j - 1]) > own; --j) order[j] = order[j - 1];
            order[j] = document;
        }
    for (Index half = RUN; half < n; half *= 2)
        for (Index start = 0; start + half < n; start += 2 * half) {
            const Index middle = start + half, stop = std::min(start + 2 * half, n);
            if (!(key(order[middle - 1]) > key(order[middle]))) continue;
            std::copy(order.begin() + start, order.begin() + middle, spare.begin() + start);
            Index left = start, right = middle, place = start;
            while (left < middle && right < stop)
                order[place++] = key(order[right]) < key(spare[left]) ? order[right++] : spare[left++];
            while (left < middle) order[place++] = spare[left++];
        }
}

// Call settle(begin, end) for every run of two or more places at which value(place) is the same.
template <class Value, class Settle>
inline void for_each_run(Index n, Value value, Settle settle) {
    for (Index begin = 0; begin < n;) {
        const auto own = value(begin);
        Index end = begin + 1;
        while (end < n && value(end) == own) ++end;
        if (end - begin > 1) settle(begin, end);
        begin = end;
    }
}

// Work space for the lists of one call.
class Ranker {
public:
    explicit Ranker(Index longest)
        : taken(COUNT_LIMIT), orders(longest), spares(longest), gathered(longest) {}

    // Write the labels of a list up to COUNT_LIMIT in descending order of scores and return an empty order. If
    // documents may tie, return their order instead, with equal scores in the order of the rows.
    View<Index> rank_by_counts(View<const double> scores, View<const double> labels, View<double> ranked) const {
        const Index n_docs = scores.size;
        // 16-bit keys are the fastest to compare; if distant scores tie in them, scores are compared as floats
        const Index n_narrow = count_narrow(scores);
        if (n_narrow == 0) return place(narrow.counts(n_docs), labels, ranked);
        if (n_narrow <= n_docs) return order_by(narrow.counts(n_docs), scores);
        const Index n_coarse = coarse.count(
            n_docs, [&](Index i) { return static_cast<float>(scores[i]); }, static_cast<float>(-INFINITE));
        if (n_coarse == 0) return place(coarse.counts(n_docs), labels, ranked);
        return order_by(coarse.counts(n_docs), scores);
    }

    View<Index> copy_of(View<const Index> given) const {
        const View<Index> order = orders.slice(0, given.size);
        std::copy(given.begin(), given.end(), order.begin());
        return order;
    }

    // Sort every run of equal scores by its keys; equal keys keep their order.
    void settle_by_keys(View<const double> scores, View<const double> keys, View<Index> order) const {
        for_each_run(
            order.size, [&](Index place) { return scores[order[place]]; },
            [&](Index begin, Index end) {
                sort_by(order.slice(begin, end), spares.slice(begin, end), [&](Index i) { return keys[i]; });
            });
    }

    // Write the labels in order, descending in every run of equal scores, and the end of the run of each place.
    void write_averaged(View<const double> scores, View<const double> labels, View<const Index> order,
                        View<double> ranked, View<std::int32_t> ends) const {
        const View<double> found = gathered.slice(0, order.size);
        for (Index place = 0; place < order.size; ++place) {
            found[place] = ranked[place] = labels[order[place]];
            ends[place] = static_cast<std::int32_t>(place + 1);
        }
        for_each_run(
            order.size, [&](Index place) { return scores[order[place]]; },
            [&](Index begin, Index end) {
                best_labels(found.slice(begin, end), ranked.slice(begin, end));
                ends.slice(begin, end).fill(static_cast<std::int32_t>(end));
            });
    }

private:
    static constexpr Index UNKNOWN = std::numeric_limits<Index>::max();
    Counter<std::int16_t, std::int16_t> narrow;
    Counter<float, std::int32_t> coarse;
    Scratch<Index> taken, orders, spares;
    Scratch<double> gathered;

    // Count the pairs that tie when the range of the scores is divided into 65,534 steps; UNKNOWN if it cannot be divided.
    Index count_narrow(View<const double> scores) const {
        double low = INFINITE, high = -INFINITE;
#pragma omp simd reduction(min : low) reduction(max : high)
        for (Index i = 0; i < scores.size; ++i) {
            low = scores[i] < low ? scores[i] : low;
            high = scores[i] > high ? scores[i] : high;
        }
        const double steps = 65534.0 / (high - low);
        if (!(steps < INFINITE) || !(steps > 0.0)) return UNKNOWN;  // constant or infinite scores
        return narrow.count(
            scores.size,
            [&](Index i) {
                return static_cast<std::int16_t>(static_cast<std::int32_t>((scores[i] - low) * steps) - 32768);
            },
            -32768);
    }

    template <class Count>
    static View<Index> place(View<const Count> above, View<const double> labels, View<double> ranked) {
        for (Index i = 0; i < labels.size; ++i) ranked[above[i]] = labels[i];
        return {nullptr, 0};
    }

    // Documents in descending order of scores, from the counts of higher ones.
    template <class Count>
    View<Index> order_by(View<const Count> above, View<const double> scores) const {
        const Index n_docs = scores.size;
        const View<Index> order = orders.slice(0, n_docs);
        taken.slice(0, n_docs).fill(0);
        for (Index i = 0; i < n_docs; ++i) order[above[i] + taken[above[i]]++] = i;
        for_each_run(
            n_docs, [&](Index place) { return above[order[place]]; },
            [&](Index begin, Index end) {
                sort_by(order.slice(begin, end), spares.slice(begin, end), [&](Index i) { return -scores[i]; });
            });
        return order;
    }
};

inline bool has_ties(View<const double> scores, View<const Index> order) {
    bool found = false;
    double before = std::numeric_limits<double>::quiet_NaN();
    for (const Index row : order) {
        found |= scores[row] == before;
        before = scores[row];
    }
    return found;
}

// Sort every run of equal scores by row.
inline void in_row_order(View<const double> scores, View<Index> order) {
    for_each_run(
        order.size, [&](Index place) { return scores[order[place]]; },
        [&](Index begin, Index end) { std::sort(order.begin() + begin, order.begin() + end); });
}

inline Index longest_of(View<const Index> lengths, Index first, Index last) {
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, lengths[q]);
    return longest;
}

// Labels in the order of the scores, query by query, into `ranked`.
//
// Only the first n_ranked[q] rows of a query are ranked; the others were not retrieved. Documents with equal scores are
// ordered by ascending tie_keys, then by row; without keys, by row; if averaged, by descending label. long_order has
// the documents of lists beyond COUNT_LIMIT in descending order of scores, ties in any order. group_end is written if
// ties are averaged; own_groups reads it.
inline void rank_labels(View<const double> scores, View<const double> labels, View<const double> tie_keys,
                        View<const Index> indptr, View<const Index> n_ranked, View<const Index> long_order,
                        bool is_averaged, Index first, Index last, View<double> ranked,
                        View<std::int32_t> group_end) {
    const Ranker ranker(std::max(longest_of(n_ranked, first, last), COUNT_LIMIT));
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], n_docs = n_ranked[q], stop = start + n_docs;
        const auto own_scores = scores.slice(start, stop), own_labels = labels.slice(start, stop);
        const auto own_ranked = ranked.slice(start, stop);
        if (is_averaged) group_end[q] = 0;  // unless ties are found
        const bool is_long = n_docs > COUNT_LIMIT;
        const auto order = is_long ? ranker.copy_of(long_order.slice(start, stop))
                                   : ranker.rank_by_counts(own_scores, own_labels, own_ranked);
        if (order.size == 0) continue;
        if (has_ties(own_scores, order)) {
            if (is_averaged) {
                group_end[q] = 1;
                const auto groups = own_groups(group_end, indptr, q, n_docs);
                ranker.write_averaged(own_scores, own_labels, order, own_ranked, groups.ends);
                continue;
            }
            if (is_long) in_row_order(own_scores, order);
            if (tie_keys.size > 0) ranker.settle_by_keys(own_scores, tie_keys.slice(start, stop), order);
        }
        for (Index place = 0; place < n_docs; ++place) own_ranked[place] = own_labels[order[place]];
    }
}

// The best labels of every query, descending, into top[top_indptr[q]:top_indptr[q + 1]].
inline void top_labels(View<const double> labels, View<const Index> indptr, View<const Index> top_indptr, Index first,
                       Index last, View<double> top) {
    for (Index q = first; q < last; ++q)
        best_labels(labels.slice(indptr[q], indptr[q + 1]), top.slice(top_indptr[q], top_indptr[q + 1]));
}

// Append the documents that were not retrieved to every query: one tie group, labels descending.
inline void append_rest(View<const double> labels, View<const Index> indptr, View<const Index> n_ranked,
                        View<const std::int32_t> found_end, Index first, Index last, View<double> ranked,
                        View<std::int32_t> group_end) {
    for (Index q = first; q < last; ++q) {
        const Index start = indptr[q], stop = indptr[q + 1], n_found = n_ranked[q];
        const auto found = own_groups(found_end, indptr, q, n_found);
        group_end[q] = 1;
        const auto ends = own_groups(group_end, indptr, q, stop - start).ends;
        for (Index place = 0; place < n_found; ++place) ends[place] = static_cast<std::int32_t>(found.stop(place));
        best_labels(labels.slice(start + n_found, stop), ranked.slice(start + n_found, stop));
        ends.slice(n_found, stop - start).fill(static_cast<std::int32_t>(stop - start));
    }
}

}  // namespace plackett::metrics
