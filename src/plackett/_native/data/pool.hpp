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
    const auto mix = [&](std::uint64_t letters) {
        hash = (hash ^ letters) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    };
    Index i = 0;
    for (; i + 1 < text.size && text.data[i]; i += 2) mix(text.data[i] | std::uint64_t{text.data[i + 1]} << 32);
    if (i < text.size && text.data[i]) mix(text.data[i]);
    return hash;
}

inline bool is_same(View<const Letters> a, View<const Letters> b) {
    return std::memcmp(a.data, b.data, static_cast<std::size_t>(a.size) * sizeof(Letters)) == 0;
}

inline int compare(View<const Letters> a, View<const Letters> b) {
    for (Index i = 0; i < a.size; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

struct Scored {
    std::uint64_t key;  // ascending as scores descend
    Index row;
};

inline std::uint64_t key_of(double score) {
    const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);  // -0.0 and 0.0 are equal
    return bits >> 63 ? bits : ~bits & ~(std::uint64_t{1} << 63);
}

// Sort by the upper halves of the keys, byte by byte; return where the result is, in `items` or in `others`.
inline View<Scored> sort_by_upper_half(View<Scored> items, View<Scored> others) {
    for (int shift = 32; shift < 64; shift += 8) {
        Index starts[257] = {};
        for (const Scored& item : items) ++starts[(item.key >> shift & 255) + 1];
        if (*std::max_element(starts, starts + 257) == items.size) continue;
        for (int byte = 0; byte < 256; ++byte) starts[byte + 1] += starts[byte];
        for (const Scored& item : items) others[starts[item.key >> shift & 255]++] = item;
        std::swap(items, others);
    }
    return items;
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
            while (slots[slot] >= 0 && !is_same(texts[first[slots[slot]]], text)) slot = (slot + 1) & (n_slots - 1);
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
    const auto is_before = [&](const Scored& a, const Scored& b) {
        if (a.key != b.key) return a.key < b.key;
        return compare(texts[a.row], texts[b.row]) > 0;
    };
    Index longest = 0;
    for (Index q = 0; q + 1 < indptr.size; ++q) longest = std::max(longest, indptr[q + 1] - indptr[q]);
    Scratch<Scored> first(longest), second(longest);
    for (Index q = 0; q + 1 < indptr.size; ++q) {
        const View<Index> own = order.slice(indptr[q], indptr[q + 1]);
        View<Scored> items = first.slice(0, own.size);
        for (Index i = 0; i < own.size; ++i) items[i] = {key_of(scores[own[i]]), own[i]};
        if (std::is_sorted(items.begin(), items.end(), is_before)) continue;
        items = sort_by_upper_half(items, second.slice(0, own.size));
        for (Index start = 0, end; start < own.size; start = end) {
            for (end = start + 1; end < own.size && items[end].key >> 32 == items[start].key >> 32;) ++end;
            if (end - start > 1) std::sort(items.begin() + start, items.begin() + end, is_before);
        }
        for (Index i = 0; i < own.size; ++i) own[i] = items[i].row;
    }
}

}  // namespace plackett::pool
