// Pairs of a list in which the later value is the larger one.
#pragma once
#include <algorithm>

#include "core/arrays.hpp"

namespace plackett::metrics {

constexpr Index DIRECT_LIMIT = 1536;  // up to this length counting every pair, which vectorises, is faster than merging

// Counts are as wide as the compared values, so that one vector holds equally many of both.
template <class Real>
using CountFor = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;

// Count one by one, eight i at a time; `lower` is work space for counts.
template <class Real>
inline Index rises_direct(View<const Real> values, View<CountFor<Real>> lower) {
    const Index n = values.size;
    Index total = 0, i = 0;
    lower.slice(0, n).fill(0);
    for (; i + 8 <= n; i += 8) {
        const Real v0 = values[i], v1 = values[i + 1], v2 = values[i + 2], v3 = values[i + 3];
        const Real v4 = values[i + 4], v5 = values[i + 5], v6 = values[i + 6], v7 = values[i + 7];
#pragma omp simd
        for (Index j = i + 8; j < n; ++j) {  // a count per j instead of one sum, because this form vectorises
            const Real x = values[j];
            lower[j] += (v0 < x) + (v1 < x) + (v2 < x) + (v3 < x) + (v4 < x) + (v5 < x) + (v6 < x) + (v7 < x);
        }
        for (Index a = i; a < i + 8; ++a)
            for (Index b = a + 1; b < i + 8; ++b) total += values[a] < values[b];
    }
    for (; i < n; ++i)
        for (Index b = i + 1; b < n; ++b) total += values[i] < values[b];
    for (Index j = 0; j < n; ++j) total += lower[j];
    return total;
}

// The same for whole numbers from 0 to 7, in one pass; -1 where there are others.
//
// Byte L of `recent` is how many values below L came in this block, `before[L]` how many came in earlier ones.
inline Index rises_by_level(View<const double> values) {
    constexpr Index BLOCK = 255;
    Index before[8] = {};
    Index total = 0;
    for (Index start = 0; start < values.size; start += BLOCK) {
        std::uint64_t recent = 0;
        for (const double value : values.slice(start, std::min(start + BLOCK, values.size))) {
            if (!(value >= 0.0 && value <= 7.0)) return -1;
            const auto level = static_cast<unsigned>(value);
            if (static_cast<double>(level) != value) return -1;
            total += before[level] + static_cast<Index>((recent >> (8 * level)) & 255);
            recent += std::uint64_t{0x0101010101010100} << (8 * level);
        }
        for (int level = 0; level < 8; ++level) before[level] += static_cast<Index>((recent >> (8 * level)) & 255);
    }
    return total;
}

// The same by merge sort, O(n log n); `values` and `spare` are overwritten.
inline Index rises_merge(View<double> values, View<double> spare, View<std::int64_t> lower) {
    constexpr Index RUN = 32;
    const Index n = values.size;
    Index total = 0;
    for (Index start = 0; start < n; start += RUN) {
        const View<double> run = values.slice(start, std::min(start + RUN, n));
        total += rises_direct<double>(run, lower);
        for (Index i = 1; i < run.size; ++i) {  // insertion sort, descending
            const double value = run[i];
            Index j = i;
            for (; j > 0 && run[j - 1] < value; --j) run[j] = run[j - 1];
            run[j] = value;
        }
    }
    for (Index half = RUN; half < n; half *= 2) {
        for (Index start = 0; start < n; start += 2 * half) {
            const Index middle = std::min(start + half, n), stop = std::min(start + 2 * half, n);
            Index left = start, right = middle, place = start;
            while (left < middle && right < stop) {  // without branches: which half is next cannot be predicted
                const double from_left = values[left], from_right = values[right];
                const bool is_left = from_left >= from_right;
                spare[place++] = is_left ? from_left : from_right;
                total += is_left ? 0 : middle - left;  // it is larger than the rest of the left half
                left += is_left;
                right += !is_left;
            }
            while (left < middle) spare[place++] = values[left++];
            while (right < stop) spare[place++] = values[right++];
        }
        std::swap(values, spare);
    }
    return total;
}

// Counts rises of lists up to a length, with work space.
class Rises {
public:
    explicit Rises(Index longest)
        : coarse(std::min(longest, DIRECT_LIMIT)), coarse_lower(std::min(longest, DIRECT_LIMIT)),
          lower(std::min(longest, DIRECT_LIMIT)), copy(longest > DIRECT_LIMIT ? longest : 0),
          spare(longest > DIRECT_LIMIT ? longest : 0) {}

    Index count(View<const double> values) const {
        const Index by_level = rises_by_level(values), n = values.size;
        if (by_level >= 0) return by_level;
        if (n > DIRECT_LIMIT) {
            std::copy(values.begin(), values.end(), copy.view().begin());
            return rises_merge(copy.slice(0, n), spare.slice(0, n), lower);
        }
        bool is_exact = true;
        for (Index i = 0; i < n; ++i) {
            coarse[i] = static_cast<float>(values[i]);
            is_exact &= static_cast<double>(coarse[i]) == values[i];
        }
        return is_exact ? rises_direct<float>(coarse.slice(0, n), coarse_lower) : rises_direct<double>(values, lower);
    }

private:
    Scratch<float> coarse;
    Scratch<std::int32_t> coarse_lower;
    Scratch<std::int64_t> lower;
    Scratch<double> copy, spare;
};

}  // namespace plackett::metrics
