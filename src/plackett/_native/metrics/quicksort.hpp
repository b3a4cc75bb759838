// The order of equal keys in numba's argsort, which is the one that ranx reports.
//
// Reproduces numba.misc.quicksort of numba 0.68: the median of three as pivot, with the swaps below; parts of up to 15
// documents sorted by insertion; the larger part is pushed on a stack. It is not stable, so each step matters.
#pragma once
#include <utility>

#include "core/arrays.hpp"

namespace plackett::metrics {

class Quicksort {
public:
    // Document numbers 0, 1, … in ascending order of keys, into `order`.
    static void sort(View<const double> keys, View<Index> order) {
        for (Index i = 0; i < order.size; ++i) order[i] = i;
        Quicksort(keys, order).run();
    }

private:
    View<const double> keys;
    View<Index> order;

    Quicksort(View<const double> keys, View<Index> order) : keys(keys), order(order) {}

    static bool is_less(double a, double b) { return a < b || (b != b && a == a); }  // NaN is the largest
    double key(Index place) const { return keys[order[place]]; }
    void swap(Index a, Index b) const { std::swap(order[a], order[b]); }

    void run() const {
        constexpr Index SMALL = 15;
        constexpr int MOST_WAITING = 100;  // at most 64 are possible: each part is at most half as long as the one before
        std::pair<Index, Index> waiting[MOST_WAITING];
        int n = 0;
        waiting[n++] = {0, order.size - 1};
        while (n > 0) {
            auto [low, high] = waiting[--n];
            while (high - low >= SMALL) {
                const Index middle = partition(low, high);
                if (high - middle > middle - low) {
                    if (high > middle) waiting[n++] = {middle + 1, high};
                    high = middle - 1;
                } else {
                    if (middle > low) waiting[n++] = {low, middle - 1};
                    low = middle + 1;
                }
            }
            insert(low, high);
        }
    }

    void insert(Index low, Index high) const {
        for (Index i = low + 1; i <= high; ++i) {
            const Index document = order[i];
            const double own = keys[document];
            Index j = i;
            for (; j > low && is_less(own, key(j - 1)); --j) order[j] = order[j - 1];
            order[j] = document;
        }
    }

    // Partition: keys smaller than the pivot's before the returned place, larger ones after it.
    Index partition(Index low, Index high) const {
        const Index middle = (low + high) >> 1;
        if (is_less(key(middle), key(low))) swap(low, middle);
        if (is_less(key(high), key(middle))) swap(high, middle);
        if (is_less(key(middle), key(low))) swap(low, middle);
        const double pivot = key(middle);
        swap(high, middle);
        Index i = low, j = high - 1;
        while (true) {
            while (i < high && is_less(key(i), pivot)) ++i;
            while (j >= low && is_less(pivot, key(j))) --j;
            if (i >= j) break;
            swap(i, j);
            ++i, --j;
        }
        swap(i, high);
        return i;
    }
};

}  // namespace plackett::metrics
