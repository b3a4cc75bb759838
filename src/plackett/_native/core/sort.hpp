// Stable sorts of keys in ascending order that also return the original indices.
#pragma once
#include "core/arrays.hpp"

namespace plackett {

constexpr Index INSERTED = 12;  // number of keys up to which insertion sort is faster than merge sort

// Sort a few keys, and `order` with them, by insertion.
template <class Key, class Place>
inline void sort_by_insertion(View<Key> keys, View<Place> order) {
    for (Index i = 1; i < keys.size; ++i) {
        const Key key = keys[i];
        const Place place = order[i];
        Index j = i;
        for (; j > 0 && keys[j - 1] > key; --j) {
            keys[j] = keys[j - 1];
            order[j] = order[j - 1];
        }
        keys[j] = key;
        order[j] = place;
    }
}

// The same for many keys, by merging. The spare arrays have the size of the others.
template <class Key, class Place>
inline void sort_by_merging(View<Key> keys, View<Place> order, View<Key> spare_keys, View<Place> spare_order) {
    const Index n = keys.size;
    for (Index start = 0; start < n; start += INSERTED) {
        const Index stop = std::min(start + INSERTED, n);
        sort_by_insertion(keys.slice(start, stop), order.slice(start, stop));
    }
    View<Key> from = keys, to = spare_keys;
    View<Place> from_order = order, to_order = spare_order;
    for (Index half = INSERTED; half < n; half *= 2) {
        for (Index start = 0; start < n; start += 2 * half) {
            const Index middle = std::min(start + half, n), stop = std::min(start + 2 * half, n);
            Index left = start, right = middle;
            for (Index place = start; place < stop; ++place) {
                const bool is_left = left < middle && (right >= stop || from[left] <= from[right]);
                Index& taken = is_left ? left : right;
                to[place] = from[taken];
                to_order[place] = from_order[taken];
                ++taken;
            }
        }
        std::swap(from, to);
        std::swap(from_order, to_order);
    }
    if (from.data != keys.data) {
        std::copy(from.begin(), from.end(), keys.begin());
        std::copy(from_order.begin(), from_order.end(), order.begin());
    }
}

// Bucket sort of lists of at most `longest` numbers, with buckets of equal width. Scores, ranks and their sums are spread so
// evenly that few share a bucket. With two buckets per key half as many keys are then out of order as with one, each of which
// costs a mispredicted branch. Full buckets are merge-sorted. Equal keys keep their order.
class BucketSort {
public:
    explicit BucketSort(Index longest) : spare_keys(longest), spare_order(longest), ends(n_buckets(longest) + 1) {}

    // Sort `keys` in place; `order` receives their original indices.
    void operator()(View<double> keys, View<Index> order) const {
        const Index n = keys.size;
        for (Index i = 0; i < n; ++i) order[i] = i;
        if (n <= INSERTED) return sort_by_insertion(keys, order);
        double low = keys[0], high = keys[0];
        for (Index i = 0; i < n; ++i) {
            low = std::min(low, keys[i]);
            high = std::max(high, keys[i]);
        }
        if (low == high) return;
        const double scale = static_cast<double>(n_buckets(n) - 1) / (high - low);
        if (!(scale > 0.0 && scale < 1e300))  // the range overflows, or is close to 0
            return sort_by_merging(keys, order, spare_keys.slice(0, n), spare_order.slice(0, n));
        const bool is_even = sort_into_buckets(keys, order, low, scale);
        if (is_even) return sort_by_insertion(keys, order);
        Index start = 0;
        for (Index bucket = 0; bucket < n_buckets(n); ++bucket) {
            const Index stop = ends[bucket];
            if (stop - start > 2 * INSERTED)
                sort_by_merging(keys.slice(start, stop), order.slice(start, stop), spare_keys.slice(start, stop),
                                spare_order.slice(start, stop));
            else if (stop - start > 1)
                sort_by_insertion(keys.slice(start, stop), order.slice(start, stop));
            start = stop;
        }
    }

private:
    static constexpr Index n_buckets(Index n) { return 2 * n; }

    // Return whether no bucket is full.
    bool sort_into_buckets(View<double> keys, View<Index> order, double low, double scale) const {
        const Index n = keys.size;
        const double last = static_cast<double>(n_buckets(n) - 1);
        const View<Index> bucket_of = spare_order;
        ends.slice(0, n_buckets(n) + 1).fill(0);
        for (Index i = 0; i < n; ++i) {
            const double distance = (keys[i] - low) * scale;
            const auto bucket = static_cast<Index>(distance < last ? distance : last);
            bucket_of[i] = bucket;
            spare_keys[i] = keys[i];
            ++ends[bucket + 1];
        }
        Index fullest = 0;
        for (Index bucket = 0; bucket < n_buckets(n); ++bucket) {
            fullest = std::max(fullest, ends[bucket + 1]);
            ends[bucket + 1] += ends[bucket];
        }
        for (Index i = 0; i < n; ++i) {
            const Index place = ends[bucket_of[i]]++;
            keys[place] = spare_keys[i];
            order[place] = i;
        }
        return fullest <= 2 * INSERTED;
    }

    Scratch<double> spare_keys;
    Scratch<Index> spare_order, ends;
};

}  // namespace plackett
