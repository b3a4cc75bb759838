// Visits the pairs of a query without listing them, by a plan that depends on the labels alone.
//
// In label order, a query is split at a label boundary near its middle. Every pair of different labels then lies within the
// better half, within the worse half, or across. A half is split again until its pairs are few enough to be enumerated. A
// plan lists these steps so that halves come before the whole:
//
// - a leaf (start, start, stop, 0): enumerate the pairs within start:stop;
// - a crossing (start, middle, stop, store): pair start:middle with middle:stop, both sorted by score.
//   `store` is the index of the crossing's results, one entry per document.
//
// Places are relative to the query.
#pragma once
#include <cstdlib>
#include <utility>

#include "core/arrays.hpp"
#include "core/lists.hpp"

namespace plackett {

constexpr Index DIRECT = 96;  // pairs per document up to which enumerating them, vectorised, is faster than sorting

struct Step {
    Index start, middle, stop, store;

    bool is_leaf() const { return middle == start; }
    Index size() const { return stop - start; }
    Index n_better() const { return middle - start; }
    Index n_worse() const { return stop - middle; }
};

struct QueryPairs {  // of one query
    View<const Index> rows;              // its documents in label order, the best first
    View<const std::int32_t> run_end;    // where each place's run of equal labels ends
    Rows<const Index> steps;

    Index n_docs() const { return rows.size; }
    Index n_steps() const { return steps.n_rows; }
    Step step(Index s) const { return {steps(s, 0), steps(s, 1), steps(s, 2), steps(s, 3)}; }
};

struct PairPlan {  // of some queries: query q owns places indptr[q]:indptr[q + 1] and steps step_indptr[q]:step_indptr[q + 1]
    View<const Index> order, indptr;
    View<const std::int32_t> run_end;
    Rows<const Index> steps;
    View<const Index> step_indptr;

    Index n_queries() const { return indptr.size - 1; }
    QueryPairs query(Index q) const {
        return {order.slice(indptr[q], indptr[q + 1]), run_end.slice(indptr[q], indptr[q + 1]),
                steps.slice(step_indptr[q], step_indptr[q + 1])};
    }
    Index longest(Index first, Index last) const { return longest_list(indptr, first, last); }
    // The longest query with more than one step, which therefore needs sorting.
    Index longest_sorted(Index first, Index last) const {
        Index n = 0;
        for (Index q = first; q < last; ++q)
            if (step_indptr[q + 1] - step_indptr[q] > 1) n = std::max(n, indptr[q + 1] - indptr[q]);
        return n;
    }
    // Number of entries of the crossings of these queries, from the store of the first one on.
    std::pair<Index, Index> stored(Index first, Index last) const {
        Index begin = -1, end = 0;
        for (Index s = step_indptr[first]; s < step_indptr[last]; ++s)
            if (steps(s, 1) > steps(s, 0)) {
                if (begin < 0) begin = steps(s, 3);
                end = steps(s, 3) + steps(s, 2) - steps(s, 0);
            }
        return begin < 0 ? std::pair<Index, Index>{0, 0} : std::pair{begin, end};
    }
};

// The level whose start is nearest to the middle of levels low:high, of which there are at least two.
inline Index middle_level(View<const Index> bounds, Index low, Index high) {
    const Index twice = bounds[low] + bounds[high];
    Index before = low + 1, after = high - 1;
    while (after - before > 1) {
        const Index guess = (before + after) / 2;
        (2 * bounds[guess] <= twice ? before : after) = guess;
    }
    return std::abs(2 * bounds[before] - twice) <= std::abs(2 * bounds[after] - twice) ? before : after;
}

// Write the steps and each query's bounds among them. `bounds` are those of the label levels; query q has levels
// of_queries[q]:of_queries[q + 1]. `squares` are running sums of the squared level sizes. Return the number of entries.
inline Index plan_steps(View<const Index> bounds, View<const Index> of_queries, View<const Index> query_bounds,
                        View<const Index> squares, Rows<Index> steps, View<Index> indptr) {
    struct Waiting {
        Index low, high, cut;
    };
    const Scratch<Waiting> waiting(256);  // a half is at most half as long, or one level, so the depth is small
    Index n_steps = 0, n_stored = 0;
    const auto write = [&](Index start, Index middle, Index stop, Index store) {
        const View<Index> step = steps[n_steps++];
        step[0] = start, step[1] = middle, step[2] = stop, step[3] = store;
    };
    for (Index q = 0; q < query_bounds.size - 1; ++q) {
        const Index origin = query_bounds[q];
        Index n_waiting = 0;
        if (of_queries[q + 1] > of_queries[q]) waiting[n_waiting++] = {of_queries[q], of_queries[q + 1], -1};
        while (n_waiting > 0) {
            const auto [low, high, cut] = waiting[--n_waiting];
            const Index start = bounds[low] - origin, stop = bounds[high] - origin, size = stop - start;
            if (cut >= 0) {
                write(start, bounds[cut] - origin, stop, n_stored);
                n_stored += size;
            } else if (size * size - (squares[high] - squares[low]) <= 2 * DIRECT * size) {
                write(start, start, stop, 0);
            } else {
                const Index middle = middle_level(bounds, low, high);
                waiting[n_waiting++] = {low, high, middle};
                waiting[n_waiting++] = {middle, high, -1};
                waiting[n_waiting++] = {low, middle, -1};
            }
        }
        indptr[q + 1] = n_steps;
    }
    return n_stored;
}

}  // namespace plackett
