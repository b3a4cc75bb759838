// Documents of a query sorted half by half, and the merge walk along two sorted halves.
//
// Both are branch-free, as branches would be mispredicted half of the time. The remaining latency of a step is one
// comparison, of integers, because a comparison of doubles takes several times as long.
#pragma once
#include <bit>
#include <limits>

#include "losses/pairwise/hinges.hpp"
#include "losses/pairwise/divide_and_conquer.hpp"

namespace plackett {

constexpr Index CHUNK = 64;  // sorted by counting, which vectorises; longer runs are merged from such chunks

// Result of a walk for each document, from index 1 on: how many partners it has beyond the threshold, their summed z and
// half their summed z².
struct Walk {
    explicit Walk(Index n)
        : better_count(n + 2), worse_count(n + 2), better_gap(n + 2), better_square(n + 2), worse_gap(n + 2),
          worse_square(n + 2) {}
    Scratch<std::int32_t> better_count, worse_count;
    Scratch<double> better_gap, better_square, worse_gap, worse_square;
};

// The place of each value in ascending order; equal values keep their order.
inline void count_ranks(View<const double> values, View<double> ranks) {
    const Index n = values.size;
    const double* value = values.data;
    double* rank = ranks.slice(0, n).data;
    std::fill_n(rank, n, 0.0);
    for (Index j = 0; j < n; ++j) {
        const double x = value[j];
#pragma omp simd
        for (Index i = 0; i < j; ++i) rank[i] += x < value[i] ? 1.0 : 0.0;
#pragma omp simd
        for (Index i = j + 1; i < n; ++i) rank[i] += x <= value[i] ? 1.0 : 0.0;
    }
}

// An integer for each double, in the same order; no value is -0 or NaN. The mapping is its own inverse.
inline std::int64_t key_of(double x) {
    const auto bits = std::bit_cast<std::int64_t>(x);
    return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
}
inline double of_key(std::int64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) & std::numeric_limits<std::int64_t>::max()));
}

// The documents of a query, in ascending order of their values within each sorted part, and their places.
class SortedHalves {
public:
    explicit SortedHalves(Index n)
        : values(n), places(n), better(n + 2), worse(n + 2), better_keys(n + 2), worse_keys(n + 2), old_places(n),
          ranks(CHUNK) {}

    Scratch<double> values;
    Scratch<std::int32_t> places;

    void sort_leaf(View<const double> given, Step leaf) const {
        for (Index first = leaf.start; first < leaf.stop; first += CHUNK) {
            const Index last = std::min(first + CHUNK, leaf.stop);
            count_ranks(given.slice(first, last), ranks);
            for (Index k = 0; k < last - first; ++k) {
                const Index place = first + static_cast<Index>(ranks[k]);
                values[place] = given[first + k];
                places[place] = static_cast<std::int32_t>(first + k);
            }
        }
        for (Index half = CHUNK; half < leaf.size(); half *= 2)
            for (Index first = leaf.start; first < leaf.stop - half; first += 2 * half)
                merge({first, first + half, std::min(first + 2 * half, leaf.stop), 0});
    }

    // Merge two sorted halves, from both ends at once.
    void merge(Step step) const {
        split(step, 0.0);
        const Index n = step.size(), n_better = step.n_better();
        const View<double> out = values.slice(step.start, step.stop);
        const View<std::int32_t> out_places = places.slice(step.start, step.stop), old = old_places.slice(0, n);
        const View<const std::int64_t> x = better_keys, y = worse_keys;
        std::copy_n(out_places.begin(), n, old.begin());
        Index i = 1, last_i = n_better;  // positions at both ends of the better half
        const auto take_least = [&](Index k) {
            const Index j = k + 2 - i;
            const Index is_worse = y[j] < x[i];
            out[k] = of_key(y[j] < x[i] ? y[j] : x[i]);
            out_places[k] = old[i - 1 + (-is_worse & (n_better + j - i))];
            i += 1 - is_worse;
        };
        for (Index k = 0; k < n / 2; ++k) {
            take_least(k);
            const Index last_j = n - k - last_i;
            const Index is_better = y[last_j] < x[last_i];
            out[n - 1 - k] = of_key(y[last_j] < x[last_i] ? x[last_i] : y[last_j]);
            out_places[n - 1 - k] = old[n_better + last_j - 1 + (-is_better & (last_i - last_j - n_better))];
            last_i -= is_better;
        }
        if (n % 2 != 0) take_least(n / 2);
    }

    // Walk up for the worse documents and down for the better ones, which are shifted down by the threshold, both at
    // once. For equal values z is 0 and the pair does not count. The entry of a document is written at every step until
    // the walk has passed it; the last write counts.
    void take_walk(Step step, double threshold, const Walk& walk) const {
        split(step, threshold);
        const Index n = step.size(), n_worse = step.n_worse();
        const View<const double> x = better, y = worse;
        const View<const std::int64_t> x_keys = better_keys, y_keys = worse_keys;
        const View<std::int32_t> worse_count = walk.worse_count, better_count = walk.better_count;
        const View<double> worse_gap = walk.worse_gap, worse_square = walk.worse_square;
        const View<double> better_gap = walk.better_gap, better_square = walk.better_square;
        Index i = 1, last_i = step.n_better();
        double here = std::min(x[1], y[1]), gap = 0.0, square = 0.0;
        double there = std::max(x[last_i], y[n_worse]), gap_down = 0.0, square_down = 0.0;
        for (Index k = 0; k < n; ++k) {
            const Index j = k + 2 - i;
            const auto passed = static_cast<double>(i - 1);
            const double point = y[j] < x[i] ? y[j] : x[i], up = point - here;
            here = point;
            square += up * (gap + 0.5 * passed * up);
            gap += passed * up;
            worse_count[j] = static_cast<std::int32_t>(i - 1);
            worse_gap[j] = gap;
            worse_square[j] = square;
            i += y_keys[j] > x_keys[i];

            const Index last_j = n - k - last_i;
            const auto passed_down = static_cast<double>(n_worse - last_j);
            const double point_down = y[last_j] > x[last_i] ? y[last_j] : x[last_i], down = there - point_down;
            there = point_down;
            square_down += down * (gap_down + 0.5 * passed_down * down);
            gap_down += passed_down * down;
            better_count[last_i] = static_cast<std::int32_t>(n_worse - last_j);
            better_gap[last_i] = gap_down;
            better_square[last_i] = square_down;
            last_i -= y_keys[last_j] <= x_keys[last_i];
        }
    }

private:
    // Copy two sorted halves into the work space, the better one shifted down by the threshold. Each starts at index 1,
    // between infinities.
    void split(Step step, double threshold) const {
        fill(better, better_keys, values.slice(step.start, step.middle), threshold);
        fill(worse, worse_keys, values.slice(step.middle, step.stop), 0.0);
    }
    static void fill(View<double> half, View<std::int64_t> keys, View<const double> given, double threshold) {
        half[0] = -INFINITE, keys[0] = key_of(-INFINITE);
        half[given.size + 1] = INFINITE, keys[given.size + 1] = key_of(INFINITE);
        double* x = half.data + 1;
        std::int64_t* key = keys.data + 1;
#pragma omp simd
        for (Index k = 0; k < given.size; ++k) {
            x[k] = given.data[k] - threshold;
            key[k] = key_of(x[k]);
        }
    }

    Scratch<double> better, worse;
    Scratch<std::int64_t> better_keys, worse_keys;
    Scratch<std::int32_t> old_places;
    Scratch<double> ranks;
};

}  // namespace plackett
