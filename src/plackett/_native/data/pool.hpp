// The documents of several runs: equal texts get one number, and the documents of a query are ordered by score.
#pragma once
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/arrays.hpp"

namespace plackett::pool {

using Letters = std::uint32_t;  // numpy's text: a row of code points, filled up with zeros

namespace {

inline std::uint64_t hash_of(View<const Letters> text) {
    std::uint64_t hash = 0x9e3779b97f4a7c15;
    for (Index i = 0; i < text.size && text.data[i]; ++i) {
        hash = (hash ^ text.data[i]) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    }
    return hash;
}

inline int compare(View<const Letters> a, View<const Letters> b) {
    for (Index i = 0; i < a.size; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

}  // namespace

// Number the distinct texts of each list from 0, list after list, in the order in which they are first met. List q has the
// rows order[indptr[q]:indptr[q + 1]]. `first` gets the first row of each number, `bounds` the first number of each list.
inline Index number_texts(
    Rows<const Letters> texts, View<const Index> order, View<const Index> indptr, View<Index> number, View<Index> first,
    View<Index> bounds
) {
    Index longest = 0, n_found = 0;
    for (Index q = 0; q + 1 < indptr.size; ++q) longest = std::max(longest, indptr[q + 1] - indptr[q]);
    const Index size = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(2 * longest + 1)));
    Scratch<Index> table(size);
    for (Index q = 0; q + 1 < indptr.size; ++q) {
        bounds[q] = n_found;
        const Index length = indptr[q + 1] - indptr[q];
        const Index n_slots = static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(2 * length + 1)));
        const View<Index> slots = table.slice(0, n_slots);
        slots.fill(-1);
        for (const Index row : order.slice(indptr[q], indptr[q + 1])) {
            const View<const Letters> text = texts[row];
            Index slot = static_cast<Index>(hash_of(text)) & (n_slots - 1);
            while (slots[slot] >= 0 && compare(texts[first[slots[slot]]], text) != 0) slot = (slot + 1) & (n_slots - 1);
            if (slots[slot] < 0) {
                slots[slot] = n_found;
                first[n_found++] = row;
            }
            number[row] = slots[slot];
        }
    }
    bounds[indptr.size - 1] = n_found;
    return n_found;
}

// Order the rows of each list by descending score, those with equal scores by text, descending.
inline void order_rows(
    View<const double> scores, Rows<const Letters> texts, View<const Index> indptr, View<Index> order
) {
    const auto is_before = [&](Index a, Index b) {
        if (scores[a] != scores[b]) return scores[a] > scores[b];
        return compare(texts[a], texts[b]) > 0;
    };
    for (Index q = 0; q + 1 < indptr.size; ++q) {
        const View<Index> own = order.slice(indptr[q], indptr[q + 1]);
        if (!std::is_sorted(own.begin(), own.end(), is_before)) std::sort(own.begin(), own.end(), is_before);
    }
}

}  // namespace plackett::pool
