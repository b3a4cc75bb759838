// The documents of a query sorted half by half, and the walk along two sorted halves that cross.
#pragma once
#include "losses/pair_losses.hpp"
#include "losses/pair_plan.hpp"

namespace plackett {

constexpr Index CHUNK = 64;  // sorted by counting, which vectorises; longer runs are merged from such chunks

// What a walk leaves at each document, from place 1 on: how many partners it has beyond the threshold, their summed z and
// half their summed z².
struct Walk {
    explicit Walk(Index n)
        : better_count(n + 2), worse_count(n + 2), better_gap(n + 2), better_square(n + 2), worse_gap(n + 2),
          worse_square(n + 2) {}
    Scratch<std::int32_t> better_count, worse_count;
    Scratch<double> better_gap, better_square, worse_gap, worse_square;
};

// Place of each value in ascending order; equal values keep their order.
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

// The documents of a query, in ascending order of their values within each part that was sorted, and their places.
class SortedHalves {
public:
    explicit SortedHalves(Index n)
        : values(n), places(n), better(n + 2), worse(n + 2), better_places(n + 2), worse_places(n + 2), ranks(CHUNK) {}

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

    // Merge two sorted halves, from both ends at once and without branches.
    void merge(Step step) const {
        split(step, 0.0);
        std::copy_n(places.slice(step.start, step.middle).begin(), step.n_better(), better_places.slice(1, step.n_better() + 1).begin());
        std::copy_n(places.slice(step.middle, step.stop).begin(), step.n_worse(), worse_places.slice(1, step.n_worse() + 1).begin());
        const Index n = step.size();
        const View<double> out = values.slice(step.start, step.stop);
        const View<std::int32_t> out_places = places.slice(step.start, step.stop);
        Index i = 1, j = 1, last_i = step.n_better(), last_j = step.n_worse();
        const auto take_least = [&](Index k) {
            const double x = better[i], y = worse[j];
            const std::int32_t place_x = better_places[i], place_y = worse_places[j];
            const bool is_worse = y < x;
            out[k] = is_worse ? y : x;
            out_places[k] = is_worse ? place_y : place_x;
            j += is_worse;
            i += !is_worse;
        };
        for (Index k = 0; k < n / 2; ++k) {
            take_least(k);
            const double x = better[last_i], y = worse[last_j];
            const std::int32_t place_x = better_places[last_i], place_y = worse_places[last_j];
            const bool is_better = y < x;
            out[n - 1 - k] = is_better ? x : y;
            out_places[n - 1 - k] = is_better ? place_x : place_y;
            last_i -= is_better;
            last_j -= !is_better;
        }
        if (n % 2 != 0) take_least(n / 2);
    }

    // Walk up for the worse documents and down for the better ones, which stand lower by the threshold, both at once and
    // without branches. Where both stand at the same point, z is 0 and the pair does not count. A document's entry is
    // written at every step until it is passed; the last writing counts.
    void take_walk(Step step, double threshold, const Walk& walk) const {
        split(step, threshold);
        Index i = 1, j = 1, last_i = step.n_better(), last_j = step.n_worse();
        double here = std::min(better[1], worse[1]), gap = 0.0, square = 0.0;
        double there = std::max(better[last_i], worse[last_j]), gap_down = 0.0, square_down = 0.0;
        Index passed = 0, passed_down = 0;
        for (Index k = 0; k < step.size(); ++k) {
            const double x = better[i], y = worse[j];
            const bool is_worse = y <= x;
            const double point = y < x ? y : x, up = point - here;
            here = point;
            square += up * (gap + 0.5 * static_cast<double>(passed) * up);
            gap += static_cast<double>(passed) * up;
            walk.worse_count[j] = static_cast<std::int32_t>(passed);
            walk.worse_gap[j] = gap;
            walk.worse_square[j] = square;
            passed += !is_worse;
            j += is_worse;
            i += !is_worse;

            const double high = better[last_i], low = worse[last_j];
            const bool is_better = low <= high;
            const double point_down = low > high ? low : high, down = there - point_down;
            there = point_down;
            square_down += down * (gap_down + 0.5 * static_cast<double>(passed_down) * down);
            gap_down += static_cast<double>(passed_down) * down;
            walk.better_count[last_i] = static_cast<std::int32_t>(passed_down);
            walk.better_gap[last_i] = gap_down;
            walk.better_square[last_i] = square_down;
            passed_down += !is_better;
            last_i -= is_better;
            last_j -= !is_better;
        }
    }

private:
    // Copy two sorted halves into the work space, the better one moved down by the threshold; each stands from place 1 on
    // between infinities.
    void split(Step step, double threshold) const {
        const Index n_better = step.n_better(), n_worse = step.n_worse();
        const View<const double> first = values.slice(step.start, step.middle);
        for (Index k = 0; k < n_better; ++k) better[k + 1] = first[k] - threshold;
        std::copy_n(values.slice(step.middle, step.stop).begin(), n_worse, worse.slice(1, n_worse + 1).begin());
        better[0] = worse[0] = -INFINITE;
        better[n_better + 1] = worse[n_worse + 1] = INFINITE;
    }

    Scratch<double> better, worse;
    Scratch<std::int32_t> better_places, worse_places;
    Scratch<double> ranks;
};

}  // namespace plackett
